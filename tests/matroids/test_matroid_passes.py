"""What is found in one pass (coloops, parallel items, spans, circuits, equality) is right, and is one pass."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from samples import MATROIDS
from steps import Name, steps


@settings(max_examples=300, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_coloops_equal_brute_force(pair, data):
    matroid, is_independent = pair
    n = matroid.n_items
    system = reference.SetSystem(n, is_independent)
    some = data.draw(st.lists(st.integers(0, n - 1), unique=True)) if n else []
    for X, found in (
        (range(n), matroid.coloops()),
        (some, matroid.coloops(np.array(some, np.int64))),
    ):
        ground = frozenset(X)
        needed = [e for e in sorted(ground) if system.rank_of(ground - {e}) < system.rank_of(ground)]
        assert found.tolist() == needed
        assert found.dtype == np.int64


@settings(max_examples=300, deadline=None)
@given(pair=strategies.nested(), data=st.data())
def test_when_a_set_spans_an_item_equals_brute_force(pair, data):
    matroid, is_independent = pair
    system = reference.SetSystem(matroid.n_items, is_independent)
    order = data.draw(strategies.independent(matroid.n_items, is_independent))
    after = matroid.spanned_after(np.array(order, np.int64))
    ranks = [system.rank_of(frozenset(order[:k])) for k in range(len(order) + 1)]
    expected = [
        next((k for k in range(len(order) + 1) if system.rank_of({e, *order[:k]}) == ranks[k]), len(order) + 1)
        for e in range(matroid.n_items)
    ]
    assert after.tolist() == expected
    # the default, which halves the set, answers the same
    assert mb.Matroid.spanned_after(matroid, np.array(order, np.int64)).tolist() == expected


@settings(max_examples=300, deadline=None)
@given(pair=strategies.nested())
def test_reductions_and_parallel_classes_are_right(pair):
    matroid, is_independent = pair
    n = matroid.n_items
    system = reference.SetSystem(n, is_independent)
    always, pool = matroid.reduction()
    if matroid.has_quick_coloops:
        assert always.tolist() == [e for e in range(n) if all(e in B for B in system.bases)]
        assert pool.tolist() == [e for e in range(n) if any(e in B for B in system.bases) and e not in always]
    else:
        assert (always.tolist(), pool.tolist()) == ([], list(range(n)))
    items = np.array([e for e in range(n) if is_independent(frozenset({e}))], np.int64)
    classes = matroid.parallel_classes(items)
    assert sorted(set(classes.tolist())) == list(range(len(set(classes.tolist()))))
    for e, i in zip(items.tolist(), classes.tolist(), strict=True):
        for f, j in zip(items.tolist(), classes.tolist(), strict=True):
            assert i != j or system.rank_of({e, f}) == 1


def test_parallel_items_of_every_family_are_found():
    for matroid, classes in (
        (mb.GraphicMatroid([(0, 1), (1, 0), (1, 2)]), [0, 0, 1]),
        (mb.LinearMatroid([[1, 2], [2, 4], [0, 1]]), [1, 1, 0]),
        (mb.TransversalMatroid([[7], [7, 8], [7], [8]]), [0, 2, 0, 1]),
        (mb.GraphicMatroid([(0, 1), (1, 0), (1, 2)]).restrict([0, 1]), [0, 0]),
        (mb.GraphicMatroid([(0, 1), (1, 0), (1, 2)]).truncate(1), [0, 0, 1]),
        (mb.direct_sum(mb.GraphicMatroid([(0, 1), (1, 0)]), mb.GraphicMatroid([(0, 1)])), [0, 0, 1]),
    ):
        found = matroid.parallel_classes(np.arange(matroid.n_items))
        assert len(set(zip(found.tolist(), classes, strict=True))) == len(set(classes)) == len(set(found.tolist()))


@pytest.mark.parametrize("seed", range(30))
def test_shares_modulo_primes_that_a_basis_is_dependent_in(seed):
    """Vectors that vanish modulo the first primes: these say nothing, so others must."""
    rng = np.random.default_rng(seed)
    dead = int(rng.choice([2**31 - 1, (2**31 - 1) * 2147483629]))
    vectors = [[int(x) for x in row] for row in rng.integers(-1, 2, (6, 4))]
    for row in vectors[: int(rng.integers(1, 6))]:
        row[:] = [x * dead for x in row]
    matroid, is_independent = mb.LinearMatroid(vectors), reference.linear(vectors)
    system = reference.SetSystem(6, is_independent)
    for B in system.bases:
        for e in set(range(6)) - B:
            assert set(matroid.circuit(B, e).tolist()) == system.circuit(B, e)
    assert set(matroid.coloops().tolist()) == frozenset.intersection(*system.bases)


def derived(n):
    """Matroids of about n items, of every family whose circuits need a search, and made of them."""
    rng = np.random.default_rng(0)
    graph = mb.GraphicMatroid(rng.integers(0, n // 3, (n, 2)))
    transversal = mb.TransversalMatroid([rng.choice(n // 4, 3, replace=False) for _ in range(n)])
    families = {
        "graphic": graph,
        "transversal": transversal,
        "linear": mb.LinearMatroid(rng.integers(0, 2, (n, 12))),
        "linear of floats": mb.LinearMatroid(rng.random((n, 12))),
        "laminar": mb.LaminarMatroid(n, [(range(i, n), n // 4 - i) for i in range(n // 5)]),
    }
    for name, matroid in families.items():
        yield name, matroid
        yield f"dual of {name}", matroid.dual()
        yield f"restriction of {name}", matroid.restrict(range(0, n, 2))
        yield f"contraction of {name}", matroid.contract(range(0, n, 9))
        yield f"truncation of {name}", matroid.truncate(matroid.rank - 1)
        yield f"sum with {name}", mb.direct_sum(matroid, matroid.dual())


def questions(matroid):
    """Every question that once took a search for each item, with its answer's cost alone: ranks are known before."""
    basis = matroid.max_weight_basis(np.random.default_rng(1).random(matroid.n_items))
    outside = int(np.setdiff1d(np.arange(matroid.n_items), basis)[0])
    matroid.closure(basis[:1])
    return {
        "circuit": lambda: matroid.circuit(basis, outside),
        "closure": lambda: matroid.closure(basis[::2]),
        "extension": lambda: matroid.extension(basis[::2]),
        "coloops": matroid.coloops,
        "reduction": matroid.reduction,
    }


