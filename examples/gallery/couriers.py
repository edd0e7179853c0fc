"""
Couriers and orders
===================

Every morning each courier takes one order and each order goes to one courier. In the
evening it is known which deliveries came in time. Chances differ by pair: Ann knows the
south, Bob has no van.

A set of pairs in which no courier and no order appears twice is a matching, which is
not a matroid: taking the best pair first may leave bad pairs for the rest.
``AssignmentConstraint`` finds the best matching exactly.
"""

# %%
# The problem
# -----------

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

couriers = ["Ann", "Bob", "Cid", "Eve", "Fay"]
orders = ["north", "south", "east", "west", "piano"]
on_time = np.array(
    [
        [0.90, 0.95, 0.60, 0.70, 0.50],
        [0.45, 0.88, 0.30, 0.40, 0.00],
        [0.40, 0.80, 0.75, 0.50, 0.60],
        [0.30, 0.50, 0.85, 0.80, 0.90],
        [0.20, 0.30, 0.40, 0.55, 0.85],
    ]
)
pairs = mb.AssignmentConstraint.between(
    couriers, orders, forbidden=[("Bob", "piano")], sides=("courier", "order")
)
chances = {(c, o): on_time[i, j] for i, c in enumerate(couriers) for j, o in enumerate(orders)}
problem = mb.Problem(pairs, mb.BernoulliEnvironment([chances[pair] for pair in pairs.labels]))

# %%
# Best pair first, or the best matching?

greedy, left = [], sorted(pairs.labels, key=chances.get, reverse=True)
while left:
    greedy.append(left[0])
    left = [pair for pair in left if pair[0] != greedy[-1][0] and pair[1] != greedy[-1][1]]
first = sum(chances[pair] for pair in greedy)
print(f"best pair first: {first:.2f} of 5 orders in time")
print(f"best matching:   {problem.optimal_value:.2f}")

# %%
# A year of mornings
# ------------------
# Every tenth day Ann's van is at the garage, and she cannot take the piano.

rng = np.random.default_rng(1)
learner = mb.Learner(pairs, mb.ThompsonSampling(), seed=0)
in_time = []
for day in range(365):
    morning = learner.ask(exclude=[("Ann", "piano")] if day % 10 == 9 else ())
    evening = {pair: float(rng.random() < chances[pair]) for pair in morning.labels}
    learner.tell(morning, evening)
    in_time.append(sum(evening.values()))
found = learner.best_basis().labels
print("now:", ", ".join(f"{courier} takes {order}" for courier, order in found))

# %%
# On the left, darker cells are better pairs, and squares are the matching that was learnt.

figure, (table, curve) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
table.imshow(on_time, cmap="Blues", vmin=0, vmax=1)
for (courier, order), n in zip(pairs.labels, learner.estimates().counts, strict=True):
    i, j = couriers.index(courier), orders.index(order)
    table.text(j, i, n, ha="center", va="center", color="w" if on_time[i, j] > 0.6 else "k")
    if (courier, order) in found:
        table.plot(j, i, "s", markersize=26, fillstyle="none", color="#d55e00", mew=2.5)
table.set(title="Days that each pair was tried", xlabel="order", ylabel="courier")
table.set_xticks(range(5), orders)
table.set_yticks(range(5), couriers)
days = np.arange(1, len(in_time) + 1)
curve.plot(days, np.cumsum(in_time) / days, color="#0072b2", label="learner")
curve.axhline(
    problem.optimal_value, color="#555555", ls=":", label="best matching, known chances"
)
curve.axhline(first, color="#d55e00", ls="--", label="best pair first, known chances")
curve.set(title="Orders in time", xlabel="days", ylabel="orders a day (running average)")
curve.set(ylim=(2.5, 5))
curve.legend(frameon=False)
plt.show()

# %%
# The finding
# -----------

start, end = np.mean(in_time[:60]), np.mean(in_time[-60:])
print(f"orders in time a day: {start:.2f} in the first 60 days, {end:.2f} in the last 60")
n_tried = np.count_nonzero(learner.estimates().counts)
print(f"pairs tried at least once: {n_tried} of {pairs.n_items}")

# %%
# Ann is the best courier for the south, and yet Bob should go: he is of little use
# elsewhere. A learner that took the best pair first would never find that out.
#
# **Read next:** :doc:`/not-a-matroid`, the constraints that are not matroids;
# :doc:`colourful_trees`, two matroids at once; :doc:`lenders_and_loans`, matchings in
# which only one side has weights, which are a matroid.
