"""Floors are kept in the long run, where sets can keep them; those that they cannot are refused."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies import check_floors


def test_debts_are_virtual_queues():
    """The debt after each episode, worked out by hand from the sets that were chosen."""
    policy = mb.ExposureFloors(mb.OMM(0.3), 0.2, eta=2.0)
    learner = mb.Learner(mb.UniformMatroid(4, 1), policy, seed=0)
    learner.observe([0.9, 0.5, 0.3, 0.1])
    debts = np.zeros(4)
    for t in range(1, 40):
        found = learner.estimates().indices
        base = mb.OMM(0.3).indices(learner._agent.state, mb.Request(t, learner._stream))[0]
        assert found == pytest.approx(debts + 2.0 * base)
        decision = learner.ask()
        if t % 3:  # others wait, and count all the same
            learner.tell(decision, [[0.9, 0.5, 0.3, 0.1][int(decision.items[0])]])
        debts = np.maximum(debts + 0.2 - (np.arange(4) == decision.items[0]), 0.0)


@pytest.mark.compiled
def test_floors_are_kept():
    """20 items, sets of 5, floors of 0.1: without them the least is shown in hardly any episode."""
    world = mb.BernoulliEnvironment(np.r_[np.full(5, 0.5), np.full(15, 0.4)])
    problem = mb.Problem(mb.UniformMatroid(20, 5), world)
    policies = {"fair": mb.ExposureFloors(mb.OMM(0.3), 0.1), "plain": mb.OMM(0.3)}
    result = mb.simulate(problem, policies, n_episodes=4000, n_runs=4, seed=1)
    least = result.choices.min(axis=1) / (4 * 4000)
    assert least[0] > 0.09  # 0.0996 after 20,000
    assert least[1] < 0.05


def test_an_item_that_is_not_available_runs_into_no_debt():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.ExposureFloors(mb.OMM(0.0), {"c": 0.5}, eta=0.0))
    learner.observe([1.0, 0.5, 0.1])
    for _ in range(6):
        learner.tell(learner.ask(exclude=["c"]), [0.5])
    assert learner.estimates().indices.tolist() == [0.0, 0.0, 0.0]


def test_floors_follow_their_items():
    learner = mb.Learner(
        mb.UniformMatroid(3, 1, labels="abc"), mb.ExposureFloors(mb.OMM(), {"c": 0.4, "a": 0.1}), seed=0
    )
    learner.change(mb.UniformMatroid(2, 1, labels="ba"))
    assert learner.policy.params()["floors"] == {"a": 0.1}
    assert learner.policy.params()["away"] == {"c": 0.4}
    learner.change(mb.UniformMatroid(3, 1, labels="cba"))
    rates = learner.policy._rates(learner.constraint)
    assert rates.tolist() == [0.4, 0.0, 0.1]
    assert mb.policy_from_dict(mb.policy_to_dict(learner.policy)) == learner.policy


def test_labels_that_are_no_strings_are_stored():
    policy = mb.ExposureFloors(mb.OMM(), {("a", "b"): 0.25})
    assert mb.policy_from_dict(mb.policy_to_dict(policy)) == policy


TRIANGLE = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])


@pytest.mark.parametrize(
    ("constraint", "rates", "message"),
    [
        (mb.UniformMatroid(3, 1), [0.5, 0.4, 0.2], "got 1.1 for items 0, 1, 2, of which a set has at most 1"),
        (mb.PartitionMatroid("xxyy"), [0.7, 0.4, 0.0, 0.0], "got 1.1 for items 0, 1, of which a set has at most 1"),
        (
            mb.LaminarMatroid(4, [([0, 1, 2], 2), ([0, 1], 1)]),
            [0.6, 0.6, 0.0, 0.0],
            "got 1.2 for items 0, 1, of which a set has at most 1",
        ),
        (TRIANGLE, [0.7, 0.7, 0.7, 0.0], "got 2.1 for items .*, of which a set has at most 2"),
        (mb.AssignmentConstraint([(0, 0), (0, 1)]), [0.1, 0.1], "expected a matroid"),
    ],
)
def test_floors_that_no_sets_can_meet(constraint, rates, message):
    with pytest.raises(PolicyError, match=message):
        check_floors(constraint, np.array(rates))


@pytest.mark.parametrize(
    ("constraint", "rates"),
    [
        (mb.UniformMatroid(3, 1), [0.5, 0.3, 0.2]),
        (mb.PartitionMatroid("xxyy"), [0.6, 0.4, 1.0, 0.0]),
        (TRIANGLE, [0.6, 0.7, 0.7, 1.0]),
        (mb.LaminarMatroid(4, [([0, 1, 2], 2), ([0, 1], 1)]), [0.5, 0.5, 1.0, 1.0]),
    ],
)
def test_floors_that_sets_can_just_meet(constraint, rates):
    check_floors(constraint, np.array(rates))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.ExposureFloors(mb.OMM(), 1.5), r"expected floors to be a number in \[0, 1\], got 1.5"),
        (lambda: mb.ExposureFloors(mb.OMM(), {"a": -1}), "expected the floor of 'a' to be a number"),
        (lambda: mb.ExposureFloors(mb.OMM(), "many"), "expected floors as one number, or by label"),
        (lambda: mb.ExposureFloors(mb.ExposureFloors(mb.OMM(), 0.1), 0.1), "without floors"),
        (
            lambda: mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.ExposureFloors(mb.OMM(), {"z": 0.1})),
            "floors: .*'z'",
        ),
    ],
)
def test_mistakes_in_floors(make, message):
    with pytest.raises(PolicyError, match=message):
        make()
