"""Trials whose curves are given, for whoever tests what is said of them."""

from dataclasses import replace

import numpy as np

from matroid_bandits import OMM, BernoulliEnvironment, Problem, UniformMatroid, simulate
from matroid_bandits.datasets import Dataset
from matroid_bandits.paper import Trial


def trial_with(points, regret: dict[str, list[float]], source="real") -> Trial:
    """A trial whose curves are given."""
    problem = Problem(UniformMatroid(2, 1), BernoulliEnvironment([1.0, 0.0]))
    result = simulate(
        problem,
        {name: OMM() for name in regret},
        n_episodes=points[-1],
        n_runs=2,
        seed=0,
        checkpoints=points,
    )
    dataset = Dataset("data", "Data", problem, "", source, None, {})
    return Trial(dataset, replace(result, regret=np.array(list(regret.values()), float)))
