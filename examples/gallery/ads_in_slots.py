"""
Ads in slots
============

A page has four slots, and every slot shows one of the ads that were booked for it. The
click rates are not known. Each visit shows one set of four ads and tells which of them
were clicked. Which rule for choosing loses the fewest clicks while it learns?

"One ad per slot" is a partition matroid, the simplest constraint of the package after
"any K".
"""

# %%
# The problem
# -----------
# Twenty-four ads, six for each slot, with low click rates.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(1)
slot_of = {f"{slot} {k}": slot for slot in ("top", "left", "right", "bottom") for k in range(6)}
rates = rng.beta(2, 30, size=len(slot_of))

problem = mb.Problem(mb.PartitionMatroid(slot_of), mb.BernoulliEnvironment(rates))
for e in problem.optimal_basis:
    print(f"{problem.constraint.labels[e]:10s} {rates[e]:.1%} of its views are clicked")
print(f"the best page gets {1000 * problem.optimal_value:.0f} clicks in 1,000 visits")

# %%
# The race
# --------
# Every policy meets the same visits. ``OMM`` builds its confidence interval for any
# weights in [0, 1]; ``KLOSM`` uses that a click is 0 or 1, and its interval is much
# narrower for rates near 0.

policies = {
    "OMM": mb.OMM(),
    "KLOSM": mb.KLOSM(),
    "Thompson": mb.ThompsonSampling(),
    "ε-greedy": mb.EpsilonGreedy(0.1),
}
n_visits = 5_000
result = mb.simulate(problem, policies, n_episodes=n_visits, n_runs=30, seed=0)
print(result.summary())

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
result.plot(ax=axes, unit="clicks", log_x=False)
for ax in axes:
    ax.set_xlabel("visits")
plt.show()

# %%
# The finding
# -----------
# Regret counts the clicks that the best page would have got and a policy did not.

lost = {name: result[name].regret[-1] / (n_visits * problem.optimal_value) for name in policies}
print(
    "clicks lost while learning:",
    ", ".join(f"{name} {share:.0%}" for name, share in lost.items()),
)

# %%
# Intervals that know what a click is pay: ``KLOSM`` and Thompson sampling lose a fraction
# of what ``OMM`` loses. ε-greedy is close behind here, and its curve keeps its slope: it
# shows a random page in one visit of ten for ever.
#
# **Read next:** :doc:`/policies`, a race over many problems; :doc:`crawl_schedule`,
# quotas inside quotas; :doc:`late_conversions`, the same page when clicks are known late.
