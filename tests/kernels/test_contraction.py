"""Kruskal's algorithm on what contraction leaves finds the very trees that it finds on all edges."""

import numpy as np
import pytest

from matroid_bandits.kernels import contraction, graphic, order

N_VERTICES, N_EDGES = 24, 70


def kruskal(indices, us, vs, n_vertices, taken=()):
    """The edges of the best forest after those that were taken."""
    found, room = np.empty(N_VERTICES, np.int64), np.empty((3, n_vertices), np.uint32)
    found[: len(taken)] = taken
    orders = np.empty((1, indices.size), np.int64)
    order.argsort_rows(indices[None], orders)
    by_index, limit = orders[0].view(np.uint64), N_VERTICES - 1
    k = graphic.greedy_forest(by_index, indices.size, us, vs, len(taken), limit, *room, found[:limit])
    return found[len(taken) : k], by_index


def play(seed, ahead):
    """Random lines of a random graph, of which those of each tree change, while c grows by 0.5 in ten episodes.

    Bounds hold until c is `ahead` larger. Returns in how many episodes trees differ, and the share of edges left.
    """
    rng = np.random.default_rng(seed)
    us = np.append(np.arange(N_VERTICES - 1), rng.integers(0, N_VERTICES, N_EDGES)).astype(np.uint64)
    vs = np.append(np.arange(1, N_VERTICES), rng.integers(0, N_VERTICES, N_EDGES)).astype(np.uint64)
    n, pool = us.size, np.arange(us.size)
    means, radii = rng.integers(0, 6, n) * 1.0, rng.choice([0.1, 0.2, 2.0], n)
    integers, floats, parts = (
        np.empty((4, N_VERTICES), np.int64),
        np.empty(N_VERTICES),
        np.empty(N_VERTICES, np.uint32),
    )
    room = np.empty(n, bool), np.empty((3, N_VERTICES + 1), np.int64), np.empty(2 * N_VERTICES, np.int64)
    reference = (integers[0], integers[1], integers[2], floats, parts, integers[3], *room)
    left, joined, indices = np.empty(n, np.int64), np.empty((2, n), np.uint64), np.empty(n)
    tree, n_other, n_left, c = kruskal(means, us, vs, N_VERTICES)[0].copy(), 0, 0, 1.0
    for t in range(40):
        if t % 10 == 0:
            largest = c + ahead
            at_most = means + largest * radii
            contraction.refer(tree, 0, kruskal(at_most, us, vs, N_VERTICES)[1], at_most, us, vs, reference)
        k, m, n_parts = contraction.contract_best(
            pool, means, radii, c, us, vs, reference, tree, 0, left, *joined, indices
        )
        rest, _ = kruskal(indices[:m], joined[0], joined[1], n_parts, tree[:k].tolist())
        tree[k:] = left[rest]
        best = kruskal(means + c * radii, us, vs, N_VERTICES)[0]
        n_other += set(tree.tolist()) != set(best.tolist())
        n_left += m
        means[tree] += rng.choice([-0.5, 0.0, 0.5], tree.size)
        radii[tree] *= 0.99
        contraction.raise_bounds(tree, 0, pool, means, radii, largest, us, vs, reference)
        c += 0.05
    return n_other, n_left / 40 / n


@pytest.mark.parametrize("seed", range(5))
def test_trees_are_the_same_and_edges_are_left_out(seed):
    n_other, share = play(seed, ahead=0.5)
    assert n_other == 0
    assert share < 0.9


def test_bounds_that_are_over_are_noticed():
    assert any(play(seed, ahead=0.0)[0] > 0 for seed in range(5))
