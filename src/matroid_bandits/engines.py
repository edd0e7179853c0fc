"""How a batch of runs finds its next bases: always the decision of the paper's greedy, found in different ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TypeGuard

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import kinetic, selection, statistics, warm
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import AffinePolicy, Policy, State
from matroid_bandits.stream import Stream


class Engine(ABC):
    """Decides for one batch of runs; bound to the state it reads."""

    def __init__(self, matroid: Matroid, policy: Policy, state: State) -> None:
        self._matroid, self._policy, self._state = matroid, policy, state

    @cached_property
    def _U(self) -> FloatArray:
        """Room for the indices of an affine policy."""
        return np.empty(self._state.counts.shape)

    @abstractmethod
    def decide(self, t: int, stream: Stream) -> IntArray:
        """The bases (R, K) of episode t, rows ascending; the caller may keep the array."""

    def refresh(self, items: IntArray) -> None:  # noqa: B027 - only engines that remember need to know
        """Take note that the state of `items` (R, k) changed since the last decision."""

    def _indices(self, t: int, stream: Stream) -> FloatArray:
        """The indices (R, L); those of an affine policy in one pass."""
        state, policy = self._state, self._policy
        if not is_affine(policy):
            return policy_indices(policy, state, t, stream)
        statistics.lines(state.means, state.radii, coefficient(policy, t), self._U)
        return self._U


class GreedyEngine(Engine):
    """Every index, a sort, and the greedy algorithm: the obvious way, and the reference for the others."""

    def decide(self, t: int, stream: Stream) -> IntArray:
        return self._matroid.best_sets(self._indices(t, stream))[0]


class WarmEngine(Engine):
    """The greedy algorithm along last episode's order, repaired.

    Orders move slowly, so a few moves mend them; a row that would need many is sorted anew. Items in every basis
    are not ordered at all, items in none are left out, and of items that exclude each other (parallel edges,
    proportional vectors) only the best takes part.
    """

    #: Beyond this many items that may be chosen or not, a radix sort from scratch beats the repair.
    MOST_ITEMS = 128

    #: Moves per class before a repair is given up: about what sorting from scratch costs.
    _MOVES_PER_CLASS = 8

    def __init__(self, matroid: Matroid, policy: Policy, state: State) -> None:
        super().__init__(matroid, policy, state)
        always, pool = matroid.reduction()
        classes = matroid.parallel_classes(pool)
        sizes: IntArray = np.bincount(classes)
        self._starts, self._members = _offsets(sizes), pool[np.argsort(classes, kind="stable")]
        self._class_orders: IntArray = np.tile(np.arange(sizes.size), (state.n_runs, 1))
        self._orders: IntArray = np.empty(self._class_orders.shape, np.int64)
        self._is_spent = np.empty(state.n_runs, bool)
        self._always = always if always.size else None

    def decide(self, t: int, stream: Stream) -> IntArray:
        U = self._indices(t, stream)
        budget = self._MOVES_PER_CLASS * self._orders.shape[1]
        warm.repair(self._class_orders, self._starts, self._members, U, budget, self._orders, self._is_spent)
        if self._is_spent.any():
            self._sort(np.flatnonzero(self._is_spent), U)
        bases = self._matroid.bases_along(self._orders, self._always)
        selection.sort_rows(bases, self._state.n_items)
        return bases

    def _sort(self, rows: IntArray, U: FloatArray) -> None:
        """Order the classes of some rows from scratch."""
        by_item = np.argsort(self._orders[rows], axis=1)  # so that ties by position are ties by item
        items = np.take_along_axis(self._orders[rows], by_item, axis=1)
        fresh = np.empty(items.shape, np.int64)
        order_kernels.argsort_rows(np.take_along_axis(U[rows], items, axis=1), fresh)
        self._orders[rows] = np.take_along_axis(items, fresh, axis=1)
        classes = np.take_along_axis(self._class_orders[rows], by_item, axis=1)
        self._class_orders[rows] = np.take_along_axis(classes, fresh, axis=1)


class KineticEngine(Engine):
    """For affine policies on quotas: time per episode grows with the basis, not with the number of items.

    The items of each innermost group compete in a kinetic tournament (see `kernels.kinetic`); as many of the best
    as the group could ever place are kept in reserve, and the greedy algorithm runs over the reserves alone.

    Parameters
    ----------
    margin : float
        How much rounding certificates allow for, relative to the size of the indices.
    """

    #: With fewer items a compiled scan of all of them is as fast while much is still being explored.
    LEAST_ITEMS = 2**15

    def __init__(self, matroid: Matroid, policy: Policy, state: State, margin: float = 2.0**-49) -> None:
        super().__init__(matroid, policy, state)
        if not self.fits(matroid, policy):
            raise PolicyError(f"the kinetic engine needs an affine policy and quotas; got {policy!r} on {matroid!r}")
        assert isinstance(policy, AffinePolicy)
        self._affine, self._margin, self._c = policy, margin, np.inf
        quotas = matroid.quotas()
        assert quotas is not None
        self._group, self._parent, self._capacities = quotas
        n_runs, n_items = state.n_runs, state.n_items
        # A cell holds the items of one innermost group; those in no group (numbered -1) are always chosen.
        cells = np.unique(self._group, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes: IntArray = np.bincount(cells)
        self._cells, self._members = cells, np.argsort(cells, kind="stable")
        self._starts = _offsets(sizes)
        self._places = np.empty(n_items, np.int64)
        self._places[self._members] = np.arange(n_items) - np.repeat(self._starts[:-1], sizes)
        self._tree_starts = _offsets(kinetic.tree_size(sizes))
        room = _room(self._parent, self._capacities)
        innermost = self._group[self._members[self._starts[:-1]]] if n_items else np.zeros(0, np.int64)
        depth = np.where(innermost < 0, sizes, np.append(room, 0)[innermost])
        self._reserve_starts = _offsets(np.minimum(depth, sizes))
        n_nodes, n_reserved = self._tree_starts[-1], self._reserve_starts[-1]
        self._is_out = np.zeros((n_runs, n_items), bool)
        self._nodes = np.empty((n_runs, n_nodes, 4))
        self._reserves = np.empty((n_runs, n_reserved), np.int64)
        self._values = np.empty(np.diff(self._reserve_starts).max(initial=0))
        self._is_changed = np.empty(n_runs, bool)
        self._bases = np.empty((n_runs, matroid.rank), np.int64)
        #: Whether no group lies in another: then the reserves are the basis.
        self._is_flat = n_reserved == matroid.rank

    @staticmethod
    def fits(matroid: Matroid, policy: Policy) -> bool:
        """Whether the policy's index is affine and the matroid is made of quotas."""
        return is_affine(policy) and matroid.quotas() is not None

    def decide(self, t: int, stream: Stream) -> IntArray:
        c, state = coefficient(self._affine, t), self._state
        trees = (self._is_out, self._nodes, self._reserves)
        if not c >= self._c:  # the first time, or c went back: start anew
            kinetic.build(
                self._starts, self._members, self._places, self._tree_starts, self._reserve_starts,
                state.means, state.radii, c, self._margin, *trees,
            )  # fmt: skip
            self._is_changed[:] = True
            n_changed = state.n_runs
        else:
            n_changed = kinetic.advance(
                self._starts, self._members, self._places, self._tree_starts, self._reserve_starts,
                state.means, state.radii, c, self._margin, *trees, self._values, self._is_changed,
            )  # fmt: skip
        self._c = c
        if not self._is_flat:
            return self._choose(c)
        if n_changed:
            kinetic.settle(self._reserves, self._is_changed, self._bases)
        return self._bases.copy()

    def refresh(self, items: IntArray) -> None:
        if self._c < np.inf:
            kinetic.touch(
                items, self._starts, self._members, self._cells, self._places, self._tree_starts,
                self._state.means, self._state.radii, self._c, self._margin, self._is_out, self._nodes,
            )  # fmt: skip

    def _choose(self, c: float) -> IntArray:
        """Greedy over the reserves."""
        items = np.sort(self._reserves, axis=1)  # so that ties by position are ties by item
        U: FloatArray = np.empty(items.shape)
        kinetic.indices(items, self._state.means, self._state.radii, c, U)
        orders = np.empty(items.shape, np.int64)
        order_kernels.argsort_rows(U, orders)
        orders = np.take_along_axis(items, orders, axis=1)
        bases = self._matroid.bases_along(orders)
        bases.sort(axis=1)
        return bases


