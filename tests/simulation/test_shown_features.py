"""Simulations of worlds with features: who is shown them, when, and who is refused."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.stream import FEATURES, Stream
from samples import FEATURES as CONSTANT_FEATURES
from samples import TENTHS

U = mb.UniformMatroid(8, 3)
DAY = mb.BernoulliEnvironment(TENTHS)
VISITS = mb.ContextualEnvironment(np.zeros((8, 2)), [0.5, -1.0])


def simulate(world, policies, **options):
    return mb.simulate(mb.Problem(U, world), policies, **{"n_episodes": 60, "n_runs": 4, "seed": 5} | options)


class Reader(mb.Policy):
    """Knows the coefficients and needs the features; remembers what it was shown."""

    tries_unseen = False

    def __init__(self, n_features=2):
        self.n_features = n_features

    def prepare(self, constraint):
        self.shown, self.told = [], []

    def indices(self, state, request):
        self.shown.append((request.episode, request.features))
        return np.broadcast_to(request.features @ [0.5, -1.0], (state.n_runs, state.n_items))

    def observe(self, state, feedback):
        self.told.append(feedback)


@pytest.mark.parametrize("start", ["observe", "explore"])
@pytest.mark.parametrize("delay", [0, 4])
def test_policies_that_ask_are_shown_the_features(start, delay):
    policy = Reader()
    world = mb.DelayedEnvironment(mb.AvailabilityEnvironment(VISITS, 0.8), delay)
    result = simulate(world, [policy], n_episodes=20, n_runs=1, start=start)
    assert not result.final_regret.any()
    context = Stream(5, [0], FEATURES)
    assert [t for t, _ in policy.shown] == list(range(1, 21))
    for t, features in policy.shown:
        assert np.array_equal(features, VISITS.features(context, t))
    assert len(policy.told) == 20 - delay + (start == "observe")
    for feedback in policy.told:  # also late: those of the decision
        expected = VISITS.features(context, feedback.episode)[feedback.runs, feedback.items]
        assert np.array_equal(feedback.features, expected)


def test_policies_that_do_not_ask_are_shown_nothing():
    class Watching(mb.Policy):
        def indices(self, state, request):
            assert request.features is None
            return state.means

    world = mb.ContextualEnvironment(CONSTANT_FEATURES, [0.1, 0.2, 0.3])
    simulate(world, [Watching(), mb.CombLinUCB(CONSTANT_FEATURES), mb.OMM()], n_episodes=10)


def test_features_may_be_the_same_for_all_runs():
    class Weather(mb.Environment):
        n_features = 2

        def features(self, stream, t):
            return np.full((8, 2), float(t))

        def draw(self, stream, t, items):
            return stream.uniform(t, items)

    policy = Reader()
    simulate(Weather(n_items=8), [policy], n_episodes=3, n_runs=1)
    assert [features[0, 0] for _, features in policy.shown] == [1.0, 2.0, 3.0]


def test_features_must_fit_the_policy():
    with pytest.raises(PolicyError, match=r"Reader\(n_features=2\) needs 2 features of every item .* has none"):
        simulate(DAY, [Reader()])
    with pytest.raises(PolicyError, match=r"Reader\(n_features=1\) needs 1 feature of every item .* has 2"):
        simulate(VISITS, {"good": Reader(), "bad": Reader(1)})


@pytest.mark.compiled
def test_context_is_worth_something():
    """Who reads the features loses nothing, who does not as much as chance, where nothing is usual."""
    result = simulate(VISITS, [Reader(), mb.OMM(), mb.UniformRandom()], n_episodes=300, n_runs=20)
    assert not result.final_regret[0].any()
    difference = result.final_regret[1] - result.final_regret[2]
    assert abs(difference.mean()) <= 5 * difference.std(ddof=1) / math.sqrt(20)
