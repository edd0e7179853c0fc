"""Nested quotas of two kinds at once."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.constraints._network import Network, NetworkConstraint, Pinned
from matroid_bandits.constraints._two import TwoMatroids
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.matroids import Matroid


class QuotaIntersection(TwoMatroids, NetworkConstraint):
    """Sets that meet two families of nested quotas: "at most two per topic *and* one per seller, six in all".

    Each family alone is a matroid; their intersection is not. A best set has the largest possible number of items.

    Parameters
    ----------
    one, two : Matroid
        Quotas on the same items: uniform, partition and laminar matroids, and what is made of them by truncation.
        Labels are those of the first, or of the second where the first has none.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> topics = mb.PartitionMatroid(["sport", "sport", "news", "news"])
    >>> sellers = mb.PartitionMatroid(["x", "y", "x", "y"])
    >>> mb.QuotaIntersection(topics, sellers).best_sets(np.array([[5.0, 4.0, 4.0, 1.0]]))
    (array([[1, 2]]), array([2]))
    """

    kind = "quota-intersection"

    def __init__(self, one: Matroid, two: Matroid) -> None:
        super().__init__(one, two)
        for matroid in (one, two):
            if matroid.quotas() is None:
                raise InvalidConstraintError(
                    f"expected matroids made of nested quotas, got {matroid!r}: MatroidIntersection takes any two"
                )
        self._make_network()

    def _make_network(self) -> None:
        """Source, groups of the first from the outside in, items, groups of the second from the inside out, sink."""
        (group, parent, most), (group2, parent2, most2) = map(_without_slack, self._matroids)
        n, n2 = parent.size, parent2.size
        source, sink = n + n2, n + n2 + 1
        nodes, nodes2 = np.append(np.arange(n), source), np.append(n + np.arange(n2), sink)
        # a quota of c is c parallel arcs
        tails = np.concatenate([nodes[group], np.repeat(nodes[parent], most), np.repeat(nodes2[:-1], most2)])
        heads = np.concatenate([nodes2[group2], np.repeat(nodes[:-1], most), np.repeat(nodes2[parent2], most2)])
        # the container of a group has a smaller number
        places = np.concatenate([1 + np.arange(n), n + n2 - np.arange(n2), [0, n + n2 + 1]])
        self._network = Network.of(n + n2 + 2, tails, heads, (source, sink), self._most, places)
        first = np.cumsum(np.concatenate([most, most2])) - np.concatenate([most, most2])
        self._first_arcs = frozen(first)

    def _around(self, pinned: IntArray | None, is_open: BoolArray) -> Pinned:
        is_closed = np.zeros(self._network.tails.size - self._n_items, bool)
        if pinned is not None:
            is_open[:, pinned] = False
            first = self._first_arcs.copy()
            n_before = 0
            for matroid in self._matroids:
                group, parent, _ = _without_slack(matroid)
                for e in pinned.tolist():
                    g = group[e]
                    while g >= 0:
                        is_closed[first[n_before + g]] = True
                        first[n_before + g] += 1
                        g = parent[g]
                n_before += parent.size
        return Pinned(self._network, is_closed)


def _without_slack(matroid: Matroid) -> tuple[IntArray, IntArray, IntArray]:
    """The quotas of a matroid, none larger than what its group holds."""
    quotas = matroid.quotas()
    assert quotas is not None
    group, parent, most = quotas
    inside = np.bincount(group[group >= 0], minlength=parent.size)
    for g in range(parent.size - 1, -1, -1):  # containers come first
        inside[g] = min(inside[g], most[g])
        if parent[g] >= 0:
            inside[parent[g]] += inside[g]
    return group, parent, inside
