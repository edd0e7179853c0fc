"""
Reliable routes
===============

A message crosses a provider's network from link to link, and the first link that is down
stops it: links behind that one are not tried. A route is worth the chance that all its
links are up. A learner finds the most reliable route while messages are sent, on the six
networks of the paper, as in combinatorial cascading bandits (Kveton, Wen, Ashkan and
Szepesvari, NIPS 2015).

The maps are those of RocketFuel where they are installed (see ``matroid-bandits
datasets``), else stand-ins of the same size. Chances are made up: one link in four is
down in 40 of 100 cases, the others in 3.
"""

# %%
# The networks
# ------------
# Routes go both ways along every link, so the graph has cycles. There, the shortest route
# for costs can be found, and with ``until="failure"`` the costs are -log of the success
# rates: the cheapest route is the most reliable one.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import matroid_bandits as mb
from matroid_bandits import datasets


def routes(asn):
    """Routes between two routers that are the farthest apart, in links, and the shortest one."""
    network = datasets.rocketfuel(asn).problem
    links = [tuple(link[:2]) for link in network.constraint.labels]
    graph = nx.Graph(links)
    part = graph.subgraph(max(nx.connected_components(graph), key=len))
    hops = dict(nx.all_pairs_shortest_path_length(part))
    source = max(sorted(hops), key=lambda router: max(hops[router].values()))
    target = max(sorted(hops[source]), key=hops[source].get)
    both_ways = mb.PathConstraint([*links, *((b, a) for a, b in links)], source, target)
    chance = np.where(np.random.default_rng(asn).random(len(links)) < 0.25, 0.6, 0.97)
    world = mb.CascadeEnvironment(mb.BernoulliEnvironment(np.tile(chance, 2)), until="failure")
    problem = mb.Problem(both_ways, world)
    shortest, sizes = both_ways.best_sets(-np.ones((1, 2 * len(links))))
    return problem, shortest[0, : sizes[0]]


found = {asn: routes(asn) for asn in datasets.ROCKETFUEL_ASNS}
for asn, (problem, shortest) in found.items():
    chance = problem.worth(shortest, problem.environment.mean_weights)
    print(f"ISP {asn}, {problem.n_items // 2} links")
    print(f"   shortest route: {shortest.size} links, works in {chance:.0%} of all cases")
    print(f"   most reliable: {problem.optimal_basis.size}, works in {problem.optimal_value:.0%}")

# %%
# What is seen
# ------------
# Of a message that is lost, the link that was down is known, and that those before it were
# up. Every policy learns from that as it is. Regret is in messages that the most reliable
# route would have delivered; Thompson sampling loses less than OMM on every network.

policies = {"OMM, scale 0.1": mb.OMM(0.1), "Thompson": mb.ThompsonSampling()}
results = {
    asn: mb.simulate(
        problem,
        policies | {"shortest": mb.FixedSet(shortest)},
        n_episodes=1_000,
        n_runs=3,
        seed=0,
    )
    for asn, (problem, shortest) in found.items()
}
for asn, result in results.items():
    lost = ", ".join(
        f"{name} {regret:.0f}"
        for name, regret in zip(result.policies, result.regret[:, -1], strict=True)
    )
    print(f"ISP {asn}: {lost}")

# %%
figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained", sharex=True)
for ax, (asn, result) in zip(axes.flat, results.items(), strict=True):
    for name in result.policies:
        ax.plot(result.checkpoints, result[name].regret, label=name)
    ax.set(title=f"ISP {asn}", xlabel="messages", ylabel="regret")
axes.flat[0].legend()
plt.show()

# %%
# **Read next:** :doc:`/policies` has what policies learn from lists that are seen in part,
# and :doc:`/not-a-matroid` the other constraints.
