"""A policy that knows, or learns, how much each place of a list is looked at."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import shown as text_of
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import attention as kernels
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._klosm import KLOSM
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._omm import OMM
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State
from matroid_bandits.policies._thompson import ThompsonSampling
from matroid_bandits.policies._wrapper import PolicyWrapper

#: Attention is estimated in each of the first lists, then in every 50th, by this number of rounds.
_FIRST, _EVERY, _ROUNDS = 200, 50, 4


class PositionBias(PolicyWrapper):
    r"""Wrapper for clicks by place: items are judged by how often their places are looked at.

    Place l of a list is looked at with chance :math:`\kappa_l`, and an item e shown there is clicked with chance
    :math:`\kappa_l \bar w_e`. After n shows, of which :math:`m = \sum \kappa_l` were expected to be looked at, and c
    clicks, its mean is c / m and the radius of `OMM` is :math:`\sqrt n / m` in place of :math:`1 / \sqrt n` (Lagree,
    Vernade and Cappe, NIPS 2016). `KLOSM` and `ThompsonSampling` count as many plays as have the same Fisher
    information.

    Parameters
    ----------
    base : Policy
        How to choose: an `OMM`, a `KLOSM` or a `ThompsonSampling`.
    attention : array_like of float, shape (K,), optional
        The chance of each place from the top, 1 first. By default it is learnt: the most likely attention and means
        alternate, four rounds in each of the first 200 lists and then in every 50th; no order of the places is
        assumed.
    n_places : int, default 10
        How many places have an attention of their own where it is learnt; places below share that of the last.

    Notes
    -----
    Weights are in [0, 1], of items at their place: 0 without a click. Weights that were seen without a list, such as
    looks before the first episode, count as seen at the top. An answer that is waited for counts as a show, with the
    item's usual attention. Attention is learnt for all items together, so an item that is reset or new keeps it;
    lists of a hold-out must be in random order, or places and items cannot be told apart.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.PositionEnvironment(mb.BernoulliEnvironment([0.3, 0.5, 0.6, 0.2]), [1.0, 0.4])
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), world)
    >>> ignoring = mb.PositionBias(mb.OMM(0.2), attention=[1.0])  # all places alike
    >>> policies = {"learns": mb.PositionBias(mb.OMM(0.2)), "ignores": ignoring}
    >>> result = mb.simulate(problem, policies, n_episodes=2000, n_runs=4, seed=0)
    >>> bool(result["learns"].regret[-1] < result["ignores"].regret[-1])
    True
    """

    def __init__(self, base: Policy, attention: ArrayLike | None = None, n_places: int = 10) -> None:
        super().__init__(base)
        if type(base) not in (OMM, KLOSM, ThompsonSampling):
            raise PolicyError(f"expected base to be an OMM, a KLOSM or a ThompsonSampling, got {text_of(base)}")
        self.support, self.takes = (0.0, 1.0), frozenset(("positions",))
        self._n_places = as_integer("n_places", n_places, 1, 1000, error=PolicyError)
        self._attention = None if attention is None else _as_attention(attention)

    @property
    def memory(self) -> Sequence[Memory]:
        shape = (self._n_places if self._attention is None else self._attention.size,)
        initial: Any = 1.0 if self._attention is None else self._attention
        return (
            Memory("clicks_at", shape=shape),
            Memory("shown_at", shape=shape),
            Memory("attention", "run", shape=shape, initial=initial),
        )

    @property
    def affine(self) -> AffinePolicy | None:
        """None: attention moves the lines of all items."""
        return None

    def counted(self, minimize: bool) -> None:
        """Return None: the index depends on the places of an item's plays."""

    def indices(self, state: State, request: Request) -> FloatArray:
        return self._base.indices(self._seen(state), request)

    def spreads(self, state: State, request: Request) -> FloatArray:
        return self._base.spreads(self._seen(state), request)

    def beliefs(self, state: State) -> tuple[FloatArray, AnyArray, AnyArray]:
        """Return the mean gain of each item where it is looked at, its answered plays, and the plays behind it."""
        seen = self._seen(state)
        is_known = (state.counts > 0) | (state.prior_counts > 0.0 if state.has_priors else False)
        return np.where(is_known, seen.means, np.nan), state.counts, seen.plays

    def advance(self, state: State, request: Request) -> None:
        t = request.episode
        if self._attention is None and (t < _FIRST or t % _EVERY == 0):
            extra = state.extra
            kernels.balance(extra["clicks_at"], extra["shown_at"], _ROUNDS, extra["attention"])

    def observe(self, state: State, feedback: Feedback) -> None:
        clicks, shows = state.extra["clicks_at"], state.extra["shown_at"]
        places: IntArray | int = 0 if feedback.places is None else np.minimum(feedback.places, shows.shape[2] - 1)
        weights = -feedback.gains if state.minimize else feedback.gains
        clicks[feedback.runs, feedback.items, places] += weights
        shows[feedback.runs, feedback.items, places] += 1.0

    def begin(self, state: State) -> None:
        """Count all plays so far as shown at the top."""
        state.extra["clicks_at"][..., 0] = -state.sums if state.minimize else state.sums
        state.extra["shown_at"][..., 0] = state.counts
        self.rearranged(state, np.empty(0, np.int64))

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        state.renew(self.memory, runs, items)

    def check_extra(self, state: State) -> None:
        clicks, shows, attention = (state.extra[name] for name in ("clicks_at", "shown_at", "attention"))
        is_wrong = ~((clicks >= 0.0) & (clicks <= shows) & (shows == np.rint(shows))).all(axis=2)
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(
                "expected whole shows and no more clicks than those, by place, got "
                f"{clicks[0, e].tolist()} clicks in {shows[0, e].tolist()} shows of item {e}"
            )
        if not ((attention >= 0.0) & (attention <= 1.0)).all() or (attention[:, 0] != 1.0).any():
            raise PolicyError(f"expected an attention of each place, 1 first, got {attention[0].tolist()}")

    def _seen(self, state: State) -> Any:
        """The state as the wrapped policy is to see it: of items that are looked at."""
        extra = state.extra
        n, looks, total, plays = (np.empty(state.counts.shape) for _ in range(4))
        kernels.evidence(extra["clicks_at"], extra["shown_at"], extra["attention"], n, looks, total, plays)
        if state.has_priors:  # as of plays at the top
            for array in (n, looks, plays):
                array += state.prior_counts
            total += state.prior_counts * (-state.prior_means if state.minimize else state.prior_means)
        is_known = n > 0.0
        rates = np.divide(total, looks, out=np.abs(state.means), where=is_known)
        share = np.divide(looks, n, out=np.ones(n.shape), where=is_known)
        late: IntArray = np.where(is_known, state.waiting, state.waiting + state.lost)
        n, looks = n + late, looks + late * share
        seen: Any = copy.copy(state)
        seen.means = -rates if state.minimize else rates
        seen.radii = np.divide(np.sqrt(n), looks, out=np.full(n.shape, np.inf), where=n > 0.0)
        seen.counts, seen.sums, seen.waiting = plays, seen.means * plays, state.waiting * share
        seen.prior_means = seen.prior_counts = np.zeros((0, 0))
        chance = np.clip(1.0 + seen.means if state.minimize else seen.means, 0.0, 1.0)
        seen.extra = {"successes": chance * plays}
        return seen


def _as_attention(attention: ArrayLike) -> FloatArray:
    """The attention of each place, read-only."""
    try:
        kappa = np.array(attention, np.float64)
    except (TypeError, ValueError):
        kappa = np.empty(0)
    if kappa.ndim != 1 or not kappa.size or kappa[0] != 1.0 or not ((kappa > 0.0) & (kappa <= 1.0)).all():
        raise PolicyError(
            f"expected the attention of each place, 1 first and all above 0 and at most 1, got {text_of(attention)}"
        )
    return frozen(kappa)
