"""BG-CTS: Thompson sampling with normal beliefs that are wider than they need be."""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class BGCTS(Policy):
    r"""Boosted Gaussian combinatorial Thompson sampling, BG-CTS (Zhang and Combes, 2024).

    In episode t a mean is sampled for every item from :math:`N(\hat w_e, g_t \sigma^2 / T_e)` with the boost
    :math:`g_t = 2 (\log t + (K + 2) \log \log t) / \log t`, for sets of K items, and the best set for the samples is
    played. Unlike with beta beliefs, regret is polynomial in K whatever the problem.

    Parameters
    ----------
    noise : float, default 0.5
        The :math:`\sigma` for which weights are sub-Gaussian: 0.5 for weights in a range of width 1.

    Notes
    -----
    K is the size of the largest set. In the first two episodes :math:`g_t` is 2.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> [round(mb.BGCTS().boost(t, K=3), 2) for t in (1, 100, 10_000)]
    [2.0, 5.32, 4.41]
    """

    samples = True

    def __init__(self, noise: float = 0.5) -> None:
        self._noise = as_number("noise", noise, 0.0, 1e100, error=PolicyError)

    def prepare(self, constraint: Constraint) -> int:
        """Return the size K of the largest allowed set."""
        return constraint.largest_size

    def boost(self, t: int, K: int) -> float:
        """Return the factor :math:`g_t` by which the posterior variances are inflated, for sets of K items."""
        log_t = max(math.log(t), 1.0)
        return 2.0 * (log_t + (K + 2) * math.log(log_t)) / log_t

    def indices(self, state: State, request: Request) -> FloatArray:
        t = request.episode
        return state.means + self._width(state, t) * request.stream.normal(t, np.arange(state.n_items)) * state.radii

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return the standard deviation of each item's sampling distribution."""
        return self._width(state, request.episode) * state.radii

    def _width(self, state: State, t: int) -> float:
        K: int = state.constraint.largest_size if state.prepared is None else state.prepared
        return self._noise * math.sqrt(self.boost(t, K))
