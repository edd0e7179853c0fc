"""Regret as the theory has it: below the upper bounds, growing as log n, near the lower bound, ranked.

Seeds are fixed. A mean over R runs is taken to lie within `Z` standard errors of its expectation, which a normal
variable leaves with probability 6e-5; differences between policies are taken run by run, since they met the same
weights. Nothing else is a tolerance except where a comment derives it.
"""

import math

import numpy as np
import pytest

import matroid_bandits as mb
import reference

pytestmark = pytest.mark.compiled

Z = 4.0


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / math.sqrt(values.size)


def assert_clearly_positive(values):
    """On average over the runs, by more than chance explains."""
    mean, error = mean_and_error(values)
    assert mean > Z * error, f"{mean:.3g} +- {error:.2g}"


def complete_graph(n_vertices):
    return mb.GraphicMatroid([(u, v) for v in range(n_vertices) for u in range(v)])


def star_problem(n_vertices, gap, minimize):
    """Spanning trees of a complete graph; the edges at one vertex are the better ones."""
    matroid = complete_graph(n_vertices)
    gains = np.array([0.7 if 0 in edge else 0.7 - gap for edge in matroid.labels])
    return mb.Problem(matroid, mb.BernoulliEnvironment(1.0 - gains if minimize else gains), minimize)


def uniform_problem(n_items, rank, gap):
    means = np.where(np.arange(n_items) < rank, 0.5 + gap, 0.5 - 0.02 * np.arange(n_items))
    return mb.Problem(mb.UniformMatroid(n_items, rank), mb.BetaEnvironment(4 * means, 4 - 4 * means))


# Theorems 2 and 3


@pytest.mark.parametrize(
    "problem",
    [
        mb.lower_bound_problem(4, 1, gap=0.2),
        mb.lower_bound_problem(8, 2, gap=0.2),
        mb.lower_bound_problem(12, 4, gap=0.3),
        mb.lower_bound_problem(32, 8, gap=0.4),
        uniform_problem(10, 3, gap=0.2),
        uniform_problem(12, 9, gap=0.3),
        star_problem(6, 0.5, minimize=False),
        star_problem(6, 0.4, minimize=True),
    ],
    ids=lambda problem: f"{type(problem.constraint).__name__}-{problem.n_items}-{problem.rank}",
)
def test_omm_stays_below_the_upper_bounds(problem):
    n = 20_000
    result = mb.simulate(problem, {"OMM": mb.OMM()}, n_episodes=n, n_runs=16, seed=1)
    highest = result.regret[0] + Z * result.regret_se[0]
    assert (highest <= mb.bounds.gap_dependent(problem, result.checkpoints)).all()
    assert (highest <= mb.bounds.gap_free(problem.n_items, problem.rank, result.checkpoints)).all()
    # so long that whoever does not learn is above Theorem 2's bound: regret of chance grows with n
    chance = mb.simulate(problem, {"chance": mb.UniformRandom()}, n_episodes=200, n_runs=16, seed=1)
    lowest = (chance.regret[0, -1] - Z * chance.regret_se[0, -1]) * n / 200
    assert lowest > mb.bounds.gap_dependent(problem, n)


# Growth. In the long run OMM tries a suboptimal item e when its index passes that of the optimal item of its block:
#
#     w_e + sqrt(2 log n / T_e) = w_* + sqrt(2 log n / T_*),   T_* = n - sum of the T_e,
#
# and KLOSM whenever T_e kl(w_e, U_*) falls to log n, where T_* kl(w_*, U_*) = log n. `expected_pulls` solves this for
# T_e. It puts the mean of T_e weights in place of what they average to; the mean's variance v / T_e, v <= 1/4, moves
# T_e = 2 log n / gap^2 (or less) by the second derivative 6 T_e / gap^2 times v / 2 T_e, so by a share of
# 3 v / (gap^2 T_e) <= 3 / (8 log n) of itself for OMM. For KLOSM T_e is about v times as large (log n / kl, and kl is
# gap^2 / 2v for small gaps), which makes the share 3 / 2 log n.


def expected_pulls(policy, n, gap, n_others):
    """T_e in a block with one item of mean 0.5 and `n_others` of 0.5 - gap, by fixed-point iteration."""
    pulls, log_n = 0.0, math.log(n)
    for _ in range(60):
        n_best = n - n_others * pulls
        if policy == "OMM":
            pulls = 2 * log_n / (gap + math.sqrt(2 * log_n / n_best)) ** 2
        else:
            index = reference.kl_index(0.5, log_n / n_best)
            pulls = log_n / float(reference.kl(0.5 - gap, index))
    return pulls


