"""The chapter beyond the paper, on made-up problems and on the paper's own.

Changes, drift, delay, context, and sets that are no matroids.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from matroid_bandits._util.sums import added
from matroid_bandits._util.text import counted
from matroid_bandits.datasets import Dataset
from matroid_bandits.paper._beyond_matroids import CONSTRAINTS
from matroid_bandits.paper._chapter import where_from
from matroid_bandits.paper._delays import DELAYS
from matroid_bandits.paper._movies import VISITORS
from matroid_bandits.paper._networks import NETWORKS
from matroid_bandits.paper._part import Part, PartOutcome
from matroid_bandits.reporting import Chapter, DataSource, RunFacts, simulation_record
from matroid_bandits.simulation import ExecutorChoice, sweep


@dataclass(frozen=True)
class Beyond:
    """Settings of the experiments beyond the paper (`reproduce beyond`), fixed in code.

    Attributes
    ----------
    parts : tuple of Part
        What is played, one after the other, each as long and as often as it needs.
    seed : int
        Which random numbers.
    n_quick : int
        Runs of a short version.

    Examples
    --------
    >>> from matroid_bandits.paper import BEYOND
    >>> [(part.name, part.n_episodes) for part in BEYOND.parts]
    [('networks', 6000), ('delays', 3000), ('visitors', 4000), ('constraints', 3000)]
    """

    parts: tuple[Part, ...]
    seed: int
    n_quick: int
    name: str = "beyond"
    title: str = "Beyond the paper"

    def resized(
        self,
        *,
        n_episodes: int | None = None,
        n_runs: int | None = None,
        seed: int | None = None,
        quick: bool = False,
    ) -> Beyond:
        """Return the same settings with other numbers of episodes or runs."""

        def resized(part: Part) -> Part:
            length, often = (part.n_quick, self.n_quick) if quick else (part.n_episodes, part.n_runs)
            return replace(
                part,
                n_episodes=length if n_episodes is None else n_episodes,
                n_runs=often if n_runs is None else n_runs,
            )

        return replace(self, parts=tuple(map(resized, self.parts)), seed=self.seed if seed is None else seed)

    def loaded(self, data: str | os.PathLike[str] | None = None) -> Beyond:
        """Return the same settings with the data loaded, so that faulty data raises before a run."""
        return replace(self, parts=tuple(_loaded(part, part.load(data)) for part in self.parts))

    def write(self, outcomes: Sequence[PartOutcome]) -> Chapter:
        """Return the report chapter on the results of these experiments."""
        return Chapter(
            name=self.name,
            title=self.title,
            lead=_LEAD,
            run=RunFacts(
                n_episodes={outcome.part.name: outcome.part.n_episodes for outcome in outcomes},
                n_runs={outcome.part.name: counted(outcome.part.n_runs, "run") for outcome in outcomes},
                seed=self.seed,
                start="observe",
                policies={
                    f"{outcome.part.name}: {name}": repr(policy)
                    for outcome in outcomes
                    for name, policy in next(iter(outcome.sweep.players.values())).items()
                },
                data=tuple(source for outcome in outcomes for source in _sources(outcome)),
                wall_time=added(outcome.sweep.wall_time for outcome in outcomes),
            ),
            blocks=tuple(block for outcome in outcomes for block in outcome.part.write(outcome)),
            records={
                "trials": [
                    simulation_record(
                        problem,
                        outcome.sweep[name],
                        name=f"{outcome.part.name}: {name}",
                        title=name,
                        source="stand-in" if outcome.is_standin else "real",
                        facts={},
                    )
                    for outcome in outcomes
                    for name, problem in outcome.sweep.problems.items()
                ]
            },
        )


_LEAD = (
    "What the paper leaves for later: weights that change, answers that come late, visitors of whom something"
    " is known, and sets that are no matroids. None of this is in the paper; the problems are the paper's, changed"
    " as said. The chapter on the race has worlds that are drawn."
)


def run_beyond(
    beyond: Beyond,
    data: str | os.PathLike[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    executor: ExecutorChoice = None,
    store: str | os.PathLike[str] | None = None,
) -> list[PartOutcome]:
    """Load the data and run every experiment beyond the paper.

    Parameters
    ----------
    beyond : Beyond
        What to run.
    data : path, optional
        The one data folder; by default ``MATROID_BANDITS_DATA`` and the user's cache folder are searched.
    progress : callable, optional
        Called with (name of the part, episodes done, episodes in all) now and then.
    executor : int, Executor, Dask Client or "ray", optional
        Where the runs are played, as in `simulate`.
    store : path, optional
        A folder to keep what was played in; what was interrupted goes on from there.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from matroid_bandits.paper import BEYOND, run_beyond
    >>> networks = replace(BEYOND, parts=BEYOND.parts[:1]).resized(n_episodes=6, n_runs=2)
    >>> [list(outcome.sweep) for outcome in run_beyond(networks)]
    [['congestion', 'swings']]
    """
    outcomes = []
    for part in beyond.parts:
        datasets = part.load(data)

        def report(done: int, total: int, name: str = part.name) -> None:
            assert progress is not None
            progress(name, done, total)

        found = sweep(
            part.problems(datasets, part.n_episodes),
            partial(part.policies, n_episodes=part.n_episodes),
            n_episodes=part.n_episodes,
            n_runs=part.n_runs,
            seed=beyond.seed,
            checkpoints=part.checkpoints,
            executor=executor,
            store=store,
            progress=report if progress is not None else False,
        )
        outcomes.append(PartOutcome(part, datasets, found))
    return outcomes


def _loaded(part: Part, datasets: Sequence[Dataset]) -> Part:
    return replace(part, load=lambda _: datasets)


def _sources(outcome: PartOutcome) -> list[DataSource]:
    """Where the problems of a part come from."""
    if not outcome.datasets:
        return [DataSource(name, repr(problem)) for name, problem in outcome.sweep.problems.items()]
    return [
        DataSource(f"{dataset.title} ({outcome.part.name})", where_from(dataset), dataset.source == "stand-in")
        for dataset in outcome.datasets
    ]


BEYOND = Beyond(parts=(NETWORKS, DELAYS, VISITORS, CONSTRAINTS), seed=2014, n_quick=3)
