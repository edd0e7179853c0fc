"""How the race is run: constants tuned on other seeds, then every policy in the same worlds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.datasets import Dataset
from matroid_bandits.paper._race import HEATS, Heat, Size, Track
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import ExecutorChoice, Progress, SimulationResult, Sweep, Worlds, sweep

#: How long the race is.
Length = Literal["quick", "usual", "full"]

#: How many episodes curves are kept at, evenly spaced.
_N_CHECKPOINTS = 25

#: Constants are tuned on this share of the worlds and of the runs, drawn with the next seed.
_TUNING = 4


@dataclass(frozen=True)
class Lap:
    """One problem of a heat: what was tuned, and what was found.

    Attributes
    ----------
    name : str
        The problem's.
    tuned : dict of str by name
        For each policy with a constant that was tuned, what it was tuned to.
    sweep : Sweep
        What was found, of this problem alone.
    """

    name: str
    tuned: dict[str, str]
    sweep: Sweep

    @property
    def result(self) -> SimulationResult:
        """What was found: over worlds where they were drawn, else over runs."""
        return self.sweep[self.name]


@dataclass(frozen=True)
class HeatOutcome:
    """What was found in a heat; `is_full` unless it was shorter than by default."""

    heat: Heat
    size: Size
    datasets: Sequence[Dataset]
    laps: tuple[Lap, ...]
    is_full: bool

    @property
    def is_standin(self) -> bool:
        """Whether any of its data is made up in place of real data."""
        return any(dataset.source == "stand-in" for dataset in self.datasets)


@dataclass(frozen=True)
class Race:
    """Settings of the race of all policies over many problems (`reproduce race`), fixed in code.

    Attributes
    ----------
    heats : tuple of Heat
        What is played, one after the other.
    seed : int
        Which random numbers; constants are tuned with those of the next seed.
    length : {"quick", "usual", "full"}
        Which of each heat's sizes.
    n_episodes, n_runs : int, optional
        In place of those of the sizes.

    Examples
    --------
    >>> from matroid_bandits.paper import RACE
    >>> [heat.name for heat in RACE.heats][:3], RACE.size(RACE.heats[0])
    (['stationary', 'costly', 'phases'], Size(n_worlds=20, n_runs=20, n_episodes=5000))
    """

    heats: tuple[Heat, ...] = HEATS
    seed: int = 2014
    length: Length = "usual"
    n_episodes: int | None = None
    n_runs: int | None = None
    name: str = "race"
    title: str = "The race"

    def size(self, heat: Heat) -> Size:
        """Return the number of episodes and runs of a heat, one problem of the race."""
        size: Size = getattr(heat, self.length)
        return replace(size, n_episodes=self.n_episodes or size.n_episodes, n_runs=self.n_runs or size.n_runs)

    def resized(
        self,
        *,
        n_episodes: int | None = None,
        n_runs: int | None = None,
        seed: int | None = None,
        length: Length = "usual",
    ) -> Race:
        """Return the same settings with other numbers of episodes or runs."""
        return replace(
            self, n_episodes=n_episodes, n_runs=n_runs, seed=self.seed if seed is None else seed, length=length
        )

    def loaded(self, data: str | os.PathLike[str] | None = None) -> Race:
        """Return the same settings with the data loaded, so that faulty data raises before a run."""
        return replace(self, heats=tuple(_loaded(heat, heat.load(data)) for heat in self.heats))


#: The race as it is played by default.
RACE = Race()


def run_race(
    race: Race,
    data: str | os.PathLike[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    executor: ExecutorChoice = None,
    store: str | os.PathLike[str] | None = None,
) -> list[HeatOutcome]:
    """Load the data, tune the policies' parameters, and run every heat of the race.

    Parameters
    ----------
    race : Race
        What to run.
    data : path, optional
        The one data folder; by default ``MATROID_BANDITS_DATA`` and the user's cache folder are searched.
    progress : callable, optional
        Called with (what is played, episodes done, episodes in all) now and then.
    executor : int, Executor, Dask Client or "ray", optional
        Where the runs are played, as in `simulate`.
    store : path, optional
        A folder to keep what was played in; a race that was interrupted goes on from there.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from matroid_bandits.paper import RACE, run_race
    >>> context = tuple(heat for heat in RACE.heats if heat.name == "context")
    >>> short = replace(RACE, heats=context).resized(length="quick", n_episodes=5, n_runs=1)
    >>> [lap.name for outcome in run_race(short) for lap in outcome.laps]
    ['uniform']
    """
    return [_run_heat(race, heat, data, progress, executor, store) for heat in race.heats]


def _run_heat(
    race: Race,
    heat: Heat,
    data: str | os.PathLike[str] | None,
    progress: Callable[[str, int, int], None] | None,
    executor: ExecutorChoice,
    store: str | os.PathLike[str] | None,
) -> HeatOutcome:
    size, datasets = race.size(heat), heat.load(data)
    play = partial(
        sweep, n_episodes=size.n_episodes, checkpoints=_checkpoints(size.n_episodes), executor=executor, store=store
    )
    chosen: dict[str, dict[str, tuple[Policy, str]]] = {}  # a policy of each family, and its constants
    laps = []
    for name, track in heat.tracks(datasets, size.n_worlds, size.n_episodes).items():

        def report(done: int, total: int, name: str = name) -> None:
            assert progress is not None
            progress(f"{heat.name}: {name}", done, total)

        told: bool | Progress = report if progress is not None else False
        wanted = heat.players(_sample(track, race.seed), size.n_episodes)
        families = {family: each for family, each in wanted.items() if not isinstance(each, Policy)}
        if name in heat.tuned_on:
            chosen[name] = chosen[heat.tuned_on[name]]
        elif families:
            few = replace(track, n_worlds=_share(track.n_worlds)) if isinstance(track, Worlds) else track
            tuning = play({name: few}, families, n_runs=_share(size.n_runs), seed=race.seed + 1, progress=told)
            chosen[name] = {family: _least(tuning, name, family) for family in families}
        else:
            chosen[name] = {}
        fixed = [each for each in wanted.values() if isinstance(each, Policy)]
        players: dict[str, Policy] = {}
        for family, each in wanted.items():
            if isinstance(each, Policy):
                players[family] = each
            elif chosen[name][family][0] not in fixed:  # what is tuned to another policy of the heat is that one
                players[family] = chosen[name][family][0]
        raced = play({name: track}, players, n_runs=size.n_runs, seed=race.seed, progress=told)
        laps.append(Lap(name, {family: constants for family, (_, constants) in chosen[name].items()}, raced))
    pairs = zip((size.n_worlds, size.n_runs, size.n_episodes), vars(heat.usual).values(), strict=True)
    return HeatOutcome(heat, size, datasets, tuple(laps), all(own >= usual for own, usual in pairs))


def _least(tuning: Sweep, problem: str, family: str) -> tuple[Policy, str]:
    """The policy of a family with the least regret on a problem, and what tells it from the others."""
    result, members = tuning[problem], tuning.groups[family]
    best = min(members, key=lambda policy: float(result[policy].regret[-1]))
    constants = re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):.4g}", best.removeprefix(f"{family}, "))
    return tuning.players[problem][best], constants


def _sample(track: Track, seed: int) -> Problem:
    """One of the worlds, from which policies read sizes."""
    return track if isinstance(track, Problem) else replace(track, n_worlds=1).drawn(seed)[0]


def _share(n: int) -> int:
    return max(1, n // _TUNING)


def _checkpoints(n_episodes: int) -> IntArray:
    return np.unique(np.linspace(1, n_episodes, _N_CHECKPOINTS).round().astype(np.int64))


def _loaded(heat: Heat, datasets: Sequence[Dataset]) -> Heat:
    return replace(heat, load=lambda _: datasets)
