"""The best spanning forest of a graph by Boruvka's algorithm.

In every round each tree of the forest so far takes the best edge that leaves it, where better
is a larger index or an equal one of a smaller item. That order is total, so no cycle arises, and the forest is the
one that Kruskal's algorithm finds along it. Bridges are in every forest: they are contracted beforehand, marked in
`always`, and take no part. Between rounds an edge knows the trees at its ends as they were called when it was last
looked at, in one word; an edge within a tree is 0.
"""

import numpy as np

from matroid_bandits.gpu._device import by_block, cuda, index, types
from matroid_bandits.gpu._episode import explores, index_at, is_line, key_of, mark, policy_words

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_16, _END = np.uint32(16), np.uint32(0xFFFF)


@by_block
def room_of_forests(family, at, n_threads):
    """Of each edge its key, also by halves, and its ends; what trees need; how many edges a round found."""
    n_pool, n_vertices = family[1].shape[0], family[3]
    longs = cuda.shared.array(0, types.uint64)
    shorts = cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys, halves = longs[at : at + n_pool], marks[2 * at : 2 * (at + n_pool)]
    at += n_pool
    # of the best edge of a tree: the lower half of its key, and its place reversed
    rest = longs[at : at + n_vertices]
    at = 2 * (at + n_vertices)
    upper = marks[at : at + n_vertices]  # the upper half of the best key that leaves a tree
    at += n_vertices
    tree = marks[at : at + n_vertices]  # how a tree is called after the last round, by one of its vertices
    at += n_vertices
    joined = marks[at : at + n_vertices]  # the tree that a tree joins, or itself
    at += n_vertices
    ends = marks[at : at + n_pool]
    at += n_pool
    n_found = shorts[at : at + 2]
    return keys, halves, rest, upper, tree, joined, ends, n_found


@by_block
def choose_forest(family, room, policy, state, c, i, seed, t, run, items, bits, partial, tid, n_threads):
    """Set the bits of the edges of the best forest.

    Of this family: the edges that may be in a forest or not, ascending, and the two ends of each after contraction in
    one word; how many of them are in every forest; the bits of the bridges.
    """
    _, pool, all_ends, n_vertices, n_wanted, always = family
    keys, halves, rest, upper, tree, joined, ends, n_found = room
    n_pool, n_words = np.uint32(pool.shape[0]), np.uint32(always.shape[0])
    n_vertices, p = np.uint32(n_vertices), tid
    if is_line(policy[0]):  # apart, since most of the time is spent here
        while p < n_pool:
            keys[p] = key_of(index(state[2][pool[p]], state[3][pool[p]], c))
            ends[p] = all_ends[p]
            p = np.uint32(p + n_threads)
    else:
        words = policy_words(seed, t)
        is_random = explores(policy, words, run)
        while p < n_pool:
            keys[p] = key_of(index_at(policy, is_random, state, pool[p], words, run, t))
            ends[p] = all_ends[p]
            p = np.uint32(p + n_threads)
    v = tid
    while v < n_vertices:
        tree[v], joined[v], upper[v], rest[v] = v, v, 0, 0
        v = np.uint32(v + n_threads)
    w = tid
    while w < n_words:
        bits[w] = always[w]
        w = np.uint32(w + n_threads)
    if tid < 2:
        n_found[tid] = 0
    cuda.syncthreads()

    left, side = n_wanted, 0
    while left > 0:
        p = tid
        while p < n_pool:
            u, v = tree[ends[p] & _END], tree[ends[p] >> _16]
            if u != v:
                ends[p] = u | (v << _16)
                half = halves[2 * p + 1]
                if upper[u] < half:
                    cuda.atomic.max(upper, u, half)
                if upper[v] < half:
                    cuda.atomic.max(upper, v, half)
            else:
                ends[p] = 0
            p = np.uint32(p + n_threads)
        cuda.syncthreads()
        p = tid
        while p < n_pool:
            if ends[p] != 0:
                u, v, half = ends[p] & _END, ends[p] >> _16, halves[2 * p + 1]
                if upper[u] == half or upper[v] == half:
                    lower = ((keys[p] & _LOW) << _HALF) | (_LOW - np.uint64(p))
                    if upper[u] == half and rest[u] < lower:
                        cuda.atomic.max(rest, u, lower)
                    if upper[v] == half and rest[v] < lower:
                        cuda.atomic.max(rest, v, lower)
            p = np.uint32(p + n_threads)
        cuda.syncthreads()
        v = tid
        while v < n_vertices:
            if upper[v] > 0:
                taken = np.uint32(_LOW - (rest[v] & _LOW))
                u = ends[taken] & _END
                if u == v:
                    u = ends[taken] >> _16
                # of two trees that take the same edge one joins the other
                if v > u or upper[u] != upper[v] or rest[u] != rest[v]:
                    joined[v] = u
                    mark(bits, pool[taken])
                    cuda.atomic.add(n_found, side, 1)
            v = np.uint32(v + n_threads)
        cuda.syncthreads()
        left -= n_found[side]
        side = 1 - side
        if tid == 0:
            n_found[side] = 0
        v = tid
        while v < n_vertices:
            if upper[v] > 0:
                u = joined[v]
                while u != joined[u]:
                    u = joined[u]
                tree[v], upper[v], rest[v] = u, 0, 0
            v = np.uint32(v + n_threads)
        cuda.syncthreads()
    return True
