"""Kinetic tournaments: who leads among lines a + c b while c only grows.

The items of a matroid made of quotas fall into cells. The best few of a cell, its reserve, are kept apart; the
rest play a knockout tournament. A match between x and y is not replayed while a certificate holds: up to some
c the real gap between the two lines exceeds what rounding could hide, so the comparison of the computed indices
cannot change. A node keeps the smallest certificate below it, so finding the leader costs a glance at the root
until something expires, and then only the matches that did. A certificate equal to c still holds: it was given
at c, by comparing the indices themselves.

Per run: `is_out` (L,) bool marks the items in reserves; `winner` (N,) int32 and `expiry` (N,) float64 hold the
tournaments, one after the other. A tournament over B buckets of items has nodes 1 to 2 B - 1 in heap order, its
bucket j at node B + j.
"""

import numpy as np
from numba import njit

BUCKET = 8
_TINY, _HUGE = 1e-290, 1e100


@njit(forceinline=True, error_model="numpy")
def _index(means, radii, e, c):
    """mean + c r, the one formula of an affine index; +inf for an item never seen."""
    r = radii[e]
    return np.inf if r == np.inf else means[e] + c * r


@njit(forceinline=True, error_model="numpy")
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


@njit(forceinline=True, error_model="numpy")
def _play_bucket(members, lo, hi, is_out, means, radii, c, margin):
    """The leader of members[lo:hi] that are not out, and until which c it is certain; (-1, inf) for none."""
    best, value = -1, -np.inf
    for i in range(lo, hi):
        e = members[i]
        if not is_out[e]:
            v = _index(means, radii, e, c)
            if best < 0 or v > value:  # members ascend: of equals the smaller item stays
                best, value = e, v
    expiry = np.inf
    if best >= 0:
        for i in range(lo, hi):
            e = members[i]
            if e != best and not is_out[e]:
                expiry = min(expiry, _certificate(means[best], radii[best], means[e], radii[e], c, margin))
    return best, expiry


@njit(forceinline=True, error_model="numpy")
def _play_node(node, winner, expiry, means, radii, c, margin):
    """Replay the match of a node's two children."""
    x, y = winner[2 * node], winner[2 * node + 1]
    until = min(expiry[2 * node], expiry[2 * node + 1])
    if x >= 0 and y >= 0:
        vx, vy = _index(means, radii, x, c), _index(means, radii, y, c)
        if vy > vx or (vy == vx and y < x):
            x, y = y, x
        until = min(until, _certificate(means[x], radii[x], means[y], radii[y], c, margin))
    elif y >= 0:
        x = y
    winner[node] = x
    expiry[node] = until


@njit(forceinline=True, error_model="numpy")
def _play(node, n_buckets, members, winner, expiry, is_out, means, radii, c, margin):
    """Replay a node, leaf or inner, of one tournament; `members` are its items."""
    if node >= n_buckets:
        lo = (node - n_buckets) * BUCKET
        hi = min(lo + BUCKET, members.shape[0])
        best, until = _play_bucket(members, lo, hi, is_out, means, radii, c, margin)
        winner[node] = best
        expiry[node] = until
    else:
        _play_node(node, winner, expiry, means, radii, c, margin)


@njit(cache=True, nogil=True)
def _replay_expired(stack, n_buckets, members, winner, expiry, is_out, means, radii, c, margin):
    """Replay every match whose certificate ended before c, children before parents."""
    stack[0], n = 1, 1
    while n > 0:
        n -= 1
        node = stack[n]
        if node < 0:  # its children are done
            _play_node(-node, winner, expiry, means, radii, c, margin)
        elif expiry[node] < c:
            if node >= n_buckets:
                _play(node, n_buckets, members, winner, expiry, is_out, means, radii, c, margin)
            else:
                stack[n] = -node
                stack[n + 1] = 2 * node
                stack[n + 2] = 2 * node + 1
                n += 3


@njit(forceinline=True, error_model="numpy")
def _replay_path(place, item, n_buckets, members, winner, expiry, is_out, means, radii, c, margin, is_line_new):
    """Replay the matches above the item at `place` of `members`, as far up as anything changes."""
    node = n_buckets + place // BUCKET
    while node >= 1:
        old_winner, old_expiry = winner[node], expiry[node]
        _play(node, n_buckets, members, winner, expiry, is_out, means, radii, c, margin)
        if winner[node] == old_winner and expiry[node] == old_expiry and not (is_line_new and old_winner == item):
            return
        node //= 2


@njit(forceinline=True, error_model="numpy")
def _enter(place, item, n_buckets, members, winner, expiry, is_out, means, radii, c, margin):
    """Let an item that is out take part again; where it loses, only certificates above it may get shorter."""
    is_out[item] = False
    node = n_buckets + place // BUCKET
    best = winner[node]
    if best >= 0 and not _is_better(
        _index(means, radii, item, c), item, _index(means, radii, best, c), np.int64(best)
    ):
        until = _certificate(means[best], radii[best], means[item], radii[item], c, margin)
        while node >= 1 and until < expiry[node]:
            expiry[node] = until
            node //= 2
    else:
        _replay_path(place, item, n_buckets, members, winner, expiry, is_out, means, radii, c, margin, False)


