"""Policies: OMM against the paper's pseudocode, the others' indices and beliefs against slow formulas."""

import math
import runpy
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies import State, evaluate
from matroid_bandits.stream import POLICY, ROUNDING, Stream
from samples import MATROIDS

TENTHS = [0.3, 0.6, 0.6, 0.1, 0.9, 0.5, 0.5, 0.2, 0.8, 0.4]


def policy_stream(n_runs, seed=1):
    return Stream(seed, range(n_runs), POLICY)


def state_of(counts, sums, minimize=False):
    """A state that has seen `counts` weights of each item that add up to `sums`."""
    counts, sums = np.atleast_2d(counts), np.atleast_2d(sums).astype(float)
    state = State(matroid_of(counts.shape[1]), counts.shape[0], minimize)
    state.restore(counts, -sums if minimize else sums)
    return state


def matroid_of(n_items):
    return mb.UniformMatroid(n_items, 1)


def request(t, n_runs=1):
    return mb.Request(t, policy_stream(n_runs))


# OMM is the paper's Algorithm 2


def assert_same_bases(matroid, is_independent, world, *, n_episodes, n_runs, seed, minimize, start, scale, engine):
    """In every episode of every run, and in what `simulate` reports of them."""
    policies = {"OMM": mb.OMM(scale)}
    settings = {"n_episodes": n_episodes, "n_runs": n_runs, "seed": seed, "start": start, "engine": engine}
    watched = reference.Watched(world)
    mb.simulate(mb.Problem(matroid, watched, minimize), policies, **settings)
    is_independent = reference.remembered(is_independent)
    slow = [
        reference.omm(
            matroid.n_items,
            is_independent,
            reference.weights_of(world, seed, run),
            n_episodes,
            minimize=minimize,
            scale=scale,
            observe=start == "observe",
        )
        for run in range(n_runs)
    ]
    assert [watched.bases[run] for run in range(n_runs)] == slow

    problem = mb.Problem(matroid, world, minimize)
    result = mb.simulate(problem, policies, **settings)
    chosen = np.bincount(np.array(slow, np.int64).ravel(), minlength=matroid.n_items)
    assert result.choices[0].tolist() == chosen.tolist()
    sign, means = -1 if minimize else 1, world.mean_weights
    regret = [sum(sign * (problem.optimal_value - means[A].sum()) for A in bases) for bases in slow]
    assert np.allclose(result.final_regret[0], regret, rtol=0, atol=1e-12 * n_episodes * (1 + matroid.rank))
    returns = [
        sum(reference.weights_of(world, seed, run)(t, A).sum() for t, A in enumerate(bases, 1))
        for run, bases in enumerate(slow)
    ]
    assert np.allclose(result.final_returns[0], returns, rtol=1e-12, atol=1e-12)


@settings(max_examples=100)
@given(
    pair=strategies.nested(),
    minimize=st.booleans(),
    start=st.sampled_from(["observe", "explore"]),
    engine=st.sampled_from(["auto", "greedy"]),
    has_ties=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
def test_omm_is_the_papers_algorithm_on_any_matroid(pair, minimize, start, engine, has_ties, seed):
    matroid, is_independent = pair
    means = np.resize(TENTHS, matroid.n_items)
    world = mb.BernoulliEnvironment(means) if has_ties else mb.GaussianEnvironment(means)
    assert_same_bases(
        matroid,
        is_independent,
        world,
        n_episodes=25,
        n_runs=2,
        seed=seed,
        minimize=minimize,
        start=start,
        scale=1.0 if has_ties else 2.5,
        engine=engine,
    )


@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize("minimize", [False, True], ids=["maximize", "minimize"])
@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS)
def test_omm_is_the_papers_algorithm_for_long(matroid, minimize, start):
    """A few hundred episodes, where the order of the items changes slowly and engines may remember it."""
    world = mb.BernoulliEnvironment(np.resize(TENTHS, matroid.n_items))
    assert_same_bases(
        matroid,
        matroid.is_independent,
        world,
        n_episodes=250,
        n_runs=3,
        seed=5,
        minimize=minimize,
        start=start,
        scale=0.5,
        engine="auto",
    )


