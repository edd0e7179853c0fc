"""Orders that are kept from one episode to the next."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.arrays import frozen, offsets
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._base import Engine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.kernels import selection, warm
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, State


class WarmEngine(Engine):
    """Engine that keeps the sorted order of the last episode and repairs it, then runs the greedy algorithm.

    Orders move slowly, so a few moves mend them; a row that would need many is sorted anew. Items in every basis
    are not ordered at all, items in none are left out, and of items that exclude each other (parallel edges,
    proportional vectors) only the best takes part.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> triangle = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    >>> mb.Learner(triangle, mb.OMM(), engine="warm").ask().items
    array([0, 1])
    """

    #: Beyond this many items that may be chosen or not, a radix sort from scratch beats the repair.
    MOST_ITEMS = 128

    #: Moves per class before a repair is given up: about what sorting from scratch costs.
    _MOVES_PER_CLASS = 8

    def __init__(self, constraint: Constraint, policy: Policy, state: State) -> None:
        super().__init__(constraint, policy, state)
        if not isinstance(constraint, Matroid):
            raise PolicyError(f"expected a matroid for the warm engine, got {constraint!r}")
        self._matroid = constraint
        always, pool = constraint.reduction()
        # loops, which have no class, are left out of the pool only where they are looked for
        classes = constraint.parallel_classes(pool) if constraint.has_quick_coloops else np.arange(pool.size)
        sizes: IntArray = np.bincount(classes)
        self._starts, self._members = offsets(sizes), pool[np.argsort(classes, kind="stable")]
        self._class_orders: IntArray = np.tile(np.arange(sizes.size), (state.n_runs, 1))
        self._orders: IntArray = np.empty(self._class_orders.shape, np.int64)
        self._is_spent = np.empty(state.n_runs, bool)
        self._always = frozen(always) if always.size else None
        self._full = np.full(state.n_runs, constraint.rank)

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode; requests with masks or pins are scanned."""
        if not request.is_open:
            return self.scan(request)
        U = self._indices(request)
        budget = self._MOVES_PER_CLASS * self._orders.shape[1]
        warm.repair(self._class_orders, self._starts, self._members, U, budget, self._orders, self._is_spent)
        if self._is_spent.any():
            self._sort(np.flatnonzero(self._is_spent), U)
        bases = self._matroid.bases_along(self._orders, self._always)
        selection.sort_rows(bases, self.state.n_items)
        return bases, self._full

    def _sort(self, rows: IntArray, U: FloatArray) -> None:
        """Order the classes of some rows from scratch."""
        by_item = np.argsort(self._orders[rows], axis=1)  # so that ties by position are ties by item
        items = np.take_along_axis(self._orders[rows], by_item, axis=1)
        fresh = np.empty(items.shape, np.int64)
        order_kernels.argsort_rows(np.take_along_axis(U[rows], items, axis=1), fresh)
        self._orders[rows] = np.take_along_axis(items, fresh, axis=1)
        classes = np.take_along_axis(self._class_orders[rows], by_item, axis=1)
        self._class_orders[rows] = np.take_along_axis(classes, fresh, axis=1)
