"""OMM with Kullback-Leibler confidence bounds."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms, statistics
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class KLOSM(Policy):
    r"""KL-OSM (Talebi and Proutiere, AAMAS 2016): KL-UCB indices, asymptotically optimal for Bernoulli weights on
    matroids.

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

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.KLOSM().support
    (0.0, 1.0)
    """

    support = (0.0, 1.0)

    def __init__(self, c: float = 0.0) -> None:
        self._c = as_number("c", c, 0.0, error=PolicyError)

    def indices(self, state: State, request: Request) -> FloatArray:
        U = np.empty(state.means.shape)
        # gains of costs lie in [-1, 0]
        offset, budget = 1.0 if state.minimize else 0.0, self._budget(request.episode)
        statistics.kl_indices(state.means, state.plays, offset, budget, U)
        return U

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.KL, episodes=lambda state, stream: ((self._budget(t),) for t in count(1)))

    def counted(self, minimize: bool) -> forms.CountForm:
        return forms.CountForm(forms.KL, float(minimize), lambda state, request: self._budget(request.episode))

    def _budget(self, t: int) -> float:
        log_t = math.log(t)
        return log_t + self._c * math.log(max(log_t, 1.0))