def test_omm_radius_is_the_papers():
    policy = mb.OMM(scale=3.0)
    assert policy.confidence_radius(t=50, count=7) == pytest.approx(3 * math.sqrt(2 * math.log(50) / 7))
    assert (
        policy.coefficient(None, request(1)) == policy.coefficient(None, request(2)) == 0.0
    )  # log 0 is taken as log 1
    U = policy.indices(state_of([4, 0, 1], [1.0, 0.0, 0.5]), request(51))
    c = 3 * math.sqrt(2 * math.log(50))
    assert U.tolist() == [[0.25 + c * 0.5, math.inf, 0.5 + c]]


@pytest.mark.parametrize("start", ["observe", "explore"])
def test_costs_are_what_is_missing_to_one(start):
    """Minimising 1 - w decides as maximising w does, wherever 1 - w is exact: here weights are 0 or 1."""
    means = np.array(TENTHS)
    worlds = reference.Watched(mb.BernoulliEnvironment(means)), reference.Watched(Missing(means))
    matroid = mb.PartitionMatroid([0, 0, 0, 1, 1, 1, 1, 2, 2, 2], {0: 1, 1: 2, 2: 1})
    for policy in (mb.OMM(), mb.KLOSM(), mb.ThompsonSampling(), mb.ThompsonSampling("normal")):
        bases = []
        for world, minimize in zip(worlds, (False, True), strict=True):
            world.bases.clear()
            problem = mb.Problem(matroid, world, minimize)
            mb.simulate(problem, [policy], n_episodes=100, n_runs=2, seed=3, start=start)
            bases.append(dict(world.bases))
        assert bases[0] == bases[1], policy


class Missing(mb.Environment):
    """What a Bernoulli environment's weights lack to 1, in the same world."""

    def __init__(self, means):
        super().__init__(1.0 - means, (0.0, 1.0))
        self._world = mb.BernoulliEnvironment(means)

    def draw(self, stream, t, items):
        return 1.0 - self._world.draw(stream, t, items)


# KLOSM


def kl_index(means, counts, t, minimize=False, c=0.0):
    counts, means = np.atleast_2d(counts), np.atleast_2d(means)
    state = state_of(counts, np.zeros(counts.shape), minimize)
    state.means[:] = means  # sums of huge counts would round
    return mb.KLOSM(c).indices(state, request(t, counts.shape[0]))


@settings(max_examples=150)
@given(
    p=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-300, 1e-12, 0.5, 1 - 1e-12, 1 - 2**-53, 1.0])),
    count=st.one_of(st.integers(1, 50), st.sampled_from([10**3, 10**6, 10**9, 10**12, 10**18])),
    t=st.one_of(st.integers(2, 100), st.sampled_from([10**4, 10**8, 2**48 - 1])),
    c=st.sampled_from([0.0, 3.0]),
)
def test_kl_index_is_the_root(p, count, t, c):
    budget = math.log(t) + c * math.log(max(math.log(t), 1.0))
    (index,) = kl_index([p], [count], t, c=c)[0]
    assert abs(index - reference.kl_index(p, budget / count)) <= 1e-12
    assert p <= index <= 1.0


def test_kl_index_at_the_edges():
    assert kl_index([0.0, 0.3, 1.0], [5, 5, 5], t=1).tolist() == [[0.0, 0.3, 1.0]]  # nothing to spend in episode 1
    assert kl_index([0.3, 1.0], [0, 7], t=9).tolist() == [[math.inf, 1.0]]
    assert kl_index([0.0], [4], t=9)[0, 0] == pytest.approx(1 - 9 ** (-1 / 4), abs=1e-12)  # kl(0, q) = -log(1 - q)
    index = kl_index(np.full(50, 0.4), np.arange(1, 51), t=100)[0]
    assert (np.diff(index) < 0).all()
    assert (kl_index([0.4, 0.4], [10, 20], t=101)[0] > kl_index([0.4, 0.4], [10, 20], t=100)[0]).all()


def test_kl_index_of_costs_is_a_lower_bound():
    upper = kl_index([0.25, 0.75, 0.0], [3, 10, 2], t=20)
    lower = kl_index(np.array([-0.75, -0.25, -1.0]), [3, 10, 2], t=20, minimize=True)
    assert np.allclose(lower, upper - 1.0, rtol=0, atol=1e-15)


# Thompson sampling


