"""Which courier takes which order? Every evening shows which of the deliveries made came in time.

Each courier takes one order and each order one courier: a matching, which is no matroid. Bob has no van, so two of
the orders are not for him.
"""

import numpy as np

import matroid_bandits as mb

COURIERS, ORDERS = ["ann", "bob", "cid", "eve"], ["north", "south", "east", "piano", "wardrobe"]


def main(n_days: int = 400) -> mb.Learner:
    pairs = mb.AssignmentConstraint.between(COURIERS, ORDERS, forbidden=[("bob", "piano"), ("bob", "wardrobe")])
    rng = np.random.default_rng(1)
    rates = dict(zip(pairs.labels, rng.uniform(0.3, 0.95, pairs.n_items).tolist(), strict=True))
    learner = mb.Learner(pairs, mb.OMM(), seed=0)
    n_in_time = 0.0
    for day in range(n_days):
        # ann's van is at the garage every tenth day
        decision = learner.ask(exclude=[("ann", "piano"), ("ann", "wardrobe")] if day % 10 == 9 else ())
        seen = {pair: float(rng.random() < rates[pair]) for pair in decision.labels}
        learner.tell(decision, seen)
        n_in_time += sum(seen.values())
    best = mb.Problem(pairs, mb.BernoulliEnvironment([rates[pair] for pair in pairs.labels]))
    print(
        f"{n_in_time:.0f} of {4 * n_days} in time; knowing all rates, {n_days * best.optimal_value:.0f} are expected"
    )
    print("now:", ", ".join(f"{courier} to {order}" for courier, order in learner.best_basis().labels))
    for pair in pairs.labels[:3]:
        print(learner.explain(pair))
    return learner


if __name__ == "__main__":
    main()
