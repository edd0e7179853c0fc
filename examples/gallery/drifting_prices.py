"""
Drifting prices
===============

A workshop buys ten parts every day, each from one of six suppliers, and learns the
price of what it bought. Prices change at once, when contracts are renewed. What was
learnt a quarter ago is then worth little. How should a policy forget?

"One supplier for each part" is a partition matroid; prices are costs, hence
``minimize=True``.
"""

# %%
# The problem
# -----------
# Prices vary by the day around a mean. Every 500 days all means are drawn anew.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(5)
parts = mb.PartitionMatroid(np.repeat(np.arange(10), 6))
contracts = [mb.GaussianEnvironment(rng.uniform(1.0, 2.0, size=60), 0.1) for _ in range(4)]
changes = [501, 1001, 1501]
problem = mb.Problem(parts, mb.PiecewiseEnvironment(contracts, changes), minimize=True)

# %%
# The race
# --------
# ``OMM`` trusts everything that it has seen. The others forget: by a window, by a
# discount, or all at once when a test says that something has changed.

policies = {
    "OMM": mb.OMM(0.1),
    "window": mb.SlidingWindowOMM(125, scale=0.1),
    "discounted": mb.DiscountedOMM(0.984, scale=0.1),
    "restarts": mb.Restarting(mb.OMM(0.1), mb.CUSUM()),
}
result = mb.simulate(
    problem, policies, n_episodes=2_000, n_runs=10, seed=0, checkpoints=np.arange(10, 2001, 10)
)
print(result.summary())

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
result.plot(ax=axes, unit="price", log_x=False)
for day in changes:
    axes.axvline(day, color="#999999", linewidth=0.8, linestyle=":")
axes.set(title="Paid above the best suppliers of the day", xlabel="days")
plt.show()

# %%
# The finding
# -----------

first, rest = 500, 1_500
for name in policies:
    before, after = np.interp([first, first + rest], result.checkpoints, result[name].regret)
    before, after = before / first, (after - before) / rest
    print(f"{name:10s} {before:.2f} a day too much before the first change, {after:.2f} after it")

# %%
# Forgetting costs a little while nothing changes, and pays when something does.
#
# **Read next:** :doc:`/drift`, which policy for which kind of change; :doc:`/policies`,
# the race over drawn worlds; :doc:`late_conversions`, another way in which a world is
# unlike the paper's.
