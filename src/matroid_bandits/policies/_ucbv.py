"""UCB-V: bounds that narrow with the variance of an item's weights."""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State


class UCBV(Policy):
    r"""UCB-V for semi-bandits: confidence radii from empirical variances (Audibert, Munos and Szepesvari, TCS 2009).

    The index of item e is :math:`\hat w_e + \sqrt{2 v_e \log t / T_e} + 3 c \log t / T_e`, where :math:`v_e` is the
    variance of the weights seen of it: items whose weights vary little need few plays.

    Parameters
    ----------
    c : float, default 1.0
        Factor of the last term, for weights in a range of width 1. The analysis has 1; a sixth does better where the
        variance is not small.

    Notes
    -----
    A prior counts as plays whose weights were all its mean. Of an item whose answers are all late the variance is
    taken as 0.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.05, 0.04, 0.01, 0.01]))
    >>> result = mb.simulate(problem, [mb.OMM(), mb.UCBV()], n_episodes=2_000, n_runs=10, seed=1)
    >>> bool(result["UCBV"].final_regret.mean() < result["OMM"].final_regret.mean())
    True
    """

    memory = (Memory("squares"),)

    def __init__(self, c: float = 1.0) -> None:
        self._c = as_number("c", c, 0.0, 1e100, error=PolicyError)

    def indices(self, state: State, request: Request) -> FloatArray:
        log_t, n = math.log(request.episode), state.plays
        U: FloatArray = state.means + np.sqrt(2.0 * self._variances(state) * log_t / n) + 3.0 * self._c * log_t / n
        return U

    def observe(self, state: State, feedback: Feedback) -> None:
        state.extra["squares"][feedback.runs, feedback.items] += feedback.gains**2

    def begin(self, state: State) -> None:
        """Raise where weights were observed before the policy was set, since their squares are not known."""
        if state.counts.any():
            raise PolicyError(f"{self!r} cannot start from plays and gains, since it must know each weight")

    def check_extra(self, state: State) -> None:
        squares = state.extra["squares"]
        least = np.divide(state.sums**2, state.counts, out=np.zeros(squares.shape), where=state.counts > 0)
        is_wrong = ~((squares >= least * (1.0 - 1e-9)) & np.isfinite(squares)) | (
            (state.counts == 0) & (squares > 0.0)
        )
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(f"expected squares of the gains of item {e}, got a sum of {squares[0, e]}")

    def _variances(self, state: State) -> FloatArray:
        """The variance of the gains of each item, (R, L); 0 where none was answered."""
        n, squares, total = state.counts.astype(np.float64), state.extra["squares"], state.sums
        if state.has_priors:
            n = n + state.prior_counts
            squares = squares + state.prior_counts * state.prior_means**2
            total = total + state.prior_counts * state.prior_means
        n = np.maximum(n, 1e-300)
        variances: FloatArray = np.maximum(squares / n - (total / n) ** 2, 0.0)
        return variances
