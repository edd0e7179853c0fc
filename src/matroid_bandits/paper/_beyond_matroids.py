"""Sets that are no matroids, the paper's future work: couriers and orders, routes, lending under two quotas."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from matroid_bandits.constraints import AssignmentConstraint, PathConstraint, QuotaIntersection
from matroid_bandits.datasets import Dataset, kiva, rocketfuel
from matroid_bandits.environments import BernoulliEnvironment, ExponentialEnvironment
from matroid_bandits.matroids import GraphicMatroid, PartitionMatroid, TransversalMatroid
from matroid_bandits.paper._part import Part, PartOutcome
from matroid_bandits.paper._part_tables import final_regret
from matroid_bandits.policies import OMM, Policy, ThompsonSampling
from matroid_bandits.problem import Problem
from matroid_bandits.reporting import Block, Cell, Column, Plot, Table, Text, regret_panel, size_note

#: Couriers, and as many orders.
_N_COURIERS = 8

#: Partners of one size class, by how many clusters of lenders support them, and how many classes there are.
_PER_CLASS, _N_CLASSES = 3, 4

COURIERS, ROUTES, LENDERS = "couriers", "routes", "lenders"


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """One of the paper's networks, and its lending partners."""
    return [rocketfuel(1755, data), kiva(data)]


def problems(datasets: Sequence[Dataset], _: int) -> dict[str, Problem]:
    """The three problems by name; that of the couriers is made up."""
    network, lending = datasets
    return {COURIERS: _couriers(), ROUTES: _routes(network.problem), LENDERS: _lenders(lending.problem)}


def _couriers() -> Problem:
    """Each courier one order; a weight is whether it comes in time."""
    n = _N_COURIERS
    pairs = AssignmentConstraint.between([f"courier {r}" for r in range(n)], [f"order {c}" for c in range(n)])
    r, c = np.indices((n, n)).reshape(2, -1)
    return Problem(pairs, BernoulliEnvironment(0.3 + 0.6 * ((7 * r + 5 * c + r * c) % 11) / 10))


def _routes(network: Problem) -> Problem:
    """The route of least latency between two routers of the provider: the first, and the one farthest from it."""
    graph = network.constraint
    assert isinstance(graph, GraphicMatroid)
    # a link is an arc each way
    arcs = [arc for u, v in graph.edges for arc in ((u, v), (v, u))]
    latencies = np.repeat(network.environment.mean_weights, 2)
    source = arcs[0][0]
    target = max(_latencies(arcs, latencies.tolist(), source).items(), key=lambda item: item[1])[0]
    routes = PathConstraint(arcs, source, target, labels=[f"{u} -> {v}" for u, v in arcs])
    return Problem(routes, ExponentialEnvironment(latencies), minimize=True)


def _latencies(
    arcs: Sequence[tuple[Hashable, Hashable]], latencies: Sequence[float], source: Hashable
) -> dict[Hashable, float]:
    """The least latency from a router to each that can be reached."""
    least, is_shorter = {source: 0.0}, True
    while is_shorter:
        is_shorter = False
        for (u, v), latency in zip(arcs, latencies, strict=True):
            if u in least and least[u] + latency < least.get(v, np.inf):
                least[v] = least[u] + latency
                is_shorter = True
    return least


def _lenders(lending: Problem) -> Problem:
    """At most one partner for each cluster that supports it first, and a few of each size class."""
    partners = lending.constraint
    assert isinstance(partners, TransversalMatroid)
    supporters = partners.neighbors
    sizes = np.argsort(np.argsort([len(clusters) for clusters in supporters], kind="stable"), kind="stable")
    by_cluster = PartitionMatroid(
        [clusters[0] if clusters else None for clusters in supporters], 1, labels=partners.labels
    )
    by_size = PartitionMatroid((sizes * _N_CLASSES // len(sizes)).tolist(), _PER_CLASS)
    return Problem(QuotaIntersection(by_cluster, by_size), lending.environment)


def policies(problem: Problem, n_episodes: int) -> Mapping[str, Policy | Sequence[Policy]]:
    """OMM, CombUCB1, a narrower radius, and Thompson sampling; what is normal for latencies is beta elsewhere."""
    thompson = ThompsonSampling("beta" if problem.environment.support == (0.0, 1.0) else "normal")
    return {"OMM": OMM(), "CombUCB1": OMM(0.75**0.5), "OMM, scale 0.25": OMM(0.25), "Thompson": thompson}


def write(outcome: PartOutcome) -> Sequence[Block]:
    """Text, a table and curves on what is no matroid."""
    sweep = outcome.sweep
    names = list(sweep.problems)
    rows: list[tuple[Cell, ...]] = [
        (policy, *(final_regret(sweep, name, policy) for name in names)) for policy in sweep.policies
    ]
    routes = sweep.problems[ROUTES].constraint
    lenders = sweep.problems[LENDERS].constraint
    return (
        Text(
            "Constraints. The paper's conclusions ask for matchings and flows of least cost. Their best sets are"
            " found exactly, so the same policies play: couriers to orders (made up, a pair is on time or not);"
            f" {routes.in_words()} through the provider's network, by latencies that are seen along the route taken;"
            f" and lending partners under two quotas at once, {lenders.largest_size} in a set: one for each cluster"
            f" of first supporters and {_PER_CLASS} of each of {_N_CLASSES} size classes."
        ),
        Table(
            name="constraints",
            title="Regret where sets are no matroids",
            columns=(
                Column("policy", is_text=True),
                *(Column(name, ",.0f", "ms" if sweep.problems[name].minimize else "") for name in names),
            ),
            rows=tuple(rows),
            note=size_note(sweep[names[0]]),
            is_standin=outcome.is_standin,
        ),
        Plot(
            "beyond-constraints",
            "Regret where sets are no matroids",
            tuple(
                regret_panel(
                    sweep[name],
                    name,
                    policies=tuple(sweep.policies),
                    unit="ms" if sweep.problems[name].minimize else "",
                    is_standin=outcome.is_standin and name != COURIERS,
                )
                for name in names
            ),
            "Bands are 95% confidence intervals.",
        ),
    )


CONSTRAINTS = Part(
    name="constraints",
    load=load,
    problems=problems,
    policies=policies,
    n_episodes=3_000,
    n_quick=300,
    write=write,
)