@pytest.mark.compiled
def test_steps_do_not_grow_with_the_items():
    for (name, small), (_, large) in zip(derived(60), derived(600), strict=True):
        for question, few in questions(small).items():
            many = questions(large)[question]
            assert steps(many) <= 1.5 * steps(few) + 10, (name, question)


@pytest.mark.compiled
def test_spans_of_a_growing_set_take_steps_of_one_pass():
    for (name, small), (_, large) in zip(derived(60), derived(600), strict=True):
        if "dual" in name or name.startswith("sum"):
            continue  # a dual halves the set, a span each time
        orders = [matroid.max_weight_basis(np.arange(matroid.n_items)) for matroid in (small, large)]
        few, many = (steps(lambda M=M, X=X: M.spanned_after(X)) for M, X in zip((small, large), orders, strict=True))
        assert many <= 1.5 * few + 10, name


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_transversal_matroids_are_equal_in_whatever_order_they_are_listed(data):
    right = st.sampled_from(["a", "b", ("c", 1), 4])
    neighbors = data.draw(st.lists(st.sets(right), max_size=5))
    first = mb.TransversalMatroid([data.draw(st.permutations(sorted(row, key=str))) for row in neighbors])
    again = mb.TransversalMatroid([data.draw(st.permutations(sorted(row, key=str))) for row in neighbors])
    assert first == again
    assert hash(first) == hash(again)
    other = data.draw(st.lists(st.sets(right), min_size=len(neighbors), max_size=len(neighbors)))
    assert (mb.TransversalMatroid(other) == first) == (other == neighbors)


def test_equality_of_transversal_matroids_looks_at_each_name_once():
    names = [Name(f"right {r}") for r in range(40)]
    first, again = (mb.TransversalMatroid([names] * 200) for _ in range(2))
    Name.n_looked_at = 0
    assert first == again
    assert Name.n_looked_at <= 10 * len(names)  # not one for each of 8,000 edges


@pytest.mark.parametrize("name", MATROIDS)
def test_what_is_equal_stays_equal(name):
    matroid = MATROIDS[name]
    assert mb.constraint_from_dict(matroid.to_dict()) == matroid
    assert all(matroid != other for key, other in MATROIDS.items() if key != name)
