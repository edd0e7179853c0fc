"""
A news list with quotas
=======================

A newspaper shows six of thirty stories, at most two of a section. Readers go down the list
and stop at the first story they open. What is below was not looked at, so nothing is known of
it: counted as 0, good stories look bad wherever they were shown too low.

For every chance that readers go on, the best list is the best set with its best story first.
So the policy chooses as always; what is new is what it learns from.
"""

# %%
# The problem
# -----------
# A list is worth 1 if a reader opens a story, else 0.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(4)
sections = ["politics", "city", "sport", "arts", "science"]
section = {f"{name} {k}": name for name in sections for k in range(1, 7)}
rates = dict(zip(section, rng.beta(1, 6, size=30), strict=True))
stories = mb.PartitionMatroid(section, 2).truncate(6)
best = stories.max_weight_basis(np.array([*rates.values()]))
n_visits = 3_000


def opened(order):
    """The first story that a reader opens; None without one."""
    return next((story for story in order if rng.random() < rates[story]), None)


def chance(labels):
    """The chance that a reader opens one of some stories."""
    return 1 - np.prod([1 - rates[story] for story in labels])


# %%
# Three ways to learn from a list
# -------------------------------
# With ``answers="first-click"`` a learner shows a list, and takes the story that was opened.
# With ``answers="clicks"`` all other stories count as 0.

ways = {
    "first click, best first": ("first-click", "best"),
    "first click, worst first": ("first-click", "explore"),
    "all others count as 0": ("clicks", "best"),
}
lost = {}
for name, (answers, order) in ways.items():
    losses = []
    for run in range(5):
        learner = mb.Learner(stories, mb.ThompsonSampling(), seed=run, answers=answers)
        for _ in range(n_visits):
            decision = learner.ask(order=order)
            story = opened(decision.order)
            if answers == "first-click":
                learner.tell(decision, clicked=story)
            else:
                learner.tell(decision, {} if story is None else {story: 1.0})
                learner.close(decision)
            losses.append(chance(stories.labels[e] for e in best) - chance(decision.labels))
    lost[name] = np.cumsum(np.reshape(losses, (5, n_visits)), axis=1).mean(axis=0)

# %%
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, dash in zip(ways, ["-", "--", ":"], strict=True):
    ax.plot(np.arange(1, n_visits + 1), lost[name], linestyle=dash, label=name)
ax.set(title="Readers lost against the best list", xlabel="visits", ylabel="readers")
ax.legend(frameon=False)
plt.show()

# %%
# The finding
# -----------

print(f"the best list is opened by {chance(stories.labels[e] for e in best):.0%} of the readers")
for name in ways:
    print(f"{name}: {lost[name][-1]:.0f} of {n_visits:,} readers lost")

# %%
# To learn from what was looked at alone loses fewer readers. The worst story first loses the
# fewest: a list is worth the same in any order as long as one click is all that counts, and
# readers who find little at the top look at more.
#
# **Read next:** :doc:`/lists`, lists in a product; :doc:`ads_in_slots`, quotas without an
# order; :doc:`late_conversions`, answers that come late.
