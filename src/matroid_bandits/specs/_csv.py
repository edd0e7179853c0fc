"""Small CSV files read strictly: every mistake is reported with its file and line."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matroid_bandits._util.text import did_you_mean
from matroid_bandits.exceptions import DataError

#: Numbers beyond this would overflow once they are summed and squared.
LARGEST = 1e100


@dataclass(frozen=True)
class Row:
    """A line of a file: its number and its cells by column."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Sheet:
    """A CSV file with a header."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def need(self, *columns: str) -> None:
        """Raise when a column is not there."""
        known = set(self.columns)
        for column in columns:
            if column not in known:
                raise DataError(
                    f"{self.path}:1: expected a column {column!r}, got {', '.join(self.columns)}"
                    f"{did_you_mean(column, self.columns)}"
                )

    def error(self, row: Row, message: str) -> DataError:
        """A DataError that names the file and the line of `row`."""
        return DataError(f"{self.path}:{row.line}: {message}")

    def text(self, row: Row, column: str) -> str:
        """The text of a cell, which must not be empty."""
        if not row.cells[column]:
            raise self.error(row, f"expected something in column {column!r}, got an empty cell")
        return row.cells[column]

    def number(self, row: Row, column: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A cell as a number, which must be finite and in [low, high]."""
        text = row.cells[column]
        try:
            value = float(text)
        except ValueError:
            raise self.error(row, f"expected a number in column {column!r}, got {text!r}") from None
        if not math.isfinite(value):
            raise self.error(row, f"expected a finite number in column {column!r}, got {text!r}")
        if abs(value) > LARGEST:
            raise self.error(row, f"expected at most {LARGEST:g} in size in column {column!r}, got {text}")
        if not low <= value <= high:
            raise self.error(row, f"expected column {column!r} in [{low:g}, {high:g}], got {text}")
        return value


def read_sheet(path: Path) -> Sheet:
    """Read a whole CSV file; blank lines are skipped, cells lose the blanks around them."""
    rows: list[Row] = []
    columns: tuple[str, ...] | None = None
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                line = reader.line_num
                cells = [cell.strip() for cell in cells]
                if not any(cells):
                    continue
                if columns is None:
                    columns = _header(path, line, cells)
                elif len(cells) != len(columns):
                    raise DataError(f"{path}:{line}: expected {len(columns)} cells, got {len(cells)}")
                else:
                    rows.append(Row(line, dict(zip(columns, cells, strict=True))))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8 text ({error.reason} at byte {error.start})") from error
    except csv.Error as error:
        raise DataError(f"{path}:{line + 1}: malformed CSV ({error})") from error
    if columns is None or not rows:
        raise DataError(
            f"{path}: expected a header and a row or more, got {'a header alone' if columns else 'nothing'}"
        )
    return Sheet(path, columns, tuple(rows))


def _header(path: Path, line: int, cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns, each of which must be there once."""
    known: set[str] = set()
    for number, name in enumerate(cells):
        if not name:
            raise DataError(f"{path}:{line}: expected a name for column {number + 1}, got an empty cell")
        if name in known:
            raise DataError(f"{path}:{line}: column {name!r} is there twice")
        known.add(name)
    return tuple(cells)
