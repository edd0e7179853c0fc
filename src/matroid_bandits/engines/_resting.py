"""Engines that scan for a while where following the items has become more work than that."""

from __future__ import annotations

import numpy as np

from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._base import Engine
from matroid_bandits.policies import Policy, State


class RestingEngine(Engine):
    """An engine that adds up how much work its episodes are, in a unit of its own, and rests where it is too much.

    What rests is found by scans. Work is counted and not timed, so the same episodes are scanned every time.
    """

    #: Episodes over which the work is added up, and how long an engine rests at first and at most.
    WATCHED, FIRST_REST, LONGEST_REST = 16, 128, 2048

    def __init__(self, constraint: Constraint, policy: Policy, state: State) -> None:
        super().__init__(constraint, policy, state)
        # work of the last episodes, how many they are, and the most that is not too much; while the engine rests, for
        # how many more episodes, and for how many it would rest next
        self._work = self._n_watched = self._resting = 0
        self._most_work: float = np.inf
        self._rest = self.FIRST_REST

    def _watch(self, work: int) -> None:
        """Add up the work of some episodes; where it is more than scans would be, rest.

        A rest is twice as long whenever it was too much work again after the last.
        """
        self._work += work
        self._n_watched += 1
        if self._work > self._most_work:
            self._resting, self._rest = self._rest, min(2 * self._rest, self.LONGEST_REST)
        elif self._n_watched == self.WATCHED:
            self._rest = self.FIRST_REST
        else:
            return
        self._work = self._n_watched = 0
