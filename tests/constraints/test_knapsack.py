"""Budgets: every best set against enumeration, what is refused and why, and a learner whose budget changes."""

import itertools

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidConstraintError, ItemError, PolicyError, ProblemError, WeightsError

#: Items whose table is as large as the budget says.
MANY = [1] + [10_007] * 1000

EVERY = {n: np.array(list(itertools.product([False, True], repeat=n)), bool) for n in range(9)}


def random_budget(rng):
    """A small constraint, and all the sets that it allows by a separate reading of its arguments."""
    n = int(rng.integers(0, 9))
    costs = rng.integers(0, rng.choice([3, 12]), n) * int(rng.choice([1, 1, 7]))
    budget = int(rng.integers(0, costs.sum() + 3))
    groups = [None if rng.random() < 0.3 else int(g) for g in rng.integers(0, 3, n)] if rng.random() < 0.6 else None
    at_most = int(rng.integers(0, n + 2)) if rng.random() < 0.5 else None
    sets = EVERY[n]
    sets = sets[(sets @ costs <= budget) & (sets.sum(axis=1) <= (n if at_most is None else at_most))]
    for group in range(3 if groups else 0):
        sets = sets[sets[:, [g == group for g in groups]].sum(axis=1) <= 1]
    # groups are counted at their first item
    first = [e if not groups or groups[e] is None else groups.index(groups[e]) for e in range(n)]
    return mb.KnapsackConstraint(costs, budget, groups, at_most), sets, np.argsort(first, kind="stable")


def best_listed(sets, order, weights, is_unseen, is_pinned):
    """The best of some sets: most unseen items, largest total, no items for nothing, then the first that differs."""
    is_useful = is_unseen | (weights > 0) | is_pinned
    sets = sets[~(sets & ~is_useful).any(axis=1)]
    keys = [((row & is_unseen).sum(), weights[row & ~is_unseen].sum(), row[order].tolist()) for row in sets]
    return np.flatnonzero(sets[keys.index(max(keys))]).tolist()


def test_best_sets_are_those_of_enumeration():
    rng = np.random.default_rng(0)
    n_cases = n_tied = 0
    while n_cases < 10_000:
        constraint, sets, order = random_budget(rng)
        n = constraint.n_items
        weights = rng.integers(-2, 3, (4, n)).astype(float)
        is_unseen = rng.random((4, n)) < rng.choice([0.0, 0.3])
        mask = rng.random((4, n)) < 0.7 if rng.random() < 0.5 else None
        is_pinned = sets[rng.integers(len(sets))] & (rng.random(n) < rng.choice([0.0, 0.5]))
        pins = np.flatnonzero(is_pinned) if is_pinned.any() else None
        items, sizes = constraint.solve(np.where(is_unseen, np.inf, weights), available=mask, pinned=pins)
        for run in range(4):
            is_open = is_pinned | (True if mask is None else mask[run])
            left = sets[~(sets & ~is_open).any(axis=1) & ~(is_pinned & ~sets).any(axis=1)]
            best = best_listed(left, order, weights[run], is_unseen[run], is_pinned)
            assert items[run, : sizes[run]].tolist() == best, (constraint.to_dict(), weights[run])
            totals = (left & ~is_unseen[run]) @ weights[run] + 100.0 * (left & is_unseen[run]).sum(axis=1)
            n_tied += np.count_nonzero(totals == totals.max()) > 1
            n_cases += 1
    assert n_tied > 2000


def test_sets_that_are_allowed_and_their_largest_size():
    rng = np.random.default_rng(1)
    for _ in range(200):
        constraint, sets, _ = random_budget(rng)
        allowed = {tuple(np.flatnonzero(row)) for row in sets}
        for row in EVERY[constraint.n_items]:
            items = np.flatnonzero(row)
            assert constraint.allows(items) == (tuple(items) in allowed) == (not constraint.conflict(items))
        assert constraint.largest_size == max(map(len, allowed))
        assert mb.constraint_from_dict(constraint.to_dict()) == constraint


def test_costs_in_large_units_are_divided():
    """Costs in cents that are all whole euros take a hundredth of the work, and the same sets are found."""
    rng = np.random.default_rng(2)
    costs, weights = rng.integers(1, 50, 40), rng.random((3, 40))
    small, large = mb.KnapsackConstraint(costs, 300), mb.KnapsackConstraint(costs * 10**9, 300 * 10**9 + 7)
    assert np.array_equal(small.best_sets(weights)[0], large.best_sets(weights)[0])


def test_items_above_the_budget_do_not_count():
    """Costs above the budget set no unit and fit into no set, also where they are rounded to the unit of others."""
    costs = np.array([200, 599, 300, 501, 400, 500])
    constraint = mb.KnapsackConstraint(costs, 500)
    items, sizes = constraint.best_sets(np.array([[1.0, 99.0, 2.0, 99.0, 2.5, 2.75], [9.0, 0.0, 0.0, 9.9, 8.0, 9.5]]))
    assert [row[:n].tolist() for row, n in zip(items, sizes, strict=True)] == [[0, 2], [5]]


def test_a_budget_for_everything_takes_no_room():
    assert mb.KnapsackConstraint([1, 2, 3], 2**53).best_sets(np.ones((1, 3)))[0].tolist() == [[0, 1, 2]]