def test_beta_beliefs_count_rounded_weights():
    policy = mb.ThompsonSampling()
    agent = Agent(matroid_of(4), policy, n_runs=3)
    state = agent.state
    rng = np.random.default_rng(0)
    expected = np.zeros((3, 4))
    for t in range(1, 40):
        items = np.array([rng.choice(4, 2, replace=False) for _ in range(3)])
        weights = rng.choice([0.0, 0.25, 1.0], (3, 2))
        agent.observe(request(t, 3), items, weights)
        for run in range(3):
            for e, w in zip(items[run].tolist(), weights[run].tolist(), strict=True):
                expected[run, e] += Stream(1, [run], ROUNDING).uniform(t, [e])[0, 0] < w
    assert np.array_equal(state.extra["successes"], expected)
    U = policy.indices(state, request(40, 3))
    assert np.array_equal(U, policy_stream(3).beta(40, np.arange(4), 1 + expected, 1 + state.counts - expected))


def test_beta_beliefs_count_certain_weights_exactly():
    for minimize in (False, True):
        agent = Agent(matroid_of(2), mb.ThompsonSampling(), minimize=minimize)
        for t in range(1, 11):
            items, weights = np.array([[0, 1]]), np.array([[1.0, 0.0]])
            agent.observe(request(t), items, weights)
        assert agent.state.extra["successes"].tolist() == ([[0.0, 10.0]] if minimize else [[10.0, 0.0]])


def test_normal_beliefs():
    state = state_of([[4, 0, 1]], [[2.0, 0.0, 3.0]])
    z = policy_stream(1).normal(7, np.arange(3))[0]
    sampled = evaluate(mb.ThompsonSampling("normal", noise=2.0), state, request(7))[0]
    assert sampled == pytest.approx([0.5 + 2 * z[0] / 2, math.inf, 3.0 + 2 * z[2]])


# Linear policies


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize(("prior_scale", "noise"), [(1.0, 0.1), (3.0, 0.5), (100.0, 0.01)])
def test_kalman_updates_give_the_ridge_posterior(minimize, prior_scale, noise):
    rng = np.random.default_rng(2)
    X, theta = rng.normal(size=(12, 4)), rng.normal(size=4)
    policy = mb.CombLinUCB(X, c=1.5, prior_scale=prior_scale, noise=noise)
    agent = Agent(matroid_of(12), policy, n_runs=2, minimize=minimize)
    state = agent.state
    seen = [[], []]
    for t in range(1, 30):
        items = np.array([rng.choice(12, 3, replace=False) for _ in range(2)])
        weights = X[items] @ theta + noise * rng.normal(size=items.shape)
        agent.observe(request(t, 2), items, weights)
        for run in range(2):
            seen[run] += zip(items[run].tolist(), weights[run].tolist(), strict=True)
    U = policy.indices(state, request(30, 2))
    for run in range(2):
        A = X[[e for e, _ in seen[run]]]
        b = np.array([w for _, w in seen[run]]) * (-1 if minimize else 1)
        precision = A.T @ A / noise**2 + np.eye(4) / prior_scale**2
        covariance = np.linalg.inv(precision)
        mean = covariance @ A.T @ b / noise**2
        assert np.allclose(state.extra["theta"][run], mean, rtol=1e-7)
        assert np.allclose(state.extra["root"][run], np.linalg.cholesky(covariance), rtol=1e-7, atol=1e-10 * noise)
        width = np.sqrt(np.einsum("ed,df,ef->e", X, covariance, X))
        assert np.allclose(U[run], X @ mean + 1.5 * width, rtol=1e-7, atol=1e-7)


def test_linear_thompson_samples_the_posterior():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    policy = mb.CombLinTS(X, prior_scale=2.0)
    state = State(matroid_of(3), 4000, policy=policy)
    state.extra["theta"][:] = [1.0, -1.0]
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    state.extra["root"][:] = np.linalg.cholesky(covariance)
    U = policy.indices(state, request(1, 4000))
    expected = X @ covariance @ X.T
    # entries of a sample covariance have variance (s_ii s_jj + s_ij^2) / n
    error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / 4000)
    assert (np.abs(np.cov(U.T) - expected) < 5 * error).all()
    assert (np.abs(U.mean(axis=0) - [1.0, 0.0, -2.0]) < 5 * np.sqrt(expected.diagonal() / 4000)).all()


