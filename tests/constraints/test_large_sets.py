"""Larger problems: totals of other solvers, and certificates that nothing is better."""

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import families
import matroid_bandits as mb

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("shape", [(20, 20), (60, 40), (40, 60)])
def test_assignments_have_the_totals_of_scipy(shape):
    rng = np.random.default_rng(1)
    constraint = mb.AssignmentConstraint.between(range(shape[0]), range(shape[1]))
    weights = rng.random((3, shape[0] * shape[1]))
    weights[2] = rng.integers(0, 3, weights.shape[1])  # ties
    items, sizes = constraint.best_sets(weights)
    for row, chosen, size in zip(weights, items, sizes, strict=True):
        table = row.reshape(shape)
        assert size == min(shape)
        assert row[chosen].sum() == pytest.approx(table[linear_sum_assignment(table, maximize=True)].sum(), rel=1e-12)
    masks = rng.random(weights.shape) < 0.5
    items, sizes = constraint.best_sets(weights, available=masks)
    for row, mask, chosen, size in zip(weights, masks, items, sizes, strict=True):
        table = np.where(mask, row, -1000.0).reshape(shape)
        total = table[linear_sum_assignment(table, maximize=True)]
        assert size == (total > -1000.0).sum()
        assert row[chosen[:size]].sum() == pytest.approx(total[total > -1000.0].sum(), rel=1e-12)


def test_the_dense_algorithm_and_the_flow_agree():
    """The flow finds the same matching, where two more rows share a column of their own."""
    rng = np.random.default_rng(2)
    n = 12
    dense = mb.AssignmentConstraint.between(range(n), range(n + 1))
    pairs = [(r, c) for r in range(n) for c in range(n + 1)]
    flow = mb.AssignmentConstraint([*pairs, (n, n + 1), (n + 1, n + 1)])
    for weights in (rng.random((5, len(pairs))), rng.integers(0, 3, (5, len(pairs))).astype(float)):
        one = dense.best_sets(weights)[0]
        two = flow.best_sets(np.concatenate([weights, np.zeros((5, 2))], axis=1))[0]
        assert np.array_equal(one, two[:, :n])


def potentials_of(constraint, weights):
    """The kernel's state after one row: cost, potentials, use and closing of arcs."""
    network = constraint._network
    flows = network.best(constraint._snap(weights[None]), constraint._opened(None), np.zeros(
        network.tails.size - constraint.n_items, bool
    ))  # fmt: skip
    return network, flows


def random_digraph(rng, n, m):
    ends = rng.integers(0, n, (m, 2))
    return np.concatenate([ends[ends[:, 0] != ends[:, 1]], np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)])


def test_flows_are_certified_by_potentials():
    rng = np.random.default_rng(3)
    ends = random_digraph(rng, 200, 1000)
    acyclic = np.sort(ends, axis=1)
    samples = [
        mb.PathConstraint(acyclic, 0, 199),
        mb.PathConstraint(ends, 0, 199),
        mb.QuotaIntersection(families.nested(rng, 300), families.nested(rng, 300)),
        mb.AssignmentConstraint(np.unique(rng.integers(0, 60, (900, 2)), axis=0)),
    ]
    for constraint in samples:
        for weights in (-rng.random(constraint.n_items), -rng.integers(1, 4, constraint.n_items).astype(float)):
            network, flows = potentials_of(constraint, weights)
            reduced = flows.cost + flows.potentials[network.tails] - flows.potentials[network.heads]
            is_open = ~flows.is_closed
            assert (reduced[is_open & ~flows.used] >= 0).all()
            assert (reduced[is_open & flows.used] <= 0).all()


def test_paths_have_the_totals_of_networkx():
    rng = np.random.default_rng(4)
    ends = random_digraph(rng, 150, 600)
    constraint = mb.PathConstraint(ends, 0, 149)
    assert not constraint.is_acyclic
    for _ in range(3):
        costs = rng.random(len(ends)) + 0.01
        graph = nx.MultiDiGraph()
        graph.add_weighted_edges_from((u, v, c) for (u, v), c in zip(ends.tolist(), costs, strict=True))
        items, _ = constraint.best_sets(-costs[None])
        assert costs[items[0]].sum() == pytest.approx(nx.dijkstra_path_length(graph, 0, 149), rel=1e-9)


@pytest.mark.parametrize("is_tied", [False, True])
def test_arborescences_have_the_totals_of_networkx(is_tied):
    rng = np.random.default_rng(5)
    ends = random_digraph(rng, 40, 200)
    constraint = mb.ArborescenceConstraint(ends, 0)
    for _ in range(3):
        weights = rng.integers(0, 4, len(ends)).astype(float) if is_tied else rng.random(len(ends))
        graph = nx.DiGraph()
        for (u, v), w in zip(ends.tolist(), weights, strict=True):
            if v != 0 and (not graph.has_edge(u, v) or graph[u][v]["weight"] < w):
                graph.add_edge(u, v, weight=w)
        items, sizes = constraint.best_sets(weights[None])
        best = nx.maximum_spanning_arborescence(graph)
        assert sizes[0] == 39
        assert weights[items[0]].sum() == pytest.approx(best.size(weight="weight"))


