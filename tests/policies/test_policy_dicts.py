"""Policies in plain JSON and back: one form for every place that stores or sends them."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError, SerializationError
from matroid_bandits.policies import DETECTORS, POLICIES
from matroid_bandits.specs import CampaignSpec

FEATURES = np.array([[1.0, 0.5], [0.25, -1.0], [0.1, 1e-300]])
MATROID = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])

#: One of each, and each in its various shapes.
EVERY = [
    mb.OMM(0.5),
    mb.KLOSM(3.0),
    mb.MOSS(1.0),
    mb.KLUCBPlusPlus(),
    mb.CLSG(0.5),
    mb.SingleSeedThompson(),
    mb.ThompsonSampling(tries_unseen=True),
    mb.UCBV(0.5),
    mb.BGCTS(1.0),
    mb.ESCB(4.0),
    mb.AROQ(1000, scale=0.5),
    mb.FPL(1000),
    mb.Hybrid(),
    mb.EpsilonGreedy(0.2),
    mb.UniformRandom(),
    mb.FixedSet([("a", "b"), ("c", "a")]),
    mb.FixedSet([("a", "b")], away=[("x", "y"), "z", 3]),
    mb.FixedSet(np.array([0, 2])),
    mb.FixedSet([]),
    mb.ThompsonSampling("normal", 0.3),
    mb.DiscountedThompson(0.9),
    mb.DiscountedOMM(0.9),
    mb.SlidingWindowOMM(10, 0.25),
    mb.CombLinUCB(FEATURES, c=0.5),
    mb.CombLinTS(FEATURES),
    mb.CombLinUCB(n_features=2),
    mb.CombLinTS(n_features=2),
    mb.SoftMinimum(),
    mb.SoftMinimum(deviation=0.5),
    mb.CLUCB(0.1),
    mb.ExposureFloors(mb.ThompsonSampling(), 0.05, eta=10.0, away={"b": 0.2}),
    mb.Budget(mb.OMM(), [1.0, 2.0, 0.5], 2.0, eta=5.0),
    mb.Budget(mb.OMM(), {0: 1.0, 1: 0.5, 2: 0.25}, 2.0),
    mb.Steady(mb.OMM(), 0.1),
    mb.PositionBias(mb.OMM(0.3), n_places=4),
    mb.PositionBias(mb.KLOSM(), [1.0, 0.5]),
    mb.Restarting(mb.OMM(), mb.CUSUM(n_first=3)),
    mb.Restarting(mb.CombLinTS(FEATURES)),
    mb.Restarting(mb.FixedSet([("a", "b")])),
]


def test_every_policy_and_detector_of_the_package_is_tried():
    ours = {name for name, kind in POLICIES.items() if kind is getattr(mb, name, None)}
    assert ours - {"PolicyWrapper"} == {type(policy).__name__ for policy in EVERY}
    assert [name for name, kind in DETECTORS.items() if kind is getattr(mb, name, None)] == ["CUSUM"]


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_forms_are_plain_json_and_make_equal_policies(policy):
    form = mb.policy_to_dict(policy)
    assert mb.policy_from_dict(json.loads(json.dumps(form))) == policy
    arrays = {}
    short = json.loads(json.dumps(mb.policy_to_dict(policy, arrays)))
    assert mb.policy_from_dict(short, arrays) == policy


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_a_log_a_saved_learner_and_a_campaign_have_the_same_form(policy, tmp_path):
    events = []
    features = FEATURES if policy.n_features else None
    matroid = mb.UniformMatroid(3, 2, labels=MATROID.labels) if isinstance(policy, mb.Hybrid) else MATROID
    learner = mb.Learner(matroid, policy, seed=1, features=features, record=events.append)
    assert events[0]["policy"] == mb.policy_to_dict(policy)
    assert mb.Learner.replay(json.loads(json.dumps(events))).policy == policy
    learner.save(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner").policy == policy
    assert mb.Learner.load(tmp_path / "learner", policy=policy).policy is policy
    body = {"name": "x", "matroid": matroid.to_dict(), "policy": json.loads(json.dumps(mb.policy_to_dict(policy)))}
    if features is not None:
        body["features"] = features.tolist()
    assert CampaignSpec(**body).learner().policy == policy


def test_arrays_can_be_kept_apart():
    arrays = {}
    form = mb.policy_to_dict(mb.Restarting(mb.CombLinTS(FEATURES)), arrays)
    assert list(arrays) == ["base.features"]
    assert "features" not in form["base"]
    assert np.array_equal(mb.policy_from_dict(form, arrays).base.item_features, FEATURES)


def test_the_form_of_earlier_logs_is_read():
    detector = {"name": "CUSUM", "params": {"threshold": 5.0}}
    form = {"name": "Restarting", "params": {"base": {"name": "OMM", "params": {}}, "detector": detector}}
    assert mb.policy_from_dict(form) == mb.Restarting(mb.OMM(), mb.CUSUM(threshold=5.0))


@pytest.mark.parametrize(
    ("form", "arrays", "message"),
    [
        (3, {}, "expected a dict as made by policy_to_dict, got 3"),
        ({}, {}, "expected a dict as made by policy_to_dict"),
        ({"policy": "Absent"}, {}, "the policy Absent is not defined here: import it"),
        ({"policy": "UCB"}, {}, "UCB is OMM"),
        ({"policy": ["OMM"]}, {}, "is not defined here"),
        ({"kind": "CUSUM"}, {}, "expected the form of a policy, got that of CUSUM"),
        ({"policy": "OMM", "scale": -1}, {}, "malformed OMM: expected scale"),
        ({"policy": "OMM", "width": 1}, {}, "malformed OMM: .*unexpected keyword argument 'width'"),
        ({"policy": "Restarting", "base": {"policy": "OMM", "scale": "x"}}, {}, "malformed OMM: expected scale"),
        ({"policy": "Restarting", "base": {"policy": "OMM"}, "detector": {"kind": "Nose"}}, {}, "the detector Nose"),
        ({"policy": "Restarting", "base": 3}, {}, "malformed Restarting: expected base"),
        ({"policy": "OMM"}, {"scale.x": np.ones(1)}, "malformed OMM: 'scale'"),
        ({"policy": "OMM", "scale": 1.0}, {"scale.x": np.ones(1)}, "expected a policy with arrays, got 1.0"),
    ],
)
def test_forms_of_anything_else_are_refused(form, arrays, message):
    with pytest.raises(SerializationError, match=message):
        mb.policy_from_dict(form, arrays)


class Odd(mb.Policy):
    """A policy whose argument may be anything."""

    def __init__(self, what):
        self.what = what

    def indices(self, state, request):
        return state.means


class Wrapped(Odd):
    """A policy with an argument of an unlucky name."""

    def __init__(self, policy):
        self.policy = policy


@pytest.mark.parametrize("what", [np.float64(2.5), (1, "a"), {"x": [1, None]}, [mb.OMM(2.0)], {"by": mb.KLOSM()}])
def test_arguments_may_be_plain_values_and_policies_in_each_other(what):
    form = json.loads(json.dumps(mb.policy_to_dict(Odd(what))))
    assert mb.policy_to_dict(mb.policy_from_dict(form)) == form


@pytest.mark.parametrize("policy", [Odd(len), Odd({1: 2}), Odd({"kind": "x"}), Odd([{"policy": 1}]), Wrapped(1)])
def test_what_no_form_can_say_is_refused(policy):
    with pytest.raises(SerializationError, match="expected"):
        mb.policy_to_dict(policy)


def test_what_is_no_policy_is_refused():
    with pytest.raises(PolicyError, match="expected a policy, got 'OMM'"):
        mb.policy_to_dict("OMM")
