"""The paper's routing networks, with latencies that change: links that congest at once, or swing with the day."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.datasets import Dataset, rocketfuel
from matroid_bandits.environments import (
    DriftingEnvironment,
    Environment,
    ExponentialEnvironment,
    PiecewiseEnvironment,
)
from matroid_bandits.paper._part import Part, PartOutcome
from matroid_bandits.paper._part_tables import best_plot, best_table, full_table
from matroid_bandits.paper._race import N_CHANGES, change_times
from matroid_bandits.paper._race_found import race_blocks
from matroid_bandits.policies import (
    CUSUM,
    OMM,
    DiscountedOMM,
    Policy,
    Restarting,
    SlidingWindowOMM,
    ThompsonSampling,
)
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Block, Text

#: Which of the paper's networks.
_ASN = 1755

#: The widths of the radius, in ms, among which every policy that has one gets its best.
_SCALES = (0.5, 1.0, 3.0, 10.0, 30.0)

#: What share of the links is congested at a time, and between which factors that multiplies their latencies.
_SHARE, _FACTORS = 0.3, (2.0, 5.0)

#: How often latencies swing in the time that is played.
_N_SWINGS = 3

#: What is random in the worlds is drawn with it, the same for every policy.
_SEED = 12


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """One of the paper's six networks."""
    return [rocketfuel(_ASN, data)]


def problems(datasets: Sequence[Dataset], n_episodes: int) -> dict[str, Problem]:
    """The network with links that congest, and with latencies that swing."""
    network = datasets[0].problem
    latencies = network.environment.mean_weights
    worlds = {"congestion": _congested(latencies, n_episodes), "swings": _swinging(latencies, n_episodes)}
    return {name: Problem(network.constraint, world, minimize=True) for name, world in worlds.items()}


def _congested(latencies: FloatArray, n_episodes: int) -> Environment:
    """Another share of the links is slower after every change; in the beginning all are as on the map."""
    rng = np.random.default_rng(_SEED)
    pieces = [ExponentialEnvironment(latencies)]
    for _ in range(N_CHANGES):
        factors = np.where(rng.random(latencies.size) < _SHARE, rng.uniform(*_FACTORS, latencies.size), 1.0)
        pieces.append(ExponentialEnvironment(latencies * factors))
    return PiecewiseEnvironment(pieces, change_times(n_episodes))


def _swinging(latencies: FloatArray, n_episodes: int) -> Environment:
    """Latencies between those of the map and three times as much, each link with a phase of its own."""
    phases = np.random.default_rng(_SEED).random(latencies.size)
    period = max(1.0, n_episodes / _N_SWINGS)
    return DriftingEnvironment(
        ExponentialEnvironment(2.0 * latencies), amplitude=latencies, period=period, phase=phases
    )


def policies(problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]:
    """Policies that forget and policies that do not, at scales from half the noise of a latency, 1 ms."""
    horizon = max(2, n_episodes // 30)
    gamma = 1.0 - 1.0 / horizon
    return {
        "OMM": [OMM(scale) for scale in _SCALES],
        "Thompson": ThompsonSampling("normal"),
        "discounted OMM": [DiscountedOMM(gamma, scale) for scale in _SCALES],
        "windowed OMM": [SlidingWindowOMM(2 * horizon, scale) for scale in _SCALES],
        "restarting OMM": [Restarting(OMM(scale), CUSUM(n_first=50, width=2.0)) for scale in _SCALES],
    }


def write(outcome: PartOutcome) -> Sequence[Block]:
    """Text, a table and curves on the network."""
    worlds = list(outcome.sweep)
    return (
        Text(
            "Drift. The paper's ISP network 1755, whose latencies do not stay. Congestion: five times another three"
            " in ten of the links become 2 to 5 times as slow as on the map, and the others as on the map. Swings:"
            " every latency goes up and down between that of the map and three times as much, three times in all,"
            " each link in its own phase. The noise is the paper's, −1 + Exp(1) ms, and the scales are 0.5, 1,"
            " 3, 10 and 30 ms. The horizon is a thirtieth of the episodes and the window twice as long."
        ),
        best_table(
            outcome,
            worlds,
            "networks",
            "Routing while latencies change: dynamic regret in ms, each policy at its best scale",
            "The optimum costs "
            + " and ".join(f"{outcome.sweep[name].optimal_value:.0f} ms ({name})" for name in worlds)
            + " an episode.",
        ),
        best_plot(
            outcome,
            worlds,
            "beyond-networks",
            "Routing while latencies change, each policy at its best scale",
            unit="ms",
        ),
        full_table(outcome, "networks-scales", "Routing while latencies change: dynamic regret in ms at every scale"),
        *race_blocks(),
    )


NETWORKS = Part(
    name="networks",
    load=load,
    problems=problems,
    policies=policies,
    n_episodes=6_000,
    n_quick=1_200,
    write=write,
)
