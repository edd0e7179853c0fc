"""Every family and every nesting of operations against brute force over all subsets."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits._util.sums import added
from samples import MATROIDS


@settings(max_examples=150, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_answers_equal_brute_force(pair, data):
    matroid, is_independent = pair
    system = reference.SetSystem(matroid.n_items, is_independent)
    assert matroid.rank == system.rank
    for X in reference.subsets(matroid.n_items)[:: data.draw(st.integers(1, 5), label="stride")]:
        items = np.array(sorted(X), int)  # numbers, whatever the labels
        assert matroid.is_independent(items) == (X in system.independent)
        assert matroid.is_basis(items) == (X in system.bases)
        assert set(matroid.closure(items)) == system.closure(X)
        expected = system.extension(X) if X in system.independent else set()
        assert set(matroid.extension(items)) == expected
    for basis in sorted(system.bases, key=sorted)[:4]:
        for e in set(range(matroid.n_items)) - basis:
            circuit = matroid.circuit(np.array(sorted(basis), int), np.array(e))
            assert set(circuit) == system.circuit(basis, e)


@settings(max_examples=150, deadline=None)
@given(pair=strategies.nested(), minimize=st.booleans(), data=st.data())
def test_best_basis_is_the_first_optimal_one(pair, minimize, data):
    matroid, is_independent = pair
    system = reference.SetSystem(matroid.n_items, is_independent)
    rows = data.draw(st.lists(strategies.weights(matroid.n_items), min_size=1, max_size=3))
    expected = [system.best_basis(row, minimize) for row in rows]
    one = matroid.max_weight_basis(rows[0], minimize)
    many = matroid.max_weight_basis(np.array(rows).reshape(len(rows), matroid.n_items), minimize)
    assert one.dtype == many.dtype == np.int64
    assert one.tolist() == expected[0]
    assert many.tolist() == expected
    finite = [row for row in rows if np.isfinite(row).all()]
    for row in finite:
        best = system.total(system.best_basis(row, minimize), row)
        totals = [system.total(B, row) for B in system.bases]
        assert best == (min(totals) if minimize else max(totals))


@settings(max_examples=60, deadline=None)
@given(pair=strategies.families)
def test_dual_of_dual_is_the_original(pair):
    matroid, is_independent = pair
    system = reference.SetSystem(matroid.n_items, is_independent)
    twice = matroid.dual().dual()
    assert {X for X in reference.subsets(matroid.n_items) if twice.is_independent(X)} == system.independent


@settings(max_examples=100, deadline=None)
@given(pair=strategies.nested())
def test_json_and_pickle_round_trips(pair):
    matroid, _ = pair
    assert pickle.loads(pickle.dumps(matroid)) == matroid if "Oracle" not in repr(matroid) else True
    if "Oracle" in repr(matroid):
        with pytest.raises(mb.exceptions.SerializationError, match="its predicate is code"):
            matroid.to_dict()
        return
    again = mb.constraint_from_dict(json.loads(json.dumps(matroid.to_dict())))
    assert again == matroid
    assert hash(again) == hash(matroid)
    assert again.labels == matroid.labels


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS)
def test_repr_names_family_and_size(matroid):
    assert type(matroid).__name__ in repr(matroid)
    assert "rank=" in repr(matroid)
    assert len(repr(matroid)) < 200


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS)
def test_threads_and_batches_do_not_change_a_basis(matroid):
    weights = np.random.default_rng(1).integers(0, 4, (5000, matroid.n_items)).astype(float)
    batch = matroid.max_weight_basis(weights)
    for run in range(0, 5000, 500):
        assert matroid.max_weight_basis(weights[run]).tolist() == batch[run].tolist()


def test_equality_is_by_content():
    examples = list(MATROIDS.values())
    for i, a in enumerate(examples):
        assert [a == b for b in examples] == [i == j for j in range(len(examples))]
    assert mb.UniformMatroid(3, 1, labels="abc") != mb.UniformMatroid(3, 1)
    assert mb.LinearMatroid([[1, 2]]) != mb.LinearMatroid([[1.0, 2.0]])
    assert mb.PartitionMatroid(np.array([7, 3, 7])) == mb.PartitionMatroid([7, 3, 7])


def test_labels_follow_the_items():
    matroid = MATROIDS["transversal"]
    assert matroid.labels == ("x", "y", "z", "u", "v")
    assert matroid.item("z") == 2
    assert matroid.restrict([1, 4]).labels == ("y", "v")
    assert matroid.contract([0]).labels == ("y", "z", "u", "v")
    assert matroid.dual().labels == matroid.truncate(1).labels == matroid.labels
    assert mb.UniformMatroid(3, 1).labels == range(3)
    assert mb.UniformMatroid(3, 1).item(2) == 2
    assert mb.direct_sum(mb.UniformMatroid(2, 1, labels="ab"), mb.UniformMatroid(1, 1)).labels == ("a", "b", 0)
    clash = mb.direct_sum(mb.UniformMatroid(1, 1, labels="a"), mb.UniformMatroid(1, 1, labels="a"))
    assert clash.labels == ((0, "a"), (1, "a"))
    assert MATROIDS["graphic"].labels == range(6)  # parallel edges cannot be told apart by their ends


def test_degenerate_matroids():
    empties = [
        mb.UniformMatroid(0, 0),
        mb.PartitionMatroid([]),
        mb.LaminarMatroid(0, []),
        mb.GraphicMatroid([]),
        mb.GraphicMatroid(np.empty((0, 2), int)),
        mb.TransversalMatroid([]),
        mb.LinearMatroid(np.empty((0, 3))),
        mb.LinearMatroid(np.empty((0, 3), int)),
        mb.OracleMatroid(0, lambda X: True),
        mb.direct_sum(),
    ]
    for matroid in empties:
        assert (matroid.n_items, matroid.rank) == (0, 0)
        assert matroid.max_weight_basis([]).shape == (0,)
        assert matroid.max_weight_basis(np.empty((4, 0))).shape == (4, 0)
        assert matroid.dual().rank == 0
    loops = [
        mb.UniformMatroid(3, 0),
        mb.PartitionMatroid("aab", 0),
        mb.LaminarMatroid(3, [([0, 1, 2], 0)]),
        mb.GraphicMatroid([(0, 0), (1, 1), (0, 0)]),
        mb.TransversalMatroid([[], [], []]),
        mb.LinearMatroid(np.zeros((3, 2), int)),
        mb.LinearMatroid(np.zeros((3, 2))),
        mb.LinearMatroid(np.empty((3, 0), int)),
    ]
    for matroid in loops:
        assert matroid.rank == 0
        assert matroid.closure([]).tolist() == [0, 1, 2]
        assert matroid.circuit([], 1).tolist() == [1]
        assert matroid.max_weight_basis([1.0, 2.0, 3.0]).shape == (0,)
        assert matroid.dual().max_weight_basis([1.0, 2.0, 3.0]).tolist() == [0, 1, 2]
    assert mb.UniformMatroid(3, 2).max_weight_basis(np.empty((0, 3))).shape == (0, 2)


def test_matching_gives_every_item_its_own_partner():
    matroid = mb.TransversalMatroid([["p", "q"], ["p"], ["q", "r"], ["p", "q"]])
    basis = matroid.max_weight_basis([4.0, 3.0, 2.0, 1.0])
    matching = matroid.matching(basis)
    assert set(matching) == set(basis.tolist())
    assert len(set(matching.values())) == len(matching)
    assert all(right in matroid.neighbors[e] for e, right in matching.items())
    with pytest.raises(mb.exceptions.ItemError, match="cannot be matched"):
        matroid.matching([0, 1, 3])


def test_networkx_graphs_become_matroids():
    nx = pytest.importorskip("networkx")
    multi = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "b")])
    matroid = mb.GraphicMatroid.from_networkx(multi)
    assert matroid.labels == (("a", "b", 0), ("a", "b", 1), ("b", "b", 0))
    assert matroid.max_weight_basis([1.0, 2.0, 9.0]).tolist() == [1]
    with pytest.raises(mb.exceptions.InvalidMatroidError, match="undirected"):
        mb.GraphicMatroid.from_networkx(nx.DiGraph([(0, 1)]))
    graph = nx.Graph([("ann", "day"), ("bob", "day")])
    assert mb.TransversalMatroid.from_networkx(graph, ["ann", "bob"]).rank == 1
    with pytest.raises(mb.exceptions.InvalidMatroidError, match="bipartite"):
        mb.TransversalMatroid.from_networkx(graph, ["ann", "day"])


def test_sparse_matrix_becomes_transversal():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]]))
    matroid = mb.TransversalMatroid(matrix)
    assert matroid.rank == 2
    assert matroid.neighbors == [(0, 1), (0,), (), (0, 1)]


@pytest.mark.compiled
class TestLargeInstances:
    """Beyond brute force: other libraries' answers, and exact arithmetic."""

    def test_spanning_trees_weigh_what_networkx_says(self):
        nx = pytest.importorskip("networkx")
        rng = np.random.default_rng(5)
        for n, m in [(50, 80), (200, 900), (300, 310)]:
            edges = rng.integers(0, n, (m, 2))
            weights = rng.integers(0, 20, m).astype(float)
            graph = nx.MultiGraph()
            graph.add_weighted_edges_from((*map(int, edge), w) for edge, w in zip(edges, weights, strict=True))
            expected = added(d["weight"] for *_, d in nx.minimum_spanning_edges(graph, data=True))
            basis = mb.GraphicMatroid(edges).max_weight_basis(weights, minimize=True)
            assert weights[basis].sum() == expected

    def test_transversals_are_as_large_as_scipy_says(self):
        from scipy.sparse import random_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        rng = np.random.default_rng(6)
        for shape, density in [((60, 40), 0.03), ((232, 51), 0.4), ((300, 300), 0.01)]:
            matrix = random_array(shape, density=density, format="csr", rng=rng)
            expected = (maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum()
            assert mb.TransversalMatroid(matrix).rank == expected

    def test_transversal_greedy_equals_one_by_one(self):
        rng = np.random.default_rng(7)
        neighbors = [set(rng.choice(20, rng.integers(0, 4), replace=False).tolist()) for _ in range(60)]
        matroid = mb.TransversalMatroid(neighbors)
        for _ in range(20):
            weights = rng.integers(0, 10, 60).astype(float)
            slow = reference.greedy(reference.greedy_order(weights), matroid.is_independent)
            assert matroid.max_weight_basis(weights).tolist() == slow

    @pytest.mark.parametrize("largest", [1, 9, 10**6, 10**30])
    def test_linear_rank_equals_exact_fractions(self, largest):
        rng = np.random.default_rng(8)
        for _ in range(5):
            left = [[int(x) * largest // 9 for x in row] for row in rng.integers(-9, 10, (14, 6))]
            right = rng.integers(-2, 3, (6, 10)).tolist()
            rows = [
                [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)]
                for row in left
            ]
            matroid = mb.LinearMatroid(rows)
            assert matroid.is_exact
            assert matroid.rank == reference.rank_over(rows)
            weights = rng.permutation(14).astype(float)
            expected = reference.greedy(reference.greedy_order(weights), reference.linear(rows))
            assert matroid.max_weight_basis(weights).tolist() == expected

    def test_linear_is_not_fooled_by_multiples_of_its_primes(self):
        """A determinant divisible by the first primes tried is still not zero."""
        p, q = 2**31 - 1, 2147483629
        matroid = mb.LinearMatroid([[p, 0], [0, q], [p * q, 1]])
        assert matroid.rank == 2
        assert matroid.is_independent([0, 1])
        assert matroid.max_weight_basis([1.0, 2.0, 3.0]).tolist() == [1, 2]
        assert matroid.circuit([0, 1], 2).tolist() == [0, 1, 2]
        assert mb.LinearMatroid([[p, 1], [0, p]]).rank == 2

    def test_a_million_items(self):
        n = 10**6
        rng = np.random.default_rng(9)
        weights = rng.random(n)
        order = np.argsort(-weights)
        assert np.array_equal(mb.UniformMatroid(n, 1000).max_weight_basis(weights), np.sort(order[:1000]))
        assert np.array_equal(mb.UniformMatroid(n, n // 2).max_weight_basis(weights), np.sort(order[: n // 2]))
        blocks = rng.integers(0, 1000, n)
        best = mb.PartitionMatroid(blocks).max_weight_basis(weights)
        first = np.unique(blocks[order], return_index=True)[1]
        assert np.array_equal(best, np.sort(order[first]))
        laminar = mb.LaminarMatroid(n, [(np.arange(n), 500), (np.arange(n // 2), 100), (np.arange(n // 4), 50)])
        chosen = laminar.max_weight_basis(weights)
        assert [chosen.size, (chosen < n // 2).sum(), (chosen < n // 4).sum()] == [500, 100, 50]
        graph = mb.GraphicMatroid(rng.integers(0, n // 4, (n, 2)))
        assert graph.is_independent(graph.max_weight_basis(weights))


@pytest.mark.compiled
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000, 8191, 8192, 20000])
@pytest.mark.parametrize("kind", ["continuous", "few values", "equal", "integers", "signed", "nearly sorted"])
def test_orders_and_selections_equal_lexsort(n, kind):
    rng = np.random.default_rng(n)
    weights = {
        "continuous": lambda: rng.random(n),
        "few values": lambda: rng.integers(0, 3, n) / 3,
        "equal": lambda: np.full(n, 0.25),
        "integers": lambda: rng.integers(-1000, 1000, n).astype(float),
        "signed": lambda: rng.choice([0.0, -0.0, 1e-300, -1e-300, np.inf, -np.inf, 2.0], n),
        "nearly sorted": lambda: np.arange(n) + rng.normal(0, 2, n),
    }[kind]()
    for minimize in (False, True):
        order = reference.greedy_order(weights + 0.0, minimize)
        for k in sorted({0, 1, 2, n // 100, n // 3, n // 2, n - 1, n}):
            if 0 <= k <= n:
                found = mb.UniformMatroid(n, k).max_weight_basis(weights, minimize)
                assert np.array_equal(found, np.sort(order[:k]))
        # truncation needs the whole order, so it goes through the sort
        everything = mb.GraphicMatroid(np.column_stack([np.zeros(n, int), np.arange(1, n + 1)]))
        found = everything.truncate(n // 2).max_weight_basis(weights, minimize)
        assert np.array_equal(found, np.sort(order[: n // 2]))


def test_equality_does_not_depend_on_how_sets_were_listed():
    groups = [([0, 1], 1), ([2, 3], 1), ([0, 1, 2, 3], 2)]
    assert mb.LaminarMatroid(4, groups) == mb.LaminarMatroid(4, groups[::-1])
    assert mb.TransversalMatroid([["a", "b"], ["c"]]) == mb.TransversalMatroid([["b", "a"], ["c"]])
    assert mb.TransversalMatroid([["a", "b"]]) != mb.TransversalMatroid([["a", "c"]])


def test_reprs_stay_short():
    many = mb.direct_sum(*(mb.UniformMatroid(2, 1) for _ in range(1000)))
    deep = mb.UniformMatroid(9, 3)
    for _ in range(50):
        deep = deep.restrict(range(deep.n_items))
    assert max(len(repr(many)), len(repr(deep))) < 200


@pytest.mark.compiled
def test_a_predicate_may_use_another_matroid():
    """Rows of the inner batch must not wait for the threads that wait for them."""
    inner = mb.UniformMatroid(50, 5)
    weights = np.random.default_rng(0).random((300, 50))

    def is_independent(X):
        inner.max_weight_basis(weights)
        return len(X) <= 2

    outer = mb.OracleMatroid(40, is_independent)
    assert outer.max_weight_basis(np.random.default_rng(1).random((250, 40))).shape == (250, 2)
