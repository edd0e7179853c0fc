"""Environments whose means change, and environments with features: what they say, draw, pass on and refuse."""

import math
import pickle

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.environments import Environment, Family, delays_of, features_of, means_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import AVAILABILITY, DELAY, FEATURES, START, Stream
from matroid_bandits.testing import check_environment
from samples import ITEM_FEATURES, TENTHS, WORLDS

ITEMS = np.arange(8)
CONTEXT = Stream(3, range(4), FEATURES)
DAY, NIGHT = mb.BernoulliEnvironment(TENTHS), mb.BernoulliEnvironment(TENTHS[::-1])
CLOCK = mb.PiecewiseEnvironment([DAY, NIGHT, mb.BetaEnvironment(TENTHS, TENTHS)], [10, 25])
SEASONS = mb.DriftingEnvironment(DAY, amplitude=0.1, period=np.arange(20, 28), phase=TENTHS)
VISITS = mb.ContextualEnvironment(ITEM_FEATURES, [0.5, -1.0], [0.3, 2.0])
CLICKS = mb.ContextualEnvironment(np.full((8, 2), 0.5), [0.4, 0.6], 0.5, distribution="bernoulli")
MOVING = {"piecewise": CLOCK, "drifting": SEASONS, "contextual": VISITS, "bernoulli context": CLICKS}


class Silent(Environment):
    """Fair coins whose class does not say so."""

    def draw(self, stream, t, items):
        return np.round(stream.uniform(t, items))


# The hooks


@pytest.mark.parametrize("name", WORLDS)
def test_an_environment_is_stationary_unless_it_says_otherwise(name):
    world, _ = WORLDS[name]
    for each in (world, mb.DelayedEnvironment(mb.AvailabilityEnvironment(world, 0.5), 3)):
        assert each.is_stationary
        assert np.array_equal(each.means(7, CONTEXT), world.mean_weights)
        assert each.features(CONTEXT, 7) is None
        assert each.n_features is None


@pytest.mark.parametrize("name", MOVING)
def test_means_that_change_are_no_mean_weights(name):
    world = MOVING[name]
    for each in (world, mb.DelayedEnvironment(mb.AvailabilityEnvironment(world, 0.5), 3)):
        assert not each.is_stationary
        assert each.n_items == 8
        with pytest.raises(
            InvalidEnvironmentError, match=r"the same means in every episode; got <.*means\(t, stream"
        ):
            _ = each.mean_weights
        copy = pickle.loads(pickle.dumps(each))
        assert repr(copy) == repr(each)
        assert np.array_equal(copy.means(12, CONTEXT), world.means(12, CONTEXT))
        assert np.array_equal(copy.draw(Stream(2, [1]), 12, ITEMS), world.draw(Stream(2, [1]), 12, ITEMS))
        assert all(not v.flags.writeable for v in vars(copy).values() if isinstance(v, np.ndarray))


@pytest.mark.parametrize("name", MOVING)
def test_moving_worlds_keep_the_contract(name):
    check_environment(MOVING[name], n_draws=2000)
    check_environment(mb.DelayedEnvironment(mb.AvailabilityEnvironment(MOVING[name], 0.5), mean=2), n_draws=500)


def test_a_world_that_cannot_say_its_means():
    world = Silent(support=(0, 1), n_items=3)
    assert not world.is_stationary
    assert means_of(mb.AvailabilityEnvironment(world, 0.5), 1, CONTEXT) is None
    assert repr(world) == "<Silent: 3 items>"
    check_environment(world, n_draws=200)
    both = mb.PiecewiseEnvironment([mb.BernoulliEnvironment([0.5] * 3), world], [9])
    assert both.means(1, CONTEXT) is None


