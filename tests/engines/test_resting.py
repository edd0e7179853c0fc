"""Tournaments rest where they are more work than a scan, and the decisions stay what they are."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.engines import KineticEngine, make_engine
from matroid_bandits.stream import POLICY, Stream


class Impatient(KineticEngine):
    """Finds everything but a glance too much work, and forgets soon that it did."""

    ITEMS_PER_NODE, WATCHED, FIRST_REST, LONGEST_REST = 2**20, 2, 3, 12

    def __init__(self, constraint, policy, state):
        super().__init__(constraint, policy, state, may_rest=True)
        self.n_scans = 0

    def scan(self, request):
        self.n_scans += 1
        return super().scan(request)


def trajectory(engine, policy, n_items, n_episodes, n_runs=2):
    """The sets of every episode, answers at once, and the engine that found them."""
    own, rng = Stream(0, range(n_runs), POLICY), np.random.default_rng(0)
    matroid = mb.PartitionMatroid(np.arange(n_items) % 3, 2)
    agent = Agent(matroid, policy, n_runs=n_runs, engine=engine)
    everything = np.tile(np.arange(n_items), (n_runs, 1))
    agent.observe(mb.Request(0, own), everything, rng.random(everything.shape))
    sets = []
    for t in range(1, n_episodes + 1):
        excluded = rng.choice(n_items, 2, replace=False) if t % 5 == 0 else None
        play = agent.decide(mb.Request(t, own, excluded=excluded))
        agent.learn(play, rng.random(play.items.shape))
        sets.append(play.items.copy())
    return np.array(sets), agent._engine


@pytest.mark.parametrize("policy", [mb.OMM(0.3), mb.DiscountedOMM(0.9, 0.3)])
def test_resting_changes_no_decision(policy):
    plain, _ = trajectory("greedy", policy, 60, 200)
    found, engine = trajectory(Impatient, policy, 60, 200)
    assert np.array_equal(found, plain)
    assert 100 < engine.n_scans < 200
    assert engine._rest == Impatient.LONGEST_REST


def test_a_rest_is_as_long_as_the_work_was_too_much():
    state = mb.State(mb.UniformMatroid(640, 1), n_runs=1)
    engine = KineticEngine(state.constraint, mb.OMM(), state, may_rest=True)
    most = engine.WATCHED * 640 // engine.ITEMS_PER_NODE
    lengths = []
    for works in ([most], [0] * (engine.WATCHED - 1), [most + 1], [most, 1], [most + 1], [most + 1]):
        for work in works:
            engine._watch(work)
        lengths.append(engine._resting)
        engine._resting = 0
    first = engine.FIRST_REST
    assert lengths == [0, 0, first, 2 * first, 4 * first, 8 * first]
    for _ in range(9):
        engine._watch(most + 1)
    assert engine._resting == engine.LONGEST_REST
    engine._resting = 0
    for _ in range(engine.WATCHED):
        engine._watch(0)
    assert engine._rest == first


def test_only_the_engine_that_was_not_asked_for_by_name_rests():
    matroid = mb.UniformMatroid(KineticEngine.LEAST_ITEMS, 2)
    state = mb.State(matroid, n_runs=1)
    assert make_engine("auto", matroid, mb.OMM(), state)._most_work < np.inf
    assert make_engine("kinetic", matroid, mb.OMM(), state)._most_work == np.inf


@pytest.mark.compiled
def test_indices_that_rounding_makes_equal_are_scanned():
    """Radii so wide that they hide the means: no certificate holds, and every match is replayed in every episode."""
    n_items = KineticEngine.LEAST_ITEMS
    policy = mb.DiscountedOMM(0.5, 0.3)
    plain, _ = trajectory("greedy", policy, n_items, 200, n_runs=1)
    found, engine = trajectory("auto", policy, n_items, 200, n_runs=1)
    assert np.array_equal(found, plain)
    assert engine._rest > engine.FIRST_REST


@pytest.mark.compiled
def test_the_best_of_many_that_are_equal_are_the_first_of_them():
    rng = np.random.default_rng(6)
    for _ in range(300):
        n = int(rng.integers(66, 5000))
        k = int(rng.integers(1, 60))
        weights = rng.integers(0, rng.integers(1, 5), n).astype(float)
        is_better = rng.random(n) < rng.choice([0.0, 0.001, 0.05])
        weights = np.where(is_better, 5.0 + rng.random(n), weights)
        weights[rng.random(n) < rng.choice([0.0, 0.3])] = -np.inf
        expected = np.sort(np.argsort(-weights, kind="stable")[:k])
        assert np.array_equal(mb.UniformMatroid(n, min(k, n)).best_sets(weights[None])[0][0], expected)
