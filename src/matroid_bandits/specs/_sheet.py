"""Tables of items, from a CSV file or written into a spec, read strictly: every mistake with its line or entry."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from matroid_bandits._util.files import check_not_device
from matroid_bandits._util.text import did_you_mean, shortened, shown
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs._place import Place

#: Numbers beyond this would overflow once they are summed and squared.
LARGEST = 1e100

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """A table with named columns; `name` is what messages about other tables call it, `base` begins its own."""

    name: str
    base: str
    columns: tuple[str, ...]
    is_file: bool
    rows: list[Row] = field(default_factory=list, repr=False)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.columns)

    def need(self, *columns: str) -> None:
        """Raise when a column is not there."""
        for column in columns:
            if column not in self._known:
                where = f"{self.base}:1" if self.is_file else self.base
                hint = did_you_mean(column, self.columns)
                raise DataError(
                    f"{where}: expected a column {shown(column)}, got {_short(', '.join(self.columns))}{hint}"
                )


@dataclass(frozen=True)
class Row:
    """A row of a sheet: its line in the file, or its place in the list, and its cells by column."""

    sheet: Sheet = field(repr=False)
    line: int
    cells: Mapping[str, Any]

    @property
    def place(self) -> str:
        """Where the row is, as a message about another row of the sheet says it."""
        return f"on line {self.line}" if self.sheet.is_file else f"in rows[{self.line}]"

    def error(self, message: str) -> DataError:
        """A DataError that names the file and the line, or the key and the entry."""
        return DataError(f"{self.sheet.base}{f':{self.line}' if self.sheet.is_file else f'[{self.line}]'}: {message}")

    def shown(self, column: str) -> str:
        """A cell as a message shows it: the text of a CSV file as it is there."""
        cell = self.cells.get(column, "")
        return _short(cell) if isinstance(cell, str) else shown(cell)

    def text(self, column: str) -> str:
        """The text of a cell, which must not be empty."""
        self.sheet.need(column)
        cell = self.cells.get(column, "")
        if not isinstance(cell, str):
            raise self.error(f"expected a string in column {shown(column)}, got {shown(cell)}")
        if not cell:
            raise self.error(f"expected something in column {shown(column)}, got an empty cell")
        return cell

    def texts(self, column: str) -> list[str]:
        """The texts of a cell that may hold a list of them, as an entry of a spec may."""
        cell = self.cells.get(column, "")
        if not isinstance(cell, list):
            return [self.text(column)]
        if not cell or not all(isinstance(text, str) and text for text in cell):
            raise self.error(f"expected a string or more in column {shown(column)}, got {shown(cell)}")
        return cell

    def number(self, column: str, low: float = -math.inf, high: float = math.inf) -> int | float:
        """A cell as a number in [low, high]; a whole number is an int, exact whatever its size."""
        self.sheet.need(column)
        cell = self.cells.get(column, "")
        value = _parsed(cell) if isinstance(cell, str) else cell
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"expected a number in column {shown(column)}, got {shown(cell)}")
        if isinstance(value, float) and not math.isfinite(value) and _is_not_finite(cell):
            raise self.error(f"expected a finite number in column {shown(column)}, got {shown(cell)}")
        if abs(value) > LARGEST:
            raise self.error(
                f"expected at most {LARGEST:g} in size in column {shown(column)}, got {self.shown(column)}"
            )
        if not low <= value <= high:
            raise self.error(f"expected column {shown(column)} in [{low:g}, {high:g}], got {self.shown(column)}")
        return value

    def whole(self, column: str, low: int = 0) -> int:
        """A cell as a whole number of at least `low`."""
        value = self.number(column, low=low)
        if value != int(value):
            raise self.error(f"expected a whole number in column {shown(column)}, got {self.shown(column)}")
        return int(value)


def _parsed(text: str) -> int | float | None:
    """The number that a text is in the digits 0 to 9; float() would take 1_0 and the digits of other scripts too."""
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= 400 else math.inf
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return float(text)
    return None


def _is_not_finite(cell: Any) -> bool:
    """Whether a cell says infinity or NaN, rather than a number too large for a float."""
    return not isinstance(cell, str) or _NOT_FINITE.fullmatch(cell) is not None


def read_sheet(file: str, place: Place) -> Sheet:
    """Read the CSV file that a key names, beside the spec's own file."""
    path = (place.file.parent if place.file is not None else Path()) / file
    try:
        check_not_device(path)
        path.open("rb").close()
    except OSError as error:
        raise place.error(f"{shortened(str(path))}: cannot be read ({error.strerror})") from error
    return read_csv(path)


def read_csv(path: Path) -> Sheet:
    """Read a whole CSV file; blank lines are skipped, cells lose the blanks around them."""
    sheet: Sheet | None = None
    line = 0
    try:
        check_not_device(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                line = reader.line_num
                cells = [cell.strip() for cell in cells]
                if not any(cells):
                    continue
                if sheet is None:
                    sheet = Sheet(path.name, str(path), _header(path, line, cells), is_file=True)
                elif len(cells) != len(sheet.columns):
                    raise DataError(f"{path}:{line}: expected {len(sheet.columns)} cells, got {len(cells)}")
                else:
                    sheet.rows.append(Row(sheet, line, dict(zip(sheet.columns, cells, strict=True))))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8 text ({error.reason} at byte {error.start})") from error
    except csv.Error as error:
        raise DataError(f"{path}:{line + 1}: malformed CSV ({error})") from error
    if sheet is None or not sheet.rows:
        raise DataError(
            f"{path}: expected a header and a row or more, got {'a header alone' if sheet else 'nothing'}"
        )
    return sheet


def inline_sheet(rows: Sequence[str | Mapping[str, Any]], item: str, place: Place) -> Sheet:
    """The table that a spec holds itself; a row that is a string is that item, without any attributes."""
    tables = [{item: row} if isinstance(row, str) else row for row in rows]
    columns = tuple(dict.fromkeys(column for table in tables for column in table))
    sheet = Sheet(place.path, str(place), columns, is_file=False)
    sheet.rows.extend(Row(sheet, number, table) for number, table in enumerate(tables))
    return sheet


def _header(path: Path, line: int, cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns, each of which must be there once."""
    seen: set[str] = set()
    for number, name in enumerate(cells):
        if not name:
            raise DataError(f"{path}:{line}: expected a name for column {number + 1}, got an empty cell")
        if name in seen:
            raise DataError(f"{path}:{line}: column {shown(name)} is there twice")
        seen.add(name)
    return tuple(cells)


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"
