"""A learner with OMM says once that the weights it is told do not fit the policy's scale."""

import warnings

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ScaleWarning

ADS = mb.UniformMatroid(3, 2, labels="abc")


def test_weights_further_apart_than_the_scale_are_warned_of_once():
    learner = mb.Learner(ADS, mb.OMM(scale=2.0), minimize=True)
    learner.tell(learner.ask(), [100.0, 102.0])  # where the range lies does not matter
    first = learner.ask()
    with pytest.warns(
        ScaleWarning, match=r"range of width 2, and was told some from 99 to 102: .* at least 3"
    ) as caught:
        learner.tell(first, {first.labels[0]: 99.0})
    assert caught[0].filename == __file__
    learner.tell(first, {first.labels[1]: 1000.0})  # warnings are errors here, and there is no second one
    assert learner.estimates().counts.sum() == 4


def test_what_was_seen_before_counts_too():
    learner = mb.Learner(ADS, mb.OMM())
    learner.observe([0.0, 0.5, 0.25])
    with pytest.warns(ScaleWarning, match="from 0 to 1.5"):
        learner.tell(learner.ask(), [1.5, 0.5])


def test_a_warning_that_is_an_error_changes_nothing():
    learner = mb.Learner(ADS, mb.OMM())
    decision = learner.ask()
    with pytest.raises(ScaleWarning):
        learner.tell(decision, [0.0, 7.0])
    assert learner.outstanding == (decision,)
    assert learner.estimates().counts.sum() == 0


@pytest.mark.parametrize(
    "policy",
    [
        mb.OMM(scale=0.0),
        mb.OMM(scale=7.0),
        mb.ThompsonSampling("normal"),
        mb.EpsilonGreedy(),
        mb.DiscountedOMM(0.99),
        mb.SlidingWindowOMM(100, scale=0.25),
    ],
)
def test_policies_that_fit_are_not_warned_of(policy):
    learner = mb.Learner(ADS, policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            learner.tell(learner.ask(), [-3.0, 4.0])
