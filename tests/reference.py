"""Slow, obvious oracles: every subset, every basis, exact fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def subsets(n_items):
    return [frozenset(X) for size in range(n_items + 1) for X in combinations(range(n_items), size)]


class SetSystem:
    """A matroid as the plain collection of its independent sets."""

    def __init__(self, n_items, is_independent):
        self.n_items = n_items
        self.independent = {X for X in subsets(n_items) if is_independent(X)}
        self.rank = max(map(len, self.independent))
        self.bases = {X for X in self.independent if len(X) == self.rank}

    def rank_of(self, X):
        return max(len(Y) for Y in self.independent if Y <= X)

    def extension(self, X):
        return {e for e in range(self.n_items) if e not in X and X | {e} in self.independent}

    def closure(self, X):
        return {e for e in range(self.n_items) if self.rank_of(X | {e}) == self.rank_of(X)}

    def circuit(self, basis, e):
        return {e} | {f for f in basis if (basis - {f}) | {e} in self.independent}

    def best_basis(self, weights, minimize=False):
        """The optimal basis that comes first along the greedy order, found by looking at every basis."""
        order = sorted(range(self.n_items), key=lambda e: (weights[e] if minimize else -weights[e], e))
        place = {e: i for i, e in enumerate(order)}
        return sorted(min(self.bases, key=lambda B: sorted(place[e] for e in B)))

    def total(self, basis, weights):
        return sum(weights[e] for e in basis)


# Independence from first principles, one function per family.


def uniform(rank):
    return lambda X: len(X) <= rank


def quotas(groups):
    return lambda X: all(len(X & set(items)) <= capacity for items, capacity in groups)


def forest(edges):
    def is_forest(X):
        component = {v: {v} for edge in edges for v in edge}
        for e in X:
            u, v = edges[e]
            if component[u] is component[v]:
                return False
            union = component[u] | component[v]
            for w in union:
                component[w] = union
        return True

    return is_forest


def matchable(neighbors):
    def hall(X):
        return all(
            len(set().union(*(neighbors[e] for e in S))) >= len(S)
            for size in range(1, len(X) + 1)
            for S in combinations(X, size)
        )

    return hall


def rank_over(vectors, p=None):
    """Rank of integer vectors over the rationals, or modulo p, in exact arithmetic."""
    rows = [[Fraction(int(x)) if p is None else int(x) % p for x in row] for row in vectors]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        head = rows[rank]
        inverse = 1 / head[column] if p is None else pow(head[column], -1, p)
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] * inverse
            rows[r] = [
                x - factor * y if p is None else (x - factor * y) % p for x, y in zip(rows[r], head, strict=True)
            ]
        rank += 1
    return rank


def linear(vectors, p=None):
    return lambda X: rank_over([vectors[e] for e in X], p) == len(X)


def greedy(order, is_independent):
    """The paper's Algorithm 1 along a given order."""
    chosen = set()
    for e in order:
        if is_independent(chosen | {e}):
            chosen.add(e)
    return sorted(chosen)


def greedy_order(weights, minimize=False):
    return np.lexsort((np.arange(len(weights)), weights if minimize else -np.asarray(weights)))
