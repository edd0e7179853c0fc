"""A client gives the objects that a learner gives, for every kind of policy."""

import json
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import matroid_bandits as mb
from service_kit import serving

ITEMS = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
FEATURES = np.array([[1.0, 0.5], [0.25, -1.0], [0.1, 1.0], [0.7, 0.7]])

POLICIES = [
    mb.OMM(0.5),
    mb.KLOSM(3.0),
    mb.EpsilonGreedy(0.2),
    mb.UniformRandom(),
    mb.FixedSet([("a", "b"), ("c", "a"), ("c", "d")]),
    mb.FixedSet(np.array([0, 2, 3])),
    mb.ThompsonSampling("normal", 0.3),
    mb.DiscountedThompson(0.9),
    mb.DiscountedOMM(0.9),
    mb.SlidingWindowOMM(10, 0.25),
    mb.CombLinUCB(FEATURES, c=0.5),
    mb.CombLinTS(FEATURES),
    mb.CombLinUCB(n_features=2),
    mb.Restarting(mb.OMM(), mb.CUSUM(n_first=2, tolerance=0.0, threshold=0.1)),
    mb.Restarting(mb.CombLinTS(FEATURES)),
]


def check_same(served, ours):
    """The same type, the same values, arrays of the same numbers."""
    assert type(served) is type(ours)
    for field in fields(ours):
        mine, theirs = getattr(ours, field.name), getattr(served, field.name)
        if is_dataclass(mine):
            check_same(theirs, mine)
            continue
        if isinstance(mine, np.ndarray):
            assert theirs.dtype == mine.dtype, field.name
        else:
            assert type(theirs) is type(mine), field.name
        np.testing.assert_equal(theirs, mine, err_msg=field.name)
    again = type(ours).from_dict(json.loads(json.dumps(ours.to_dict(), allow_nan=False)))
    assert again.to_dict() == ours.to_dict() == served.to_dict()
    assert str(served) == str(ours)


def check_all(served, ours, given, **asked):
    check_same(served.estimates(**given), ours.estimates(**given))
    check_same(served.best_basis(), ours.best_basis())
    for label in ITEMS.labels:
        check_same(served.explain(label, **given), ours.explain(label, **given))
        check_same(served.explain(label, **asked), ours.explain(label, **asked))


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
@pytest.mark.parametrize("minimize", [False, True])
def test_clients_give_what_learners_give(tmp_path, minimize):
    with serving(f"sqlite:///{tmp_path}/c.db") as http:
        for n, policy in enumerate(POLICIES):
            ours = mb.Learner(ITEMS, policy, minimize=minimize, seed=3)
            given = {"features": FEATURES} if policy.n_features else {}
            with mb.Client(str(http.base_url), f"c{n}") as served:
                served.create(ITEMS, policy, minimize=minimize, seed=3)
                for t in range(8):
                    decision, other = ours.ask(**given), served.ask(**given)
                    assert other.labels == decision.labels
                    assert other.is_full == decision.is_full
                    if t in (0, 4):
                        check_all(served, ours, given, decision=decision.id)
                    weights = {label: float((t * k + t // 3) % 2) for k, label in enumerate(decision.labels)}
                    ours.tell(decision, weights)
                    served.tell(other, weights)
                ours.ask(**given)
                last = served.ask(**given)
                check_all(served, ours, given, decision=last.id)
                shown = json.loads(json.dumps(mb.policy_to_dict(policy, arrays={})))
                assert shown.items() <= http.get(f"/v1/campaigns/c{n}").json()["policy"].items()
                for path in ("estimates", "best", "waiting", "history", "events"):
                    if path != "estimates" or not given:
                        assert http.get(f"/v1/campaigns/c{n}/{path}").is_success
            if isinstance(policy, mb.Restarting) and n == 13:
                assert ours.estimates().alarms.sum() > 0
