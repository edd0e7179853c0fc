"""A data set as a labelled problem, with what a report says about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matroid_bandits.problem import Problem


@dataclass(frozen=True)
class Dataset:
    """A problem made from data, and the origin of the data.

    Attributes
    ----------
    name, title : str
        Short name, such as ``rocketfuel-1221``, and one for headings.
    problem : Problem
        The problem; its matroid carries labels.
    description : str
        What it is, in a sentence or two.
    source : {"real", "stand-in"}
        Whether the data is real or made up to match the paper's figures.
    path : Path or None
        The file or folder it was read from.
    facts : mapping
        Plain figures for a report; which ones, each function says.

    Examples
    --------
    >>> from matroid_bandits.datasets import rocketfuel
    >>> network = rocketfuel(3967, standin=True)
    >>> network.name, network.source, network.problem.n_items
    ('rocketfuel-3967', 'stand-in', 147)
    """

    name: str
    title: str
    problem: Problem
    description: str
    source: Literal["real", "stand-in"]
    path: Path | None
    facts: Mapping[str, Any]

    @property
    def is_standin(self) -> bool:
        """Whether the data is made up to match the paper's figures."""
        return self.source == "stand-in"

    @property
    def origin(self) -> str:
        """The description and the file, without the folders of this machine."""
        path, about = self.path, self.description
        return about if path is None or path.name in about else f"{about} Read from {path.parent.name}/{path.name}."