@pytest.mark.parametrize("is_tied", [False, True])
def test_intersections_are_certified_by_a_split_of_weights(is_tied):
    """w = w1 + w2, of which the set is best for w1 in one matroid and for w2 in the other, among sets of its size."""
    rng = np.random.default_rng(6)
    L = 80
    matroids = mb.GraphicMatroid(rng.integers(0, 25, (L, 2))), mb.PartitionMatroid(rng.integers(0, 12, L), 2)
    constraint = mb.MatroidIntersection(*matroids)
    weights = rng.integers(0, 4, L).astype(float) if is_tied else rng.random(L)
    w = constraint._snap(weights[None])[0]
    items, sizes = constraint.best_sets(weights[None])
    in_set = np.zeros(L, bool)
    in_set[items[0, : sizes[0]]] = True
    nothing, everything = np.zeros(L, bool), np.ones(L, bool)
    arcs = []
    for number, matroid in enumerate(matroids):
        is_free, circuits, n = constraint._exchanges(matroid, in_set, nothing, everything)
        for y in np.flatnonzero(~in_set):
            members = items[0, : sizes[0]] if is_free[y] else circuits[y, : n[y]]
            arcs += [(x, y) if number == 0 else (y, x) for x in members.tolist()]
    tails, heads = np.array(arcs).T
    cost = np.where(in_set, w, -w)
    potential = np.zeros(L, np.int64)
    for _ in range(L + 1):
        np.minimum.at(potential, heads, potential[tails] + cost[heads])
    assert (potential[heads] <= potential[tails] + cost[heads]).all()  # no negative cycle
    parts = np.where(in_set, potential, potential + w)
    for matroid, part in zip(matroids, (parts, w - parts), strict=True):
        best = matroid.truncate(int(sizes[0])).max_weight_basis(part.astype(float))
        assert part[best].sum() == part[in_set].sum()


def test_assignments_of_all_pairs_are_those_of_the_network():
    """Two algorithms, the flow's and the dense one, answer with the same canonical matching for any numbering."""
    rng = np.random.default_rng(8)
    for _ in range(400):
        n, m = rng.integers(1, 8, 2).tolist()
        constraint = mb.AssignmentConstraint(np.indices((n, m)).reshape(2, -1).T[rng.permutation(n * m)])
        weights = rng.integers(-2, rng.integers(-1, 4), (3, n * m)).astype(float)
        weights[rng.random(weights.shape) < rng.choice([0.0, 0.3, 1.0])] = np.inf
        gains = constraint._snap(weights)
        expected = constraint._network.best(gains, np.ones((1, n * m), bool), np.zeros(n + m, bool)).chosen
        items, sizes = constraint.solve(weights)
        assert sizes.tolist() == [min(n, m)] * 3
        assert [np.flatnonzero(row).tolist() for row in expected] == items.tolist()


@pytest.mark.parametrize("n", [40, 120])
def test_large_assignments_with_ties_are_those_of_the_network(n):
    rng = np.random.default_rng(n)
    constraint = mb.AssignmentConstraint(np.indices((n, n)).reshape(2, -1).T)
    weights = np.stack([rng.integers(0, 3, n * n), rng.integers(0, 30, n * n), np.zeros(n * n)]).astype(float)
    expected = constraint._network.best(
        constraint._snap(weights), np.ones((1, n * n), bool), np.zeros(2 * n, bool)
    ).chosen
    assert [np.flatnonzero(row).tolist() for row in expected] == constraint.solve(weights)[0].tolist()


def test_weights_are_snapped_as_the_page_says():
    """40 bits below the largest of the row, whole numbers as they are, unseen items above all that sets can have."""
    rng = np.random.default_rng(3)
    constraint = mb.AssignmentConstraint(np.indices((3, 4)).reshape(2, -1).T)
    for _ in range(300):
        weights = rng.normal(size=12) * 10.0 ** rng.integers(-300, 300)
        if rng.random() < 0.3:
            weights = np.rint(rng.normal(size=12) * 10.0 ** rng.integers(0, 20))
        unseen = rng.random(12) < rng.choice([0.0, 0.4])
        largest = max(
            (abs(w) for w, is_unseen in zip(weights.tolist(), unseen, strict=True) if not is_unseen), default=0
        )
        is_whole = not unseen.any() and (weights == np.rint(weights)).all() and largest <= 8 * 2**40
        # the power of two above the largest, as a fraction: the arithmetic is exact
        shift = 0 if is_whole else 40 - math.frexp(largest)[1]
        exact = [Fraction(w) * Fraction(2) ** shift for w in weights.tolist()]
        expected = [8 * 2**40 if is_unseen else round(w) for w, is_unseen in zip(exact, unseen, strict=True)]
        assert constraint._snap(np.where(unseen, np.inf, weights)[None])[0].tolist() == expected
        if unseen.any():
            filled = constraint.with_unseen(np.where(unseen, 0.0, weights)[None], unseen[None])
            assert constraint._snap(filled)[0].tolist() == expected


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
def test_weights_that_are_no_numbers_are_refused(wrong):
    constraint = mb.AssignmentConstraint(np.indices((2, 2)).reshape(2, -1).T)
    weights = np.array([[0.5, np.inf, 0.1, 0.2], [0.5, 0.1, wrong, 0.2]])
    with pytest.raises(
        mb.exceptions.WeightsError, match=rf"finite weights, or \+inf .* got {wrong} for item 2 of run 1"
    ):
        constraint.solve(weights)
