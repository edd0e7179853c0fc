"""How weights may name items: by any integer, by label, in a pandas Series; and decisions by their ids alone."""

import numpy as np
import pandas as pd
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, ItemError, UnknownDecisionError, WeightsError
from steps import Number

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.intp, int, Number]


def counts(learner):
    return learner.estimates().counts.tolist()


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("labels", [None, "abcdef"])
def test_items_may_be_integers_of_any_type(kind, labels):
    matroid = mb.UniformMatroid(6, 3, labels=labels)
    learner = mb.Learner(matroid, mb.OMM(), seed=0)
    learner.observe({kind(5): 1.0})
    decision = learner.ask()
    learner.tell(decision, {kind(e): 0.5 for e in decision.items})
    assert counts(learner) == [1, 1, 1, 0, 0, 1]
    assert learner.explain(kind(4)).item == 4
    assert matroid.as_item(kind(3)) == 3
    assert matroid.as_items([kind(3), np.int64(1), np.uint64(2)]).tolist() == [1, 2, 3]
    if labels is None:
        assert matroid.item(kind(3)) == 3


@pytest.mark.parametrize("labels", [None, range(2000)])
def test_finding_an_item_compares_it_with_no_other(labels):
    """A search through the ground set would compare a key with every item before it."""
    learner = mb.Learner(mb.UniformMatroid(2000, 1000, labels=labels), mb.OMM(), seed=0)
    keys = [Number(int(e)) for e in learner.ask().items]
    learner.tell(1, dict.fromkeys(keys, 0.5))
    assert max(key.n_compared for key in keys) <= 4  # with equal hashes of the mapping itself and of labels
    stray = Number(10**9)
    with pytest.raises(ItemError, match="expected an item or its label"):
        learner.explain(stray)
    assert stray.n_compared <= 4


@pytest.mark.parametrize("key", [True, np.True_, 1.0, np.float64(1.0), "1", None, (1,)])
def test_what_is_no_integer_is_no_item(key):
    learner = mb.Learner(mb.UniformMatroid(3, 2), mb.OMM(), seed=0)
    learner.ask()
    with pytest.raises(ItemError, match="expected an item or its label"):
        learner.tell(1, {key: 0.5})
    for ask in (learner.constraint.item, learner.constraint.as_item):
        with pytest.raises(ItemError):
            ask(key)
    assert counts(learner) == [0, 0, 0]


def test_a_series_is_read_by_its_index():
    learner = mb.Learner(mb.UniformMatroid(4, 3, labels="abcd"), mb.OMM(), seed=0)
    learner.observe(pd.Series([0.4, 0.3, 0.2, 0.1], index=list("dcba")))
    assert learner.estimates().means.tolist() == [0.1, 0.2, 0.3, 0.4]
    decision = learner.ask()
    assert decision.labels == ("b", "c", "d")
    learner.tell(decision, pd.Series({"d": 0.8, "b": 0.6}))
    learner.tell(decision, pd.Series({2: 0.7}))
    assert np.allclose(learner.estimates().means, [0.1, 0.4, 0.5, 0.6])


def test_a_series_without_the_items_of_the_decision_is_an_error():
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), seed=0)
    learner.observe([0.1, 0.2, 0.3, 0.4])
    decision = learner.ask()
    assert decision.items.tolist() == [2, 3]
    with pytest.raises(FeedbackError, match="expected items of decision 1, got 0"):
        learner.tell(decision, pd.Series([0.5, 0.6]))
    with pytest.raises(FeedbackError, match="expected each item once"):
        learner.tell(decision, pd.Series([0.5, 0.6], index=[2, 2]))
    with pytest.raises(FeedbackError, match="expected a number for 2"):
        learner.tell(decision, pd.Series(["0.5"], index=[2]))
    with pytest.raises(ItemError, match="expected an item or its label, got 'weight'"):
        learner.tell(decision, pd.DataFrame({"weight": [0.5, 0.6]}))
    assert counts(learner) == [1, 1, 1, 1]
    learner.tell(decision, pd.Series([0.5, 0.6], index=[3, 2]))
    assert np.allclose(learner.estimates().means[2:], [0.45, 0.45])


def test_weights_and_matroids_of_a_series_go_by_its_index_too():
    blocks = pd.Series({"boots": "shoes", "heels": "shoes", "fedora": "hats"})
    ads = mb.PartitionMatroid(blocks, pd.Series({"hats": 1, "shoes": 1}))
    assert ads == mb.PartitionMatroid(blocks.to_dict(), {"hats": 1, "shoes": 1})
    weights = pd.Series({"fedora": 0.1, "heels": 0.7, "boots": 0.2})
    assert ads.max_weight_basis(weights).tolist() == ads.max_weight_basis(weights.to_dict()).tolist() == [1, 2]
    jobs = pd.Series({"ann": ["day"], "eve": ["day", "night"]})
    assert mb.TransversalMatroid(jobs) == mb.TransversalMatroid(jobs.to_dict())
    for some in (weights[:2], pd.Series([1.0, 2.0, 3.0], index=["boots", "boots", "heels"])):
        with pytest.raises(WeightsError, match="expected a weight for each of 3 items, once"):
            ads.max_weight_basis(some)
    with pytest.raises(ItemError, match="expected the label of one of 3 items, got 'cap'"):
        ads.max_weight_basis({"cap": 1.0})


@pytest.mark.parametrize("id", [True, np.True_, 1.0, np.float64(1.0), np.array([1]), False, "1", 1 + 0j])
def test_ids_of_decisions_are_integers(id):
    learner = mb.Learner(mb.UniformMatroid(3, 2), mb.OMM(), seed=0)
    learner.ask()
    for _ in range(2):  # open, and told
        with pytest.raises(UnknownDecisionError, match=r"expected a decision or its id, 1\.\.1; got"):
            learner.tell(id, [0.5, 0.5])
        if counts(learner) == [0, 0, 0]:
            learner.tell(np.uint8(1), [0.5, 0.5])
    assert counts(learner) == [1, 1, 0]
