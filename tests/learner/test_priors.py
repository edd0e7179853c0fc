"""Priors that the policy cannot take are refused at the edge."""

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError

POLICIES = [
    mb.ThompsonSampling(),
    mb.KLOSM(),
    mb.CLSG(),
    mb.SingleSeedThompson(),
    mb.DiscountedThompson(0.9),
    mb.Restarting(mb.KLOSM()),
]


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("mean", [5.0, -0.1])
def test_a_prior_outside_the_range_is_refused_and_changes_nothing(policy, mean, minimize):
    two, three = (mb.UniformMatroid(n, 1, labels="abc"[:n]) for n in (2, 3))
    with pytest.raises(FeedbackError, match=rf"needs weights in \[0, 1\], got a prior mean of {mean:g} for 'b'"):
        mb.Learner(two, policy, minimize=minimize, priors={"b": (mean, 1.0)})
    log = []
    learner = mb.Learner(two, policy, minimize=minimize, seed=0, record=log.append)
    with pytest.raises(FeedbackError, match="got a prior mean"):
        learner.change(three, priors={"c": (mean, 1.0)})
    assert learner.constraint == two
    assert [event["event"] for event in log] == ["created"]
    learner.tell(learner.ask(), [0.5])
    learner.change(three, priors={"c": (1.0, 1.0)})
    learner.change(two)
    learner.change(three, priors="typical")
    learner.tell(learner.ask(), [0.5])
