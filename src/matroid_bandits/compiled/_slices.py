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
    """Settings that all slices of a simulation share.

    Attributes
    ----------
    problem : Problem
        What is learnt.
    n_episodes, n_runs : int
        Number of episodes, and number of independent runs.
    seed : int
        Of the random numbers, in [0, 2**64).
    start : "observe" or "explore"
        As in `simulate`.
    checkpoints : int64 array (C,)
        The episodes at which totals are kept, ascending; the last is `n_episodes`.
    engine : str, or class
        How decisions are found, as in `simulate`.
    by_run : bool
        Whether the choices of every run are kept apart.
    until : StoppingRule, or None
        When runs end; None for all of them in the last episode.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import Settings
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> Settings(problem, 9, 50, seed=1, start="observe", checkpoints=np.array([9])).engine
    'auto'
    """

    problem: Problem
    n_episodes: int
    n_runs: int
    seed: int
    start: Start
    checkpoints: IntArray
    engine: EngineChoice = "auto"
    by_run: bool = False
    until: StoppingRule | None = None

    @cached_property
    def forms(self) -> ProblemForms:
        """Compiled form of the problem, made on first use."""
        return ProblemForms(self.problem)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "forms"}


@dataclass(frozen=True)
class Slice:
    """Unit of work of a simulation: one policy, by name, on the runs from `first` up to, not including, `last`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import Slice
    >>> Slice("OMM", mb.OMM(), 20, 50).n_runs
    30
    """

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
    """Result of one slice on its runs from `first` up to `last`.

    Attributes
    ----------
    first, last : int
        Which runs.
    returns, regret : float64 arrays (R, C)
        Cumulative return and regret of each run at each checkpoint.
    choices : int64 array (L,), or unsigned array (R, L)
        How often each item was chosen, over these runs; with `Settings.by_run` in each of them, in as few bytes as
        hold one for each episode.
    surplus : float64 array (R,)
        How much more, in all, the best available sets were worth than the best set of all items.
    optimum : float64 array (R, C), or None
        What the best sets of each run were worth by each checkpoint, where means change.
    alarms, item_alarms : int64 arrays, or None
        How often items started anew, by run and checkpoint (R, C), and by item as the choices are; None where the
        policy has no detector.
    engine : str
        What found the decisions: "compiled", where whole episodes are played in compiled code, or "agent".
    endings : Endings, or None
        When and with which set each run ended; None where all end in the last episode.
    seconds : float
        How long it took, added up over the threads that played it; NaN where that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from matroid_bandits.compiled import Part
    >>> Part(0, 2, np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(3, int), np.zeros(2)).engine
    'agent'
    """

    first: int
    last: int
    returns: FloatArray
    regret: FloatArray
    choices: IntArray
    surplus: FloatArray
    optimum: FloatArray | None = None
    alarms: IntArray | None = None
    item_alarms: IntArray | None = None
    engine: str = "agent"
    endings: Endings | None = None
    seconds: float = math.nan


class Stopped(Exception):
    """Error that ends a slice after another slice failed or the user interrupted.

    Examples
    --------
    >>> from matroid_bandits.compiled import Stopped
    >>> issubclass(Stopped, Exception)
    True
    """


def described(name: str, first: int, last: int) -> str:
    """Return a short description of a slice, for messages.

    Examples
    --------
    >>> from matroid_bandits.compiled import described
    >>> described("OMM", 3, 4)
    "policy 'OMM', run 3"
    """
    return f"policy {name!r}, " + (f"run {first}" if last - first == 1 else f"runs {first} to {last - 1}")


def check_totals(environment: Environment, totals: FloatArray, t: int) -> None:
    """Raise `InvalidEnvironmentError` where returns by episode t are larger than finite weights allow.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import check_totals
    >>> check_totals(mb.BernoulliEnvironment([0.5]), np.array([1e141]), t=3)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.InvalidEnvironmentError: <BernoulliEnvironment: 1 items, means 0.5 to 0.5>: ...
    """
    if not (np.abs(totals) <= _MOST_TOTAL).all():
        which = f"weights of at most {MOST_WEIGHT:g} in size" if np.isfinite(totals).all() else "finite weights"
        raise InvalidEnvironmentError(f"{environment!r}: expected {which}; got others by episode {t}")


def check_returns(slice: Slice, settings: Settings, returns: FloatArray) -> None:
    """Raise `InvalidEnvironmentError` where returns (n, C) at checkpoints are larger than finite weights allow.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import Settings, Slice, check_returns
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.2, 0.5]))
    >>> settings = Settings(problem, 4, 1, seed=1, start="observe", checkpoints=np.array([4]))
    >>> check_returns(Slice("OMM", mb.OMM(), 0, 1), settings, np.array([[3.0]]))
    """
    if (np.abs(returns) <= _MOST_TOTAL).all():
        return
    for point, t in enumerate(settings.checkpoints.tolist()):
        try:
            check_totals(settings.problem.environment, returns[:, point], t)
        except InvalidEnvironmentError as error:
            error.add_note(f"{slice}, episode {t}")
            raise
