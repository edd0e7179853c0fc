"""FPL with geometric resampling: for weights that an adversary may have chosen."""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.checks import as_integer
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._evaluate import available_of
from matroid_bandits.policies._losses import LossPolicy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State
from matroid_bandits.stream import RESAMPLING

#: Sets that are drawn again together.
_BLOCK = 8


class FPL(LossPolicy):
    r"""Follow the perturbed leader with geometric resampling (Neu and Bartok, ALT 2013, JMLR 2016).

    The set of largest total :math:`Z_e - \eta \hat L_e` is played, with fresh exponential :math:`Z_e` in each
    episode; :math:`\hat L_e` adds up the losses seen of e, one minus the weight, each times the number of further
    draws that it takes until e is in a set again, at most M: an estimate of one over the chance that it was chosen.
    With :math:`c = 2 (\log(L / K) + 1)`, :math:`\eta = \sqrt{c / (L T)}` and :math:`M = \lceil \sqrt{L T} / (e K
    \sqrt c) \rceil` for sets of K of L items and a horizon T. Weights must lie in [0, 1]; an adversary may
    choose them.

    Parameters
    ----------
    horizon : int
        How many episodes T will be played.

    Notes
    -----
    Draws are made when a set is chosen, with the losses and the request of that time, and stay with the choice until
    its answer comes. What is pinned, what a learner holds out and what is seen before the first episode was not
    drawn, and nothing is learnt from it.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(6, 2), mb.BernoulliEnvironment([0.9, 0.8, 0.2, 0.2, 0.1, 0.1]))
    >>> result = mb.simulate(problem, [mb.FPL(horizon=500), mb.UniformRandom()], n_episodes=500, n_runs=5, seed=0)
    >>> bool(result["FPL"].final_regret.mean() < result["UniformRandom"].final_regret.mean())
    True
    """

    support = (0.0, 1.0)
    samples = True
    tries_unseen = takes_priors = False
    memory = (Memory("losses"),)
    n_kept = 1

    def __init__(self, horizon: int) -> None:
        self._horizon = as_integer("horizon", horizon, 1, error=PolicyError)

    def prepare(self, constraint: Constraint) -> tuple[float, int]:
        r"""Return the learning rate :math:`\eta` and the maximum number of resampling draws."""
        if constraint.cost_reason:
            raise PolicyError(f"expected a constraint that takes gains for {self!r}: {constraint.cost_reason}")
        L, K = max(constraint.n_items, 1), max(constraint.largest_size, 1)
        c, T = 2.0 * (math.log(L / K) + 1.0), self._horizon
        return math.sqrt(c / (L * T)), math.ceil(math.sqrt(L * T) / (math.e * K * math.sqrt(c)))

    def indices(self, state: State, request: Request) -> FloatArray:
        draws = request.stream.exponential(request.episode, np.arange(state.n_items))
        U: FloatArray = draws - state.prepared[0] * state.extra["losses"]
        return U

    def keep(self, state: State, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        """Return how many draws geometric resampling took for each chosen item; 0 for pinned items."""
        n_most, L = state.prepared[1], state.n_items
        n_draws = np.full(state.counts.shape, float(n_most))
        is_left = np.zeros(state.counts.shape, bool)
        is_left[runs, items] = True
        if request.pinned is not None:
            is_left[:, request.pinned], n_draws[:, request.pinned] = False, 0.0
        stream, penalties = request.stream.with_purpose(RESAMPLING), state.prepared[0] * state.extra["losses"]
        available = available_of(state, request)
        for first in range(0, n_most - 1, _BLOCK):
            rows = np.flatnonzero(is_left.any(axis=1))
            if not rows.size:
                break
            n = min(_BLOCK, n_most - 1 - first)
            # numbers of draw k have the addresses of items k L, k L + 1, ...
            Z = stream.take(rows).exponential(request.episode, np.arange(first * L, (first + n) * L))
            U = (Z.reshape(rows.size, n, L) - penalties[rows, None]).reshape(-1, L)
            mask = available
            if available is not None and available.ndim == 2:
                mask = np.repeat(available[rows], n, axis=0)
            sets, sizes = state.constraint.solve(U, available=mask, pinned=request.pinned)
            is_hit = np.zeros(U.shape, bool)
            is_chosen = np.arange(sets.shape[1]) < sizes[:, None]
            is_hit[np.nonzero(is_chosen)[0], sets[is_chosen]] = True
            is_hit = is_hit.reshape(rows.size, n, L)
            is_found = is_hit.any(axis=1) & is_left[rows]
            found_rows, found_items = np.nonzero(is_found)
            n_draws[rows[found_rows], found_items] = first + 1.0 + is_hit.argmax(axis=1)[is_found]
            is_left[rows] &= ~is_found
        return n_draws[runs, items][:, None]

    def observe(self, state: State, feedback: Feedback) -> None:
        assert feedback.kept is not None
        losses = (0.0 if state.minimize else 1.0) - feedback.gains
        state.extra["losses"][feedback.runs, feedback.items] += losses * feedback.kept[:, 0]
