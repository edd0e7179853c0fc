"""Bipartite matchings grown one left item at a time, along given orders."""

import numpy as np

from matroid_bandits.kernels.compiling import njit

_DEAD = np.int64(1) << np.int64(62)
_ONE = np.uint64(1)
_PLACE = np.zeros(67, np.int64)
_PLACE[[pow(2, i, 67) for i in range(64)]] = np.arange(64)


@njit(cache=True, nogil=True)
def _augment(item, starts, rights, mate, slot, stamp, mark, queue, via):
    """Match `item` along a shortest augmenting path, changing `mate` and `slot`; False when there is none.

    A failed search closes a set of matched right vertices that no later path can leave, so they are stamped
    dead and never entered again: all failures together look at every edge once.
    """
    queue[0], first, last = item, 0, 1
    while first < last:
        e = queue[first]
        first += 1
        for j in range(starts[e], starts[e + 1]):
            r = rights[j]
            if stamp[r] >= mark:  # seen in this search, or dead
                continue
            stamp[r] = mark
            via[r] = e
            if mate[r] < 0:
                while True:  # flip the path back to `item`
                    e = via[r]
                    previous = slot[e]
                    mate[r], slot[e] = e, r
                    if e == item:
                        return True
                    r = previous
            queue[last] = mate[r]
            last += 1
    for i in range(1, last):
        stamp[slot[queue[i]]] = _DEAD
    return False


@njit(cache=True, nogil=True)
def greedy_matchings(orders, lengths, taken, starts, rights, n_right, limit, chosen, sizes, slots):
    """Match items along the first lengths[r] entries of each row of `orders` (R, M), from the `taken` ones on.

    No `lengths` (an empty array) means whole rows. Item e may use rights[starts[e]:starts[e + 1]]. Row r of `chosen`
    (R, limit) gets the taken items and those accepted, `sizes[r]` in all and at most `limit`. `slots` (R, n_items)
    gets each item's right vertex, -1 for none.
    """
    n_taken = taken.shape[0]
    mate = np.empty(n_right, np.int64)
    stamp = np.empty(n_right, np.int64)
    via = np.empty(n_right, np.int64)
    queue = np.empty(n_right + 1, np.int64)
    for run in range(orders.shape[0]):
        order, slot = orders[run], slots[run]
        mate[:] = -1
        stamp[:] = 0
        slot[:] = -1
        k = 0
        length = lengths[run] if lengths.shape[0] > 0 else order.shape[0]
        for i in range(-n_taken, length):
            if k == limit:
                break
            e = order[i] if i >= 0 else taken[n_taken + i]
            mark = n_taken + i + 1
            if slot[e] < 0 and _augment(e, starts, rights, mate, slot, stamp, mark, queue, via):
                chosen[run, k] = e
                k += 1
        sizes[run] = k


@njit(cache=True, nogil=True)
def _lowest(bits):
    """The number of the lowest set bit; 2 is a primitive root of 67, so powers of two differ modulo it."""
    return _PLACE[(bits & (~bits + _ONE)) % np.uint64(67)]


@njit(cache=True, nogil=True)
def _augment_masks(item, masks, mate, is_free, is_dead, via):
    """As `_augment`, a word of bits for a set of right vertices; returns the free and the dead ones afterwards."""
    seen = masks[item] & ~is_dead
    front = seen
    while front != 0:
        r = _lowest(front)
        front &= front - _ONE
        holder = mate[r]
        new = masks[holder] & ~(seen | is_dead)
        if new & is_free != 0:
            end = _lowest(new & is_free)
            is_free &= ~(_ONE << np.uint64(end))
            mate[end] = holder  # everyone on the path moves on, the last seat falls to `item`
            while via[r] >= 0:
                mate[r] = mate[via[r]]
                r = via[r]
            mate[r] = item
            return is_free, is_dead
        seen |= new
        front |= new
        while new != 0:
            via[_lowest(new)] = r
            new &= new - _ONE
    return is_free, is_dead | seen


