"""A chapter of a report as plain data: what is said, what was run, and what ``results.json`` keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matroid_bandits._util.tables import Table
from matroid_bandits._util.text import counted
from matroid_bandits.reporting._blocks import Block, Claim, Plot, unknown_block


@dataclass(frozen=True)
class DataSource:
    """Origin of a problem's data, in a sentence or two.

    Examples
    --------
    >>> DataSource("Movies", "MovieLens 1M: the 25 most rated movies.").is_standin
    False
    """

    title: str
    description: str
    is_standin: bool = False


@dataclass(frozen=True)
class RunFacts:
    """Settings of the simulations behind a chapter: episodes, runs, policies, seed and data.

    Attributes
    ----------
    n_episodes : int, or mapping of name to int
        Episodes of each run; by part where a chapter has parts of different lengths, each with policies of its own.
    n_runs : int, or mapping of name to str
        Runs of each policy on each problem; by part, in words, where parts differ in it.
    seed : int
        Which random numbers.
    start : {"observe", "explore"}
        Whether every item was seen once before episode 1.
    policies : mapping of name to str
        Each policy as Python would write it.
    data : tuple of DataSource
        One for each problem.
    wall_time : float
        Seconds spent simulating.

    Examples
    --------
    >>> data = (DataSource("Movies", "MovieLens 1M."),)
    >>> facts = RunFacts(1000, 20, 2014, "observe", {"OMM": "OMM(scale=1.0)"}, data, wall_time=0.5)
    >>> facts.size
    '20 runs of 1,000 episodes, seed 2014'
    """

    n_episodes: int | Mapping[str, int]
    n_runs: int | Mapping[str, str]
    seed: int
    start: str
    policies: Mapping[str, str]
    data: tuple[DataSource, ...]
    wall_time: float

    @property
    def size(self) -> str:
        """Number of episodes and runs, and the seed, as text."""
        if not isinstance(self.n_runs, int):
            assert not isinstance(self.n_episodes, int)
            parts = (f"{part}: {self.n_runs[part]} of {n:,} episodes" for part, n in self.n_episodes.items())
            return f"{'; '.join(parts)}; seed {self.seed}"
        if isinstance(self.n_episodes, int):
            length = counted(self.n_episodes, "episode")
        else:
            length = ", ".join(f"{n:,} ({part})" for part, n in self.n_episodes.items()) + " episodes"
        return f"{counted(self.n_runs, 'run')} of {length}, seed {self.seed}"

    @property
    def summary(self) -> str:
        """The settings of the simulations in two sentences."""
        names = ", ".join(dict.fromkeys(_short(policy) for policy in self.policies.values()))
        start = "every item seen once" if self.start == "observe" else "nothing seen"
        if not isinstance(self.n_episodes, int):
            return f"{self.size}, {start} before episode 1. {names}."
        return (
            f"{counted(len(self.data), 'problem')} × {len(self.policies)} policies × {self.size},"
            f" {start} before episode 1. {names}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that determine the numbers as plain data, without machine or time."""
        return {
            "episodes": self.n_episodes if isinstance(self.n_episodes, int) else dict(self.n_episodes),
            "runs": self.n_runs if isinstance(self.n_runs, int) else dict(self.n_runs),
            "seed": self.seed,
            "start": self.start,
            "policies": dict(self.policies),
        }


@dataclass(frozen=True)
class LogFacts:
    """Facts on the log behind a report's chapter: its decisions, and how many were used.

    Attributes
    ----------
    n_decisions, n_held_out, n_units : int
        Settled decisions, those of the control among them, and units that they belong to.
    n_open, n_lost : int
        Decisions that were left out: they wait for answers, or were closed without some.
    method : str
        The estimator.
    policies : mapping of name to str
        What each target is.
    data : tuple of DataSource
        Where the log comes from.
    wall_time : float
        Seconds spent.

    Examples
    --------
    >>> LogFacts(4000, 210, 4000, 3, 0, "dr", {}, (), 0.5).size
    '4,000 settled decisions, 210 of them held out; 3 wait for answers'
    """

    n_decisions: int
    n_held_out: int
    n_units: int
    n_open: int
    n_lost: int
    method: str
    policies: Mapping[str, str]
    data: tuple[DataSource, ...]
    wall_time: float

    @property
    def size(self) -> str:
        """Number of decisions, and of those left out, as text."""
        text = f"{counted(self.n_decisions, 'settled decision')}, {self.n_held_out:,} of them held out"
        text += f", of {self.n_units:,} units" if self.n_units != self.n_decisions else ""
        text += f"; {self.n_open:,} wait for answers" if self.n_open else ""
        return text + (f"; {self.n_lost:,} were closed without some" if self.n_lost else "")

    @property
    def summary(self) -> str:
        """The facts on the log as one sentence."""
        return f"{self.size}."

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, without machine or time."""
        names = ("n_decisions", "n_held_out", "n_units", "n_open", "n_lost", "method")
        return {name.removeprefix("n_"): getattr(self, name) for name in names} | {"policies": dict(self.policies)}


@dataclass(frozen=True)
class Chapter:
    """A part of a report: its text, tables and plots, the settings of its runs, and records for ``results.json``.

    Attributes
    ----------
    name, title : str
        Short name, fit for files and links, and the heading.
    lead : str
        The first paragraph.
    run : RunFacts or LogFacts
        What was simulated, or read.
    blocks : tuple of Block
        Text, tables, plots and claims, in order.
    section : str
        Where the paper has it; empty for what is not in the paper.
    records : mapping
        Plain data for ``results.json``, beside the tables and claims, which get there by themselves.

    Raises
    ------
    DataError
        A block is of no known kind.

    Examples
    --------
    >>> from matroid_bandits.reporting import Text
    >>> facts = RunFacts(10, 2, 0, "observe", {}, (), 0.0)
    >>> chapter = Chapter("mine", "My problem", "What it is about.", facts, (Text("What was found."),))
    >>> chapter.tables, chapter.is_standin
    ([], False)
    """

    name: str
    title: str
    lead: str
    run: RunFacts | LogFacts
    blocks: tuple[Block, ...] = ()
    section: str = ""
    records: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for block in self.blocks:
            if not isinstance(block, Block):
                raise unknown_block(block, "a report")

    @property
    def tables(self) -> list[Table]:
        """The tables of the chapter, in order."""
        return [block for block in self.blocks if isinstance(block, Table)]

    @property
    def plots(self) -> list[Plot]:
        """The plots of the chapter, in order."""
        return [block for block in self.blocks if isinstance(block, Plot)]

    @property
    def claims(self) -> list[Claim]:
        """The claims of the chapter, in order."""
        return [block for block in self.blocks if isinstance(block, Claim)]

    @property
    def is_standin(self) -> bool:
        """Whether any of the data is synthetic."""
        return any(source.is_standin for source in self.run.data)


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