def test_a_class_that_writes_means_moves_whatever_it_is_made_from():
    class Rising(mb.BernoulliEnvironment):
        def means(self, t, stream):
            return np.full(self.n_items, 0.5)

    class Around(mb.AvailabilityEnvironment):
        means = Rising.means

    assert not Rising([0.5, 0.5]).is_stationary
    assert not Around(DAY, 0.5).is_stationary


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "expected mean_weights, or n_items where means change; got neither"),
        ({"n_items": -1}, "expected n_items to be an integer of at least 0, got -1"),
        ({"n_items": 2.0}, "expected n_items to be an integer"),
        ({"mean_weights": [1.0, 2.0], "n_items": 3}, "expected n_items to be 2, the number of mean weights; got 3"),
    ],
)
def test_means_or_a_number_of_items(arguments, match):
    with pytest.raises(InvalidEnvironmentError, match=match):
        Silent(**arguments)


@pytest.mark.parametrize(
    ("means", "match"),
    [
        ([1.0, 2.0], r"Odd\.means to give float64 of shape \(2,\) or \(4, 2\), or None; got list"),
        (np.ones(2, np.float32), "got float32 of shape"),
        (np.ones((3, 2)), r"got float64 of shape \(3, 2\)"),
        (np.array([0.0, math.nan]), r"finite and at most 1e\+100 in size; got nan for item 1 in episode 5"),
        (np.array([1e101, 0.0]), r"got 1e\+101 for item 0"),
    ],
)
def test_means_are_checked(means, match):
    odd = type("Odd", (Silent,), {"means": lambda self, t, stream: means})(n_items=2)
    with pytest.raises(InvalidEnvironmentError, match=match):
        means_of(odd, 5, CONTEXT)


@pytest.mark.parametrize(
    ("d", "features", "match"),
    [
        (None, np.ones((2, 1)), "Odd to have n_features and features, or neither; got n_features = None"),
        (1, None, "got n_features = 1 and no features"),
        (2, np.ones((2, 1)), r"Odd\.features to give float64 of shape \(2, 2\) or \(4, 2, 2\)"),
        (1, np.array([[1.0], [math.inf]]), "to be finite .*; got NaN or infinity for item 1 in episode 5"),
        (1, np.array([[1.0], [-1e51]]), r"at most 1e\+50 in size; got -1e\+51 for item 1 in episode 5"),
    ],
)
def test_features_are_checked(d, features, match):
    odd = type("Odd", (Silent,), {"n_features": d, "features": lambda self, stream, t: features})(n_items=2)
    with pytest.raises(InvalidEnvironmentError, match=match):
        features_of(odd, CONTEXT, 5)


# Pieces


def test_pieces_take_turns():
    stream = Stream(2, range(5))
    for t, piece in ((0, 0), (1, 0), (9, 0), (10, 1), (24, 1), (25, 2), (10**9, 2)):
        mine = CLOCK.pieces[piece]
        assert CLOCK.means(t, CONTEXT) is mine.mean_weights
        assert np.array_equal(CLOCK.draw(stream, t, ITEMS), mine.draw(stream, t, ITEMS))
    assert CLOCK.changes == (10, 25)
    assert repr(CLOCK) == "<PiecewiseEnvironment: 8 items, 3 pieces>"
    assert np.array_equal(
        CLOCK.draw(stream.with_purpose(START), 0, ITEMS), DAY.draw(stream.with_purpose(START), 0, ITEMS)
    )
    wide = mb.PiecewiseEnvironment([DAY, mb.ExponentialEnvironment(np.full(8, 4.0))], [5])
    assert wide.support == (0.0, np.inf)


def test_one_piece_is_stationary():
    alone = mb.PiecewiseEnvironment([DAY], [])
    assert alone.is_stationary
    assert np.array_equal(alone.mean_weights, TENTHS)
    assert not mb.PiecewiseEnvironment([SEASONS], []).is_stationary


