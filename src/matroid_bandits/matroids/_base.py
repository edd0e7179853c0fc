"""The interface of every matroid: what it answers, in terms of the few questions that a family must settle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.threads import over_rows
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import InvalidMatroidError, ItemError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.kernels import rows as row_kernels
from matroid_bandits.kernels import selection as selection_kernels

if TYPE_CHECKING:
    from matroid_bandits.matroids._operations import Contraction, Restriction

#: The most items a matroid may have: they are numbered in 32 bits where random numbers are addressed.
MOST_ITEMS = 2**32 - 2

#: Below this many weights, handing rows to other threads costs more than it saves.
_MIN_WEIGHTS_PER_BATCH = 4096

#: Costs are negated in pieces of about this many, which stay in the cache until they are ordered.
_COSTS_PER_PIECE = 2**17

#: Stands for rows of full length, and for nothing taken, where a kernel expects an array.
_NOTHING: IntArray = np.empty(0, np.int64)


class Matroid(Constraint):
    r"""Base class of matroids, the paper's :math:`M = (E, \mathcal I)`: items ``0..n_items-1`` and independent sets.

    Notes
    -----
    **Writing a new family.** Derive a class from this one, call ``super().__init__(n_items, labels)`` in its
    constructor, keep its arrays read-only, and implement

    - `greedy`, the paper's Algorithm 1 along given orders: the decisions of every episode come from it;
    - `span`, the items that cannot be added to an independent set: what `closure`, `extension` and bounds rest on;
    - `fields`, and `from_fields` where the constructor does not take what `fields` gives: the stored form.

    These have defaults that a family may improve:

    - `find_rank`, called once, when `rank` is first asked for; by default it runs `greedy` over all items, so a
      `greedy` that wants to know the rank must come with a `find_rank`;
    - `replaceable`, the members of a basis that an item could replace: behind `circuit` and explanations;
    - `exchanges`, all that could replace each other in a basis, and `most_exchanges`, how many that can be: behind
      stopping rules;
    - `spanned_after`, from when on each item is spanned as a set grows: behind bounds;
    - `content`, what two equal matroids have in common: behind ``==``;
    - `coloops`, the items without which the rank drops: behind duals;
    - `reduction` rests on `coloops` and `parallel_classes`: engines leave out what need not be ordered. Set
      `has_quick_coloops` where `coloops` costs no more than a few calls of `greedy`, or engines do without;
    - `quotas`, where the matroid is made of nested quotas: it then gets the engine whose time does not grow with L;
    - `best_sets`, where the best set can be had without ordering all items.

    The order of calls: `rank` once; then, each episode, `best_sets` orders the items and calls `greedy`, or an engine
    that keeps orders calls `bases_along`, which calls `greedy`. A class with a `kind` of its own can be stored and
    is found again by `constraint_from_dict`. `matroid_bandits.testing.check_matroid` tries all of it.

    Examples
    --------
    A family in which at most one item of each pair (0, 1), (2, 3), ... may be chosen:

    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> class PairMatroid(mb.Matroid):
    ...     kind = "pair"
    ...
    ...     def __init__(self, n_pairs, labels=None):
    ...         super().__init__(2 * n_pairs, labels)
    ...
    ...     def greedy(self, orders, lengths=None, taken=None):
    ...         taken = [] if taken is None else taken.tolist()
    ...         items = np.empty((len(orders), self.n_items // 2), np.int64)
    ...         sizes = np.empty(len(orders), np.int64)
    ...         for run, order in enumerate(orders):
    ...             chosen, pairs = list(taken), {e // 2 for e in taken}
    ...             for e in order[: None if lengths is None else lengths[run]].tolist():
    ...                 if e // 2 not in pairs:
    ...                     chosen.append(e)
    ...                     pairs.add(e // 2)
    ...             sizes[run] = len(chosen)
    ...             items[run, : len(chosen)] = chosen
    ...         return items, sizes
    ...
    ...     def span(self, independent):
    ...         return np.isin(np.arange(self.n_items) // 2, independent // 2)
    ...
    ...     def fields(self):
    ...         return {"n_pairs": self.n_items // 2}
    >>> pairs = PairMatroid(3, labels="aAbBcC")
    >>> mb.testing.check_matroid(pairs)
    >>> pairs.max_weight_basis([0.1, 0.2, 0.9, 0.3, 0.4, 0.4])
    array([1, 2, 4])
    >>> mb.constraint_from_dict(pairs.to_dict()) == pairs
    True
    """

    #: Whether `coloops` costs no more than a few calls of `greedy`, so that engines may ask for them.
    has_quick_coloops: bool = False

    _error = InvalidMatroidError

    # What a family settles

    @abstractmethod
    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Accept items along each row of `orders`, one after the other, while the accepted set stays independent.

        Nothing is checked.

        Parameters
        ----------
        orders : int64 array of shape (R, M), C-contiguous
            A row per run, of distinct items.
        lengths : int64 array of shape (R,), optional
            Only the first ``lengths[r]`` entries of row r count, what follows means nothing; None means whole rows.
        taken : int64 array of shape (P,), optional
            An independent set that every row starts from. Where a row lists one of its items again it is skipped.

        Returns
        -------
        items : int64 array of shape (R, W)
            Row r holds `taken` and then the accepted items in order, ``sizes[r]`` in all; what follows means nothing.
        sizes : int64 array of shape (R,)
        """

    @abstractmethod
    def span(self, independent: IntArray) -> BoolArray:
        """Return the mask (L,) of the items that cannot be added to an independent set, its members included;
        unchecked.

        `closure` and `extension` are the checked calls, of any set.
        """

    def find_rank(self) -> int:
        """Compute the size of every basis; called once, when `rank` is first read."""
        return int(self.greedy(np.arange(self._n_items)[None])[1][0])

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        """Return the members of `basis` that `item`, which is not a member, could replace; input is not checked.

        `circuit` is the checked call, and includes the item itself.
        """
        trial = np.append(basis, item)
        keep = np.ones(trial.size, bool)
        members = []
        for i, member in enumerate(basis):
            keep[i] = False
            if self._is_independent(trial[keep]):
                members.append(member)
            keep[i] = True
        return np.array(members, np.int64)

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        """Return all pairs of a member that can leave `basis` and the item that can replace it; input is not checked.

        Pairs are in the order of the items that enter, then of those that leave. By default this calls `replaceable`
        for each item outside.

        Returns
        -------
        leaves, enters : int64 arrays (n,)

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> roads = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])
        >>> roads.exchanges(np.array([0, 1, 3]))
        (array([0, 1]), array([2, 2]))
        """
        outside = np.setdiff1d(np.arange(self._n_items), basis)
        members = [np.sort(self.replaceable(basis, item)) for item in outside.tolist()]
        leaves = np.concatenate([_NOTHING, *members])
        return leaves, np.repeat(outside, [each.size for each in members])

    def most_exchanges(self) -> int:
        """Return an upper bound on the number of exchange pairs of any basis.

        By default the rank times the items left, without those that are in every basis or in none.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(20, 5).most_exchanges(), mb.PartitionMatroid("aaabb").most_exchanges()
        (75, 3)
        """
        always, items = self.reduction()
        rank = self.rank - always.size
        return int(rank * (items.size - rank))

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the items of a set without which its rank drops, ascending; for all items, those in every basis.

        Nothing is checked. By default this costs a greedy set for each item that two greedy sets have in common.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)]).coloops()
        array([3])
        """
        X = np.arange(self._n_items) if items is None else items
        basis = self._select(X)
        if basis.size == X.size:
            return np.sort(basis)
        # a coloop is in every basis, also in one that would rather do without the members of the first
        again = self._select(np.append(np.setdiff1d(X, basis), basis))
        common = np.intersect1d(basis, again)
        needed = [e for e in common.tolist() if self._select(np.setdiff1d(X, e)).size < basis.size]
        return np.array(needed, np.int64)

    def spanned_after(self, order: IntArray) -> IntArray:
        """Return for each item (L,) how many items of an ordered independent set it takes to span it.

        One more than there are for an item that can be added to all of them, and 0 for a loop. Nothing is checked. By
        default the set is halved until it is known for each item, a call of `span` each time.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> roads = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])
        >>> roads.spanned_after(np.array([1, 0]))
        array([2, 1, 2, 3, 0])
        """
        after = np.full(self._n_items, order.size + 1)
        # items that the first `high` of the set span and the first `low` do not
        left = [(-1, order.size, np.flatnonzero(self.span(order)))]
        while left:
            low, high, items = left.pop()
            if high - low == 1 or items.size == 0:
                after[items] = high
                continue
            middle = (low + high) // 2
            is_early = self.span(order[:middle])[items]
            left += [(low, middle, items[is_early]), (middle, high, items[~is_early])]
        return after

    def parallel_classes(self, items: IntArray) -> IntArray:
        """Return a class number, from 0 on, for each of the given non-loop items; parallel items share one.

        Items of one class exclude each other, and any two of them stand to all other items alike. By default every
        item is a class of its own.
        """
        return np.arange(items.size)

    def quotas(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """Return the matroid as nested quotas; None where it has no such form.

        Returns
        -------
        group : int64 array (L,)
            The innermost group of each item, -1 for none.
        parent : int64 array (G,)
            The next larger group around each group, -1 for none; it has a smaller number.
        capacities : int64 array (G,)
            How many items of each group may be chosen.
        """
        return None

    def compiled(self) -> forms.MatroidForm | None:
        """Return the matroid's form for compiled episodes (see `kernels.forms`); None, the default, where it has
        none.

        A class that overrides a hook of the class that declared it loses it by that.
        """
        return None

    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the basis of largest weight for each row: among `available` items, with the `pinned` ones.

        See `Constraint.best_sets`. Restrictions and contractions of a matroid are matroids, so the greedy set is the
        best of those that a request leaves.
        """
        orders = np.empty(weights.shape, np.int64)
        if available is None and pinned is None:
            order_kernels.argsort_rows(weights, orders)
            bases, sizes = self._full(*self.greedy(orders))
            self._sort(bases)
            return bases, sizes
        lengths = np.empty(weights.shape[0], np.int64)
        order_kernels.argsort_open_rows(weights, self._open_items(available, pinned), orders, lengths)
        items, sizes = self.greedy(orders, lengths, pinned)
        selection_kernels.sort_starts(items, sizes, self._n_items)
        return items, sizes

    # What callers use

    def allows(self, items: IntArray) -> bool:
        """Return whether the set is independent, without checking its items; `is_independent` checks them."""
        return self._is_independent(items)

    def max_size(self, *, available: BoolArray | None = None, pinned: IntArray | None = None) -> int:
        """Return the rank of the available and pinned items; -1 where the pinned items are dependent."""
        is_open = available is None and pinned is None
        return self.rank if is_open else super().max_size(available=available, pinned=pinned)

    def solve(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the bases of `best_sets`; the greedy algorithm compares weights only, so +inf needs no
        replacement."""
        return self.best_sets(weights, available=available, pinned=pinned)

    @property
    def rank(self) -> int:
        """Size of every basis, the paper's K."""
        return self._known_rank

    @cached_property
    def _known_rank(self) -> int:
        return self.find_rank()

    def bases_along(self, orders: IntArray, taken: IntArray | None = None) -> IntArray:
        """Return the bases that `greedy` finds along orders of spanning sets, in the order of acceptance.

        Parameters
        ----------
        orders : int64 array of shape (R, M), C-contiguous
            Rows of distinct items which, with those `taken`, hold a basis each; that is the caller's to know.
        taken : int64 array of shape (P,), optional
            An independent set that every basis starts with.

        Returns
        -------
        int64 array of shape (R, rank), C-contiguous

        Raises
        ------
        InvalidMatroidError
            A row accepted fewer items than another order did, so this is no matroid.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> triangle = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)])
        >>> triangle.bases_along(np.array([[2, 1, 0], [1, 0, 2]]))
        array([[2, 1],
               [1, 0]])
        """
        return self._full(*self.greedy(orders, None, taken))[0]

    def reduction(self) -> tuple[IntArray, IntArray]:
        """Return items known to be in every basis, and the items to decide on, without loops; both ascending.

        Those in neither are in no basis. An engine needs to order the second alone. This costs no more than a few
        greedy bases: where `coloops` are not to be had for that, any item is taken to be one of the second.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> roads = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])
        >>> roads.reduction()
        (array([3]), array([0, 1, 2]))
        """
        return self._known_reduction

    @cached_property
    def _known_reduction(self) -> tuple[IntArray, IntArray]:
        if not self.has_quick_coloops:
            return frozen(np.empty(0, np.int64)), frozen(np.arange(self._n_items))
        always = self.coloops()
        is_open = ~self.span(np.empty(0, np.int64))
        is_open[always] = False
        return frozen(always), frozen(np.flatnonzero(is_open))

    def is_independent(self, items: Iterable[Label] | IntArray) -> bool:
        """Return whether the set is independent."""
        return self._is_independent(self.as_items(items))

    def is_basis(self, items: Iterable[Label] | IntArray) -> bool:
        """Return whether the set is a maximal independent set."""
        X = self.as_items(items)
        return X.size == self.rank and self._is_independent(X)

    def extension(self, items: Iterable[Label] | IntArray) -> IntArray:
        """Return the paper's E(X): the items outside X whose addition keeps X independent, ascending.

        Empty when X is a basis, and when X is dependent already.
        """
        X = self.as_items(items)
        if not self._is_independent(X):
            return np.empty(0, np.int64)
        return np.flatnonzero(~self.span(X)).astype(np.int64, copy=False)

    def closure(self, items: Iterable[Label] | IntArray) -> IntArray:
        """Return the items whose addition does not increase the rank of the set, its members included, ascending."""
        X = self.as_items(items)
        return np.flatnonzero(self.span(self._select(X))).astype(np.int64, copy=False)

    def circuit(self, basis: Iterable[Label] | IntArray, item: Label | IntArray) -> IntArray:
        """Return the fundamental circuit of `item` in `basis`: `item` and the members it could replace, ascending.

        This is why the item is out: it can only enter in place of one of the others. A loop's circuit is itself.

        Raises
        ------
        ItemError
            `basis` is not a basis, or `item` belongs to it.
        """
        B = self.as_items(basis)
        e = self.as_item(item)
        if B.size != self.rank or not self._is_independent(B):
            raise ItemError(f"expected a basis ({self.rank} independent items), got {_show(B)}")
        if e in B:
            raise ItemError(f"expected an item outside the basis, got member {e}")
        return np.sort(np.append(self.replaceable(B, e), e))

    def max_weight_basis(self, weights: ArrayLike, minimize: bool = False) -> IntArray:
        """Return the basis of largest total weight, by the greedy algorithm (the paper's Algorithm 1).

        Parameters
        ----------
        weights : array_like of shape (n_items,) or (n_runs, n_items), or mapping of label to float
            One weight per item, or one row per run; infinities are allowed, NaN is not. A mapping, such as a pandas
            Series, names every item.
        minimize : bool, default False
            Take the basis of least total weight.

        Returns
        -------
        int64 array of shape (rank,) or (n_runs, rank)
            Items in ascending order. Equal weights are taken by smaller item first, so the answer is unique.

        Raises
        ------
        WeightsError
            Wrong shape or type, or NaN; the message names the run and the item.
        """
        w = self.as_weights(weights)
        if w.ndim == 1:
            basis: IntArray = self.best_sets((-w if minimize else w)[None])[0][0]
            return basis
        if w.shape[0] == 0:
            return np.empty((0, self.rank), np.int64)
        if w.shape[0] == 1 or w.size < _MIN_WEIGHTS_PER_BATCH:
            return self.best_sets(-w if minimize else w)[0]
        bases = np.empty((w.shape[0], self.rank), np.int64)
        n_rows = max(1, _COSTS_PER_PIECE // self._n_items)

        def fill(lo: int, hi: int) -> None:
            if not minimize:
                bases[lo:hi] = self.best_sets(w[lo:hi])[0]
                return
            gains = np.empty((min(n_rows, hi - lo), self._n_items))
            for start in range(lo, hi, n_rows):
                end = min(start + n_rows, hi)
                negated = np.negative(w[start:end], out=gains[: end - start])
                bases[start:end] = self.best_sets(negated)[0]

        over_rows(fill, w.shape[0])
        return bases

    # New matroids from old

    def dual(self) -> Matroid:
        """Return the dual matroid, whose bases are the complements of this matroid's bases."""
        from matroid_bandits.matroids._operations import Dual

        return Dual(self)

    def truncate(self, rank: int) -> Matroid:
        """Return the truncation: the matroid of the independent sets with at most `rank` items."""
        from matroid_bandits.matroids._operations import Truncation

        return Truncation(self, rank)

    def restrict(self, items: Iterable[Label] | IntArray) -> Restriction:
        """Return the restriction to the given items, renumbered in ascending order, with their labels."""
        from matroid_bandits.matroids._operations import Restriction

        return Restriction(self, items)

    def contract(self, items: Iterable[Label] | IntArray) -> Contraction:
        """Return the contraction: the matroid on the other items, renumbered, given that these items are taken.

        Of a dependent set as many as possible are taken; the rest become part of the closure.
        """
        from matroid_bandits.matroids._operations import Contraction

        return Contraction(self, items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_items={self._n_items}, rank={self.rank})"

    # Helpers of the families

    def _select(self, items: IntArray) -> IntArray:
        """A maximal independent subset, greedily in the order given."""
        accepted, sizes = self.greedy(items[None])
        return accepted[0, : sizes[0]]

    def _is_independent(self, items: IntArray) -> bool:
        return self._select(items).size == items.size

    def _doubt(self) -> str:
        """What is wrong, and what to do, where bases of different size are found."""
        return "maximal sets differ in size, so this is no matroid; run check_matroid on it"

    def _open_items(self, available: BoolArray | None, pinned: IntArray | None) -> BoolArray:
        """The items that a request lets the greedy algorithm take, as a mask of shape (R, L) or (1, L)."""
        shape = (1, self._n_items)
        is_open = np.ones(shape, bool) if available is None else np.array(available, bool, ndmin=2)
        if pinned is not None:
            is_open[:, pinned] = False
        return is_open

    def _full(self, items: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
        """What `greedy` found along orders that span the matroid, as bases (R, rank); an error where it is less."""
        K = self.rank
        wrong = row_kernels.first_other(sizes, K)
        if wrong >= 0:
            raise InvalidMatroidError(
                f"expected all bases to have {K} items, found one of {sizes[wrong]}: {self._doubt()}"
            )
        return (items if items.shape[1] == K else np.ascontiguousarray(items[:, :K])), sizes

    def _sort(self, bases: IntArray) -> None:
        """Sort each row of an array of bases in place."""
        if bases.shape[1] * 16 < self._n_items:
            bases.sort(axis=1)
        else:  # a sweep over the items beats sorting many of them
            selection_kernels.sort_rows(bases, self._n_items)


def rows_for(
    orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The optional arguments of `Matroid.greedy` as kernels take them, and the arrays that they fill.

    Returns `lengths` and `taken`, empty where they were None, and room for `items` (R, limit) and `sizes` (R,).
    """
    if lengths is None:
        lengths = _NOTHING
    if taken is None:
        taken = _NOTHING
    else:
        taken = np.array(taken, np.int64)  # a copy: kernels are compiled for arrays that can be written
        limit = max(limit, taken.size)
    return lengths, taken, np.empty((orders.shape[0], limit), np.int64), np.empty(orders.shape[0], np.int64)


def _show(items: IntArray) -> str:
    shown = ", ".join(map(str, items[:8]))
    return f"{{{shown}}}" if items.size <= 8 else f"{{{shown}, ...}} ({items.size} items)"
