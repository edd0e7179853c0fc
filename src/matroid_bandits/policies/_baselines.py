"""Policies to compare with: the paper's epsilon-greedy, the optimum, pure chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy, as_number
from matroid_bandits.policies._state import State
from matroid_bandits.stream import Stream


class EpsilonGreedy(Policy):
    """With probability `epsilon` a random basis, otherwise the basis of best means; the paper's baseline.

    Parameters
    ----------
    epsilon : float, default 0.1
        Probability of a random basis, which is the best one for independent uniform weights.
    """

    def __init__(self, epsilon: float = 0.1) -> None:
        self._epsilon = as_number("epsilon", epsilon, 0.0, 1.0)

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        is_random = stream.run_uniform(t) < self._epsilon
        if not is_random.any():
            return state.means
        U = state.means.copy()
        some = Stream(stream.seed, stream.runs[is_random], stream.purpose)
        U[is_random] = some.uniform(t, np.arange(state.n_items))
        return U

    def _params(self) -> dict[str, Any]:
        return {"epsilon": self._epsilon}


class UniformRandom(Policy):
    """A random basis in every episode: the best one for independent uniform weights."""

    tries_unseen = False

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        return stream.uniform(t, np.arange(state.n_items))


class Optimal(Policy):
    """The basis of best true means in every episode; only a simulation knows them."""

    tries_unseen = False

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        raise PolicyError("Optimal needs the true mean weights, so it can only be played by simulate()")
