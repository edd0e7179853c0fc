"""CL-SG: one normal number an episode, which widens or narrows all bounds alike."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import classes, forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class CLSG(Policy):
    r"""CL-SG: confidence radii are multiplied by one Gaussian draw per episode (Hu, Pan and Huang, 2026,
    arXiv:2605.09277).

    The index of item e is :math:`\hat w_e + z_t \sqrt{\gamma \log t / (T_e + 1)}`, where one :math:`z_t \sim N(0, 1)`
    is drawn for all items: in some episodes the policy is bold, in others careful. Weights must lie in [0, 1].

    Parameters
    ----------
    gamma : float, default 0.1
        How much is explored; the default is the authors'.

    Notes
    -----
    An item never asked for has mean 1 (0 where weights are costs), the best that it can have; the authors' code has
    0 there.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.lower_bound_problem(24, 4, 0.1)
    >>> result = mb.simulate(problem, [mb.OMM(), mb.CLSG()], n_episodes=1_000, n_runs=10, seed=1)
    >>> bool(result["CLSG"].final_regret.mean() < result["OMM"].final_regret.mean())
    True
    """

    samples = True
    support = (0.0, 1.0)
    tries_unseen = False

    def __init__(self, gamma: float = 0.1) -> None:
        self._gamma = as_number("gamma", gamma, 0.0, 1e100, error=PolicyError)

    def indices(self, state: State, request: Request) -> FloatArray:
        xs = self._numbers(request)
        U: FloatArray = np.empty(state.means.shape)
        classes.indices(forms.ONE_NORMAL, float(state.minimize), xs, state.means, state.plays, U)
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return the standard deviation of the random term added to each mean."""
        spreads: FloatArray = self._width(request.episode) / np.sqrt(state.plays + 1.0)
        return spreads

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(
            forms.ONE_NORMAL, episodes=lambda state, stream: ((self._width(t),) for t in count(1))
        )

    def counted(self, minimize: bool) -> forms.CountForm:
        return forms.CountForm(forms.ONE_NORMAL, float(minimize), lambda state, request: self._numbers(request))

    def _numbers(self, request: Request) -> FloatArray:
        return request.stream.run_normal(request.episode) * self._width(request.episode)

    def _width(self, t: int) -> float:
        return math.sqrt(self._gamma * math.log(t))
