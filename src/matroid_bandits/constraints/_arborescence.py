"""Spanning trees directed away from a root."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.names import decode, encode
from matroid_bandits._util.text import counted
from matroid_bandits.constraints._digraph import Digraph, arcs_of_networkx
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.kernels import arborescence as kernels


class ArborescenceConstraint(ExactConstraint):
    """Arborescences: directed trees from a root to every other vertex of a graph, as for broadcasting.

    An item is an arc. Every vertex but the root is entered by one arc of a set, and reached from the root; where a
    request leaves no such set, the answer is empty.

    Parameters
    ----------
    arcs : sequence of (tail, head), or integer array of shape (n_items, 2)
        The items. Vertices are any hashable values; parallel arcs are different items.
    root : hashable
        The vertex that all others are reached from.
    labels : iterable of hashable, optional
        Labels of the items. A sequence of distinct pairs labels itself; an array does not.

    Raises
    ------
    InvalidConstraintError
        A vertex cannot be reached from the root.

    Notes
    -----
    Edmonds' contraction on snapped weights. Where it meets arcs that are equally good it runs once more on longer
    integers, in which every item has a bit of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> links = mb.ArborescenceConstraint([("a", "b"), ("a", "c"), ("b", "c"), ("c", "b")], "a")
    >>> links.best_sets(-np.array([[1.0, 5.0, 1.0, 1.0]]))
    (array([[0, 2]]), array([2]))
    """

    kind = "arborescence"
    per_item = "tails"
    is_hereditary = fills_up = False

    def __init__(
        self,
        arcs: Iterable[tuple[Hashable, Hashable]] | ArrayLike | Digraph,
        root: Hashable,
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        self._graph = graph = Digraph.read(arcs)
        super().__init__(graph.tails.size, graph.pairs if labels is None else labels)
        self._root = graph.vertex(root, "the root")
        is_reached = graph.reached(self._root)
        if not is_reached.all():
            name = graph.names[int((~is_reached).argmax())]
            raise InvalidConstraintError(
                f"expected every vertex to be reached from {root!r}, got {name!r}, which is not"
            )
        self._is_useful = frozen((graph.tails != graph.heads) & (graph.heads != self._root))

    @classmethod
    def from_networkx(cls, graph: Any, root: Hashable) -> ArborescenceConstraint:
        """Make the constraint from a networkx DiGraph or MultiDiGraph; labels are its edges.

        Examples
        --------
        >>> import networkx as nx
        >>> import matroid_bandits as mb
        >>> mb.ArborescenceConstraint.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), "a").root
        'a'
        """
        labels = arcs_of_networkx(graph)
        return cls([(label[0], label[1]) for label in labels], root, labels=labels)

    @property
    def root(self) -> Hashable:
        """The root vertex."""
        return self._graph.names[self._root]

    @property
    def arcs(self) -> list[tuple[Hashable, Hashable]]:
        """The tail and the head of each item."""
        return self._graph.arcs()

    def in_words(self) -> str:
        return f"a directed tree from {self.root} to {counted(self._most, 'other vertex')}".replace(
            "vertexs", "vertices"
        )

    def allows(self, items: IntArray) -> bool:
        graph = self._graph
        if items.size != self._most or not self._is_useful[items].all():
            return False
        before = np.full(graph.n_vertices, -1)
        before[graph.heads[items]] = graph.tails[items]
        before[self._root] = self._root
        if (before < 0).any():  # a vertex that no arc enters
            return False
        for _ in range(graph.n_vertices.bit_length()):  # twice as far back each time: to the root, or round a cycle
            before = before[before]
        return bool((before == self._root).all())

    @property
    def _most(self) -> int:
        return self._graph.n_vertices - 1

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        graph, is_open = self._graph, is_open & self._is_useful
        if pinned is not None:  # the only arcs into their heads
            is_open[:, np.isin(graph.heads, graph.heads[pinned])] = False
            is_open[:, pinned] = True
        chosen = np.zeros(gains.shape, bool)
        words = 1 + -(-self._n_items // kernels.LIMB)
        arguments = graph.tails, graph.heads, graph.n_vertices, self._root
        for run, row in enumerate(chosen):
            open_here = is_open[run if is_open.shape[0] > 1 else 0]
            status = kernels.best_arborescence(*arguments, open_here, gains[run, :, None].copy(), row)
            if status == 2:
                limbs = np.empty((self._n_items, words), np.int64)
                kernels.perturb(gains[run], limbs)
                kernels.best_arborescence(*arguments, open_here, limbs, row)
        return chosen

    def content(self) -> tuple[Any, ...]:
        return self._graph.tails, self._graph.heads, self._graph.names, self._root

    def fields(self) -> dict[str, Any]:
        return {**self._graph.fields(), "root": encode(self.root, "vertex")}

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> ArborescenceConstraint:
        root = decode(fields.pop("root"))
        return cls(Digraph.from_fields(fields), root, labels=labels)

    def __repr__(self) -> str:
        return f"ArborescenceConstraint(n_items={self._n_items}, root={self.root!r})"
