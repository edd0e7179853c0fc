"""
Sensor placement
================

A hall has 16 zones, and their temperatures are wanted every minute. A sensor on the
ceiling reads a weighted sum of the zones around it. With 16 sensors whose readings are
linearly independent all zones can be computed; with dependent ones they cannot. Sensors
also drop out: each has an uptime that is not known before it is used.

Which 16 of 60 possible sites make every zone computable and are up most of the time?
Sites are items, and their rows of coefficients make a linear matroid.
"""

# %%
# The problem
# -----------
# Sites near the power supply, at the lower left, are up more often. So the most reliable
# sites lie close together and read the same zones. Coefficients are whole numbers, which
# the matroid treats exactly.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(7)
zones = np.array([(x, y) for x in range(4) for y in range(4)]) * 10 + 5
sites = 40 * rng.random((60, 2))
distance = np.linalg.norm(sites[:, None] - zones[None], axis=2)
reads = np.where(distance < 9, 10 - distance, 0).astype(int)
uptime = 0.97 - 0.01 * np.linalg.norm(sites, axis=1) + rng.uniform(-0.08, 0.02, 60)

matroid = mb.LinearMatroid(reads)
problem = mb.Problem(matroid, mb.BernoulliEnvironment(uptime))
reliable = np.argsort(-uptime)[: problem.rank]
print(f"{problem.rank} independent sites determine all {len(zones)} zones")
print(
    f"the {problem.rank} most reliable sites have rank {np.linalg.matrix_rank(reads[reliable])}"
)

# %%
# Learning uptimes
# ----------------
# Every minute 16 independent sites are switched on, and each is seen to be up (1) or down
# (0).

learner = mb.Learner(matroid, mb.KLOSM(), seed=0)
for _ in range(1_000):
    minute = learner.ask()
    learner.tell(minute, (rng.random(minute.items.size) < uptime[minute.items]).astype(float))
learnt = learner.best_basis().items

# %%
# A zone is computable when its unit vector lies in the row space of the chosen sites.


def computable(items):
    rows = reads[items]
    rank = np.linalg.matrix_rank(rows)
    return [np.linalg.matrix_rank(np.vstack([rows, unit])) == rank for unit in np.eye(len(zones))]


figure, axes = plt.subplots(1, 2, figsize=(8.6, 4), sharey=True, layout="constrained")
panels = {"The most reliable sites": reliable, "The set that was learnt": learnt}
for ax, (title, items) in zip(axes, panels.items(), strict=True):
    known = computable(items)
    for (x, y), is_known in zip(zones, known, strict=True):
        if is_known:
            ax.add_patch(plt.Rectangle((x - 5, y - 5), 10, 10, color="#cfe8dd"))
    dots = ax.scatter(*sites.T, c=uptime, s=22, vmin=0.3, vmax=1.0, zorder=2)
    ring = {"s": 110, "facecolors": "none", "edgecolors": "#d55e00", "linewidths": 1.6}
    ax.scatter(*sites[items].T, zorder=3, label="chosen", **ring)
    ax.set(title=f"{title}: {sum(known)} of {len(zones)} zones", xlabel="metres")
    ax.set(
        xlim=(0, 40),
        ylim=(0, 40),
        xticks=range(0, 41, 10),
        yticks=range(0, 41, 10),
        aspect="equal",
    )
    ax.grid(color="#aaaaaa", linewidth=0.6)
axes[0].set_ylabel("metres")
figure.colorbar(dots, ax=axes, label="uptime")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", frameon=False)
plt.show()

# %%
# The finding
# -----------

chosen = {"most reliable": reliable, "learnt": learnt, "best": problem.optimal_basis}
for name, items in chosen.items():
    n_up, n_zones = uptime[items].sum(), sum(computable(items))
    print(f"{name:14s} {n_up:5.2f} sensors up on average, {n_zones:2d} zones known")

# %%
# Reliability alone puts sensors where others already look, and half of the hall stays
# unknown. Independence costs about one sensor's uptime in all.
#
# **Read next:** :doc:`/not-a-matroid`, which rules are matroids; :doc:`diverse_movies`,
# the same matroid with genres; :doc:`stopping_when_sure`, when the test phase can end.
