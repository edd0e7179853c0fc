"""Spanning arborescences of largest weight by contraction, which adds and compares weights and does nothing else."""

import numpy as np

from matroid_bandits.kernels.compiling import kernel

#: Weights of several limbs are numbers to the base 2**62, the first limb signed, the others from 0 on.
LIMB = 62


@kernel
def perturb(gains, limbs):
    """gains[e] 2**(62 w) plus a bit of its own for each item, larger for smaller items, in w + 1 limbs (L, w + 1)."""
    limbs[:] = 0
    for e in range(gains.shape[0]):
        limbs[e, 0] = gains[e]
        limbs[e, 1 + e // LIMB] = np.int64(1) << (LIMB - 1 - e % LIMB)


@kernel
def _compare(limbs, d, e):
    for i in range(limbs.shape[1]):
        if limbs[d, i] != limbs[e, i]:
            return 1 if limbs[d, i] > limbs[e, i] else -1
    return 0


@kernel(work=lambda tails, heads, n_vertices, root, is_open, limbs, chosen: n_vertices * limbs.size)
def best_arborescence(tails, heads, n_vertices, root, is_open, limbs, chosen):
    """The spanning arborescence from `root` of largest total of `limbs` (L, words), which are used up.

    Every other vertex takes its best arc; cycles among those become single vertices, where an arc that enters is
    worth what it is worth more than the one it would replace. Fills `chosen` (L,). Returns 0 where there is none, 1,
    or 2 where two arcs into one vertex were equally good, so that another arborescence may be as good.
    """
    L, n_words = limbs.shape
    n_nodes = 2 * n_vertices
    node = np.arange(n_vertices)  # the outermost node of each vertex
    above, best = np.full(n_nodes, -1, np.int64), np.full(n_nodes, -1, np.int64)
    mark, worth = np.full(n_nodes, -1, np.int64), np.empty((n_nodes, n_words), np.int64)
    is_alive = np.zeros(n_nodes, np.bool_)
    is_alive[:n_vertices] = True
    is_tied = np.zeros(n_nodes, np.bool_)
    n_made, status = n_vertices, 1
    chosen[:] = False
    while True:
        for v in range(n_made):
            if is_alive[v]:
                best[v] = -1
        is_tied[:] = False
        for e in range(L):
            if not is_open[e]:
                continue
            u, v = node[tails[e]], node[heads[e]]
            if u == v or v == root:
                continue
            if best[v] < 0:
                best[v] = e
                continue
            order = _compare(limbs, e, best[v])
            if order > 0:
                best[v] = e
            if order >= 0:
                is_tied[v] = order == 0
        if is_tied[:n_made].any():
            status = 2
        mark[:] = -1
        n_before = n_made
        for start in range(n_before):
            if not is_alive[start] or start == root:
                continue
            v = start
            while v != root and v < n_before and mark[v] < 0:
                if best[v] < 0:
                    return 0
                mark[v] = start
                v = node[tails[best[v]]]
            if v == root or v >= n_before or mark[v] != start:
                continue
            new = n_made
            n_made += 1
            is_alive[new] = True
            u = v
            while True:
                above[u] = new
                is_alive[u] = False
                u = node[tails[best[u]]]
                if u == v:
                    break
        if n_made == n_before:
            break
        for v in range(n_before):
            if above[v] >= n_before:
                for i in range(n_words):
                    worth[v, i] = limbs[best[v], i]
        for e in range(L):
            v = node[heads[e]]
            if above[v] < n_before or not is_open[e]:
                continue
            borrow = np.int64(0)
            for i in range(n_words - 1, -1, -1):
                value = limbs[e, i] - worth[v, i] - borrow
                borrow = np.int64(0)
                if i > 0 and value < 0:
                    value += np.int64(1) << LIMB
                    borrow = np.int64(1)
                limbs[e, i] = value
        for v in range(n_vertices):
            if above[node[v]] >= n_before:
                node[v] = above[node[v]]
    # from the outside in: the arc that enters a contracted cycle takes the place of the one it meets there
    for v in range(n_made - 1, -1, -1):
        if v == root or best[v] < 0:
            continue
        if v < n_vertices:
            chosen[best[v]] = True
            continue
        u = heads[best[v]]
        while above[u] != v:
            u = above[u]
        best[u] = best[v]
    return status
