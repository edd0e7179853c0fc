"""A list that is read from the top: what becomes of the items below the last one that was looked at.

    python science/read_from_the_top.py [--runs 20] [--visits 2000]

Five of 20 products are shown in the order of the catalogue; a visitor reads from the top up to the first click.
Thompson sampling is told what was looked at, and the decision is closed: without a default, so that the rest stays
unknown, or with the default 0. Prints the regret of both, in visits with a click. All seeds are fixed.
"""

import argparse

import numpy as np

import matroid_bandits as mb

N_ITEMS, RANK = 20, 5


def regret(seed: int, n_visits: int, default: float | None) -> float:
    """How many visits with a click less than with the best five, in expectation."""
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.linspace(0.05, 0.5, N_ITEMS))
    best = 1.0 - np.prod(1.0 - np.sort(rates)[-RANK:])
    learner = mb.Learner(mb.UniformMatroid(N_ITEMS, RANK), mb.ThompsonSampling(), seed=seed)
    total = 0.0
    for _ in range(n_visits):
        decision = learner.ask()
        items = decision.items
        total += best - (1.0 - np.prod(1.0 - rates[items]))
        clicks = rng.random(RANK) < rates[items]
        n_read = int(clicks.argmax()) + 1 if clicks.any() else RANK
        learner.tell(
            decision, dict(zip(items[:n_read].tolist(), clicks[:n_read].astype(float).tolist(), strict=True))
        )
        if n_read < RANK:
            learner.close(decision, default=default)
    return total


def main() -> None:
    """Print both regrets with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--visits", type=int, default=2000)
    given = parser.parse_args()
    for words, default in (("the rest stays unknown", None), ("the rest counts as 0", 0.0)):
        found = np.array([regret(seed, given.visits, default) for seed in range(given.runs)])
        print(f"{words}: regret {found.mean():.1f} ± {found.std(ddof=1) / given.runs**0.5:.1f}", flush=True)


if __name__ == "__main__":
    main()
