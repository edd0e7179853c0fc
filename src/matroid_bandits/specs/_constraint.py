"""The section ``constraint``: which sets of items may be chosen, from a CSV file or from rows in the spec itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from matroid_bandits._util.text import shown
from matroid_bandits.constraint import FORMAT, Constraint, constraint_from_dict
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.matroids import (
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
)
from matroid_bandits.specs._code import check_arguments, check_code, import_class, made
from matroid_bandits.specs._ground import Ground, ground_of, read_features, unique_rows
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Row, Sheet, inline_sheet, read_sheet
from matroid_bandits.specs._spec import Columns, Count, FileName, Integer, Spec, mistake, whole


def _check_rows(value: Any) -> Any:
    if isinstance(value, list):
        for row in value:
            if not isinstance(row, str | dict):
                raise mistake(f"expected items, each a string or a table, got {shown(row)}")
        if not value:
            raise mistake("expected an item or more, got none")
    return value


def _check_capacity(value: Any) -> Any:
    numbers = list(value.values()) if isinstance(value, dict) else [value]
    for number in map(whole, numbers):
        if isinstance(number, str) and not isinstance(value, dict):
            continue  # a column
        if isinstance(number, bool) or not isinstance(number, int):
            raise mistake(f"expected an integer, a column or a table of integers, got {shown(number)}")
        if number < 0:
            raise mistake(f"expected 0 or more, got {shown(number)}")
    return value


_Limit = Annotated[Integer, Field(json_schema_extra={"minimum": 0})]

#: How many items of a category: one number for all, a column in which its items agree, or a number for each.
Capacity = Annotated[_Limit | str | dict[str, _Limit], BeforeValidator(_check_capacity)]

#: Items with their attributes, by column; a string is an item without any.
Rows = Annotated[list[str | dict[str, Any]], BeforeValidator(_check_rows), Field(json_schema_extra={"minItems": 1})]


class TableSpec(Spec):
    """A constraint whose items are listed in a table: a CSV `file`, or `rows` in the spec itself."""

    file: FileName | None = Field(None, description="A CSV file with a header; its path is relative to the spec's.")
    rows: Rows | None = Field(None, description="Instead of a file: the items, each a table of its attributes.")

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.file is None and self.rows is None:
            raise mistake("expected the name of a CSV file here, or the items themselves in rows", "file")
        if self.file is not None and self.rows is not None:
            raise mistake("expected a file or rows, got both", "rows")
        return self

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the constraint with its items and their table rows; `reserved` columns are not features."""
        place = Place() if place is None else place
        if self.file is not None:
            sheet = read_sheet(self.file, place.at("file"))
        else:
            sheet = inline_sheet(self.rows or [], getattr(self, "item", "item"), place.at("rows"))
        rows, make = self._read(sheet, place, reserved)
        try:
            return Ground(sheet.name, rows, make())
        except MatroidBanditsError as error:
            if self.file is not None:
                raise place.at("file").error(f"{sheet.base}: {error}") from error
            raise place.at("rows").error(str(error)) from error

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        """The rows of each item, and how to make the constraint."""
        raise NotImplementedError


#: The rows that describe each item, and how to make the constraint of them.
Read = tuple[dict[str, list[Row]], Callable[[], Constraint]]


class ItemsSpec(TableSpec):
    """A table with a row for each item."""

    item: str = Field("item", description="The column that names the items.")

    def _items(self, sheet: Sheet) -> dict[str, list[Row]]:
        sheet.need(self.item)
        return unique_rows((row.text(self.item), row) for row in sheet.rows)


