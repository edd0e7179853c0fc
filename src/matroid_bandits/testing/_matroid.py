"""Does a matroid keep the axioms, and do all its answers agree?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations, islice, pairwise
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.exceptions import ContractError
from matroid_bandits.matroids import Matroid, OracleMatroid
from matroid_bandits.testing._constraint import EXHAUSTIVE_ITEMS, ConstraintSuite

#: Up to this many items the answers of `is_independent` are remembered; beyond, few sets are met twice.
_REMEMBERED_ITEMS = 20

#: At most this many items of a basis are exchanged, and of those beside a set paired, in a trial: without a limit
#: trials would grow with the square of the items.
_EXCHANGED_ITEMS, _PAIRED_ITEMS = 32, 16


def check_matroid(matroid: Matroid, *, n_trials: int = 200, seed: int = 0) -> None:
    """Check the matroid axioms, exhaustively up to 12 items and by sampling beyond, and the consistency of all
    methods.

    Parameters
    ----------
    matroid : Matroid
        Typically an `OracleMatroid`, or an instance of a new family.
    n_trials : int, default 200
        How many random sets and weights to try.
    seed : int, default 0
        Which ones.

    Raises
    ------
    ContractError
        With the two sets that break an axiom, or the answer that disagrees with `is_independent`.

    Notes
    -----
    Beyond 12 items each trial takes two greedy bases of a random set of items. They must be of one size, and every
    item of one must be replaceable by some item of the other; random subsets of both must be independent and
    augment each other; and of the items that can be added to such a subset, those that exclude each other must form
    classes. Answers are compared once the axioms have passed all trials.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_matroid(mb.UniformMatroid(5, 2))
    >>> no_neighbours = mb.OracleMatroid(3, lambda items: not {0, 1} <= items and not {1, 2} <= items)
    >>> mb.testing.check_matroid(no_neighbours)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: augmentation fails: {0, 2} and {1} are independent, but no item of \
{0, 2} can be added to {1}
    """
    MatroidSuite.check(constraint=matroid, n_trials=n_trials, seed=seed)


class MatroidSuite(ConstraintSuite):
    """Conformance tests of a `Matroid`, including those of every constraint; see `check_matroid`.

    Attributes
    ----------
    constraint : Matroid
        What is tested.
    n_trials : int
        How many random sets and weights each test tries, 50 by default.
    seed : int
        Which ones, 0 by default.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestForests(mb.testing.MatroidSuite):
    ...     constraint = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> TestForests().run()
    """

    constraint: Matroid
    is_canonical = True

    def test_it_is_a_matroid(self) -> None:
        matroid: Any = self.constraint
        if not isinstance(matroid, Matroid):
            hint = ""
            if isinstance(matroid, type):
                hint = " (the class; an instance is needed)"
            elif callable(matroid):
                hint = " (OracleMatroid makes a matroid of a predicate)"
            raise ContractError(f"expected a Matroid, got {matroid!r}{hint}")

    def test_the_empty_set_is_independent(self) -> None:
        if not self._oracle(frozenset()):
            raise ContractError("the empty set is not independent")

    def test_axioms(self) -> None:
        """Subsets of independent sets are independent, and a smaller independent set can be extended from a larger
        one."""
        if self.constraint.n_items <= EXHAUSTIVE_ITEMS:
            _prove(self._oracle)
            return
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_trials):
            _sample_axioms(self._oracle, rng)

    def test_rank_and_greatest_bases(self) -> None:
        for _, weights, order in self._weighted():
            best = self._oracle.grow(frozenset(), order)
            _expect("rank", self.constraint.rank, len(best))
            found = self.constraint.max_weight_basis(weights).tolist()
            _expect(f"max_weight_basis({weights.tolist()})", found, sorted(best))

    def test_closure_and_extension(self) -> None:
        matroid, oracle, n = self.constraint, self._oracle, self.constraint.n_items
        for rng, _, _ in self._weighted():
            X = frozenset(rng.permutation(n)[: rng.integers(0, n + 1)].tolist())
            inside = oracle.grow(frozenset(), sorted(X))
            closed = {e for e in range(n) if e in X or not oracle(inside | {e})}
            _expect(f"closure({_show(X)})", set(matroid.closure(_array(X)).tolist()), closed)
            added = {e for e in range(n) if e not in X and oracle(X | {e})} if oracle(X) else set()
            _expect(f"extension({_show(X)})", set(matroid.extension(_array(X)).tolist()), added)

    def test_circuits(self) -> None:
        oracle, n = self._oracle, self.constraint.n_items
        for rng, _, order in self._weighted():
            best = oracle.grow(frozenset(), order)
            if len(best) == n:
                return
            e = int(rng.choice(sorted(set(range(n)) - best)))
            circuit = {e} | {f for f in best if oracle((best - {f}) | {e})}
            found = set(self.constraint.circuit(_array(best), np.array(e)).tolist())
            _expect(f"circuit({_show(best)}, {e})", found, circuit)

    def test_greedy(self) -> None:
        """`greedy` accepts rows of different lengths, and items that are already taken."""
        matroid, oracle, n = self.constraint, self._oracle, self.constraint.n_items
        for rng, _, order in self._weighted():
            taken = self._taken(rng)
            orders = np.stack([rng.permutation(n), np.array(order, np.int64)])
            lengths = rng.integers(0, n + 1, 2)
            items, sizes = matroid.greedy(orders, lengths, taken)
            for run in range(2):
                listed = orders[run, : lengths[run]].tolist()
                what = f"greedy along {listed} from {taken.tolist()}"
                chosen = items[run, : sizes[run]].tolist()
                _expect(what, frozenset(chosen), oracle.grow(frozenset(taken.tolist()), listed))
                accepted = set(chosen) - set(taken.tolist())
                _expect(f"the order of {what}", chosen, [*taken.tolist(), *(e for e in listed if e in accepted)])

    def test_requests(self) -> None:
        """The best set for a request's available and pinned items is the greedy one."""
        for rng, weights, order in self._weighted():
            taken, available = self._taken(rng), rng.random((2, weights.size)) < 0.7
            items, sizes = self.constraint.best_sets(
                np.stack([weights, weights]), available=available, pinned=np.sort(taken)
            )
            for run in range(2):
                open_ = [e for e in order if available[run, e]]
                what = f"best_sets({weights.tolist()}) of {sorted(open_)} with {sorted(taken.tolist())} pinned"
                expected = sorted(self._oracle.grow(frozenset(taken.tolist()), open_))
                _expect(what, items[run, : sizes[run]].tolist(), expected)

    @cached_property
    def _oracle(self) -> _Oracle:
        return _Oracle(self.constraint)

    def _weighted(self) -> Iterator[tuple[np.random.Generator, FloatArray, list[int]]]:
        """For each trial a generator, weights among which ties are likely, and the greedy order of these."""
        rng, n = np.random.default_rng(self.seed), self.constraint.n_items
        for _ in range(self.n_trials):
            weights = rng.integers(0, max(n, 2), n).astype(float)
            yield rng, weights, np.argsort(-weights, kind="stable").tolist()

    def _taken(self, rng: np.random.Generator) -> IntArray:
        """Items that are independent, in any order."""
        basis = self._oracle.grow(frozenset(), rng.permutation(self.constraint.n_items).tolist())
        return rng.permutation(sorted(basis))[: rng.integers(0, len(basis) + 1)].astype(np.int64)


