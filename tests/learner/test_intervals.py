"""The interval around a mean and the index of a decision are two things."""

import math

import numpy as np
import pytest

import matroid_bandits as mb

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]

SAMPLING = [
    mb.ThompsonSampling(),
    mb.ThompsonSampling("normal"),
    mb.DiscountedThompson(0.999),
    mb.CombLinTS(FEATURES),
    mb.Restarting(mb.ThompsonSampling()),
]


def played(policy, n=30):
    learner = mb.Learner(mb.UniformMatroid(3, 3, labels="abc"), policy, seed=1)
    for t in range(n):
        learner.tell(learner.ask(), [float(t % 2), 1.0, 0.0])
    return learner


@pytest.mark.parametrize("policy", SAMPLING, ids=repr)
def test_the_interval_of_a_policy_that_samples_is_the_same_at_every_look(policy):
    learner = played(policy)
    before = learner.estimates()
    for decision in [learner.ask() for _ in range(3)]:
        learner.close(decision)
    after = learner.estimates()
    assert not np.array_equal(before.indices, after.indices)  # other draws
    assert after.radii == pytest.approx(before.radii, rel=0.01)  # nothing was told; what fades has faded a little
    assert (before.radii > 0.0).all()


def test_the_interval_of_beta_thompson_sampling_is_the_deviation_of_the_posterior():
    alpha, beta = 1.0 + 30, 1.0
    deviation = math.sqrt(alpha * beta / (alpha + beta + 1.0)) / (alpha + beta)
    assert played(mb.ThompsonSampling()).estimates().radii[1] == pytest.approx(deviation)
    assert played(mb.ThompsonSampling("normal", noise=0.5)).estimates().radii[1] == pytest.approx(0.5 / math.sqrt(30))


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("policy", [mb.OMM(), mb.KLOSM(), mb.DiscountedOMM(0.99), mb.SlidingWindowOMM(20)], ids=repr)
def test_the_interval_of_an_optimistic_policy_is_what_it_adds_to_the_mean(policy, minimize):
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), policy, seed=1, minimize=minimize)
    assert np.isnan(learner.estimates().radii).all()  # never seen
    for _ in range(10):
        learner.tell(learner.ask(), [0.25, 0.5])
    found = learner.estimates()
    assert found.radii == pytest.approx(abs(found.indices - found.means))


def test_the_interval_of_a_linear_policy_is_around_what_the_features_predict():
    learner = played(mb.CombLinUCB(FEATURES, c=2.0))
    theta = learner._agent.state.extra["theta"][0]
    found = learner.estimates()
    assert found.radii == pytest.approx(found.indices - np.array(FEATURES) @ theta)


@pytest.mark.parametrize("policy", [mb.EpsilonGreedy(), mb.UniformRandom(), mb.FixedSet("ab")], ids=repr)
def test_policies_whose_index_says_nothing_of_the_mean_have_no_interval(policy):
    assert np.isnan(played(policy).estimates().radii).all()


def test_intervals_are_stored_and_shown():
    found = played(mb.ThompsonSampling()).estimates()
    assert mb.Estimates.from_dict(found.to_dict()).radii.tolist() == found.radii.tolist()
    assert found.to_frame()["radii"].tolist() == found.radii.tolist()
