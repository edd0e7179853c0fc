"""AROQ: optimism that asks for a new set only now and then."""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._evaluate import as_rows, solve, wrong_sets
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State


class AROQ(Policy):
    r"""OMM that recomputes its set rarely, once per growing epoch (Kim, Vojnovic and Oh, 2025, arXiv:2510.21431).

    A new set is found only when some item has been played :math:`1 + \sqrt{T K n / L}` times since the last was,
    where n are its plays before that, T is the horizon, and sets have K of L items. In 20,000 episodes that are some
    thirty solutions: for constraints whose best sets are costly to find.

    Parameters
    ----------
    horizon : int
        How many episodes T will be played.
    scale : float, default 1.0
        Width of the weights' range, as in `OMM`.

    Notes
    -----
    While an item has not been tried, each episode has a set of its own. A request that the held set does not fit,
    since an item is not available or another is pinned, is answered with OMM's set for that request; the held set
    stays.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> agent = Agent(mb.UniformMatroid(5, 2), mb.AROQ(horizon=1_000))
    >>> stream, chance = mb.Stream(0, [0]), np.random.default_rng(0)
    >>> for t in range(1, 1_001):
    ...     agent.learn(agent.decide(mb.Request(t, stream)), chance.random((1, 2)))
    >>> int(agent.state.extra["n_solved"][0])
    12
    """

    memory = (
        Memory("held", dtype=np.bool_),
        Memory("plays_before", dtype=np.int64),  # the epoch
        Memory("looks", dtype=np.int64),  # which were no plays
        Memory("n_solved", "time", np.int64),
    )

    def __init__(self, horizon: int, scale: float = 1.0) -> None:
        self._horizon = as_integer("horizon", horizon, 1, error=PolicyError)
        self._scale = as_number("scale", scale, 0.0, 1e100, error=PolicyError)

    def prepare(self, constraint: Constraint) -> int:
        """Return the size K of the largest allowed set."""
        return constraint.largest_size

    def indices(self, state: State, request: Request) -> FloatArray:
        """Return the indices of OMM, from which the set of the next epoch is found."""
        c = self._scale * math.sqrt(2.0 * math.log(max(request.episode - 1, 1)))
        with np.errstate(invalid="ignore"):  # 0 times infinity of items never seen
            U: FloatArray = np.where(state.is_unseen, np.inf, state.means + c * state.radii)
        return U

    def sets(self, state: State, request: Request) -> tuple[IntArray, IntArray]:
        held, _ = self._held(state, request)
        items, sizes = as_rows(held)
        if request.is_open:
            return items, sizes
        others = wrong_sets(state, request, items, sizes)
        if others.any():
            own, own_sizes = solve(state, request, self.indices(state, request))
            held = np.where(others[:, None], _as_mask(own, own_sizes, state.n_items), held)
        return as_rows(held)

    def advance(self, state: State, request: Request) -> None:
        held, is_new = self._held(state, request)
        if is_new.any():
            extra = state.extra
            extra["held"][is_new] = held[is_new]
            extra["plays_before"][is_new] = self._plays(state)[is_new]
            extra["n_solved"][is_new] += 1

    def observe(self, state: State, feedback: Feedback) -> None:
        if feedback.is_early:
            state.extra["looks"][feedback.runs, feedback.items] += 1

    def check_extra(self, state: State) -> None:
        before, looks = state.extra["plays_before"], state.extra["looks"]
        is_wrong = (before < 0) | (looks < 0) | (looks > state.asked)
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(f"expected plays of item {e} before an epoch, got {before[0, e]}")

    def _held(self, state: State, request: Request) -> tuple[BoolArray, BoolArray]:
        """The set that each run holds in the request's episode (R, L), and whether it is a new one."""
        held, before = state.extra["held"], state.extra["plays_before"]
        n_since = self._plays(state) - before
        most = 1.0 + np.sqrt(self._horizon * state.prepared * np.maximum(before, 0) / max(state.n_items, 1))
        anything = Request(request.episode, request.stream)
        is_new = wrong_sets(state, anything, *as_rows(held))  # at first, and where its items have changed
        is_new |= np.any(n_since >= most, axis=1) | np.any(state.is_unseen, axis=1)
        if is_new.any():
            held = held.copy()
            held[is_new] = _as_mask(*solve(state, anything, self.indices(state, request)), state.n_items)[is_new]
        return held, is_new

    def _plays(self, state: State) -> IntArray:
        plays: IntArray = state.asked - state.extra["looks"]
        return plays


def _as_mask(items: IntArray, sizes: IntArray, n_items: int) -> BoolArray:
    """Sets as a mask of their items, (R, L)."""
    mask = np.zeros((sizes.size, n_items), bool)
    is_chosen = np.arange(items.shape[1]) < sizes[:, None]
    mask[np.nonzero(is_chosen)[0], items[is_chosen]] = True
    return mask