def make_engine(name: str, matroid: Matroid, policy: Policy, state: State) -> Engine:
    """The engine called `name`, or for "auto" the fastest that fits."""
    if name == "auto":
        name = _fastest(matroid, policy)
    if not isinstance(name, str) or name not in ENGINES:
        raise PolicyError(f"expected engine to be one of auto, {', '.join(ENGINES)}; got {name!r}")
    return ENGINES[name](matroid, policy, state)


def _fastest(matroid: Matroid, policy: Policy) -> str:
    """By measurement (see `benchmarks`): what is remembered pays only while indices move slowly."""
    if not is_affine(policy):
        return "greedy"
    if KineticEngine.fits(matroid, policy):
        return "kinetic" if matroid.n_items >= KineticEngine.LEAST_ITEMS else "greedy"
    return "warm" if matroid.reduction()[1].size <= WarmEngine.MOST_ITEMS else "greedy"


def is_affine(policy: Policy) -> TypeGuard[AffinePolicy]:
    """Whether the index is the line that `AffinePolicy` says; a subclass may have replaced it."""
    return isinstance(policy, AffinePolicy) and type(policy).indices is AffinePolicy.indices


def coefficient(policy: AffinePolicy, t: int) -> float:
    """The policy's c_t, checked: engines rely on it."""
    c = float(policy.coefficient(t))
    if not 0.0 <= c < np.inf:
        raise PolicyError(f"expected {type(policy).__name__}.coefficient to be finite and not negative, got {c}")
    return c