def test_pieces_may_be_anything():
    flaky, late = mb.AvailabilityEnvironment(SEASONS, [0.0] + [1.0] * 7), mb.DelayedEnvironment(CLOCK, 4)
    world = mb.PiecewiseEnvironment([flaky, late, DAY], np.array([10, 20]))
    assert np.array_equal(world.means(5, CONTEXT), SEASONS.means(5, CONTEXT))
    assert np.array_equal(world.means(12, CONTEXT), NIGHT.mean_weights)
    offered, answered = Stream(0, range(2), AVAILABILITY), Stream(0, range(2), DELAY)
    assert world.availability(offered, 5).tolist() == [[False] + [True] * 7] * 2
    assert world.availability(offered, 15) is None
    assert [delays_of(world, answered, t, ITEMS[:1])[0, 0] for t in (5, 15, 25)] == [0, 4, 0]
    talkative = mb.PiecewiseEnvironment([VISITS, mb.AvailabilityEnvironment(CLICKS, 0.5)], [10])
    assert talkative.n_features == 2
    assert np.array_equal(features_of(talkative, CONTEXT, 9), VISITS.features(CONTEXT, 9))
    assert np.array_equal(features_of(talkative, CONTEXT, 10), CLICKS.features(CONTEXT, 10))
    check_environment(world, n_draws=500)


def test_wrappers_around_and_inside_pieces_are_independent():
    """An item is there when both say so, each with probability 1/2; 5 standard deviations of 2,000 coins."""
    inside = mb.PiecewiseEnvironment([DAY, mb.AvailabilityEnvironment(NIGHT, 0.5)], [2])
    masks = mb.AvailabilityEnvironment(inside, 0.5).availability(Stream(3, range(2000), AVAILABILITY), 2)
    assert np.abs(masks.mean(axis=0) - 0.25).max() <= 5 * math.sqrt(0.1875 / 2000)


@pytest.mark.parametrize(
    ("pieces", "changes", "match"),
    [
        ([], [], "expected a sequence of environments, one or more"),
        (DAY, [], "expected a sequence of environments"),
        ([DAY, mb.OMM()], [3], "every piece to be an Environment; got OMM"),
        ([DAY, Silent], [3], "the class; an instance is needed"),
        (
            [DAY, mb.BernoulliEnvironment([0.5])],
            [3],
            "every piece to have n_items = 8, as the first; got 1 of piece 1",
        ),
        ([DAY, VISITS], [3], "every piece to have n_features = None, as the first; got 2 of piece 1"),
        ([DAY, NIGHT], 3, "changes to be a row of episodes; got 3"),
        ([DAY, NIGHT], [], "expected 1 changes, one for each piece but the first; got 0"),
        ([DAY, NIGHT], [1], "a change to be an integer from 2 to"),
        ([DAY, NIGHT], [2.5], "a change to be an integer"),
        ([DAY, NIGHT], [2**48], "a change to be an integer"),
        ([DAY, NIGHT, DAY], [5, 5], "changes that ascend; got 5 after 5"),
    ],
)
def test_bad_pieces(pieces, changes, match):
    with pytest.raises(InvalidEnvironmentError, match=match):
        mb.PiecewiseEnvironment(pieces, changes)


# Drift

