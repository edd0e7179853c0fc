"""`explain(decision=)` explains that decision, with its own request, or says what can no longer be said."""

import numpy as np
import pytest

import matroid_bandits as mb


def uniform(labels, k=1):
    return mb.UniformMatroid(len(labels), k, labels=labels)


def learner_with_means(labels="abcd", k=2, **settings):
    learner = mb.Learner(uniform(labels, k), mb.OMM(), seed=0, **settings)
    learner.observe(np.linspace(0.9, 0.1, len(labels)))
    return learner


def reloaded(learner, tmp_path, is_reloaded):
    if not is_reloaded:
        return learner
    learner.save(tmp_path / "it")
    return mb.Learner.load(tmp_path / "it")


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_what_was_pinned_chosen_or_barred_stays_known_after_changes(tmp_path, is_reloaded):
    learner = learner_with_means()
    decision = learner.ask(pinned=["d"], exclude=["b"], available=["a", "b", "c"])
    learner.change(uniform("xdcb", 2))
    learner = reloaded(learner, tmp_path, is_reloaded)
    learner.change(uniform("bdaxc", 2))  # a has returned
    found = {label: learner.explain(label, decision=decision.id) for label in "abcdx"}
    standings = {label: each.standing for label, each in found.items()}
    assert standings == {"a": "chosen", "b": "unavailable", "c": "out", "d": "pinned", "x": "unavailable"}
    if not is_reloaded:  # a file does not say who was there
        assert (
            str(found["x"]) == "x is out: 'x' was not there at decision 1, or was forgotten since (never asked for)"
        )
    assert "the items have changed since decision 1" in str(found["c"])
    assert "dependent" not in str(found["c"])
    assert "is pinned" in str(found["d"])
    assert learner.outstanding[0].pinned.tolist() == [1]


@pytest.mark.parametrize("holdout", [0.0, 1.0])
def test_an_item_that_came_later_was_not_there(holdout):
    learner = learner_with_means(holdout=holdout)
    decision = learner.ask()
    learner.change(uniform("abcdx", 2), forget=["c"])
    for label in "cx":
        assert f"{label!r} was not there at decision 1, or was forgotten since" in str(
            learner.explain(label, decision=decision)
        )


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_without_a_change_everything_is_known(tmp_path, is_reloaded):
    learner = learner_with_means()
    decision = learner.ask(pinned=["d"], exclude=["b"])
    learner = reloaded(learner, tmp_path, is_reloaded)
    assert decision.labels == ("a", "d")
    found = learner.explain("c", decision=decision)
    assert (found.standing, found.rival_labels, found.missing) == ("out", ("a",), "")
    assert learner.explain("b", decision=decision).standing == "unavailable"
    assert learner.explain("d", decision=decision).standing == "pinned"


def test_what_is_believed_today_may_say_otherwise():
    learner = mb.Learner(uniform("ab"), mb.OMM(), seed=0)
    learner.observe([0.5, 0.25])
    decision = learner.ask()
    for _ in range(20):
        learner.tell(learner.ask(pinned=["b"]), [1.0])
        learner.tell(learner.ask(pinned=["a"]), [0.0])
    words = str(learner.explain("b", decision=decision))
    assert "leads by -" not in words
    assert "which it would beat today by" in words


@pytest.mark.parametrize("restarted", ["ab", "b"])
def test_infinite_indices_are_put_in_words(restarted):
    learner = mb.Learner(uniform("ab"), mb.OMM(), seed=0)
    learner.observe([0.5, 0.25])
    decision = learner.ask()
    learner.restart(list(restarted))
    words = str(learner.explain("b", decision=decision))
    assert "nan" not in words
    assert learner.explain("a", decision=decision).standing == "chosen"  # also of an item that starts anew
    if restarted == "b":
        assert "which it would beat today as it is to be tried first" in words


def test_features_are_those_of_the_decision(tmp_path):
    learner = mb.Learner(uniform("abc"), mb.CombLinUCB(n_features=1), features=[[1.0], [2.0], [3.0]])
    decision = learner.ask(features={"a": [5.0], "b": [4.0], "c": [0.0]})
    learner.tell(learner.ask(), [0.0])
    expected = learner.estimates(features=[[5.0], [4.0], [0.0]]).indices.tolist()
    assert decision.labels == ("a",)
    assert [learner.explain(label, decision=decision).index for label in "abc"] == expected
    found = learner.explain("b", decision=decision)
    assert (found.rival_labels, found.missing) == (("a",), "")
    learner.save(tmp_path / "it")
    again = mb.Learner.load(tmp_path / "it")
    assert again.explain("a", decision=decision).index == expected[0]
    found = again.explain("b", decision=decision)
    assert np.isnan(found.index)
    assert "features of decision 1 are kept of chosen items alone" in str(found)
    assert "nan" not in str(found)
    found = again.explain("b", decision=decision, features=[[5.0], [4.0], [0.0]])
    assert (found.index, found.missing) == (expected[1], "")


def test_held_out_decisions_say_so_after_changes():
    learner = learner_with_means(holdout=1.0)
    decision = learner.ask()
    learner.change(uniform("abcde", 2))
    for label in "abcde":
        found = learner.explain(label, decision=decision)
        assert found.is_held_out
        assert found.is_chosen == (label in decision.labels)


def test_an_excluded_item_is_said_not_to_be_available():
    learner = mb.Learner(mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")]), mb.OMM(), seed=0)
    decision = learner.ask(exclude=[("a", "b")])
    assert "not available" in str(learner.explain(("a", "b"), decision=decision))
