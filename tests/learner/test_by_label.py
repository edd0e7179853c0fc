"""Masks and features that name their items are read by those names, never by their order."""

import json

import numpy as np
import pandas as pd
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ItemError, PolicyError

ABC = mb.UniformMatroid(3, 1, labels="abc")


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_a_mask_by_label(kind):
    learner = mb.Learner(ABC, mb.OMM())
    assert learner.ask(available=kind({"c": True, "a": False, "b": False})).labels == ("c",)
    assert learner.preview(available=kind({2: True, 0: False, 1: False})).labels == ("c",)
    assert learner.explain("a", available=kind({"c": True, "a": False, "b": True})).standing == "unavailable"


@pytest.mark.parametrize(
    "mask",
    [
        {"c": True, "a": False},
        {"c": True, "a": False, 0: True},
        {"c": 1, "a": 0, "b": 0},
        {"c": True, "a": False, "b": False, "z": True},
        pd.Series({"c": True, "b": False}),
        {},
    ],
)
def test_a_mask_that_does_not_name_every_item_once_is_refused(mask):
    learner = mb.Learner(ABC, mb.OMM())
    with pytest.raises(ItemError):
        learner.ask(available=mask)
    assert learner.n_decisions == 0


def test_a_series_of_labels_is_a_list_of_them():
    assert mb.Learner(ABC, mb.OMM()).ask(available=pd.Series(["c", "b"])).labels == ("b",)


@pytest.mark.parametrize("name", ["exclude", "pinned"])
def test_the_values_of_a_mapping_are_not_ignored(name):
    learner = mb.Learner(ABC, mb.OMM())
    with pytest.raises(ItemError, match="mapping"):
        learner.ask(**{name: {"a": False}})
    with pytest.raises(ItemError, match="mapping"):
        learner.restart({"a": False})
    with pytest.raises(ItemError, match="mapping"):
        learner.change(ABC, forget={"a": False})
    assert learner.ask(**{name: {"a": False}.keys()}).items.size == 1


ROWS = {"c": [0.0, 1.0], "a": [5.0, 0.0], "b": [0.0, 0.5]}
FORMS = [
    ROWS,
    pd.DataFrame.from_dict(ROWS, orient="index"),
    pd.Series(ROWS),
    pd.DataFrame([ROWS["a"], ROWS["b"], ROWS["c"]]),
    [ROWS["a"], ROWS["b"], ROWS["c"]],
]


@pytest.mark.parametrize("features", FORMS, ids=["dict", "frame", "series", "numbered", "list"])
def test_features_by_label(features):
    log = []
    learner = mb.Learner(ABC, mb.CombLinUCB(n_features=2), features=features, record=log.append)
    assert learner.preview().labels == learner.ask(features=features).labels == ("a",)
    assert learner.explain("a", features=features).index == learner.estimates(features=features).indices[0]
    before = dict(zip("abc", learner.estimates().indices.tolist(), strict=True))
    learner.change(mb.UniformMatroid(3, 1, labels="cab"), features=ROWS)
    assert dict(zip("cab", learner.estimates().indices.tolist(), strict=True)) == before
    again = mb.Learner.replay(json.loads(json.dumps(log)))
    assert again.estimates().indices.tolist() == learner.estimates().indices.tolist()


@pytest.mark.parametrize("make", [lambda rows: rows, lambda rows: dict(zip("abc", rows, strict=True))])
def test_features_that_are_no_numbers_are_named(make):
    learner = mb.Learner(ABC, mb.CombLinUCB(n_features=2))
    with pytest.raises(PolicyError, match="expected finite features, got nan as feature 1 of item 'b'"):
        learner.ask(features=make([[1.0, 2.0], [1.0, np.nan], [1.0, 2.0]]))
    with pytest.raises(PolicyError, match="expected finite features, got inf as feature 0 of item 1"):
        mb.CombLinUCB([[1.0, 2.0], [np.inf, 1.0]])


def test_features_of_other_shapes_say_so():
    learner = mb.Learner(ABC, mb.CombLinUCB(n_features=2))
    with pytest.raises(PolicyError, match=r"expected features of shape \(3, 2\), got shape \(3, 3\)"):
        learner.ask(features=np.ones((3, 3)))
    with pytest.raises(PolicyError, match=r"expected 2 features of every item, got an array of shape \(1, 2\)"):
        learner.ask(features={"a": [1, 0], "b": [[1, 0]], "c": [1, 0]})


def test_features_that_name_an_item_twice_or_another_width():
    learner = mb.Learner(ABC, mb.CombLinUCB(n_features=2))
    with pytest.raises(PolicyError, match="once"):
        learner.ask(features={"a": [1, 0], 0: [1, 0], "b": [1, 0], "c": [1, 0]})
    with pytest.raises(PolicyError, match="expected 2 features of every item, got 1 of 'b'"):
        learner.ask(features={"a": [1, 0], "b": [1], "c": [1, 0]})
    with pytest.raises(PolicyError, match="row of numbers"):
        learner.ask(features=[[10**400, 0]] * 3)


