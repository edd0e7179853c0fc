"""Directed graphs: arcs as users give them, which of them lie between two vertices, topological orders."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray
from matroid_bandits._util.arrays import frozen, offsets
from matroid_bandits._util.names import codes_of, decode, encode, plain
from matroid_bandits._util.text import did_you_mean
from matroid_bandits.constraints._pairs import read_pairs
from matroid_bandits.exceptions import InvalidConstraintError


class Digraph(NamedTuple):
    """Arcs (m,) from `tails` to `heads`, the vertices' names, and the arcs where they may serve as labels."""

    tails: IntArray
    heads: IntArray
    names: tuple[Hashable, ...]
    pairs: list[tuple[Hashable, Hashable]] | None

    @classmethod
    def read(cls, arcs: Any) -> Digraph:
        """The graph of a sequence of pairs or an array of them."""
        if isinstance(arcs, Digraph):
            return arcs
        first, second, pairs = read_pairs(arcs, "arc", "a tail and a head")
        ends = np.stack([first, second], axis=1).reshape(-1) if pairs is None and len(first) else None
        if ends is None or ends.dtype.kind not in "iu":
            ends = [v for arc in zip(first, second, strict=True) for v in arc]  # type: ignore[assignment]
        codes, names = codes_of(ends, "vertex", InvalidConstraintError)  # type: ignore[arg-type]
        if not codes.size:
            raise InvalidConstraintError("expected an arc or more, got none")
        tails, heads = (frozen(np.ascontiguousarray(side)) for side in codes.reshape(-1, 2).T)
        return cls(tails, heads, names, pairs)

    @property
    def n_vertices(self) -> int:
        return len(self.names)

    def arcs(self) -> list[tuple[Hashable, Hashable]]:
        """The names of the ends of each arc."""
        return [(self.names[u], self.names[v]) for u, v in zip(self.tails.tolist(), self.heads.tolist(), strict=True)]

    def vertex(self, name: Any, what: str) -> int:
        """The vertex of a name."""
        try:
            return self.names.index(plain(name))
        except ValueError:
            hint = did_you_mean(name, self.names)
            raise InvalidConstraintError(f"expected {what} to be the end of an arc, got {name!r}{hint}") from None

    def reached(self, start: int, *, is_reversed: bool = False) -> BoolArray:
        """The vertices (n,) that arcs lead to from a start, or that lead to it."""
        tails, heads = (self.heads, self.tails) if is_reversed else (self.tails, self.heads)
        order = np.argsort(tails, kind="stable")
        starts = offsets(np.bincount(tails, minlength=self.n_vertices))
        is_reached = np.zeros(self.n_vertices, bool)
        is_reached[start] = True
        waiting = [start]
        while waiting:
            v = waiting.pop()
            for u in heads[order[starts[v] : starts[v + 1]]].tolist():
                if not is_reached[u]:
                    is_reached[u] = True
                    waiting.append(u)
        return is_reached

    def between(self, source: int, target: int) -> BoolArray:
        """The arcs (m,) that lie on a walk from source to target; loops do not."""
        tails, heads = self.tails, self.heads
        inside = self.reached(source)[tails] & self.reached(target, is_reversed=True)[heads]
        is_between: BoolArray = inside & (tails != heads) & (heads != source) & (tails != target)
        return is_between

    def places(self, is_arc: BoolArray) -> IntArray | None:
        """The places (n,) of vertices in a topological order of some arcs; None where those have a cycle."""
        n, tails, heads = self.n_vertices, self.tails[is_arc], self.heads[is_arc]
        order = np.argsort(tails, kind="stable")
        starts = offsets(np.bincount(tails, minlength=n))
        n_before = np.bincount(heads, minlength=n)
        places, n_placed = np.empty(n, np.int64), 0
        waiting = np.flatnonzero(n_before == 0)[::-1].tolist()
        while waiting:
            v = waiting.pop()
            places[v] = n_placed
            n_placed += 1
            for u in heads[order[starts[v] : starts[v + 1]]].tolist():
                n_before[u] -= 1
                if n_before[u] == 0:
                    waiting.append(u)
        return frozen(places) if n_placed == n else None

    def fields(self) -> dict[str, Any]:
        """The graph as plain JSON values."""
        return {
            "tails": self.tails.tolist(),
            "heads": self.heads.tolist(),
            "vertices": [encode(vertex, "vertex") for vertex in self.names],
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Digraph:
        """The graph that `fields` described, which must have no other keys."""
        ends = np.array([fields.pop("tails"), fields.pop("heads")], np.int64).T
        vertices = decode(fields.pop("vertices"))
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        graph = cls.read(ends)
        # numbered by first appearance, the numbers are their own names
        if graph.names != tuple(range(len(vertices))) or len(set(vertices)) != len(vertices):
            raise ValueError("vertices and the ends of arcs do not fit together")
        return graph._replace(names=vertices)


def arcs_of_networkx(graph: Any) -> list[Any]:
    """The edges of a directed networkx graph, with keys where it has parallel ones."""
    if not hasattr(graph, "is_multigraph") or not hasattr(graph, "edges"):
        raise InvalidConstraintError(f"expected a networkx graph, got {type(graph).__name__}")
    if not graph.is_directed():
        raise InvalidConstraintError(
            "expected a directed graph, got an undirected one: use graph.to_directed(), whose arcs differ"
        )
    return list(graph.edges(keys=True)) if graph.is_multigraph() else list(graph.edges())
