"""Thompson sampling: play the best basis of a sampled world."""

from __future__ import annotations

from typing import Literal

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State
from matroid_bandits.stream import ROUNDING


class ThompsonSampling(Policy):
    r"""Combinatorial Thompson sampling (Wang and Chen, ICML 2018).

    Each episode a mean is sampled for every item from what is believed of it, and the best basis for the samples is
    played.

    Parameters
    ----------
    prior : "beta" or "normal", default "beta"
        "beta": weights in [0, 1]; a weight w counts as a success with probability w, and beliefs are
        Beta(1 + successes, 1 + failures), which is a proper prior: no item has to be tried before the others.
        "normal": any weights; beliefs are
        :math:`N(\hat w_e, \mathrm{noise}^2 / T_e)`.
    noise : float, default 1.0
        Standard deviation of a weight, for "normal".

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.ThompsonSampling().support, mb.ThompsonSampling("normal", noise=0.5).support
    ((0.0, 1.0), (-inf, inf))
    """

    def __init__(self, prior: Literal["beta", "normal"] = "beta", noise: float = 1.0) -> None:
        if prior not in ("beta", "normal"):
            raise PolicyError(f'expected prior to be "beta" or "normal", got {shown(prior)}')
        self._prior = prior
        self._noise = as_number("noise", noise, 0.0, error=PolicyError)
        if prior == "beta":
            self.support = (0.0, 1.0)  # type: ignore[misc]
            self.tries_unseen = False  # type: ignore[misc]

    def prepare(self, state: State) -> None:
        if self._prior == "beta":
            state.extra["successes"] = np.zeros(state.counts.shape)

    def check_extra(self, state: State) -> None:
        if self._prior == "beta":
            successes = state.extra["successes"]
            is_wrong = ~((successes >= 0.0) & (successes <= state.counts) & (successes == np.rint(successes)))
            if is_wrong.any():
                e = int(is_wrong[0].argmax())
                n, given = state.counts[0, e], successes[0, e]
                raise PolicyError(f"expected a number of successes from 0 to {n} for item {e}, got {given}")

    def indices(self, state: State, request: Request) -> FloatArray:
        t, stream, items = request.episode, request.stream, np.arange(state.n_items)
        if self._prior == "beta":
            successes = state.extra["successes"]
            alpha, beta = 1.0 + successes, 1.0 + (state.counts - successes)
            if state.has_priors:
                chance = state.prior_means + 1.0 if state.minimize else state.prior_means
                alpha, beta = alpha + state.prior_counts * chance, beta + state.prior_counts * (1.0 - chance)
            return stream.beta(t, items, alpha, beta)
        return state.means + self._noise * stream.normal(t, items) * state.radii

    def observe(self, state: State, feedback: Feedback) -> None:
        if self._prior == "beta":
            chance = 1.0 + feedback.gains if state.minimize else feedback.gains
            stream = feedback.stream.with_purpose(ROUNDING).take(feedback.runs)
            is_success = stream.uniform(feedback.episode, feedback.items[:, None])[:, 0] < chance
            state.extra["successes"][feedback.runs, feedback.items] += is_success
