"""
Stopping when sure
==================

A newspaper tests twelve headlines for four stories, three for each, and wants to print
the best one of each story. A test that runs for a fixed time is too short or too long.
A stopping rule ends it when the choice is right with a chance of error of at most δ,
however often one looks.

``identify`` plays until the rule says stop, and compares the number of rounds with the
least that any method needs.
"""

# %%
# The problem
# -----------

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

headlines = {
    f"{story} {k}": story for story in ("storm", "election", "final", "film") for k in "abc"
}
rates = [0.62, 0.45, 0.40, 0.35, 0.55, 0.30, 0.50, 0.33, 0.28, 0.70, 0.48, 0.42]
problem = mb.Problem(mb.PartitionMatroid(headlines), mb.BernoulliEnvironment(rates))

# %%
# One test
# --------

test = mb.identify(problem, delta=0.05, seed=0)
print(test.summary())

# %%
# Many tests
# ----------
# How long does a test take, and how often is it wrong? The rule, for three values of δ:

found = {
    delta: mb.identify(problem, delta=delta, n_runs=40, seed=1) for delta in (0.1, 0.01, 0.001)
}
for delta, it in found.items():
    rounds, n_runs = it.endings.mean_rounds, it.endings.n_runs
    print(f"δ {delta:g}: {rounds:.0f} rounds on average, {it.n_errors} of {n_runs} wrong")

# %%
# A fixed budget of rounds:

budgets = [25, 50, 100, 200, 400, 800]
wrong = [mb.identify(problem, budget=b, n_runs=200, seed=2).n_errors / 200 for b in budgets]
for budget, share in zip(budgets, wrong, strict=True):
    print(f"{budget:3d} rounds: {share:.1%} of the tests wrong")

# %%
looks = [("#0072b2", "-"), ("#d55e00", "--"), ("#009e73", "-.")]
figure, (curves, bars) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for (delta, it), (colour, dash) in zip(found.items(), looks, strict=True):
    rounds = np.sort(it.endings.rounds)
    share = 100 * np.arange(1, rounds.size + 1) / rounds.size
    curves.step(rounds, share, color=colour, linestyle=dash, label=f"δ = {delta:g}")
    curves.plot(it.bound.rounds, 0, marker="^", color=colour, clip_on=False)
curves.set(title="Tests that have stopped", ylabel="percent of tests")
curves.set(xlabel="rounds (▲: least mean of any method)", xlim=(0, None), ylim=(0, 100))
curves.legend(frameon=False)
bars.bar(range(len(budgets)), 100 * np.array(wrong), color="#0072b2")
bars.set_xticks(range(len(budgets)), budgets)
bars.set(title="Wrong choices with a fixed budget", xlabel="rounds")
bars.set(ylabel="percent of tests", ylim=(0, 100))
plt.show()

# %%
# The finding
# -----------

ratio = {delta: it.endings.mean_rounds / it.bound.rounds for delta, it in found.items()}
print(
    "rounds beside the least possible:",
    ", ".join(f"{r:.1f} times at δ {delta:g}" for delta, r in ratio.items()),
)
stopped = found[0.1].endings.rounds
print(f"tests with δ 0.1 stopped after {stopped.min()} to {stopped.max()} rounds")

# %%
# A budget is a guess: too short, and the choice is wrong; too long, and readers see poor
# headlines for nothing. The rule takes the time that the closest call needs, which
# differs from test to test, and a smaller δ costs few rounds more.
#
# **Read next:** :doc:`/stopping`, the rule, its proof, and live learners that say how
# sure they are; :doc:`ads_in_slots`, when every visit counts from the first.
