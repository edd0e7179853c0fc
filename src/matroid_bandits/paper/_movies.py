"""The paper's movies, shown to visitors of whom gender and age are known."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.datasets import Dataset, movielens
from matroid_bandits.paper._part import Part, PartOutcome
from matroid_bandits.paper._part_tables import best_plot, full_table
from matroid_bandits.paper._visitors import VisitorEnvironment
from matroid_bandits.policies import OMM, CombLinTS, CombLinUCB, FixedSet, Policy, ThompsonSampling
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Block, Text

#: The standard deviation of a weight that is 1 as often as 0.
_NOISE = 0.5


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """The paper's movies and who rated them; the stand-in where nothing is known of those people."""
    dataset = movielens(data)
    return [movielens(standin=True) if dataset.facts["visitors"] is None else dataset]


def problems(datasets: Sequence[Dataset], _: int) -> dict[str, Problem]:
    """The movies, shown to every second person; what the others have rated describes the movies."""
    dataset = datasets[0]
    rated, visitors = dataset.facts["rated"], dataset.facts["visitors"]
    is_past = np.arange(len(rated)) % 2 == 0
    people = np.column_stack((np.ones(len(rated)), visitors.is_woman, (visitors.ages - 35) / 20.0))
    kinds, groups = np.unique(people[~is_past], axis=0, return_inverse=True)
    movies = describe(dataset, rated[is_past].mean(axis=0))
    features = (movies[None, :, :, None] * kinds[:, None, None, :]).reshape(len(kinds), len(movies), -1)
    world = VisitorEnvironment(rated[~is_past], groups.reshape(-1), features)
    return {"movies for visitors": Problem(dataset.problem.constraint, world)}


def describe(dataset: Dataset, popularity: FloatArray) -> FloatArray:
    """What is known of each movie: how popular it was, and that for each of its genres."""
    genres = [[name in own for name in dataset.facts["genre_names"]] for own in dataset.facts["genres"]]
    return popularity[:, None] * np.column_stack((np.ones(popularity.size), np.array(genres, np.float64)))


def policies(problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]:
    """Policies that see the visitor's features, and policies that do not."""
    world = problem.environment
    assert isinstance(world, VisitorEnvironment)
    best = problem.best_sets(world.overall_means[None])[0][0]
    return {
        "OMM": [OMM(scale) for scale in (1.0, 0.5, 0.25, 0.1)],
        "Thompson": ThompsonSampling(),
        "best single set": FixedSet(best.tolist()),
        "CombLinUCB": CombLinUCB(n_features=world.n_features, noise=_NOISE),
        "CombLinTS": CombLinTS(n_features=world.n_features, noise=_NOISE),
    }


def write(outcome: PartOutcome) -> Sequence[Block]:
    """Text, a table and curves on visitors."""
    sweep = outcome.sweep
    name, problem = next(iter(sweep.problems.items()))
    world = problem.environment
    assert isinstance(world, VisitorEnvironment)
    n_groups = len(world.group_means)
    return (
        Text(
            "Context. The paper's movies, recommended to a visitor whose gender and age group are known:"
            f" {n_groups} kinds of visitors. Every second person is a visitor; what the others have rated tells how"
            " popular a movie is. The features of a movie for a visitor are its popularity, once by itself and once"
            " for each of its genres, times 1, woman (0 or 1) and age (in twenties of years from 35):"
            f" {world.n_features} numbers. A visitor's occupation is left out, since with it most kinds would be a"
            " handful of people. The mean of a movie is that of the visitors of the same kind, and regret is against"
            " the best set for that kind; means are not quite linear in the features, so even the best linear policy"
            " keeps some regret. OMM and Thompson sampling know nothing of movies or visitors."
        ),
        full_table(
            outcome,
            "visitors",
            "Movies for visitors: regret against the best set for each kind of visitor",
            f"The best sets for the kinds are worth {sweep[name].optimal_value:.3f} an episode.",
        ),
        best_plot(outcome, [name], "beyond-visitors", "Movies for visitors", "OMM is shown at its best scale."),
    )


VISITORS = Part(
    name="visitors",
    load=load,
    problems=problems,
    policies=policies,
    n_episodes=4_000,
    n_quick=400,
    write=write,
)
