"""The affine index, and kinetic tournaments: who leads among lines a + c b while c only grows.

The items of a matroid made of quotas fall into cells. The best few of a cell, its reserve, are kept apart; the
rest play a knockout tournament. A match between x and y is not replayed while a certificate holds: up to some
c the real gap between the two lines exceeds what rounding could hide, so the comparison of the computed indices
cannot change. A node keeps the smallest certificate below it, so finding the leader costs a glance at the root
until something expires, and then only the matches that did. A certificate equal to c still holds: it was given
at c, by comparing the indices themselves.

Per run: `is_out` (L,) bool marks the items in reserves; `nodes` (N, 4) float64 holds the tournaments, one after the
other. A node is (winner, its a, its b, end of certificates): 32 bytes. A match has four players, whose nodes fill
two cache lines, and looks nothing up elsewhere. The root of a tournament is its node 3, the players of node p are
nodes 4 p - 8 to 4 p - 5, and the buckets of items are the last nodes; winner -1 stands for none.
"""

from typing import Any

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel, times

BUCKET = 8
_TINY, _HUGE = 1e-290, 1e100
_WINNER, _A, _B, _UNTIL = 0, 1, 2, 3
_ROOT = 3
#: How many opponents a leader has at most: the rest of its bucket, and three in each of at most 15 matches above.
_MOST_BEATEN = BUCKET + 3 * 15


