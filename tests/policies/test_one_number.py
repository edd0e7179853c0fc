"""MOSS, KL-UCB++, CL-SG and single-seed Thompson: each against a textbook loop, and what they have in common."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

import matroid_bandits as mb
import reference
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import classes
from matroid_bandits.policies import State
from matroid_bandits.stream import POLICY, Stream

MEANS = [0.3, 0.6, 0.6, 0.1, 0.9, 0.5, 0.5, 0.2, 0.8, 0.4]
L, K = len(MEANS), 3
POLICIES = {
    "MOSS": mb.MOSS(),
    "wide MOSS": mb.MOSS(c=1.0),
    "KL-UCB++": mb.KLUCBPlusPlus(),
    "CL-SG": mb.CLSG(),
    "bold CL-SG": mb.CLSG(gamma=2.0),
    "single seed": mb.SingleSeedThompson(),
}


def log_plus(x):
    return math.log(x) if x > 1 else 0.0


def seed_of(t, run, kind):
    stream = Stream(5, [run], POLICY)
    return float((stream.run_normal(t) if kind == "normal" else stream.run_uniform(t))[0])


#: The index of an item whose weights, in [0, 1] and larger is better, have mean m in N plays.
TEXTBOOK = {
    "MOSS": lambda m, N, t, run: m + math.sqrt(0.5 * log_plus(K * t / (L * N)) / N),
    "wide MOSS": lambda m, N, t, run: m + math.sqrt(log_plus(K * t / (L * N)) / N),
    "KL-UCB++": lambda m, N, t, run: kl_plus_plus(m, N, K * t / (L * N)),
    "CL-SG": lambda m, N, t, run: m + seed_of(t, run, "normal") * math.sqrt(0.1 * math.log(t) / (N + 1)),
    "bold CL-SG": lambda m, N, t, run: m + seed_of(t, run, "normal") * math.sqrt(2.0 * math.log(t) / (N + 1)),
    "single seed": lambda m, N, t, run: stats.beta.ppf(seed_of(t, run, "uniform"), 1 + m * N, 1 + (1 - m) * N),
}
UNSEEN = {"CL-SG": 1.0, "bold CL-SG": 1.0, "single seed": 0.5}


@cache
def kl_plus_plus(m, N, y):
    return reference.kl_index(m, log_plus(y * (log_plus(y) ** 2 + 1)) / N)


def textbook(name, world, run, n_episodes, minimize, observe):
    """The set of every episode, item by item; costs enter as one less the weight."""
    draw = reference.weights_of(world, 5, run)
    plays, total = [0] * L, [0.0] * L

    def learn(items, weights):
        for e, w in zip(items, weights, strict=True):
            plays[e] += 1
            total[e] += float(1 - w if minimize else w)

    if observe:
        learn(range(L), draw(0, range(L)))
    sets = []
    for t in range(1, n_episodes + 1):
        U = [
            TEXTBOOK[name](total[e] / plays[e] if plays[e] else UNSEEN[name], plays[e], t, run)
            if plays[e] or name in UNSEEN
            else math.inf
            for e in range(L)
        ]
        chosen = sorted(sorted(range(L), key=lambda e: (-round(U[e], 9), e))[:K])
        learn(chosen, draw(t, chosen))
        sets.append(chosen)
    return sets


@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize("minimize", [False, True], ids=["gains", "costs"])
@pytest.mark.parametrize("name", POLICIES)
def test_a_textbook_loop_chooses_the_same_sets(name, minimize, start):
    world = mb.BernoulliEnvironment(MEANS)
    watched = reference.Watched(world)
    problem = mb.Problem(mb.UniformMatroid(L, K), watched, minimize)
    mb.simulate(problem, POLICIES[name], n_episodes=40, n_runs=2, seed=5, start=start)
    for run in range(2):
        assert watched.bases[run] == textbook(name, world, run, 40, minimize, start == "observe")


@pytest.mark.parametrize("policy", [*POLICIES.values(), mb.KLOSM(), mb.OMM()], ids=repr)
def test_at_equal_counts_a_better_mean_is_a_better_index(policy):
    """KL and all others here: the order of items that were played equally often is that of their means."""
    state = State(mb.UniformMatroid(40, 5), 2, policy=policy)
    sums = np.random.default_rng(3).random((2, 40)) * 12
    state.restore(np.full((2, 40), 12), sums)
    for t in (1, 2, 9, 100, 10**6):
        U = policy.indices(state, mb.Request(t, Stream(0, range(2), POLICY)))
        ordered = np.take_along_axis(U, np.argsort(sums, axis=1), axis=1)
        assert (np.diff(ordered) > -1e-12).all()
        best = {run: set(np.argsort(-sums[run])[:5].tolist()) for run in range(2)}
        assert {run: set(np.argsort(-U[run])[:5].tolist()) for run in range(2)} == best


def test_one_number_is_drawn_for_all_items():
    for policy in (mb.CLSG(), mb.SingleSeedThompson()):
        state = State(mb.UniformMatroid(6, 2), 50, policy=policy)
        state.restore(np.full((50, 6), 3), np.ones((50, 6)))
        U = policy.indices(state, mb.Request(7, Stream(0, range(50), POLICY)))
        assert (U[:, :1] == U).all()
        assert np.unique(U[:, 0]).size == 50


def test_an_item_never_asked_for_is_believed_to_be_the_best_it_can_be():
    for minimize, best in ((False, 1.0), (True, 0.0)):
        state = State(mb.UniformMatroid(3, 1), 1, minimize, mb.CLSG())
        assert mb.CLSG().indices(state, mb.Request(1, Stream(0, [0], POLICY))).tolist() == [[best] * 3]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 10**4, 10**6])
def test_quantiles_of_beta_beliefs(n):
    rng = np.random.default_rng(n)
    successes = np.append(rng.integers(0, n + 1, 40), n * rng.random(40))
    u = np.concatenate([[0.0, 1e-12, 1 - 2**-53], rng.random(77)])
    found = [classes.beta_quantile(1.0 + s, 1.0 + (n - s), x) for s, x in zip(successes, u, strict=True)]
    np.testing.assert_allclose(found, stats.beta.ppf(u, 1 + successes, 1 + (n - successes)), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.MOSS(c=-1), r"expected c to be a number in \[0, 1e\+100\], got -1"),
        (lambda: mb.MOSS(math.nan), "expected c to be a number"),
        (lambda: mb.CLSG("x"), "expected gamma to be a number"),
        (lambda: mb.CLSG(gamma=-0.1), r"expected gamma to be a number in \[0, 1e\+100\], got -0.1"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(PolicyError, match=message):
        make()
