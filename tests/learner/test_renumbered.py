"""Answers to decisions whose items have other numbers by now."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, ItemError


def uniform(labels, k=2):
    return mb.UniformMatroid(len(labels), k, labels=labels)


def asked(pinned="ac"):
    learner = mb.Learner(uniform("abc"), mb.OMM(), seed=0)
    return learner, learner.ask(pinned=list(pinned))


def means(learner):
    found = learner.estimates()
    return {label: mean for label, mean in zip(found.labels, found.means, strict=True) if not np.isnan(mean)}


def test_numbers_are_those_of_the_decision():
    learner, decision = asked()
    learner.change(uniform("bac"))
    learner.tell(decision, {0: 0.25, 2: 0.75})
    assert means(learner) == {"a": 0.25, "c": 0.75}


def test_numbers_of_other_items_of_today_are_no_items_of_the_decision():
    learner, decision = asked()
    learner.change(uniform("bac"))
    with pytest.raises(FeedbackError, match=r"expected items of decision 1, got 1 \('b'\)"):
        learner.tell(decision, {1: 0.25})
    with pytest.raises(ItemError):
        learner.tell(decision, {"d": 0.25})


def test_a_bare_id_goes_by_labels_alone_once_the_items_have_changed():
    learner, decision = asked()
    learner.change(uniform("bac"))
    with pytest.raises(ItemError, match="expected the label"):
        learner.tell(decision.id, {0: 0.25})
    with pytest.raises(ItemError, match="expected the label"):
        learner.check_tell(decision.id, {0: 0.25})
    learner.tell(decision.id, {"c": 0.75})
    learner.tell(decision.id, {"a": 0.25})
    assert means(learner) == {"a": 0.25, "c": 0.75}
    new = learner.ask(pinned=["b", "a"])
    learner.tell(new.id, {0: 0.5})  # made since: numbers are today's
    assert means(learner)["b"] == 0.5


def test_labels_that_are_integers_go_by_label():
    learner = mb.Learner(uniform([5, 7, 9]), mb.OMM())
    decision = learner.ask(pinned=[5, 9])
    learner.change(uniform([7, 5, 9, 0]))
    learner.tell(decision.id, {5: 0.25, 9: 0.75})
    assert means(learner) == {5: 0.25, 9: 0.75}


@pytest.mark.parametrize("how", ["array", "numbers", "labels"])
def test_outstanding_decisions_have_the_numbers_of_today(how):
    learner, _ = asked("ac")
    learner.change(uniform("cba"))
    (now,) = learner.outstanding
    assert now.labels == ("c", "a")
    weights = {"array": [0.75, 0.25], "numbers": {0: 0.75, 2: 0.25}, "labels": {"a": 0.25, "c": 0.75}}[how]
    learner.tell(now, weights)
    assert means(learner) == {"a": 0.25, "c": 0.75}


def test_outstanding_decisions_survive_further_changes():
    learner, decision = asked("ac")
    learner.change(uniform("cb"))
    (now,) = learner.outstanding
    assert now.labels == ("c",)
    learner.change(uniform("dcab"))
    learner.tell(now, [0.75])
    learner.tell(decision, {"a": 0.25})
    assert means(learner) == {"a": 0.25, "c": 0.75}
    assert learner.n_outstanding == 0


def test_an_array_is_in_the_order_of_the_decision():
    learner, decision = asked("ac")
    learner.change(uniform("cb"))
    learner.tell(decision, [0.25, 0.75])
    learner.change(uniform("abc"))
    assert means(learner) == {"a": 0.25, "c": 0.75}


def test_a_loaded_learner_knows_which_decisions_are_older(tmp_path):
    learner, decision = asked()
    learner.change(uniform("bac"))
    new = learner.ask(pinned=["b", "a"])
    learner.save(tmp_path / "it")
    again = mb.Learner.load(tmp_path / "it")
    with pytest.raises(ItemError, match="expected the label"):
        again.tell(decision.id, {0: 0.25})
    again.tell(decision, {0: 0.25})
    again.tell(new.id, {0: 0.5, 1: 0.75})
    assert means(again) == {"a": 0.5, "b": 0.5}
