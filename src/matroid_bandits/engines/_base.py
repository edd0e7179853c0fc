"""What every engine does: find the set that the paper's greedy would choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.kernels import kinetic
from matroid_bandits.policies import AffinePolicy, Policy, Request, State, coefficient, evaluate


class Engine(ABC):
    """Decides for one batch of runs; bound to the state it reads.

    An agent calls `decide` once an episode, and `refresh` whenever the state of some items has changed. Whatever an
    engine remembers, its sets are those of the greedy algorithm, bit for bit.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen.
    policy : Policy
        Where the indices come from.
    state : State
        What the indices are computed of.
    """

    def __init__(self, constraint: Constraint, policy: Policy, state: State) -> None:
        self._constraint, self._policy, self._state = constraint, policy, state
        self._affine = policy if isinstance(policy, AffinePolicy) else None

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """The sets of the request's episode, rows ascending, and their sizes.

        Returns
        -------
        items : int64 array (R, K)
            The chosen items of each run, the first ``sizes[run]`` of its row; the caller may keep the array.
        sizes : int64 array (R,)
            How many items each run has chosen.
        """
        if request.available is None and request.pinned is None:
            return self._decide(request)
        return self._constraint.best_sets(self._indices(request), available=request.available, pinned=request.pinned)

    @abstractmethod
    def _decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """The sets of a request that leaves everything open."""

    def refresh(self, runs: IntArray, items: IntArray) -> None:  # noqa: B027 - only engines that remember need to know
        """Take note that the state of `items` (n,) in `runs` (n,) changed since the last decision."""

    def _indices(self, request: Request) -> FloatArray:
        """The indices (R, L); those of an affine policy in one pass over room that is used again."""
        if self._affine is None:
            return evaluate(self._policy, self._state, request)
        kinetic.lines(*self._affine.lines(self._state), coefficient(self._affine, self._state, request), self._room)
        return self._room

    @cached_property
    def _room(self) -> FloatArray:
        return np.empty(self._state.counts.shape)


class GreedyEngine(Engine):
    """Every index, a sort, and the greedy algorithm: the obvious way, and the reference for the others.

    It works for every constraint and every policy.
    """

    def _decide(self, request: Request) -> tuple[IntArray, IntArray]:
        return self._constraint.best_sets(self._indices(request))
