"""Edges of an earlier tree that nothing can replace for some episodes, which Kruskal's algorithm need not look at.

Without one of its edges a tree falls into two parts; the edges between these are the edge's cut. An edge that is
strictly better than all others of a cut is in the best tree, whatever the rest of the graph is. So an earlier tree is
kept as a reference, and `bounds` say of each of its edges how good the others of its cut can become: their index at
the largest c of the next episodes. Indices are lines whose computed values do not fall while c grows, so a bound
holds until a play changes the line of one of these edges, which raises the bounds of the cuts that it is in. Edges of
the reference that are better than their bounds are contracted, which leaves the edges that end in two parts.

Edges are numbers below M, vertices are below V. A reference is a tuple of arrays: of each vertex its parent, the edge
to it, -1 for a root, its depth, `bounds` of that edge, and its part, (V,); all vertices, parents first (V,); which
edges are of the tree (M,); and room: (3, V + 1) and (2 V,) int64.
"""

import numpy as np

from matroid_bandits.kernels.compiling import called, inlined
from matroid_bandits.kernels.kinetic import index


@called
def refer(tree, first, order, indices, us, vs, reference):
    """Take the edges of `tree` from `first` on for the reference; `order` are all edges by their indices, best first.

    The best edge that is not in the tree bounds the tree edges between its ends, the next one those that have no
    bound yet, and so on. `indices` (M,) are those at the largest c.
    """
    parents, edges, depths, bounds, _, vertices, is_old, room, incident = reference
    n_vertices, n_edges = parents.shape[0], is_old.shape[0]
    starts, cursors, tops = room[0], room[1], room[2]
    for i in range(n_edges):
        is_old[i] = False
    for v in range(n_vertices + 1):
        starts[v] = 0
    for j in range(first, tree.shape[0]):
        e = np.uint64(tree[j])
        is_old[e] = True
        starts[us[e] + np.uint64(1)] += 1
        starts[vs[e] + np.uint64(1)] += 1
    for v in range(n_vertices):
        starts[v + 1] += starts[v]
        cursors[v], tops[v], depths[v], bounds[v] = starts[v], v, -1, -np.inf
    for j in range(first, tree.shape[0]):
        e = np.uint64(tree[j])
        for v in (us[e], vs[e]):
            incident[cursors[v]] = tree[j]
            cursors[v] += 1
    n = 0
    for root in range(n_vertices):
        if depths[root] < 0:
            parents[root], edges[root], depths[root], vertices[n] = root, -1, 0, root
            done, n = n, n + 1
            while done < n:
                v = vertices[done]
                done += 1
                for k in range(starts[v], starts[v + 1]):
                    e = np.uint64(incident[k])
                    w = np.int64(us[e]) + np.int64(vs[e]) - v
                    if depths[w] < 0:
                        parents[w], edges[w], depths[w], vertices[n] = v, incident[k], depths[v] + 1, w
                        n += 1
    n_open = tree.shape[0] - first
    for k in range(n_edges):
        e = np.uint64(order[k])
        if n_open > 0 and not is_old[e]:
            u, v = _top(tops, np.int64(us[e])), _top(tops, np.int64(vs[e]))
            while u != v:
                if depths[u] < depths[v]:
                    u, v = v, u
                bounds[u] = indices[e]
                n_open -= 1
                tops[u] = parents[u]
                u = _top(tops, u)


@called
def contract_best(pool, means, radii, c, us, vs, reference, tree, first, left, left_us, left_vs, indices):
    """Contract what is better than its bound: these edges go into `tree` from `first` on, their number is returned.

    What is left is listed in `left` (M,), in ascending order, with the parts that it joins and its indices; returns
    how many edges and how many parts there are, too. Edge e is the item pool[e].
    """
    parents, edges, _, bounds, parts, vertices, _, _, _ = reference
    n_parts, k = 0, first
    for i in range(vertices.shape[0]):
        v = np.uint64(vertices[i])
        e = edges[v]
        if e >= 0:
            item = np.uint64(pool[np.uint64(e)])
            if index(means[item], radii[item], c) > bounds[v]:
                parts[v] = parts[np.uint64(parents[v])]
                tree[k] = e
                k += 1
                continue
        parts[v] = n_parts
        n_parts += 1
    n = 0
    for i in range(pool.shape[0]):
        left[n] = i
        n += parts[us[i]] != parts[vs[i]]
    for i in range(n):
        x = np.uint64(left[i])
        item = np.uint64(pool[x])
        left_us[i], left_vs[i] = np.uint64(parts[us[x]]), np.uint64(parts[vs[x]])
        indices[i] = index(means[item], radii[item], c)
    return k, n, n_parts


@called
def raise_bounds(tree, first, pool, means, radii, c, us, vs, reference):
    """Let edges of `tree` that are not of the reference, whose lines have changed, raise bounds; c is the largest."""
    parents, _, depths, bounds, _, _, is_old, _, _ = reference
    for j in range(first, tree.shape[0]):
        e = np.uint64(tree[j])
        if not is_old[e]:
            item = np.uint64(pool[e])
            value, u, v = index(means[item], radii[item], c), np.int64(us[e]), np.int64(vs[e])
            while u != v:
                if depths[u] < depths[v]:
                    u, v = v, u
                bounds[u] = max(bounds[u], value)
                u = parents[u]


@inlined
def _top(tops, v):
    """The highest vertex that is reached from v by edges that have a bound."""
    while tops[v] != v:
        tops[v] = tops[tops[v]]
        v = tops[v]
    return v
