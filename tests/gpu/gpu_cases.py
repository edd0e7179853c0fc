"""Simulations that fit on a GPU, for Numba's simulator of one and for real ones, and how results are compared."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse

import matroid_bandits as mb
from matroid_bandits.exceptions import DeviceError


def _device():
    try:
        return mb.gpu.find_device()
    except DeviceError:
        return None


DEVICE = _device()
#: The marks of tests that play on one.
NEEDS_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE is None, reason="there is no GPU, and NUMBA_ENABLE_CUDASIM is not set"),
]
#: Whether tests are as large as a GPU plays them in a second, or as small as the simulator does.
IS_LARGE = DEVICE is not None and not DEVICE.is_simulated


class Constant(mb.AffinePolicy):
    """As optimistic in every episode; its coefficient depends on the episode alone."""

    def coefficient(self, state, request):
        return 0.3


#: Name to what is made of (number of items, random numbers).
FAMILIES = {
    "uniform": lambda n, rng: mb.UniformMatroid(n, min(n // 3, 20)),
    "many": lambda n, rng: mb.UniformMatroid(n, n // 2) if n > 128 else mb.PartitionMatroid(np.arange(n) % 2, 2),
    "partition": lambda n, rng: mb.PartitionMatroid(rng.integers(0, 3 + n // 50, n)),
    "mixed capacities": lambda n, rng: _mixed(n, rng),
    "graph": lambda n, rng: mb.GraphicMatroid(rng.integers(0, max(3, n // 3), (n, 2))),
    "transversal": lambda n, rng: mb.TransversalMatroid(
        [[60], *(rng.integers(0, min(n // 2, 60), 3).tolist() for _ in range(n - 1))]
    ),
    "many rights": lambda n, rng: mb.TransversalMatroid(
        [[200], [0, 1, *range(100, 170)], *([e % 3, 3 + e % (n // 4)] for e in range(n - 2))]
    ),
    "integer vectors": lambda n, rng: mb.LinearMatroid(_vectors(n, rng, 0, 2)),
    "large integers": lambda n, rng: mb.LinearMatroid(_vectors(n, rng, -(10**6), 10**6)),
    "bits": lambda n, rng: mb.LinearMatroid(_vectors(n, rng, 0, 2), field=2),
    "float vectors": lambda n, rng: mb.LinearMatroid(_vectors(n, rng, 0, 3) / 3),
    "bridges": lambda n, rng: mb.GraphicMatroid([*((v, v + 1) for v in range(n // 2)), *_chords(n - n // 2, rng)]),
}
POLICIES = {
    "OMM": mb.OMM(0.7),
    "constant": Constant(),
    "epsilon": mb.EpsilonGreedy(0.3),
    "chance": mb.UniformRandom(),
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal", noise=0.4),
    "discounted": mb.DiscountedOMM(0.9),
    "forgetful": mb.DiscountedOMM(0.001, scale=1.0),
    "window": mb.SlidingWindowOMM(2, scale=0.5),
    "long window": mb.SlidingWindowOMM(50),
    "fading": mb.DiscountedThompson(0.8),
}
WORLDS = {
    "bernoulli": lambda n, rng: mb.BernoulliEnvironment(rng.random(n)),
    "ties": lambda n, rng: mb.BernoulliEnvironment(rng.integers(0, 3, n) / 2),
    "exponential": lambda n, rng: mb.ExponentialEnvironment(rng.integers(1, 9, n)),
    "gaussian": lambda n, rng: mb.GaussianEnvironment(rng.random(n), rng.random(n)),
    "beta": lambda n, rng: mb.BetaEnvironment(3 * rng.random(n) + 0.1, 3 * rng.random(n) + 0.1),
    "records": lambda n, rng: mb.SampleEnvironment([rng.random(1 + e % 4) for e in range(n)]),
    "drift": lambda n, rng: mb.DriftingEnvironment(mb.BernoulliEnvironment(rng.random(n)), to=rng.random(n), over=3),
    "seasons": lambda n, rng: mb.DriftingEnvironment(mb.GaussianEnvironment(rng.random(n)), amplitude=0.5, period=5),
    "rows": lambda n, rng: mb.RowEnvironment(rng.integers(0, 2, (7, n))),
    "sparse rows": lambda n, rng: mb.RowEnvironment(scipy.sparse.random(9, n, 0.4, "csr", random_state=rng)),
    "piecewise": lambda n, rng: _piecewise(n, rng),
    "drift in pieces": lambda n, rng: mb.PiecewiseEnvironment(
        [WORLDS["drift"](n, rng), WORLDS["rows"](n, rng), WORLDS["drift"](n, rng)], [2, 4]
    ),
    "extreme": lambda n, rng: mb.RowEnvironment(rng.choice([-1e100, 1e100, 5e-324, -1e-300, 0.0, 1.0], (5, n))),
}
STARTS = ("observe", "explore")
DIRECTIONS = (False, True)


#: What kernels are alike in, so that one stands for all where every two are to meet.
PLAIN = (
    ("uniform", "many", "partition", "mixed capacities", "graph", "bridges"),
    ("OMM", "constant", "epsilon", "chance", "beta", "normal"),
    ("bernoulli", "ties", "exponential", "rows", "sparse rows", "piecewise", "extreme"),
)
ORDERED = (
    ("transversal", "many rights", "integer vectors", "large integers", "bits", "float vectors"),
    ("OMM", "window"),
    ("ties", "gaussian"),
)
GENERAL = (
    ("uniform", "bridges", "transversal"),
    ("OMM", "discounted", "forgetful", "window", "long window", "fading"),
    ("ties", "gaussian", "beta", "records", "drift", "drift in pieces"),
)


def pairwise_cases():
    """Cases (family, policy, world, start, minimize) in which every two values of each of three groups meet."""
    return list(dict.fromkeys(case for group in (PLAIN, ORDERED, GENERAL) for case in _pairwise(*group)))


def _pairwise(families, policies, worlds):
    """Cases in which every two values that can meet do."""
    every = [case for case in product(families, policies, worlds, STARTS, DIRECTIONS) if _is_sound(case)]
    missing = {pair for case in every for pair in _pairs(case)}
    chosen = []
    while missing:
        best = max(every, key=lambda case: len(missing & _pairs(case)))
        chosen.append(best)
        missing -= _pairs(best)
    return chosen


def simulate_twice(case, n_items, n_episodes, n_runs, seed=1):
    """The results of a case on the CPU and on the GPU."""
    family, policy, world, start, minimize = case
    rng = np.random.default_rng(n_items)
    problem = mb.Problem(FAMILIES[family](n_items, rng), WORLDS[world](n_items, rng), minimize=minimize)
    settings = {"n_episodes": n_episodes, "n_runs": n_runs, "seed": seed, "start": start, "keep_runs": True}
    points = [1, n_episodes // 3, n_episodes // 2]
    return tuple(
        mb.simulate(problem, {policy: POLICIES[policy]}, checkpoints=points, device=device, **settings)
        for device in ("cpu", "gpu")
    )


def differences(ours, theirs):
    """The names of the arrays in which two results differ in any bit."""
    names = ("choices", "run_returns", "run_regret", "final_returns", "final_regret", "regret", "regret_se")
    if ours.optimum is not None or theirs.optimum is not None:
        names += ("optimum", "optimal_value")
    return [
        name
        for name in names
        if getattr(theirs, name) is None
        or not np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True)
    ]


def _vectors(n, rng, low, high):
    """Vectors of which the first is in every basis."""
    vectors = rng.integers(low, high, (n, 4 if n < 50 else 40))
    vectors[:, 0] = np.arange(n) == 0
    return vectors


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


def _is_sound(case):
    return not (case[1] in ("beta", "fading") and case[2] in ("exponential", "extreme", "gaussian", "seasons"))


def _pairs(case):
    return set(combinations(enumerate(case), 2))
