"""Choosing an engine costs no more than a few greedy bases, and what it rests on changes no decision."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.engines import make_engine
from matroid_bandits.exceptions import InvalidMatroidError
from steps import steps


def families(n):
    """A matroid of about n items of every family, fresh: nothing of it is known yet."""
    rng = np.random.default_rng(2)
    edges = rng.integers(0, n // 3, (n, 2))
    pairs = [rng.choice(n // 2, 3, replace=False) for _ in range(n)]
    blocks = np.arange(n) // 4
    return {
        "uniform": lambda: mb.UniformMatroid(n, n // 3),
        "partition": lambda: mb.PartitionMatroid(blocks),
        "laminar": lambda: mb.LaminarMatroid(n, [(range(n), n // 3), (range(n // 2), n // 9)]),
        "graphic": lambda: mb.GraphicMatroid(edges),
        "transversal": lambda: mb.TransversalMatroid(pairs),
        "linear": lambda: mb.LinearMatroid(np.hstack([rng.integers(0, 2, (n, 9)), np.eye(n, dtype=int)[:, :n // 4]])),
        "linear, wide": lambda: mb.LinearMatroid(rng.integers(0, 2, (n, n // 2)), field=101),
        "linear of floats": lambda: mb.LinearMatroid(rng.random((n, n // 5))),
        "oracle": lambda: mb.OracleMatroid(n, lambda X: len(X) <= 5),
        "dual": lambda: mb.GraphicMatroid(edges).dual(),
        "dual of vectors": lambda: mb.LinearMatroid(rng.integers(0, 2, (n, 9))).dual(),
        "truncation": lambda: mb.TransversalMatroid(pairs).truncate(n // 5),
        "restriction": lambda: mb.TransversalMatroid(pairs).restrict(range(n // 2)),
        "contraction": lambda: mb.GraphicMatroid(edges).contract(range(n // 5)),
        "direct sum": lambda: mb.direct_sum(mb.GraphicMatroid(edges), mb.UniformMatroid(n, 3)),
    }  # fmt: skip


def choose(matroid, engine="auto"):
    return make_engine(engine, matroid, mb.OMM(), mb.State(matroid, n_runs=1))


@pytest.mark.compiled
@pytest.mark.parametrize("name", families(60))
@pytest.mark.parametrize("engine", ["auto", "warm"])
def test_choosing_an_engine_takes_the_steps_of_a_few_bases(name, engine):
    for n in (60, 600):
        make = families(n)[name]
        weights = np.random.default_rng(3).random(make().n_items)
        matroid = make()
        basis = steps(lambda M=matroid, w=weights: M.max_weight_basis(w))
        matroid = make()
        assert steps(lambda M=matroid: choose(M, engine)) <= 3 * basis + 150, n


@pytest.mark.parametrize("name", families(60))
def test_choosing_an_engine_asks_for_circuits_of_no_item(name, monkeypatch):
    asked = []
    for kind in {
        kind for make in families(60).values() for kind in type(make()).__mro__ if "replaceable" in vars(kind)
    }:
        monkeypatch.setattr(kind, "replaceable", lambda *_: asked.append(1))
    choose(families(60)[name]())
    assert not asked


def mixed_matroids(rng):
    """Coloops, loops and parallel items among others, in every family that an engine reduces."""
    edges = [(0, 1), (1, 0), (1, 2), (2, 0), (3, 4), (4, 5), (6, 6), *rng.integers(7, 15, (14, 2)).tolist()]
    rows = np.zeros((30, 14), int)
    rows[:24, :10] = rng.integers(0, 2, (24, 10)) * rng.integers(1, 4, (24, 1))
    rows[24:28, 10:] = np.eye(4, dtype=int)
    lists = [rng.choice(8, rng.integers(0, 3), replace=False).tolist() for _ in range(25)] + [[20], [21, 22]]
    graph, vectors, pairs = mb.GraphicMatroid(edges), mb.LinearMatroid(rows), mb.TransversalMatroid(lists)
    wide = mb.LinearMatroid([[int(x) * 10**9 for x in row] for row in rows])
    for matroid in (graph, vectors, wide, mb.LinearMatroid(rows / 7), pairs):
        half = np.arange(0, matroid.n_items, 2)
        yield matroid
        yield matroid.dual()
        yield matroid.truncate(4)
        yield matroid.restrict(half)
        yield matroid.contract(half[:4])
        yield mb.direct_sum(matroid, graph.dual(), mb.UniformMatroid(4, 2))


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(8))
def test_reduced_engines_decide_as_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    for matroid in mixed_matroids(rng):
        learners = [mb.Learner(matroid, mb.OMM(), seed=0, engine=name) for name in ("greedy", "warm", "auto")]
        first = rng.integers(0, 3, matroid.n_items) / 2
        for learner in learners:
            learner.observe(first)
        for _ in range(12):
            asked = [learner.ask() for learner in learners]
            assert all(np.array_equal(asked[0].items, other.items) for other in asked[1:]), matroid
            weights = rng.integers(0, 3, asked[0].items.size) / 2
            for learner, decision in zip(learners, asked, strict=True):
                learner.tell(decision, weights)


@pytest.mark.parametrize("seed", range(40))
def test_vectors_that_rounding_decides_get_one_decision_from_all_engines(seed):
    """Where a tolerance cuts through the remainders, the order of elimination matters: all must keep to it."""
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (20, 6)) + rng.normal(0, 10.0 ** rng.integers(-12, -1), (20, 6))
    matroid = mb.LinearMatroid(vectors, tolerance=float(10.0 ** rng.integers(-9, 0)))
    outcomes = []
    for engine in ("greedy", "warm", "auto"):
        learner = mb.Learner(matroid, mb.OMM(), seed=0, engine=engine)
        learner.observe(np.random.default_rng(seed).random(20))
        try:
            outcomes.append([learner.ask().items.tolist() for _ in range(5)])
        except InvalidMatroidError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1] == outcomes[2]
