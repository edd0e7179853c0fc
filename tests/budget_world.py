"""A shop whose items, costs, groups and budgets change, and its best sets by looking at every set."""

import itertools

import numpy as np

import matroid_bandits as mb

NAMES = "abcdefghijkl"

#: Every set of n items.
EVERY = {n: np.array(list(itertools.product([False, True], repeat=n)), bool).reshape(-1, n) for n in range(1, 10)}


def random_basket(rng):
    """A budget on three to eight of the items, with the first items of groups first."""
    some = sorted(rng.permutation(list(NAMES))[: rng.integers(3, 9)].tolist())
    groups = dict(zip(some, np.sort(rng.integers(0, 4, len(some))).tolist(), strict=True))
    costs = dict(zip(some, rng.integers(0, 9, len(some)).tolist(), strict=True))
    at_most = int(rng.integers(1, 5)) if rng.random() < 0.5 else None
    return mb.KnapsackConstraint(costs, int(rng.integers(4, 25)), groups if rng.random() < 0.5 else None, at_most)


def allowed_sets(basket):
    """Every set that the budget, the groups and the number of items allow, read from its public attributes."""
    sets, labels = EVERY[basket.n_items], list(basket.labels)
    costs = np.array([basket.costs[label] for label in labels])
    sets = sets[sets @ costs <= basket.budget]
    if basket.at_most is not None:
        sets = sets[sets.sum(axis=1) <= basket.at_most]
    for group in {*(basket.groups or {}).values()} - {None}:
        sets = sets[sets[:, [basket.groups[label] == group for label in labels]].sum(axis=1) <= 1]
    return sets


def best_of(sets, U, out=(), pins=()):
    """The canonical best of some sets for indices U, as labels' numbers; None where none is left.

    Most items never seen, then the largest total of indices that are rounded to 40 bits of the largest one, then the
    set with the first item in which two differ. An index of 0 or less adds an item only if it is pinned.
    """
    n = U.size
    is_out, is_pinned = (np.isin(np.arange(n), list(each)) for each in (out, pins))
    left = sets[~(sets & (is_out & ~is_pinned)).any(axis=1) & sets[:, is_pinned].all(axis=1)]
    is_unseen = np.isposinf(U)
    largest = np.abs(U[~is_unseen]).max(initial=0.0)
    whole = np.rint(np.ldexp(np.where(is_unseen, 0.0, U), 40 - np.frexp(largest)[1])).astype(np.int64)
    left = left[~(left & ~(is_unseen | (whole > 0) | is_pinned)).any(axis=1)]
    if not left.shape[0]:
        return None
    keys = zip((left & is_unseen).sum(axis=1), left @ whole, left.tolist(), strict=True)
    return np.flatnonzero(max(keys)[2]).tolist()


def random_request(rng, sets):
    """Items to exclude and to pin, by number; the pins can be chosen together."""
    n = sets.shape[1]
    pins = np.flatnonzero(sets[rng.integers(len(sets))]).tolist() if rng.random() < 0.3 else []
    pins = [e for e in pins if rng.random() < 0.5]
    out = [e for e in range(n) if rng.random() < 0.2 and e not in pins] if rng.random() < 0.4 else []
    return out, pins
