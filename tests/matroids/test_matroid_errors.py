"""Bad input gets one clear error: what was expected, what was given."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import (
    InvalidMatroidError,
    ItemError,
    MatroidBanditsError,
    SerializationError,
    WeightsError,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mb.UniformMatroid(-1, 0), "n_items to be an integer from 0 to 4294967294, got -1"),
        (lambda: mb.UniformMatroid(3, -1), "rank to be an integer from 0 to 3, got -1"),
        (lambda: mb.UniformMatroid(3, 4), "rank to be an integer from 0 to 3, got 4"),
        (lambda: mb.UniformMatroid(3.5, 1), r"n_items to be an integer from 0 to 4294967294, got 3\.5"),
        (lambda: mb.UniformMatroid(True, 1), "n_items to be an integer from 0 to 4294967294, got True"),
        (lambda: mb.UniformMatroid(2, 1, labels="abc"), "2 labels, one per item, got 3"),
        (lambda: mb.UniformMatroid(3, 1, labels="aba"), "distinct labels, got 'a' more than once"),
        (lambda: mb.UniformMatroid(1, 1, labels=[[]]), "label to be hashable"),
        (lambda: mb.PartitionMatroid("ab", -1), "capacities to be an integer from 0 to 4294967294, got -1"),
        (lambda: mb.PartitionMatroid("ab", {"a": 1}), "capacity for every block, got none for 'b'"),
        (
            lambda: mb.PartitionMatroid("ab", {"a": 1, "b": -2}),
            "capacity of block 'b' to be an integer from 0 to 4294967294, got -2",
        ),
        (
            lambda: mb.PartitionMatroid("ab", {"a": 1, "b": 1.5}),
            r"capacity of block 'b' to be an integer from 0 to 4294967294, got 1\.5",
        ),
        (lambda: mb.PartitionMatroid([[1], [2]]), "every block to be hashable"),
        (lambda: mb.PartitionMatroid(np.zeros((2, 2), int)), r"one row, got an array of shape \(2, 2\)"),
        (lambda: mb.LaminarMatroid(3, [([0, 1], 1), ([1, 2], 1)]), "groups 0 and 1, which cross: both hold item 1"),
        (
            lambda: mb.PartitionMatroid(["shoes", "hats"], {"shoes": 1, "hats": 1, "hat": 2}),
            "expected capacities of blocks that have items, got one for 'hat'; did you mean 'hats'",
        ),
        (lambda: mb.LaminarMatroid(3, [([0, 3], 1)]), r"group 0: expected items in 0\.\.2, got 3"),
        (lambda: mb.LaminarMatroid(3, [([0, 0], 1)]), "group 0: expected distinct items, got 0"),
        (
            lambda: mb.LaminarMatroid(3, [([0], -1)]),
            "capacity of group 0 to be an integer from 0 to 4294967294, got -1",
        ),
        (lambda: mb.LaminarMatroid(3, [5]), r"\(items, capacity\) pairs"),
        (lambda: mb.GraphicMatroid([(0, 1), (2,)]), r"edge 1 to be a pair of vertices, got \(2,\)"),
        (lambda: mb.GraphicMatroid(["ab"]), "edge 0 to be a pair of vertices, got 'ab'"),
        (lambda: mb.GraphicMatroid(7), r"sequence of \(u, v\) pairs, got int"),
        (lambda: mb.GraphicMatroid([([], 1)]), "every vertex to be hashable"),
        (lambda: mb.GraphicMatroid(np.zeros((3, 3), int)), r"shape \(n_items, 2\), got \(3, 3\)"),
        (lambda: mb.GraphicMatroid.from_networkx("graph"), "networkx graph, got str"),
        (lambda: mb.TransversalMatroid(["ab"]), "right vertices of item 0 in a list, got 'ab'"),
        (lambda: mb.TransversalMatroid([[0], 5]), "list of hashable right vertices for item 1"),
        (lambda: mb.TransversalMatroid(5), "list of right vertices per item, got int"),
        (lambda: mb.LinearMatroid([[1, 2], [3]]), "vectors of equal length"),
        (lambda: mb.LinearMatroid([1, 2]), "2-d array of vectors, one row per item, got 1-d"),
        (lambda: mb.LinearMatroid([[1.0, NAN]]), "finite vectors, got nan in column 1 of item 0"),
        (lambda: mb.LinearMatroid([[1.0], [INF]]), "finite vectors, got inf in column 0 of item 1"),
        (lambda: mb.LinearMatroid([["a"]]), "integers or floats"),
        (lambda: mb.LinearMatroid([[1j]]), "integers or floats, got complex128"),
        (lambda: mb.LinearMatroid([[None]]), "integers, or of floats, got objects such as None"),
        (lambda: mb.LinearMatroid([[1]], field=4), r"prime below 2\^31, got 4"),
        (lambda: mb.LinearMatroid([[1]], field=2**31 + 11), r"prime below 2\^31, got 2147483659"),
        (lambda: mb.LinearMatroid([[1]], field="gf2"), "\"auto\" or a prime, got 'gf2'"),
        (lambda: mb.LinearMatroid([[0.5]], field=3), r"integer vectors over GF\(3\), got float64"),
        (lambda: mb.LinearMatroid([[0.5]], tolerance=-1), r"tolerance to be a number in \[0, 1\], got -1"),
        (lambda: mb.OracleMatroid(3, None), "predicate over frozensets of items, got None"),
        (lambda: mb.UniformMatroid(3, 1).truncate(-1), "rank to be an integer of at least 0, got -1"),
        (lambda: mb.direct_sum(3), "expected matroids, got int"),
    ],
)
def test_bad_constructions(build, message):
    with pytest.raises(InvalidMatroidError, match=message):
        build()


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([3], r"items in 0\.\.2, got 3"),
        ([-1], r"items in 0\.\.2, got -1"),
        ([0, 1, 0], "distinct items, got 0 more than once"),
        ([0.5], "item numbers in one row, got 1-d float64"),
        ([True, 2], r"item numbers in one row, got \[True, 2\]"),
        ([[0, 1]], "item numbers in one row, got 2-d"),
        ([True, False, True], "got 1-d bool"),
        (["a"], "item numbers"),
    ],
)
def test_bad_items(items, message):
    matroid = mb.UniformMatroid(3, 1)
    for ask in (
        matroid.is_independent,
        matroid.is_basis,
        matroid.extension,
        matroid.closure,
        matroid.restrict,
        matroid.contract,
    ):
        with pytest.raises(ItemError, match=message):
            ask(items)


def test_bad_circuits():
    matroid = mb.UniformMatroid(3, 2)
    with pytest.raises(ItemError, match=r"a basis \(2 independent items\), got \{0\}"):
        matroid.circuit([0], 1)
    with pytest.raises(ItemError, match="outside the basis, got member 1"):
        matroid.circuit([0, 1], 1)
    with pytest.raises(ItemError, match=r"item in 0\.\.2, got 9"):
        matroid.circuit([0, 1], 9)
    with pytest.raises(ItemError, match="item number, got 'x'"):
        matroid.circuit([0, 1], "x")
    with pytest.raises(ItemError, match="label of one of 3 items, got 'x'"):
        matroid.item("x")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"shape \(3,\) or \(n_runs, 3\), got \(2,\)"),
        (np.zeros((2, 2, 3)), r"got \(2, 2, 3\)"),
        (5.0, r"got \(\)"),
        ([1.0, NAN, 2.0], "got NaN for item 1"),
        ([[1.0, 2.0, 3.0], [1.0, INF, NAN]], "got NaN for item 2 of run 1"),
        (["a", "b", "c"], "real weights"),
        ([1j, 0, 0], "real weights, got values of type complex128"),
        ([[1.0], [1.0, 2.0]], "rows of equal length"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(WeightsError, match=message):
        mb.UniformMatroid(3, 1).max_weight_basis(weights)


def test_infinities_of_both_signs_are_fine():
    assert mb.UniformMatroid(3, 2).max_weight_basis([INF, -INF, 0.0]).tolist() == [0, 2]


def test_a_predicate_that_is_no_matroid_is_noticed_in_a_batch():
    stable = mb.OracleMatroid(3, lambda X: not {0, 1} <= X and not {1, 2} <= X)
    with pytest.raises(InvalidMatroidError, match="maximal sets differ in size"):
        stable.max_weight_basis([[1.0, 2.0, 1.0], [2.0, 1.0, 2.0]])


GOOD = mb.GraphicMatroid([("a", "b"), ("b", "c")]).to_dict()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (5, "dict as made by Constraint.to_dict, got int"),
        ({}, "'format' to be 'matroid-bandits/constraint', got None"),
        ({**GOOD, "version": 2}, "version 1 or older, got 2: upgrade"),
        ({**GOOD, "version": "1"}, "'version' to be a positive integer, got '1'"),
        ({**GOOD, "kind": "gizmo"}, "'kind' to be one of .*, got 'gizmo'"),
        ({**GOOD, "kind": ["graphic"]}, "'kind' to be one of"),
        ({**GOOD, "labels": "ab"}, "'labels' to be a list, got str"),
        ({**GOOD, "labels": ["a"]}, "malformed graphic constraint: expected 2 labels"),
        ({**GOOD, "heads": [1]}, "malformed graphic"),
        ({**GOOD, "heads": [1, 7]}, "vertices and the ends of edges do not fit"),
        ({**GOOD, "vertices": ["a", "b", "b"]}, "vertices and the ends of edges do not fit"),
        ({**GOOD, "extra": 1}, "unexpected"),
        ({key: GOOD[key] for key in GOOD if key != "tails"}, "malformed graphic constraint: 'tails'"),
        ({**mb.UniformMatroid(2, 1).to_dict(), "rank": 9}, "malformed uniform constraint: expected rank"),
        ({**mb.PartitionMatroid("ab").to_dict(), "blocks": [0, 7]}, "malformed partition"),
        ({**mb.PartitionMatroid("ab").to_dict(), "blocks": [0, -1]}, "negative number"),
        ({**mb.LaminarMatroid(2, [([0, 1], 1)]).to_dict(), "parent": [0]}, "comes before the one around it"),
        ({**mb.LaminarMatroid(2, [([0, 1], 1)]).to_dict(), "group": [0, 5]}, "out of range"),
        ({**mb.TransversalMatroid([[1]]).to_dict(), "rights": []}, "do not fit together"),
        ({**mb.LinearMatroid([[1]]).to_dict(), "shape": [2, 2]}, r"shape \[2, 2\], got \[1, 1\]"),
        ({**mb.UniformMatroid(2, 1).truncate(1).to_dict(), "base": {}}, "'format'"),
    ],
)
def test_malformed_dicts(form, message):
    with pytest.raises(SerializationError, match=message):
        mb.constraint_from_dict(form)


def test_names_that_json_cannot_hold():
    with pytest.raises(
        SerializationError, match=r"each vertex to be a string, number or tuple of them, got frozenset"
    ):
        mb.GraphicMatroid([(frozenset(), 1)], labels=["x"]).to_dict()
    with pytest.raises(SerializationError, match="each label"):
        mb.UniformMatroid(1, 1, labels=[b"bytes"]).to_dict()
    json.dumps(mb.PartitionMatroid([("a", 1), None, 2.5]).to_dict())


def test_errors_are_one_family():
    for error in vars(mb.exceptions).values():
        if isinstance(error, type) and issubclass(error, Exception):
            assert issubclass(error, MatroidBanditsError)


@pytest.mark.compiled
def test_tolerance_that_fits_no_matroid_is_an_error():
    """Float vectors on the edge of the tolerance: rather an error than bases of different sizes."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(3, 4))
    vectors = rng.normal(size=(40, 3)) @ base + rng.normal(size=(40, 4)) * 3e-10
    with pytest.raises(InvalidMatroidError, match="choose another tolerance"):
        mb.LinearMatroid(vectors, tolerance=1e-9).max_weight_basis(rng.random((500, 40)))