def tree_size(n_items: Any) -> Any:
    """How many nodes to keep for a tournament of this many items (an integer or an array of them).

    B buckets take ceil((B - 1) / 3) matches; the first three nodes are never used, and the rest rounds up to four.
    """
    n_buckets = -(-n_items // BUCKET)
    return -(-(n_buckets + (n_buckets + 1) // 3 + _ROOT) // 4) * 4


@inlined
def index(a, b, c):
    """mean + c r, the one formula of an affine index; +inf for an item never seen, whose r is infinite."""
    return np.inf if b == np.inf else a + times(c, b)


@inlined
def _certificate(ax, bx, ay, by, c, margin):
    """Up to which c, from the present one on, x goes on beating y; the present c when that is not certain.

    The computed index is off by at most u (|a| + 2 c b) to first order, u = 2^-53. The order of two computed
    indices is therefore that of the lines while their gap exceeds margin (|ax| + |ay| + c (bx + by)), where
    margin = 16 u leaves ample room for the rounding of this very test. Where indices could overflow, or gaps
    drown in subnormal numbers, nothing is certain.
    """
    if bx == np.inf or (ax == ay and bx == by):
        return np.inf  # an item never seen leads; equal lines stay equal to the last bit
    size = abs(ax) + abs(ay)
    p = (ax - ay) - margin * size - _TINY
    q = (bx - by) - margin * (bx + by)
    if not (p + c * q > 0.0 and size < _HUGE):
        return c
    return max(c, _HUGE if q >= 0.0 else min(_HUGE, -p / q * (1.0 - 1e-15)))


@inlined
def _play_bucket(node, lo, hi, members, nodes, is_out, means, radii, c, margin):
    """Find the leader of those of members[lo:hi] that are not out, and until which c it is certain."""
    best, value = -1, -np.inf
    for i in range(lo, hi):
        e = members[i]
        if not is_out[e]:
            v = index(means[e], radii[e], c)
            if best < 0 or v > value:  # members ascend: of equals the smaller item stays
                best, value = e, v
    until = np.inf
    a, b = (means[best], radii[best]) if best >= 0 else (0.0, 0.0)
    if best >= 0:
        for i in range(lo, hi):
            e = members[i]
            if e != best and not is_out[e]:
                until = min(until, _certificate(a, b, means[e], radii[e], c, margin))
    nodes[node, _WINNER], nodes[node, _A], nodes[node, _B], nodes[node, _UNTIL] = best, a, b, until


@inlined
def _first_bucket(n_items):
    """The node of a tournament's first bucket."""
    n_buckets = (n_items + BUCKET - 1) // BUCKET
    return (n_buckets + 1) // 3 + _ROOT


@inlined
def _play_match(node, end, nodes, c, margin):
    """Replay the match of a node's players, those before `end`."""
    first = 4 * node - 8
    last = min(first + 4, end)
    best, value, until = -1, -np.inf, np.inf
    for i in range(first, last):
        until = min(until, nodes[i, _UNTIL])
        if nodes[i, _WINNER] >= 0.0:
            v = index(nodes[i, _A], nodes[i, _B], c)
            if best < 0 or v > value or (v == value and nodes[i, _WINNER] < nodes[best, _WINNER]):
                best, value = i, v
    if best < 0:
        nodes[node, _WINNER], nodes[node, _UNTIL] = -1.0, until
        return
    a, b = nodes[best, _A], nodes[best, _B]
    for i in range(first, last):
        if i != best and nodes[i, _WINNER] >= 0.0:
            until = min(until, _certificate(a, b, nodes[i, _A], nodes[i, _B], c, margin))
    nodes[node, _WINNER], nodes[node, _A], nodes[node, _B] = nodes[best, _WINNER], a, b
    nodes[node, _UNTIL] = until


@inlined
def _play(node, members, nodes, is_out, means, radii, c, margin):
    """Replay a node, bucket or match, of one tournament; `members` are its items."""
    n_items = members.shape[0]
    bucket = _first_bucket(n_items)
    if node >= bucket:
        lo = (node - bucket) * BUCKET
        _play_bucket(node, lo, min(lo + BUCKET, n_items), members, nodes, is_out, means, radii, c, margin)
    else:
        _play_match(node, bucket + (n_items + BUCKET - 1) // BUCKET, nodes, c, margin)


@kernel
def _replay_expired(stack, members, nodes, is_out, means, radii, c, margin):
    """Replay every match whose certificate ended before c, players before matches; returns how many."""
    bucket = _first_bucket(members.shape[0])
    end = bucket + (members.shape[0] + BUCKET - 1) // BUCKET
    stack[0], n, work = _ROOT, 1, 0
    while n > 0:
        n -= 1
        node = stack[n]
        if node < 0:  # its players are done
            work += 1
            _play_match(-node, end, nodes, c, margin)
        elif nodes[node, _UNTIL] < c:
            if node >= bucket:
                work += 1
                _play(node, members, nodes, is_out, means, radii, c, margin)
            else:
                stack[n] = -node
                n += 1
                for player in range(4 * node - 8, min(4 * node - 4, end)):
                    stack[n] = player
                    n += 1
    return work


@inlined
def _replay_path(place, members, nodes, is_out, means, radii, c, margin):
    """Replay the matches above the item at `place` of `members`, as far up as anything changes; returns how many."""
    node = _first_bucket(members.shape[0]) + place // BUCKET
    work = 0
    while True:
        work += 1
        winner, a, b, until = nodes[node, _WINNER], nodes[node, _A], nodes[node, _B], nodes[node, _UNTIL]
        _play(node, members, nodes, is_out, means, radii, c, margin)
        if node == _ROOT or (
            nodes[node, _WINNER] == winner
            and nodes[node, _A] == a
            and nodes[node, _B] == b
            and nodes[node, _UNTIL] == until
        ):
            return work
        node = node // 4 + 2


@inlined
def _enter(place, item, members, nodes, is_out, means, radii, c, margin):
    """Let an item that is out take part again; returns how many nodes were replayed.

    Where it loses, only certificates above it may get shorter.
    """
    is_out[item] = False
    node = _first_bucket(members.shape[0]) + place // BUCKET
    best, a, b = nodes[node, _WINNER], nodes[node, _A], nodes[node, _B]
    if best >= 0.0 and not _is_better(index(means[item], radii[item], c), item, index(a, b, c), np.int64(best)):
        until = _certificate(a, b, means[item], radii[item], c, margin)
        while until < nodes[node, _UNTIL]:
            nodes[node, _UNTIL] = until
            if node == _ROOT:
                break
            node = node // 4 + 2
        return 1
    return _replay_path(place, members, nodes, is_out, means, radii, c, margin)


@inlined
def _is_better(value, item, other_value, other):
    return value > other_value or (value == other_value and item < other)


@inlined
def _sift_down(values, items, i, n):
    """Restore a heap whose root is the worst, below position i."""
    while True:
        child = 2 * i + 1
        if child >= n:
            return
        if child + 1 < n and _is_better(values[child], items[child], values[child + 1], items[child + 1]):
            child += 1
        if not _is_better(values[i], items[i], values[child], items[child]):
            return
        values[i], values[child] = values[child], values[i]
        items[i], items[child] = items[child], items[i]
        i = child


@kernel
def build(starts, members, places, tree_starts, reserve_starts, means, radii, c, margin, is_out, nodes, reserves):
    """Play every tournament from scratch, for every run, and move each cell's best into its reserve."""
    for run in range(means.shape[0]):
        mean, radius, out = means[run], radii[run], is_out[run]
        out[:] = False
        for cell in range(starts.shape[0] - 1):
            own = members[starts[cell] : starts[cell + 1]]
            reserve = reserves[run, reserve_starts[cell] : reserve_starts[cell + 1]]
            tree = nodes[run, tree_starts[cell] : tree_starts[cell + 1]]
            if reserve.shape[0] == own.shape[0]:
                for i in range(own.shape[0]):
                    reserve[i] = own[i]
                    out[own[i]] = True
                tree[:, _WINNER] = -1.0
                tree[:, _UNTIL] = np.inf
                continue
            for node in range(_first_bucket(own.shape[0]) + (own.shape[0] + BUCKET - 1) // BUCKET - 1, _ROOT - 1, -1):
                _play(node, own, tree, out, mean, radius, c, margin)
            for i in range(reserve.shape[0]):
                e = np.int64(tree[_ROOT, _WINNER])
                reserve[i] = e
                out[e] = True
                _replay_path(places[e], own, tree, out, mean, radius, c, margin)


@kernel
def advance(starts, members, places, tree_starts, reserve_starts, means, radii, c, margin, is_out, nodes, reserves,
            values, is_changed):  # fmt: skip
    """Bring every reserve up to c: while the leader of the rest beats the worst of the reserve, they change places.

    `values` (widest reserve,) is work space; is_changed[run] tells whether any reserve of the run changed. Returns
    in how many runs one did, and how many nodes of tournaments were replayed.
    """
    stack = np.empty(256, np.int64)
    n_changed, work = 0, 0
    for run in range(means.shape[0]):
        mean, radius, out = means[run], radii[run], is_out[run]
        is_changed[run] = False
        for cell in range(starts.shape[0] - 1):
            own = members[starts[cell] : starts[cell + 1]]
            tree = nodes[run, tree_starts[cell] : tree_starts[cell + 1]]
            if tree[_ROOT, _UNTIL] < c:
                work += _replay_expired(stack, own, tree, out, mean, radius, c, margin)
            lead = np.int64(tree[_ROOT, _WINNER])
            reserve = reserves[run, reserve_starts[cell] : reserve_starts[cell + 1]]
            m = reserve.shape[0]
            if lead < 0 or m == 0:
                continue
            worst = 0
            for i in range(m):
                values[i] = index(mean[reserve[i]], radius[reserve[i]], c)
                if _is_better(values[worst], reserve[worst], values[i], reserve[i]):
                    worst = i
            value = index(tree[_ROOT, _A], tree[_ROOT, _B], c)
            if not _is_better(value, lead, values[worst], reserve[worst]):
                continue
            is_changed[run] = True
            for i in range(m // 2 - 1, -1, -1):
                _sift_down(values, reserve, i, m)
            while lead >= 0 and _is_better(value, lead, values[0], reserve[0]):
                loser = reserve[0]
                values[0], reserve[0] = value, lead
                _sift_down(values, reserve, 0, m)
                out[lead] = True
                work += _replay_path(places[lead], own, tree, out, mean, radius, c, margin)
                work += _enter(places[loser], loser, own, tree, out, mean, radius, c, margin)
                lead = np.int64(tree[_ROOT, _WINNER])
                value = index(tree[_ROOT, _A], tree[_ROOT, _B], c)
        n_changed += is_changed[run]
    return n_changed, work


@inlined
def _push(values, items, n, value, item):
    """Add an entry to a heap of n whose root is the worst."""
    while n > 0:
        above = (n - 1) // 2
        if not _is_better(values[above], items[above], value, item):
            break
        values[n], items[n] = values[above], items[above]
        n = above
    values[n], items[n] = value, item


@inlined
def _pop(values, items, n):
    """Take the root out of a heap of n."""
    values[0], items[0] = values[n - 1], items[n - 1]
    _sift_down(values, items, 0, n - 1)


@kernel
def _list_beaten(item, place, members, nodes, is_out, is_barred, means, radii, c, values, items, n):
    """Add those who lost a match to `item` to a heap of n; returns its new size.

    Values and items are negated there, so that the root is the best.
    """
    bucket = _first_bucket(members.shape[0])
    node = bucket + place // BUCKET
    if nodes[node, _WINNER] != item:
        return n
    lo = (node - bucket) * BUCKET
    for i in range(lo, min(lo + BUCKET, members.shape[0])):
        e = members[i]
        if e != item and not is_out[e] and not is_barred[e]:
            _push(values, items, n, -index(means[e], radii[e], c), -e)
            n += 1
    end = bucket + (members.shape[0] + BUCKET - 1) // BUCKET
    while node != _ROOT and nodes[node // 4 + 2, _WINNER] == item:
        above = node // 4 + 2
        for player in range(4 * above - 8, min(4 * above - 4, end)):
            if player != node and nodes[player, _WINNER] >= 0.0:
                value = index(nodes[player, _A], nodes[player, _B], c)
                _push(values, items, n, -value, -np.int64(nodes[player, _WINNER]))
                n += 1
        node = above
    return n


@kernel
def _keep_best(reserve, wanted, is_barred, means, radii, c, values, items):
    """Copy the best of a reserve that are not barred, at most `wanted`, to the start of `items`; returns how many."""
    n = 0
    for i in range(reserve.shape[0]):
        e = reserve[i]
        if not is_barred[e]:
            values[n], items[n] = index(means[e], radii[e], c), e
            n += 1
    if n > wanted:
        for i in range(n // 2 - 1, -1, -1):
            _sift_down(values, items, i, n)
    while n > wanted:
        _pop(values, items, n)
        n -= 1
    return n


@kernel
def _read_leaders(members, places, nodes, is_out, is_barred, means, radii, c, values, items, budget, leaders):
    """Fill `leaders` with the best of a tournament that are not barred, reading on from its root.

    Returns how many there are and what is left of the number of items to look at, -1 where that was too small.
    """
    if nodes[_ROOT, _WINNER] < 0.0:
        return 0, budget
    values[0], items[0] = -index(nodes[_ROOT, _A], nodes[_ROOT, _B], c), -np.int64(nodes[_ROOT, _WINNER])
    found, n = 0, 1
    while found < leaders.shape[0] and n > 0:
        if budget == 0:
            return found, -1
        budget -= 1
        e = -items[0]
        _pop(values, items, n)
        n = _list_beaten(e, places[e], members, nodes, is_out, is_barred, means, radii, c, values, items, n - 1)
        if not is_barred[e]:
            leaders[found] = e
            found += 1
    return found, budget


@kernel
def best_beside(starts, members, places, tree_starts, reserve_starts, innermost, parent, room, means, radii, c,
                is_out, nodes, reserves, barred, is_barred, budget, best, sizes):  # fmt: skip
    """The best of every cell that are not barred, as many as the `room` (G,) of the groups around it leaves.

    The tournaments must have been brought up to c; they are read and not changed. `innermost` (cells,) is each cell's
    group or -1. What `is_barred` (L,) marks does not take part, nor do the items `barred` (n,), which are marked
    meanwhile. Fills the first sizes[run] entries of each row of `best` (R, as much as the reserves hold). Returns
    False when more than `budget` items of a run's tournaments would have to be looked at.
    """
    for i in range(barred.shape[0]):
        is_barred[barred[i]] = True
    size = max(reserves.shape[1], budget * _MOST_BEATEN) + 1
    values, items = np.empty(size), np.empty(size, np.int64)
    left = budget
    for run in range(means.shape[0]):
        mean, radius, out = means[run], radii[run], is_out[run]
        left, k = budget, 0
        for cell in range(starts.shape[0] - 1):
            reserve = reserves[run, reserve_starts[cell] : reserve_starts[cell + 1]]
            wanted, g = reserve.shape[0], innermost[cell]
            while g >= 0:
                wanted, g = min(wanted, max(room[g], 0)), parent[g]
            n = _keep_best(reserve, wanted, is_barred, mean, radius, c, values, items)
            for i in range(n):
                best[run, k + i] = items[i]
            if n < wanted:
                found, left = _read_leaders(
                    members[starts[cell] : starts[cell + 1]], places,
                    nodes[run, tree_starts[cell] : tree_starts[cell + 1]],
                    out, is_barred, mean, radius, c, values, items, left, best[run, k + n : k + wanted],
                )  # fmt: skip
                n += found
            k += n
            if left < 0:
                break
        sizes[run] = k
        if left < 0:
            break
    for i in range(barred.shape[0]):
        is_barred[barred[i]] = False
    return left >= 0


@kernel
def settle(reserves, is_changed, bases):
    """Write the reserves (R, K) of the runs that changed into `bases` (R, K), ascending."""
    for run in range(reserves.shape[0]):
        if is_changed[run]:
            basis = bases[run]
            for k in range(basis.shape[0]):
                basis[k] = reserves[run, k]
            basis.sort()


@kernel
def touch(runs, items, starts, members, cells, places, tree_starts, means, radii, c, margin, is_out, nodes):
    """Take note that the lines of `items` (n,) in `runs` (n,) changed; those in a reserve are looked at anyway."""
    for i in range(items.shape[0]):
        run, e = runs[i], items[i]
        if not is_out[run, e]:
            cell = cells[e]
            _replay_path(
                places[e], members[starts[cell] : starts[cell + 1]],
                nodes[run, tree_starts[cell] : tree_starts[cell + 1]],
                is_out[run], means[run], radii[run], c, margin,
            )  # fmt: skip


@kernel
def indices(items, means, radii, c, out):
    """The index of each of `items` (R, k)."""
    for run in range(items.shape[0]):
        for k in range(items.shape[1]):
            out[run, k] = index(means[run, items[run, k]], radii[run, items[run, k]], c)


@kernel
def lines(means, radii, c, out):
    """The index of every item, (R, L)."""
    for run in range(means.shape[0]):
        for e in range(means.shape[1]):
            out[run, e] = index(means[run, e], radii[run, e], c)
