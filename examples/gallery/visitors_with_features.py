"""
Visitors with features
======================

A shop shows five of thirty products. What a visitor likes depends on the visitor: a
runner wants shoes, a reader wants books. Before each decision the shop knows a few
numbers of each pair of visitor and product. A policy that uses them can choose another
set for every visitor; one that does not learns what people like on average.

Features come with the request; ``CombLinUCB`` and ``CombLinTS`` learn one coefficient
for each.
"""

# %%
# The problem
# -----------
# ``ContextualEnvironment`` draws the features of a visit anew: the usual ones of a
# product, plus what is special about this visitor. The chance of a sale is linear in the
# features. The best set is another one in every visit, and regret is against that.

import matplotlib.pyplot as plt
import numpy as np

import matroid_bandits as mb

rng = np.random.default_rng(2)
n_products, n_features = 30, 5
usual = np.column_stack(
    [np.ones(n_products), rng.uniform(-0.3, 0.3, (n_products, n_features - 1))]
)
effect = np.array([0.3, 0.12, -0.08, 0.1, 0.05])
spread = [0.0, 0.5, 0.5, 0.5, 0.5]  # the constant does not vary between visitors
world = mb.ContextualEnvironment(usual, effect, spread, distribution="bernoulli")
problem = mb.Problem(mb.UniformMatroid(n_products, 5), world)

# %%
# The race
# --------

policies = {
    "CombLinUCB": mb.CombLinUCB(n_features=n_features, noise=0.5),
    "CombLinTS": mb.CombLinTS(n_features=n_features, noise=0.5),
    "Thompson, no features": mb.ThompsonSampling(),
}
result = mb.simulate(problem, policies, n_episodes=1_000, n_runs=20, seed=0)
print(result.summary())

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
result.plot(ax=axes, unit="sales", log_x=False)
axes.set(xlabel="visits")
plt.show()

# %%
# The finding
# -----------

for name in policies:
    share = result[name].per_step_return[-1] / result.optimal_value
    print(f"{name}: {share:.1%} of the sales of the best sets")

# %%
# Without features the best that can be learnt is the set that suits visitors on average,
# and regret grows at the same rate for ever. With them thirty products share five
# coefficients, and few visits are enough.
#
# **Read next:** :doc:`/policies`, policies with features; :doc:`/learner`, how a request
# brings its features; :doc:`/evaluation`, what a new policy would have sold, from a log.
