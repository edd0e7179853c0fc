"""What ``results.json`` keeps of a simulation, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits.problem import Problem
from matroid_bandits.simulation import SimulationResult


def simulation_record(
    problem: Problem,
    result: SimulationResult,
    *,
    name: str,
    title: str,
    source: str = "real",
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a problem, its optimum and every policy's results as plain JSON, without machine or time.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> record = simulation_record(problem, result, name="ads", title="Ads", facts={"items": 2})
    >>> record["optimum"], record["optimal_basis"], list(record["policies"])
    (0.9, [0], ['OMM'])
    """
    is_fixed = problem.environment.is_stationary and not problem.no_regret  # otherwise there is no one optimum
    return {
        "data": name,
        "source": source,
        "title": title,
        "items": problem.n_items,
        "rank": problem.rank,
        "minimize": problem.minimize,
        "facts": {key: plain(fact) for key, fact in facts.items() if isinstance(fact, int | float | str)},
        "optimum": plain(problem.optimal_value if is_fixed else result.optimal_value),
        "optimal_basis": [plain(problem.constraint.labels[e]) for e in problem.optimal_basis] if is_fixed else None,
        "episodes": plain(result.checkpoints),
        "policies": {
            policy: {
                "per_step": plain(own.per_step_return),
                "per_step_error": plain(own.per_step_return_se),
                "realised_per_step": plain(own.realised_per_step_return[-1]),
                "realised_per_step_error": plain(own.realised_per_step_return_se[-1]),
                "regret": plain(own.regret[-1]),
                "regret_error": plain(own.regret_se[-1]),
            }
            for policy, own in ((policy, result[policy]) for policy in result.policies)
        },
    }


def plain(value: Any) -> Any:
    """Convert a value for JSON: floats to ten digits, NaN to None, arrays and tuples to lists, the rest to str.

    Examples
    --------
    >>> plain({"thirds": (1 / 3, float("nan"))})
    {'thirds': [0.3333333333, None]}
    """
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
