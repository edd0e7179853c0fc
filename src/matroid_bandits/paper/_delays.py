"""The paper's problems with answers that come late."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from matroid_bandits.datasets import Dataset, kiva, movielens, rocketfuel
from matroid_bandits.environments import DelayedEnvironment
from matroid_bandits.paper._part import Part, PartOutcome
from matroid_bandits.policies import OMM, Policy, ThompsonSampling
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Block, Cell, Column, Estimate, Panel, Plot, Table, Text, regret_panel, size_note
from matroid_bandits.simulation import SimulationResult

#: How late answers are, in episodes.
_DELAYS = (0, 30, 300)

#: The policies whose curves are drawn: those that learn fast enough for a delay to matter.
_SHOWN = ("OMM, scale 0.25", "Thompson")


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """One of the paper's networks, its partners and its movies."""
    return [rocketfuel(1755, data), kiva(data), movielens(data)]


def problems(datasets: Sequence[Dataset], _: int) -> dict[str, Problem]:
    """Each problem with each delay."""
    return {
        _name(dataset, delay): Problem(
            dataset.problem.constraint,
            DelayedEnvironment(dataset.problem.environment, delay),
            dataset.problem.minimize,
        )
        for dataset in datasets
        for delay in _DELAYS
    }


def policies(problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]:
    """OMM as it is, with a narrower radius, and Thompson sampling; what is normal for latencies is beta elsewhere."""
    thompson = ThompsonSampling("beta" if problem.environment.support == (0.0, 1.0) else "normal")
    return {"OMM": OMM(), "OMM, scale 0.25": OMM(0.25), "Thompson": thompson}


def write(outcome: PartOutcome) -> Sequence[Block]:
    """Text, a table and curves on delays."""
    sweep, datasets = outcome.sweep, outcome.datasets
    rows: list[tuple[Cell, ...]] = [
        (
            dataset.title,
            policy,
            *(
                cell
                for result in (sweep[_name(dataset, delay)] for delay in _DELAYS)
                for cell in (_mean(result, policy), float(result.medians()[result.index(policy)]))
            ),
        )
        for dataset in datasets
        for policy in sweep.policies
    ]
    any_result = next(iter(sweep.results.values()))
    return (
        Text(
            "Delay. The paper's problems, with answers that come late: 0, 30 or 300 episodes after the decision. A"
            " play that waits narrows the radius at once and moves the mean when"
            " it is answered, so exploration goes on meanwhile. Every item is seen once, at once, before episode 1."
        ),
        Table(
            name="delays",
            title="Regret with answers that come late",
            columns=(
                Column("problem", is_text=True),
                Column("policy", is_text=True),
                *(
                    column
                    for delay in _DELAYS
                    for column in (
                        Column("mean", ",.0f", f"delay {delay}"),
                        Column("median", ",.0f", f"delay {delay}"),
                    )
                ),
            ),
            rows=tuple(rows),
            note=f"{size_note(any_result)} On the network regret is in ms.",
            is_standin=outcome.is_standin,
        ),
        *map(Text, sweep.tail_warnings()),
        Plot(
            "beyond-delays",
            "Regret with answers that come late",
            tuple(_panel(outcome, dataset) for dataset in datasets),
            "The later the answers, the darker the curve. Bands are 95% confidence intervals.",
            {policy: [_label(policy, delay) for delay in _DELAYS] for policy in _SHOWN},
        ),
    )


def _panel(outcome: PartOutcome, dataset: Dataset) -> Panel:
    """The curves of some policies on a problem with each of the delays."""
    unit, is_standin = "ms" if dataset.problem.minimize else "", dataset.source == "stand-in"
    panels = [
        regret_panel(
            outcome.sweep[_name(dataset, delay)], dataset.title, policies=_SHOWN, unit=unit, is_standin=is_standin
        )
        for delay in _DELAYS
    ]
    curves = (
        replace(panel.curves[place], label=_label(policy, delay))
        for place, policy in enumerate(_SHOWN)
        for panel, delay in zip(panels, _DELAYS, strict=True)
    )
    return replace(panels[0], curves=tuple(curves))


def _mean(result: SimulationResult, policy: str) -> Estimate:
    own = result[policy]
    return Estimate(float(own.regret[-1]), float(own.regret_se[-1]))


def _label(policy: str, delay: int) -> str:
    return f"{policy}, delay {delay}"


def _name(dataset: Dataset, delay: int) -> str:
    return f"{dataset.title}, delay {delay}"


DELAYS = Part(
    name="delays",
    load=load,
    problems=problems,
    policies=policies,
    n_episodes=3_000,
    n_quick=600,
    write=write,
    n_runs=100,  # ten runs of Thompson sampling do not show its tail
)
