"""The suites pass what is right and catch what is not; our own classes go through them like anybody's."""

import subprocess
import sys

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ContractError
from matroid_bandits.testing import ConstraintSuite, MatroidSuite, check_constraint
from samples import MATROIDS
from samples_constraints import CONSTRAINTS, Matching, Routes, TopKWithinBudget


class TestMatroids(MatroidSuite):
    n_trials = 10

    @pytest.fixture(autouse=True, params=MATROIDS.values(), ids=MATROIDS)
    def _given(self, request):
        self.constraint = request.param


class TestConstraints(ConstraintSuite):
    n_trials = 20
    is_canonical = True

    @pytest.fixture(autouse=True, params=CONSTRAINTS.values(), ids=CONSTRAINTS)
    def _given(self, request):
        self.constraint = request.param


class TestWrittenFromThePage(ConstraintSuite):
    """A budgeted top-k as a reader of the page about extending writes it."""

    constraint = TopKWithinBudget([3, 5, 6, 2, 4, 1, 0], 12, 3)


class TestManyItems(ConstraintSuite):
    """More items than can be enumerated."""

    constraint = mb.GraphicMatroid([(i, (i * 7 + 1) % 12) for i in range(30)])
    n_trials = 10


def test_suites_need_no_test_runner():
    code = "import sys; import matroid_bandits.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def answering(change):
    """A matching whose answers are changed: items, sizes, weights, available, pinned."""

    class Changed(Matching):
        def best_sets(self, weights, *, available=None, pinned=None):
            found = super().best_sets(weights, available=available, pinned=pinned)
            return change(self, *found, weights, available, pinned)

    return Changed(2, 2)


def forgets_the_mask(self, items, sizes, weights, available, pinned):
    return Matching.best_sets(self, weights, pinned=pinned)


def forgets_pins(self, items, sizes, weights, available, pinned):
    return Matching.best_sets(self, weights, available=available)


def takes_the_first_mask_for_all(self, items, sizes, weights, available, pinned):
    mask = available if available is None or available.ndim == 1 else available[0]
    return Matching.best_sets(self, weights, available=mask, pinned=pinned)


def repeats_an_item(self, items, sizes, weights, available, pinned):
    return np.repeat(items[:, :1], 2, axis=1), np.full(len(items), 2)


def is_content_with_the_second_row(self, items, sizes, weights, available, pinned):
    return Matching.best_sets(self, weights[::-1].copy(), available=available, pinned=pinned)


def writes_to_weights(self, items, sizes, weights, available, pinned):
    weights += 1.0
    return items, sizes


def takes_less(self, items, sizes, weights, available, pinned):
    return items, np.minimum(sizes, 1) if pinned is None else sizes


def takes_the_worst(self, items, sizes, weights, available, pinned):
    return Matching.best_sets(self, -weights, available=available, pinned=pinned)


class TossesUp(Matching):
    """Breaks ties by a global generator."""

    def best_sets(self, weights, *, available=None, pinned=None):
        noise = 1e-9 * np.random.default_rng().random(weights.shape)
        return super().best_sets(weights + noise, available=available, pinned=pinned)


class Misjudges(Matching):
    def max_size(self, *, available=None, pinned=None):
        return 2


class Shy(Matching):
    def with_unseen(self, weights, unseen):
        return np.where(unseen, np.inf, weights)


class Vague(Matching):
    def allows(self, items):
        return "perhaps"


class Whole(Routes):
    is_hereditary = True


class Lossy(Matching):
    kind = "test-lossy"

    def fields(self):
        return {"n_rows": 2, "n_columns": 1}


@pytest.mark.parametrize(
    ("constraint", "match"),
    [
        (answering(forgets_the_mask), "to choose of what is available"),
        (answering(forgets_pins), "to choose what is pinned"),
        (answering(takes_the_first_mask_for_all), "of what is available|to be .* of total"),
        (answering(repeats_an_item), "distinct items, ascending"),
        (answering(is_content_with_the_second_row), "to be .* of total"),
        (answering(writes_to_weights), "to be .* of total|leave the weights"),
        (answering(takes_less), "to be .* of total|expected max_size"),
        (
            answering(takes_the_worst),
            r"best_sets\(\[.*\]\) to be \{.*\} of total .*, got \{.*\} of",
        ),
        (TossesUp(2, 2), "to be the same again and for each row alone"),
        (Misjudges(2, 2), r"expected max_size\(.*\) to be \S+, got 2"),
        (Shy(2, 2), "expected with_unseen to return finite numbers"),
        (Vague(2, 2), r"expected allows\(\{.*\}\) to be true or false, got str"),
        (Whole(), "expected the empty set to be allowed"),
        (Lossy(2, 2), "expected constraint_from_dict to make an equal one"),
        (Matching, r"expected a Constraint, got .* \(the class; an instance is needed\)"),
    ],
)
def test_broken_promises_are_caught(constraint, match):
    with pytest.raises(ContractError, match=match):
        check_constraint(constraint)


def test_ties_may_be_anybodys_unless_the_suite_says_otherwise():
    class Last(Matching):
        """Of equally good sets the one with the largest items."""

        def best_sets(self, weights, *, available=None, pinned=None):
            tilted = weights + 1e-10 * np.abs(weights).max(axis=1, keepdims=True) * np.arange(self.n_items) ** 2
            return super().best_sets(tilted, available=available, pinned=pinned)

    ConstraintSuite.check(constraint=Last(2, 2), weights=(0, 1))
    with pytest.raises(ContractError, match=r"to be \{.*\} of total (\S+), got \{.*\} of \1"):
        ConstraintSuite.check(constraint=Last(2, 3), weights=(0, 1), is_canonical=True)
