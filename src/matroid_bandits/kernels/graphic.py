"""Forests: Kruskal along given orders, when a forest spans which edge, paths in it, and the blocks of a graph."""

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel


@kernel
def _find(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@inlined
def greedy_forest(order, length, us, vs, n_taken, limit, tree, size, after, forest):
    """Kruskal along the first `length` entries of `order` (M,) uint64; returns how many edges `forest` has then.

    The first `n_taken` cells of `forest` (limit,) are the caller's, who contracted those edges; accepted ones follow,
    at most `limit` in all. Edge e joins us[e] and vs[e] (uint64: unsigned indices spare the compiled code a test for
    negative ones at each access). `tree`, `size` and `after` (n_vertices,) uint32 are room: every vertex knows its
    tree and the vertices of a tree form a ring, so that most edges are rejected, in one comparison without a search,
    and a joined pair relabels the smaller tree.
    """
    k = n_taken
    for v in range(tree.shape[0]):
        tree[v], size[v], after[v] = v, 1, v
    for i in range(length if k < limit else 0):
        e = order[i]
        u, v = us[e], vs[e]
        large, small = tree[u], tree[v]
        if large == small:
            continue
        forest[k] = e
        k += 1
        if k == limit:
            break
        if size[large] < size[small]:
            u, v, large, small = v, u, small, large
        size[large] += size[small]
        w = v
        while True:
            tree[w] = large
            w = np.uint64(after[w])
            if w == v:
                break
        after[u], after[v] = after[v], after[u]
    return k


@kernel
def greedy_forests(orders, lengths, tails, heads, n_vertices, n_taken, limit, forests, sizes):
    """`greedy_forest` along the first lengths[r] entries of each row of `orders` (R, M) int64, into `forests`.

    No `lengths` (an empty array) means whole rows. `sizes` (R,) gets how many edges each row of `forests` has.
    """
    tree = np.empty(n_vertices, np.uint32)
    size = np.empty(n_vertices, np.uint32)
    after = np.empty(n_vertices, np.uint32)  # the next vertex of the ring
    us, vs = tails.view(np.uint64), heads.view(np.uint64)
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        order, forest = orders[run].view(np.uint64), forests[run]
        sizes[run] = greedy_forest(order, length, us, vs, n_taken, limit, tree, size, after, forest)


@kernel
def contract(taken, tails, heads, n_vertices, new_tails, new_heads):
    """The ends of all edges where each tree of the `taken` ones (P,) is a single vertex; those become self-loops."""
    parent = np.arange(n_vertices)
    for i in range(taken.shape[0]):
        parent[_find(parent, tails[taken[i]])] = _find(parent, heads[taken[i]])
    for e in range(tails.shape[0]):
        new_tails[e], new_heads[e] = _find(parent, tails[e]), _find(parent, heads[e])


@kernel
def spanned_after(forest, tails, heads, n_vertices, after):
    """after[e]: how many edges of `forest`, in order, until both ends of edge e lie in one tree of them.

    One more than there are for an edge between two trees, 0 for a self-loop. Smaller trees are hung under larger ones
    and remember when; no path is longer than the logarithm of the vertices.
    """
    never = forest.shape[0] + 1
    parent = np.arange(n_vertices)
    size = np.ones(n_vertices, np.int64)
    since = np.full(n_vertices, never, np.int64)  # when a vertex was hung under its parent
    for i in range(forest.shape[0]):
        u, v = tails[forest[i]], heads[forest[i]]
        while parent[u] != u:
            u = parent[u]
        while parent[v] != v:
            v = parent[v]
        if size[u] < size[v]:
            u, v = v, u
        parent[v], since[v] = u, i + 1
        size[u] += size[v]
    for e in range(tails.shape[0]):
        u, v, last = tails[e], heads[e], 0
        while u != v and last < never:
            if since[u] < since[v]:
                last, u = since[u], parent[u]
            else:
                last, v = since[v], parent[v]
        after[e] = last


@kernel
def _incident(forest, tails, heads, n_vertices):
    """Where the edges of `forest` at each vertex start, and these edges, vertex after vertex."""
    starts = np.zeros(n_vertices + 1, np.int64)
    for i in range(forest.shape[0]):
        starts[tails[forest[i]] + 1] += 1
        starts[heads[forest[i]] + 1] += 1
    for v in range(n_vertices):
        starts[v + 1] += starts[v]
    cursor = starts[:n_vertices].copy()
    incident = np.empty(2 * forest.shape[0], np.int64)
    for i in range(forest.shape[0]):
        e = forest[i]
        for end in (tails[e], heads[e]):
            incident[cursor[end]] = e
            cursor[end] += 1
    return starts, incident


@kernel
def tree_path(forest, tails, heads, n_vertices, source, target, path):
    """The edges of `forest` between two vertices of one tree, into `path`; returns how many."""
    starts, incident = _incident(forest, tails, heads, n_vertices)
    via = np.full(n_vertices, -1, np.int64)
    queue = np.empty(n_vertices, np.int64)
    queue[0], first, last = source, 0, 1
    while first < last and via[target] < 0:
        v = queue[first]
        first += 1
        for j in range(starts[v], starts[v + 1]):
            e = incident[j]
            w = tails[e] + heads[e] - v
            if w != source and via[w] < 0:
                via[w] = e
                queue[last] = w
                last += 1
    n, v = 0, target
    while v != source:
        e = via[v]
        path[n] = e
        n += 1
        v = tails[e] + heads[e] - v
    return n


@kernel
def tree_exchanges(forest, tails, heads, n_vertices, leaves, enters):
    """All pairs of an edge of a spanning forest and one outside whose ends it lies between; returns their number.

    Empty arrays are not filled: the pairs are only counted.
    """
    starts, incident = _incident(forest, tails, heads, n_vertices)
    is_inside = np.zeros(tails.shape[0], np.bool_)
    is_inside[forest] = True
    via = np.full(n_vertices, -1, np.int64)  # the edge towards the root
    depth = np.full(n_vertices, -1, np.int64)
    queue = np.empty(n_vertices, np.int64)
    for root in range(n_vertices):
        if depth[root] >= 0:
            continue
        depth[root], queue[0], first, last = 0, root, 0, 1
        while first < last:
            v = queue[first]
            first += 1
            for j in range(starts[v], starts[v + 1]):
                e = incident[j]
                w = tails[e] + heads[e] - v
                if depth[w] < 0:
                    depth[w], via[w] = depth[v] + 1, e
                    queue[last] = w
                    last += 1
    n = 0
    for f in range(tails.shape[0]):
        if is_inside[f]:
            continue
        u, v = tails[f], heads[f]
        while u != v:
            if depth[u] < depth[v]:
                u, v = v, u
            e = via[u]
            if leaves.shape[0] > 0:
                leaves[n], enters[n] = e, f
            n += 1
            u = tails[e] + heads[e] - u
    return n


@kernel
def blocks(tails, heads, n_vertices, block):
    """Number the blocks (2-connected components) of the graph: block[e], and -1 for a self-loop.

    Depth-first search with low points, iterative. Two edges lie on a common cycle exactly when their numbers
    are equal; a bridge is alone in its block. Returns the number of blocks.
    """
    n_edges = tails.shape[0]
    starts = np.zeros(n_vertices + 1, np.int64)
    for e in range(n_edges):
        starts[tails[e] + 1] += 1
        starts[heads[e] + 1] += 1
    for v in range(n_vertices):
        starts[v + 1] += starts[v]
    cursor = starts[:n_vertices].copy()
    incident = np.empty(2 * n_edges, np.int64)
    for e in range(n_edges):
        incident[cursor[tails[e]]] = e
        cursor[tails[e]] += 1
        incident[cursor[heads[e]]] = e
        cursor[heads[e]] += 1
    for v in range(n_vertices):
        cursor[v] = starts[v]
    depth = np.full(n_vertices, -1, np.int64)
    low = np.empty(n_vertices, np.int64)
    via = np.full(n_vertices, -1, np.int64)  # the tree edge a vertex was reached by
    path = np.empty(n_vertices, np.int64)
    stack = np.empty(n_edges, np.int64)  # edges not yet in a block
    block[:] = -1
    n_stack, n_blocks = 0, 0
    for root in range(n_vertices):
        if depth[root] >= 0:
            continue
        depth[root], low[root] = 0, 0
        path[0], n_path = root, 1
        while n_path > 0:
            v = path[n_path - 1]
            if cursor[v] < starts[v + 1]:
                e = incident[cursor[v]]
                cursor[v] += 1
                if e == via[v] or tails[e] == heads[e]:
                    continue
                w = tails[e] + heads[e] - v
                if depth[w] < 0:
                    via[w], depth[w], low[w] = e, depth[v] + 1, depth[v] + 1
                    stack[n_stack] = e
                    n_stack += 1
                    path[n_path] = w
                    n_path += 1
                elif depth[w] < depth[v]:
                    stack[n_stack] = e
                    n_stack += 1
                    low[v] = min(low[v], depth[w])
            else:
                n_path -= 1
                if n_path > 0:
                    u = path[n_path - 1]
                    low[u] = min(low[u], low[v])
                    if low[v] >= depth[u]:
                        while True:
                            n_stack -= 1
                            e = stack[n_stack]
                            block[e] = n_blocks
                            if e == via[v]:
                                break
                        n_blocks += 1
    return n_blocks
