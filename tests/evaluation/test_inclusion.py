"""Inclusion probabilities of sets drawn by random keys, against every order of the items."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.evaluation import inclusion_probabilities
from matroid_bandits.exceptions import ItemError

SQUARE = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")])
NESTED = mb.LaminarMatroid(7, [([0, 1, 2], 1), ([3, 4], 1), (range(6), 2), (range(7), 3)])


def by_permutations(matroid, available=None, pinned=None):
    """The share of all orders of the items along which the greedy set contains each."""
    n = matroid.n_items
    weights = np.array(list(permutations(range(n))), float)
    sets, sizes = matroid.best_sets(
        weights, available=None if available is None else np.array(available)[None], pinned=pinned
    )
    return np.bincount(sets[np.arange(sets.shape[1]) < sizes[:, None]], minlength=n) / len(weights)


@pytest.mark.parametrize(
    ("matroid", "expected"),
    [
        (SQUARE, [37 / 60] * 4 + [8 / 15]),
        (mb.PartitionMatroid([0, 0, 0, 1, 1, 1, 1], {0: 1, 1: 3}), [1 / 3] * 3 + [3 / 4] * 4),
        (NESTED, [17 / 60] * 3 + [11 / 30] * 2 + [5 / 12, 1.0]),
        (mb.UniformMatroid(10, 3), [0.3] * 10),
        (mb.UniformMatroid(3, 0), [0.0] * 3),
        (mb.GraphicMatroid([(0, 0), (0, 1), (0, 1), (1, 2)]), [0.0, 0.5, 0.5, 1.0]),
    ],
    ids=["square", "partition", "nested", "uniform", "rank 0", "loop, pair, bridge"],
)
def test_known_fractions(matroid, expected):
    found = inclusion_probabilities(matroid)
    assert found.is_exact
    assert found.probabilities == pytest.approx(expected, abs=1e-14)
    assert found.probabilities.sum() == pytest.approx(matroid.rank)
    assert not found.errors.any()


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_probabilities_equal_enumeration_for_any_request(data):
    matroid, _ = data.draw(strategies.nested())
    if matroid.n_items > 6:
        matroid = matroid.restrict(range(6))
    n = matroid.n_items
    available = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    pinned = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), max_size=2)) if n else []), np.int64)
    if not matroid.allows(pinned):
        with pytest.raises(ItemError, match="can be chosen together"):
            inclusion_probabilities(matroid, pinned=pinned)
        return
    found = inclusion_probabilities(matroid, available=available, pinned=pinned)
    assert found.probabilities == pytest.approx(by_permutations(matroid, available, pinned), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_nested_quotas_by_quadrature_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, cut = int(rng.integers(3, 12)), 0
    cut = int(rng.integers(1, n))
    groups = [(range(n), int(rng.integers(1, n + 1))), (range(cut), int(rng.integers(1, cut + 1)))]
    groups += [(range(cut, n), int(rng.integers(1, n - cut + 1)))] if n - cut > 1 else []
    groups += [(range(1, cut), int(rng.integers(1, cut)))] if cut > 2 else []
    matroid = mb.LaminarMatroid(n, groups)
    plain = mb.OracleMatroid(n, lambda items: matroid.allows(np.array(sorted(items), np.int64)))
    pinned = matroid.max_weight_basis(rng.random(n))[:1]
    available = rng.random(n) < 0.8
    for request in ({}, {"available": available, "pinned": pinned}):
        exact = inclusion_probabilities(plain, **request)
        assert exact.is_exact
        assert inclusion_probabilities(matroid, **request).probabilities == pytest.approx(
            exact.probabilities, abs=1e-13
        )


@pytest.mark.compiled
def test_large_components_are_drawn_with_a_stated_error():
    ladder = [(0, i, 0, i + 1) for i in range(12)] + [(1, i, 1, i + 1) for i in range(12)]
    edges = [((a, b), (c, d)) for a, b, c, d in ladder] + [((0, i), (1, i)) for i in range(13)] + [("x", "y")]
    matroid = mb.GraphicMatroid(edges)
    found = inclusion_probabilities(matroid, n_draws=20_000)
    again = inclusion_probabilities(matroid, n_draws=20_000)
    assert np.array_equal(found.probabilities, again.probabilities)
    assert found.n_draws == 20_000
    assert (found.probabilities[-1], found.errors[-1]) == (1.0, 0.0)  # a bridge needs no draws
    assert found.errors[:-1] == pytest.approx(
        np.sqrt(found.probabilities[:-1] * (1 - found.probabilities[:-1]) / 20_000)
    )
    assert found.probabilities.sum() == pytest.approx(matroid.rank)
    # Rungs are alike by symmetry: 4 standard errors of a difference.
    ends = found.probabilities[[24, 36]]
    assert abs(ends[0] - ends[1]) < 4 * np.hypot(*found.errors[[24, 36]])


def test_draws_agree_with_the_exact_way():
    """All edges of a small graph within 4 standard errors; the seed is fixed."""
    exact = inclusion_probabilities(SQUARE).probabilities
    from matroid_bandits.evaluation._inclusion import _drawn

    every = np.ones(5, bool)
    drawn = _drawn(SQUARE, every, np.array([], np.int64), every, np.zeros(5), 40_000, 3)
    assert (abs(drawn.probabilities - exact) < 4 * drawn.errors).all()


@pytest.mark.compiled
def test_many_items_in_nested_quotas():
    n = 3000
    matroid = mb.LaminarMatroid(n, [(range(n), 50), (range(n // 2), 10), (range(n // 2, n), 45)])
    q = inclusion_probabilities(matroid).probabilities
    assert q.sum() == pytest.approx(50, abs=1e-9)
    assert q[0] == pytest.approx(10 / 1500, rel=1e-3)


@pytest.mark.parametrize("available", [[True] * 4, [1] * 5, np.ones((1, 5), bool)])
def test_masks_of_another_shape_are_refused(available):
    with pytest.raises(ItemError, match="expected available as 5 booleans"):
        inclusion_probabilities(SQUARE, available=available)
