"""Every chosen item gets a partner of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.names import codes_of, decode, encode, pairs_of
from matroid_bandits.exceptions import InvalidMatroidError, ItemError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import transversal as transversal_kernels
from matroid_bandits.matroids._base import Matroid, rows_for


class TransversalMatroid(Matroid):
    """Transversal matroid: sets of items that can be matched to distinct partners in a bipartite graph.

    Parameters
    ----------
    neighbors : sequence or mapping of iterables, or SciPy sparse matrix
        The right vertices (any hashable) each item may be matched to; a mapping gives the items their labels.
        In a matrix rows are items, columns are right vertices, and stored non-zeros are edges.
    labels : iterable of hashable, optional
        Labels of the items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> jobs = mb.TransversalMatroid({"ann": ["day"], "bob": ["day"], "eve": ["day", "night"]})
    >>> best = jobs.max_weight_basis([0.9, 0.8, 0.1])
    >>> jobs.matching(best)
    {0: 'day', 2: 'night'}
    """

    kind = "transversal"
    per_item = "neighbors"
    has_quick_coloops = True

    def __init__(
        self,
        neighbors: Iterable[Iterable[Hashable]] | Mapping[Label, Iterable[Hashable]] | Any,
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        if hasattr(neighbors, "tocsr"):
            starts, codes, self._rights = _read_sparse(neighbors)
        else:
            keys, lists = pairs_of(neighbors) or (None, neighbors)  # type: tuple[list[Any] | None, Any]
            labels = keys if labels is None else labels
            starts, codes, self._rights = _read_lists(lists)
        super().__init__(starts.size - 1, labels)
        self._starts, self._codes = frozen(starts), frozen(codes)

    @classmethod
    def from_networkx(cls, graph: Any, items: Iterable[Hashable] | None = None) -> TransversalMatroid:
        """Make the matroid from a bipartite networkx graph; `items` are the left vertices (``bipartite=0`` by
        default).

        Examples
        --------
        >>> import networkx as nx
        >>> import matroid_bandits as mb
        >>> mb.TransversalMatroid.from_networkx(nx.complete_bipartite_graph(3, 2)).rank
        2
        """
        if not hasattr(graph, "adj") or not hasattr(graph, "nodes"):
            raise InvalidMatroidError(f"expected a networkx graph, got {type(graph).__name__}")
        if items is None:
            items = [v for v, data in graph.nodes(data=True) if data.get("bipartite") == 0]
            if not items and len(graph):
                raise InvalidMatroidError("expected items, or vertices with the attribute bipartite=0; got neither")
        try:
            left = list(items)
            inside = set(left)
        except TypeError:
            raise InvalidMatroidError(f"expected items to be vertices of the graph, got {items!r}") from None
        for v in left:
            if v not in graph:
                raise InvalidMatroidError(f"expected items to be vertices of the graph, got {v!r}")
            for r in graph.adj[v]:
                if r in inside:
                    raise InvalidMatroidError(
                        f"expected a bipartite graph, got an edge between items {v!r} and {r!r}"
                    )
        return cls([list(graph.adj[v]) for v in left], labels=left)

    @property
    def neighbors(self) -> list[tuple[Hashable, ...]]:
        """The right vertices that each item may be matched to."""
        names, starts = [self._rights[r] for r in self._codes.tolist()], self._starts.tolist()
        return [tuple(names[lo:hi]) for lo, hi in pairwise(starts)]

    def matching(self, items: Iterable[Label] | IntArray) -> dict[int, Hashable]:
        """Return a matching of an independent set: a distinct right vertex for each item.

        Raises
        ------
        ItemError
            The items cannot all be matched.
        """
        X = self.as_items(items)
        slot = self._slots(X)
        if (slot[X] < 0).any():
            raise ItemError(f"expected an independent set; item {X[slot[X] < 0][0]} cannot be matched with the rest")
        return {e: self._rights[slot[e]] for e in X.tolist()}

    def _match(
        self, orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """What `greedy` accepts, at most `limit` items a row, and the right vertex of each item, -1 for none."""
        lengths, taken, items, sizes = rows_for(orders, lengths, taken, limit)
        slots = np.empty((orders.shape[0], self._n_items), np.int64)
        transversal_kernels.greedy_matchings(
            orders, lengths, taken, self._starts, self._codes, len(self._rights), limit, items, sizes, slots
        )
        return items, sizes, slots

    def _slots(self, items: IntArray) -> IntArray:
        """The right vertex of each item (L,) when these are matched, -1 for none."""
        slots: IntArray = self._match(items[None], None, None, items.size)[2][0]
        return slots

    @cached_property
    def _masks(self) -> AnyArray:
        """The right vertices of each item as the bits of a word; for at most 64 of them."""
        masks = np.zeros(self._n_items, np.uint64)
        items = np.repeat(np.arange(self._n_items), np.diff(self._starts))
        np.bitwise_or.at(masks, items, np.uint64(1) << self._codes.astype(np.uint64))
        return frozen(masks)

    def find_rank(self) -> int:
        limit = min(self._n_items, len(self._rights))
        return int(self._accepted(np.arange(self._n_items)[None], None, None, limit)[1][0])

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return self._accepted(orders, lengths, taken, self.rank)

    def _accepted(
        self, orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
    ) -> tuple[IntArray, IntArray]:
        n_right = len(self._rights)
        if not 0 < n_right <= 64:
            return self._match(orders, lengths, taken, limit)[:2]
        lengths, taken, items, sizes = rows_for(orders, lengths, taken, limit)
        masks = entries = self._masks
        if taken.size:
            entries = masks.copy()
            entries[taken] = 0
            entries = frozen(entries)  # as the masks are: the kernel is compiled once
        transversal_kernels.greedy_mask_matchings(
            orders, lengths, taken, masks, entries, n_right, limit, items, sizes
        )
        return items, sizes

    def span(self, independent: IntArray) -> BoolArray:
        return self.spanned_after(independent) <= independent.size

    def spanned_after(self, order: IntArray) -> IntArray:
        after = np.empty(self._n_items, np.int64)
        transversal_kernels.spanned_after(
            order, self._slots(order), self._starts, self._codes, len(self._rights), after
        )
        return after

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        return self._reachable(basis, np.array([item]))

    def _reachable(self, independent: IntArray, items: IntArray) -> IntArray:
        """The members of an independent set that one or another of the items, which it spans, could replace."""
        return self._reachable_in(self._slots(independent), independent.size, items)

    def _reachable_in(self, slots: IntArray, n_members: int, items: IntArray) -> IntArray:
        """The same in a matching that is known."""
        members = np.empty(n_members, np.int64)
        n = transversal_kernels.reachable_items(items, slots, self._starts, self._codes, len(self._rights), members)
        return members[:n]

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        outside, slots = np.setdiff1d(np.arange(self._n_items), basis), self._slots(basis)
        members = [np.sort(self._reachable_in(slots, basis.size, outside[i : i + 1])) for i in range(outside.size)]
        leaves = np.concatenate([np.empty(0, np.int64), *members])
        return leaves, np.repeat(outside, [each.size for each in members])

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the matched items that no alternating path from an unmatched item reaches."""
        X = np.arange(self._n_items) if items is None else items
        basis = self._select(X)
        return np.setdiff1d(basis, self._reachable(basis, np.setdiff1d(X, basis)))

    def parallel_classes(self, items: IntArray) -> IntArray:
        """Return classes of items that have the same single right vertex."""
        lows, n_rights = self._starts[items], len(self._rights)
        is_single = self._starts[items + 1] - lows == 1
        key = np.where(is_single, self._codes[lows], n_rights + np.arange(items.size))
        return np.unique(key, return_inverse=True)[1].reshape(-1)

    def compiled(self) -> forms.MatchingForm:
        return forms.MatchingForm(self._starts, self._codes, len(self._rights))

    def content(self) -> tuple[Any, ...]:
        return (_Neighbors(self._starts, self._codes, self._rights),)

    def fields(self) -> dict[str, Any]:
        codes = self._codes.tolist()
        return {
            "neighbors": [codes[lo:hi] for lo, hi in pairwise(self._starts.tolist())],
            "rights": [encode(right, "right vertex") for right in self._rights],
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> TransversalMatroid:
        neighbors, rights = fields.pop("neighbors"), decode(fields.pop("rights"))
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        matroid = cls(neighbors, labels=labels)
        # numbered by first appearance, the numbers are their own names
        if matroid._rights != tuple(range(len(rights))) or len(set(rights)) != len(rights):
            raise ValueError("neighbors and rights do not fit together")
        matroid._rights = rights
        return matroid


class _Neighbors:
    """The right vertices of every item, equal to others in whatever order they were listed.

    Arrays are compared: a set of names for each item would take a hundred bytes for every edge.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, starts: IntArray, codes: IntArray, rights: tuple[Hashable, ...]) -> None:
        self._starts, self._codes, self._rights = starts, codes, rights

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Neighbors):
            return NotImplemented
        if len(self._rights) != len(other._rights) or not np.array_equal(self._starts, other._starts):
            return False
        code = {right: r for r, right in enumerate(self._rights)}
        mine = np.array([code.get(right, -1) for right in other._rights], np.int64)  # of their right vertices
        return bool((mine >= 0).all()) and bool(
            transversal_kernels.is_same(self._starts, self._codes, other._codes, mine)
        )


def _read_lists(neighbors: Iterable[Iterable[Hashable]]) -> tuple[IntArray, IntArray, tuple[Hashable, ...]]:
    starts: list[int] = [0]
    flat: list[Hashable] = []
    try:
        for e, rights in enumerate(neighbors):
            if isinstance(rights, str):
                raise InvalidMatroidError(f"expected the right vertices of item {e} in a list, got {rights!r}")
            try:
                flat.extend(dict.fromkeys(rights))
            except TypeError as error:
                raise InvalidMatroidError(
                    f"expected a list of hashable right vertices for item {e}: {error}"
                ) from None
            starts.append(len(flat))
    except TypeError:
        raise InvalidMatroidError(
            f"expected a list of right vertices per item, got {type(neighbors).__name__}"
        ) from None
    codes, names = codes_of(flat, "right vertex")
    return np.array(starts, np.int64), codes, names


def _read_sparse(matrix: Any) -> tuple[IntArray, IntArray, tuple[Hashable, ...]]:
    csr = matrix.tocsr(copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    codes, names = codes_of(csr.indices.astype(np.int64), "right vertex")
    return csr.indptr.astype(np.int64), codes, names