def exact_belief(X, seen, gains, prior_scale, noise):
    """The posterior means and widths of all rows of X in rational numbers, rounded once."""
    d, variance = X.shape[1], Fraction(noise) ** 2
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    precision = [[Fraction(i == j) / Fraction(prior_scale) ** 2 for j in range(d)] for i in range(d)]
    right = [Fraction(0)] * d
    for e in set(seen):
        n, total = seen.count(e), sum(Fraction(gain) for item, gain in zip(seen, gains, strict=True) if item == e)
        for i in range(d):
            right[i] += rows[e][i] * total / variance
            for j in range(d):
                precision[i][j] += n * rows[e][i] * rows[e][j] / variance
    table = [[*precision[i], right[i], *(row[i] for row in rows)] for i in range(d)]
    for i in range(d):
        table[i] = [value / table[i][i] for value in table[i]]
        for k in range(d):
            if k != i and table[k][i]:
                table[k] = [a - table[k][i] * b for a, b in zip(table[k], table[i], strict=True)]
    means = [float(sum(row[i] * table[i][d] for i in range(d))) for row in rows]
    widths = [math.sqrt(sum(row[i] * table[i][d + 1 + e] for i in range(d))) for e, row in enumerate(rows)]
    return np.array(means), np.array(widths)


@pytest.mark.parametrize(
    ("size", "prior_scale", "noise", "n_seen"),
    [(1.0, 1.0, 0.1, 12), (1e6, 1.0, 0.1, 12), (1.0, 1e3, 1e-3, 12), (1.0, 1.0, 1e-6, 3), (1e6, 1e3, 1e-3, 12)],
    ids=["plain", "large beside an intercept", "vague", "vague, few seen", "both"],
)
@pytest.mark.parametrize("n", [5, 300])
def test_widths_are_right_whatever_the_scales(size, prior_scale, noise, n_seen, n):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 4)).round(3) * size
    X[:, 0] = 1.0
    seen = rng.integers(n_seen, size=n).tolist()
    gains = (rng.normal(size=12)[seen] + noise * rng.normal(size=n)).tolist()
    optimistic, sampling = (kind(X, prior_scale=prior_scale, noise=noise) for kind in (mb.CombLinUCB, mb.CombLinTS))
    agent = Agent(matroid_of(12), optimistic)
    for e, gain in zip(seen, gains, strict=True):
        agent.observe(request(1), np.array([[e]]), np.array([[gain]]))
    means, widths = exact_belief(X, seen, gains, prior_scale, noise)
    # conditioning rounds by 1e-16 of the prior's width, 1e12 times the narrowest at worst
    tolerance = 1e-3 * widths
    assert (np.abs(optimistic.indices(agent.state, request(2))[0] - means - widths) <= tolerance).all()
    samples = [sampling.indices(agent.state, request(t))[0] for t in range(2, 402)]
    spread = np.std(samples, axis=0)
    assert (np.abs(spread / widths - 1) < 5 / math.sqrt(2 * 400)).all()  # five standard errors


def test_a_covariance_of_an_early_file_that_is_not_definite_has_a_factor():
    converted = {each.former: each.converted for each in mb.CombLinTS(np.eye(3)).memory}["covariance"]
    indefinite = np.diag([1.0, 0.5, -1e-9])[None]
    root = converted(indefinite)
    assert np.allclose(root @ root.transpose(0, 2, 1), indefinite, rtol=0, atol=1e-8)
    with pytest.raises(PolicyError, match="finite"):
        converted(np.full((1, 3, 3), np.nan))


# Baselines


def test_epsilon_greedy_explores_as_often_as_it_says():
    policy = mb.EpsilonGreedy(0.2)
    state = state_of(np.ones((2000, 3), int), np.tile([5.0, 4.0, 3.0], (2000, 1)))
    U = policy.indices(state, request(3, 2000))
    is_random = (U[:, 0] < 1.0).sum()
    assert abs(is_random - 400) < 5 * math.sqrt(2000 * 0.2 * 0.8)
    assert (U[U[:, 0] >= 1.0] == [5.0, 4.0, 3.0]).all()
    assert (mb.EpsilonGreedy(0.0).indices(state, request(3, 2000)) == state.means).all()
    everything = mb.EpsilonGreedy(1.0).indices(state, request(3, 2000))
    assert np.array_equal(everything, mb.UniformRandom().indices(state, request(3, 2000)))


def test_uniform_random_has_no_favourites():
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.BernoulliEnvironment([0.1, 0.9, 0.5, 0.5, 0.0]))
    result = mb.simulate(problem, [mb.UniformRandom()], n_episodes=50, n_runs=20, seed=0)
    assert (np.abs(result.choices[0] - 400) < 5 * math.sqrt(1000 * 0.4 * 0.6)).all()


