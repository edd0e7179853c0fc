"""Flows of least cost through networks of unit capacities, in int64: paths, matchings, quotas of two kinds at once.

Arcs ``0..n_items-1`` are the items, which cost minus their weight; other arcs cost nothing. Arc a leads from
tails[a] to heads[a]; node v meets codes[starts[v]:starts[v + 1]], 2a where a leaves it and 2a + 1 where a enters it.
Potentials `pi` make the reduced cost ``cost[a] + pi[tail] - pi[head]`` of every residual arc at least 0. Costs are
integers, so all answers are the same on every machine.
"""

import numpy as np

from matroid_bandits.kernels.compiling import kernel

#: Beyond every distance.
FAR = np.int64(2**63 - 1)


@kernel
def _push(values, nodes, size, value, node):
    i = size
    while i > 0:
        above = (i - 1) >> 1
        if values[above] <= value:
            break
        values[i], nodes[i] = values[above], nodes[above]
        i = above
    values[i], nodes[i] = value, node


@kernel
def _pop(values, nodes, size):
    """Remove the least of `size` entries of a heap; the caller has read it from the first cells."""
    last = size - 1
    value, node = values[last], nodes[last]
    i = 0
    while True:
        below = 2 * i + 1
        if below >= last:
            break
        if below + 1 < last and values[below + 1] < values[below]:
            below += 1
        if values[below] >= value:
            break
        values[i], nodes[i] = values[below], nodes[below]
        i = below
    values[i], nodes[i] = value, node


@kernel
def shortest(
    tails, heads, starts, codes, cost, is_closed, used, pi, source, goal, without, distance, by, values, nodes
):
    """Dijkstra by reduced costs over residual arcs but `without` (-1: all), from `source` until `goal` is reached.

    Fills `distance` (n,) and `by` (n,), the code of the arc that each node was reached by. `values` and `nodes` are
    room for a heap of 2 m + 1 entries. Returns the reduced distance of `goal`, FAR where it cannot be reached; nodes
    farther than the goal have a distance that is at least as large.
    """
    distance[:] = FAR
    by[:] = -1
    distance[source] = 0
    values[0], nodes[0] = 0, source
    size = 1
    while size > 0:
        d, v = values[0], nodes[0]
        _pop(values, nodes, size)
        size -= 1
        if d > distance[v]:
            continue
        if v == goal:
            return d
        for place in range(starts[v], starts[v + 1]):
            code = codes[place]
            a = code >> 1
            is_back = (code & 1) == 1
            if used[a] != is_back or is_closed[a] or a == without:
                continue
            u = tails[a] if is_back else heads[a]
            step = (-cost[a] if is_back else cost[a]) + pi[v] - pi[u]
            if d + step < distance[u]:
                distance[u] = d + step
                by[u] = code
                _push(values, nodes, size, d + step, u)
                size += 1
    return FAR


@kernel
def _flip(tails, heads, used, by, source, goal):
    """Send a unit along the path to `goal` that `by` tells."""
    v = goal
    while v != source:
        code = by[v]
        a = code >> 1
        is_back = (code & 1) == 1
        used[a] = not is_back
        v = heads[a] if is_back else tails[a]


@kernel
def _first_potentials(order, tails, heads, cost, is_closed, source, pi):
    """Distances from the source, by a pass over arcs in topological `order`; of other nodes what is large enough."""
    pi[:] = FAR
    pi[source] = 0
    for a in order:
        u, v = tails[a], heads[a]
        if not is_closed[a] and pi[u] < FAR and pi[u] + cost[a] < pi[v]:
            pi[v] = pi[u] + cost[a]
    reached = pi < FAR
    for v in range(pi.shape[0]):
        if not reached[v]:
            pi[v] = 0
    for i in range(order.shape[0] - 1, -1, -1):
        a = order[i]
        if not reached[tails[a]] and not is_closed[a]:
            pi[tails[a]] = max(pi[tails[a]], pi[heads[a]] - cost[a])


