"""Thompson sampling with one random number an episode."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray
from matroid_bandits.kernels import classes, forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State
from matroid_bandits.policies._thompson import deviations


class SingleSeedThompson(Policy):
    r"""Thompson sampling with one random draw per episode for all items (after CTS3; Jin et al., COLT 2026).

    One :math:`u_t`, uniform in [0, 1], is drawn for all items. The index of item e is the :math:`u_t`-quantile of
    Beta(1 + S, 1 + n - S), where the n plays of the item have mean :math:`\hat w_e` and :math:`S = n \hat w_e`. Where
    sets are large, a good set is as likely to look good as a good item; independent samples of `ThompsonSampling` for
    its items would average out. Weights must lie in [0, 1].

    Notes
    -----
    The prior is proper: no item has to be tried before the others. A weight w counts as w of a success. Where plays
    wait for an answer, n counts them too and S goes by the mean of the answers.
    The constants of the source could not be compared with its text.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.lower_bound_problem(24, 4, 0.1)
    >>> result = mb.simulate(problem, [mb.OMM(), mb.SingleSeedThompson()], n_episodes=1_000, n_runs=10, seed=1)
    >>> bool(result["SingleSeedThompson"].final_regret.mean() < result["OMM"].final_regret.mean())
    True
    """

    samples = True
    support = (0.0, 1.0)
    alternative = 'ThompsonSampling("normal")'
    tries_unseen = False

    def indices(self, state: State, request: Request) -> FloatArray:
        xs = request.stream.run_uniform(request.episode)
        U: FloatArray = np.empty(state.means.shape)
        classes.indices(forms.ONE_QUANTILE, float(state.minimize), xs, state.means, state.plays, U)
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return the posterior standard deviation of each mean."""
        n: AnyArray = state.plays
        p = np.clip(state.means + float(state.minimize), 0.0, 1.0)
        return deviations(1.0 + p * n, 1.0 + (1.0 - p) * n)

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.ONE_QUANTILE)

    def counted(self, minimize: bool) -> forms.CountForm:
        return forms.CountForm(
            forms.ONE_QUANTILE,
            float(minimize),
            lambda state, request: request.stream.run_uniform(request.episode),
        )
