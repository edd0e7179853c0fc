"""The items of a problem: their names, the lines of the CSV file that describe them, their features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.matroids import Matroid
from matroid_bandits.specs._csv import Row, Sheet
from matroid_bandits.specs._toml import Section


@dataclass(frozen=True)
class Ground:
    """The items: their names, the lines that describe each of them, and the matroid over them."""

    sheet: Sheet
    names: list[str]
    rows: list[list[Row]]
    matroid: Matroid

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each item by its name."""
        return {name: e for e, name in enumerate(self.names)}


def named_rows(keys: Section, sheet: Sheet) -> tuple[list[str], list[list[Row]]]:
    """The items of a file with a line for each, under the names in the column that ``item`` gives."""
    item = keys.take("item", str, "item")
    sheet.need(item)
    return unique_rows(sheet, [(sheet.text(row, item), row) for row in sheet.rows])


def unique_rows(sheet: Sheet, named: list[tuple[str, Row]], hint: str = "") -> tuple[list[str], list[list[Row]]]:
    """Names and lines of items that must have a line each; `hint` is added to the error about a second one."""
    first: dict[str, Row] = {}
    for name, row in named:
        if name in first:
            raise sheet.error(row, f"item {name!r} is already on line {first[name].line}{hint}")
        first[name] = row
    return list(first), [[row] for row in first.values()]


def read_features(keys: Section, key: str, sheet: Sheet, rows: list[list[Row]], columns: list[Any]) -> AnyArray:
    """Numbers from some columns, a row per item, as integers where all of them are: those are treated exactly."""
    for column in columns:
        if not isinstance(column, str):
            raise keys.error(key, f"expected names of columns, got {shown(column)}")
    sheet.need(*columns)
    matrix = np.array([[sheet.number(row[0], column) for column in columns] for row in rows])
    is_whole = bool((matrix == np.rint(matrix)).all() and np.abs(matrix).max(initial=0.0) < 2**53)
    return matrix.astype(np.int64) if is_whole else matrix


def check_known(sheet: Sheet, row: Row, name: str, ground: Ground) -> None:
    """Raise when a line of another file names an item that the matroid does not have."""
    if name not in ground.numbers:
        hint = did_you_mean(name, ground.names)
        raise sheet.error(row, f"item {name!r} is not in {ground.sheet.path.name}{hint}")