@kernel
def _components(tails, heads, starts, codes, used, is_settled, component):
    """Strongly connected components of residual arcs that are not settled (Tarjan); returns how many there are."""
    n = component.shape[0]
    low, number = np.empty(n, np.int64), np.full(n, -1, np.int64)
    stack, calls, places = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    is_open = np.zeros(n, np.bool_)
    n_numbers = n_components = top = 0
    for root in range(n):
        if number[root] >= 0:
            continue
        depth = 0
        calls[0], places[0] = root, starts[root]
        number[root] = low[root] = n_numbers
        n_numbers += 1
        stack[top] = root
        top += 1
        is_open[root] = True
        while depth >= 0:
            v = calls[depth]
            if places[depth] < starts[v + 1]:
                code = codes[places[depth]]
                places[depth] += 1
                a = code >> 1
                is_back = (code & 1) == 1
                if is_settled[a] or used[a] != is_back:
                    continue
                u = tails[a] if is_back else heads[a]
                if number[u] < 0:
                    depth += 1
                    calls[depth], places[depth] = u, starts[u]
                    number[u] = low[u] = n_numbers
                    n_numbers += 1
                    stack[top] = u
                    top += 1
                    is_open[u] = True
                elif is_open[u]:
                    low[v] = min(low[v], number[u])
                continue
            if low[v] == number[v]:
                while True:
                    top -= 1
                    u = stack[top]
                    is_open[u] = False
                    component[u] = n_components
                    if u == v:
                        break
                n_components += 1
            depth -= 1
            if depth >= 0:
                low[calls[depth]] = min(low[calls[depth]], low[v])
    return n_components


@kernel
def canonical(n_nodes, tails, heads, cost, is_closed, n_items, pi, used):
    """Turn a flow of least cost into that of equal cost which holds the smallest item in which two differ.

    Flows of equal cost differ by cycles of tight residual arcs. Items are settled one after the other: one that is
    used stays; another enters if a cycle of unsettled tight arcs leads through it. Its ends then lie in one strongly
    connected component. Components only split as items are settled, so known ones are a valid no; a search that fails
    shows that they are out of date.
    """
    m = tails.shape[0]
    n_tight = 0
    for a in range(m):
        n_tight += (not is_closed[a]) and cost[a] + pi[tails[a]] - pi[heads[a]] == 0
    arcs = np.empty(n_tight, np.int64)
    starts = np.zeros(n_nodes + 1, np.int64)
    i = 0
    for a in range(m):
        if (not is_closed[a]) and cost[a] + pi[tails[a]] - pi[heads[a]] == 0:
            arcs[i] = a
            i += 1
            starts[tails[a] + 1] += 1
            starts[heads[a] + 1] += 1
    for v in range(n_nodes):
        starts[v + 1] += starts[v]
    ends = starts[:-1].copy()
    codes = np.empty(2 * n_tight, np.int64)
    us, vs, is_used = np.empty(n_tight, np.int64), np.empty(n_tight, np.int64), np.empty(n_tight, np.bool_)
    for i in range(n_tight):
        u, v = tails[arcs[i]], heads[arcs[i]]
        us[i], vs[i], is_used[i] = u, v, used[arcs[i]]
        codes[ends[u]] = 2 * i
        ends[u] += 1
        codes[ends[v]] = 2 * i + 1
        ends[v] += 1
    component, is_settled = np.empty(n_nodes, np.int64), np.zeros(n_tight, np.bool_)
    if _components(us, vs, starts, codes, is_used, is_settled, component) == n_nodes:
        return
    by, queue = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    for i in range(n_tight):
        if arcs[i] >= n_items:
            break
        is_settled[i] = True
        if is_used[i] or component[us[i]] != component[vs[i]]:
            continue
        by[:] = -1
        first, goal = vs[i], us[i]
        queue[0], by[first] = first, -2
        low, high = 0, 1
        while low < high and by[goal] == -1:
            v = queue[low]
            low += 1
            for place in range(starts[v], starts[v + 1]):
                code = codes[place]
                a = code >> 1
                is_back = (code & 1) == 1
                if is_settled[a] or is_used[a] != is_back:
                    continue
                u = us[a] if is_back else vs[a]
                if by[u] == -1:
                    by[u] = code
                    queue[high] = u
                    high += 1
        if by[goal] == -1:
            _components(us, vs, starts, codes, is_used, is_settled, component)
            continue
        _flip(us, vs, is_used, by, first, goal)
        is_used[i] = True
    for i in range(n_tight):
        used[arcs[i]] = is_used[i]


