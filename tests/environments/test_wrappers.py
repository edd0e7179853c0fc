"""Environments around another: who is there, when answers come, how wrappers nest, what they refuse."""

import math
import pickle

import numpy as np
import pytest

from matroid_bandits.environments import (
    AvailabilityEnvironment,
    BernoulliEnvironment,
    DelayedEnvironment,
    Environment,
    availability_of,
    delays_of,
)
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import AVAILABILITY, DELAY, Stream
from matroid_bandits.testing import check_environment
from samples import WORLDS

COINS = BernoulliEnvironment([0.5, 0.5, 0.5])
ITEMS = np.arange(3)
N_RUNS = 2000


def masks(world, n_runs=N_RUNS, t=1):
    return world.availability(Stream(3, range(n_runs), AVAILABILITY), t)


def delays(world, n_runs=N_RUNS, t=1, items=ITEMS):
    return world.delays(Stream(3, range(n_runs), DELAY), t, items)


def assert_share(found, expected):
    """Of N_RUNS coins: within 5 standard deviations."""
    assert np.abs(found - expected).max() <= 5 * math.sqrt(0.25 / N_RUNS)


@pytest.mark.parametrize("name", WORLDS)
def test_wrappers_nest_around_every_environment(name):
    world, _ = WORLDS[name]
    n = world.n_items
    flaky = AvailabilityEnvironment(world, np.linspace(0.0, 1.0, n))
    late = DelayedEnvironment(flaky, np.arange(n), mean=2.5, never=0.1)
    twice = AvailabilityEnvironment(DelayedEnvironment(late, 2), lambda stream, t: stream.uniform(t, ITEMS[:1]) < 2)
    for outer in (flaky, late):
        check_environment(outer, n_draws=200)
        copy = pickle.loads(pickle.dumps(outer))
        for each in (outer, copy):
            assert each.support == world.support
            assert np.array_equal(each.mean_weights, world.mean_weights)
            assert all(not v.flags.writeable for v in vars(each).values() if isinstance(v, np.ndarray))
        stream, items = Stream(2, range(3)), np.array([[1, 2], [7, 0], [3, 3]])
        assert np.array_equal(copy.draw(stream, 4, items), world.draw(stream, 4, items))
        assert np.array_equal(masks(copy, 5), masks(outer, 5))
    assert twice.environment.environment is late
    assert np.array_equal(delays(twice, 9) - np.where(delays(late, 9) < 0, 0, 2), delays(late, 9))


def test_an_environment_offers_everything_and_answers_at_once():
    for world, _ in WORLDS.values():
        assert world.availability(Stream(0, range(2)), 1) is None
        assert world.delays(Stream(0, range(2)), 1, ITEMS) is None


def test_wrappers_that_change_nothing_say_nothing():
    assert masks(AvailabilityEnvironment(COINS, 1.0)) is None
    assert masks(AvailabilityEnvironment(COINS, [True] * 3)) is None
    assert delays(DelayedEnvironment(COINS)) is None
    assert delays(DelayedEnvironment(COINS, [0, 0, 0], mean=0.0, never=[0, 0, 0])) is None
    assert delays(AvailabilityEnvironment(COINS, 0.5)) is None
    assert masks(DelayedEnvironment(COINS, 5)) is None


def test_items_are_there_as_often_as_they_should_be():
    chances = np.array([0.0, 0.3, 1.0])
    found = masks(AvailabilityEnvironment(COINS, chances))
    assert found.shape == (N_RUNS, 3)
    assert_share(found.mean(axis=0), chances)
    assert not found[:, 0].any()
    assert found[:, 2].all()
    assert not np.array_equal(found, masks(AvailabilityEnvironment(COINS, chances), t=2))
    assert masks(AvailabilityEnvironment(COINS, [True, False, True]), 2).tolist() == [[True, False, True]] * 2


def test_a_timetable_is_for_each_run_or_for_all():
    def by_run(stream, t):
        return (stream.runs[:, None] + np.arange(3) + t) % 2 == 0

    assert masks(AvailabilityEnvironment(COINS, by_run), 2).tolist() == [[False, True, False], [True, False, True]]
    row = AvailabilityEnvironment(COINS, lambda stream, t: np.arange(3) < t)
    assert masks(row, 2).tolist() == [[True, False, False]] * 2
    assert masks(AvailabilityEnvironment(row, by_run), 2).tolist() == [[False] * 3, [True, False, False]]


def test_nested_availability_is_independent():
    twice = AvailabilityEnvironment(AvailabilityEnvironment(COINS, 0.5), 0.5)
    assert_share(masks(twice).mean(axis=0), 0.25)
    thrice = AvailabilityEnvironment(DelayedEnvironment(twice, 1), 0.5)
    assert_share(masks(thrice).mean(axis=0), 0.125)


