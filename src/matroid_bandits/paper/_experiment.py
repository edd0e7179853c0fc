"""A frozen experiment, how it is run, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from matroid_bandits._util.sums import added
from matroid_bandits.datasets import Dataset
from matroid_bandits.policies import Policy
from matroid_bandits.reporting import Block, Chapter, DataSource, RunFacts, report_checkpoints, simulation_record
from matroid_bandits.simulation import ExecutorChoice, SimulationResult, simulate

#: Called with the data set being played, and the episodes done and in all, over data sets, policies and runs.
Progress = Callable[[str, int, int], None]

#: What stands behind a label whose data is made up, where real data may stand beside it.
_MARK = "†"


@dataclass(frozen=True)
class Experiment:
    """Settings of one of the paper's experiments, fixed in code.

    Attributes
    ----------
    name, title : str
        Short name, as on the command line, and one for headings.
    section : str
        Where the paper has it.
    load : callable
        From a data folder, or None, to the data sets.
    policies : mapping of name to Policy
        Who plays.
    n_episodes, n_runs : int
        How long, and how often.
    quick : (int, int)
        Episodes and runs of a short version.
    write : callable
        From an `Outcome` to its chapter of the report.
    seed : int
        Which random numbers.

    Examples
    --------
    >>> from matroid_bandits.paper import EXPERIMENTS
    >>> linear = EXPERIMENTS["linear"]
    >>> linear.section, linear.n_episodes, linear.resized(quick=True).n_episodes
    ('5.3', 50000, 5000)
    """

    name: str
    title: str
    section: str
    load: Callable[[str | os.PathLike[str] | None], Sequence[Dataset]]
    policies: Mapping[str, Policy]
    n_episodes: int
    n_runs: int
    quick: tuple[int, int]
    write: Callable[[Outcome], Chapter]
    seed: int = 2014

    def resized(
        self,
        *,
        n_episodes: int | None = None,
        n_runs: int | None = None,
        seed: int | None = None,
        quick: bool = False,
    ) -> Experiment:
        """Return the same experiment with other numbers of episodes or runs."""
        episodes, runs = self.quick if quick else (self.n_episodes, self.n_runs)
        return replace(
            self,
            n_episodes=episodes if n_episodes is None else n_episodes,
            n_runs=runs if n_runs is None else n_runs,
            seed=self.seed if seed is None else seed,
        )

    def loaded(self, data: str | os.PathLike[str] | None = None) -> Experiment:
        """Return the same experiment with its data loaded, so that faulty data raises before a run."""
        datasets = self.load(data)
        return replace(self, load=lambda _: datasets)


@dataclass(frozen=True)
class Trial:
    """Results of the policies of an experiment on one data set.

    Examples
    --------
    >>> from matroid_bandits.paper import EXPERIMENTS, run
    >>> trial = run(EXPERIMENTS["linear"].resized(n_episodes=20, n_runs=2)).trials[0]
    >>> trial.dataset.name, trial.result.policies
    ('movielens', ('ε-greedy', 'OMM', 'KLOSM', 'Thompson'))
    """

    dataset: Dataset
    result: SimulationResult

    @property
    def is_standin(self) -> bool:
        """Whether the data is synthetic."""
        return self.dataset.is_standin

    def marked(self, text: str) -> str:
        """Return a row's label, marked where the data is made up."""
        return text + _MARK if self.is_standin else text

    def regret_rate(self, policy: str) -> float:
        """Return the regret per episode in the last third of the episodes."""
        r = self.result
        regret = r.regret[r.index(policy)]
        if r.checkpoints.size == 1:
            return float(regret[-1] / r.n_episodes)
        middle = min(int(np.searchsorted(r.checkpoints, r.n_episodes * 2 / 3)), r.checkpoints.size - 2)
        return float((regret[-1] - regret[middle]) / (r.n_episodes - r.checkpoints[middle]))

    def overtakes(self, policy: str, other: str, n_errors: float = 0.0) -> int | None:
        """Return the first checkpoint from which `policy` has the smaller regret to the end; None if it ends behind.

        With `n_errors` it must be ahead by that number of standard errors of the difference; if negative, it may be
        behind by that number.
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
    """Results of an experiment: a `Trial` for each of its data sets.

    Examples
    --------
    >>> from matroid_bandits.paper import EXPERIMENTS, run
    >>> outcome = run(EXPERIMENTS["linear"].resized(n_episodes=20, n_runs=2))
    >>> outcome.experiment.name, len(outcome.trials)
    ('linear', 1)
    """

    experiment: Experiment
    trials: tuple[Trial, ...]

    def chapter(self, lead: str, blocks: Sequence[Block]) -> Chapter:
        """Return the chapter that says this, with the facts of the run and its records."""
        own, sets = self.experiment, [trial.dataset for trial in self.trials]
        return Chapter(
            name=own.name,
            title=own.title,
            lead=lead,
            run=RunFacts(
                n_episodes=own.n_episodes,
                n_runs=own.n_runs,
                seed=own.seed,
                start="observe",
                policies={name: repr(policy) for name, policy in own.policies.items()},
                data=tuple(DataSource(each.title, each.origin, each.is_standin) for each in sets),
                wall_time=added(trial.result.wall_time for trial in self.trials),
            ),
            blocks=tuple(blocks),
            section=own.section,
            records={
                "trials": [
                    simulation_record(
                        each.problem,
                        trial.result,
                        name=each.name,
                        title=each.title,
                        source=each.source,
                        facts=each.facts,
                    )
                    for trial, each in zip(self.trials, sets, strict=True)
                ]
            },
        )


def run(
    experiment: Experiment,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    executor: ExecutorChoice = None,
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
    executor : int, Executor, Dask Client or "ray", optional
        Where the runs are played, as in `simulate`.

    Raises
    ------
    DataError
        The data is not where it was said to be, or is malformed.

    Examples
    --------
    >>> from matroid_bandits.paper import EXPERIMENTS, run
    >>> short = EXPERIMENTS["linear"].resized(n_episodes=20, n_runs=2)
    >>> [trial.result.n_episodes for trial in run(short).trials]
    [20]
    """
    datasets = experiment.load(data)
    share = experiment.n_episodes * experiment.n_runs * len(experiment.policies)

    def report(number: int, done: int, _: int) -> None:
        assert progress is not None
        progress(datasets[number].title, number * share + done, len(datasets) * share)

    results = [
        simulate(
            dataset.problem,
            experiment.policies,
            n_episodes=experiment.n_episodes,
            n_runs=experiment.n_runs,
            seed=experiment.seed,
            checkpoints=report_checkpoints(experiment.n_episodes),
            executor=executor,
            progress=partial(report, number) if progress is not None else False,
        )
        for number, dataset in enumerate(datasets)
    ]
    return Outcome(experiment, tuple(map(Trial, datasets, results)))


def any_standin(trials: Sequence[Trial]) -> bool:
    """Whether any of the data is made up."""
    return any(trial.is_standin for trial in trials)
