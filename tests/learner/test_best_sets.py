"""The best set so far is an allowed one, whatever has been told; items without a weight come last."""

import itertools

import numpy as np
import pytest

import matroid_bandits as mb
from samples_constraints import Matching, Routes

ARCS = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")]
CONSTRAINTS = {
    "path": mb.PathConstraint(ARCS, "s", "t"),
    "paths": mb.PathConstraint(ARCS, "s", "t", 2),
    "costs": mb.PathConstraint([*ARCS, ("b", "a")], "s", "t"),
    "tree": mb.ArborescenceConstraint([("r", "a"), ("r", "b"), ("a", "b"), ("b", "c"), ("a", "c")], "r"),
    "listed": mb.ExplicitSets([(0, 1), (2,), (1, 3, 4), (0, 4)]),
    "assignment": mb.AssignmentConstraint([(row, column) for row in "abc" for column in "xyz"]),
    "matroid": mb.PartitionMatroid(list("aabbb"), {"a": 1, "b": 2}),
    "matching": Matching(2, 3),
    "routes": Routes(),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_the_best_set_is_allowed_before_every_item_was_told(name):
    constraint, rng = CONSTRAINTS[name], np.random.default_rng(3)
    n, minimize = constraint.n_items, bool(constraint.cost_reason)
    every = [np.array(s, np.int64) for k in range(n + 1) for s in itertools.combinations(range(n), k)]
    sets = [s for s in every if constraint.allows(s)]
    if constraint.is_hereditary:
        sets = [s for s in sets if s.size == constraint.largest_size]
    for n_told in (0, 0, *range(1, n), n):
        learner = mb.Learner(constraint, mb.OMM(), minimize=minimize, seed=0)
        told = rng.permutation(n)[:n_told]
        learner.observe({int(e): float(rng.integers(1, 9)) / 8 for e in told})
        means = learner.estimates().means
        gains = np.where(np.isnan(means), 0.0, -means if minimize else means)

        def worth(some, means=means, gains=gains):
            return -int(np.isnan(means[some]).sum()), gains[some].sum()

        best = learner.best_basis()
        assert any(np.array_equal(best.items, s) for s in sets)
        assert worth(best.items) == max(map(worth, sets))
        np.testing.assert_array_equal(best.means, means[best.items])
        pessimistic = learner.best_basis(pessimism=0.1)
        assert worth(pessimistic.items)[0] == worth(best.items)[0]
