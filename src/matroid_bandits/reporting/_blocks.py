"""What a chapter of the report is made of: text, tables, plots and claims, as plain data.

The terminal, the page and ``results.json`` show the same blocks, each in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from matroid_bandits._util.plots import Panel
from matroid_bandits._util.text import number, printable, with_error
from matroid_bandits.exceptions import DataError

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
        if isinstance(cell, Estimate):
            return with_error(cell.mean, cell.error, self.spec)
        return printable(cell) if isinstance(cell, str) else number(cell, self.spec)


@dataclass(frozen=True)
class Table:
    """Table of rows under columns, with a title and a note.

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

    def texts(self) -> list[list[str]]:
        """Return every cell as text."""
        return [[column.show(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

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


@dataclass(frozen=True)
class Plot:
    """Plot of panels side by side; curves whose labels are in one of `groups` share its colour.

    Examples
    --------
    >>> import numpy as np
    >>> panel = Panel("Regret", np.array([1]), (), "cumulative regret", is_standin=True)
    >>> Plot("mine", "A plot of mine", (panel,)).is_standin
    True
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    caption: str = ""
    groups: Mapping[str, Sequence[str]] | None = None

    @property
    def is_standin(self) -> bool:
        """Whether any panel shows synthetic data."""
        return any(panel.is_standin for panel in self.panels)


#: "undecided": the runs were shorter than the paper's.
Verdict = Literal["holds", "does not hold", "undecided"]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether our runs confirm it, and the figures behind the verdict.

    Examples
    --------
    >>> Claim("OMM learns.", "holds", "Its regret per step fell from 0.5 to 0.1.").verdict
    'holds'
    """

    text: str
    verdict: Verdict
    evidence: str
    is_standin: bool = False


@dataclass(frozen=True)
class Text:
    """Paragraph of text.

    Examples
    --------
    >>> Text("The optimum is exact.").text
    'The optimum is exact.'
    """

    text: str


#: Anything a chapter can hold. Every renderer knows each of them, or says that it leaves it to another.
Block = Text | Table | Plot | Claim


def unknown_block(block: object, where: str) -> DataError:
    """The error that a block cannot be shown: to leave it out would be a report that is not what was written."""
    known = ", ".join(kind.__name__ for kind in get_args(Block))
    return DataError(f"expected a block that {where} can show ({known}), got {type(block).__name__}")
