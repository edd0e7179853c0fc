"""Best sets by looking at all of them: integers of which no two totals are equal."""

import itertools

import numpy as np


def allowed_sets(constraint):
    """All sets that may be chosen, as rows of a mask; of a hereditary constraint all its parts too."""
    n = constraint.n_items
    every = np.array(list(itertools.product([False, True], repeat=n)))
    return every[[constraint.allows(np.flatnonzero(row)) for row in every]]


def left_of(sets, fills_up, available, pinned):
    """The sets that a request leaves, of a constraint that fills up the largest."""
    is_open = np.ones(sets.shape[1], bool) if available is None else available.copy()
    is_open[pinned] = True
    left = sets[~(sets & ~is_open).any(axis=1) & sets[:, pinned].all(axis=1)]
    if fills_up and left.size:
        sizes = left.sum(axis=1)
        left = left[sizes == sizes.max()]
    return left


def best_listed(sets, weights):
    """The canonical best of some sets for integer weights: W 2^L plus a bit of its own for each item."""
    L = sets.shape[1]
    perturbed = [int(w) * 2**L + 2 ** (L - 1 - e) for e, w in enumerate(weights)]
    totals = sets.astype(object) @ np.array(perturbed, object)
    return np.flatnonzero(sets[int(np.argmax(totals))])


def check_against_lists(constraint, rng, n_rows, *, low=-2, high=2, with_pins=True, with_unseen=True):
    """Compare the best sets of random rows, masks and pins with all sets; returns how many were compared."""
    sets, L = allowed_sets(constraint), constraint.n_items
    n = 0
    weights = rng.integers(low, high + 1, (n_rows, L)).astype(float)
    masks = rng.random((n_rows, L)) < 0.75
    nothing = np.empty(0, np.int64)
    whole = sets[rng.integers(len(sets))]
    pins = np.flatnonzero(whole & (rng.random(L) < 0.4)) if with_pins else nothing
    for available, pinned in ((None, nothing), (masks, nothing), (None, pins), (masks, pins)):
        asked = {"available": available, "pinned": pinned if pinned.size else None}
        items, sizes = constraint.best_sets(weights, **asked)
        for run in range(n_rows):
            left = left_of(sets, constraint.fills_up, None if available is None else available[run], pinned)
            if not left.size:
                assert pinned.size == 0 or not constraint.is_hereditary
                if pinned.size == 0:
                    assert sizes[run] == 0
                continue
            best = best_listed(left, weights[run])
            assert items[run, : sizes[run]].tolist() == best.tolist(), (constraint, weights[run], asked)
            n += 1
    if with_unseen:
        unseen = rng.random((n_rows, L)) < 0.3
        items, sizes = constraint.solve(np.where(unseen, np.inf, weights / 4))
        left = left_of(sets, constraint.fills_up, None, nothing)
        for run in range(n_rows):
            best = best_listed(left, np.where(unseen[run], 1000, weights[run]))
            assert items[run, : sizes[run]].tolist() == best.tolist()
            n += 1
    return n


def check_forcing(constraint, rng, n_rows, *, low=0, high=8):
    """Compare the best set with each item forced in or out with all sets; returns how many were compared."""
    sets = left_of(allowed_sets(constraint), constraint.is_hereditary, None, np.empty(0, np.int64))
    n = 0
    for weights in rng.integers(low, high + 1, (n_rows, constraint.n_items)).astype(float):
        items, sizes = constraint.best_sets(weights[None])
        chosen = items[0, : sizes[0]]
        for e in range(constraint.n_items):
            is_in = e not in chosen
            fitting = sets[sets[:, e] == is_in]
            other = constraint.force(weights, e, is_in)
            if other is None:
                continue
            if not fitting.size:  # in none, in all, or only in smaller ones
                assert other.size < max(chosen.size, 1) or not constraint.allows(other)
            else:
                assert other.tolist() == best_listed(fitting, weights).tolist()
            n += 1
    return n
