"""A list that is read from the top: what becomes of the items below the first click, in a live learner.

    python science/read_from_the_top.py [--runs 20] [--visits 2000]

A visitor reads five of 20 products from the top up to the first click. Thompson sampling is told it: by
`tell(decision, clicked=...)`, with the best product first or, to explore, the worst; or as a site does that knows
clicks alone, where all others count as 0, with the products in the order of the catalogue. Prints the regret of each,
in visits with a click. All seeds are fixed.
"""

import argparse

import numpy as np

import matroid_bandits as mb

N_ITEMS, RANK = 20, 5

WAYS = {
    "unknown: the first click is told, the best product first": ("first-click", None),
    "unknown: the first click is told, the worst product first": ("first-click", "explore"),
    "0: clicks are told, products in the order of the catalogue": ("clicks", None),
}


def regret(seed: int, n_visits: int, way: str) -> float:
    """How many visits with a click less than with the best five, in expectation."""
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.linspace(0.05, 0.5, N_ITEMS))
    best = 1.0 - np.prod(1.0 - np.sort(rates)[-RANK:])
    answers, order = WAYS[way]
    learner = mb.Learner(mb.UniformMatroid(N_ITEMS, RANK), mb.ThompsonSampling(), seed=seed, answers=answers)
    total = 0.0
    for _ in range(n_visits):
        decision = learner.ask(order=order)
        total += best - (1.0 - np.prod(1.0 - rates[decision.items]))
        listed = decision.labels if decision.order is None else decision.order
        clicks = rng.random(RANK) < rates[[*listed]]
        clicked = listed[int(clicks.argmax())] if clicks.any() else None
        if answers == "first-click":
            learner.tell(decision, clicked=clicked)
        else:
            learner.tell(decision, {} if clicked is None else {clicked: 1.0})
            learner.close(decision)
    return total


def main() -> None:
    """Print the regrets with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--visits", type=int, default=2000)
    given = parser.parse_args()
    for way in WAYS:
        found = np.array([regret(seed, given.visits, way) for seed in range(given.runs)])
        print(f"{way}: regret {found.mean():.1f} ± {found.std(ddof=1) / given.runs**0.5:.1f}", flush=True)


if __name__ == "__main__":
    main()
