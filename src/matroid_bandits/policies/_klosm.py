"""OMM with Kullback-Leibler confidence bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.kernels import statistics
from matroid_bandits.policies._base import Policy, as_number
from matroid_bandits.policies._state import State
from matroid_bandits.stream import Stream


class KLOSM(Policy):
    r"""KL-OSM (Talebi and Proutiere, AAMAS 2016): asymptotically optimal for Bernoulli weights on matroids.

    The index of item e is the largest q with
    :math:`T_e \, \mathrm{kl}(\hat w_e, q) \le \log t + c \log \log t`. Weights must lie in [0, 1].

    Parameters
    ----------
    c : float, default 0.0
        The analysis asks for 3; 0 does best in practice.

    Notes
    -----
    :math:`\log \log t` counts from t = 3 on, where it is positive. When minimising, the index is of one minus the
    weight.
    """

    support = (0.0, 1.0)

    def __init__(self, c: float = 0.0) -> None:
        self._c = as_number("c", c, 0.0)

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        log_t = math.log(t)
        budget = log_t + self._c * math.log(max(log_t, 1.0))
        U = np.empty(state.means.shape)
        # gains of costs lie in [-1, 0]
        statistics.kl_indices(state.means, state.counts, 1.0 if state.minimize else 0.0, budget, U)
        return U

    def _params(self) -> dict[str, Any]:
        return {"c": self._c}
