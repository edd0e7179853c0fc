"""A frozen experiment, and how it is run: what every section of the report starts from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.experiments.datasets import Dataset
from matroid_bandits.policies import Policy
from matroid_bandits.simulation import SimulationResult, simulate

if TYPE_CHECKING:
    from matroid_bandits.experiments._blocks import Chapter

#: Called with the data set being played, and the episodes done and in all, over data sets, policies and runs.
Progress = Callable[[str, int, int], None]

# Least and largest of the numbers a person may give, and the largest in words: no machine gets to the end of more.
_RANGES = {
    "episodes": (1, 10**9, "1,000,000,000"),
    "runs": (1, 10**6, "1,000,000"),
    "seed": (0, 2**64 - 1, "2**64 - 1"),
}


def out_of_range(name: str, value: int) -> str:
    """What is wrong with a number of episodes, of runs, or a seed; empty when nothing is."""
    low, high, words = _RANGES[name]
    return "" if low <= value <= high else f"expected an integer from {low} to {words}, got {value}"


@dataclass(frozen=True)
class Experiment:
    """What is run, fixed in code, so that anyone can run it again.

    Attributes
    ----------
    name, title : str
        Short name, as on the command line, and one for headings.
    section : str
        Where the paper has it; empty for a problem of one's own.
    load : callable
        From a data folder, or None, to the data sets.
    policies : mapping of name to Policy
        Who plays.
    n_episodes, n_runs, seed : int
        How long, how often, and which random numbers.
    write : callable
        From an `Outcome` to its chapter of the report.
    quick : (int, int), optional
        Episodes and runs of a short version.
    start : {"observe", "explore"}
        "observe" is the paper's Algorithm 2, which sees every item once before episode 1.
    """

    name: str
    title: str
    section: str
    load: Callable[[str | os.PathLike[str] | None], Sequence[Dataset]]
    policies: Mapping[str, Policy]
    n_episodes: int
    n_runs: int
    seed: int
    write: Callable[[Outcome], Chapter]
    quick: tuple[int, int] | None = None
    start: Literal["observe", "explore"] = "observe"

    def resized(
        self,
        *,
        n_episodes: int | None = None,
        n_runs: int | None = None,
        seed: int | None = None,
        quick: bool = False,
    ) -> Experiment:
        """The same experiment, longer or shorter; what is not given stays."""
        episodes, runs = self.quick if quick and self.quick else (self.n_episodes, self.n_runs)
        return replace(
            self,
            n_episodes=episodes if n_episodes is None else n_episodes,
            n_runs=runs if n_runs is None else n_runs,
            seed=self.seed if seed is None else seed,
        )

    def loaded(self, data: str | os.PathLike[str] | None = None) -> Experiment:
        """The same experiment with its data in memory, so that what is wrong with the data is known before a run."""
        datasets = self.load(data)
        return replace(self, load=lambda _: datasets)


@dataclass(frozen=True)
class Trial:
    """One data set and what the policies did on it."""

    dataset: Dataset
    result: SimulationResult

    @property
    def is_standin(self) -> bool:
        """Whether the data is made up."""
        return self.dataset.source == "stand-in"

    def per_step(self, policy: str) -> FloatArray:
        """Expected return per step, or cost, at every checkpoint: the paper's measure.

        It is the optimum and the regret of the bases chosen, so the weights' own noise is not in it.
        """
        r = self.result
        sign = 1.0 if r.minimize else -1.0
        values: FloatArray = r.optimal_value + sign * r.regret[r.index(policy)] / r.checkpoints
        return values

    def per_step_error(self, policy: str) -> FloatArray:
        """Its standard error over runs; NaN for a single run."""
        error: FloatArray = self.result.regret_se[self.result.index(policy)] / self.result.checkpoints
        return error

    def regret_rate(self, policy: str) -> float:
        """Regret per episode in the last third of the episodes: what an episode costs by now."""
        r = self.result
        middle = int(np.searchsorted(r.checkpoints, r.n_episodes * 2 / 3))
        middle = min(middle, r.checkpoints.size - 2) if r.checkpoints.size > 1 else 0
        regret = r.regret[r.index(policy)]
        if r.checkpoints.size == 1:
            return float(regret[-1] / r.n_episodes)
        return float((regret[-1] - regret[middle]) / (r.n_episodes - r.checkpoints[middle]))

    def overtakes(self, policy: str, other: str, n_errors: float = 0.0) -> int | None:
        """The first checkpoint from which on `policy` has the smaller regret; None when it ends behind.

        With `n_errors` it must be ahead by so many standard errors of the difference; negative: behind by no more.
        """
        r = self.result
        p, o = r.index(policy), r.index(other)
        margin = n_errors * np.hypot(r.regret_se[p], r.regret_se[o]) if n_errors else 0.0
        is_behind = r.regret[p] + margin >= r.regret[o]
        if is_behind[-1]:
            return None
        last = int(np.flatnonzero(is_behind)[-1]) if is_behind.any() else -1
        return int(r.checkpoints[last + 1])


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run."""

    experiment: Experiment
    trials: tuple[Trial, ...]

    @property
    def wall_time(self) -> float:
        """Seconds spent simulating."""
        return sum(trial.result.wall_time for trial in self.trials)

    @property
    def is_standin(self) -> bool:
        """Whether any of the data is made up."""
        return any(trial.is_standin for trial in self.trials)

    def to_dict(self) -> dict[str, Any]:
        """Everything found, as plain data; nothing of the machine or the time it took."""
        e = self.experiment
        return {
            "section": e.section,
            "episodes": e.n_episodes,
            "runs": e.n_runs,
            "seed": e.seed,
            "start": e.start,
            "policies": {name: repr(policy) for name, policy in e.policies.items()},
            "trials": [_trial_dict(trial) for trial in self.trials],
        }


