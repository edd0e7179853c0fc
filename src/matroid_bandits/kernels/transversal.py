"""Bipartite matchings grown one left item at a time, along given orders."""

import numpy as np

from matroid_bandits.kernels.compiling import called, inlined, kernel

_DEAD = np.int64(1) << np.int64(62)
_ONE = np.uint64(1)
_PLACE = np.zeros(67, np.int64)
_PLACE[[pow(2, i, 67) for i in range(64)]] = np.arange(64)


@inlined
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


@called
def greedy_matching(order, length, taken, starts, rights, limit, mate, stamp, via, queue, slot, chosen):
    """Match items along the first `length` entries of `order` (M,), from the `taken` ones on; returns how many.

    Item e may use rights[starts[e]:starts[e + 1]]. `chosen` (limit,) gets the taken items and those accepted, at most
    `limit` in all, and `slot` (n_items,) each item's right vertex, -1 for none. The rest is room: `mate`, `stamp` and
    `via` for each right vertex, `queue` for one more.
    """
    n_taken = taken.shape[0]
    for r in range(mate.shape[0]):
        mate[r], stamp[r] = -1, 0
    for e in range(slot.shape[0]):
        slot[e] = -1
    k = 0
    for i in range(-n_taken, length):
        if k == limit:
            break
        e = order[i] if i >= 0 else taken[n_taken + i]
        mark = n_taken + i + 1
        if slot[e] < 0 and _augment(e, starts, rights, mate, slot, stamp, mark, queue, via):
            chosen[k] = e
            k += 1
    return k


@kernel
def greedy_matchings(orders, lengths, taken, starts, rights, n_right, limit, chosen, sizes, slots):
    """`greedy_matching` along the first lengths[r] entries of each row of `orders` (R, M), into `chosen` and `slots`.

    No `lengths` (an empty array) means whole rows. `sizes` (R,) gets how many items each row of `chosen` has.
    """
    mate = np.empty(n_right, np.int64)
    stamp = np.empty(n_right, np.int64)
    via = np.empty(n_right, np.int64)
    queue = np.empty(n_right + 1, np.int64)
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        order, slot, row = orders[run], slots[run], chosen[run]
        sizes[run] = greedy_matching(order, length, taken, starts, rights, limit, mate, stamp, via, queue, slot, row)


@inlined
def _lowest(bits):
    """The number of the lowest set bit; 2 is a primitive root of 67, so powers of two differ modulo it."""
    return _PLACE[(bits & (~bits + _ONE)) % np.uint64(67)]


@inlined
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


@inlined
def greedy_mask_matching(order, length, taken, masks, entries, n_right, limit, mate, via, chosen):
    """As `greedy_matching` for at most 64 right vertices: bit r of masks[e] (uint64) lets item e use vertex r.

    `entries` are the masks once more, with 0 for the taken items: what may still be matched. `mate` and `via` (64,)
    are room.
    """
    n_taken = taken.shape[0]
    is_free, is_dead = (~np.uint64(0)) >> np.uint64(64 - n_right), np.uint64(0)
    k = 0
    for i in range(-n_taken, length):
        if k == limit:
            break
        e = order[i] if i >= 0 else taken[n_taken + i]
        open_ = (entries[e] if i >= 0 else masks[e]) & ~is_dead
        if open_ == 0:
            continue
        if open_ & is_free != 0:
            r = _lowest(open_ & is_free)
            is_free &= ~(_ONE << np.uint64(r))
            mate[r] = e
        else:
            for r in range(64):
                via[r] = -1
            left = is_free
            is_free, is_dead = _augment_masks(e, masks, mate, is_free, is_dead, via)
            if is_free == left:
                continue
        chosen[k] = e
        k += 1
    return k


@kernel
def greedy_mask_matchings(orders, lengths, taken, masks, entries, n_right, limit, chosen, sizes):
    """`greedy_mask_matching` along the first lengths[r] entries of each row of `orders` (R, M), into `chosen`.

    No `lengths` (an empty array) means whole rows. `sizes` (R,) gets how many items each row of `chosen` has.
    """
    mate = np.empty(64, np.int64)
    via = np.empty(64, np.int64)
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        order, row = orders[run], chosen[run]
        sizes[run] = greedy_mask_matching(order, length, taken, masks, entries, n_right, limit, mate, via, row)


@kernel
def spanned_after(order, slot, starts, rights, n_right, after):
    """after[e]: how many items of `order`, from the first on, until item e cannot be matched together with them.

    One more than there are where e can still be added, 0 where it has no right vertex. `slot` (n_items,) is a
    matching of the items in `order`, -1 for all others. An item is spanned once all are there that alternating paths
    lead it to, so the search goes backwards: from the free right vertices, then from the last item to the first.
    """
    n_items, n = starts.shape[0] - 1, order.shape[0]
    into = np.zeros(n_right + 1, np.int64)  # the items that may use each right vertex
    for j in range(rights.shape[0]):
        into[rights[j] + 1] += 1
    for r in range(n_right):
        into[r + 1] += into[r]
    cursor = into[:n_right].copy()
    users = np.empty(rights.shape[0], np.int64)
    for e in range(n_items):
        for j in range(starts[e], starts[e + 1]):
            users[cursor[rights[j]]] = e
            cursor[rights[j]] += 1
    is_free = np.ones(n_right, np.bool_)
    for i in range(n):
        is_free[slot[order[i]]] = False
    after[:] = 0
    queue = np.empty(n_right, np.int64)
    is_seen = is_free.copy()
    for i in range(n, -1, -1):
        first, last = 0, 0
        if i == n:
            for r in range(n_right):
                if is_free[r]:
                    queue[last] = r
                    last += 1
        elif not is_seen[slot[order[i]]]:
            queue[0], last = slot[order[i]], 1
            is_seen[queue[0]] = True
        while first < last:
            r = queue[first]
            first += 1
            for j in range(into[r], into[r + 1]):
                e = users[j]
                if after[e] == 0:
                    after[e] = i + 1
                    if slot[e] >= 0 and not is_seen[slot[e]]:
                        is_seen[slot[e]] = True
                        queue[last] = slot[e]
                        last += 1
    for i in range(n):
        after[order[i]] = i + 1


@kernel
def reachable_items(items, slot, starts, rights, n_right, members):
    """The matched items on alternating paths from unmatched `items`, into `members`; returns how many.

    When one item has no augmenting path these are the rest of its fundamental circuit; of several items they are the
    union of their circuits.
    """
    mate = np.full(n_right, -1, np.int64)
    for e in range(slot.shape[0]):
        if slot[e] >= 0:
            mate[slot[e]] = e
    is_seen = np.zeros(n_right, np.bool_)
    n = 0
    for i in range(items.shape[0]):
        e, first = items[i], n
        while True:
            for j in range(starts[e], starts[e + 1]):
                r = rights[j]
                if not is_seen[r]:
                    is_seen[r] = True
                    if mate[r] >= 0:
                        members[n] = mate[r]
                        n += 1
            if first == n:
                break
            e = members[first]
            first += 1
    return n


@kernel
def is_same(starts, rights, others, number):
    """Has every item the same right vertices in both lists, in whatever order? `number` translates those of `others`.

    The lists of an item are of equal length in both, and name no right vertex twice.
    """
    owner = np.full(number.shape[0], -1, np.int64)
    for e in range(starts.shape[0] - 1):
        for j in range(starts[e], starts[e + 1]):
            owner[rights[j]] = e
        for j in range(starts[e], starts[e + 1]):
            if owner[number[others[j]]] != e:
                return False
    return True