FAMILIES = {
    "bernoulli": (DAY, TENTHS[::-1], 0.1),
    "beta": (mb.BetaEnvironment(7 * TENTHS, 7 - 7 * TENTHS), TENTHS[::-1], 0.05),
    "exponential": (mb.ExponentialEnvironment(ITEMS + 1.0), ITEMS[::-1] + 2.0, 3.0),
    "gaussian": (mb.GaussianEnvironment(ITEMS - 4.0, noise=np.linspace(0, 2, 8)), ITEMS * 2.0, 5.0),
    "linear": (mb.LinearEnvironment(ITEM_FEATURES, [0.5, 2.0]), -ITEMS * 1.0, 1.0),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_drifts(name):
    family, to, amplitude = FAMILIES[name]
    period, phase, over = np.arange(30.0, 38.0), np.linspace(-1, 1, 8), np.arange(40.0, 48.0)
    world = mb.DriftingEnvironment(family, amplitude=amplitude, period=period, phase=phase, to=to, over=over)
    for t in (0, 1, 17, 40, 44, 1000):
        m = family.mean_weights
        expected = [
            m[e]
            + (to[e] - m[e]) * min(t / over[e], 1.0)
            + amplitude * math.sin(2 * math.pi * (t / period[e] + phase[e]))
            for e in range(8)
        ]
        assert world.means(t, CONTEXT) == pytest.approx(expected, abs=1e-11)
    check_environment(world, n_draws=1000)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_that_stays_draws_what_it_always_drew(name):
    family, _, _ = FAMILIES[name]
    still = mb.DriftingEnvironment(family)
    stream = Stream(1, range(20))
    assert still.draw(stream, 3, ITEMS) == pytest.approx(family.draw(stream, 3, ITEMS), rel=1e-9, abs=1e-9)
    assert np.array_equal(still.means(5, CONTEXT), family.mean_weights)


def test_support_follows_the_means():
    latencies = mb.ExponentialEnvironment([5.0, 3.0])
    assert mb.DriftingEnvironment(latencies, amplitude=[0, 1.5]).support == (0.5, np.inf)
    assert mb.DriftingEnvironment(latencies, to=[1.0, 9.0]).support == (0.0, np.inf)
    assert SEASONS.support == (0.0, 1.0)
    assert repr(SEASONS) == "<DriftingEnvironment of BernoulliEnvironment: 8 items, means 0 to 0.9>"
    assert SEASONS.environment is DAY
    assert mb.DriftingEnvironment(mb.BernoulliEnvironment([])).n_items == 0


def test_a_family_of_ones_own_drifts():
    class Spread(Family):
        def draw_around(self, stream, t, items, means):
            return means + stream.uniform(t, items) - 0.5

    check_environment(Spread([1.0, 2.0]), n_draws=500)
    check_environment(mb.DriftingEnvironment(Spread([1.0, 2.0]), to=[2.0, 1.0]), n_draws=500)


@pytest.mark.parametrize(
    ("environment", "options", "match"),
    [
        (mb.RowEnvironment([[1.0, 0.0]]), {}, "expected a family of weights around means, such as .* got <RowEnvir"),
        (mb.AvailabilityEnvironment(DAY, 0.5), {}, "expected a family .* got <AvailabilityEnvironment"),
        (SEASONS, {}, "expected a family .* got <DriftingEnvironment"),
        (mb.BernoulliEnvironment, {}, "the class; an instance is needed"),
        (DAY, {"amplitude": 0.2}, r"to stay in \[0, 1\]; got item 0, whose mean moves between -0.1 and 0.3"),
        (DAY, {"to": [1.1] + [0.5] * 7}, "got item 0, whose mean moves between 0.1 and 1.1"),
        (FAMILIES["beta"][0], {"to": [0.0] * 8}, "expected the means of BetaEnvironment to stay in"),
        (DAY, {"amplitude": -0.1}, "amplitude to be a finite number of at least 0, got -0.1"),
        (DAY, {"amplitude": [0.1]}, "expected amplitude of 8 items, one each; got 1"),
        (DAY, {"amplitude": "high"}, "amplitude"),
        (DAY, {"period": 0.0}, "period to be a finite number of at least 1, got 0.0"),
        (DAY, {"period": [math.nan] * 8}, "period finite and at least 1; got nan for item 0"),
        (DAY, {"over": 0}, "over to be a finite number of at least 1, got 0"),
        (DAY, {"phase": math.inf}, "phase to be a finite number"),
        (DAY, {"phase": [[0.0]]}, "phase in a 1-D array"),
        (DAY, {"to": [0.5]}, "expected to of 8 items, one each; got 1"),
        (DAY, {"to": 0.5}, "expected to in a 1-D array"),
    ],
)
def test_bad_drifts(environment, options, match):
    with pytest.raises(InvalidEnvironmentError, match=match):
        mb.DriftingEnvironment(environment, **options)


# Context


@pytest.mark.compiled
@pytest.mark.parametrize(("world", "theta"), [(VISITS, [0.5, -1.0]), (CLICKS, [0.4, 0.6])], ids=["normal", "coins"])
def test_weights_are_linear_in_the_features(world, theta):
    n_runs = 5000
    stream = Stream(5, range(n_runs))
    features = features_of(world, stream.with_purpose(FEATURES), 4)
    means = means_of(world, 4, stream.with_purpose(FEATURES))
    assert features.shape == (n_runs, 8, 2)
    assert means == pytest.approx(features @ theta, abs=1e-12)
    deviations = world.draw(stream, 4, ITEMS) - means
    deviation = 0.1 if world is VISITS else 0.5
    assert np.abs(deviations.mean(axis=0)).max() <= 5 * deviation / math.sqrt(n_runs)
    assert not np.array_equal(world.features(CONTEXT, 5), world.features(CONTEXT, 4))


def test_features_lie_around_the_usual():
    """Uniform in an interval of width 2 s: the mean is off by 5 s / sqrt(3 n) at most."""
    n_runs, spread = 4000, np.array([0.3, 2.0])
    features = VISITS.features(Stream(5, range(n_runs), FEATURES), 1) - ITEM_FEATURES
    assert (np.abs(features) <= spread + 1e-12).all()
    assert (np.abs(features.mean(axis=0)) <= 5 * spread / math.sqrt(3 * n_runs)).all()
    each = mb.ContextualEnvironment(ITEM_FEATURES, [0.5, -1.0], np.outer(ITEMS % 2, spread))
    features = each.features(CONTEXT, 1)
    assert np.array_equal(features[:, ::2], np.broadcast_to(ITEM_FEATURES[::2], (4, 4, 2)))
    assert np.array_equal(features[:, 1::2], VISITS.features(CONTEXT, 1)[:, 1::2])


def test_without_spread_it_is_the_linear_environment():
    still = mb.ContextualEnvironment(ITEM_FEATURES, [0.5, 2.0], 0.0, noise=0.1)
    linear = mb.LinearEnvironment(ITEM_FEATURES, [0.5, 2.0])
    assert np.array_equal(still.features(CONTEXT, 3)[2], ITEM_FEATURES)
    assert np.allclose(still.means(3, CONTEXT), linear.mean_weights, rtol=1e-12)
    assert np.allclose(still.draw(Stream(0, range(3)), 3, ITEMS), linear.draw(Stream(0, range(3)), 3, ITEMS))


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        (([1.0, 2.0], [1.0]), {}, "features in a 2-D array"),
        (([[1.0], [math.nan]], [1.0]), {}, "finite features; got NaN or infinity for item 1"),
        (([[], []], []), {}, "expected a feature of every item or more; got none"),
        (([[1.0]], [1.0, 2.0]), {}, "expected a theta of 1, one per feature; got 2"),
        (([[1.0]], [math.inf]), {}, "theta finite"),
        (([[1.0]], [1.0], -1.0), {}, "spread to be a finite number of at least 0, got -1.0"),
        (([[1.0]], [1.0], [1.0, 2.0]), {}, "a spread of 1, one per feature; got 2"),
        (([[1.0]], [1.0], [-1.0]), {}, "spread finite and at least 0; got -1.0"),
        (([[1.0]], [1.0], [[1.0, 2.0]]), {}, r"a spread of shape \(1, 1\); got \(1, 2\)"),
        (([[1.0]], [1.0], [[-1.0]]), {}, "a spread of 0 or more; got -1"),
        (([[1.0]], [1.0], [[1.0], [1.0, 2.0]]), {}, "spread in a 2-D array; got a ragged sequence"),
        (([[1.0]], [1.0]), {"noise": -1}, "noise to be a finite number of at least 0, got -1"),
        (([[1.0]], [1.0]), {"distribution": "beta"}, 'to be "gaussian" or "bernoulli"; got \'beta\''),
        (([[1.0]], [1.0]), {"distribution": "bernoulli"}, r"means in \[0, 1\], .* item 0, .* between 0 and 2"),
        (([[1e50]], [1e60], 0.0), {}, r"means in \[-1e\+100, 1e\+100\]"),
        (([[1.0, 1e60]], [1.0, 1e-60]), {}, r"features of at most 1e\+50 in size, .*; got 1e\+60 for item 0"),
        (([[1.0]], [1e-60], 1e60), {}, r"features of at most 1e\+50 in size, .*; got 1e\+60 for item 0"),
    ],
)
def test_bad_contexts(arguments, options, match):
    with pytest.raises(InvalidEnvironmentError, match=match):
        mb.ContextualEnvironment(*arguments, **options)