def test_more_items_than_a_table_would_hold():
    """A bit per item and room; the total is that of a table of totals, row by row."""
    rng = np.random.default_rng(3)
    costs, weights = rng.integers(1, 1600, 1000), rng.integers(1, 1000, 1000)
    items, sizes = mb.KnapsackConstraint(costs, 8000).best_sets(weights[None].astype(float))
    totals = np.zeros(8001, np.int64)
    for cost, weight in zip(costs, weights, strict=True):
        totals[cost:] = np.maximum(totals[cost:], totals[:-cost] + weight)
    assert costs[items[0]].sum() <= 8000
    assert weights[items[0, : sizes[0]]].sum() == totals[-1]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([1, 2.5], 4), r"the cost of item 1 to be a whole number, got 2.5: scale costs and budget"),
        (([1, 2], 4.5), "the budget to be a whole number, got 4.5: scale"),
        (([1, -2], 4), "the cost of item 1 to be 0 or more, .* got -2"),
        (([1, 2], "4"), "the budget to be a whole number, got '4'"),
        (([1, True], 4), "the cost of item 1 to be a whole number, got True"),
        (([1, float("nan")], 4), "the cost of item 1 to be a whole number, got nan"),
        (([1, 2], 4, ["a"]), "2 groups, one per item, got 1"),
        (({"x": 1, "y": 2}, 4, {"z": "a"}), "groups of items, got 'z'"),
        (([1, 2], 4, [[], []]), "every group to be hashable"),
        (([1, 2], 4, None, -1), "at_most to be an integer of at least 0, got -1"),
        ((MANY, 10**6), r"at most 100,000,000 items x \(budget \+ 1\), got 1,001,001,001: a budget of 99,899"),
        ((MANY, 10**5, None, 9), r"x \(at_most \+ 1\), got .*: a budget of 9,989 would do, .* units of 11,"),
        ((5, 4), "the cost of each item, got 5"),
        (("ab", 4), "the cost of each item, got 'ab'"),
        (([2**53] * 1000, 4), r"costs that add up to at most 2\*\*62, got more: use a larger unit"),
    ],
)
def test_what_is_refused(arguments, match):
    with pytest.raises(InvalidConstraintError, match=match):
        mb.KnapsackConstraint(*arguments)


def test_whole_floats_are_whole_numbers():
    assert mb.KnapsackConstraint(np.array([2.0, 3.0]), 4.0) == mb.KnapsackConstraint([2, 3], 4)


def test_a_size_that_would_do_does():
    with pytest.raises(InvalidConstraintError, match="a budget of 99,899 would do"):
        mb.KnapsackConstraint(MANY, 10**6)
    assert mb.KnapsackConstraint(MANY, 99_899).largest_size == 10


def test_costs_are_no_weights():
    with pytest.raises(
        PolicyError, match="weights that are gains: of costs the best set within a budget is the empty"
    ):
        mb.Learner(mb.KnapsackConstraint([1, 2], 2), mb.OMM(), minimize=True)
    with pytest.raises(ProblemError, match="weights that are gains"):
        mb.Problem(mb.KnapsackConstraint([1, 2], 2), mb.BernoulliEnvironment([0.5, 0.5]), minimize=True)
    with pytest.raises(WeightsError, match="got nan for item 1"):
        mb.KnapsackConstraint([1, 2], 2).solve(np.array([[0.5, np.nan]]))


def test_pins_that_do_not_fit_are_refused_in_words():
    basket = mb.KnapsackConstraint(
        {"a": 60, "b": 50, "c": 20, "d": 10}, 100, {"c": "x", "d": "x"}, at_most=2, unit="tokens"
    )
    learner = mb.Learner(basket, mb.OMM(), seed=0)
    for pins, why in [
        ("ab", "they cost 110 tokens, the budget is 100"),
        ("cd", "2 of them are of the group 'x', of which a set has at most one"),
    ]:
        with pytest.raises(ItemError, match=why):
            learner.ask(pinned=list(pins))
    assert set(learner.ask(pinned=["a", "c"]).labels) == {"a", "c"}


def test_explanations_say_what_an_item_would_push_out():
    basket = mb.KnapsackConstraint({"a": 60, "b": 50, "c": 40}, 100, unit="tokens")
    learner = mb.Learner(basket, mb.OMM(0.0), seed=0)
    learner.observe({"a": 0.25, "b": 0.5, "c": 0.5})
    assert learner.ask().labels == ("b", "c")
    assert str(learner.explain("a")) == (
        "a is out (mean 0.25 over 1 plays, index 0.25): forced in, it would cost 60 of 100 tokens and push out b: "
        "the set would be worth 0.25 less"
    )
    assert ", cost 50 of 100 tokens): forced out, it would cost 0.25: a for b" in str(learner.explain("b"))
    assert str(learner.explain("a", pinned=["b"])) == (
        "a cannot be chosen with what is pinned, or by itself: it would cost 60 of 100 tokens"
    )
    forced = learner.explain("a").forced
    assert (forced.cost, forced.enters, forced.leaves) == (0.25, ("a",), ("b",))
