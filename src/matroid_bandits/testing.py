"""Checks that a user's own matroid, policy or environment keeps what the rest of the package relies on."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from matroid_bandits.exceptions import AxiomError
from matroid_bandits.matroids import Matroid

#: Up to this many items every subset is looked at.
EXHAUSTIVE_ITEMS = 12


def check_matroid(matroid: Matroid, *, n_trials: int = 200, seed: int = 0) -> None:
    """Prove (up to 12 items) or sample (beyond) that the matroid axioms hold and that all its answers agree.

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
    AxiomError
        With the two sets that break an axiom, or the answer that disagrees with `is_independent`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_matroid(mb.UniformMatroid(5, 2))
    >>> no_neighbours = mb.OracleMatroid(3, lambda items: not {0, 1} <= items and not {1, 2} <= items)
    >>> mb.testing.check_matroid(no_neighbours)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.AxiomError: augmentation fails: {0, 2} and {1} are independent, but no item of \
{0, 2} can be added to {1}
    """
    oracle = _Oracle(matroid)
    if not oracle(frozenset()):
        raise AxiomError("the empty set is not independent")
    if matroid.n_items <= EXHAUSTIVE_ITEMS:
        _prove(oracle)
    rng = np.random.default_rng(seed)
    for _ in range(n_trials):
        _sample_axioms(oracle, rng)
        _compare_answers(oracle, rng)


class _Oracle:
    """`is_independent` of frozensets, remembered."""

    def __init__(self, matroid: Matroid) -> None:
        self.matroid = matroid
        self.n_items = matroid.n_items
        self._known: dict[frozenset[int], bool] = {}

    def __call__(self, X: frozenset[int]) -> bool:
        if X not in self._known:
            self._known[X] = bool(self.matroid.is_independent(X))
        return self._known[X]

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
    order = rng.permutation(oracle.n_items).tolist()
    X = oracle.grow(frozenset(), order)
    X = frozenset(rng.permutation(sorted(X))[: rng.integers(0, len(X) + 1)].tolist())
    if not oracle(X):
        raise AxiomError(f"a subset of an independent set is dependent: {_show(X)}")
    _check_subsets(oracle, X)
    Y = oracle.grow(frozenset(), rng.permutation(oracle.n_items).tolist())
    Y = frozenset(sorted(Y)[: max(len(X) - 1, 0)])
    if len(X) > len(Y) and oracle(Y) and not any(oracle(Y | {e}) for e in X - Y):
        _fail_augmentation(X, Y)


def _check_subsets(oracle: _Oracle, X: frozenset[int]) -> None:
    for e in X:
        if not oracle(X - {e}):
            raise AxiomError(f"{_show(X)} is independent, but its subset {_show(X - {e})} is not")


def _fail_augmentation(X: frozenset[int], Y: frozenset[int]) -> None:
    raise AxiomError(
        f"augmentation fails: {_show(X)} and {_show(Y)} are independent, but no item of "
        f"{_show(X - Y)} can be added to {_show(Y)}"
    )


def _compare_answers(oracle: _Oracle, rng: np.random.Generator) -> None:
    """Every public answer against what `is_independent` alone implies."""
    matroid, n = oracle.matroid, oracle.n_items
    weights = rng.integers(0, max(n, 2), n).astype(float)  # ties are likely
    order = np.argsort(-weights, kind="stable").tolist()
    best = oracle.grow(frozenset(), order)
    _expect("rank", matroid.rank, len(best))
    _expect(f"max_weight_basis({weights.tolist()})", matroid.max_weight_basis(weights).tolist(), sorted(best))
    X = frozenset(rng.permutation(n)[: rng.integers(0, n + 1)].tolist())
    inside = oracle.grow(frozenset(), sorted(X))
    closed = {e for e in range(n) if e in X or not oracle(inside | {e})}
    _expect(f"closure({_show(X)})", set(matroid.closure(X).tolist()), closed)
    added = {e for e in range(n) if e not in X and oracle(X | {e})} if oracle(X) else set()
    _expect(f"extension({_show(X)})", set(matroid.extension(X).tolist()), added)
    if len(best) < n:
        e = int(rng.choice(sorted(set(range(n)) - best)))
        circuit = {e} | {f for f in best if oracle((best - {f}) | {e})}
        _expect(f"circuit({_show(best)}, {e})", set(matroid.circuit(sorted(best), e).tolist()), circuit)


def _expect(what: str, given: object, expected: object) -> None:
    if given != expected:
        raise AxiomError(f"{what} is {given}, but is_independent implies {expected}")


def _show(X: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(X))) + "}"
