"""Simulations that fit on a GPU, for Numba's simulator of one and for real ones, and how results are compared."""

import numpy as np
import pytest

import episode_cases
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


#: Name to what is made of (number of items, random numbers); where they differ from the CPU's, in size.
FAMILIES = episode_cases.FAMILIES | {
    "uniform": lambda n, rng: mb.UniformMatroid(n, min(n // 3, 20)),
    "many": lambda n, rng: mb.UniformMatroid(n, n // 2) if n > 128 else mb.PartitionMatroid(np.arange(n) % 2, 2),
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
}
POLICIES = episode_cases.POLICIES | {"window": mb.SlidingWindowOMM(2, scale=0.5)}
WORLDS = episode_cases.WORLDS | {
    "drift": lambda n, rng: mb.DriftingEnvironment(mb.BernoulliEnvironment(rng.random(n)), to=rng.random(n), over=3),
    "drift in pieces": lambda n, rng: mb.PiecewiseEnvironment(
        [WORLDS["drift"](n, rng), WORLDS["rows"](n, rng), WORLDS["drift"](n, rng)], [2, 4]
    ),
}


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
    return list(dict.fromkeys(case for group in (PLAIN, ORDERED, GENERAL) for case in episode_cases.pairwise(*group)))


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