class _Oracle:
    """`is_independent` of frozensets, remembered where there are few."""

    def __init__(self, matroid: Matroid) -> None:
        self.matroid = matroid
        self.n_items = matroid.n_items
        self._known: dict[frozenset[int], bool] = {}
        # a user's predicate itself, so that what it answers can be looked at
        self._ask: Callable[[frozenset[int]], Any] = (
            matroid.predicate if isinstance(matroid, OracleMatroid) else lambda X: matroid.is_independent(_array(X))
        )

    def __call__(self, X: frozenset[int]) -> bool:
        known = self._known.get(X)
        if known is None:
            known = self._answer(X)
            if self.n_items <= _REMEMBERED_ITEMS:
                self._known[X] = known
        return known

    def _answer(self, X: frozenset[int]) -> bool:
        answer = self._ask(X)
        if not isinstance(answer, np.ndarray):
            try:
                return bool(answer)
            except (TypeError, ValueError):  # the array types of others
                pass
        given = f"an array of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
        raise ContractError(f"expected is_independent({_show(X)}) to be true or false, got {given}")

    def grow(self, X: frozenset[int], order: list[int]) -> frozenset[int]:
        """The paper's Algorithm 1, started from X."""
        for e in order:
            if e not in X and self(X | {e}):
                X |= {e}
        return X


