"""KL-UCB++: Kullback-Leibler bounds that go by an item's share of the plays."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.kernels import classes, forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._moss import share, shares
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class KLUCBPlusPlus(Policy):
    r"""KL-UCB++ for semi-bandits, without a known horizon (after Menard and Garivier, ALT 2017).

    The index of item e is the largest q with
    :math:`T_e \, \mathrm{kl}(\hat w_e, q) \le \log^+(y (1 + (\log^+ y)^2))`, where :math:`y = K t / (L T_e)` for sets
    of K of L items. Weights must lie in [0, 1].

    Notes
    -----
    K is the size of the largest set. When minimising, the index is of one minus the weight.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.lower_bound_problem(24, 4, 0.1)
    >>> result = mb.simulate(problem, [mb.KLOSM(), mb.KLUCBPlusPlus()], n_episodes=1_000, n_runs=10, seed=1)
    >>> bool(result["KLUCBPlusPlus"].final_regret.mean() < result["KLOSM"].final_regret.mean())
    True
    """

    support = (0.0, 1.0)

    def prepare(self, constraint: Constraint) -> int:
        """Return the size K of the largest allowed set."""
        return constraint.max_size()

    def indices(self, state: State, request: Request) -> FloatArray:
        xs = np.full(state.n_runs, share(state, request.episode))
        U: FloatArray = np.empty(state.means.shape)
        classes.indices(forms.KL_SHARE, float(state.minimize), xs, state.means, state.plays, U)
        return U

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.KL_SHARE, episodes=lambda state, stream: shares(state))

    def counted(self, minimize: bool) -> forms.CountForm:
        return forms.CountForm(forms.KL_SHARE, float(minimize), lambda state, request: share(state, request.episode))
