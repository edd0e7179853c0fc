"""Random walks and AR(1) processes: their law, one value per address, and how bounds are kept."""

import math

import numpy as np
import pytest
from scipy import stats

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import FEATURES, START, Stream
from matroid_bandits.testing import check_environment

COINS = mb.BernoulliEnvironment([0.2, 0.5, 0.9])
NORMAL = mb.GaussianEnvironment(np.zeros(4), noise=0.5)
STREAM = Stream(3, range(5_000), FEATURES)
N = 20_000  # normals at an episode: 5,000 runs of 4 items

#: Episodes in which a path is looked at: neighbours at both ends of blocks of all sizes, and far apart.
TIMES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 1000, 1001, 4095, 4096, 4097, 10**6, 10**6 + 1]


def paths(world):
    return np.stack([world.path(t, STREAM).reshape(-1) for t in TIMES])


@pytest.mark.compiled
def test_increments_are_independent_normals():
    """Of n products of independent standard normals the mean has deviation 1 / sqrt(n), of their squares sqrt(2 / n).

    There are 19 * 20 / 2 of them; at 5 deviations a false alarm has a chance below 190 * 6e-7.
    """
    walk = paths(mb.RandomWalkEnvironment(NORMAL, step=0.3))
    assert not walk[0].any()
    steps = np.diff(walk, axis=0) / (0.3 * np.sqrt(np.diff(TIMES)))[:, None]
    found = steps @ steps.T / N
    assert np.abs(np.diag(found) - 1.0).max() < 5.0 * math.sqrt(2.0 / N)
    assert np.abs(found - np.diag(np.diag(found))).max() < 5.0 / math.sqrt(N)
    for row in steps:
        assert stats.kstest(row, "norm").pvalue > 1e-5


@pytest.mark.compiled
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.99, 0.9999999])
def test_an_ar1_process_has_its_covariances(correlation):
    """Of n products of standard normals of correlation c the mean has deviation sqrt((1 + c^2) / n)."""
    path = paths(mb.AutoregressiveEnvironment(NORMAL, deviation=2.0, correlation=correlation)) / 2.0
    times = np.array(TIMES, float)
    expected = correlation ** np.abs(times[:, None] - times)
    assert (np.abs(path @ path.T / N - expected) < 5.0 * np.sqrt((1.0 + expected**2) / N)).all()
    steps = path[1:2] - correlation * path[:1]  # what is new in an episode, over what was known
    assert np.abs(steps @ path[0]).item() / N < 5.0 * math.sqrt((1 - correlation**2) / N) + 1e-9


