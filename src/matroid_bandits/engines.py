"""How a batch of runs finds its next bases: always the decision of the paper's greedy, found in different ways."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import AffinePolicy, Policy, State
from matroid_bandits.stream import Stream


class Engine(ABC):
    """Decides for one batch of runs; bound to the state it reads."""

    def __init__(self, matroid: Matroid, policy: Policy, state: State) -> None:
        self._matroid, self._policy, self._state = matroid, policy, state

    @abstractmethod
    def decide(self, t: int, stream: Stream) -> IntArray:
        """The bases (R, K) of episode t, rows ascending."""

    def refresh(self, items: IntArray) -> None:  # noqa: B027 - only engines that remember need to know
        """Take note that the state of `items` (R, k) changed since the last decision."""


class GreedyEngine(Engine):
    """Every index, a sort, and the greedy algorithm: the obvious way, and the reference for the others."""

    def decide(self, t: int, stream: Stream) -> IntArray:
        U = policy_indices(self._policy, self._state, t, stream)
        return self._matroid._max_weight_bases(U, False)


def make_engine(name: str, matroid: Matroid, policy: Policy, state: State) -> Engine:
    """The engine called `name`, or for "auto" the fastest that fits."""
    return GreedyEngine(matroid, policy, state)


def policy_indices(policy: Policy, state: State, t: int, stream: Stream) -> FloatArray:
    """The policy's indices, checked, with +inf for items never seen where the policy tries them."""
    U = np.asarray(policy.indices(state, t, stream), np.float64, order="C")
    if U.shape != state.counts.shape:
        raise PolicyError(
            f"expected {type(policy).__name__}.indices to return shape {state.counts.shape}, got {U.shape}"
        )
    if not isinstance(policy, AffinePolicy):
        with np.errstate(invalid="ignore"):
            is_suspect = np.isnan(U.sum())
        if is_suspect and np.isnan(U).any():
            run, item = np.argwhere(np.isnan(U))[0]
            raise PolicyError(f"{type(policy).__name__}.indices gave NaN for item {item} of run {run} in episode {t}")
        if policy.tries_unseen and not state.counts.all():
            U = np.where(state.counts == 0, np.inf, U)
    return U
