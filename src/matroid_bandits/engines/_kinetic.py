"""Tournaments that are followed from one episode to the next, for quotas."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines._resting import QuotaEngine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import kinetic, laminar
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request, State, coefficient


class KineticEngine(QuotaEngine):
    """Engine for affine indices on quotas: time per episode grows with the basis, not with the number of items.

    The items of each innermost group compete in a kinetic tournament (see `kernels.kinetic`); as many of the best
    as the group could ever place are kept in reserve, and the greedy algorithm runs over the reserves alone. Where a
    request bars or pins items, the tournaments are read beyond the reserves, as far as places are left.

    Parameters
    ----------
    margin : float
        How much rounding certificates allow for, relative to the size of the indices.
    may_rest : bool, default False
        Scan all items for a while where tournaments have become more work than that. How much work they are is
        counted and not timed, so the same episodes are scanned every time, and no decision changes either way.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), engine="kinetic").ask().items
    array([0, 1])
    """

    #: With fewer items a compiled scan of all of them is as fast while much is still being explored.
    LEAST_ITEMS = 2**15

    #: When a mask excludes most items, scanning is cheaper than reading the tournament: the least number of items
    #: for each leader that would be read.
    ITEMS_PER_LEADER = 512

    #: Replaying a node of a tournament takes about as long as scanning this number of items.
    ITEMS_PER_NODE = 64

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        state: State,
        margin: float = 2.0**-49,
        may_rest: bool = False,
    ) -> None:
        super().__init__(constraint, policy, state)
        quotas = constraint.quotas() if isinstance(constraint, Matroid) else None
        if quotas is None or self._affine is None or not isinstance(constraint, Matroid):
            raise PolicyError(
                f"the kinetic engine needs an affine policy and quotas; got {policy!r} on {constraint!r}"
            )
        self._matroid, self._full = constraint, np.full(state.n_runs, constraint.rank)
        self._margin, self._c, self._exponent = margin, np.inf, 0
        self._means, self._radii = self._affine.lines(state)
        self._group, self._parent, self._capacities = quotas
        n_runs, n_items = state.n_runs, state.n_items
        # A cell holds the items of one innermost group; those in no group (numbered -1) are always chosen.
        sizes: IntArray = np.bincount(self._group + 1, minlength=self._parent.size + 1)
        self._cells: IntArray = (np.cumsum(sizes > 0) - 1)[self._group + 1]
        sizes = sizes[sizes > 0]
        short = np.uint16 if sizes.size <= 2**16 else np.int64  # which NumPy sorts without comparing
        self._members = np.argsort(self._cells.astype(short), kind="stable")
        self._starts = offsets(sizes)
        self._places = np.empty(n_items, np.int64)
        self._places[self._members] = np.arange(n_items) - np.repeat(self._starts[:-1], sizes)
        self._tree_starts = offsets(kinetic.tree_size(sizes))
        room = np.empty(self._parent.size, np.int64)
        laminar.least_around(self._parent, self._capacities, room)
        self._innermost = self._group[self._members[self._starts[:-1]]] if n_items else np.zeros(0, np.int64)
        depth = np.where(self._innermost < 0, sizes, np.append(room, 0)[self._innermost])
        self._reserve_starts = offsets(np.minimum(depth, sizes))
        n_nodes, n_reserved = self._tree_starts[-1], self._reserve_starts[-1]
        self._is_out = np.zeros((n_runs, n_items), bool)
        self._nodes = np.empty((n_runs, n_nodes, 4))
        self._reserves = np.empty((n_runs, n_reserved), np.int64)
        self._values = np.empty(np.diff(self._reserve_starts).max(initial=0))
        self._is_changed = np.empty(n_runs, bool)
        self._bases = np.empty((n_runs, constraint.rank), np.int64)
        self._most_work = self.WATCHED * n_runs * n_items // self.ITEMS_PER_NODE if may_rest else np.inf
        #: Whether no group lies in another: then the reserves are the basis.
        self._is_flat = n_reserved == constraint.rank

    @staticmethod
    def fits(constraint: Constraint, policy: Policy) -> bool:
        """Return whether the policy's index is affine and the constraint is a matroid made of quotas."""
        return policy.affine is not None and isinstance(constraint, Matroid) and constraint.quotas() is not None

    def decide(self, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode; scans all items where too many of the best are unavailable."""
        if self._resting:
            self._resting -= 1
            return self.scan(request)
        if request.is_open:
            return self._choose(self._follow(request))
        if request.available is not None and request.available.ndim > 1:
            return self.scan(request)
        chosen = self._choose_beside(self._follow(request), request)
        return self.scan(request) if chosen is None else chosen

    def refresh(self, runs: IntArray, items: IntArray) -> None:
        if self._c < np.inf:
            kinetic.touch(
                runs, items, self._starts, self._members, self._cells, self._places, self._tree_starts,
                self._means, self._radii, self._c, self._margin, self._is_out, self._nodes,
            )  # fmt: skip

    def _follow(self, request: Request) -> float:
        """Bring the tournaments up to the request's coefficient, which is returned."""
        assert self._affine is not None
        c, exponent = coefficient(self._affine, self.state, request), self._affine.exponent(self.state)
        trees = (self._is_out, self._nodes, self._reserves)
        # the first time, or where c went back or all lines were multiplied: start anew
        if not (c >= self._c and exponent == self._exponent):
            kinetic.build(
                self._starts, self._members, self._places, self._tree_starts, self._reserve_starts,
                self._means, self._radii, c, self._margin, *trees,
            )  # fmt: skip
            self._is_changed[:] = True
            n_changed = self.state.n_runs
        else:
            n_changed, work = kinetic.advance(
                self._starts, self._members, self._places, self._tree_starts, self._reserve_starts,
                self._means, self._radii, c, self._margin, *trees, self._values, self._is_changed,
            )  # fmt: skip
            self._watch(work)
        self._c, self._exponent = (np.inf if self._resting else c), exponent
        if n_changed and self._is_flat:
            kinetic.settle(self._reserves, self._is_changed, self._bases)
        return c

    def _choose(self, c: float) -> tuple[IntArray, IntArray]:
        """The sets of a request that is open to all: the reserves, or the greedy choice among them."""
        if self._is_flat:
            return self._bases.copy(), self._full
        bases = self._matroid.bases_along(self._order(c, self._reserves))
        bases.sort(axis=1)
        return bases, self._full

    def _choose_beside(self, c: float, request: Request) -> tuple[IntArray, IntArray] | None:
        """The sets of a request that bars or pins items; None where a scan is as fast."""
        n_runs, n_items = self.state.n_runs, self.state.n_items
        barred, taken, room = self._bar(request)
        is_barred = self._is_barred if request.available is None else ~request.available
        best, sizes = np.empty(self._reserves.shape, np.int64), np.empty(n_runs, np.int64)
        if not kinetic.best_beside(
            self._starts, self._members, self._places, self._tree_starts, self._reserve_starts, self._innermost,
            self._parent, room, self._means, self._radii, c, self._is_out, self._nodes, self._reserves, barred,
            is_barred, max(64, n_items // self.ITEMS_PER_LEADER), best, sizes,
        ):  # fmt: skip
            return None
        best = best[:, : sizes.max(initial=0)]  # all runs find as many, since all bar the same items
        return self._complete(taken, room, best, sizes, lambda: self._order(c, best))

    def _order(self, c: float, items: IntArray) -> IntArray:
        """Some items of each run along its greedy order."""
        items = np.sort(items, axis=1)  # so that ties by position are ties by item
        U: FloatArray = np.empty(items.shape)
        kinetic.indices(items, self._means, self._radii, c, U)
        orders = np.empty(items.shape, np.int64)
        order_kernels.argsort_rows(U, orders)
        return np.take_along_axis(items, orders, axis=1)

    @cached_property
    def _is_barred(self) -> BoolArray:
        """Work space of `best_beside`, where nothing stays marked."""
        return np.zeros(self.state.n_items, bool)