WORLDS = {
    "walk": mb.RandomWalkEnvironment(COINS, step=[0.1, 0.0, 0.01]),
    "walk in bounds": mb.RandomWalkEnvironment(COINS, 0.05, low=0.1, high=0.95),
    "normal walk": mb.RandomWalkEnvironment(NORMAL, 0.1),
    "latencies": mb.RandomWalkEnvironment(mb.ExponentialEnvironment([3.0, 5.0]), 0.1, low=2.0),
    "beta walk": mb.RandomWalkEnvironment(mb.BetaEnvironment([2.0, 3.0], [3.0, 2.0]), 0.05, low=0.05, high=0.95),
    "AR(1)": mb.AutoregressiveEnvironment(COINS, 0.2, 0.9),
    "AR(1) in bounds": mb.AutoregressiveEnvironment(NORMAL, [0.1, 1, 0, 3], [0, 1, 0.5, 0.99], low=-1, high=1.5),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_contract(name):
    check_environment(WORLDS[name], n_draws=500)
    check_environment(mb.DelayedEnvironment(WORLDS[name], 3), n_draws=200)


@pytest.mark.parametrize("name", WORLDS)
def test_values_do_not_depend_on_the_order_of_episodes_or_on_who_asks(name):
    world = WORLDS[name]
    batch = Stream(8, range(6), FEATURES)
    times = [1, 2, 77, 512, 10**9, 2**47, 3, 0]
    first = {t: world.means(t, batch) for t in times}
    for t in reversed(times):
        assert np.array_equal(world.means(t, batch), first[t])
        assert np.array_equal(world.means(t, Stream(8, [4], START)), first[t][[4]])
        low, high = world.bounds
        assert (low <= first[t]).all()
        assert (first[t] <= high).all()
    assert not np.array_equal(first[77][0], first[77][1])
    assert not np.array_equal(world.means(77, Stream(9, [0])), first[77][[0]])


def test_the_work_grows_with_the_logarithm(monkeypatch):
    """Counted in normals: at most 2 log2(t) + 3 of each item."""
    n_calls = []
    normal = Stream.normal
    monkeypatch.setattr(Stream, "normal", lambda *given: n_calls.append(1) or normal(*given))
    for world in (WORLDS["walk"], WORLDS["AR(1)"]):
        for t in (1, 2, 1023, 1024, 1025, 2**40 + 12345, 2**47):
            n_calls.clear()
            world.path(t, Stream(0, [0]))
            assert len(n_calls) <= 2 * math.log2(t) + 3


@pytest.mark.compiled
def test_walks_are_reflected():
    """Reflecting every step of a walk is, in law, folding the free walk; over long times it is anywhere alike."""
    world = WORLDS["walk in bounds"]
    for t in (1, 50, 999):
        free = COINS.mean_weights + world.path(t, STREAM)
        expected = free.copy()
        while ((expected < 0.1) | (expected > 0.95)).any():
            expected = np.where(expected < 0.1, 0.2 - expected, expected)
            expected = np.where(expected > 0.95, 1.9 - expected, expected)
        np.testing.assert_allclose(world.means(t, STREAM), expected, atol=1e-12)
    far = world.means(10**6, STREAM)
    assert stats.kstest(far.reshape(-1), stats.uniform(0.1, 0.85).cdf).pvalue > 1e-4
    # from where it is, a reflected walk goes on as one that is reflected step by step
    now, then = (world.means(t, STREAM).reshape(-1) for t in (700, 701))
    steps = np.random.default_rng(1).normal(size=now.size) * 0.05
    one = now + steps
    one = np.where(one < 0.1, 0.2 - one, np.where(one > 0.95, 1.9 - one, one))
    near = (now < 0.15) | (now > 0.9)
    assert stats.ks_2samp((then - now)[near], (one - now)[near]).pvalue > 1e-4


def test_ar1_means_are_clipped():
    world = WORLDS["AR(1)"]
    expected = np.clip(COINS.mean_weights + world.path(12, STREAM), 0.0, 1.0)
    assert np.array_equal(world.means(12, STREAM), expected)
    assert (expected == 1.0).any()


def test_weights_are_drawn_around_the_means_of_their_own_run():
    world = mb.RandomWalkEnvironment(mb.GaussianEnvironment([0.0, 10.0, 20.0], noise=0.0), 1.0)
    stream = Stream(0, range(4))
    items = np.array([[0, 2], [1, 0], [2, 2], [2, 1]])
    means = world.means(9, stream)
    assert np.array_equal(world.draw(stream, 9, items), np.take_along_axis(means, items, axis=1))
    assert np.array_equal(world.draw(stream, 9, np.array([2, 0])), means[:, [2, 0]])
    assert world.support == (-np.inf, np.inf)
    assert mb.RandomWalkEnvironment(COINS, 0.1).support == (0.0, 1.0)


def test_regret_in_a_walk_is_dynamic():
    """A policy that plays the best set of the first episode falls behind the best set of each."""
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.RandomWalkEnvironment(COINS, 0.05))
    result = mb.simulate(problem, [mb.FixedSet([2]), mb.OMM(0.3)], n_episodes=200, n_runs=10, seed=0)
    expected = np.zeros(10)
    for t in range(1, 201):
        means = problem.environment.means(t, Stream(0, range(10), FEATURES))
        expected += means.max(axis=1) - means[:, 2]
    np.testing.assert_allclose(result["FixedSet"].final_regret, expected)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: mb.RandomWalkEnvironment(mb.BernoulliEnvironment), "the class; an instance is needed"),
        (lambda: mb.RandomWalkEnvironment(WORLDS["walk"]), "expected a family of weights around means"),
        (lambda: mb.RandomWalkEnvironment(COINS, -1.0), "step"),
        (lambda: mb.RandomWalkEnvironment(COINS, [0.1, 0.2]), "expected step of 3 items"),
        (lambda: mb.RandomWalkEnvironment(COINS, low=-0.5), "low"),
        (lambda: mb.RandomWalkEnvironment(COINS, low=0.6, high=0.6), "low below high"),
        (lambda: mb.RandomWalkEnvironment(COINS, high=0.8), r"means in \[0, 0.8\] to begin with; got 0.9 for item 2"),
        (lambda: mb.AutoregressiveEnvironment(COINS, correlation=1.5), "correlation"),
        (lambda: mb.AutoregressiveEnvironment(COINS, deviation=float("nan")), "deviation"),
    ],
)
def test_mistakes(make, match):
    with pytest.raises(InvalidEnvironmentError, match=match):
        make()
