"""Thompson sampling: play the best basis of a sampled world."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy, as_number
from matroid_bandits.policies._state import State
from matroid_bandits.stream import ROUNDING, Stream


class ThompsonSampling(Policy):
    r"""Combinatorial Thompson sampling (Wang and Chen, ICML 2018).

    Each episode a mean is sampled for every item from what is believed of it, and the best basis for the samples is
    played.

    Parameters
    ----------
    prior : "beta" or "normal", default "beta"
        "beta": weights in [0, 1]; a weight w counts as a success with probability w, and beliefs are
        Beta(1 + successes, 1 + failures). "normal": any weights; beliefs are
        :math:`N(\hat w_e, \mathrm{noise}^2 / T_e)`.
    noise : float, default 1.0
        Standard deviation of a weight, for "normal".
    """

    def __init__(self, prior: Literal["beta", "normal"] = "beta", noise: float = 1.0) -> None:
        if prior not in ("beta", "normal"):
            raise PolicyError(f'expected prior to be "beta" or "normal", got {prior!r}')
        self._prior = prior
        self._noise = as_number("noise", noise, 0.0)
        if prior == "beta":
            self.support = (0.0, 1.0)  # type: ignore[misc]

    def prepare(self, state: State) -> None:
        if self._prior == "beta":
            state.extra["successes"] = np.zeros(state.counts.shape)

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        if self._prior == "beta":
            successes = state.extra["successes"]
            return stream.beta(t, 1.0 + successes, 1.0 + (state.counts - successes))
        z = stream.normal(t, np.arange(state.n_items))
        is_unseen = state.counts == 0
        if is_unseen.any():
            return np.where(is_unseen, np.inf, state.means + self._noise * z * np.where(is_unseen, 0.0, state.radii))
        return state.means + self._noise * z * state.radii

    def observe(self, state: State, t: int, items: IntArray, weights: FloatArray, stream: Stream) -> None:
        if self._prior == "beta":
            chance = 1.0 - weights if state.minimize else weights
            is_success = stream.uniform(t, items, ROUNDING) < chance
            runs = np.arange(state.n_runs)[:, None]
            state.extra["successes"][runs, items] += is_success

    def _params(self) -> dict[str, Any]:
        return {"prior": self._prior, "noise": self._noise}
