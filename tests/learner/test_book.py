"""The book of open decisions: what waits, and when it was asked for."""

import copy
import math

import numpy as np
import pytest

import matroid_bandits as mb

ITEMS = mb.PartitionMatroid({"boots": "left", "heels": "left", "fedora": "right", "beret": "right"})
WINTER = mb.PartitionMatroid({"mocs": "left", "beret": "right", "heels": "left"})


def learner_with_open(n=6):
    """Decisions with and without requests, drawn at random or not; every other one has a time."""
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1, holdout=0.3)
    for t in range(n):
        decision = learner.ask(**({"pinned": ["beret"]} if t % 3 == 0 else {}))
        if t % 2:
            learner.book.date(decision.id, 100.0 + t)
    return learner


def times(learner):
    return dict(learner.book.times())


def test_files_and_changes_keep_times(tmp_path):
    learner = learner_with_open()
    said = {id: None if id % 2 else 99.0 + id for id in range(1, 7)}
    assert times(learner) == said
    learner.save(tmp_path / "a.learner")
    loaded = mb.Learner.load(tmp_path / "a.learner")
    for each in (loaded, copy.deepcopy(learner)):
        assert times(each) == said
        assert [decision.to_dict() for decision in each.outstanding] == [d.to_dict() for d in learner.outstanding]
        each.change(WINTER, forget=["boots"])
        assert times(each).items() <= said.items()
        each.save(tmp_path / "b.learner")
        again = mb.Learner.load(tmp_path / "b.learner")
        assert times(again) == times(each)
        assert len(again.book) == each.n_outstanding > 0


def test_learners_without_times_have_none_in_their_files(tmp_path):
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1)
    learner.ask()
    learner.save(tmp_path / "a.learner")
    with np.load(tmp_path / "a.learner") as arrays:
        assert "open/times" not in arrays.files


def test_a_decision_leaves_the_book_with_its_last_answer():
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1)
    decision = learner.ask()
    assert learner.book.untouched(decision.id) == list(decision.labels)
    learner.tell(decision, {decision.labels[0]: 0.5})
    assert decision.id in learner.book
    assert (learner.book.untold(decision.id), learner.book.untouched(decision.id)) == (
        (decision.id, 1, 2, False),
        None,
    )
    learner.tell(decision, {decision.labels[1]: 0.5})
    assert decision.id not in learner.book
    assert (learner.book.untold(decision.id), learner.book.untouched(decision.id)) == (None, None)
    with pytest.raises(mb.exceptions.DecisionClosedError):
        learner.book.date(decision.id, 1.0)
    waits = learner.ask()
    learner.change(WINTER)
    assert learner.book.untouched(waits.id) is None
    assert learner.book.untold(waits.id) == (waits.id, 2, 2, False)


@pytest.mark.parametrize("forgotten", [None, ["boots"], ["fedora"], ["boots", "heels"]])
def test_a_decision_with_items_that_a_restart_forgot_is_not_untouched(forgotten, tmp_path):
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1)
    decision = learner.ask(pinned=["boots", "beret"])
    learner.restart(forgotten)
    learner.save(tmp_path / "a.learner")
    is_hit = forgotten is None or "boots" in forgotten
    for each in (learner, mb.Learner.load(tmp_path / "a.learner")):
        assert each.book.untouched(decision.id) == (None if is_hit else ["boots", "beret"])


@pytest.mark.parametrize("time", [math.nan, math.inf, "now", None, True])
def test_times_are_finite_numbers(time):
    learner = mb.Learner(ITEMS, mb.OMM())
    learner.ask()
    with pytest.raises(mb.exceptions.FeedbackError, match="expected time to be a finite number"):
        learner.book.date(1, time)
    assert times(learner) == {1: None}


def test_the_oldest_are_decisions_with_times():
    learner = learner_with_open()
    oldest = learner.book.oldest(4)
    assert [decision for decision, _ in oldest] == list(learner.outstanding[:4])
    assert [time for _, time in oldest] == [None, 101.0, None, 103.0]
    assert learner.book.oldest(0) == []