def run(
    experiment: Experiment, data: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Outcome:
    """Load the data of an experiment and simulate it.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    data : path, optional
        The one data folder; by default ``MATROID_BANDITS_DATA`` and the user's cache folder are searched.
    progress : callable, optional
        Called with (title of the data set, episodes done, episodes in all) now and then.

    Raises
    ------
    DataError
        The data is not where it was said to be, or is malformed.

    Examples
    --------
    >>> from matroid_bandits.experiments import EXPERIMENTS, run
    >>> short = EXPERIMENTS["linear"].resized(n_episodes=20, n_runs=2)
    >>> [trial.result.n_episodes for trial in run(short).trials]
    [20]
    """
    datasets = experiment.load(data)
    share = experiment.n_episodes * experiment.n_runs * len(experiment.policies)
    trials = []
    for number, dataset in enumerate(datasets):

        def report(done: int, _: int, number: int = number, title: str = dataset.title) -> None:
            assert progress is not None
            progress(title, number * share + done, len(datasets) * share)

        result = simulate(
            dataset.problem,
            experiment.policies,
            n_episodes=experiment.n_episodes,
            n_runs=experiment.n_runs,
            seed=experiment.seed,
            start=experiment.start,
            checkpoints=checkpoints(experiment.n_episodes),
            progress=report if progress is not None else False,
        )
        trials.append(Trial(dataset, result))
    return Outcome(experiment, tuple(trials))


def checkpoints(n_episodes: int) -> IntArray:
    """Every episode up to 50, then 200 evenly spaced in the logarithm: fine enough to see who overtakes whom when."""
    first = np.arange(1, min(50, n_episodes) + 1)
    later = np.geomspace(first[-1], n_episodes, 201)
    return np.unique(np.concatenate((first, np.round(later).astype(np.int64))))


def plain(value: Any) -> Any:
    """`value` for JSON: floats to ten digits, NaN as None, arrays and tuples as lists, the rest by its str."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence):
        return [plain(entry) for entry in value]
    return str(value)


def _trial_dict(trial: Trial) -> dict[str, Any]:
    dataset, result = trial.dataset, trial.result
    problem = dataset.problem
    return {
        "data": dataset.name,
        "source": dataset.source,
        "title": dataset.title,
        "items": problem.n_items,
        "rank": problem.matroid.rank,
        "minimize": problem.minimize,
        "facts": {key: plain(fact) for key, fact in dataset.facts.items() if isinstance(fact, int | float | str)},
        "optimum": plain(problem.optimal_value),
        "optimal_basis": [plain(problem.matroid.labels[e]) for e in problem.optimal_basis],
        "episodes": plain(result.checkpoints),
        "policies": {
            name: {
                "per_step": plain(trial.per_step(name)),
                "per_step_error": plain(trial.per_step_error(name)),
                "realised_per_step": plain(result.per_step_return[p, -1]),
                "realised_per_step_error": plain(result.per_step_return_se[p, -1]),
                "regret": plain(result.regret[p, -1]),
                "regret_error": plain(result.regret_se[p, -1]),
            }
            for p, name in enumerate(result.policies)
        },
    }