def policy_indices(policy: Policy, state: State, t: int, stream: Stream) -> FloatArray:
    """The policy's indices, checked, with +inf for items never seen where the policy tries them."""
    given = policy.indices(state, t, stream)  # an error of the user's own comes through as it is
    try:
        U = np.asarray(given, np.float64, order="C")
    except (TypeError, ValueError):
        raise PolicyError(f"expected {type(policy).__name__}.indices to return numbers, got {given!r}") from None
    if U.shape != state.counts.shape:
        raise PolicyError(
            f"expected {type(policy).__name__}.indices to return shape {state.counts.shape}, got {U.shape}"
        )
    if not is_affine(policy):
        if policy.tries_unseen and not state.counts.all():
            U = np.where(state.counts == 0, np.inf, U)
        bad = order_kernels.first_nan(U.reshape(-1))
        if bad >= 0:
            run, item = stream.runs[bad // state.n_items], bad % state.n_items
            raise PolicyError(f"{type(policy).__name__}.indices gave NaN for item {item} of run {run} in episode {t}")
    return U


def _offsets(sizes: IntArray) -> IntArray:
    """Where each of consecutive pieces starts, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _room(parent: IntArray, capacities: IntArray) -> IntArray:
    """The least capacity on the way from each group to its outermost."""
    room = capacities.copy()
    for g in range(room.size):  # containers come first
        if parent[g] >= 0:
            room[g] = min(room[g], room[parent[g]])
    return room


ENGINES: dict[str, type[Engine]] = {
    "greedy": GreedyEngine,
    "warm": WarmEngine,
    "kinetic": KineticEngine,
}