def test_a_fixed_set_is_played_whatever_happens():
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.1, 0.9, 0.5]))
    result = mb.simulate(problem, [mb.FixedSet(problem.optimal_basis)], n_episodes=10, n_runs=4, seed=0)
    assert result.choices.tolist() == [[0, 40, 40]]
    assert (result.final_regret == 0.0).all()
    assert mb.Learner(problem.constraint, mb.FixedSet([2, 0])).ask().items.tolist() == [0, 2]
    graph = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)])
    assert mb.Learner(graph, mb.FixedSet([2])).ask().items.tolist() == [0, 2, 3]  # completed by the smallest that fit
    assert mb.Learner(graph, mb.FixedSet([0, 1, 2, 3])).ask().items.tolist() == [0, 1, 3]
    with pytest.raises(PolicyError, match=r"expected items in 0\.\.2, got 3"):
        mb.Learner(problem.constraint, mb.FixedSet([3]))
    with pytest.raises(PolicyError, match=r"expected items in 0\.\.2, got -1"):
        mb.Learner(problem.constraint, mb.FixedSet([0, -1]))


# What policies have in common


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.OMM(-1.0), r"expected scale to be a number in \[0, 1e\+100\], got -1"),
        (lambda: mb.OMM(math.nan), r"expected scale to be a number in \[0, 1e\+100\], got nan"),
        (lambda: mb.OMM("1"), "expected scale to be a number in .*, got '1'"),
        (lambda: mb.OMM(True), "expected scale to be a number in .*, got True"),
        (lambda: mb.DiscountedOMM(0.0), r"expected gamma to be a number in \[0.001, 1\], got 0"),
        (lambda: mb.DiscountedOMM(1.001), r"expected gamma to be a number in \[0.001, 1\], got 1.001"),
        (lambda: mb.DiscountedOMM(math.nan), "expected gamma to be a number in .*, got nan"),
        (lambda: mb.DiscountedOMM("0.9"), "expected gamma to be a number in .*, got '0.9'"),
        (lambda: mb.DiscountedOMM(0.9, -0.1), r"expected scale to be a number in \[0, 1e\+100\], got -0.1"),
        (lambda: mb.DiscountedOMM(0.9, True), "expected scale to be a number in .*, got True"),
        (lambda: mb.EpsilonGreedy(1.5), r"expected epsilon to be a number in \[0, 1\], got 1.5"),
        (lambda: mb.KLOSM(c=-1), "expected c to be a finite number of at least 0"),
        (lambda: mb.ThompsonSampling("gamma"), 'expected prior to be "beta" or "normal", got \'gamma\''),
        (lambda: mb.ThompsonSampling("normal", noise=math.inf), "expected noise"),
        (
            lambda: mb.OMM(10**400),
            r"expected scale to be a number in \[0, 1e\+100\], got an integer of more than 100 digits",
        ),
        (lambda: mb.OMM(10**5000), "expected scale to be .* more than 100 digits"),  # too long for Python to print
        (lambda: mb.OMM(1e101), r"expected scale to be a number in \[0, 1e\+100\], got 1e\+101"),
        (lambda: mb.KLOSM(10**400), "expected c to be a finite number of at least 0, got an integer of more"),
        (lambda: mb.FixedSet(3), "expected the items of a set, got 3"),
        (lambda: mb.CombLinUCB([1.0, 2.0]), r"expected features of shape \(n_items, n_features\), got shape"),
        (lambda: mb.CombLinTS([[1.0], [math.nan]]), "expected finite features"),
        (lambda: mb.CombLinTS([[1.0], [1.0, 2.0]]), "expected features as a 2-d array"),
        (lambda: mb.CombLinTS([["a"]]), "expected features as a 2-d array"),
        (lambda: mb.CombLinTS([[1.0]], noise=0.0), "expected noise to be a number in"),
        (lambda: mb.CombLinTS([[1.0]], prior_scale=0.0), "expected prior_scale to be a number in"),
        (lambda: mb.CombLinUCB([[1.0]], c=-0.1), "expected c to be a finite number of at least 0"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


def test_policies_are_equal_by_their_parameters():
    features = np.eye(2)
    policies = [
        mb.OMM(),
        mb.OMM(2.0),
        mb.EpsilonGreedy(),
        mb.EpsilonGreedy(0.2),
        mb.UniformRandom(),
        mb.KLOSM(),
        mb.KLOSM(3),
        mb.ThompsonSampling(),
        mb.ThompsonSampling("normal"),
        mb.CombLinUCB(features),
        mb.CombLinTS(features),
        mb.CombLinTS(2 * features),
        mb.CombLinTS(features, noise=1.0),
        Ranked(1),
        Ranked(2),
    ]
    for i, a in enumerate(policies):
        assert [a == b for b in policies] == [i == j for j in range(len(policies))]
    assert mb.OMM() == mb.OMM(1)
    assert hash(mb.OMM()) == hash(mb.OMM(1))
    assert mb.CombLinTS(features) == mb.CombLinTS(features.tolist())
    assert Ranked(1) == Ranked(1)
    assert mb.OMM() != "OMM"


class Ranked(mb.Policy):
    """A user's own."""

    def __init__(self, power):
        self.power = power

    def indices(self, state, request):
        return state.means**self.power


def test_repr_shows_parameters():
    assert repr(mb.OMM(2)) == "OMM(scale=2.0)"
    assert repr(mb.ThompsonSampling()) == "ThompsonSampling(prior='beta', noise=1.0)"
    assert repr(mb.CombLinTS(np.eye(3))) == "CombLinTS(features=<array (3, 3)>, prior_scale=1.0, noise=0.1)"
    assert repr(Ranked(3)) == "Ranked(power=3)"
    assert repr(Wrong(None)) == "Wrong(answer=None)"
    assert repr(mb.FixedSet([1])) == "FixedSet(items=[1])"
    assert repr(mb.FixedSet(np.array([1]))) == "FixedSet(items=<array (1,)>)"


def test_features_are_copied():
    features = np.eye(2)
    policy = mb.CombLinTS(features)
    features[0, 0] = 5.0
    assert policy == mb.CombLinTS(np.eye(2))


class Wrong(mb.Policy):
    def __init__(self, answer):
        self.answer = answer

    def indices(self, state, request):
        return self.answer(state)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda state: state.means[:, :2], r"Wrong.indices to return shape \(1, 3\), got \(1, 2\)"),
        (lambda state: state.means[0], r"Wrong.indices to return shape \(1, 3\), got \(3,\)"),
        (lambda state: np.full((1, 3), np.nan), "Wrong.indices gave NaN for item 0 of run 0 in episode 1"),
        (lambda state: np.array([[np.inf, -np.inf, np.nan]]), "Wrong.indices gave NaN for item 2 of run 0"),
    ],
)
def test_indices_of_a_users_own_policy_are_checked(answer, message):
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.1, 0.9, 0.5]))
    with pytest.raises(PolicyError, match=message):
        mb.simulate(problem, [Wrong(answer)], n_episodes=3, n_runs=1, seed=0)


