"""What is played and what comes of it, whatever the device: settings, a slice of runs, and its part of a result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits.compiled._forms import ProblemForms
from matroid_bandits.engines import EngineChoice
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.identification import Endings, StoppingRule
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

Start = Literal["observe", "explore"]

#: More than weights of `MOST_WEIGHT` can add up to, and little enough for the squares that make standard errors.
_MOST_TOTAL = 1e140


@dataclass(frozen=True)
class Settings:
    """Settings that all slices of a simulation share."""

    problem: Problem
    n_episodes: int
    n_runs: int
    seed: int  # in [0, 2**64)
    start: Start
    checkpoints: IntArray  # (C,): the episodes at which totals are kept, ascending; the last is `n_episodes`
    engine: EngineChoice = "auto"
    by_run: bool = False  # whether the choices of every run are kept apart
    until: StoppingRule | None = None

    @cached_property
    def forms(self) -> ProblemForms:
        """Compiled form of the problem, made on first use."""
        return ProblemForms(self.problem)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "forms"}


@dataclass(frozen=True)
class Slice:
    """Unit of work of a simulation: one policy, by name, on the runs from `first` up to, not including, `last`."""

    name: str
    policy: Policy
    first: int
    last: int

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return self.last - self.first

    def __str__(self) -> str:
        return described(self.name, self.first, self.last)


@dataclass(frozen=True)
class Part:
    """Result of one slice on its runs from `first` up to `last`."""

    first: int
    last: int
    returns: FloatArray  # (R, C), cumulative, at the checkpoints, as the regret
    regret: FloatArray
    choices: IntArray  # (L,); `by_run`, (R, L) in as few bytes as hold one for each episode
    surplus: FloatArray  # (R,): how much more the best available sets were worth than the best set of all items
    optimum: FloatArray | None = None  # (R, C): what the best sets were worth, where means change
    alarms: IntArray | None = None  # (R, C): how often items started anew; None without a detector
    item_alarms: IntArray | None = None  # by item, as the choices
    engine: str = "agent"
    endings: Endings | None = None  # None where all runs end in the last episode
    seconds: float = math.nan  # added up over the threads that played it; NaN where not known


class Stopped(Exception):
    """Error that ends a slice after another slice failed or the user interrupted."""


def described(name: str, first: int, last: int) -> str:
    """Return a short description of a slice, for messages."""
    return f"policy {name!r}, " + (f"run {first}" if last - first == 1 else f"runs {first} to {last - 1}")


def check_totals(environment: Environment, totals: FloatArray, t: int) -> None:
    """Raise `InvalidEnvironmentError` where returns by episode t are larger than finite weights allow."""
    if not (np.abs(totals) <= _MOST_TOTAL).all():
        which = f"weights of at most {MOST_WEIGHT:g} in size" if np.isfinite(totals).all() else "finite weights"
        raise InvalidEnvironmentError(f"{environment!r}: expected {which}; got others by episode {t}")


def check_returns(slice: Slice, settings: Settings, returns: FloatArray) -> None:
    """Raise `InvalidEnvironmentError` where returns (n, C) at checkpoints are larger than finite weights allow."""
    if (np.abs(returns) <= _MOST_TOTAL).all():
        return
    for point, t in enumerate(settings.checkpoints.tolist()):
        try:
            check_totals(settings.problem.environment, returns[:, point], t)
        except InvalidEnvironmentError as error:
            error.add_note(f"{slice}, episode {t}")
            raise
