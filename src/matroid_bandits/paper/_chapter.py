"""What the chapters on the paper's experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence

from matroid_bandits.datasets import Dataset
from matroid_bandits.paper._experiment import Outcome, Trial
from matroid_bandits.reporting import Block, Chapter, DataSource, RunFacts, simulation_record

#: What stands behind a label whose data is made up, where real data may stand beside it.
_MARK = "†"


def make_chapter(outcome: Outcome, lead: str, blocks: Sequence[Block]) -> Chapter:
    """The chapter on an outcome, with the facts of its run and its records."""
    experiment = outcome.experiment
    return Chapter(
        name=experiment.name,
        title=experiment.title,
        lead=lead,
        run=RunFacts(
            n_episodes=experiment.n_episodes,
            n_runs=experiment.n_runs,
            seed=experiment.seed,
            start=experiment.start,
            policies={name: repr(policy) for name, policy in experiment.policies.items()},
            data=tuple(
                DataSource(trial.dataset.title, where_from(trial.dataset), trial.is_standin)
                for trial in outcome.trials
            ),
            wall_time=outcome.wall_time,
        ),
        blocks=tuple(blocks),
        section=experiment.section,
        records={
            "trials": [
                simulation_record(
                    trial.dataset.problem,
                    trial.result,
                    name=trial.dataset.name,
                    title=trial.dataset.title,
                    source=trial.dataset.source,
                    facts=trial.dataset.facts,
                )
                for trial in outcome.trials
            ]
        },
    )


def marked(trial: Trial, text: str) -> str:
    """A row's label, marked where the data is made up."""
    return text + _MARK if trial.is_standin else text


def any_standin(trials: Sequence[Trial]) -> bool:
    """Whether any of the data is made up."""
    return any(trial.is_standin for trial in trials)


def where_from(dataset: Dataset) -> str:
    """A data set's description and its file, without the folders of this machine."""
    path, about = dataset.path, dataset.description
    return about if path is None or path.name in about else f"{about} Read from {path.parent.name}/{path.name}."