def test_fixed_delays():
    world = DelayedEnvironment(COINS, [0, 5, 2])
    assert delays(world, 2).tolist() == [[0, 5, 2]] * 2
    assert delays(world, 2, items=np.array([[2], [1]])).tolist() == [[2], [5]]
    assert delays(DelayedEnvironment(COINS, np.uint8(7)), 1).tolist() == [[7, 7, 7]]
    assert delays(DelayedEnvironment(DelayedEnvironment(world, 1), [10, 0, 0]), 1).tolist() == [[11, 6, 3]]
    assert delays(world).dtype == np.int64
    by_time = DelayedEnvironment(COINS, lambda stream, t, items: np.full((stream.n_runs, items.shape[-1]), t - 2))
    assert delays(by_time, 1, t=1).tolist() == [[-1, -1, -1]]
    assert delays(DelayedEnvironment(by_time, 4), 1, t=1).tolist() == [[-1, -1, -1]]
    assert delays(DelayedEnvironment(by_time, 4), 1, t=5).tolist() == [[7, 7, 7]]


def test_geometric_delays():
    """Their mean m has standard deviation sqrt(m (m + 1) / n); k is passed with probability (m / (m + 1))^k."""
    mean = np.array([0.0, 0.5, 20.0])
    found = delays(DelayedEnvironment(COINS, 3, mean=mean)) - 3
    assert found.min() == 0
    assert not found[:, 0].any()
    assert (np.abs(found.mean(axis=0) - mean) <= 5 * np.sqrt(mean * (mean + 1) / N_RUNS)).all()
    for k in (1, 2, 30):
        assert_share((found >= k).mean(axis=0), (mean / (mean + 1)) ** k)
    largest = delays(DelayedEnvironment(COINS, mean=2.0**47))
    assert 0 <= largest.min() <= largest.max() < 2**53


def test_answers_that_never_come():
    never = np.array([0.0, 0.25, 1.0])
    found = delays(DelayedEnvironment(COINS, 3, mean=4.0, never=never))
    assert_share((found < 0).mean(axis=0), never)
    assert (found[:, 2] == -1).all()
    answered = found[:, 1][found[:, 1] >= 0] - 3
    assert abs(answered.mean() - 4.0) <= 5 * math.sqrt(4.0 * 5.0 / answered.size)  # whether or not others come
    twice = DelayedEnvironment(DelayedEnvironment(COINS, never=0.5), 7, never=0.5)
    found = delays(twice)
    assert_share((found < 0).mean(axis=0), 0.75)
    assert set(np.unique(found)) == {-1, 7}


def test_delays_of_two_wrappers_are_independent():
    single, double = (
        DelayedEnvironment(COINS, mean=3.0),
        DelayedEnvironment(DelayedEnvironment(COINS, mean=3.0), mean=3.0),
    )
    inner, both = delays(single)[:, 0], delays(double)[:, 0]
    assert abs(np.corrcoef(inner, both - inner)[0, 1]) <= 5 / math.sqrt(N_RUNS)


def test_the_order_of_nesting_does_not_matter():
    one = AvailabilityEnvironment(DelayedEnvironment(COINS, 1, mean=3, never=0.1), 0.5)
    other = DelayedEnvironment(AvailabilityEnvironment(COINS, 0.5), 1, mean=3, never=0.1)
    assert np.array_equal(masks(one), masks(other))
    assert np.array_equal(delays(one), delays(other))


def test_no_items():
    nobody = BernoulliEnvironment([])
    world = DelayedEnvironment(AvailabilityEnvironment(nobody, []), [], mean=[], never=[])
    assert world.n_items == 0
    check_environment(world)
    assert delays(DelayedEnvironment(nobody, lambda *_: np.empty((2, 0), np.int64)), 2, items=ITEMS[:0]).shape == (
        2,
        0,
    )


