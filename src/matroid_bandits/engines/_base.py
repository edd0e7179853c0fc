"""What every engine does: find the set that the paper's greedy would choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.kernels import kinetic
from matroid_bandits.policies import Policy, Request, State, choose_sets, coefficient, evaluate, solve


class Engine(ABC):
    """Base class of engines: finds the set of each episode for a batch of runs, from the state it is bound to.

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

    Examples
    --------
    A new engine implements `decide`, and may be passed to `simulate` and `Learner` in place of a name.

    >>> import matroid_bandits as mb
    >>> from matroid_bandits.engines import Engine
    >>> class Careful(Engine):
    ...     '''The greedy set, found without haste.'''
    ...     def decide(self, request):
    ...         indices = mb.policies.evaluate(self.policy, self.state, request)
    ...         return self.constraint.solve(indices, available=request.available, pinned=request.pinned)
    >>> mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), engine=Careful).ask().items
    array([0, 1])
    """

    def __init__(self, constraint: Constraint, policy: Policy, state: State) -> None:
        self.constraint, self.policy, self.state = constraint, policy, state
        self._affine = policy.affine

    @abstractmethod
    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode, with ascending rows, and their sizes.

        Returns
        -------
        items : int64 array (R, K)
            The chosen items of each run, the first ``sizes[run]`` of its row, as wide as the largest set; the caller
            may keep the array.
        sizes : int64 array (R,)
            How many items each run has chosen.
        """

    def decide_open(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return what `decide` does for a request that bars and pins nothing, which need not be looked up then."""
        return self.decide(request)

    def refresh(self, runs: IntArray, items: IntArray) -> None:  # noqa: B027 - only engines that remember need to know
        """Mark the statistics of `items` (n,) in `runs` (n,) as changed since the last decision."""

    def scan(self, request: Request) -> tuple[IntArray, IntArray]:
        """Decide from all indices, for any mask or pins of the request; the fallback of every engine."""
        return solve(self.state, request, self._indices(request))

    def _indices(self, request: Request) -> FloatArray:
        """The indices (R, L); those of an affine policy in one pass over room that is used again."""
        if self._affine is None:
            return evaluate(self.policy, self.state, request)
        kinetic.lines(*self._affine.lines(self.state), coefficient(self._affine, self.state, request), self._room)
        return self._room

    @cached_property
    def _room(self) -> FloatArray:
        return np.empty(self.state.counts.shape)


class GreedyEngine(Engine):
    """Reference engine: computes every index, sorts them, and runs the greedy algorithm.

    It works for every constraint and every policy.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), engine="greedy").ask().items
    array([0, 1])
    """

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode, by `scan`."""
        return self.constraint.solve(self._indices(request)) if request.is_open else self.scan(request)


class OwnSetsEngine(Engine):
    """The sets of a policy that chooses them itself, checked; it takes the place of the greedy engine for those.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> class First(mb.Policy):
    ...     def indices(self, state, request):
    ...         return state.means
    ...     def sets(self, state, request):
    ...         return np.tile([0, 1], (state.n_runs, 1)), np.full(state.n_runs, 2)
    >>> mb.Learner(mb.UniformMatroid(4, 2), First()).ask().items
    array([0, 1])
    """

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """What `Policy.sets` gives."""
        return choose_sets(self.policy, self.state, request)
