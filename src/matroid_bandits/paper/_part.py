"""A part of the chapter that goes beyond the paper: some problems, policies, and the text on the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.datasets import Dataset
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Block
from matroid_bandits.simulation import Sweep

#: How many episodes curves are kept at, evenly spaced, since a world that changes is not read on a log axis.
_N_CHECKPOINTS = 60


class PolicyMaker(Protocol):
    """Makes the policies for a problem and a number of episodes, by name, a family as a list."""

    def __call__(self, problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]: ...


@dataclass(frozen=True)
class Part:
    """Problems on which the same policies play, and what is written of them.

    Attributes
    ----------
    name : str
        Short name, for what was run.
    load : callable
        From a data folder, or None, to the data sets that are needed; none where problems are made up.
    problems : callable
        From the data sets and the number of episodes to the problems by name.
    policies : callable
        From a problem and the number of episodes to policies by name, a family as a list.
    n_episodes, n_quick : int
        How long, and how long for a taste.
    n_runs : int
        How often.
    write : callable
        From a `PartOutcome` to blocks of the chapter.
    """

    name: str
    load: Callable[[str | os.PathLike[str] | None], Sequence[Dataset]]
    problems: Callable[[Sequence[Dataset], int], Mapping[str, Problem]]
    policies: PolicyMaker
    n_episodes: int
    n_quick: int
    write: Callable[[PartOutcome], Sequence[Block]]
    n_runs: int = 20

    @property
    def checkpoints(self) -> IntArray:
        """The episodes at which curves are kept."""
        return np.unique(np.linspace(1, self.n_episodes, _N_CHECKPOINTS).round().astype(np.int64))


@dataclass(frozen=True)
class PartOutcome:
    """What was found in a part."""

    part: Part
    datasets: Sequence[Dataset]
    sweep: Sweep

    @property
    def is_standin(self) -> bool:
        """Whether any of its data is made up in place of real data."""
        return any(dataset.source == "stand-in" for dataset in self.datasets)
