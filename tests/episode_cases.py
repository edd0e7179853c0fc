"""Matroids, policies and worlds that have a compiled form, and cases in which every two of them meet."""

import heapq
from itertools import combinations, product

import numpy as np
import scipy.sparse

import matroid_bandits as mb


class Constant(mb.AffinePolicy):
    """As optimistic in every episode; its coefficient depends on the episode alone."""

    def coefficient(self, state, request):
        return 0.3


#: Name to what is made of (number of items, random numbers).
FAMILIES = {
    "uniform": lambda n, rng: mb.UniformMatroid(n, n // 3),
    "partition": lambda n, rng: mb.PartitionMatroid(rng.integers(0, 3 + n // 50, n)),
    "mixed capacities": lambda n, rng: _mixed(n, rng),
    "free items": lambda n, rng: mb.LaminarMatroid(n, [(range(n // 2), 2), (range(n // 2, n - 2), 1)]),
    "laminar": lambda n, rng: mb.LaminarMatroid(n, [(range(n), n // 2), (range(n // 2), 2), ([0, 1], 1)]),
    "sum": lambda n, rng: mb.direct_sum(mb.UniformMatroid(4, 1), mb.UniformMatroid(n - 4, 3)),
    "transversal": lambda n, rng: mb.TransversalMatroid([rng.integers(0, n // 2, 2).tolist() for _ in range(n)]),
    "many rights": lambda n, rng: mb.TransversalMatroid(
        [[e % 4, *range(4 + 20 * (e % 5), 24 + 20 * (e % 5))] for e in range(n)]
    ),
    "integer vectors": lambda n, rng: mb.LinearMatroid(rng.integers(0, 2, (n, 4))),
    "large integers": lambda n, rng: mb.LinearMatroid(rng.integers(-(10**6), 10**6, (n, 4))),
    "bits": lambda n, rng: mb.LinearMatroid(rng.integers(0, 2, (n, 4)), field=2),
    "float vectors": lambda n, rng: mb.LinearMatroid(rng.integers(0, 3, (n, 4)) / 3),
    "graph": lambda n, rng: mb.GraphicMatroid(rng.integers(0, max(3, n // 3), (n, 2))),
    "bridges": lambda n, rng: mb.GraphicMatroid([*((v, v + 1) for v in range(n // 2)), *_chords(n - n // 2, rng)]),
}
POLICIES = {
    "OMM": mb.OMM(0.7),
    "constant": Constant(),
    "epsilon": mb.EpsilonGreedy(0.3),
    "chance": mb.UniformRandom(),
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal", noise=0.4),
    "KL": mb.KLOSM(0.5),
    "MOSS": mb.MOSS(),
    "KL-UCB++": mb.KLUCBPlusPlus(),
    "CL-SG": mb.CLSG(1.0),
    "single seed": mb.SingleSeedThompson(),
    "discounted": mb.DiscountedOMM(0.9),
    "forgetful": mb.DiscountedOMM(0.001, scale=1.0),
    "window": mb.SlidingWindowOMM(3, scale=0.5),
    "long window": mb.SlidingWindowOMM(50),
    "fading": mb.DiscountedThompson(0.8),
}
WORLDS = {
    "bernoulli": lambda n, rng: mb.BernoulliEnvironment(rng.random(n)),
    "ties": lambda n, rng: mb.BernoulliEnvironment(rng.integers(0, 3, n) / 2),
    "exponential": lambda n, rng: mb.ExponentialEnvironment(rng.integers(1, 9, n)),
    "gaussian": lambda n, rng: mb.GaussianEnvironment(rng.random(n), rng.random(n)),
    "linear": lambda n, rng: mb.LinearEnvironment(rng.random((n, 2)), [0.5, 1.0], noise=0.2),
    "rows": lambda n, rng: mb.RowEnvironment(rng.integers(0, 2, (7, n))),
    "sparse rows": lambda n, rng: mb.RowEnvironment(scipy.sparse.random(9, n, 0.4, "csr", random_state=rng)),
    "no entries": lambda n, rng: mb.RowEnvironment(scipy.sparse.csr_array((4, n))),
    "beta": lambda n, rng: mb.BetaEnvironment(3 * rng.random(n) + 0.1, 3 * rng.random(n) + 0.1),
    "records": lambda n, rng: mb.SampleEnvironment([rng.random(1 + e % 4) for e in range(n)]),
    "drift": lambda n, rng: mb.DriftingEnvironment(mb.BernoulliEnvironment(rng.random(n)), to=rng.random(n), over=4),
    "seasons": lambda n, rng: mb.DriftingEnvironment(mb.GaussianEnvironment(rng.random(n)), amplitude=0.5, period=5),
    "beta drift": lambda n, rng: mb.DriftingEnvironment(
        mb.BetaEnvironment(rng.random(n) + 1, rng.random(n) + 1), to=rng.random(n), over=3
    ),
    "slow latency": lambda n, rng: mb.DriftingEnvironment(mb.ExponentialEnvironment(rng.random(n)), amplitude=0.1),
    "drift in pieces": lambda n, rng: mb.PiecewiseEnvironment(
        [WORLDS["drift"](n, rng), WORLDS["rows"](n, rng), WORLDS["drift"](n, rng)], [3, 5]
    ),
    "piecewise": lambda n, rng: _piecewise(n, rng),
    "trace": lambda n, rng: mb.TraceEnvironment(rng.integers(0, 3, (5, n)) / 2),
    "extreme": lambda n, rng: mb.RowEnvironment(rng.choice([-1e100, 1e100, 5e-324, -1e-300, 0.0, 1.0], (5, n))),
}
#: Worlds with weights outside [0, 1].
WIDE = ("exponential", "gaussian", "linear", "extreme", "seasons", "slow latency")
#: Policies that need weights in [0, 1].
NARROW = ("beta", "KL", "KL-UCB++", "CL-SG", "single seed", "fading")
#: Name to what makes a world answer late, of (world, random numbers); for the CPU alone.
DELAYS = {
    "fixed": lambda world, rng: mb.DelayedEnvironment(world, 2),
    "by item": lambda world, rng: mb.DelayedEnvironment(world, rng.integers(0, 4, world.n_items), never=0.2),
    "geometric": lambda world, rng: mb.DelayedEnvironment(world, mean=1.5),
    "twice": lambda world, rng: mb.DelayedEnvironment(
        mb.DelayedEnvironment(world, mean=2 * rng.random(world.n_items), never=rng.random(world.n_items) / 3),
        rng.integers(0, 2, world.n_items),
        mean=0.5,
    ),
    "in pieces": lambda world, rng: mb.PiecewiseEnvironment(
        [mb.DelayedEnvironment(world, 3), world, mb.DelayedEnvironment(world, mean=1, never=0.1)], [3, 5]
    ),
}
STARTS = ("observe", "explore")
DIRECTIONS = (False, True)


def pairwise(families=FAMILIES, policies=POLICIES, worlds=WORLDS):
    """Cases (family, policy, world, start, minimize) in which every two values that can meet do."""
    every = [case for case in product(families, policies, worlds, STARTS, DIRECTIONS) if is_sound(case)]
    pairs = [_pairs(case) for case in every]
    missing, chosen = set().union(*pairs), []
    most = [(-len(each), i) for i, each in enumerate(pairs)]  # a heap: how many a case adds never grows
    while missing:
        _, i = most[0]
        added = len(missing & pairs[i])
        if (-added, i) > most[0]:
            heapq.heapreplace(most, (-added, i))
        else:
            chosen.append(every[i])
            missing -= pairs[i]
    return chosen


def crossed(cases, values):
    """The cases, each with one of the values behind it, so that each value meets all that the cases are made of."""
    missing = {((i, part), value) for case in cases for i, part in enumerate(case) for value in values}
    chosen = []
    for case in cases:
        pairs = {value: {(part, value) for part in enumerate(case)} for value in values}
        best = max(values, key=lambda value: len(missing & pairs[value]))
        chosen.append((*case, best))
        missing -= pairs[best]
    assert not missing
    return chosen


def is_sound(case):
    """Whether the policy can take the weights of the world."""
    return not (case[1] in NARROW and case[2] in WIDE)


def _piecewise(n, rng):
    """Coins, rows, and the coins again."""
    coins, rows = mb.BernoulliEnvironment(rng.random(n)), mb.RowEnvironment(rng.integers(0, 2, (7, n)))
    return mb.PiecewiseEnvironment([coins, rows, coins], changes=[2, 4])


def _mixed(n, rng):
    blocks = np.concatenate([np.arange(4), rng.integers(0, 4, n - 4)])
    return mb.PartitionMatroid(blocks, {0: 0, 1: 1, 2: 2 + n // 20, 3: n})


def _chords(n, rng):
    ends = rng.integers(0, n // 2 + 1, (n, 2))
    return [tuple(pair) for pair in ends.tolist()]


def _pairs(case):
    return set(combinations(enumerate(case), 2))