class UniformSpec(ItemsSpec):
    """Uniform matroid: any `rank` items."""

    kind: Literal["uniform"]
    rank: Count = Field(description="How many items.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        if self.rank > len(rows):
            raise place.at("rank").error(
                f"expected at most the {len(rows)} items of {sheet.name}, got {shown(self.rank)}"
            )
        return rows, lambda: UniformMatroid(len(rows), self.rank, labels=rows)


class PartitionSpec(ItemsSpec):
    """Partition matroid: at most `capacity` items of each category."""

    kind: Literal["partition"]
    category: str = Field("category", description="The column with each item's category.")
    capacity: Capacity = Field(1, description="A number for all, a column, or a number for each category.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        blocks = categories(rows, sheet, self.category)
        capacities = capacity_of(self.capacity, rows, blocks, place.at("capacity"))
        return rows, lambda: PartitionMatroid(blocks, capacities, labels=rows)


class GroupSpec(Spec):
    """A quota: some `items`, or each value of a column `category`, with a `capacity`."""

    items: list[str] | None = Field(None, description="The items of one group.")
    category: str | None = Field(None, description="A column, each of whose values is a group.")
    capacity: Capacity = Field(description="How many of a group.")

    @model_validator(mode="after")
    def _check_which(self) -> Self:
        if (self.items is None) == (self.category is None):
            raise mistake("expected either items or category", "items")
        if self.items is not None and not isinstance(self.capacity, int):
            raise mistake(f"expected an integer, got {shown(self.capacity)}", "capacity")
        return self


class LaminarSpec(ItemsSpec):
    """Laminar matroid, nested quotas: any two groups are disjoint, or one contains the other."""

    kind: Literal["laminar"]
    groups: list[GroupSpec] = Field(description="The quotas.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        here = Ground(sheet.name, rows, UniformMatroid(len(rows), 0))
        groups: list[tuple[list[int], int]] = []
        for number, group in enumerate(self.groups):
            at = place.at("groups").at(number)
            if group.items is not None:
                assert isinstance(group.capacity, int)
                groups.append((here.numbers(group.items, at.at("items")), group.capacity))
                continue
            assert group.category is not None
            blocks = categories(rows, sheet, group.category)
            members: dict[str, list[int]] = {}
            for e, block in enumerate(blocks):
                members.setdefault(block, []).append(e)
            capacities = capacity_of(group.capacity, rows, blocks, at.at("capacity"))
            groups += [(items, capacities[block]) for block, items in members.items()]
        return rows, lambda: LaminarMatroid(len(rows), groups, labels=rows)


class PairsSpec(TableSpec):
    """A table with a row for each pair of names."""

    label: str | None = Field(None, description="The column that names the items; by default 'first-second'.")
    _equal: ClassVar[str] = "equal pairs"

    def _pairs(self, sheet: Sheet, first: str, second: str) -> tuple[list[tuple[str, str]], dict[str, list[Row]]]:
        """The pairs, and the row of each by its name."""
        sheet.need(first, second, *([self.label] if self.label else []))
        pairs = [(row.text(first), row.text(second)) for row in sheet.rows]
        names = [
            row.text(self.label) if self.label else f"{u}-{v}" for row, (u, v) in zip(sheet.rows, pairs, strict=True)
        ]
        hint = "" if self.label else f" (name {self._equal} apart in a column, and give it as label)"
        return pairs, unique_rows(zip(names, sheet.rows, strict=True), hint)


class GraphicSpec(PairsSpec):
    """Graphic matroid: sets of edges without a cycle, a row of the table for each edge."""

    kind: Literal["graphic"]
    source: str = Field("source", description="The column with one end of each edge.")
    target: str = Field("target", description="The column with the other end.")
    _equal = "parallel links"

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        ends, rows = self._pairs(sheet, self.source, self.target)
        return rows, lambda: GraphicMatroid(ends, labels=rows)


class TransversalSpec(TableSpec):
    """Transversal matroid: sets of items that can be matched to distinct partners, a row for each pair."""

    kind: Literal["transversal"]
    item: str = Field("item", description="The column that names the items.")
    partner: str = Field("partner", description="The column with a partner, or in rows a list of partners.")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        sheet.need(self.item, self.partner)
        rows: dict[str, list[Row]] = {}
        neighbors: dict[str, list[str]] = {}
        pairs: dict[tuple[str, str], str] = {}
        for row in sheet.rows:
            name = row.text(self.item)
            for partner in row.texts(self.partner):
                if (name, partner) in pairs:
                    raise row.error(f"the pair {shown(name)}, {shown(partner)} is already {pairs[name, partner]}")
                pairs[name, partner] = row.place
                neighbors.setdefault(name, []).append(partner)
            rows.setdefault(name, []).append(row)
        return rows, lambda: TransversalMatroid(neighbors)


class LinearSpec(ItemsSpec):
    """Linear matroid: sets of linearly independent feature vectors; integers are treated exactly."""

    kind: Literal["linear"]
    features: Columns | None = Field(None, description="The columns of the vectors; by default all that are left.")
    field: Integer | None = Field(None, description="A prime p, for vectors over GF(p).")

    def _read(self, sheet: Sheet, place: Place, reserved: Collection[str]) -> Read:
        rows = self._items(sheet)
        columns = self.features
        if columns is None:
            columns = [column for column in sheet.columns if column not in (self.item, *reserved)]
        if not columns:
            raise place.at("features").error("expected a column or more, got none")
        sheet.need(*columns)
        vectors = read_features(list(rows.values()), columns)
        return rows, lambda: LinearMatroid(vectors, "auto" if self.field is None else self.field, labels=rows)


def _check_own(name: str, info: ValidationInfo) -> str:
    return check_code(name, "constraint", info)


class OwnSpec(Spec):
    """A constraint of a user's class: ``module:Class``, which is imported, and its constructor's arguments."""

    model_config = ConfigDict(extra="allow")

    kind: Annotated[str, AfterValidator(_check_own)] = Field(
        description="module:Class of your own; the other keys are its constructor's arguments.",
        json_schema_extra={"pattern": ":", "x-imports-code": "module:Class"},
    )

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the user's constraint, with items named by their labels and without table rows."""
        place = Place() if place is None else place
        kind = import_class(self.kind, place.at("kind"), Constraint)
        values = dict(self.model_extra or {})
        check_arguments("kind", values, kind, place)
        return ground_of(made(kind, values, place), place)


class StoredSpec(Spec):
    """A constraint in the format of `Constraint.to_dict`; labels may be numbers and lists."""

    model_config = ConfigDict(extra="allow")

    format: Literal["matroid-bandits/constraint", "matroid-bandits/matroid"]
    kind: str = Field(description="The kind of the constraint.")

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the constraint from its stored form, without table rows."""
        place = Place() if place is None else place
        try:
            made = constraint_from_dict({"format": FORMAT, "kind": self.kind, **(self.model_extra or {})})
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error
        return ground_of(made, place)


def categories(rows: dict[str, list[Row]], sheet: Sheet, column: str) -> list[str]:
    """The category of each item."""
    sheet.need(column)
    return [row.text(column) for (row,) in rows.values()]


def capacity_of(
    capacity: int | str | dict[str, int], rows: dict[str, list[Row]], blocks: list[str], place: Place
) -> dict[str, int]:
    """The capacity of each category, from one number, a table, or a column in which all its items must agree."""
    if isinstance(capacity, int):
        return dict.fromkeys(blocks, capacity)
    if isinstance(capacity, dict):
        known = set(blocks)
        for name in capacity:
            if name not in known:
                raise place.error(f"expected categories of the items, got {shown(name)}, which no item has")
        for block in blocks:
            if block not in capacity:
                raise place.error(f"expected a capacity for every category, got none for {shown(block)}")
        return dict(capacity)
    found: dict[str, tuple[int, Row]] = {}
    for (row,), block in zip(rows.values(), blocks, strict=True):
        value = row.whole(capacity)
        agreed, first = found.setdefault(block, (value, row))
        if agreed != value:
            raise row.error(f"expected capacity {agreed} for {shown(block)} as {first.place}, got {shown(value)}")
    return {block: value for block, (value, _) in found.items()}
