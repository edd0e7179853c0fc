"""A network controller: route over a spanning tree of least latency while links fail, and say why.

    python examples/network.py

200 nodes in the plane, each linked to its neighbours. Latencies are not known; those of the links in use are
measured. In every round some links are down, and the tree avoids them.
"""

import numpy as np

import matroid_bandits as mb


def make_network(rng, n_nodes=200):
    """Links between near nodes, named by their ends, and their mean latencies in ms."""
    places = rng.random((n_nodes, 2))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    names = [f"n{node:03d}" for node in range(n_nodes)]
    links = {}
    for u in range(n_nodes):
        for v in np.argsort(distance[u])[1:6].tolist():
            links[names[min(u, v)], names[max(u, v)]] = 1.0 + 40.0 * distance[u, v]
    for u in range(1, n_nodes):  # a backbone, so that it is connected
        v = int(np.argmin(distance[u, :u]))
        links[names[v], names[u]] = 1.0 + 40.0 * distance[u, v]
    return mb.GraphicMatroid(list(links)), np.array(list(links.values()))


def main(n_rounds=2_000, seed=0):
    """Route for a while; the learner, the true latencies, and how far the last trees were from the best."""
    rng = np.random.default_rng(seed)
    network, latency = make_network(rng)
    learner = mb.Learner(network, mb.ThompsonSampling("normal", noise=1.0), minimize=True, seed=seed)
    excess = []
    for _ in range(n_rounds):
        dead = np.flatnonzero(rng.random(latency.size) < 0.01)
        tree = learner.ask(exclude=dead)
        measured = latency[tree.items] - 1.0 + rng.exponential(size=tree.items.size)
        learner.tell(tree, measured)
        is_up = np.ones(latency.size, bool)
        is_up[dead] = False
        best, sizes = network.best_sets(-latency[None], available=is_up)
        excess.append(latency[tree.items].sum() / latency[best[0, : sizes[0]]].sum() - 1.0)
    return learner, latency, np.array(excess)


if __name__ == "__main__":
    learner, latency, excess = main()
    print(f"above the best tree: {excess[:100].mean():.1%} at first, {excess[-100:].mean():.2%} in the end")
    tree = learner.ask()
    unused = [label for label in learner.constraint.labels if label not in set(tree.labels)]
    for label in unused[:3]:
        print(learner.explain(label))
    print(learner.explain(tree.labels[0], exclude=[tree.labels[0]]))