def test_rank_cannot_be_assigned():
    with pytest.raises(AttributeError):
        mb.PartitionMatroid(np.arange(10)).rank = 1


def test_integers_that_floats_cannot_hold():
    """Two rows that differ by one beyond 2**63, beside a negative entry."""
    rows = [[2**63, 1], [2**63 + 1, 1], [-1, 0]]
    matroid = mb.LinearMatroid(rows)
    assert matroid.is_exact
    assert matroid.is_independent([0, 1])
    assert mb.constraint_from_dict(json.loads(json.dumps(matroid.to_dict()))) == matroid
    with pytest.raises(WeightsError, match=r"integers below 2\*\*53"):
        mb.UniformMatroid(2, 1).max_weight_basis([2**53, 2**53 + 1])
    with pytest.raises(SerializationError, match="malformed linear"):
        mb.constraint_from_dict({**mb.LinearMatroid([[1]]).to_dict(), "vectors": [[1.5]]})


@pytest.mark.parametrize("items", [5, None, np.int64(1), [[0, 1], [2]]])
def test_items_that_are_no_sets(items):
    with pytest.raises(ItemError, match="item numbers in one row"):
        mb.UniformMatroid(3, 1).is_independent(items)


def test_more_bad_constructions():
    nx = pytest.importorskip("networkx")
    with pytest.raises(InvalidMatroidError, match="bipartite=0; got neither"):
        mb.TransversalMatroid.from_networkx(nx.path_graph(4))
    with pytest.raises(InvalidMatroidError, match="vertices of the graph, got 5"):
        mb.TransversalMatroid.from_networkx(nx.path_graph(4), 5)
    with pytest.raises(InvalidMatroidError, match="expected 2 labels, got 5"):
        mb.UniformMatroid(2, 1, labels=5)
    with pytest.raises(InvalidMatroidError, match=r"capacities to be an integer from 0 to 4294967294, got 10{30}$"):
        mb.PartitionMatroid("ab", 10**30)


def test_a_predicate_whose_maximal_sets_differ_is_noticed_in_one_vector():
    stable = mb.OracleMatroid(3, lambda X: not {0, 1} <= X and not {1, 2} <= X)
    with pytest.raises(InvalidMatroidError, match="expected all bases to have 2 items, found one of 1"):
        stable.max_weight_basis([1.0, 2.0, 1.0])


def test_nesting_too_deep_to_read_is_an_error_of_ours():
    form = mb.UniformMatroid(2, 1).to_dict()
    for _ in range(3000):
        form = {"format": form["format"], "version": 1, "kind": "dual", "base": form}
    with pytest.raises(SerializationError):
        mb.constraint_from_dict(form)
