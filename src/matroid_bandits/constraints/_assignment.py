"""Pairs of rows and columns, each row and each column at most once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.names import codes_of, decode, encode
from matroid_bandits._util.text import shown
from matroid_bandits.constraints._network import Network, NetworkConstraint, Pinned
from matroid_bandits.constraints._pairs import check_distinct, read_pairs
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.kernels import matching


class AssignmentConstraint(NetworkConstraint):
    """Matchings in a bipartite graph of rows and columns: "each courier one order, each order one courier".

    An item is a pair that may be matched; pairs that are not listed are forbidden. A best set has the largest
    possible number of pairs: it is a perfect matching if there is one.

    Parameters
    ----------
    pairs : sequence of (row, column), or integer array of shape (n_items, 2)
        The items. Rows and columns are any hashable values; a row and a column may have the same name.
    sides : (str, str), default ("row", "column")
        Names of the two sides for display, e.g. "courier" and "order".
    labels : iterable of hashable, optional
        Labels of the items. A sequence of pairs labels itself; an array does not.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> couriers = mb.AssignmentConstraint([("ann", "x"), ("ann", "y"), ("bob", "x")])
    >>> couriers.best_sets(np.array([[0.9, 0.3, 0.2]]))  # two orders come first
    (array([[1, 2]]), array([2]))
    >>> mb.AssignmentConstraint.between(["ann", "bob"], ["x", "y"], forbidden=[("bob", "y")]) == couriers
    True

    Notes
    -----
    Where all pairs exist and nothing is masked, shortest augmenting paths on a dense matrix find the matching;
    otherwise it is a flow of least cost. Both end in the same canonical answer.
    """

    kind = "assignment"
    per_item = "rows"

    def __init__(
        self,
        pairs: Iterable[tuple[Hashable, Hashable]] | ArrayLike,
        *,
        sides: tuple[str, str] = ("row", "column"),
        labels: Iterable[Label] | None = None,
    ) -> None:
        if isinstance(sides, str) or len(sides) != 2 or not all(isinstance(side, str) and side for side in sides):
            raise InvalidConstraintError(f"expected sides to be two words, got {shown(sides)}")
        self._sides_names = (sides[0], sides[1])
        rows, columns, own = read_pairs(pairs, "pair", "a row and a column")
        row_codes, self._rows = codes_of(rows, "row", InvalidConstraintError)
        column_codes, self._columns = codes_of(columns, "column", InvalidConstraintError)
        if not row_codes.size:
            raise InvalidConstraintError("expected a pair or more, got none")
        check_distinct(row_codes, column_codes, lambda e: f"({rows[e]!r}, {columns[e]!r})")
        super().__init__(row_codes.size, own if labels is None else labels)
        self._row_codes, self._column_codes = frozen(row_codes), frozen(column_codes)
        self._network = self._make_network()
        self._is_full = self._n_items == len(self._rows) * len(self._columns)

    @classmethod
    def between(
        cls,
        rows: Iterable[Hashable],
        columns: Iterable[Hashable],
        *,
        forbidden: Iterable[tuple[Hashable, Hashable]] = (),
        sides: tuple[str, str] = ("row", "column"),
        labels: Iterable[Label] | None = None,
    ) -> AssignmentConstraint:
        """Make the constraint of all pairs of rows and columns except forbidden ones, row by row.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.AssignmentConstraint.between("ab", [1, 2, 3])
        AssignmentConstraint(n_items=6, rows=2, columns=3)
        """
        names: list[list[Hashable]] = []
        for what, given in (("rows", rows), ("columns", columns)):
            try:
                listed = list(given)
                n_distinct = len(set(listed))
            except TypeError as error:
                raise InvalidConstraintError(f"expected {what} to be hashable names: {error}") from None
            if n_distinct != len(listed):
                raise InvalidConstraintError(f"expected distinct {what}, got {shown(listed)}")
            names.append(listed)
        left = {(row, column): None for row in names[0] for column in names[1]}
        for pair in forbidden:
            if not isinstance(pair, tuple) or pair not in left:
                raise InvalidConstraintError(f"expected forbidden pairs of a row and a column, once; got {pair!r}")
            del left[pair]
        return cls(list(left), sides=sides, labels=labels)

    @property
    def rows(self) -> tuple[Hashable, ...]:
        """The names of the rows."""
        return self._rows

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The names of the columns."""
        return self._columns

    @property
    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """The row and the column of each item."""
        codes = zip(self._row_codes.tolist(), self._column_codes.tolist(), strict=True)
        return [(self._rows[r], self._columns[c]) for r, c in codes]

    def in_words(self) -> str:
        row, column = self._sides_names
        return f"each {row} one {column}, each {column} one {row} ({len(self._rows)} and {len(self._columns)})"

    def allows(self, items: IntArray) -> bool:
        return all(np.unique(codes[items]).size == items.size for codes in (self._row_codes, self._column_codes))

    @property
    def _most(self) -> int:
        return min(len(self._rows), len(self._columns))

    def _make_network(self) -> Network:
        """Source, the side with fewer nodes, the other side, sink."""
        few, many = self._sides()
        n, m = int(few.max()) + 1, int(many.max()) + 1
        source, sink = n + m, n + m + 1
        tails = np.concatenate([few, np.full(n, source), n + np.arange(m)])
        heads = np.concatenate([n + many, np.arange(n), np.full(m, sink)])
        places = np.repeat([1, 2, 0, 3], [n, m, 1, 1])
        return Network.of(n + m + 2, tails, heads, (source, sink), n, places)

    def _sides(self) -> tuple[IntArray, IntArray]:
        is_swapped = len(self._rows) > len(self._columns)
        return (self._column_codes, self._row_codes) if is_swapped else (self._row_codes, self._column_codes)

    def _around(self, pinned: IntArray | None, is_open: BoolArray) -> Pinned:
        if pinned is not None:  # alone in their rows and columns, they could always be added
            is_beside = np.isin(self._row_codes, self._row_codes[pinned])
            is_beside |= np.isin(self._column_codes, self._column_codes[pinned])
            is_open[:, is_beside] = False
        network = self._network
        return Pinned(network, np.zeros(network.tails.size - self._n_items, bool))

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        if not self._is_full or pinned is not None or not is_open.all():
            return super()._choose(gains, is_open, pinned)
        chosen = np.empty(gains.shape, bool)
        n, m = sorted((len(self._rows), len(self._columns)))
        matching.best_assignments(*self._sides(), n, m, gains, chosen)
        return chosen

    def content(self) -> tuple[Any, ...]:
        return (self._row_codes, self._column_codes, self._rows, self._columns, self._sides_names)

    def fields(self) -> dict[str, Any]:
        return {
            "rows": self._row_codes.tolist(),
            "columns": self._column_codes.tolist(),
            "row_names": [encode(row, "row") for row in self._rows],
            "column_names": [encode(column, "column") for column in self._columns],
            "sides": list(self._sides_names),
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> AssignmentConstraint:
        codes = [np.array(fields.pop(key), np.int64) for key in ("rows", "columns")]
        names = [decode(fields.pop(key)) for key in ("row_names", "column_names")]
        sides = fields.pop("sides")
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        made = cls(np.stack(codes, axis=1), sides=tuple(sides), labels=labels)
        # numbered by first appearance, the numbers are their own names
        for known, given in zip((made._rows, made._columns), names, strict=True):
            if known != tuple(range(len(given))) or len(set(given)) != len(given):
                raise ValueError("names and codes of rows and columns do not fit together")
        made._rows, made._columns = names
        return made

    def __repr__(self) -> str:
        return f"AssignmentConstraint(n_items={self._n_items}, rows={len(self._rows)}, columns={len(self._columns)})"
