"""Paths from one vertex of a directed graph to another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.names import decode, encode
from matroid_bandits._util.text import counted
from matroid_bandits.constraints._digraph import Digraph, arcs_of_networkx
from matroid_bandits.constraints._network import Network, NetworkConstraint, Pinned
from matroid_bandits.exceptions import InvalidConstraintError, ItemError


class PathConstraint(NetworkConstraint):
    """Paths from a source to a target in a directed graph: one path, or several arc-disjoint paths.

    An item is an arc. The best set is that of the path of largest total weight, whatever its length.

    Parameters
    ----------
    arcs : sequence of (tail, head), or integer array of shape (n_items, 2)
        The items. Vertices are any hashable values; parallel arcs are different items.
    source, target : hashable
        The vertices where paths begin and end.
    n_paths : int, default 1
        Number of arc-disjoint paths in a set; they may share vertices.
    labels : iterable of hashable, optional
        Labels of the items. A sequence of distinct pairs labels itself; an array does not.

    Raises
    ------
    InvalidConstraintError
        The target cannot be reached by `n_paths` such paths.

    Notes
    -----
    In a graph without cycles weights may have any sign, and pins are taken. Where there are cycles between source and
    target, the path of largest total and paths through given arcs are NP-hard to find: there, weights are costs
    (``minimize=True``), pins are refused, an index below 0 counts as a cost of almost nothing (one step of the grid
    that weights are rounded to), and so does an arc never seen.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> roads = mb.PathConstraint([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "c")], "a", "d")
    >>> roads.best_sets(-np.array([[1.0, 5.0, 4.0, 1.0, 1.0]]))  # the least cost
    (array([[0, 3, 4]]), array([3]))
    >>> roads.is_acyclic
    True
    """

    kind = "path"
    per_item = "tails"
    is_hereditary = fills_up = False

    def __init__(
        self,
        arcs: Iterable[tuple[Hashable, Hashable]] | ArrayLike | Digraph,
        source: Hashable,
        target: Hashable,
        n_paths: int = 1,
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        self._graph = graph = Digraph.read(arcs)
        super().__init__(graph.tails.size, graph.pairs if labels is None else labels)
        self._n_paths = as_integer("n_paths", n_paths, 1, max(graph.tails.size, 1), error=InvalidConstraintError)
        ends = graph.vertex(source, "the source"), graph.vertex(target, "the target")
        if ends[0] == ends[1]:
            raise InvalidConstraintError(f"expected a source and a target that differ, got {source!r} for both")
        self._is_between = frozen(graph.between(*ends))
        self._places = graph.places(self._is_between)
        self._network = Network.of(graph.n_vertices, graph.tails, graph.heads, ends, self._n_paths, self._places)
        equal = np.full((1, self._n_items), -1)
        sent = int(self._network.best(equal, self._opened(None), np.empty(0, bool)).sent[0])
        if sent < self._n_paths:
            what = "a path" if self._n_paths == 1 else f"{self._n_paths} paths that share no arc"
            found = "none" if sent == 0 else f"{sent} at most"
            raise InvalidConstraintError(f"expected {what} from {source!r} to {target!r}, found {found}")

    @classmethod
    def from_networkx(cls, graph: Any, source: Hashable, target: Hashable, n_paths: int = 1) -> PathConstraint:
        """Make the constraint from a networkx DiGraph or MultiDiGraph; labels are its edges.

        Examples
        --------
        >>> import networkx as nx
        >>> import matroid_bandits as mb
        >>> mb.PathConstraint.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), "a", "c").labels
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        labels = arcs_of_networkx(graph)
        return cls([(label[0], label[1]) for label in labels], source, target, n_paths, labels=labels)

    @property
    def source(self) -> Hashable:
        """The vertex where paths begin."""
        return self._graph.names[self._network.source]

    @property
    def target(self) -> Hashable:
        """The vertex where paths end."""
        return self._graph.names[self._network.sink]

    @property
    def n_paths(self) -> int:
        """Number of arc-disjoint paths in a set."""
        return self._n_paths

    @property
    def arcs(self) -> list[tuple[Hashable, Hashable]]:
        """The tail and the head of each item."""
        return self._graph.arcs()

    @property
    def is_acyclic(self) -> bool:
        """Whether no cycle lies between source and target."""
        return self._places is not None

    @property
    def cost_reason(self) -> str:  # type: ignore[override]
        if self.is_acyclic:
            return ""
        return (
            "in a graph with cycles the path of largest total weight is NP-hard to find, that of least cost is not "
            "(minimize=True); an acyclic graph takes both"
        )

    def in_words(self) -> str:
        what = "a path" if self._n_paths == 1 else f"{self._n_paths} paths that share no arc"
        return f"{what} from {self.source} to {self.target}"

    def allows(self, items: IntArray) -> bool:
        graph, n = self._graph, self._graph.n_vertices
        if not self._is_between[items].all():
            return False
        balance = np.bincount(graph.tails[items], minlength=n) - np.bincount(graph.heads[items], minlength=n)
        expected = np.zeros(n, np.int64)
        expected[self._network.source], expected[self._network.sink] = self._n_paths, -self._n_paths
        if not np.array_equal(balance, expected):
            return False
        is_chosen = np.zeros(self._n_items, bool)
        is_chosen[items] = True
        return self.is_acyclic or graph.places(is_chosen) is not None

    def max_size(self, *, available: BoolArray | None = None, pinned: IntArray | None = None) -> int:
        """Return the size of the largest allowed set; in a graph with cycles an upper bound, since that is NP-hard.

        See `Constraint.max_size`.
        """
        if self.is_acyclic:
            return super().max_size(available=available, pinned=pinned)
        sizes = self.best_sets(np.full((1, self._n_items), -1.0), available=available, pinned=pinned)[1]
        return self._most if sizes[0] else -1

    def with_unseen(self, weights: FloatArray, unseen: BoolArray) -> FloatArray:
        """Return finite weights under which unseen arcs come first; in a graph with cycles they cost almost
        nothing."""
        if self.is_acyclic:
            return super().with_unseen(weights, unseen)
        return np.where(unseen, -np.ldexp(1.0, self._exponents(weights) - self._bits), weights)

    def force(
        self,
        weights: FloatArray,
        item: int,
        is_in: bool,
        *,
        available: BoolArray | None = None,
        pinned: IntArray | None = None,
    ) -> IntArray | None:
        """Return the best set with an arc, or without it; None where finding a path through the arc is NP-hard."""
        if self.is_acyclic or not is_in:
            return super().force(weights, item, is_in, available=available, pinned=pinned)
        if not self._is_between[item]:
            return np.empty(0, np.int64)
        try:
            other = super().force(weights, item, is_in, available=available, pinned=pinned)
        except ItemError:
            return None
        # the best flow through the arc may be a path and a cycle; where it is none of that, no path is better
        return other if other is not None and self.allows(other) else None

    @property
    def _most(self) -> int:
        return min(self._n_items, self._n_paths * (self._graph.n_vertices - 1))

    def _snap(self, weights: FloatArray) -> IntArray:
        if self.is_acyclic:
            return super()._snap(weights)
        unseen = np.isposinf(weights)
        if unseen.any():
            weights = self.with_unseen(np.where(unseen, 0.0, weights), unseen)
        # one step of the grid at least, so that no cycle is for nothing
        steps = np.rint(np.ldexp(weights, self._bits - self._exponents(weights)))
        return np.minimum(steps, -1.0).astype(np.int64)

    def _exponents(self, weights: FloatArray) -> IntArray:
        return super()._exponents(weights if self.is_acyclic else np.minimum(weights, 0.0))

    def _opened(self, available: BoolArray | None) -> BoolArray:
        return super()._opened(available) & self._is_between

    def _around(self, pinned: IntArray | None, is_open: BoolArray) -> Pinned:
        if pinned is None or not pinned.size:
            return Pinned(self._network, np.empty(0, bool))
        if self._places is None:
            raise ItemError(
                "expected no pinned items on paths of a graph with cycles, since paths through given arcs are "
                f"NP-hard to find there; got {counted(pinned.size, 'item')}: exclude arcs instead"
            )
        # each pinned arc carries a unit: what ends in its tail, and what begins in its head, is sent by itself
        is_open[:, pinned] = False
        graph, k, n = self._graph, self._n_paths, self._graph.n_vertices
        us, vs = graph.tails[pinned], graph.heads[pinned]
        tails = np.concatenate([graph.tails, np.full(k + pinned.size, n), np.full(k, self._network.sink), us])
        heads = np.concatenate([graph.heads, np.full(k, self._network.source), vs, np.full(k + pinned.size, n + 1)])
        places = np.concatenate([self._places + 1, [0, n + 1]])
        network = Network.of(n + 2, tails, heads, (n, n + 1), k + pinned.size, places)
        return Pinned(network, np.zeros(tails.size - self._n_items, bool))

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        chosen = super()._choose(gains, is_open, pinned)
        if pinned is not None and not self._is_between[pinned].all():
            chosen[:] = False
        return chosen

    def content(self) -> tuple[Any, ...]:
        graph = self._graph
        return graph.tails, graph.heads, graph.names, self._network.source, self._network.sink, self._n_paths

    def fields(self) -> dict[str, Any]:
        ends = {"source": encode(self.source, "vertex"), "target": encode(self.target, "vertex")}
        return {**self._graph.fields(), **ends, "n_paths": self._n_paths}

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> PathConstraint:
        source, target = (decode(fields.pop(key)) for key in ("source", "target"))
        n_paths, graph = fields.pop("n_paths"), Digraph.from_fields(fields)
        return cls(graph, source, target, n_paths, labels=labels)

    def __repr__(self) -> str:
        what = f", n_paths={self._n_paths}" if self._n_paths > 1 else ""
        return f"PathConstraint(n_items={self._n_items}, source={self.source!r}, target={self.target!r}{what})"
