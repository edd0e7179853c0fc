"""What an `OracleMatroid` remembers of its predicate: the same decisions with fewer questions, within bounds."""

import copy
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidMatroidError


class Counted:
    """A forest of a small graph, which counts how often it is asked about each set."""

    graph = mb.GraphicMatroid([(i, j) for i in range(6) for j in range(i)])

    def __init__(self):
        self.asked = Counter()

    def __call__(self, items):
        assert isinstance(items, frozenset)
        self.asked[items] += 1
        return bool(self.graph.is_independent(np.array(sorted(items), int)))


def play(matroid, n_runs=2):
    problem = mb.Problem(matroid, mb.BernoulliEnvironment(np.linspace(0.1, 0.9, matroid.n_items)))
    return mb.simulate(problem, [mb.OMM(0.3), mb.ThompsonSampling()], n_episodes=60, n_runs=n_runs, seed=0)


def test_answers_are_asked_for_once_and_decisions_stay(monkeypatch):
    for module in ("_util.threads", "simulation._executors"):  # two threads may ask the same at once
        monkeypatch.setattr(f"matroid_bandits.{module}.n_threads", lambda: 1)
    known, asking = Counted(), Counted()
    matroid = mb.OracleMatroid(15, known)
    assert play(matroid) == play(mb.OracleMatroid(15, asking, cache_size=0)) == play(Counted.graph)
    assert set(known.asked) == set(asking.asked)
    assert set(known.asked.values()) == {1}
    assert asking.asked.total() > 4 * known.asked.total()
    before = known.asked.total()
    matroid.is_independent([0, 1, 2])
    matroid.closure([0, 1])
    matroid.is_independent([2, 1, 0])
    matroid.closure([1, 0])
    assert max(known.asked.values()) == 1
    assert known.asked.total() > before


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_no_more_is_remembered_than_asked_for(size):
    predicate = Counted()
    matroid = mb.OracleMatroid(15, predicate, cache_size=size)
    weights = np.random.default_rng(0).random((40, 15))
    assert np.array_equal(matroid.max_weight_basis(weights), Counted.graph.max_weight_basis(weights))
    assert len(matroid._answers._new) + len(matroid._answers._old) <= size
    assert predicate.asked.total() > size  # what is forgotten is asked for again


def test_many_items_are_remembered_in_as_many_bytes():
    assert mb.OracleMatroid(10, Counted())._cache_size == 2**16
    assert mb.OracleMatroid(10**6, Counted())._cache_size < 2**8
    with pytest.raises(InvalidMatroidError, match="expected cache_size to be an integer of at least 0, got -1"):
        mb.OracleMatroid(3, Counted(), cache_size=-1)


def test_copies_and_pickles_begin_with_nothing_and_are_equal():
    matroid = mb.OracleMatroid(15, Counted(), labels="abcdefghijklmno", cache_size=100)
    matroid.max_weight_basis(np.arange(15.0))
    for other in (copy.copy(matroid), copy.deepcopy(matroid), pickle.loads(pickle.dumps(matroid))):
        assert not other._answers._new
        assert other._cache_size == 100
        assert other.labels == matroid.labels
        assert np.array_equal(other.max_weight_basis(np.arange(15.0)), matroid.max_weight_basis(np.arange(15.0)))
    assert copy.copy(matroid) == matroid


def test_an_error_is_no_answer():
    def fails_once(items):
        if not calls:
            calls.append(items)
            raise RuntimeError("not now")
        return len(items) <= 1

    calls: list[frozenset[int]] = []
    matroid = mb.OracleMatroid(3, fails_once)
    with pytest.raises(RuntimeError, match="not now"):
        matroid.is_independent([0])
    assert matroid.is_independent([0])


def test_threads_share_what_is_remembered():
    matroid = mb.OracleMatroid(15, Counted(), cache_size=30)
    weights = np.random.default_rng(0).random((64, 15))
    expected = Counted.graph.max_weight_basis(weights)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(matroid.max_weight_basis, weights))
    assert np.array_equal(found, expected)
