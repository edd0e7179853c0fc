"""
A crawl schedule
================

A search engine visits pages to see whether they have changed. It may visit 60 pages an
hour: at most 3 of any site, so that no site is burdened, and at most 20 in any data
centre. Some pages change every hour, most hardly ever. Which pages should be visited?

Limits inside limits are a laminar matroid, and its greedy set is the best one.
"""

# %%
# The problem
# -----------
# 2,000 pages on 200 sites in 5 data centres. A weight is 1 where a visited page has
# changed, so the value of a set is the number of changes that are found. Rates are made
# up: on most sites a few pages change often.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(3)
n_pages = 2_000
pages = np.arange(n_pages)
site, centre = pages // 10, pages // 10 % 5
rates = (rng.beta(0.6, 6, n_pages) * (1 + (centre == 0))).clip(
    0, 0.95
)  # one centre is livelier than the others

quotas = [(pages, 60)]
quotas += [(pages[centre == c], 20) for c in range(5)]
quotas += [(pages[site == s], 3) for s in range(200)]
problem = mb.Problem(mb.LaminarMatroid(n_pages, quotas), mb.BernoulliEnvironment(rates))

busiest = np.sort(rates)[-60:].sum()
print("changes found in an hour if the rates were known:")
print(f"{problem.optimal_value:.1f} within the quotas, {busiest:.1f} without any but the total")

# %%
# The race
# --------
# Nothing is known at first: ``start="explore"`` lets a page that was never visited come
# before all others.

policies = {
    "OMM, scale 0.3": mb.OMM(0.3),
    "Thompson": mb.ThompsonSampling(),
    "random": mb.UniformRandom(),
}
n_hours = 500
result = mb.simulate(problem, policies, n_episodes=n_hours, n_runs=5, seed=0, start="explore")
print(result.summary())

# %%
# ``OMM`` works in waves: it visits what looks best, until the pages that it has neglected
# come first again. On the right, where its visits went: the liveliest data centre is full.

figure, (curves, bars) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
looks = [("#0072b2", "-"), ("#b0568f", "-."), ("#777777", "--")]
hours = np.diff(result.checkpoints, prepend=0)
for name, (colour, dash) in zip(policies, looks, strict=True):
    total = result.checkpoints * result[name].per_step_return
    found = np.diff(total, prepend=0) / hours
    curves.plot(result.checkpoints, found, color=colour, linestyle=dash, label=name)
curves.axhline(problem.optimal_value, color="#555555", linestyle=":", label="rates known")
curves.set(title="Changes found", xlabel="hours", ylabel="changes per hour", ylim=(0, None))
curves.legend(frameon=False)
visits = result["OMM, scale 0.3"].choices / (result.n_runs * n_hours)
bars.bar(range(5), np.bincount(centre, visits), color="#0072b2", label="visits")
bars.axhline(20, color="#d55e00", linestyle="--", label="quota")
bars.set(
    title="Where the visits of OMM went",
    xlabel="data centre",
    ylabel="visits per hour",
    ylim=(0, 25),
)
bars.legend(frameon=False, ncols=2)
plt.show()

# %%
# The finding
# -----------

for name in policies:
    at_400, at_500 = np.interp([400, n_hours], result.checkpoints, result[name].regret)
    share = 1 - (at_500 - at_400) / 100 / problem.optimal_value
    print(f"{name}: {share:.0%} of what known rates would find, in the last 100 hours")

# %%
# Most pages are visited a few times and left alone. The greedy choice among 2,000 pages
# keeps to 206 quotas in every hour, and the engine for quotas does not look at all pages
# to make it.
#
# **Read next:** :doc:`/engines`, why the time of a decision hardly grows with the number
# of pages; :doc:`drifting_prices`, when rates change; :doc:`/not-a-matroid`, limits of
# two kinds that are not nested.
