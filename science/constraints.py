"""Regret on constraints that are no matroids, beside figures that another implementation found.

    python science/constraints.py [--runs 20] [--paths 200]

Prints two tables: policies on paths through a grid and on assignments; and CombUCB1 on disjoint paths whose items
share their weights, where it is UCB1 on the paths. Exits with 1 where a figure is more than three standard errors
of the difference from the one expected. All seeds are fixed.
"""

import argparse
import sys
import time

import numpy as np

import matroid_bandits as mb

POLICIES = {
    "CombUCB1": mb.OMM(scale=0.75**0.5),
    "OMM": mb.OMM(),
    "OMM(.3)": mb.OMM(scale=0.3),
    "KL-OSM": mb.KLOSM(),
    "Thompson": mb.ThompsonSampling(),
}

#: Mean regret after 5,000 episodes and its standard error over 20 runs, in the order of the policies.
EXPECTED = {
    "grid path": [(239.6, 2.1), (314.8, 2.6), (25.3, 0.9), (47.4, 0.9), (4.5, 0.9)],
    "assignment": [(1175.0, 15.0), (1429.0, 12.0), (197.0, 7.0), (464.0, 12.0), (192.0, 8.0)],
}


def grid_problem(m: int = 3) -> mb.Problem:
    """Paths from the upper left to the lower right of m x m blocks; the left and the lower edge are better."""
    arcs, means = [], []
    for i in range(m + 1):
        for j in range(m + 1):
            if i < m:
                arcs.append(((i, j), (i + 1, j)))
                means.append(0.9 if j == 0 else 0.1)
            if j < m:
                arcs.append(((i, j), (i, j + 1)))
                means.append(0.9 if i == m else 0.1)
    return mb.Problem(mb.PathConstraint(arcs, (0, 0), (m, m)), mb.BernoulliEnvironment(means))


def assignment_problem(n: int = 6) -> mb.Problem:
    """n rows and n columns; pairs on the diagonal are better."""
    pairs = mb.AssignmentConstraint.between(range(n), range(n))
    return mb.Problem(pairs, mb.BernoulliEnvironment(np.where(np.eye(n, dtype=bool), 0.6, 0.4).reshape(-1)))


class SharedBernoulli(mb.Environment):
    """Weights 0 or 1, the same for all items of a path."""

    def __init__(self, means: np.ndarray, n_steps: int) -> None:
        super().__init__(np.repeat(means, n_steps), (0.0, 1.0))
        self._n_steps = n_steps

    def draw(self, stream, t, items):
        return (stream.uniform(t, items // self._n_steps) < self.mean_weights[items]).astype(float)


def path_problem(n_paths: int, n_steps: int, gap: float) -> mb.Problem:
    """Disjoint paths, the first of them better by `gap` for each item."""
    arcs = []
    for p in range(n_paths):
        stops = ["a", *((p, i) for i in range(1, n_steps)), "z"]
        arcs += [(stops[i], stops[i + 1]) for i in range(n_steps)]
    means = np.where(np.arange(n_paths) == 0, 0.5, 0.5 - gap)
    return mb.Problem(mb.PathConstraint(arcs, "a", "z"), SharedBernoulli(means, n_steps))


def final(result: mb.SimulationResult, place: int) -> tuple[float, float]:
    """Mean regret after the last episode and its standard error."""
    return float(result.regret[place, -1]), float(result.regret_se[place, -1])


def is_near(found: tuple[float, float], expected: tuple[float, float]) -> bool:
    return abs(found[0] - expected[0]) <= 3.0 * float(np.hypot(found[1], expected[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of the first table")
    parser.add_argument("--paths", type=int, default=200, help="runs of the second table")
    arguments = parser.parse_args()
    n_missed = 0
    for name, problem in (("grid path", grid_problem()), ("assignment", assignment_problem())):
        start = time.perf_counter()
        result = mb.simulate(problem, POLICIES, n_episodes=5000, n_runs=arguments.runs, seed=7)
        print(f"{name}: L = {problem.n_items}, K = {problem.rank}, {arguments.runs} runs of 5,000, seed 7")
        for place, (policy, expected) in enumerate(zip(POLICIES, EXPECTED[name], strict=True)):
            found = final(result, place)
            n_missed += not is_near(found, expected)
            verdict = "" if is_near(found, expected) else "  MISSED"
            print(
                f"  {policy:9} {found[0]:8.1f} +- {found[1]:5.1f}   expected {expected[0]:8.1f} +- {expected[1]:5.1f}"
                + verdict
            )
        print(f"  {time.perf_counter() - start:.0f} s")
    problem = path_problem(5, 4, 0.2)
    result = mb.simulate(
        problem, {"CombUCB1": POLICIES["CombUCB1"]}, n_episodes=20_000, n_runs=arguments.paths, seed=3
    )
    found, expected = final(result, 0), (903.3, 7.6)
    n_missed += not is_near(found, expected)
    print(f"5 disjoint paths of 4, gap 0.2 an item: {arguments.paths} runs of 20,000, seed 3")
    print(f"  CombUCB1 {found[0]:.1f} +- {found[1]:.1f}, UCB1 on paths {expected[0]} +- {expected[1]}")
    print(
        f"  bound {float(mb.bounds.comb_ucb1(problem, 20_000)):,.0f}, lower slope "
        f"{mb.bounds.path_lower_bound(20, 4, 0.8):g} log n"
    )
    print(f"{n_missed} figures missed")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
