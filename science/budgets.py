"""Budgets: exact sets beside what is packed instead, and an average budget beside the best mixture of sets.

    python science/budgets.py [--worlds 24] [--only packing|average]

The first table has the policies with the best set within a budget, and with the usual heuristics in its place: by
value per cost, by value with what does not fit left out, and by value up to the first item that does not fit. 30
items cost 5 to 60 of 100, dearer ones are better on average; with groups, at most one of each of six. The first
column is what a heuristic loses where the means are known, over 200 worlds; regret is after 3,000 decisions, of two
runs in each of 24 worlds, mean and standard error, then the median. Scales of OMM are those of 0.1, 0.25 and 0.5
that did best on eight other worlds; the exact set with groups has both 0.1 and 0.25, which were hardly apart there.
The second table has `Budget` on six of 30 items after 5,000 decisions: regret against the best mixture of sets, a
linear program, and what was spent of the budget. Exits with 1 where a figure is more than three standard errors of
the difference from the one expected, or where more than 0.2% above the budget is spent. All seeds are fixed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np
from numba import njit
from scipy.optimize import linprog

import matroid_bandits as mb

N_ITEMS, BUDGET, N_EPISODES = 30, 100, 3000

HOW = {"exact": None, "value per cost": "density", "by value, skip": "rank", "by value, stop": "prefix"}

#: Loss with known means in percent, the scale of OMM, and regret of OMM and of Thompson sampling: mean and error.
EXPECTED = (
    ("no groups", "exact", 0.0, 0.25, (128.8, 9.2), (159.7, 7.3)),
    ("no groups", "value per cost", 2.2, 0.25, (237.0, 24.0), (262.0, 27.0)),
    ("no groups", "by value, skip", 25.0, 0.1, (1877.0, 172.0), (1992.0, 166.0)),
    ("no groups", "by value, stop", 50.0, 0.1, (4170.0, 167.0), (3549.0, 225.0)),
    ("one of a group", "exact", 0.0, 0.1, (299.0, 46.0), (160.3, 8.6)),
    ("one of a group", "exact", 0.0, 0.25, (145.5, 10.2), (160.3, 8.6)),
    ("one of a group", "value per cost", 6.2, 0.1, (473.0, 58.0), (440.0, 55.0)),
    ("one of a group", "by value, skip", 20.0, 0.1, (1492.0, 136.0), (1488.0, 142.0)),
)

#: Regret against the best mixture, and what was spent of the budget, by eta; None without a budget.
EXPECTED_ON_AVERAGE = {None: (-961.0, 1.23), 10.0: ((301.0, 9.0), 0.9997), 100.0: ((269.0, 9.0), 1.0014),
                       1000.0: ((154.0, 17.0), 1.019)}  # fmt: skip


@njit(cache=True)
def fill(order, costs, groups, budget, stops, chosen):
    """Take items in an order while they fit; where `stops`, only up to the first that does not."""
    room = budget
    for e in order:
        if costs[e] > room:
            if stops:
                break
            continue
        is_free = True
        for f in range(costs.shape[0]):
            if chosen[f] and groups[e] >= 0 and groups[f] == groups[e]:
                is_free = False
        if is_free:
            chosen[e] = True
            room -= costs[e]


def pack(values: np.ndarray, basket: mb.KnapsackConstraint, how: str) -> np.ndarray:
    """The items that a heuristic puts into a budget, as a mask."""
    costs = np.array(list(basket.costs.values()))
    groups = np.full(N_ITEMS, -1) if basket.groups is None else np.array(list(basket.groups.values()))
    order = np.argsort(-(values / costs if how == "density" else values), kind="stable")
    chosen = np.zeros(N_ITEMS, bool)
    fill(order, costs, groups, basket.budget, how == "prefix", chosen)
    return chosen


class Packed(mb.PolicyWrapper):
    """Another policy whose sets are packed by a heuristic, in the order of its indices."""

    affine = None

    def __init__(self, base: mb.Policy, how: str) -> None:
        super().__init__(base)
        self._how = how

    def sets(self, state, request):
        U = self._base.indices(state, request)
        chosen = np.stack([pack(row, state.constraint, self._how) for row in U])
        sizes = chosen.sum(axis=1)
        items = np.zeros((sizes.size, int(sizes.max(initial=0))), np.int64)
        for run, row in enumerate(chosen):
            items[run, : sizes[run]] = np.flatnonzero(row)
        return items, sizes


def worlds(n: int, seed: int, has_groups: bool) -> Iterator[tuple[mb.KnapsackConstraint, np.ndarray]]:
    """Budgets with the mean weights of their items."""
    rng = np.random.default_rng(seed)
    groups = (np.arange(N_ITEMS) // 5).tolist() if has_groups else None
    for _ in range(n):
        costs = rng.integers(5, 61, N_ITEMS)
        means = np.clip(rng.random(N_ITEMS) * (0.3 + 0.7 * costs / 60), 0, 1)
        yield mb.KnapsackConstraint(costs, BUDGET, groups), means


def loss(how: str | None, has_groups: bool) -> float:
    """What a heuristic loses on average where the means are known, in percent."""
    found = []
    for basket, means in worlds(200, 3, has_groups):
        items, sizes = basket.best_sets(means[None])
        best = means[items[0, : sizes[0]]].sum()
        found.append(0.0 if how is None else 1.0 - means[pack(means, basket, how)].sum() / best)
    return 100.0 * statistics.fmean(found)


def regrets(policy: mb.Policy, how: str | None, n: int, has_groups: bool) -> list[float]:
    """Regret in every world, over two runs."""
    played = policy if how is None else Packed(policy, how)
    return [
        float(
            mb.simulate(
                mb.Problem(basket, mb.BernoulliEnvironment(means)),
                [played],
                n_episodes=N_EPISODES,
                n_runs=2,
                seed=900,
                start="explore",
            ).regret[0, -1]
        )
        for basket, means in worlds(n, 2, has_groups)
    ]


def mean_of(values: list[float]) -> tuple[float, float]:
    """A mean and its standard error."""
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else np.inf


def is_near(found: tuple[float, float], expected: tuple[float, float]) -> bool:
    return abs(found[0] - expected[0]) <= 3.0 * float(np.hypot(found[1], expected[1]))


def packing(n: int) -> int:
    """Print the first table; return how many figures are not as expected."""
    n_missed = 0
    for kind, name, lost, scale, *expected in EXPECTED:
        start, has_groups, how = time.perf_counter(), kind != "no groups", HOW[name]
        found = loss(how, has_groups)
        cells, is_missed = [], round(found, int(lost < 10.0)) != lost
        for policy, reference in zip((mb.OMM(scale), mb.ThompsonSampling()), expected, strict=True):
            per_world = regrets(policy, how, n, has_groups)
            mean, error = mean_of(per_world)
            is_missed |= not is_near((mean, error), reference)
            cells.append(f"{mean:7.1f} +- {error:5.1f}; {statistics.median(per_world):6.1f}")
        n_missed += is_missed
        print(
            f"{kind:15} {name:15} loses {found:4.1f}%   OMM({scale}) {cells[0]}   Thompson {cells[1]}"
            f"{'   MISSED' if is_missed else ''}   {time.perf_counter() - start:.0f} s",
            flush=True,
        )
    return n_missed


def averages(n: int) -> int:
    """Print the second table; return how many figures are not as expected."""
    rng, n_chosen, n_episodes = np.random.default_rng(2), 6, 5000
    found: dict[float | None, list[tuple[float, float]]] = {eta: [] for eta in EXPECTED_ON_AVERAGE}
    for world in range(n):
        costs = rng.random(N_ITEMS)
        means = np.clip(0.5 * costs + 0.5 * rng.random(N_ITEMS), 0, 1)
        budget = 0.8 * costs[np.argsort(-means)[:n_chosen]].sum()
        mixture = linprog(
            -means, A_ub=costs[None], b_ub=[budget], A_eq=np.ones((1, N_ITEMS)), b_eq=[n_chosen], bounds=(0, 1)
        )
        problem = mb.Problem(mb.UniformMatroid(N_ITEMS, n_chosen), mb.BernoulliEnvironment(means))
        for eta, rows in found.items():
            policy: mb.Policy = mb.ThompsonSampling()
            if eta is not None:  # with costs in units of the largest
                policy = mb.Budget(policy, costs, budget, eta / costs.max() ** 2 if eta != 10.0 else None)
            result = mb.simulate(problem, [policy], n_episodes=n_episodes, n_runs=1, seed=world, start="explore")
            spent = result.choices[0] @ costs / n_episodes / budget
            rows.append((-mixture.fun * n_episodes - float(result.choices[0] @ means), float(spent)))
    n_missed = 0
    for eta, rows in found.items():
        regret, shares = (list(column) for column in zip(*rows, strict=True))
        expected, spent = EXPECTED_ON_AVERAGE[eta]
        mean, error = mean_of(regret)
        share, share_error = mean_of(shares)
        # the budget itself: the default keeps to it within 0.2% in every world
        is_missed = not is_near((share, share_error), (spent, 0.005 if eta is None else 0.0005))  # as printed there
        is_missed |= eta == 10.0 and max(shares) > 1.002
        is_missed |= not is_near((mean, error), expected if isinstance(expected, tuple) else (expected, 100.0))
        n_missed += is_missed
        name = "no budget" if eta is None else "eta 10, the default" if eta == 10.0 else f"eta {eta:g}"
        print(
            f"{name:20} regret against the best mixture {mean:7.1f} +- {error:4.1f}   spent of the budget "
            f"{share:.4f} (largest {max(shares):.4f}){'   MISSED' if is_missed else ''}"
        )
    return n_missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=24, help="worlds of each figure")
    parser.add_argument("--only", choices=("packing", "average"), help="one of the tables")
    arguments = parser.parse_args()
    n_missed = 0
    if arguments.only != "average":
        n_missed += packing(arguments.worlds)
    if arguments.only != "packing":
        n_missed += averages(arguments.worlds)
    print(f"{n_missed} rows missed")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
