"""A client gives the objects that a learner gives, for every kind of policy."""

import json
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
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
    mb.PositionBias(mb.OMM(0.5)),
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


def check_decision(served, ours, client):
    """A decision of the same class that says the same, of the client's own learner."""
    assert type(served) is mb.Decision
    for name in ("id", "labels", "is_full", "is_held_out", "order"):
        assert getattr(served, name) == getattr(ours, name), name
    np.testing.assert_array_equal(served.items, ours.items)
    np.testing.assert_array_equal(served.pinned, ours.pinned)
    assert served.to_dict() == ours.to_dict() | {"learner": client.id}
    again = mb.Decision.from_dict(json.loads(json.dumps(ours.to_dict())))
    assert again == ours
    assert again.to_dict() == ours.to_dict()
    assert repr(served) == repr(ours)


def check_all(served, ours, given, **asked):
    check_same(served.estimates(**given), ours.estimates(**given))
    check_same(served.best_basis(), ours.best_basis())
    check_same(served.best_basis(pessimism=0.1), ours.best_basis(pessimism=0.1))
    if not ours.policy.forgets and ours.policy.n_features is None:
        found = ours.confidence(deviation=2.0)
        assert served.confidence(deviation=2.0) == found == mb.Confidence.from_dict(found.to_dict())
    for label in ITEMS.labels:
        check_same(served.explain(label, **given), ours.explain(label, **given))
        check_same(served.explain(label, **asked), ours.explain(label, **asked))


@pytest.mark.filterwarnings("ignore::matroid_bandits.exceptions.ScaleWarning")
@pytest.mark.parametrize("minimize", [False, pytest.param(True, marks=pytest.mark.long)])
def test_clients_give_what_learners_give(tmp_path, minimize):
    with serving(f"sqlite:///{tmp_path}/c.db") as http:
        for n, policy in enumerate(POLICIES):
            ours = mb.Learner(ITEMS, policy, minimize=minimize, seed=3)
            given = {"features": FEATURES} if policy.n_features else {}
            with mb.Client(str(http.base_url), f"c{n}") as served:
                served.create(ITEMS, policy, minimize=minimize, seed=3)
                for t in range(8):
                    decision, other = ours.ask(**given), served.ask(**given)
                    check_decision(other, decision, served)
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
                for decision, other in zip(ours.outstanding, served.outstanding, strict=True):
                    check_decision(other, decision, served)
            if isinstance(policy, mb.Restarting) and n == 13:
                assert ours.estimates().alarms.sum() > 0


def test_decisions_of_requests_are_those_of_learners(tmp_path):
    with serving(f"sqlite:///{tmp_path}/c.db") as http, mb.Client(str(http.base_url), "ads") as served:
        served.create(ITEMS, mb.OMM(), seed=3, holdout=0.5)
        ours = mb.Learner(ITEMS, mb.OMM(), seed=3, holdout=0.5)
        requests = [
            {},
            {"order": "explore"},
            {"pinned": [("c", "a")], "order": "best"},
            {"available": [("a", "b"), ("c", "a")], "pinned": [("a", "b")]},
        ]
        for wanted in requests * 4:
            check_decision(served.ask(**wanted), ours.ask(**wanted), served)
        for decision, other in zip(ours.outstanding, served.outstanding, strict=True):
            check_decision(other, decision, served)
        assert {each.is_held_out for each in served.outstanding} == {False, True}
        preview = http.post("/v1/campaigns/ads/preview", json={}).json()
        assert preview == ours.preview().to_dict() | {"learner": served.id}
        assert mb.Decision.from_dict(preview).id == 0


def test_a_control_is_the_same_here_and_there(tmp_path):
    """A campaign whose held-out requests the editor's set answers: created, asked, configured and read back."""
    matroid = mb.PartitionMatroid({"a": "x", "b": "x", "c": "y", "d": "y"})
    editor = mb.Holdout(0.5, by="visitor", control=mb.FixedSet(["b", "d"]), learns=False)
    learner = mb.Learner(matroid, mb.OMM(), seed=3, holdout=editor)
    with serving(f"sqlite:///{tmp_path}/c.db") as http, mb.Client(str(http.base_url), "news") as client:
        client.create(matroid, mb.OMM(), seed=3, holdout=editor)
        assert client.holdout == editor
        for visitor in range(12):
            ours, theirs = (each.ask(tags={"visitor": visitor}) for each in (learner, client))
            assert (ours.labels, ours.is_held_out) == (theirs.labels, theirs.is_held_out)
            for each, decision in ((learner, ours), (client, theirs)):
                each.tell(decision, [0.5, 0.25])
        client.configure(holdout=mb.Holdout(0.25, control=mb.KLOSM()))
        assert client.holdout == mb.Holdout(0.25, control=mb.KLOSM())
        assert "for KLOSM" in client.history()["marks"][-1]["text"]


def test_masks_and_features_that_name_their_items_are_read_by_those_names(tmp_path):
    """As a `Learner` reads them, not by their order or by their keys alone."""
    items = mb.UniformMatroid(3, 1, labels="abc")
    rows = pd.DataFrame({"x": [0.0, 1.0, 0.0], "y": [0.0, 0.0, 1.0]}, index=["c", "a", "b"])
    masks = [{"c": False, "a": False, "b": True}, pd.Series([True, False, False], index=["c", "a", "b"])]
    with serving(f"sqlite:///{tmp_path}/c.db") as http, mb.Client(str(http.base_url), "ads") as served:
        served.create(items, mb.CombLinUCB(n_features=2), seed=3)
        ours = mb.Learner(items, mb.CombLinUCB(n_features=2), seed=3)
        for features in (rows, rows["x"].map(lambda x: [x, 0.5]), {"b": [0, 1], "c": [0, 0], "a": [1, 0]}):
            for available in (None, *masks):
                asked = {"features": features, "available": available}
                check_decision(served.ask(**asked), ours.ask(**asked), served)
        for wrong in ({"available": {"a": True}}, {"available": {"a": 1}}, {"exclude": {"a": False}}, {"pinned": {}}):
            found = []
            for each in (served, ours):
                with pytest.raises(mb.exceptions.ItemError) as error:
                    each.ask(features=rows, **wrong)
                found.append(str(error.value))
            assert found[0] == found[1]
