"""Sets that are no matroids, the paper's future work: couriers and orders, routes, lending under two quotas."""

import numpy as np

import matroid_bandits as mb
from matroid_bandits.reporting import Plot, Text, regret_panel

from .blocks import BANDS, is_standin, regret_table

TITLE = "Sets that are no matroids"
N_EPISODES, N_QUICK, N_RUNS = 3_000, 300, 20

#: Couriers, and as many orders.
N_COURIERS = 8

#: Partners of one size class, by how many clusters of lenders support them, and how many classes there are.
PER_CLASS, N_CLASSES = 3, 4


def load(data):
    return [mb.datasets.rocketfuel(1755, data), mb.datasets.kiva(data)]


def problems(datasets, n_episodes):
    network, lending = datasets
    return {"couriers": couriers(), "routes": routes(network.problem), "lenders": lenders(lending.problem)}


def couriers():
    """Each courier one order; a weight is whether it comes in time."""
    n = N_COURIERS
    pairs = mb.AssignmentConstraint.between([f"courier {r}" for r in range(n)], [f"order {c}" for c in range(n)])
    r, c = np.indices((n, n)).reshape(2, -1)
    return mb.Problem(pairs, mb.BernoulliEnvironment(0.3 + 0.6 * ((7 * r + 5 * c + r * c) % 11) / 10))


def routes(network):
    """The route of least latency between two routers of the provider: the first, and the one farthest from it."""
    arcs = [arc for u, v in network.constraint.edges for arc in ((u, v), (v, u))]  # a link is an arc each way
    latencies = np.repeat(network.environment.mean_weights, 2)
    source = arcs[0][0]
    target = max(distances(arcs, latencies.tolist(), source).items(), key=lambda item: item[1])[0]
    paths = mb.PathConstraint(arcs, source, target, labels=[f"{u} -> {v}" for u, v in arcs])
    return mb.Problem(paths, mb.ExponentialEnvironment(latencies), minimize=True)


def distances(arcs, latencies, source):
    """The least latency from a router to each that can be reached."""
    least, is_shorter = {source: 0.0}, True
    while is_shorter:
        is_shorter = False
        for (u, v), latency in zip(arcs, latencies, strict=True):
            if u in least and least[u] + latency < least.get(v, np.inf):
                least[v] = least[u] + latency
                is_shorter = True
    return least


def lenders(lending):
    """At most one partner for each cluster that supports it first, and a few of each size class."""
    supporters = lending.constraint.neighbors
    sizes = np.argsort(np.argsort([len(clusters) for clusters in supporters], kind="stable"), kind="stable")
    first = [clusters[0] if clusters else None for clusters in supporters]
    by_cluster = mb.PartitionMatroid(first, 1, labels=lending.constraint.labels)
    by_size = mb.PartitionMatroid((sizes * N_CLASSES // len(sizes)).tolist(), PER_CLASS)
    return mb.Problem(mb.QuotaIntersection(by_cluster, by_size), lending.environment)


def policies(problem, n_episodes):
    """OMM, CombUCB1, a narrower radius, and Thompson sampling; what is normal for latencies is beta elsewhere."""
    thompson = mb.ThompsonSampling("beta" if problem.environment.support == (0.0, 1.0) else "normal")
    return {"OMM": mb.OMM(), "CombUCB1": mb.OMM(0.75**0.5), "OMM, scale 0.25": mb.OMM(0.25), "Thompson": thompson}


def write(sweep, datasets):
    units = ["ms" if problem.minimize else "" for problem in sweep.problems.values()]
    title = "Regret where sets are no matroids"
    panels = (
        regret_panel(
            sweep[name],
            name,
            policies=sweep.policies,
            unit=unit,
            is_standin=is_standin(datasets) and name != "couriers",
        )
        for name, unit in zip(sweep, units, strict=True)
    )
    paths, quotas = sweep.problems["routes"].constraint, sweep.problems["lenders"].constraint
    return (
        "The paper's conclusions ask for matchings and flows of least cost. Their best sets are found exactly, so the"
        " same policies play.",
        Text(
            "Couriers to orders (made up, a pair is on time or not);"
            f" {paths.in_words()} through the provider's network, by latencies that are seen along the route taken;"
            f" and lending partners under two quotas at once, {quotas.largest_size} in a set: one for each cluster"
            f" of first supporters and {PER_CLASS} of each of {N_CLASSES} size classes."
        ),
        regret_table(sweep, datasets, "constraints", title, units=units),
        Plot("beyond-constraints", title, tuple(panels), BANDS),
    )
