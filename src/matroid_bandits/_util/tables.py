"""Tables as data: rows under columns, and every cell as text with equal digits in a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from matroid_bandits._util.text import common_spec, in_a_line, number, with_error

#: Said under what shows made-up data.
STANDIN_NOTE = "Stand-in: made-up data that matches the figures the paper prints, not the paper's data."


@dataclass(frozen=True)
class Estimate:
    """A mean over runs, or over worlds, and its standard error, shown as ± in tables.

    Examples
    --------
    >>> Column("regret", ".2f").show(Estimate(3.14159, 0.25))
    '3.14 ±\xa00.25'
    """

    mean: float
    error: float


#: The format of p values.
P_VALUE = "p"

#: What a table can hold.
Cell = str | int | float | Estimate | None


@dataclass(frozen=True)
class Column:
    """A table column: its heading, the format of its numbers, and the heading shared with its neighbours.

    Examples
    --------
    >>> Column("ours", ".1%", group="share").show(0.125)
    '12.5%'
    """

    name: str
    spec: str = ""
    group: str = ""
    is_text: bool = False

    @property
    def key(self) -> str:
        """Name of the column in plain records."""
        return f"{self.group} {self.name}".strip()

    @property
    def is_paper(self) -> bool:
        """Whether the column holds the paper's figures."""
        return "paper" in (self.name, self.group)

    def show(self, cell: Cell) -> str:
        """Return a cell as text, with no-break spaces around ±."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return "–"
        if isinstance(cell, str):
            return in_a_line(cell)
        if self.spec == P_VALUE:
            p = cell.mean if isinstance(cell, Estimate) else cell
            return "<0.001" if p < 0.001 else f"{p:.3f}"
        return with_error(*_parts(cell), self.spec) if isinstance(cell, Estimate) else number(cell, self.spec)

    def texts(self, cells: Sequence[Cell]) -> list[str]:
        """Return all cells of the column as text, with the same number of decimals in each where that is readable."""
        spec = common_spec((_parts(cell) for cell in cells if isinstance(cell, (int, float, Estimate))), self.spec)
        return [self.show(cell) if spec is None else _shown(self, cell, spec) for cell in cells]


@dataclass(frozen=True)
class Table:
    """Table of rows under columns, with a title and a note.

    `best` has the places (row, column) of cells to mark, such as the least regret of a column.

    Examples
    --------
    >>> table = Table("sizes", "Sizes", (Column("name", is_text=True), Column("items", ",")), (("movies", 1000),))
    >>> table.texts()
    [['movies', '1,000']]
    >>> table.records()
    [{'name': 'movies', 'items': 1000}]
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_standin: bool = False
    best: frozenset[tuple[int, int]] = frozenset()

    def texts(self) -> list[list[str]]:
        """Return every cell as text."""
        by_column = (column.texts([row[place] for row in self.rows]) for place, column in enumerate(self.columns))
        return list(map(list, zip(*by_column, strict=True)))

    def to_text(self) -> str:
        """Return the headings and rows as lines of text, the first column to the left and decimals aligned."""
        by_column = [list(texts) for texts in zip(*self.texts(), strict=True)] or [[] for _ in self.columns]
        lines: list[list[str]] = []
        for place, (column, texts) in enumerate(zip(self.columns, by_column, strict=True)):
            own = [column.key, *_aligned([text.replace("\u00a0", " ") for text in texts])]
            width = max(map(len, own))
            own.insert(1, "-" * width)
            lines.append([text.ljust(width) if place == 0 else text.rjust(width) for text in own])
        return "\n".join("  ".join(row) for row in zip(*lines, strict=True))

    def to_html(self, caption: str) -> str:
        """Return the table as HTML, for notebooks."""
        head = "".join(f"<th>{escape(column.key)}</th>" for column in self.columns)
        rows = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
            for name, *texts in self.texts()
        )
        return (
            f'<table><caption style="text-align: left">{escape(caption, quote=False)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def records(self) -> list[dict[str, Any]]:
        """Return every row as a plain record by column; an estimate becomes a pair."""
        return [
            {
                column.key: [cell.mean, cell.error] if isinstance(cell, Estimate) else cell
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]


def groups_of(table: Table) -> list[tuple[str, int]]:
    """The headings that neighbouring columns share, each with how many share it."""
    groups: list[tuple[str, int]] = []
    for column in table.columns:
        if groups and column.group and groups[-1][0] == column.group:
            groups[-1] = column.group, groups[-1][1] + 1
        else:
            groups.append((column.group, 1))
    return groups


def _aligned(texts: Sequence[str]) -> list[str]:
    """Numbers with errors as wide as the widest, so that decimals are in line; other text is left as it is."""
    width = max((len(text.partition(" ± ")[2]) for text in texts), default=0)
    aligned = []
    for text in texts:
        mean, sign, error = text.partition(" ± ")
        is_number = mean[-1:].isdigit() or mean.endswith("%")
        aligned.append(f"{mean}{sign or '   '}{error.rjust(width)}" if width and is_number else text)
    return aligned


def _parts(cell: int | float | Estimate) -> tuple[float, float]:
    """A number and its error, NaN without one."""
    return (cell.mean, cell.error) if isinstance(cell, Estimate) else (cell, math.nan)


def _shown(column: Column, cell: Cell, spec: str) -> str:
    """A cell in a format that fits all of its column."""
    if cell is None or isinstance(cell, str) or math.isnan(_parts(cell)[0]):
        return column.show(None if isinstance(cell, Estimate) else cell)
    mean, error = _parts(cell)
    text = format(mean, f"z{spec}")
    return text if math.isnan(error) else f"{text} ±\u00a0{format(error, spec)}"
