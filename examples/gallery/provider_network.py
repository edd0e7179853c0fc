"""
The network of a provider
=========================

A provider routes its traffic over a spanning tree. Latencies are not known; those of
the links in use are measured. Links fail and come back. A learner chooses the tree of
each round, avoids the links that are down, learns which links are fast, and can say why
a link is not used.

The map is GÉANT, the network of Europe's universities in 2012, from the package
``topohub``. The sets of links without a cycle are the independent sets of a graphic
matroid.
"""

# %%
# The network
# -----------

import matplotlib.pyplot as plt
import numpy as np
import topohub

import matroid_bandits as mb
from matroid_bandits import datasets

problem = datasets.isp("topozoo/Geant2012").problem
network, latency = problem.constraint, problem.environment.mean_weights
print(f"{network.n_items} links, trees of {network.rank}")
print(f"the best tree takes {problem.optimal_value:.1f} ms in all")

# %%
# Ask, measure, tell
# ------------------
# Every round one link in fifty is down. ``ask`` gets the links to avoid and returns the
# tree to use; ``tell`` gets the latencies that were measured on it, in ms. Latencies are
# costs, hence ``minimize=True``.

rng = np.random.default_rng(0)
learner = mb.Learner(network, mb.ThompsonSampling("normal", noise=1.0), minimize=True, seed=0)
excess = []
for _ in range(500):
    is_up = rng.random(network.n_items) > 0.02
    tree = learner.ask(available=is_up)
    learner.tell(tree, latency[tree.items] - 1.0 + rng.exponential(size=tree.items.size))
    best, sizes = network.best_sets(-latency[None], available=is_up)
    excess.append(latency[tree.items].sum() / latency[best[0, : sizes[0]]].sum() - 1.0)

# %%
# Why is a link not used? A link can only replace one on the path between its ends.

unused = [link for link in network.labels if link not in learner.preview().labels]
for link in unused[:3]:
    print(learner.explain(link))

# %%
# A race on the same network
# --------------------------
# Is another policy better? Each meets the same latencies, in 100 runs with all links up.

policies = {
    "OMM": mb.OMM(),
    "Thompson": mb.ThompsonSampling("normal", noise=1.0),
    "ε-greedy": mb.EpsilonGreedy(0.1),
}
result = mb.simulate(problem, policies, n_episodes=1_000, n_runs=100, seed=0)
print(result.summary())

# %%
place = {node["name"]: node["pos"] for node in topohub.get("topozoo/Geant2012")["nodes"]}
learnt = set(learner.best_basis().labels)
figure, (chart, curves) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for link in network.labels:
    colour, width = ("#0072b2", 2.2) if link in learnt else ("#bbbbbb", 0.8)
    ends = zip(*(place[node] for node in link), strict=True)
    chart.plot(*ends, color=colour, linewidth=width, zorder=1)
label = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "#555555"}
for name, (x, y) in place.items():
    chart.text(x, y, name, ha="center", va="center", fontsize=6, bbox=label)
chart.set(title="GÉANT: all links, and the tree that was learnt", xticks=[], yticks=[])
result.plot(ax=curves, unit="ms", log_x=False)
curves.set(title="Latency above that of the best trees", xlabel="rounds")
plt.show()

# %%
# The finding
# -----------

first, last = np.mean(excess[:50]), np.mean(excess[-50:])
print(f"above the best tree: {first:.1%} in the first 50 rounds, {last:.2%} in the last 50")
shared = learnt & {network.labels[e] for e in problem.optimal_basis}
print(f"the learnt tree has {len(shared)} of the {network.rank} links of the best tree")

# %%
# The tree is close to the best one from the first rounds on, since a tree needs most of the
# short links anyway. What remains to be learnt are a few close calls, which a policy that
# explores at random pays for again and again.
#
# **Read next:** :doc:`/learner`, ask and tell in full; :doc:`/service`, the same learner
# behind HTTP; :doc:`colourful_trees`, trees with a second rule.
