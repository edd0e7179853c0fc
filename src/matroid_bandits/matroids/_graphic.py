"""Edges of a graph without a cycle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.names import codes_of, decode, encode
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import graphic as graphic_kernels
from matroid_bandits.matroids._base import Matroid, rows_for


class GraphicMatroid(Matroid):
    """Graphic matroid: items are edges, independent sets are forests, a basis is a spanning tree (or forest).

    Parameters
    ----------
    edges : sequence of (u, v), or integer array of shape (n_items, 2)
        The items. Vertices are any hashable values. A self-loop is never chosen, parallel edges are allowed.
    labels : iterable of hashable, optional
        Labels of the items. A sequence of distinct pairs labels itself, and an edge answers to its ends in either
        order; an array does not.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> roads = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])
    >>> roads.max_weight_basis([3.0, 1.0, 2.0], minimize=True)
    array([1, 2])
    >>> roads.circuit([1, 2], 0)  # why the first edge is out
    array([0, 1, 2])
    """

    kind = "graphic"
    per_item = "tails"
    has_quick_coloops = True

    def __init__(
        self,
        edges: Iterable[tuple[Hashable, Hashable]] | ArrayLike,
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        ends, self._vertices, pairs = _read_edges(edges)
        if labels is None and pairs is not None and len(set(pairs)) == len(pairs):
            labels = pairs
        super().__init__(len(ends), labels)
        self._n_vertices = len(self._vertices)
        self._tails = frozen(np.ascontiguousarray(ends[:, 0]))
        self._heads = frozen(np.ascontiguousarray(ends[:, 1]))

    @classmethod
    def from_networkx(cls, graph: Any) -> GraphicMatroid:
        """Make the graphic matroid of a networkx Graph or MultiGraph; labels are its edges.

        Examples
        --------
        >>> import networkx as nx
        >>> import matroid_bandits as mb
        >>> mb.GraphicMatroid.from_networkx(nx.cycle_graph(4)).labels
        ((0, 1), (0, 3), (1, 2), (2, 3))
        """
        if not hasattr(graph, "is_multigraph") or not hasattr(graph, "edges"):
            raise InvalidMatroidError(f"expected a networkx graph, got {type(graph).__name__}")
        if graph.is_directed():
            raise InvalidMatroidError("expected an undirected graph, got a directed one: use graph.to_undirected()")
        labels = list(graph.edges(keys=True)) if graph.is_multigraph() else list(graph.edges())
        return cls([(label[0], label[1]) for label in labels], labels=labels)

    def _find(self, label: Any) -> int | None:
        """The edge of a label; an edge that is called by its ends answers to them in both orders."""
        e = super()._find(label)
        if e is None and isinstance(label, tuple) and len(label) >= 2:
            u, v, *rest = label
            e = super()._find((v, u, *rest))
            if e is not None and {self._vertices[self._tails[e]], self._vertices[self._heads[e]]} != {u, v}:
                return None
        return e

    @property
    def n_vertices(self) -> int:
        """Number of vertices with at least one edge."""
        return self._n_vertices

    @property
    def edges(self) -> list[tuple[Hashable, Hashable]]:
        """The two ends of each item."""
        names = self._vertices
        return [(names[u], names[v]) for u, v in zip(self._tails.tolist(), self._heads.tolist(), strict=True)]

    def find_rank(self) -> int:
        limit = max(self.n_vertices - 1, 0)
        return int(self._forests(np.arange(self._n_items)[None], None, None, limit)[1][0])

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return self._forests(orders, lengths, taken, self.rank)

    def _forests(
        self, orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
    ) -> tuple[IntArray, IntArray]:
        given = taken
        lengths, taken, forests, sizes = rows_for(orders, lengths, taken, limit)
        tails, heads, n_vertices = self._tails, self._heads, self._n_vertices
        if taken.size:
            tails, heads = self._contracted(given, taken)
            forests[:, : taken.size] = taken
        graphic_kernels.greedy_forests(orders, lengths, tails, heads, n_vertices, taken.size, limit, forests, sizes)
        return forests, sizes

    def _contracted(self, given: IntArray | None, taken: IntArray) -> tuple[IntArray, IntArray]:
        """The ends of all edges where each tree of the taken ones is a single vertex; the last answer is kept."""
        last = self.__dict__.get("_last_contracted")
        if last is not None and (last[0] is given or np.array_equal(last[1], taken)):
            return last[2], last[3]
        tails, heads = np.empty(self._n_items, np.int64), np.empty(self._n_items, np.int64)
        graphic_kernels.contract(taken, self._tails, self._heads, self._n_vertices, tails, heads)
        tails, heads = frozen(tails), frozen(heads)  # as those the kernels are compiled for
        # an array that cannot be written to is known again at a glance
        known = given if given is not None and not given.flags.writeable else None
        self.__dict__["_last_contracted"] = (known, taken, tails, heads)
        return tails, heads

    def span(self, independent: IntArray) -> BoolArray:
        return self.spanned_after(independent) <= independent.size

    def spanned_after(self, order: IntArray) -> IntArray:
        after = np.empty(self._n_items, np.int64)
        graphic_kernels.spanned_after(order, self._tails, self._heads, self._n_vertices, after)
        return after

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        path = np.empty(basis.size, np.int64)
        n = graphic_kernels.tree_path(
            basis, self._tails, self._heads, self._n_vertices, self._tails[item], self._heads[item], path
        )
        return path[:n]

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        """Return all exchanges: an edge can replace the edges on the path between its ends."""
        tree = np.array(basis, np.int64), self._tails, self._heads, self._n_vertices
        leaves, enters = np.empty(0, np.int64), np.empty(0, np.int64)
        if n := graphic_kernels.tree_exchanges(*tree, leaves, enters):
            leaves, enters = np.empty(n, np.int64), np.empty(n, np.int64)
            graphic_kernels.tree_exchanges(*tree, leaves, enters)
        order = np.lexsort((leaves, enters))
        return leaves[order], enters[order]

    def most_exchanges(self) -> int:
        """Return the number of pairs inside each block, since edges replace each other on a common cycle."""
        block = np.empty(self._n_items, np.int64)
        n_blocks = graphic_kernels.blocks(self._tails, self._heads, self._n_vertices, block)
        most = 0
        for b in range(n_blocks):
            edges = np.flatnonzero(block == b)
            rank = np.unique(np.append(self._tails[edges], self._heads[edges])).size - 1
            most += rank * (edges.size - rank)
        return most

    def parallel_classes(self, items: IntArray) -> IntArray:
        u, v = self._tails[items], self._heads[items]
        ends = np.minimum(u, v) * self.n_vertices + np.maximum(u, v)
        return np.unique(ends, return_inverse=True)[1].reshape(-1)

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the bridges: edges that lie on no cycle of the given edges."""
        X = np.arange(self._n_items) if items is None else np.sort(items)
        block = np.empty(X.size, np.int64)
        n_blocks = graphic_kernels.blocks(self._tails[X], self._heads[X], self._n_vertices, block)
        is_alone = np.bincount(block[block >= 0], minlength=n_blocks) == 1
        bridges: IntArray = X[np.append(is_alone, False)[block]]
        return bridges

    def compiled(self) -> forms.GraphForm:
        return forms.GraphForm(self._tails, self._heads, self._n_vertices)

    def content(self) -> tuple[Any, ...]:
        return (self._tails, self._heads, self._vertices)

    def fields(self) -> dict[str, Any]:
        return {
            "tails": self._tails.tolist(),
            "heads": self._heads.tolist(),
            "vertices": [encode(vertex, "vertex") for vertex in self._vertices],
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> GraphicMatroid:
        ends = np.array([fields.pop("tails"), fields.pop("heads")], np.int64).T
        vertices = decode(fields.pop("vertices"))
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        matroid = cls(ends, labels=labels)
        # numbered by first appearance, the numbers are their own names
        if matroid._vertices != tuple(range(len(vertices))) or len(set(vertices)) != len(vertices):
            raise ValueError("vertices and the ends of edges do not fit together")
        matroid._vertices = vertices
        return matroid


def _read_edges(edges: Any) -> tuple[IntArray, tuple[Hashable, ...], list[Any] | None]:
    """Ends (m, 2) as vertex numbers, the vertices' names, and the pairs where they may serve as labels."""
    if isinstance(edges, np.ndarray) and edges.dtype.kind in "iu":
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise InvalidMatroidError(f"expected an array of edges of shape (n_items, 2), got {edges.shape}")
        codes, names = codes_of(edges.reshape(-1), "vertex")
        return codes.reshape(-1, 2), names, None
    try:
        listed = list(edges)
    except TypeError:
        raise InvalidMatroidError(f"expected a sequence of (u, v) pairs, got {type(edges).__name__}") from None
    flat: list[Hashable] = []
    for e, edge in enumerate(listed):
        if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InvalidMatroidError(f"expected edge {e} to be a pair of vertices, got {edge!r}")
        flat.extend(edge)
    codes, names = codes_of(flat, "vertex")
    pairs = [(names[u], names[v]) for u, v in codes.reshape(-1, 2).tolist()]
    return codes.reshape(-1, 2), names, pairs