def test_infinite_indices_are_allowed():
    problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.1, 0.9, 0.5]))
    result = mb.simulate(
        problem, [Wrong(lambda state: state.means * 0 + [np.inf, -np.inf, 0.0])], n_episodes=3, n_runs=4, seed=0
    )
    assert result.choices.tolist() == [[12, 0, 12]]


# The example in examples/

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_policy.py"


@pytest.mark.long
@pytest.mark.compiled
def test_the_example_runs_and_prints_a_summary():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("100 runs of 2,000 episodes, seed 0")
    assert [line.split()[0] for line in lines[-2:]] == ["Tuned", "OMM"]


def test_the_example_plays_100_runs_at_a_time(monkeypatch, capsys):
    """No loop over runs: one call of `indices` an episode serves them all."""
    monkeypatch.setattr("matroid_bandits.simulation._executors.n_threads", lambda: 1)
    example = runpy.run_path(str(EXAMPLE))
    calls = []

    class Counted(example["Tuned"]):
        def indices(self, state, request):
            calls.append(state.n_runs)
            return super().indices(state, request)

    monkeypatch.setitem(example["main"].__globals__, "Tuned", Counted)
    monkeypatch.setattr(mb.testing, "check_policy", lambda policy: None)
    result = example["main"](n_episodes=4)
    assert calls == [1] + [100] * 4  # first one episode of one run, which looks for global generators
    assert result.n_runs == 100
    assert capsys.readouterr().out.startswith("100 runs of 4 episodes")


def test_the_example_keeps_what_a_policy_must():
    mb.testing.check_policy(runpy.run_path(str(EXAMPLE))["Tuned"]())