@njit(cache=True, nogil=True)
def greedy_mask_matchings(orders, lengths, taken, masks, entries, n_right, limit, chosen, sizes):
    """As `greedy_matchings` for at most 64 right vertices: bit r of masks[e] (uint64) lets item e use vertex r.

    `entries` are the masks once more, with 0 for the taken items: what a row may still match.
    """
    n_taken = taken.shape[0]
    mate = np.empty(64, np.int64)
    via = np.empty(64, np.int64)
    for run in range(orders.shape[0]):
        is_free, is_dead = (~np.uint64(0)) >> np.uint64(64 - n_right), np.uint64(0)
        k = 0
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        for i in range(-n_taken, length):
            if k == limit:
                break
            e = orders[run, i] if i >= 0 else taken[n_taken + i]
            open_ = (entries[e] if i >= 0 else masks[e]) & ~is_dead
            if open_ == 0:
                continue
            if open_ & is_free != 0:
                r = _lowest(open_ & is_free)
                is_free &= ~(_ONE << np.uint64(r))
                mate[r] = e
            else:
                via[:] = -1
                left = is_free
                is_free, is_dead = _augment_masks(e, masks, mate, is_free, is_dead, via)
                if is_free == left:
                    continue
            chosen[run, k] = e
            k += 1
        sizes[run] = k


@njit(cache=True, nogil=True)
def spanned_items(slot, starts, rights, n_right, is_spanned):
    """is_spanned[e]: given a matching (`slot` of each left item, -1 for none), has e no augmenting path?

    Also true for the matched items. Works backwards: a right vertex is open when it is free, or when the item
    that holds it could move to an open one.
    """
    n_items = starts.shape[0] - 1
    mate = np.full(n_right, -1, np.int64)
    for e in range(n_items):
        if slot[e] >= 0:
            mate[slot[e]] = e
    into = np.zeros(n_right + 1, np.int64)  # edges of matched items, by right vertex
    for e in range(n_items):
        if slot[e] >= 0:
            for j in range(starts[e], starts[e + 1]):
                into[rights[j] + 1] += 1
    for r in range(n_right):
        into[r + 1] += into[r]
    holders = np.empty(into[n_right], np.int64)
    cursor = into[:n_right].copy()
    for e in range(n_items):
        if slot[e] >= 0:
            for j in range(starts[e], starts[e + 1]):
                holders[cursor[rights[j]]] = slot[e]
                cursor[rights[j]] += 1
    is_open = mate < 0
    queue = np.empty(n_right, np.int64)
    first, last = 0, 0
    for r in range(n_right):
        if is_open[r]:
            queue[last] = r
            last += 1
    while first < last:
        r = queue[first]
        first += 1
        for j in range(into[r], into[r + 1]):
            q = holders[j]
            if not is_open[q]:
                is_open[q] = True
                queue[last] = q
                last += 1
    for e in range(n_items):
        is_spanned[e] = True
        if slot[e] < 0:
            for j in range(starts[e], starts[e + 1]):
                if is_open[rights[j]]:
                    is_spanned[e] = False
                    break


@njit(cache=True, nogil=True)
def reachable_items(item, slot, starts, rights, n_right, members):
    """The matched items on alternating paths from the unmatched `item`, into `members`; returns how many.

    When `item` has no augmenting path these are the rest of its fundamental circuit.
    """
    mate = np.full(n_right, -1, np.int64)
    for e in range(slot.shape[0]):
        if slot[e] >= 0:
            mate[slot[e]] = e
    is_seen = np.zeros(n_right, np.bool_)
    n, first, e = 0, 0, item
    while True:
        for j in range(starts[e], starts[e + 1]):
            r = rights[j]
            if not is_seen[r]:
                is_seen[r] = True
                if mate[r] >= 0:
                    members[n] = mate[r]
                    n += 1
        if first == n:
            return n
        e = members[first]
        first += 1