def _work(tails, heads, starts, codes, order, source, sink, wanted, gains, *others):
    return gains.shape[0] * (wanted + 1) * tails.shape[0]


@kernel(work=_work)
def best_flows(
    tails, heads, starts, codes, order, source, sink, wanted, gains, is_open, is_extra_closed, cost, pi, used,
    is_closed, chosen, sent,
):  # fmt: skip
    """The canonical flow of least cost of up to `wanted` units for each row of `gains` (R, n_items).

    `order` are all arcs in topological order, or empty where no arc costs less than 0. Only items that `is_open`
    (R, n_items) or (1, n_items) can be used, and other arcs but those that `is_extra_closed` (m - n_items,). Fills
    `chosen` (R, n_items) and `sent` (R,); `cost`, `used`, `is_closed` (m,) and `pi` (n,) are left as they are for the
    last row.
    """
    m, n_nodes, n_items = tails.shape[0], starts.shape[0] - 1, gains.shape[1]
    distance, by = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    values, nodes = np.empty(2 * m + 2, np.int64), np.empty(2 * m + 2, np.int64)
    cost[:] = 0
    for i in range(m - n_items):
        is_closed[n_items + i] = is_extra_closed[i]
    for run in range(gains.shape[0]):
        row = is_open[run if is_open.shape[0] > 1 else 0]
        for a in range(n_items):
            cost[a] = -gains[run, a]
            is_closed[a] = not row[a]
        pi[:] = 0
        used[:] = False
        if order.shape[0] > 0:
            _first_potentials(order, tails, heads, cost, is_closed, source, pi)
        n_sent = 0
        while n_sent < wanted:
            far = shortest(
                tails, heads, starts, codes, cost, is_closed, used, pi, source, sink, -1, distance, by, values, nodes
            )
            if far == FAR:
                break
            for v in range(n_nodes):
                pi[v] += min(distance[v], far)
            _flip(tails, heads, used, by, source, sink)
            n_sent += 1
        canonical(n_nodes, tails, heads, cost, is_closed, n_items, pi, used)
        for a in range(n_items):
            chosen[run, a] = used[a]
        sent[run] = n_sent


@kernel
def change(tails, heads, starts, codes, n_items, cost, is_closed, used, pi, item):
    """Turn a flow of least cost into the canonical best one that differs from it in `item`.

    One shortest residual path from one end of the item to the other closes the cheapest cycle through it. Returns
    whether there is one. The item is closed from then on, and potentials are those of the other arcs.
    """
    m, n_nodes = tails.shape[0], starts.shape[0] - 1
    distance, by = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    values, nodes = np.empty(2 * m + 2, np.int64), np.empty(2 * m + 2, np.int64)
    u, v = tails[item], heads[item]
    first, goal = (u, v) if used[item] else (v, u)
    if is_closed[item]:
        return False
    far = shortest(
        tails, heads, starts, codes, cost, is_closed, used, pi, first, goal, item, distance, by, values, nodes
    )
    if far == FAR:
        return False
    for w in range(n_nodes):
        pi[w] += min(distance[w], far)
    _flip(tails, heads, used, by, first, goal)
    used[item] = not used[item]
    is_closed[item] = True  # it stays as it is
    canonical(n_nodes, tails, heads, cost, is_closed, n_items, pi, used)
    return True
