"""Best common independent sets of two matroids: exchanges, and shortest augmenting paths through them, in int64.

`in_set` (L,) is a common independent set. An item outside that a matroid could add is free there (`is_free`);
another could only enter for one of the members circuits[y, :n_members[y]]. Items that are not open have neither.
"""

import numpy as np

from matroid_bandits.kernels.compiling import kernel

#: Items whose bits share a word of the tie-breaking part of a length.
BITS = 62


@kernel
def forest_exchanges(tails, heads, n_vertices, in_set, is_fixed, is_open, is_free, circuits, n_members):
    """The exchanges of a set of edges without a cycle; members that are fixed never leave."""
    L = in_set.shape[0]
    starts = np.zeros(n_vertices + 1, np.int64)
    for e in range(L):
        if in_set[e]:
            starts[tails[e] + 1] += 1
            starts[heads[e] + 1] += 1
    for v in range(n_vertices):
        starts[v + 1] += starts[v]
    ends, edges = starts[:-1].copy(), np.empty(starts[n_vertices], np.int64)
    for e in range(L):
        if in_set[e]:
            edges[ends[tails[e]]] = e
            ends[tails[e]] += 1
            edges[ends[heads[e]]] = e
            ends[heads[e]] += 1
    tree, parent = np.full(n_vertices, -1, np.int64), np.empty(n_vertices, np.int64)
    edge, depth = np.empty(n_vertices, np.int64), np.zeros(n_vertices, np.int64)
    stack = np.empty(n_vertices, np.int64)
    for root in range(n_vertices):
        if tree[root] >= 0:
            continue
        tree[root] = root
        stack[0] = root
        size = 1
        while size > 0:
            size -= 1
            v = stack[size]
            for place in range(starts[v], starts[v + 1]):
                e = edges[place]
                u = heads[e] if tails[e] == v else tails[e]
                if tree[u] < 0:
                    tree[u], parent[u], edge[u], depth[u] = root, v, e, depth[v] + 1
                    stack[size] = u
                    size += 1
    for y in range(L):
        n_members[y] = 0
        u, v = tails[y], heads[y]
        may = is_open[y] and not in_set[y]
        is_free[y] = may and tree[u] != tree[v]
        if not may or is_free[y]:
            continue
        while u != v:
            if depth[u] < depth[v]:
                u, v = v, u
            if not is_fixed[edge[u]]:
                circuits[y, n_members[y]] = edge[u]
                n_members[y] += 1
            u = parent[u]


@kernel
def quota_exchanges(group, parent, capacities, in_set, is_fixed, is_open, is_free, circuits, n_members):
    """The exchanges of a set within nested quotas: an item may enter for a member of the innermost full group."""
    L, G = in_set.shape[0], parent.shape[0]
    room = capacities.copy()
    n_inside = np.zeros(G + 1, np.int64)
    for x in range(L):
        if in_set[x]:
            g = group[x]
            while g >= 0:
                room[g] -= 1
                n_inside[g + 1] += not is_fixed[x]
                g = parent[g]
    for g in range(G):
        n_inside[g + 1] += n_inside[g]
    ends, inside = n_inside[:-1].copy(), np.empty(n_inside[G], np.int64)
    for x in range(L):
        if in_set[x] and not is_fixed[x]:
            g = group[x]
            while g >= 0:
                inside[ends[g]] = x
                ends[g] += 1
                g = parent[g]
    for y in range(L):
        n_members[y] = 0
        is_free[y] = False
        if not is_open[y] or in_set[y]:
            continue
        g = group[y]
        while g >= 0 and room[g] > 0:
            g = parent[g]
        is_free[y] = g < 0
        if g >= 0:
            for place in range(n_inside[g], n_inside[g + 1]):
                circuits[y, n_members[y]] = inside[place]
                n_members[y] += 1


@kernel
def _is_shorter(lengths, v, u, gain, sign, hops):
    """Whether the path to u by v is shorter than the one known.

    Lengths are compared word by word: the sum of weights first, then bits of which every item has its own, so that of
    paths of equal weight one is shorter for sure; of the same items the one with fewer arcs.
    """
    value = lengths[v, 0] + sign * gain
    if value != lengths[u, 0]:
        return value < lengths[u, 0]
    own = 1 + u // BITS
    for word in range(1, lengths.shape[1]):
        value = lengths[v, word]
        if word == own:
            value += sign * (np.int64(1) << (BITS - 1 - u % BITS))
        if value != lengths[u, word]:
            return value < lengths[u, word]
    return hops[v] + 1 < hops[u]


@kernel
def augment(gains, in_set, is_free1, circuits1, n_members1, is_free2, circuits2, n_members2, lengths, n_arcs):
    """Enlarge a best common set by one item along the shortest path; returns whether there is one.

    A path alternates: from an item that is free in the first matroid to a member that it replaces in the second, from
    a member to an item that replaces it in the first, until one is free in the second. `lengths` (L, words) and
    `n_arcs` (L,) are room.
    """
    L = gains.shape[0]
    # the first matroid's exchanges the other way round: who may enter for a member
    starts = np.zeros(L + 1, np.int64)
    for y in range(L):
        for i in range(n_members1[y]):
            starts[circuits1[y, i] + 1] += 1
    for x in range(L):
        starts[x + 1] += starts[x]
    ends, enters = starts[:-1].copy(), np.empty(starts[L], np.int64)
    for y in range(L):
        for i in range(n_members1[y]):
            x = circuits1[y, i]
            enters[ends[x]] = y
            ends[x] += 1
    by, queue = np.full(L, -2, np.int64), np.empty(L + 1, np.int64)
    is_waiting = np.zeros(L, np.bool_)
    first = size = 0
    for y in range(L):
        if is_free1[y]:
            lengths[y] = 0
            lengths[y, 0] = -gains[y]
            lengths[y, 1 + y // BITS] = -(np.int64(1) << (BITS - 1 - y % BITS))
            n_arcs[y], by[y] = 0, -1
            queue[size] = y
            size += 1
            is_waiting[y] = True
    while size > 0:
        v = queue[first]
        first = (first + 1) % (L + 1)
        size -= 1
        is_waiting[v] = False
        low, high, sign = 0, n_members2[v], 1
        if in_set[v]:
            low, high, sign = starts[v], starts[v + 1], -1
        for place in range(low, high):
            u = enters[place] if in_set[v] else circuits2[v, place]
            if by[u] != -2 and not _is_shorter(lengths, v, u, gains[u], sign, n_arcs):
                continue
            for word in range(lengths.shape[1]):
                lengths[u, word] = lengths[v, word]
            lengths[u, 0] += sign * gains[u]
            lengths[u, 1 + u // BITS] += sign * (np.int64(1) << (BITS - 1 - u % BITS))
            n_arcs[u], by[u] = n_arcs[v] + 1, v
            if not is_waiting[u]:
                queue[(first + size) % (L + 1)] = u
                size += 1
                is_waiting[u] = True
    last = -1
    for y in range(L):
        if not is_free2[y] or by[y] == -2:
            continue
        if last >= 0:
            is_less = n_arcs[y] < n_arcs[last]
            for word in range(lengths.shape[1]):
                if lengths[y, word] != lengths[last, word]:
                    is_less = lengths[y, word] < lengths[last, word]
                    break
            if not is_less:
                continue
        last = y
    if last < 0:
        return False
    while last >= 0:
        in_set[last] = not in_set[last]
        last = by[last]
    return True
