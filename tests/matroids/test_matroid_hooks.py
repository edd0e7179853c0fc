"""What engines ask of a constraint: greedy along any rows, the best sets of a request, families of one's own."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from samples import MATROIDS


def _greedy_and_lists(matroid, orders, lengths, taken):
    """What each row of `greedy` answers, as lists."""
    items, sizes = matroid.greedy(orders, lengths, taken)
    assert items.dtype == sizes.dtype == np.int64
    assert sizes.shape == (len(orders),)
    return [row[:size].tolist() for row, size in zip(items, sizes, strict=True)]


@settings(max_examples=200, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_greedy_along_rows_of_different_length_equals_one_by_one(pair, data):
    matroid, is_independent = pair
    n = matroid.n_items
    orders = np.array(data.draw(st.lists(st.permutations(range(n)), min_size=1, max_size=4)), np.int64)
    orders = orders[:, : data.draw(st.integers(0, n))].copy()
    lengths = np.array([data.draw(st.integers(0, orders.shape[1])) for _ in orders], np.int64)
    taken = np.array(data.draw(strategies.independent(n, is_independent)), np.int64)
    for run, length in enumerate(lengths):
        orders[run, length:] = data.draw(st.sampled_from([0, -1, 2**40]))  # means nothing
    whole = np.array([data.draw(st.permutations(range(n))) for _ in lengths], np.int64).reshape(len(lengths), n)
    for rows, ends, first in (
        (orders, lengths, taken),
        (orders, lengths, None),
        (whole, None, taken),
        (whole, None, None),
    ):
        stops = [n] * len(rows) if ends is None else ends
        listed = [row[:stop].tolist() for row, stop in zip(rows, stops, strict=True)]
        expected = [
            reference.greedy_from([] if first is None else first.tolist(), row, is_independent) for row in listed
        ]
        assert _greedy_and_lists(matroid, rows, ends, first) == expected


@settings(max_examples=200, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_best_sets_of_a_request_equal_brute_force(pair, data):
    matroid, is_independent = pair
    n = matroid.n_items
    system = reference.SetSystem(n, is_independent)
    masks, pins = data.draw(strategies.requests(n, is_independent))
    available = np.array(masks, bool).reshape(len(masks), n)
    pinned = np.array(pins, np.int64)
    weights = np.array([data.draw(strategies.weights(n)) for _ in masks], float).reshape(len(masks), n)
    for mask, rows in ((available, available), (available[0], available[:1].repeat(len(masks), axis=0))):
        for some in (pinned, None):
            items, sizes = matroid.best_sets(weights, available=mask, pinned=some)
            for run in range(len(masks)):
                best = system.best_set(weights[run], np.flatnonzero(rows[run]), pins if some is not None else [])
                assert items[run, : sizes[run]].tolist() == best
    items, sizes = matroid.best_sets(weights, pinned=pinned)
    for run in range(len(masks)):
        assert items[run, : sizes[run]].tolist() == system.best_set(weights[run], range(n), pins)


@settings(max_examples=100, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_everything_available_is_the_plain_path(pair, data):
    matroid, _ = pair
    n = matroid.n_items
    weights = np.array([data.draw(strategies.weights(n)) for _ in range(3)], float).reshape(3, n)
    plain, sizes = matroid.best_sets(weights)
    assert plain.tolist() == matroid.max_weight_basis(weights).tolist()
    assert sizes.tolist() == [matroid.rank] * 3
    for available in (np.ones(n, bool), np.ones((3, n), bool)):
        for pinned in (None, np.empty(0, np.int64)):
            items, sizes = matroid.best_sets(weights, available=available, pinned=pinned)
            assert sizes.tolist() == [matroid.rank] * 3
            assert items[:, : matroid.rank].tolist() == plain.tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("n", [40, 3000])
def test_masked_rows_of_many_items_equal_lexsort(n):
    """Sizes at which sorting and selection take other ways than with a handful of items."""
    rng = np.random.default_rng(n)
    weights = np.vstack([rng.random(n), rng.integers(0, 4, n), rng.normal(size=n)])
    available = rng.random((3, n)) < 0.4
    blocks = rng.integers(0, 5, n)
    edges = rng.integers(0, n // 2, (n, 2))
    graph = mb.GraphicMatroid(edges)
    star = mb.GraphicMatroid(np.column_stack([np.zeros(n, int), np.arange(1, n + 1)]))
    for k in (1, 5, n // 10, n // 3, n):
        pinned = rng.choice(n, min(k, 3), replace=False)
        room = dict.fromkeys(range(5), k + 3)
        for run in range(3):
            order = [e for e in reference.greedy_order(weights[run]) if available[run, e] and e not in pinned]
            for matroid in (mb.UniformMatroid(n, k), star.truncate(k)):
                items, sizes = matroid.best_sets(weights, available=available, pinned=pinned)
                expected = sorted([*pinned, *order[: k - len(pinned)]])
                assert items[run, : sizes[run]].tolist() == expected
            items, sizes = mb.PartitionMatroid(blocks, room).best_sets(weights, available=available, pinned=pinned)
            left = {b: k + 3 - (blocks[pinned] == b).sum() for b in range(5)}
            expected = sorted([*pinned, *(e for b in left for e in [e for e in order if blocks[e] == b][: left[b]])])
            assert items[run, : sizes[run]].tolist() == expected
    items, sizes = graph.best_sets(weights, available=available)
    for run in range(3):
        part = graph.restrict(np.flatnonzero(available[run]))
        expected = part.items[part.max_weight_basis(weights[run, available[run]])]
        assert items[run, : sizes[run]].tolist() == expected.tolist()


def test_sets_that_a_request_leaves_smaller_are_no_error():
    floats = mb.LinearMatroid([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], tolerance=0.0)
    for matroid in (*MATROIDS.values(), floats):
        nothing = np.zeros(matroid.n_items, bool)
        weights = np.arange(matroid.n_items, dtype=float)[None]
        assert matroid.best_sets(weights, available=nothing)[1].tolist() == [0]
        pinned = matroid.max_weight_basis(weights[0])
        items, sizes = matroid.best_sets(-weights, available=nothing, pinned=pinned)
        assert items[0, : sizes[0]].tolist() == pinned.tolist()
        items, sizes = matroid.best_sets(-weights, pinned=pinned)
        assert items[0, : sizes[0]].tolist() == pinned.tolist()


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS)
def test_bases_along_a_reduction_are_bases(matroid):
    always, pool = matroid.reduction()
    assert set(always).isdisjoint(pool)
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(pool) for _ in range(20)], np.int64).reshape(20, pool.size)
    for order, basis in zip(orders, matroid.bases_along(orders, always), strict=True):
        assert basis[: always.size].tolist() == always.tolist()
        assert matroid.is_basis(basis)
        assert [e for e in order if e in basis] == basis[always.size :].tolist()


class Chain(mb.Matroid):
    """A family of one's own, with the hooks that must be there: of each pair of neighbours 2i, 2i + 1 one item."""

    kind = "test-chain"

    def __init__(self, n_pairs, labels=None):
        super().__init__(2 * n_pairs, labels)

    def greedy(self, orders, lengths=None, taken=None):
        taken = [] if taken is None else taken.tolist()
        ends = [orders.shape[1]] * len(orders) if lengths is None else lengths
        rows = [
            reference.greedy_from(taken, row[:end].tolist(), lambda X: len({e // 2 for e in X}) == len(X))
            for row, end in zip(orders, ends, strict=True)
        ]
        items = np.zeros((len(rows), self.n_items), np.int64)
        for i, row in enumerate(rows):
            items[i, : len(row)] = row
        return items, np.array([len(row) for row in rows])

    def span(self, independent):
        return np.isin(np.arange(self.n_items) // 2, independent // 2)

    def fields(self):
        return {"n_pairs": self.n_items // 2}


def test_a_family_of_ones_own_works_everywhere():
    chain = Chain(4, labels="abcdefgh")
    mb.testing.check_matroid(chain)
    assert chain.rank == 4
    assert mb.constraint_from_dict(json.loads(json.dumps(chain.to_dict()))) == chain
    assert chain != Chain(4)
    assert len({chain, Chain(4, labels="abcdefgh")}) == 1
    for made in (chain.dual(), chain.truncate(2), chain.contract([0]), mb.direct_sum(chain, mb.UniformMatroid(2, 1))):
        mb.testing.check_matroid(made, n_trials=20)
        assert mb.constraint_from_dict(made.to_dict()) == made
    weights = np.random.default_rng(0).random((500, 8))
    assert (chain.max_weight_basis(weights) == mb.PartitionMatroid(np.arange(8) // 2).max_weight_basis(weights)).all()


def test_kinds_register_by_being_defined():
    def define(kind):
        return type("Named", (Chain,), {"kind": kind, "__module__": __name__, "__qualname__": "Named"})

    first = define("test-named")
    second = define("test-named")  # a notebook's cell that runs again
    assert first is not second
    assert type(mb.constraint_from_dict(first(2).to_dict())) is second
    for kind, owner in (("graphic", "GraphicMatroid"), ("test-chain", "Chain")):
        with pytest.raises(mb.exceptions.InvalidMatroidError, match=f"kind of its own, got '{kind}'.*{owner}"):
            define(kind)
    for kind in ("", 5):
        with pytest.raises(mb.exceptions.InvalidMatroidError, match="kind of Named to be a word, got"):
            define(kind)
    with pytest.raises(mb.exceptions.SerializationError, match=r"'kind' to be one of .*; did you mean 'graphic'"):
        mb.constraint_from_dict({**mb.GraphicMatroid([(0, 1)]).to_dict(), "kind": "grafic"})


def test_a_class_without_a_kind_works_but_is_not_stored():
    class Nameless(Chain):
        """Inherits its parent's kind, which would load as its parent."""

    mb.testing.check_matroid(Nameless(3), n_trials=20)
    with pytest.raises(mb.exceptions.SerializationError, match="Nameless has no kind, so it cannot be stored"):
        Nameless(3).to_dict()


def test_a_constraint_need_be_no_matroid():
    class Window(mb.Constraint):
        kind = "test-window"

        def allows(self, items):
            return items.size == 2 and items[1] == items[0] + 1

        def best_sets(self, weights, *, available=None, pinned=None):
            first = (weights[:, :-1] + weights[:, 1:]).argmax(axis=1)
            return np.stack([first, first + 1], axis=1), np.full(len(weights), 2)

        def fields(self):
            return {"n_items": self.n_items}

    window = Window(3, labels="abc")
    assert window.item("c") == 2
    assert repr(window) == "Window(n_items=3)"
    assert window == Window(3, labels="abc") != Window(3)
    assert mb.constraint_from_dict(window.to_dict()) == window