def _prove(oracle: _Oracle) -> None:
    by_size = [
        [X for X in map(frozenset, combinations(range(oracle.n_items), size)) if oracle(X)]
        for size in range(oracle.n_items + 1)
    ]
    for sets in by_size:
        for X in sets:
            _check_subsets(oracle, X)
    # Given hereditary sets, augmentation from each size to the next implies it for all pairs.
    for small, large in pairwise(by_size):
        for Y in small:
            addable = frozenset(e for e in range(oracle.n_items) if e not in Y and oracle(Y | {e}))
            for X in large:
                if addable.isdisjoint(X):
                    _fail_augmentation(X, Y)


def _sample_axioms(oracle: _Oracle, rng: np.random.Generator) -> None:
    n = oracle.n_items
    ground = rng.permutation(n)[: n if rng.random() < 0.5 else rng.integers(1, n + 1)]
    B1, B2 = (_check_greedy(oracle, rng.permutation(ground).tolist()) for _ in range(2))
    _check_augmentation(oracle, *sorted((B1, B2), key=len, reverse=True))
    for e in rng.permutation(sorted(B1 - B2))[:_EXCHANGED_ITEMS].tolist():
        _check_augmentation(oracle, B2, B1 - {e})
    X = _some(B1, int(rng.integers(0, len(B1) + 1)), rng)
    Y = _some(B2, max(len(X) - 1, 0), rng)
    for part, whole in ((X, B1), (Y, B2)):
        if not oracle(part):
            _fail_subset(whole, part)
        _check_subsets(oracle, part)
    _check_augmentation(oracle, X, Y)
    _check_pairs(oracle, X, rng.permutation(n).tolist())


def _check_greedy(oracle: _Oracle, order: list[int]) -> frozenset[int]:
    """What Algorithm 1 accepts along an order; what it refused must not fit in the end."""
    X: frozenset[int] = frozenset()
    refused = []
    for e in order:
        if oracle(X | {e}):
            X |= {e}
        else:
            refused.append((e, X))
    for e, Z in refused:
        if oracle(X | {e}):
            _fail_subset(X | {e}, Z | {e})
    _check_subsets(oracle, X)
    return X


def _some(X: frozenset[int], size: int, rng: np.random.Generator) -> frozenset[int]:
    """A random subset."""
    return frozenset(rng.permutation(sorted(X))[:size].tolist())


def _check_subsets(oracle: _Oracle, X: frozenset[int]) -> None:
    for e in X:
        if not oracle(X - {e}):
            _fail_subset(X, X - {e})


def _check_augmentation(oracle: _Oracle, X: frozenset[int], Y: frozenset[int]) -> None:
    """Two independent sets of different size: some item of the larger one, X, must fit into the smaller one, Y."""
    if len(X) > len(Y) and not any(oracle(Y | {e}) for e in X - Y):
        _fail_augmentation(X, Y)


def _check_pairs(oracle: _Oracle, Z: frozenset[int], order: list[int]) -> None:
    """Where Z can be extended by b and c together and by a, it can be by a and one of them."""
    addable = set(islice((e for e in order if e not in Z and oracle(Z | {e})), _PAIRED_ITEMS))
    joins = {e: {e} for e in addable}
    for b, c in combinations(sorted(addable), 2):
        if oracle(Z | {b, c}):
            joins[b].add(c)
            joins[c].add(b)
    for b, c in combinations(sorted(addable), 2):
        if c in joins[b]:
            for a in addable - joins[b] - joins[c]:
                _fail_augmentation(Z | {b, c}, Z | {a})


def _fail_subset(X: frozenset[int], Y: frozenset[int]) -> None:
    raise ContractError(f"{_show(X)} is independent, but its subset {_show(Y)} is not")


def _fail_augmentation(X: frozenset[int], Y: frozenset[int]) -> None:
    raise ContractError(
        f"augmentation fails: {_show(X)} and {_show(Y)} are independent, but no item of "
        f"{_show(X - Y)} can be added to {_show(Y)}"
    )


def _expect(what: str, given: object, expected: object) -> None:
    if given != expected:
        raise ContractError(f"{what} is {given}, but is_independent implies {expected}")


def _array(X: frozenset[int]) -> IntArray:
    """Item numbers as an array, which are numbers whatever the labels."""
    return np.array(sorted(X), np.int64)


def _show(X: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(X))) + "}"