@pytest.mark.parametrize(("n_items", "rank", "gap"), [(4, 2, 0.4), (4, 1, 0.4), (6, 3, 0.3)])
def test_regret_grows_as_log_n(n_items, rank, gap):
    """From n to n^2 the logarithm doubles; T_* is still short of n, which the expected pulls allow for."""
    n, n_others = 300, n_items // rank - 1
    problem = mb.lower_bound_problem(n_items, rank, gap)
    result = mb.simulate(problem, {"OMM": mb.OMM()}, n_episodes=n**2, n_runs=20, seed=2, checkpoints=[n])
    growth = expected_pulls("OMM", n**2, gap, n_others) / expected_pulls("OMM", n, gap, n_others)
    growth *= 1 + 3 / (8 * math.log(n))
    early, late = result.regret[0]
    slack = Z * math.hypot(growth * result.regret_se[0, 0], result.regret_se[0, 1])
    assert late <= growth * early + slack
    assert growth < math.sqrt(n) / 2  # so that growth as sqrt(n), let alone n, would not have passed


@pytest.mark.long
def test_slopes_on_the_lower_bounds_problem():
    """Between n / 10 and n, regret per unit of log n."""
    n, gap, n_runs = 20_000, 0.25, 60
    problem = mb.lower_bound_problem(8, 2, gap)
    policies = {"OMM": mb.OMM(), "KLOSM": mb.KLOSM()}
    # a run is the same however long it is watched, so the difference of two simulations is of the same runs
    late, early = (
        mb.simulate(problem, policies, n_episodes=m, n_runs=n_runs, seed=3).final_regret for m in (n, n // 10)
    )
    omm, klomm = (late - early) / math.log(10)
    bound = mb.bounds.lower_bound(problem, "kl")

    def expected_slope(policy, n):
        return 6 * gap * (expected_pulls(policy, n, gap, 3) - expected_pulls(policy, n // 10, gap, 3)) / math.log(10)

    share = 3 / (2 * math.log(n))
    mean, error = mean_and_error(klomm)
    assert bound - Z * error < mean < expected_slope("KLOSM", n) * (1 + share) + Z * error
    # what is between them is the time T_* takes to outgrow log n; then the expected slope is the lower bound
    assert expected_slope("KLOSM", 10**15) == pytest.approx(bound, rel=1e-3)
    mean, error = mean_and_error(omm)
    assert abs(mean - expected_slope("OMM", n)) < expected_slope("OMM", n) * share / 4 + Z * error
    assert expected_slope("OMM", 10**15) == pytest.approx(6 * 2 / gap, rel=1e-3)
    assert_clearly_positive(omm - 2 * klomm)  # their ratio tends to 2 kl / gap^2, at least 4 by Pinsker's inequality


# Ranking


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(mb.lower_bound_problem(20, 4, gap=0.4), id="partition"),
        pytest.param(star_problem(8, 0.5, minimize=True), id="spanning trees", marks=pytest.mark.long),
    ],
)
def test_ranking_on_bernoulli_problems(problem):
    policies = {
        "OMM": mb.OMM(),
        "KLOSM": mb.KLOSM(),
        "Thompson": mb.ThompsonSampling(),
        "eps-greedy": mb.EpsilonGreedy(0.1),
    }
    result = mb.simulate(problem, policies, n_episodes=10_000, n_runs=20, seed=4)
    omm, klomm, thompson, greedy = result.final_regret
    # not only on average but by half: both learn from the variance what OMM leaves to the range of the weights
    assert_clearly_positive(omm - 2 * klomm)
    assert_clearly_positive(omm - 2 * thompson)
    assert_clearly_positive(greedy - 1.5 * omm)  # eps-greedy never stops exploring


def test_features_beat_items_one_by_one():
    """10,000 items, 10 features: OMM has to try them all, CombLinTS to learn 10 numbers."""
    rng = np.random.default_rng(5)
    features, theta = rng.normal(size=(10_000, 10)), rng.normal(size=10) / 10
    world = mb.LinearEnvironment(features, theta, noise=0.1)
    problem = mb.Problem(mb.UniformMatroid(10_000, 10), world)
    policies = {"OMM": mb.OMM(), "CombLinTS": mb.CombLinTS(features), "CombLinUCB": mb.CombLinUCB(features)}
    result = mb.simulate(problem, policies, n_episodes=300, n_runs=4, seed=6, start="explore")
    omm, sampling, optimistic = result.final_regret
    assert_clearly_positive(omm - 20 * sampling)
    assert_clearly_positive(omm - 20 * optimistic)
