"""The section ``matroid`` of a problem file: which sets of items may be chosen."""

from __future__ import annotations

from collections.abc import Callable

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.matroids import (
    GraphicMatroid,
    LinearMatroid,
    Matroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
)
from matroid_bandits.specs._csv import Row, Sheet
from matroid_bandits.specs._items import Ground, named_rows, read_features, unique_rows
from matroid_bandits.specs._toml import Section


def read_constraint(keys: Section, weights: Section) -> Ground:
    """Read the matroid; `weights` tells which column of its file holds means and is no feature of the items."""
    kind = keys.choice("kind", tuple(_KINDS))
    sheet = keys.sheet("file")
    names, rows, build = _KINDS[kind](keys, sheet, weights)
    keys.close()
    try:
        matroid = build()
    except MatroidBanditsError as error:
        raise keys.error("file", f"{sheet.path}: {error}") from error
    if matroid.rank == 0:
        raise keys.error("kind", "expected a matroid with a basis of an item or more, got one of rank 0")
    return Ground(sheet, names, rows, matroid)


# Names of the items, the lines that describe each, and how to make the matroid once its keys have been checked.
_Read = tuple[list[str], list[list[Row]], Callable[[], Matroid]]


def _read_graph(keys: Section, sheet: Sheet, _: Section) -> _Read:
    source, target = keys.take("source", str, "source"), keys.take("target", str, "target")
    name = keys.take("label", str) if keys.has("label") else None
    sheet.need(source, target, *([name] if name else []))
    ends = [(sheet.text(row, source), sheet.text(row, target)) for row in sheet.rows]
    named = (
        [(sheet.text(row, name), row) for row in sheet.rows]
        if name
        else [(f"{u}-{v}", row) for (u, v), row in zip(ends, sheet.rows, strict=True)]
    )
    names, rows = unique_rows(
        sheet, named, "" if name else " (name parallel links apart in a column, and give it as label)"
    )
    return names, rows, lambda: GraphicMatroid(ends, labels=names)


def _read_partition(keys: Section, sheet: Sheet, _: Section) -> _Read:
    names, rows = named_rows(keys, sheet)
    category = keys.take("category", str, "category")
    sheet.need(category)
    blocks = [sheet.text(row[0], category) for row in rows]
    if isinstance(keys.peek("capacity"), str):
        capacities = _capacities(sheet, rows, blocks, keys.take("capacity", str))
    else:
        capacity = keys.take("capacity", int, 1)
        if capacity < 0:
            raise keys.error("capacity", f"expected 0 or more, got {capacity}")
        capacities = dict.fromkeys(blocks, capacity)
    return names, rows, lambda: PartitionMatroid(blocks, capacities, labels=names)


def _capacities(sheet: Sheet, rows: list[list[Row]], blocks: list[str], column: str) -> dict[str, int]:
    """The capacity of each category, from a column in which all items of a category must agree."""
    sheet.need(column)
    found: dict[str, tuple[int, int]] = {}
    for (row,), block in zip(rows, blocks, strict=True):
        value = sheet.number(row, column, low=0)
        if value != int(value):
            raise sheet.error(row, f"expected a whole number in column {column!r}, got {row.cells[column]}")
        capacity, line = found.setdefault(block, (int(value), row.line))
        if capacity != value:
            raise sheet.error(row, f"expected capacity {capacity} for {block!r} as on line {line}, got {value:g}")
    return {block: capacity for block, (capacity, _) in found.items()}


def _read_transversal(keys: Section, sheet: Sheet, _: Section) -> _Read:
    item, partner = keys.take("item", str, "item"), keys.take("partner", str, "partner")
    sheet.need(item, partner)
    rows: dict[str, list[Row]] = {}
    pairs: dict[tuple[str, str], int] = {}
    for row in sheet.rows:
        pair = sheet.text(row, item), sheet.text(row, partner)
        if pair in pairs:
            raise sheet.error(row, f"the pair {pair[0]!r}, {pair[1]!r} is already on line {pairs[pair]}")
        pairs[pair] = row.line
        rows.setdefault(pair[0], []).append(row)
    neighbors = {name: [row.cells[partner] for row in group] for name, group in rows.items()}
    return list(rows), list(rows.values()), lambda: TransversalMatroid(neighbors)


def _read_linear(keys: Section, sheet: Sheet, weights: Section) -> _Read:
    names, rows = named_rows(keys, sheet)
    taken = [keys.take("item", str, "item"), *([] if weights.has("file") else [weights.peek("mean")])]
    columns = keys.take("features", list, [column for column in sheet.columns if column not in taken])
    if not columns:
        raise keys.error("features", "expected a column or more, got none")
    vectors = read_features(keys, "features", sheet, rows, columns)
    p = keys.take("field", int) if keys.has("field") else None
    return names, rows, lambda: LinearMatroid(vectors, "auto" if p is None else p, labels=names)


def _read_uniform(keys: Section, sheet: Sheet, _: Section) -> _Read:
    names, rows = named_rows(keys, sheet)
    rank = keys.count("rank")
    if rank > len(names):
        raise keys.error("rank", f"expected at most the {len(names)} items of {sheet.path.name}, got {rank}")
    return names, rows, lambda: UniformMatroid(len(names), rank, labels=names)


_KINDS: dict[str, Callable[[Section, Sheet, Section], _Read]] = {
    "graphic": _read_graph,
    "partition": _read_partition,
    "transversal": _read_transversal,
    "linear": _read_linear,
    "uniform": _read_uniform,
}
