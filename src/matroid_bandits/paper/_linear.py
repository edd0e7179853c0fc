"""Section 5.3: popular movies of independent genres, from MovieLens."""

from __future__ import annotations

import os

from matroid_bandits.datasets import Dataset, movielens, printed
from matroid_bandits.paper._claims import approaches, outperforms
from matroid_bandits.paper._experiment import Experiment, Outcome, Trial
from matroid_bandits.policies import KLOSM, OMM, EpsilonGreedy, ThompsonSampling
from matroid_bandits.reporting import Cell, Chapter, Column, Table, curve_plot, policy_table


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """A hundred movies and the people who rated them."""
    return [movielens(data)]


def write(outcome: Outcome) -> Chapter:
    """The movies of the optimal basis, and the return curves."""
    trial = outcome.trials[0]
    return outcome.chapter(
        lead=(
            "Recommend movies that are popular and diverse: no movie whose genres the others already span. Each"
            " episode one person is drawn at random, and a movie's weight is 1 if that person has rated it, so the"
            " weights of an episode depend on each other. Movies are vectors over 18 genres; the matroid is linear."
        ),
        blocks=(
            _movies(trial),
            policy_table(trial.result, "linear-policies", "Expected return per step", is_standin=trial.is_standin),
            curve_plot(
                trial.result,
                outcome.experiment.name,
                f"Recommending movies in up to {outcome.experiment.n_episodes:,} episodes (the paper's Figure 3)",
                "Bands are 95% confidence intervals. KLOSM and Thompson sampling are not in the paper.",
                is_standin=trial.is_standin,
            ),
            approaches([trial], "OMM", needs=EXPERIMENT.n_episodes),
            outperforms([trial], "OMM", "ε-greedy", within=10_000, needs=EXPERIMENT.n_episodes),
        ),
    )


def _movies(trial: Trial) -> Table:
    """Our most popular movies of the optimal basis beside the paper's."""
    problem, facts = trial.dataset.problem, trial.dataset.facts
    best = problem.optimal_order
    rows: list[tuple[Cell, ...]] = []
    for e, row in zip(best, printed.MOVIES, strict=False):
        title, weight = facts["titles"][e], float(problem.environment.mean_weights[e])
        rows.append((title, weight, row.title, row.weight, " ".join(facts["genres"][e])))
    rest = ", ".join(facts["titles"][e] for e in best[len(printed.MOVIES) :])
    return Table(
        name="movies",
        title="The twelve most popular movies of the optimal basis (the paper's Figure 3)",
        columns=(
            Column("movie", group="ours", is_text=True),
            Column("weight", ".3f", "ours"),
            Column("movie", group="paper", is_text=True),
            Column("weight", ".3f", "paper"),
            Column("genres", is_text=True),
        ),
        rows=tuple(rows),
        note=f"The basis has {best.size} movies, the paper's {printed.MOVIE_BASIS_SIZE}. The others: {rest}.",
        is_standin=trial.is_standin,
    )


EXPERIMENT = Experiment(
    name="linear",
    title="Diverse movies",
    section="5.3",
    load=load,
    policies={
        "ε-greedy": EpsilonGreedy(0.1),
        "OMM": OMM(),
        "KLOSM": KLOSM(),
        "Thompson": ThompsonSampling("beta"),
    },
    n_episodes=50_000,
    n_runs=20,
    quick=(5_000, 4),
    write=write,
)
