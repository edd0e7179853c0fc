"""One of everything: matroids, environments and policies that the tests of several rooms try."""

import numpy as np
from scipy import sparse

import matroid_bandits as mb
from matroid_bandits import (
    BernoulliEnvironment,
    BetaEnvironment,
    ExponentialEnvironment,
    GaussianEnvironment,
    LinearEnvironment,
    RowEnvironment,
    SampleEnvironment,
)

MATROIDS = {
    "uniform": mb.UniformMatroid(6, 3),
    "partition": mb.PartitionMatroid(["a", "a", "b", "b", "b", "c"], {"a": 1, "b": 2, "c": 0}),
    "laminar": mb.LaminarMatroid(6, [([0, 1, 2, 3], 2), ([0, 1], 1), ([4, 5], 1)]),
    "graphic": mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("d", "d"), ("d", "e")]),
    "transversal": mb.TransversalMatroid({"x": [1, 2], "y": [2], "z": [1, 2], "u": [], "v": [3]}),
    "linear": mb.LinearMatroid([[1, 0, 2], [2, 0, 4], [0, 1, 1], [1, 1, 3]]),
    "linear over GF(2)": mb.LinearMatroid([[1, 1], [1, 0], [0, 1]], field=2),
    "linear of floats": mb.LinearMatroid([[0.5, 1.0], [1.0, 2.0], [0.1, 0.7]]),
    "dual": mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)]).dual(),
    "truncation": mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)]).truncate(2),
    "restriction": mb.UniformMatroid(6, 3, labels="abcdef").restrict([5, 1, 2]),
    "contraction": mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)]).contract([0]),
    "direct sum": mb.direct_sum(mb.UniformMatroid(3, 1), mb.PartitionMatroid("aab")),
}

DATA = np.random.default_rng(7).integers(-3, 4, size=(60, 8)) * (np.arange(480).reshape(60, 8) % 3 == 0)
ITEM_FEATURES = np.array(
    [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0], [0.0, 0.0], [1.0, 3.0], [4.0, 0.0], [1.0, -2.0]]
)
RECORDS = [np.arange(e + 1) ** 2 for e in range(8)]
TENTHS = np.arange(1, 9) / 10

#: An environment of eight items of each kind, and the standard deviations of its weights.
WORLDS = {
    "bernoulli": (BernoulliEnvironment(TENTHS), np.sqrt(TENTHS * (1 - TENTHS))),
    "exponential": (ExponentialEnvironment(np.arange(1, 9)), np.ones(8)),
    "beta": (BetaEnvironment(TENTHS * 4, 4 - TENTHS * 4), np.sqrt(TENTHS * (1 - TENTHS) / 5)),
    "gaussian": (GaussianEnvironment(np.arange(-4, 4), noise=2.0), np.full(8, 2.0)),
    "linear": (LinearEnvironment(ITEM_FEATURES, [0.5, 2.0], noise=0.3), np.full(8, 0.3)),
    "row": (RowEnvironment(DATA), DATA.std(axis=0)),
    "sparse row": (RowEnvironment(sparse.csr_array(DATA)), DATA.std(axis=0)),
    "sample": (SampleEnvironment(RECORDS), np.array([np.std(r) for r in RECORDS])),
}

FEATURES = np.column_stack([np.ones(8), np.linspace(-1, 1, 8), np.tile([0.0, 1.0], 4)])


class Mixed(mb.Policy):
    """A user's own, with random numbers and an array of its own."""

    samples = True
    memory = (mb.Memory("last"),)

    def indices(self, state, request):
        t, stream = request.episode, request.stream
        return state.means + stream.normal(t, np.arange(state.n_items)) / t + 0.1 * state.extra["last"]

    def observe(self, state, feedback):
        state.extra["last"][feedback.runs, feedback.items] = feedback.gains


GRAPH = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (0, 3), (1, 4)])
PROBLEM = mb.Problem(GRAPH, mb.BetaEnvironment(np.arange(1, 9) / 2, np.full(8, 2.0)))
BEST = mb.FixedSet(PROBLEM.optimal_basis)
POLICIES = {
    "OMM": mb.OMM(),
    "KLOSM": mb.KLOSM(),
    "eps": mb.EpsilonGreedy(0.3),
    "chance": mb.UniformRandom(),
    "optimal": BEST,
    "beta": mb.ThompsonSampling(),
    "normal": mb.ThompsonSampling("normal", noise=0.3),
    "CombLinUCB": mb.CombLinUCB(FEATURES),
    "CombLinTS": mb.CombLinTS(FEATURES),
    "discounted": mb.DiscountedOMM(0.95, 0.3),
    "own": Mixed(),
    "window": mb.SlidingWindowOMM(7, scale=0.5),
    "fading": mb.DiscountedThompson(0.9),
    "soft": mb.SoftMinimum(),
    "soft normal": mb.SoftMinimum(0.3),
    "CLUCB": mb.CLUCB(0.1),
    "budget": mb.Budget(mb.OMM(0.3), np.arange(8.0), 4.0),
    "steady": mb.Steady(mb.ThompsonSampling(), 0.1),
    "places": mb.PositionBias(mb.OMM(0.3), n_places=3),
    "floors": mb.ExposureFloors(mb.OMM(0.3), {}),
    "restarting": mb.Restarting(mb.OMM(), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)),
}


class OftenRebased(mb.DiscountedOMM):
    """Discounted OMM that changes its powers of two every few episodes."""

    _REBASE_BITS = 2
