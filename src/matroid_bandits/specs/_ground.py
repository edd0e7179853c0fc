"""The items of a problem: their names, the rows that describe them, and the constraint on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import DataError
from matroid_bandits.matroids import Matroid
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Row


@dataclass(frozen=True)
class Ground:
    """The items of a problem, with the rows of its tables that describe them.

    Attributes
    ----------
    name : str
        Where the items are listed, as messages call it: a CSV file, or the key of a list.
    rows : dict of str to list of Row
        The rows that describe each item, by its name, in the order of the items.
    constraint : Constraint
        Which sets of them may be chosen; its labels are the names.

    Examples
    --------
    >>> from matroid_bandits.specs import ConstraintSpec, parse
    >>> spec = parse(ConstraintSpec, {"kind": "uniform", "rows": ["boots", "hats", "bags"], "rank": 2})
    >>> ground = spec.ground()
    >>> list(ground.rows), ground.constraint
    (['boots', 'hats', 'bags'], UniformMatroid(n_items=3, rank=2))
    """

    name: str
    rows: dict[str, list[Row]]
    constraint: Constraint

    def matroid(self, place: Place) -> Matroid:
        """Return the constraint if it is a matroid, and raise an error that names `place` otherwise."""
        if not isinstance(self.constraint, Matroid):
            raise place.error(f"expected a matroid, of which others can be made; got {self.constraint!r}")
        return self.constraint

    def check_item(self, name: str) -> str:
        """Return what is wrong with an item's name, as text; empty when there is an item of that name."""
        if name in self.rows:
            return ""
        return f"item {shown(name)} is not in {self.name}{did_you_mean(name, self.rows)}"

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: e for e, name in enumerate(self.rows)}

    def numbers(self, names: Iterable[str], place: Place) -> list[int]:
        """Return the item number of each name."""
        found = []
        for name in names:
            if message := self.check_item(name):
                raise place.error(message)
            found.append(self._positions[name])
        return found

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise when columns are named although the items have no tables."""
        if columns and not all(self.rows.values()):
            raise DataError(f"{self.name}: expected a table of items for the column {shown(columns[0])}, got none")

    def features(self, columns: Sequence[str]) -> AnyArray:
        """Return numbers from some columns, a row per item; integers, where all are, since those are treated
        exactly."""
        self.check_columns(columns)
        return read_features(list(self.rows.values()), columns)


def ground_of(constraint: Constraint, place: Place) -> Ground:
    """The items of a constraint that comes without tables, by the names of their labels.

    Nothing but that is said of its items: where two labels read alike, they have no names in specs.
    """
    names = ["-".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in constraint.labels]
    rows: dict[str, list[Row]] = {name: [] for name in names}
    return Ground(str(place) or "the constraint", rows if len(rows) == len(names) else {}, constraint)


def read_features(rows: Sequence[Sequence[Row]], columns: Sequence[str]) -> AnyArray:
    """Numbers from some columns, of the first row of each item; Python integers where an int64 is too small."""
    matrix = [[row[0].number(column) for column in columns] for row in rows]
    if not all(isinstance(x, int) or (x == int(x) and abs(x) < 2**53) for xs in matrix for x in xs):
        return np.array(matrix, np.float64)
    whole = np.array([[int(x) for x in xs] for xs in matrix], object)
    is_small = all(-(2**63) <= x < 2**63 for x in whole.flat)
    return whole.astype(np.int64) if is_small else whole


def unique_rows(named: Iterable[tuple[str, Row]], hint: str = "") -> dict[str, list[Row]]:
    """The row of each item, which must have one; `hint` is added to the error about a second one."""
    first: dict[str, list[Row]] = {}
    for name, row in named:
        if name in first:
            raise row.error(f"item {shown(name)} is already {first[name][0].place}{hint}")
        first[name] = [row]
    return first


def check_known(row: Row, name: str, ground: Ground) -> None:
    """Raise when a row of another table names an item that the matroid does not have."""
    if message := ground.check_item(name):
        raise row.error(message)


def check_complete(names: Iterable[str], given: Iterable[str], where: str, what: str) -> None:
    """Raise when one of the items is not among those given."""
    there = set(given)
    for name in names:
        if name not in there:
            raise DataError(f"{where}: {what} {shown(name)}")
