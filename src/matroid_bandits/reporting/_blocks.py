"""What a chapter of the report is made of: text, tables, plots and claims, as plain data.

The terminal, the page and ``results.json`` show the same blocks, each in its own way.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from matroid_bandits._typing import FloatArray, IntArray

#: What the level of the optimum is called, where a policy may stand beside it.
OPTIMAL = "optimal"

#: Put wherever made-up data is shown.
STANDIN = "stand-in data"
STANDIN_NOTE = "Stand-in: made-up data that matches the figures the paper prints, not the paper's data."


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and its standard error."""

    mean: float
    error: float


Cell = str | int | float | Estimate | None


@dataclass(frozen=True)
class Column:
    """A column: its heading, how its numbers are written, and the heading it shares with its neighbours."""

    name: str
    spec: str = ""
    group: str = ""
    is_text: bool = False

    @property
    def key(self) -> str:
        """Its name in plain records."""
        return f"{self.group} {self.name}".strip()

    @property
    def is_paper(self) -> bool:
        """Whether it holds the paper's figures."""
        return "paper" in (self.name, self.group)

    def show(self, cell: Cell) -> str:
        """A cell as text; a no-break space holds an error to its sign."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return "–"
        if isinstance(cell, Estimate):
            mean = format(cell.mean, self.spec)
            return mean if math.isnan(cell.error) else f"{mean} ±\u00a0{self._error(cell.error)}"
        return cell if isinstance(cell, str) else format(cell, self.spec)

    def _error(self, error: float) -> str:
        """An error like its mean, but to two digits where it would look like nothing."""
        shown = format(error, self.spec)
        return shown if error == 0 or re.search("[1-9]", shown) else f"{error:.2g}"


@dataclass(frozen=True)
class Table:
    """Rows under columns, with a note."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_standin: bool = False

    def texts(self) -> list[list[str]]:
        """Every cell as text."""
        return [[column.show(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """A plain record a row; an estimate is a pair."""
        return [
            {
                column.key: [cell.mean, cell.error] if isinstance(cell, Estimate) else cell
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]


@dataclass(frozen=True)
class Curve:
    """A line and its standard error."""

    label: str
    y: FloatArray
    error: FloatArray | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over episodes that share axes; `optimum` is a level to compare them with."""

    title: str
    x: IntArray
    curves: tuple[Curve, ...]
    y_label: str
    optimum: float | None = None
    is_log: bool = True
    is_standin: bool = False


@dataclass(frozen=True)
class Plot:
    """Panels side by side."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    caption: str = ""

    @property
    def is_standin(self) -> bool:
        """Whether any panel shows made-up data."""
        return any(panel.is_standin for panel in self.panels)


#: "undecided": the runs were shorter than the paper's.
Verdict = Literal["holds", "does not hold", "undecided"]


@dataclass(frozen=True)
class Claim:
    """Something the paper says, whether our runs bear it out, and the figures behind that."""

    text: str
    verdict: Verdict
    evidence: str
    is_standin: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


Block = Text | Table | Plot | Claim


@dataclass(frozen=True)
class Chapter:
    """One experiment of the report."""

    lead: str
    blocks: tuple[Block, ...] = field(default=())

    @property
    def tables(self) -> list[Table]:
        """Its tables, in order."""
        return [block for block in self.blocks if isinstance(block, Table)]

    @property
    def plots(self) -> list[Plot]:
        """Its plots, in order."""
        return [block for block in self.blocks if isinstance(block, Plot)]

    @property
    def claims(self) -> list[Claim]:
        """Its claims, in order."""
        return [block for block in self.blocks if isinstance(block, Claim)]
