"""The race: policies for weights that change beside those for weights that stay, on problems of both kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from matroid_bandits.datasets import Dataset
from matroid_bandits.environments import BernoulliEnvironment, Environment, PiecewiseEnvironment
from matroid_bandits.matroids import GraphicMatroid, Matroid, PartitionMatroid, UniformMatroid
from matroid_bandits.paper._part import Part
from matroid_bandits.paper._race_tables import write
from matroid_bandits.policies import (
    OMM,
    DiscountedOMM,
    DiscountedThompson,
    Policy,
    Restarting,
    SlidingWindowOMM,
    ThompsonSampling,
)
from matroid_bandits.problem import Problem

#: The widths of the radius among which every policy that has one gets its best.
SCALES = (1.0, 0.5, 0.25, 0.1)

#: How often everything changes, at even distances.
N_CHANGES = 5

#: What the means are drawn with, the same for every policy.
_SEED = 12


def matroids() -> dict[str, Matroid]:
    """One from each of four blocks of six, six of thirty, and a spanning tree of nine nodes."""
    return {
        "partition": PartitionMatroid(np.arange(24) // 6),
        "uniform": UniformMatroid(30, 6),
        "graphic": GraphicMatroid([(u, v) for v in range(9) for u in range(v)]),
    }


def change_times(n_episodes: int) -> list[int]:
    """The first episodes of the pieces after the first; pieces have one length, the last takes the remainder."""
    return [1 + max(1, n_episodes // (N_CHANGES + 1)) * k for k in range(1, N_CHANGES + 1)]


def race_problems(_: Sequence[Dataset], n_episodes: int) -> dict[str, Problem]:
    """Problems whose means, uniform in [0, 1], are drawn anew with every change, and their first pieces for ever."""
    problems: dict[str, Problem] = {}
    rng = np.random.default_rng(_SEED)
    for name, matroid in matroids().items():
        pieces = [BernoulliEnvironment(rng.random(matroid.n_items)) for _ in range(N_CHANGES + 1)]
        worlds: dict[str, Environment] = {
            name: PiecewiseEnvironment(pieces, change_times(n_episodes)),
            f"{name}, no changes": pieces[0],
        }
        problems |= {key: Problem(matroid, world) for key, world in worlds.items()}
    return dict(sorted(problems.items(), key=lambda item: item[1].environment.is_stationary))


def horizon(n_episodes: int) -> int:
    """How many episodes to remember: a fiftieth, which is below a fifth of the time between changes."""
    return max(2, n_episodes // 50)


def race_policies(problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]:
    """Six policies, those with a radius at every scale."""
    gamma = 1.0 - 1.0 / horizon(n_episodes)
    return {
        "OMM": [OMM(scale) for scale in SCALES],
        "Thompson": ThompsonSampling(),
        "discounted OMM": [DiscountedOMM(gamma, scale) for scale in SCALES],
        "windowed OMM": [SlidingWindowOMM(2 * horizon(n_episodes), scale) for scale in SCALES],
        "discounted Thompson": DiscountedThompson(gamma),
        "restarting OMM": [Restarting(OMM(scale)) for scale in SCALES],
    }


RACE = Part(
    name="race",
    load=lambda _: (),
    problems=race_problems,
    policies=race_policies,
    n_episodes=50_000,
    n_quick=2_000,
    write=write,
)
