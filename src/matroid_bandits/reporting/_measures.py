"""What a report says of a simulation: expected return per step and regret, with standard errors."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.tables import Estimate
from matroid_bandits.simulation import SimulationResult


def report_checkpoints(n_episodes: int) -> IntArray:
    """Return the checkpoints of reports: every episode up to 50, then 200 evenly spaced on a log scale.

    Examples
    --------
    >>> report_checkpoints(4)
    array([1, 2, 3, 4])
    >>> report_checkpoints(50_000).size
    250
    """
    first = np.arange(1, min(50, n_episodes) + 1)
    later = np.geomspace(first[-1], n_episodes, 201)
    return np.unique(np.concatenate((first, np.round(later).astype(np.int64))))


def final_per_step(result: SimulationResult, policy: str) -> Estimate:
    """Return a policy's expected return per step after the last episode, with its standard error.

    The realised one where the environment does not know its means.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> final_per_step(result, "OMM").mean == result["OMM"].per_step_return[-1]
    np.True_
    """
    p, (per_step, errors) = result.index(policy), result.shown_per_step()
    return Estimate(float(per_step[p, -1]), float(errors[p, -1]))


def regret_per_step(result: SimulationResult, policy: str) -> float:
    """Return a policy's regret per step after the last episode.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> 0 < regret_per_step(result, "OMM") < 0.4
    True
    """
    return float(result.regret[result.index(policy), -1] / result.n_episodes)


def size_note(result: SimulationResult) -> str:
    """Return the number of simulated runs and episodes as text, for a note under a table.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> size_note(mb.simulate(problem, [mb.OMM()], n_episodes=1000, n_runs=2, seed=0))
    '2 runs of 1,000 episodes; ± is one standard error.'
    """
    return f"{result.size}{result.about_errors}."
