"""Requests that name items which are gone: an error, or passed over and counted."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ItemError

ITEMS = mb.UniformMatroid(4, 2, labels="abcd")


def learner_of(log=None):
    return mb.Learner(ITEMS, mb.OMM(), seed=1, record=None if log is None else log.append)


def test_names_that_are_not_there_are_passed_over_and_counted():
    log = []
    learner, plain = learner_of(log), learner_of()
    for given, meant in (
        ({"exclude": ["a", "gone", "past"]}, {"exclude": ["a"]}),
        ({"available": ["b", "gone", "d", "c"]}, {"available": ["b", "c", "d"]}),
        ({"available": {"a": False, "b": True, "c": True, "d": True, "gone": True}}, {"exclude": ["a"]}),
        ({"exclude": ["gone"]}, {}),
        ({"exclude": iter(["a", "gone"])}, {"exclude": ["a"]}),
    ):
        ours, theirs = learner.ask(**given, unknown="ignore"), plain.ask(**meant)
        assert ours.labels == theirs.labels
        weights = [0.5] * len(ours.labels)
        learner.tell(ours, weights)
        plain.tell(theirs, weights)
    assert (learner.n_unknown, plain.n_unknown) == (6, 0)
    assert "gone" not in json.dumps(log)
    assert mb.Learner.replay(json.loads(json.dumps(log))).ask().labels == learner.ask().labels
    n = learner.n_unknown
    learner.preview(exclude=["gone"], unknown="ignore")
    learner.check_ask(exclude=["gone"], unknown="ignore")
    assert learner.n_unknown == n


def test_by_default_they_are_errors():
    learner = learner_of()
    for given in ({"exclude": ["gone"]}, {"available": ["gone", "a"]}):
        for call in (learner.ask, learner.preview, learner.check_ask):
            with pytest.raises(ItemError, match="gone"):
                call(**given)
    with pytest.raises(ItemError, match='expected unknown to be "raise" or "ignore", got'):
        learner.ask(unknown="skip")
    assert (learner.n_decisions, learner.n_unknown) == (0, 0)


def test_pins_and_numbers_must_be_there():
    learner = learner_of()
    with pytest.raises(ItemError, match="pinned"):
        learner.ask(pinned=["gone"], unknown="ignore")
    with pytest.raises(ItemError, match="9"):
        learner.ask(exclude=np.array([9]), unknown="ignore")
    with pytest.raises(ItemError, match="mask of 4 values"):
        learner.ask(available=[True, False], unknown="ignore")
    assert learner.n_decisions == 0


def test_an_empty_list_of_what_is_left_leaves_nothing():
    assert learner_of().ask(available=["gone"], unknown="ignore").labels == ()
