"""Engines that scan for a while where following the items has become more work than that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._base import Engine
from matroid_bandits.kernels import laminar
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, State


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


class QuotaEngine(RestingEngine):
    """An engine that follows the items of each innermost quota, and chooses among the best of each."""

    _matroid: Matroid
    _group: IntArray
    _parent: IntArray
    _capacities: IntArray
    #: Whether the best of each innermost quota are the set, since no quota around them binds.
    _is_flat: bool

    def _bar(self, request: Request) -> tuple[IntArray, IntArray, IntArray]:
        """The items that a request takes out of the search, those of them that are pinned, and each quota's room."""
        excluded, pinned = (
            np.empty(0, np.int64) if items is None else items for items in (request.excluded, request.pinned)
        )
        barred = np.concatenate([pinned, excluded])
        taken = barred[: pinned.size]
        room = np.empty(self._capacities.size, np.int64)
        laminar.room_beside(taken, self._group, self._parent, self._capacities, room)
        return barred, taken, room

    def _complete(
        self, taken: IntArray, room: IntArray, best: IntArray, sizes: IntArray, order: Callable[[], IntArray]
    ) -> tuple[IntArray, IntArray]:
        """The sets of pinned items and of the best of each quota; `order` gives the latter along their indices."""
        n_runs = best.shape[0]
        if self._is_flat:
            items = np.concatenate([np.broadcast_to(taken, (n_runs, taken.size)), best], axis=1)
            sizes += taken.size
        else:
            items = np.empty((n_runs, self._matroid.rank), np.int64)
            items[:, : taken.size] = taken
            laminar.greedy_quotas(
                order(), np.empty(0, np.int64), self._group, self._parent, frozen(room), taken.size,
                self._matroid.rank, items, sizes,
            )  # fmt: skip
            items = items[:, : sizes.max(initial=0)]
        items.sort(axis=1)
        return items, sizes