def test_a_policy_knows_no_labels():
    frame = pd.DataFrame.from_dict(ROWS, orient="index")
    with pytest.raises(PolicyError, match="knows no labels"):
        mb.CombLinUCB(frame)
    assert mb.CombLinUCB(frame.reset_index(drop=True)) == mb.CombLinUCB(frame.to_numpy())


class TestNewcomers:
    """Features that come with a change of items."""

    @staticmethod
    def learner(record=None):
        return mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.CombLinUCB(np.eye(2)), record=record)

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            ({"c": [1.0, 0.0]}, "expected features of every item, got none for 'd'"),
            ({"c": [1.0], "d": [1.0, 0.0]}, "expected 2 features of every item, got 1 of 'c'"),
            ({"c": [1.0], "d": [1.0]}, "expected 2 features of every item, got 1 of 'c'"),
            ({"c": [1.0, 0.0], "d": [1.0, 0.0], "z": [1.0, 0.0]}, "expected an item or its label, got 'z'"),
            ({"c": [1.0, 0.0], "d": ["x", 0.0]}, "row of numbers"),
            ({"c": [1.0, np.nan], "d": [1.0, 0.0]}, "finite"),
            ({"c": [1e60, 0.0], "d": [1.0, 0.0]}, "in size"),
            ([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0], "shape"),
            ([[1.0, 0.0]], "shape"),
            ([[1.0, 0.0], [1.0], [1.0, 0.0]], "row of numbers"),
            ("x", "row of numbers"),
        ],
    )
    def test_rows_that_do_not_fit_are_refused(self, features, message):
        learner = self.learner()
        with pytest.raises((PolicyError, ItemError), match=message):
            learner.change(mb.UniformMatroid(4, 1, labels="dbca"), features=features)
        assert learner.policy == mb.CombLinUCB(np.eye(2))
        assert learner.constraint.labels == ("a", "b")

    @pytest.mark.parametrize("kind", ["dict", "frame", "list"])
    def test_rows_by_label(self, kind):
        log = []
        learner = self.learner(log.append)
        rows = {"d": [0.5, 0.5], "c": [2.0, 0.0]}
        new = mb.UniformMatroid(4, 1, labels="dbca")
        features = {
            "dict": rows,
            "frame": pd.DataFrame.from_dict(rows, orient="index"),
            "list": [rows["d"], [0, 1], rows["c"], [1, 0]],
        }[kind]
        learner.change(new, features=features)
        assert learner.policy == mb.CombLinUCB([rows["d"], [0, 1], rows["c"], [1, 0]])
        assert log[-1]["features"] == [["d", rows["d"]], ["c", rows["c"]]]
        assert mb.Learner.replay(json.loads(json.dumps(log))).policy == learner.policy

    def test_nothing_is_dropped_without_a_word(self):
        learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.CombLinUCB(n_features=1))
        with pytest.raises(PolicyError, match="expected no features, since requests bring"):
            learner.change(mb.UniformMatroid(2, 1, labels="bc"), features={"c": [1.0]})
        learner.change(mb.UniformMatroid(2, 1, labels="bc"))

    def test_a_change_to_no_items_replays(self):
        log = []
        learner = self.learner(log.append)
        learner.change(mb.UniformMatroid(0, 0, labels=[]), features={})
        again = mb.Learner.replay(json.loads(json.dumps(log)))
        assert again.policy == learner.policy

    def test_rows_of_early_logs_are_taken_as_they_were(self):
        log = []
        learner = self.learner(log.append)
        event = {"event": "changed", "constraint": mb.UniformMatroid(3, 1, labels="acd").to_dict(), "priors": None}
        learner.apply(event | {"features": [["c", [1.0, 2.0]]], "forget": []})
        assert learner.policy == mb.CombLinUCB([[1, 0], [1, 2], [0, 0]])


@pytest.mark.parametrize("has_left", [False, True])
def test_items_keep_the_features_that_they_came_with(has_left):
    """A row of an item that the learner knows would change nothing: it must be the one that it has."""
    learner = mb.Learner(ABC, mb.CombLinUCB([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    if has_left:
        learner.change(mb.UniformMatroid(2, 1, labels="bc"))
    after = mb.UniformMatroid(3, 1, labels="dab")
    others = [{"a": [5.0, 5.0], "d": [1.0, 2.0]}, [[1.0, 2.0], [5.0, 5.0], [0.0, 1.0]]]
    for features in others:
        with pytest.raises(PolicyError, match=r"got \[5.0, 5.0\] for 'a', which has \[1.0, 0.0\]"):
            learner.change(after, features=features)
        with pytest.raises(PolicyError, match=r"got \[5.0, 5.0\] for 'a', which has \[1.0, 0.0\]"):
            learner.change_form(after, priors=None, features=features, forget=())
    assert len(learner.constraint.labels) == (2 if has_left else 3)
    learner.change(after, features=[[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]])
    assert learner.policy.item_features.tolist() == [[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]]
    learner.change(after, features={"a": [7.0, 7.0]}, forget=["a"])  # it is a new one
    assert learner.policy.item_features[1].tolist() == [7.0, 7.0]