@njit(forceinline=True, error_model="numpy")
def _is_better(value, item, other_value, other):
    return value > other_value or (value == other_value and item < other)


@njit(forceinline=True, error_model="numpy")
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


@njit(cache=True, nogil=True)
def build(starts, members, places, tree_starts, reserve_starts, means, radii, c, margin, is_out, winner, expiry,
          reserves):  # fmt: skip
    """Play every tournament from scratch, for every run, and move each cell's best into its reserve."""
    for run in range(means.shape[0]):
        is_out[run] = False
        for cell in range(starts.shape[0] - 1):
            own = members[starts[cell] : starts[cell + 1]]
            reserve = reserves[run, reserve_starts[cell] : reserve_starts[cell + 1]]
            tree_winner = winner[run, tree_starts[cell] : tree_starts[cell + 1]]
            tree_expiry = expiry[run, tree_starts[cell] : tree_starts[cell + 1]]
            if reserve.shape[0] == own.shape[0]:
                for i in range(own.shape[0]):
                    reserve[i] = own[i]
                    is_out[run, own[i]] = True
                tree_winner[:] = -1
                tree_expiry[:] = np.inf
                continue
            n_buckets = tree_winner.shape[0] // 2
            for node in range(2 * n_buckets - 1, 0, -1):
                _play(node, n_buckets, own, tree_winner, tree_expiry, is_out[run], means[run], radii[run], c, margin)
            for i in range(reserve.shape[0]):
                e = tree_winner[1]
                reserve[i] = e
                is_out[run, e] = True
                _replay_path(
                    places[e], e, n_buckets, own, tree_winner, tree_expiry,
                    is_out[run], means[run], radii[run], c, margin, False,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def advance(starts, members, places, tree_starts, reserve_starts, means, radii, c, margin, is_out, winner, expiry,
            reserves, values, is_changed):  # fmt: skip
    """Bring every reserve up to c: while the leader of the rest beats the worst of the reserve, they change places.

    `values` (widest reserve,) is work space; is_changed[run] tells whether any reserve of the run changed. Returns
    in how many runs one did.
    """
    stack = np.empty(256, np.int64)
    n_changed = 0
    for run in range(means.shape[0]):
        mean, radius, out = means[run], radii[run], is_out[run]
        is_changed[run] = False
        for cell in range(starts.shape[0] - 1):
            first, last = tree_starts[cell], tree_starts[cell + 1]
            tree_winner, tree_expiry = winner[run, first:last], expiry[run, first:last]
            n_buckets = (last - first) // 2
            own = members[starts[cell] : starts[cell + 1]]
            if tree_expiry[1] < c:
                _replay_expired(stack, n_buckets, own, tree_winner, tree_expiry, out, mean, radius, c, margin)
            lead = np.int64(tree_winner[1])
            reserve = reserves[run, reserve_starts[cell] : reserve_starts[cell + 1]]
            m = reserve.shape[0]
            if lead < 0 or m == 0:
                continue
            worst = 0
            for i in range(m):
                values[i] = _index(mean, radius, reserve[i], c)
                if _is_better(values[worst], reserve[worst], values[i], reserve[i]):
                    worst = i
            value = _index(mean, radius, lead, c)
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
                _replay_path(
                    places[lead], lead, n_buckets, own, tree_winner, tree_expiry, out, mean, radius, c, margin, False
                )
                _enter(places[loser], loser, n_buckets, own, tree_winner, tree_expiry, out, mean, radius, c, margin)
                lead = np.int64(tree_winner[1])
                value = _index(mean, radius, lead, c) if lead >= 0 else -np.inf
        n_changed += is_changed[run]
    return n_changed


@njit(cache=True, nogil=True)
def settle(reserves, is_changed, bases):
    """Write the reserves (R, K) of the runs that changed into `bases` (R, K), ascending."""
    for run in range(reserves.shape[0]):
        if is_changed[run]:
            basis = bases[run]
            basis[:] = reserves[run]
            basis.sort()


@njit(cache=True, nogil=True)
def touch(items, starts, members, cells, places, tree_starts, means, radii, c, margin, is_out, winner, expiry):
    """Take note that the lines of `items` (R, k) changed; those in a reserve are looked at anyway."""
    for run in range(items.shape[0]):
        for k in range(items.shape[1]):
            e = items[run, k]
            if not is_out[run, e]:
                cell = cells[e]
                first, last = tree_starts[cell], tree_starts[cell + 1]
                _replay_path(
                    places[e], e, (last - first) // 2, members[starts[cell] : starts[cell + 1]],
                    winner[run, first:last], expiry[run, first:last], is_out[run], means[run], radii[run],
                    c, margin, True,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def indices(items, means, radii, c, out):
    """The index of each of `items` (R, k)."""
    for run in range(items.shape[0]):
        for k in range(items.shape[1]):
            out[run, k] = _index(means[run], radii[run], items[run, k], c)
