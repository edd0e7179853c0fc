"""Random small constraints of each family."""

import numpy as np

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidConstraintError


def assignment(rng):
    n_rows, n_columns = rng.integers(1, 4), rng.integers(1, 5)
    share = rng.choice([0.6, 0.8, 1.0])
    pairs = [(r, c) for r in range(n_rows) for c in range(n_columns) if rng.random() < share] or [(0, 0)]
    return mb.AssignmentConstraint(np.array(pairs)[rng.permutation(len(pairs))])


def arcs(rng, *, is_acyclic, most=10):
    n = int(rng.integers(3, 6))
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v and rng.random() < (0.7 if u < v else 0.4)]
    pairs = [(u, v) for u, v in pairs if u < v or not is_acyclic]
    if pairs and rng.random() < 0.3:
        pairs.append(pairs[0])
    return n, np.array([pairs[i] for i in rng.permutation(len(pairs))][:most])


def path(rng, *, is_acyclic=True):
    while True:
        n, ends = arcs(rng, is_acyclic=is_acyclic)
        try:
            return mb.PathConstraint(ends, 0, n - 1, int(rng.integers(1, 3)))
        except InvalidConstraintError:
            continue


def cyclic_path(rng):
    while True:
        made = path(rng, is_acyclic=False)
        if not made.is_acyclic:
            return made


def nested(rng, n):
    groups = [(list(range(n)), int(rng.integers(1, n + 1)))]
    order, cut = rng.permutation(n).tolist(), int(rng.integers(1, n))
    for part in (order[:cut], order[cut:]):
        groups.append((part, int(rng.integers(1, len(part) + 1))))
        if len(part) > 2:
            groups.append((part[:2], 1))
    return mb.LaminarMatroid(n, groups)


def arborescence(rng):
    while True:
        _, ends = arcs(rng, is_acyclic=False)
        try:
            return mb.ArborescenceConstraint(ends, 0)
        except InvalidConstraintError:
            continue


def matroid(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return mb.GraphicMatroid(rng.integers(0, 4, (n, 2)))
    if kind == 1:
        return nested(rng, n)
    if kind == 2:
        return mb.LinearMatroid(rng.integers(-1, 2, (n, 3)))
    return mb.UniformMatroid(n, int(rng.integers(1, n + 1))).dual()


def intersection(rng):
    n = int(rng.integers(2, 9))
    return mb.MatroidIntersection(matroid(rng, n), matroid(rng, n))


def explicit(rng):
    rows = rng.random((int(rng.integers(1, 8)), 7)) < 0.5
    rows[:, 6] |= ~rows.any(axis=1)
    return mb.ExplicitSets([np.flatnonzero(row) for row in rows], labels=range(10, 17))


def quotas(rng):
    n = int(rng.integers(2, 9))
    return mb.QuotaIntersection(nested(rng, n), nested(rng, n))
