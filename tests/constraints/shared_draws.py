"""Disjoint paths whose items share their weights, where CombUCB1 is UCB1 on the paths."""

from itertools import pairwise

import numpy as np

import matroid_bandits as mb
from matroid_bandits.stream import START, WEIGHTS


class SharedBernoulli(mb.Environment):
    """Weights 0 or 1, the same for all items of a group."""

    def __init__(self, means, n_steps):
        super().__init__(np.repeat(means, n_steps), (0.0, 1.0))
        self._n_steps = n_steps

    def draw(self, stream, t, items):
        return (stream.uniform(t, items // self._n_steps) < self.mean_weights[items]).astype(float)


def path_problem(n_paths, n_steps, mean, gap):
    """Disjoint paths from a to z, the first of them better by `gap` for each item."""
    arcs = []
    for p in range(n_paths):
        stops = ["a", *((p, i) for i in range(1, n_steps)), "z"]
        arcs += [*pairwise(stops)]
    means = np.where(np.arange(n_paths) == 0, mean, mean - gap)
    return mb.Problem(mb.PathConstraint(arcs, "a", "z"), SharedBernoulli(means, n_steps))


def ucb1_regrets(problem, n_paths, n_steps, n_episodes, n_runs, seed):
    """Regret of UCB1 with radius sqrt(1.5 log(t - 1) / s) on paths as arms, with a simulation's draws."""
    stream = mb.Stream(seed, range(n_runs))
    first = np.arange(n_paths) * n_steps
    weights = problem.environment
    total = weights.draw(stream.with_purpose(START), 0, first)
    n = np.ones((n_runs, n_paths))
    regret, rows = np.zeros(n_runs), np.arange(n_runs)
    world = stream.with_purpose(WEIGHTS)
    for t in range(1, n_episodes + 1):
        chosen = (total / n + np.sqrt(1.5 * np.log(max(t - 1, 1)) / n)).argmax(axis=1)
        total[rows, chosen] += weights.draw(world, t, first)[rows, chosen]
        n[rows, chosen] += 1
        means = weights.mean_weights[first]
        regret += n_steps * (means[0] - means[chosen])
    return regret