NAN = math.nan


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AvailabilityEnvironment([0.5], 0.5), r"expected an Environment to wrap; got \[0.5\]"),
        (lambda: DelayedEnvironment(BernoulliEnvironment), r"to wrap; got <class .* \(the class; an instance"),
        (lambda: AvailabilityEnvironment(COINS, 1.5), r"expected availability .* in \[0, 1\], got 1.5"),
        (lambda: AvailabilityEnvironment(COINS, True), r"expected availability .* in \[0, 1\], got True"),
        (lambda: AvailabilityEnvironment(COINS, NAN), r"expected availability .* in \[0, 1\], got nan"),
        (lambda: AvailabilityEnvironment(COINS, [0.5, -0.1, 1]), r"availability in \[0, 1\]; got -0.1 for item 1"),
        (lambda: AvailabilityEnvironment(COINS, [0.5, 1]), "expected availability of 3 items, one each; got 2"),
        (lambda: AvailabilityEnvironment(COINS, [[0.5] * 3]), r"availability in a 1-D array; got shape \(1, 3\)"),
        (lambda: AvailabilityEnvironment(COINS, [[0.5], [1, 2]]), "1-D array; got a ragged sequence"),
        (lambda: AvailabilityEnvironment(COINS, ["a", "b", "c"]), "availability to be real numbers; got type <U1"),
        (lambda: AvailabilityEnvironment(COINS, "often"), r"expected availability in a 1-D array; got shape \(\)"),
        (lambda: AvailabilityEnvironment(COINS, None), r"expected availability in a 1-D array; got shape \(\)"),
        (lambda: DelayedEnvironment(COINS, -1), "expected delays to be an integer from 0 to .*, got -1"),
        (lambda: DelayedEnvironment(COINS, 1.0), "expected delays to be an integer from 0 to .*, got 1.0"),
        (lambda: DelayedEnvironment(COINS, True), "expected delays to be an integer from 0 to .*, got True"),
        (lambda: DelayedEnvironment(COINS, 2**60), "expected delays to be an integer from 0 to .*, got 115"),
        (lambda: DelayedEnvironment(COINS, None), r"expected delays in a 1-D array; got shape \(\)"),
        (lambda: DelayedEnvironment(COINS, "late"), r"expected delays in a 1-D array; got shape \(\)"),
        (lambda: DelayedEnvironment(COINS, [1, 2]), "expected delays of 3 items, one each; got 2"),
        (lambda: DelayedEnvironment(COINS, [1, 2, -3]), r"delays from 0 to .*; got -3 for item 2 \(never=1 is"),
        (lambda: DelayedEnvironment(COINS, [1, 2, 2**60]), "delays from 0 to .*; got 115.* for item 2"),
        (lambda: DelayedEnvironment(COINS, [1.0, 2.0, 3.0]), "whole numbers of episodes; got type float64"),
        (lambda: DelayedEnvironment(COINS, [True, False, True]), "whole numbers of episodes; got type bool"),
        (lambda: DelayedEnvironment(COINS, [[1, 2, 3]]), r"delays in a 1-D array; got shape \(1, 3\)"),
        (lambda: DelayedEnvironment(COINS, mean=-1), "expected mean .* got -1"),
        (lambda: DelayedEnvironment(COINS, mean=[1, math.inf, 1]), "expected mean .* got inf for item 1"),
        (lambda: DelayedEnvironment(COINS, mean=[1.0]), "expected mean of 3 items, one each; got 1"),
        (lambda: DelayedEnvironment(COINS, mean="1"), r"expected mean in a 1-D array; got shape \(\)"),
        (lambda: DelayedEnvironment(COINS, never=1.1), r"expected never .* in \[0, 1\], got 1.1"),
        (lambda: DelayedEnvironment(COINS, never=[0.1, NAN, 0]), r"expected never in \[0, 1\]; got nan for item 1"),
        (lambda: DelayedEnvironment(COINS, never=[0.1] * 4), "expected never of 3 items, one each; got 4"),
        (
            lambda: masks(AvailabilityEnvironment(COINS, lambda stream, t: [True] * 3), 2),
            r"availability\(stream, 1\) to give bool of shape \(2, 3\) or \(3,\), or None; got \[True",
        ),
        (
            lambda: masks(AvailabilityEnvironment(COINS, lambda stream, t: np.ones(4, bool)), 2),
            r"availability\(stream, 1\) .* got bool of shape \(4,\)",
        ),
        (
            lambda: delays(DelayedEnvironment(COINS, lambda stream, t, items: 5), 2),
            r"delays\(stream, 1, items\) to give int64 of shape \(2, 3\); got 5",
        ),
        (
            lambda: delays(DelayedEnvironment(COINS, lambda stream, t, items: np.zeros((2, 3))), 2),
            r"delays\(stream, 1, items\) .* got float64 of shape \(2, 3\)",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(InvalidEnvironmentError, match=message):
        build()


def test_a_users_own_environment_has_hooks():
    class Weekdays(Environment):
        def draw(self, stream, t, items):
            return self.mean_weights[items] + np.zeros((stream.n_runs, items.shape[-1]))

        def availability(self, stream, t):
            return np.full((stream.n_runs, self.n_items), t % 7 < 5)

        def delays(self, stream, t, items):
            return np.full((stream.n_runs, items.shape[-1]), 7 - t % 7)

    world, stream = Weekdays([1.0, 2.0]), Stream(0, range(2))
    check_environment(world, n_draws=200)
    assert availability_of(world, stream, 5).tolist() == [[False, False]] * 2
    assert delays_of(world, stream, 5, np.array([1])).tolist() == [[2], [2]]
