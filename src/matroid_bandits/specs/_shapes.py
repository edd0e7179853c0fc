"""Constraints that are no matroids and have words of their own in specs: matchings, paths, directed trees, lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from matroid_bandits._util.text import shown
from matroid_bandits.constraints import ArborescenceConstraint, AssignmentConstraint, ExplicitSets, PathConstraint
from matroid_bandits.specs._constraint import Read, TableSpec
from matroid_bandits.specs._ground import unique_rows
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Row, Sheet
from matroid_bandits.specs._spec import Count


class _PairsSpec(TableSpec):
    """A table with a row for each pair of names."""

    label: str | None = Field(None, description="The column that names the items; by default 'first-second'.")

    def _pairs(self, sheet: Sheet, first: str, second: str) -> tuple[list[tuple[str, str]], dict[str, list[Row]]]:
        """The pairs, and the row of each by its name."""
        sheet.need(first, second, *([self.label] if self.label else []))
        pairs = [(row.text(first), row.text(second)) for row in sheet.rows]
        names = [
            row.text(self.label) if self.label else f"{u}-{v}" for row, (u, v) in zip(sheet.rows, pairs, strict=True)
        ]
        hint = "" if self.label else " (name equal pairs apart in a column, and give it as label)"
        return pairs, unique_rows(zip(names, sheet.rows, strict=True), hint)


class AssignmentSpec(_PairsSpec):
    """Matchings of rows and columns, a row of the table for each pair that is allowed.

    Examples
    --------
    >>> rows = [{"row": "ann", "column": "x"}, {"row": "ann", "column": "y"}, {"row": "bob", "column": "x"}]
    >>> list(AssignmentSpec(kind="assignment", rows=rows).ground().rows)
    ['ann-x', 'ann-y', 'bob-x']
    """

    kind: Literal["assignment"]
    row: str = Field("row", description="The column with one side of each pair, such as couriers.")
    column: str = Field("column", description="The column with the other side, such as orders.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.row, self.column)
        return rows, lambda: AssignmentConstraint(pairs, sides=(self.row, self.column), labels=rows)


class PathSpec(_PairsSpec):
    """Paths from one vertex to another, a row of the table for each arc.

    Examples
    --------
    >>> rows = [{"source": u, "target": v} for u, v in ("ab", "bc", "ac")]
    >>> PathSpec(kind="path", rows=rows, begin="a", end="c").ground().constraint
    PathConstraint(n_items=3, source='a', target='c')
    """

    kind: Literal["path"]
    begin: str = Field(description="The vertex where paths begin.")
    end: str = Field(description="The vertex where paths end.")
    n_paths: Count = Field(1, description="Number of arc-disjoint paths.")
    source: str = Field("source", description="The column with the vertex that each arc leaves.")
    target: str = Field("target", description="The column with the vertex that each arc enters.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.source, self.target)
        return rows, lambda: PathConstraint(pairs, self.begin, self.end, self.n_paths, labels=rows)


class ArborescenceSpec(_PairsSpec):
    """Directed trees from a root to all other vertices, a row of the table for each arc.

    Examples
    --------
    >>> rows = [{"source": u, "target": v} for u, v in ("ab", "bc", "ac")]
    >>> ArborescenceSpec(kind="arborescence", rows=rows, root="a").ground().constraint
    ArborescenceConstraint(n_items=3, root='a')
    """

    kind: Literal["arborescence"]
    root: str = Field(description="The vertex that all others are reached from.")
    source: str = Field("source", description="The column with the vertex that each arc leaves.")
    target: str = Field("target", description="The column with the vertex that each arc enters.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.source, self.target)
        return rows, lambda: ArborescenceConstraint(pairs, self.root, labels=rows)


class SetsSpec(TableSpec):
    """Explicit list of allowed sets, a row of the table for each item of each set.

    Examples
    --------
    >>> rows = [{"set": "lunch", "item": ["soup", "bread"]}, {"set": "dinner", "item": "pasta"}]
    >>> SetsSpec(kind="sets", rows=rows).ground().constraint
    ExplicitSets(n_items=3, n_sets=2)
    """

    kind: Literal["sets"]
    set: str = Field("set", description="The column with the name of each set.")
    item: str = Field("item", description="The column with an item, or in rows a list of items.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        sheet.need(self.set, self.item)
        rows: dict[str, list[Row]] = {}
        sets: dict[str, dict[str, str]] = {}
        for row in sheet.rows:
            members = sets.setdefault(row.text(self.set), {})
            for name in row.texts(self.item):
                if name in members:
                    raise row.error(f"item {shown(name)} is already in the set, {members[name]}")
                members[name] = row.place
                rows.setdefault(name, []).append(row)
        return rows, lambda: ExplicitSets([list(members) for members in sets.values()], labels=rows)
