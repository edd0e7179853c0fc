"""Heaps of means per number of plays, for quotas and indices that go by these two."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._resting import QuotaEngine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import classes, forms, laminar
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, State, counted


class CountClassesEngine(QuotaEngine):
    """Engine for indices that increase with the mean at equal plays, on quotas: a heap of means per play count.

    Of the items of a quota that were played equally often, the best is the one of largest mean (see
    `kernels.classes`). So an episode looks at the root of each heap and at what lies below the items that are chosen,
    whatever the sign and the size of what is added to the means, and however it changes from episode to episode. The
    policy says so by `Policy.counted`.

    Parameters
    ----------
    may_rest : bool, default False
        Scan all items for a while when looking at the classes, or at equal indices, is more work than a scan.
        Work is counted and not timed, and no decision changes either way.

    Raises
    ------
    PolicyError
        The constraint is not made of quotas, or the index goes by something else than means and plays.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Learner(mb.UniformMatroid(4, 2), mb.KLOSM(), engine="classes").ask().items
    array([0, 1])
    """

    #: From this number of items on heaps are faster than a compiled scan: where an index takes some operations, and
    #: where it is found by iteration.
    LEAST_ITEMS, LEAST_ITERATED = 2**15, 2**10

    #: Looking at an item of a heap takes about as long as scanning this number of items, in the same two cases.
    ITEMS_PER_LOOK, ITERATED_PER_LOOK = 32, 2

    def __init__(self, constraint: Constraint, policy: Policy, state: State, may_rest: bool = False) -> None:
        super().__init__(constraint, policy, state)
        quotas = constraint.quotas() if isinstance(constraint, Matroid) else None
        form = counted(policy, state.minimize)
        if quotas is None or not isinstance(constraint, Matroid):
            raise PolicyError(f"the engine of count classes needs quotas; got {constraint!r}")
        if form is None:
            raise PolicyError(
                "the engine of count classes needs an index that goes by the means of whole plays alone and does not "
                f"fall with them at equal plays; got {policy!r}"
            )
        self._matroid, self._form = constraint, form
        self._group, self._parent, self._capacities = quotas
        n_runs, n_items = state.n_runs, state.n_items
        # A cell holds the items of one innermost group; those in no group (numbered -1) are always chosen.
        sizes: IntArray = np.bincount(self._group + 1, minlength=self._parent.size + 1)
        self._cells: IntArray = (np.cumsum(sizes > 0) - 1)[self._group + 1]
        sizes = sizes[sizes > 0]
        self._starts = offsets(sizes)
        room = np.empty(self._parent.size, np.int64)
        laminar.least_around(self._parent, self._capacities, room)
        firsts = np.empty(sizes.size, np.int64)
        firsts[self._cells] = np.arange(n_items)  # any item of each cell
        self._innermost: IntArray = self._group[firsts]
        depths = np.where(self._innermost < 0, sizes, np.append(room, 0)[self._innermost])
        self._depths: IntArray = np.minimum(depths, sizes)
        self._width = int(self._depths.sum())
        #: Whether no group lies in another: then the best of the cells are the basis.
        self._is_flat = self._width == constraint.rank
        self._is_built = False
        self._heaps = self.heaps(n_runs, n_items, sizes.size)
        self._space = np.empty((2, n_items + 1)), np.empty((2, n_items + 1), np.int64)
        self._most_looks = max(64, n_items // self.items_per_look(policy))
        self._most_work = self.WATCHED * n_runs * self._most_looks if may_rest else np.inf

    @staticmethod
    def heaps(n_runs: int, n_items: int, n_cells: int) -> tuple[AnyArray, ...]:
        """Return room for the heaps of each run, as `kernels.classes` takes it."""
        return (
            np.empty((n_runs, n_items, 4), np.int32),
            np.empty((n_runs, n_items)),
            np.empty((n_runs, n_items), np.int32),
            np.empty((n_runs, n_items + 1)),
            np.empty((n_runs, n_items + 1, 3), np.int32),
            np.empty((n_runs, n_cells), np.int32),
            np.empty((n_runs, 2), np.int32),
        )

    @classmethod
    def fits(cls, constraint: Constraint, policy: Policy) -> bool:
        """Return whether the index depends on means and plays alone and the constraint is made of quotas."""
        is_made_of_quotas = isinstance(constraint, Matroid) and constraint.quotas() is not None
        return is_made_of_quotas and counted(policy, minimize=False) is not None

    @classmethod
    def pays(cls, policy: Policy, n_items: int) -> bool:
        """Return whether the engine fits and heaps are faster than a scan for this number of items."""
        form = counted(policy, minimize=False)
        if form is None:
            return False
        return n_items >= (cls.LEAST_ITERATED if form.kind in forms.ITERATED else cls.LEAST_ITEMS)

    @classmethod
    def items_per_look(cls, policy: Policy) -> int:
        """Return how many items a scan reads in the time of one heap lookup."""
        form = counted(policy, minimize=False)
        return cls.ITERATED_PER_LOOK if form is not None and form.kind in forms.ITERATED else cls.ITEMS_PER_LOOK

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode; scans all items where too many of the best are unavailable."""
        if self._resting:
            self._resting -= 1
            return self.scan(request)
        if request.available is not None and request.available.ndim > 1:
            return self.scan(request)
        if not self._is_built:
            self._build()
        chosen = self._choose(request)
        return self.scan(request) if chosen is None else chosen

    def refresh(self, runs: IntArray, items: IntArray) -> None:
        if not self._is_built:
            return
        state = self.state
        if items.size > state.counts.size // 8:  # building takes less
            self._is_built = False
            return
        classes.move_all(
            runs, items, self._cells, state.counts, state.waiting, state.lost, state.prior_counts, state.means,
            *self._heaps,
        )  # fmt: skip

    def _build(self) -> None:
        """Put every item into its class."""
        descending = -np.arange(self.state.n_items)
        same = np.lexsort((descending, self._cells))
        for run, row in enumerate(self.state.plays):
            is_same = row.size == 0 or row.min() == row.max()
            order = same if is_same else np.lexsort((descending, row, self._cells))
            heaps = [array[run] for array in self._heaps]
            classes.build(self._starts, order, row, self.state.means[run], *heaps)
        self._is_built = True

    def _choose(self, request: Request) -> tuple[IntArray, IntArray] | None:
        """The sets of a request whose mask is the same for all runs; None where a scan is as fast."""
        n_runs = self.state.n_runs
        numbers = np.asarray(self._form.numbers(self.state, request), np.float64)
        if not np.isfinite(numbers).all():
            raise PolicyError(f"expected {type(self.policy).__name__}.counted to give finite numbers, got {numbers}")
        barred, taken, room = self._bar(request)
        is_barred = self._is_barred if request.available is None else ~request.available
        best, U = np.empty((n_runs, self._width), np.int64), np.empty((n_runs, self._width))
        sizes = np.empty(n_runs, np.int64)
        work = classes.choose(
            self._form.kind, self._form.number, np.array(np.broadcast_to(numbers, n_runs)), self._innermost,
            self._parent, room, self._depths, *self._heaps[:-1], barred, is_barred, *self._space,
            2**62 if request.is_open else self._most_looks, U, best, sizes,
        )  # fmt: skip
        if work < 0:
            return None
        if request.is_open:
            self._watch(work)
        width = sizes.max(initial=0)  # all runs find as many, since all bar the same items
        best, U = best[:, :width], U[:, :width]
        return self._complete(taken, room, best, sizes, lambda: self._order(best, U))

    @staticmethod
    def _order(items: IntArray, U: FloatArray) -> IntArray:
        """Some items of each run along its greedy order, of their indices."""
        by_item = np.argsort(items, axis=1)  # so that ties by position are ties by item
        items, U = np.take_along_axis(items, by_item, axis=1), np.take_along_axis(U, by_item, axis=1)
        orders = np.empty(items.shape, np.int64)
        order_kernels.argsort_rows(U, orders)
        return np.take_along_axis(items, orders, axis=1)

    @cached_property
    def _is_barred(self) -> BoolArray:
        """Work space of `classes.choose`, where nothing stays marked."""
        return np.zeros(self.state.n_items, bool)
