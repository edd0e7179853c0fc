"""Constraints that are no matroids and have words of their own in specs: matchings, paths, directed trees, two
quotas, budgets, lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from matroid_bandits._util.text import shown
from matroid_bandits.constraints import (
    ArborescenceConstraint,
    AssignmentConstraint,
    ExplicitSets,
    KnapsackConstraint,
    PathConstraint,
    QuotaIntersection,
)
from matroid_bandits.matroids import PartitionMatroid
from matroid_bandits.specs._constraint import Capacity, ItemsSpec, PairsSpec, Read, TableSpec, capacity_of, categories
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Row, Sheet
from matroid_bandits.specs._spec import Count, mistake


class AssignmentSpec(PairsSpec):
    """Matchings of rows and columns, a row of the table for each pair that is allowed."""

    kind: Literal["assignment"]
    row: str = Field("row", description="The column with one side of each pair, such as couriers.")
    column: str = Field("column", description="The column with the other side, such as orders.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.row, self.column)
        return rows, lambda: AssignmentConstraint(pairs, sides=(self.row, self.column), labels=rows)


class PathSpec(PairsSpec):
    """Paths from one vertex to another, a row of the table for each arc."""

    kind: Literal["path"]
    begin: str = Field(description="The vertex where paths begin.")
    end: str = Field(description="The vertex where paths end.")
    n_paths: Count = Field(1, description="Number of arc-disjoint paths.")
    source: str = Field("source", description="The column with the vertex that each arc leaves.")
    target: str = Field("target", description="The column with the vertex that each arc enters.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.source, self.target)
        return rows, lambda: PathConstraint(pairs, self.begin, self.end, self.n_paths, labels=rows)


class ArborescenceSpec(PairsSpec):
    """Directed trees from a root to all other vertices, a row of the table for each arc."""

    kind: Literal["arborescence"]
    root: str = Field(description="The vertex that all others are reached from.")
    source: str = Field("source", description="The column with the vertex that each arc leaves.")
    target: str = Field("target", description="The column with the vertex that each arc enters.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        pairs, rows = self._pairs(sheet, self.source, self.target)
        return rows, lambda: ArborescenceConstraint(pairs, self.root, labels=rows)


def _check_most(value: dict[str, Capacity]) -> dict[str, Capacity]:
    if len(value) != 2:
        more = ": three kinds of quotas at once are NP-hard" if len(value) > 2 else ""
        raise mistake(f"expected the columns of two kinds of categories, got {len(value)}{more}")
    return value


class QuotasSpec(ItemsSpec):
    """Quotas in two columns at once, such as at most two of each section and one of each brand."""

    kind: Literal["quota-intersection", "quotas"]
    most: Annotated[dict[str, Capacity], AfterValidator(_check_most)] = Field(
        description="For two columns of categories: how many items of each category a set may have."
    )
    total: Count | None = Field(None, description="How many items a set may have in all.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        parts = []
        for column, capacity in self.most.items():
            blocks = categories(rows, sheet, column)
            capacities = capacity_of(capacity, rows, blocks, place.at("most").at(column))
            parts.append(PartitionMatroid(blocks, capacities, labels=rows))
        return rows, lambda: QuotaIntersection(parts[0], parts[1], names=list(self.most), total=self.total)


class KnapsackSpec(ItemsSpec):
    """Sets within a budget of whole costs, such as passages of at most 4,000 tokens."""

    kind: Literal["knapsack"]
    budget: Annotated[int, Field(ge=0)] = Field(description="The most that a set may cost, a whole number.")
    cost: str = Field("cost", description="The column with each item's cost, a whole number.")
    group: str | None = Field(None, description="A column: at most one item of each group; empty for none.")
    at_most: Count | None = Field(None, description="The most items of a set.")
    unit: str = Field("", description="What costs are counted in, for display.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        sheet.need(self.cost, *([self.group] if self.group else []))
        costs = {}
        for name, (row,) in rows.items():
            cost = row.number(self.cost, low=0)
            if cost != int(cost):
                raise row.error(
                    f"expected a whole number in column {shown(self.cost)}, got {row.shown(self.cost)}: scale costs "
                    "and budget, to cents for example, and round costs up"
                )
            costs[name] = int(cost)
        groups = None
        if self.group is not None:
            groups = {name: row.text(self.group) for name, (row,) in rows.items() if row.cells.get(self.group, "")}
        return rows, lambda: KnapsackConstraint(costs, self.budget, groups, self.at_most, unit=self.unit)


class SetsSpec(TableSpec):
    """Explicit list of allowed sets, a row of the table for each item of each set."""

    kind: Literal["explicit-sets", "sets"]
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
