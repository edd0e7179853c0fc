"""Constraints that are no matroids, each by listing its sets: the obvious way."""

import itertools

import numpy as np

import matroid_bandits as mb


class Listed(mb.Constraint):
    """The best of all allowed sets, found by looking at each; `is_allowed` of a tuple of items says which are."""

    def is_allowed(self, items):
        raise NotImplementedError

    def allows(self, items):
        return self.is_allowed(tuple(items.tolist()))

    def best_sets(self, weights, *, available=None, pinned=None):
        may = np.ones(weights.shape, bool) if available is None else np.broadcast_to(available, weights.shape)
        fixed = set() if pinned is None else set(pinned.tolist())
        n = self.n_items
        every = [s for k in range(n + 1) for s in itertools.combinations(range(n), k) if self.is_allowed(s)]
        chosen = []
        for row, open_ in zip(weights, may, strict=True):
            there = {e for e in range(n) if open_[e]} | fixed
            of = [s for s in every if fixed <= set(s) <= there]
            size = max(map(len, of), default=0)
            if self.fills_up:
                of = [s for s in of if len(s) == size]
            # of equal totals the set with the smallest item in which two differ
            chosen.append(max(of, key=lambda s: (row[list(s)].sum(), [e in s for e in range(n)]), default=()))
        sizes = np.array([len(s) for s in chosen], np.int64)
        items = np.zeros((len(chosen), sizes.max(initial=0)), np.int64)
        for row, s in zip(items, chosen, strict=True):
            row[: len(s)] = s
        return items, sizes


class Matching(Listed):
    """Pairs of a row and a column, each at most once."""

    kind = "sample-matching"

    def __init__(self, n_rows, n_columns, *, labels=None):
        super().__init__(n_rows * n_columns, labels)
        self._n_rows, self._n_columns = n_rows, n_columns

    def is_allowed(self, items):
        places = [divmod(e, self._n_columns) for e in items]
        return all(len(set(side)) == len(places) for side in zip(*places, strict=True))

    def fields(self):
        return {"n_rows": self._n_rows, "n_columns": self._n_columns}


class TopKWithinBudget(mb.Constraint):
    """At most k documents, of at most `limit` bytes together; written from `docs/extending.md` alone."""

    kind = "sample-top-k-within-budget"
    fills_up = False

    def __init__(self, sizes, limit, k, *, labels=None):
        self._sizes, self._limit, self._k = list(sizes), limit, k
        super().__init__(len(self._sizes), labels)

    def allows(self, items):
        return len(items) <= self._k and sum(self._sizes[e] for e in items) <= self._limit

    def best_sets(self, weights, *, available=None, pinned=None):
        pins = [] if pinned is None else pinned.tolist()
        may = weights > 0
        if available is not None:
            may &= available
        may[:, pins] = False
        chosen = np.zeros(weights.shape, bool)
        for row, is_open, in_set in zip(weights, may, chosen, strict=True):
            room, left = self._limit - sum(self._sizes[e] for e in pins), self._k - len(pins)
            best = np.zeros((self.n_items + 1, left + 1, room + 1))
            for i in reversed(range(self.n_items)):
                best[i], size = best[i + 1], self._sizes[i]
                if is_open[i] and size <= room:
                    best[i, 1:, size:] = np.maximum(best[i, 1:, size:], best[i + 1, :-1, : room + 1 - size] + row[i])
            for i, size in enumerate(self._sizes):
                if not is_open[i] or size > room or left == 0:
                    continue
                if best[i + 1, left - 1, room - size] + row[i] == best[i, left, room]:
                    in_set[i], room, left = True, room - size, left - 1
        chosen[:, pins] = True
        items = np.argsort(~chosen, axis=1, kind="stable")
        return items, chosen.sum(axis=1)

    def fields(self):
        return {"sizes": self._sizes, "limit": self._limit, "k": self._k}


class Routes(Listed):
    """One of three ways from home to work, of different lengths: {0}, {1, 2} and {1, 3, 4}."""

    kind = "sample-routes"
    is_hereditary = fills_up = False

    def __init__(self, *, labels=None):
        super().__init__(5, labels)

    def is_allowed(self, items):
        return items in ((0,), (1, 2), (1, 3, 4))

    def fields(self):
        return {}


CONSTRAINTS = {"matching": Matching(2, 3), "routes": Routes()}
