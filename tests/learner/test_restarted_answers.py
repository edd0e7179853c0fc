"""Answers to decisions of items that have started anew are taken by label too, and are not counted."""

import json

import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import DecisionClosedError, FeedbackError, ItemError

ITEMS = mb.UniformMatroid(5, 3, labels="abcde")


def begun(log):
    learner = mb.Learner(ITEMS, mb.OMM(), seed=1, id="x", record=log.append)
    return learner, [learner.ask() for _ in range(4)]


def check_replay(learner, log, tmp_path):
    learner.save(tmp_path / "live")
    mb.Learner.replay(json.loads(json.dumps(log))).save(tmp_path / "replayed")
    assert (tmp_path / "live").read_bytes() == (tmp_path / "replayed").read_bytes()


@pytest.mark.parametrize("restart", ["all", "some", "configure"])
@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("by_id", [False, True])
def test_late_answers_by_label(restart, changes, by_id, tmp_path):
    log = []
    learner, (one, two, three, four) = begun(log)
    learner.tell(four, {four.labels[1]: 1.0})
    if restart == "configure":
        learner.configure(policy=mb.SlidingWindowOMM(5), restart=True)
    else:
        learner.restart(None if restart == "all" else "abcde")
    if changes:
        learner.change(mb.UniformMatroid(6, 3, labels="fedcba"))
    for decision in (one, two, three, four):
        given = decision.id if by_id else decision
        first, second, third = decision.labels
        if decision is one:
            learner.tell(given, dict.fromkeys(decision.labels, 1.0))
        elif decision is two:
            learner.tell(given, {third: 1.0})
            check_replay(learner, log, tmp_path)
            learner.tell(given, {first: 1.0, second: 0.0})
        elif decision is three:
            learner.tell(given, {second: 1.0})
            learner.close(given, default=0.5)
        else:
            learner.tell(given, {first: 0.0, third: 1.0})
        check_replay(learner, log, tmp_path)
        with pytest.raises(DecisionClosedError):
            learner.tell(given, {first: 1.0})
    assert learner.n_outstanding == 0
    assert learner._agent.state.counts.sum() == 0
    check_replay(learner, log, tmp_path)


def test_other_items_are_still_no_items_of_the_decision(tmp_path):
    log = []
    learner, (one, two, *_) = begun(log)
    learner.restart(one.labels[:1])
    others = [label for label in "abcde" if label not in one.labels]
    learner.tell(one.id, {one.labels[1]: 1.0})
    with pytest.raises(FeedbackError, match="expected items of decision 1"):
        learner.tell(one.id, {others[0]: 1.0, others[1]: 1.0})
    with pytest.raises(DecisionClosedError, match="was told before"):
        learner.tell(one.id, {one.labels[1]: 1.0})
    learner.tell(one.id, {one.labels[0]: 1.0, one.labels[2]: 1.0})
    learner.change(mb.UniformMatroid(2, 1, labels="yz"), forget="abcde")
    learner.tell(two, {two.labels[0]: 1.0})  # of an item that has no name any more
    learner.tell(two.id, {two.labels[1]: 1.0})
    check_replay(learner, log, tmp_path)
    with pytest.raises(ItemError, match="got 'c'"):
        learner.tell(two.id, {"c": 1.0, "d": 1.0})
    with pytest.raises(ItemError):
        learner.tell(two.id, {None: 1.0})
    learner.tell(two.id, {two.labels[2]: 1.0})
    check_replay(learner, log, tmp_path)
