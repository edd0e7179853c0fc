"""Nested quotas of two kinds at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import shown
from matroid_bandits.constraints._network import Network, NetworkConstraint, Pinned
from matroid_bandits.constraints._two import TwoMatroids
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.matroids import Matroid, PartitionMatroid

#: Capacities of this many categories are told one by one where they differ.
_FEW = 4


class QuotaIntersection(TwoMatroids, NetworkConstraint):
    """Sets that meet two families of nested quotas: "at most two of each section, one of each brand, six in all".

    Each family alone is a matroid; their intersection is not. A best set has the largest possible number of items.
    `from_rows` makes one from a table of items with two columns of categories.

    Parameters
    ----------
    one, two : Matroid
        Quotas on the same items: uniform, partition and laminar matroids, and what is made of them by truncation.
        Labels are those of the first, or of the second where the first has none.
    names : pair of str, optional
        What the categories of each are called, such as "section" and "brand", for display and errors.
    total : int, optional
        How many items a set may have in all; by default as many as the quotas allow.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> topics = mb.PartitionMatroid(["sport", "sport", "news", "news"])
    >>> sellers = mb.PartitionMatroid(["x", "y", "x", "y"])
    >>> page = mb.QuotaIntersection(topics, sellers, names=("topic", "seller"))
    >>> page.best_sets(np.array([[5.0, 4.0, 4.0, 1.0]]))
    (array([[1, 2]]), array([2]))
    >>> page.in_words()
    'at most 1 of each topic, at most 1 of each seller'
    """

    kind = "quota-intersection"

    def __init__(
        self, one: Matroid, two: Matroid, *, names: Sequence[str] | None = None, total: int | None = None
    ) -> None:
        super().__init__(one, two)
        for matroid in (one, two):
            if matroid.quotas() is None:
                raise InvalidConstraintError(
                    f"expected matroids made of nested quotas, got {matroid!r}: MatroidIntersection takes any two"
                )
        self._names = None if names is None else _read_names(names)
        self._total = None if total is None else as_integer("total", total, 0, error=InvalidConstraintError)
        self._limited = one if self._total is None else one.truncate(self._total), two
        self._make_network()

    @classmethod
    def from_rows(
        cls,
        rows: Mapping[Label, Mapping[str, Hashable]],
        most: Mapping[str, int | Mapping[Any, int]],
        total: int | None = None,
    ) -> Self:
        """Make a constraint from items with their categories in two named dimensions.

        Parameters
        ----------
        rows : mapping of label to mapping of name to category
            The categories of each item.
        most : mapping of name to int or mapping of category to int
            For each of the two dimensions, how many items of a category a set may have.
        total : int, optional
            How many items a set may have in all.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> rows = {"cup": {"section": "sport", "brand": "x"}, "vote": {"section": "news", "brand": "x"}}
        >>> mb.QuotaIntersection.from_rows(rows, {"section": 2, "brand": 1}, total=6).in_words()
        'at most 2 of each section, at most 1 of each brand, 6 in all'
        """
        if not isinstance(rows, Mapping) or not isinstance(most, Mapping):
            raise InvalidConstraintError("expected rows and most to be mappings, by label and by name; got others")
        names = _read_names(list(most))
        parts = []
        for name in names:
            for label, row in rows.items():
                if not isinstance(row, Mapping) or name not in row:
                    raise InvalidConstraintError(f"expected the {name} of {label!r}, got {shown(row)}")
            parts.append(PartitionMatroid({label: row[name] for label, row in rows.items()}, most[name]))
        return cls(*parts, names=names, total=total)

    @property
    def names(self) -> tuple[str, str] | None:
        """Names of the two kinds of categories; None where they have none."""
        return self._names

    @property
    def total(self) -> int | None:
        """Maximum number of items of a set; None where only the quotas limit it."""
        return self._total

    def categories(self) -> list[Sequence[Hashable]]:
        return [names for matroid in self._matroids for names in matroid.categories()]

    def allows(self, items: IntArray) -> bool:
        return (self._total is None or items.size <= self._total) and super().allows(items)

    @property
    def _most(self) -> int:
        return min(matroid.rank for matroid in self._limited)

    def in_words(self) -> str:
        if self._names is None:
            words = [super().in_words()]
        else:
            words = [_in_words(matroid, name) for matroid, name in zip(self._matroids, self._names, strict=True)]
        return ", ".join(words if self._total is None else [*words, f"{self._total} in all"])

    def conflict(self, items: IntArray) -> str:
        for matroid, name in zip(self._matroids, self._names or ("category", "category"), strict=True):
            if matroid.allows(items):
                continue
            if not isinstance(matroid, PartitionMatroid):
                return f"they are {items.size}, of which {matroid.in_words()} can be chosen"
            blocks = [matroid.blocks[e] for e in items.tolist()]
            most = matroid.capacities
            block = next(each for each in blocks if blocks.count(each) > most[each])
            n = blocks.count(block)
            return f"{n} of them are of the {name} {block!r}, of which a set has at most {most[block]}"
        if self._total is not None and items.size > self._total:
            return f"they are {items.size}, and a set has at most {self._total}"
        return ""

    def content(self) -> tuple[Any, ...]:
        return (*self._matroids, self._names, self._total)

    def fields(self) -> dict[str, Any]:
        more = {"names": None if self._names is None else list(self._names), "total": self._total}
        return super().fields() | {key: value for key, value in more.items() if value is not None}

    def _make_network(self) -> None:
        """Source, groups of the first from the outside in, items, groups of the second from the inside out, sink."""
        (group, parent, most), (group2, parent2, most2) = map(_without_slack, self._limited)
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
            for matroid in self._limited:
                group, parent, _ = _without_slack(matroid)
                for e in pinned.tolist():
                    g = group[e]
                    while g >= 0:
                        is_closed[first[n_before + g]] = True
                        first[n_before + g] += 1
                        g = parent[g]
                n_before += parent.size
        return Pinned(self._network, is_closed)


def _read_names(names: Any) -> tuple[str, str]:
    given = [] if isinstance(names, str) else list(names)
    if len(given) != 2 or not all(isinstance(name, str) and name for name in given) or given[0] == given[1]:
        more = ": three kinds of quotas at once are NP-hard" if len(given) > 2 else ""
        raise InvalidConstraintError(f"expected two different names, one for each quota; got {shown(names)}{more}")
    return given[0], given[1]


def _in_words(matroid: Matroid, name: str) -> str:
    if not isinstance(matroid, PartitionMatroid):
        return matroid.in_words()
    most = matroid.capacities
    low, high = min(most.values(), default=0), max(most.values(), default=0)
    if low == high:
        return f"at most {low} of each {name}"
    if len(most) <= _FEW:
        return f"at most {', '.join(f'{n} of {category}' for category, n in most.items())} ({name})"
    return f"at most {low} to {high} of each {name}"


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
