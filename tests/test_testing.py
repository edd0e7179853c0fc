"""The checks must pass what is right and catch what is not."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import AxiomError
from matroid_bandits.testing import check_matroid
from test_matroids import EXAMPLES


@pytest.mark.parametrize("matroid", EXAMPLES.values(), ids=EXAMPLES)
def test_every_family_passes(matroid):
    check_matroid(matroid, n_trials=20)


def test_large_matroids_are_sampled():
    check_matroid(mb.GraphicMatroid([(i, (i * 7 + 1) % 12) for i in range(30)]), n_trials=20)


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (lambda X: len(X) > 0, "the empty set is not independent"),
        (lambda X: len(X) != 1, r"\{0, 1\} is independent, but its subset \{1\} is not"),
        (lambda X: not {0, 1} <= X and not {1, 2} <= X, r"augmentation fails: \{0, 2\} and \{1\}"),
    ],
)
def test_broken_axioms_are_named(predicate, message):
    with pytest.raises(AxiomError, match=message):
        check_matroid(mb.OracleMatroid(4, predicate))


def test_broken_axioms_are_found_among_many_items():
    def stable_in_a_path(X):  # stable sets of a path are hereditary but do not augment
        return not any(e + 1 in X for e in X)

    with pytest.raises(mb.exceptions.MatroidBanditsError):
        check_matroid(mb.OracleMatroid(20, stable_in_a_path))


class WrongClosure(mb.UniformMatroid):
    def _span(self, independent):
        return np.zeros(self.n_items, bool)


class WrongGreedy(mb.UniformMatroid):
    def _max_weight_bases(self, weights, minimize):
        return super()._max_weight_bases(weights, not minimize)


class WrongCircuit(mb.UniformMatroid):
    def _circuit(self, basis, item):
        return basis[1:]


class WrongRank(mb.UniformMatroid):
    def _rank(self):
        return 3


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (WrongClosure, "closure"),
        (WrongGreedy, "max_weight_basis"),
        (WrongCircuit, "circuit"),
        (WrongRank, "rank is 3, but is_independent implies 2"),
    ],
)
def test_disagreeing_answers_are_named(family, message):
    with pytest.raises(AxiomError, match=message):
        check_matroid(family(5, 2))
