"""
Late conversions
================

A shop shows three of twenty offers. Whether a visitor buys is known days later, when
many other visitors have come. How much does it cost to learn that late?

A play that waits for its answer narrows the confidence radius at once, and moves the
mean when the answer comes. So a policy goes on exploring other offers instead of
repeating one set until the first answer is there.
"""

# %%
# The problem
# -----------
# The same offers in three worlds, which differ in the mean delay of an answer.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(6)
offers = mb.UniformMatroid(20, 3)
sales = mb.BernoulliEnvironment(rng.beta(2, 8, size=20))
delays = [0, 100, 300]
problems = {
    f"mean delay {d}": mb.Problem(offers, mb.DelayedEnvironment(sales, mean=d)) for d in delays
}

# %%
# The race
# --------

policies = {"OMM, scale 0.3": mb.OMM(0.3), "Thompson": mb.ThompsonSampling()}
sweep = mb.sweep(problems, policies, n_episodes=1_200, n_runs=10, seed=0, start="explore")
print(sweep.summary())

# %%
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True, layout="constrained")
for ax, policy in zip(axes, policies, strict=True):
    for name, colour, dash in zip(
        problems, ["#9ecae1", "#4292c6", "#08519c"], ["-", "--", "-."], strict=True
    ):
        found = sweep[name][policy]
        ax.plot(sweep[name].checkpoints, found.regret, color=colour, linestyle=dash, label=name)
    ax.set(title=policy, xlabel="visits")
axes[0].set_ylabel("cumulative regret, sales")
axes[0].legend(frameon=False)
plt.show()

# %%
# The finding
# -----------

for policy in policies:
    print(policy)
    for name in problems:
        found = sweep[name]
        half, end = np.interp([600, 1_200], found.checkpoints, found[policy].regret)
        print(f"    {name}: {half:.0f} sales lost in the first half, {end - half:.0f} then")

# %%
# A delay adds most to the regret of the beginning, while nothing is known yet, and little to
# what comes after it.
#
# **Read next:** :doc:`/learner`, answers that come late, in parts or never;
# :doc:`/drift`, delays on the paper's data; :doc:`drifting_prices`, worlds that change.
