"""What a chapter of the report is made of: text, tables, plots and claims, as plain data.

The terminal, the page and ``results.json`` show the same blocks, each in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from matroid_bandits._util.plots import Panel
from matroid_bandits._util.tables import Table
from matroid_bandits.exceptions import DataError


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
