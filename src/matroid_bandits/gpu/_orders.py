"""Sets that a greedy algorithm finds along the order of the indices: matchings and independent vectors.

A block sorts the items, then goes along the order; `choose_along` is the frame of this, and copies of it have a
`greedy` each. Matchings are grown by one thread. A vector is eliminated by all threads, a column each; over prime
fields the accepted ones are kept in reduced echelon form, as in `kernels.linear`, so that columns do not wait for
each other. In floats the operations on each number are those of the CPU, in the same order.
"""

import numpy as np

from matroid_bandits.gpu._device import (
    augment,
    augment_masks,
    by_block,
    cuda,
    index,
    lowest,
    on_device,
    reduce,
    times,
    types,
)
from matroid_bandits.gpu._episode import explores, index_at, is_line, key_of, mark, policy_words

_ONE = np.uint64(1)


@by_block
def _sort(keys, order, tid, n_threads):
    """Sort `order` by keys, larger first, and equal ones by number, bitonically; there are 2^n of them."""
    n = np.uint32(keys.shape[0])
    half = np.uint32(n >> 1)
    size = np.uint32(2)
    while size <= n:
        stride = np.uint32(size >> 1)
        while stride > 0:
            j = tid
            while j < half:
                low = np.uint32(2 * j - (j & np.uint32(stride - 1)))
                high = np.uint32(low + stride)
                a, b = keys[low], keys[high]
                is_late = b > a or (b == a and order[high] < order[low])
                if is_late == ((low & size) == 0):
                    keys[low], keys[high] = b, a
                    order[low], order[high] = order[high], order[low]
                j = np.uint32(j + n_threads)
            cuda.syncthreads()
            stride = np.uint32(stride >> 1)
        size = np.uint32(size << 1)


def greedy(family, room, bits, tid, n_threads):
    """Set the bits of the items that the greedy algorithm takes; returns how many there are."""
    raise NotImplementedError


def choose_along(family, room, policy, state, c, i, seed, t, run, items, bits, partial, tid, n_threads):
    """Set the bits of the items of a best set, and say whether they are a basis.

    Of these families: the items that are in every set, then those that may be in it or not; how many the first are,
    and how many places the others have to be sorted in.
    """
    keys, order = room[0], room[1]
    pool = family[1][family[2] :]
    n_pool, n_places, n_words = np.uint32(pool.shape[0]), np.uint32(keys.shape[0]), np.uint32(bits.shape[0])
    p = tid
    if is_line(policy[0]):
        while p < n_pool:
            keys[p], order[p] = key_of(index(state[2][pool[p]], state[3][pool[p]], c)), p
            p = np.uint32(p + n_threads)
    else:
        words = policy_words(seed, t)
        is_random = explores(policy, words, run)
        while p < n_pool:
            keys[p], order[p] = key_of(index_at(policy, is_random, state, pool[p], words, run, t)), p
            p = np.uint32(p + n_threads)
    while p < n_places:  # behind all others
        keys[p], order[p] = 0, p
        p = np.uint32(p + n_threads)
    w = tid
    while w < n_words:
        bits[w] = 0
        w = np.uint32(w + n_threads)
    cuda.syncthreads()
    _sort(keys, order, tid, n_threads)
    n = greedy(family, room, bits, tid, n_threads)
    cuda.syncthreads()
    return n == family[0]


@by_block
def _item(items, n_taken, order, j):
    """The j-th item on the way: those that are always taken come first."""
    return items[j] if j < n_taken else items[n_taken + order[j - n_taken]]


@by_block
def room_of_masks(family, at, n_threads):
    """Keys and order; who has each right vertex, and by which other one it is reached; how many were taken."""
    n = family[3]
    longs, shorts = cuda.shared.array(0, types.uint64), cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys, at = longs[at : at + n], 2 * (at + n)
    order = marks[at : at + n]
    at += n
    return keys, order, shorts[at : at + 64], shorts[at + 64 : at + 128], shorts[at + 128 : at + 129]


@by_block
def greedy_masks(family, room, bits, tid, n_threads):
    """As `kernels.transversal.greedy_mask_matchings`: bit r of an item's mask lets it use right vertex r."""
    rank, items, n_taken, _, masks, n_right = family
    keys, order, mate, via, n_found = room
    j, n = tid, np.uint32(items.shape[0])
    while j < np.uint32(n - n_taken):  # the keys have done their work
        keys[j] = masks[items[n_taken + order[j]]]
        j = np.uint32(j + n_threads)
    cuda.syncthreads()
    if tid == 0:
        is_free, is_dead = (~np.uint64(0)) >> np.uint64(64 - n_right), np.uint64(0)
        k, j = 0, np.uint32(0)
        while k < rank and j < n:
            open_ = (masks[items[j]] if j < n_taken else keys[j - n_taken]) & ~is_dead
            is_taken = False
            if open_ & is_free != np.uint64(0):
                r = lowest(open_ & is_free)
                is_free &= ~(_ONE << np.uint64(r))
                mate[r] = _item(items, n_taken, order, j)
                is_taken = True
            elif open_ != np.uint64(0):
                for r in range(n_right):
                    via[r] = -1
                left = is_free
                is_free, is_dead = augment_masks(_item(items, n_taken, order, j), masks, mate, is_free, is_dead, via)
                is_taken = is_free != left
            if is_taken:
                mark(bits, _item(items, n_taken, order, j))
                k += 1
            j = np.uint32(j + 1)
        n_found[0] = k
    cuda.syncthreads()
    return n_found[0]


@by_block
def room_of_lists(family, at, n_threads):
    """Keys and order; of right vertices who has each, stamps, how they are reached and a queue; the items' places."""
    n, n_items, n_right = family[3], family[4].shape[0] - 1, family[6]
    longs, shorts = cuda.shared.array(0, types.uint64), cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys, at = longs[at : at + n], 2 * (at + n)
    order = marks[at : at + n]
    at += n
    mate = shorts[at : at + n_right]
    at += n_right
    stamp = shorts[at : at + n_right]
    at += n_right
    via = shorts[at : at + n_right]
    at += n_right
    queue = shorts[at : at + n_right + 1]
    at += n_right + 1
    slot = shorts[at : at + n_items]
    at += n_items
    return keys, order, mate, stamp, via, queue, slot, shorts[at : at + 1]


@by_block
def greedy_lists(family, room, bits, tid, n_threads):
    """As `kernels.transversal.greedy_matchings`: item e may use rights[starts[e]:starts[e + 1]]."""
    rank, items, n_taken, _, starts, rights, _ = family
    _, order, mate, stamp, via, queue, slot, n_found = room
    n_items, n_right, r = np.uint32(slot.shape[0]), np.uint32(mate.shape[0]), tid
    while r < n_right:
        mate[r], stamp[r] = -1, 0
        r = np.uint32(r + n_threads)
    e = tid
    while e < n_items:
        slot[e] = -1
        e = np.uint32(e + n_threads)
    cuda.syncthreads()
    if tid == 0:
        k, j, n = 0, 0, items.shape[0]
        while k < rank and j < n:
            item = np.int32(_item(items, n_taken, order, j))
            j += 1
            if slot[item] < 0 and augment(item, starts, rights, mate, slot, stamp, j, queue, via):
                mark(bits, np.uint32(item))
                k += 1
        n_found[0] = k
    cuda.syncthreads()
    return n_found[0]


@by_block
def room_of_residues(family, at, n_threads):
    """Keys and order; for each prime the rows of an echelon form and their pivots; a vector; factors; two columns."""
    rank, n = family[0], family[3]
    n_primes, _, n_columns = family[4].shape
    longs, shorts = cuda.shared.array(0, types.uint64), cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys, at = longs[at : at + n], 2 * (at + n)
    order = marks[at : at + n]
    at += n
    rows = marks[at : at + n_primes * rank * n_columns]
    at += n_primes * rank * n_columns
    pivots = shorts[at : at + n_primes * rank]
    at += n_primes * rank
    ys = marks[at : at + n_primes * n_columns]
    at += n_primes * n_columns
    factors = marks[at : at + rank]
    at += rank
    return keys, order, rows, pivots, ys, factors, shorts[at : at + 2]


@on_device
def _inverse(a, p):
    """The inverse of a modulo the prime p, by Euclid; remainders and quotients in 32 bits, which are soon divided."""
    old_r, r, old_s, s = np.uint32(p), np.uint32(a), np.int64(0), np.int64(1)
    while r != np.uint32(0):
        q = np.uint32(old_r // r)
        old_r, r = r, np.uint32(old_r - np.uint32(q * r))
        old_s, s = s, old_s - np.int64(q) * s
    return old_s if old_s >= 0 else old_s + p


@by_block
def _entry_left(vector, c, rows, first, pivots, k, p, reciprocal, batch):
    """Entry c of a vector less its projection on the first k rows, modulo p; see `kernels.linear._remainder`."""
    n_columns = np.uint32(vector.shape[0])
    y, pending, at, i = np.int64(vector[c]), np.int64(0), np.uint32(first * n_columns + c), np.uint32(0)
    while i < k:
        coefficient = vector[pivots[np.uint32(first + i)]]
        if coefficient != np.uint32(0):
            y += np.int64(np.uint32(p - coefficient)) * np.int64(rows[at])
            pending += 1
            if pending == batch:
                y, pending = reduce(y, p, reciprocal), np.int64(0)
        at = np.uint32(at + n_columns)
        i = np.uint32(i + 1)
    return reduce(y, p, reciprocal) if pending > 0 else y


@by_block
def _absorb(n_columns, rows, first, pivots, ys, factors, columns, k, p, reciprocal, tid, n_threads):
    """Make ys row k of a reduced echelon form, whose rows begin with number `first`; see `kernels.linear._absorb`."""
    row = np.uint32((first + k) * n_columns)
    c = tid
    while c < n_columns:
        y = np.int64(ys[c])
        if y != 0:
            columns[0] = c  # that of one of the threads
            if y == 1 or y == p - 1:
                columns[1] = c  # better: it is its own inverse
        c = np.uint32(c + n_threads)
    cuda.syncthreads()
    pivot = np.uint32(columns[1] if columns[1] >= 0 else columns[0])
    scale = np.int64(ys[pivot])
    if columns[1] < 0:
        scale = _inverse(scale, p)
    i = tid
    while i < k:
        found = rows[np.uint32((first + i) * n_columns + pivot)]
        factors[i] = p - found if found != np.uint32(0) else 0
        i = np.uint32(i + n_threads)
    c = tid
    while c < n_columns:
        rows[np.uint32(row + c)] = reduce(np.int64(ys[c]) * scale, p, reciprocal)
        c = np.uint32(c + n_threads)
    cuda.syncthreads()
    if tid == 0:
        pivots[np.uint32(first + k)] = pivot
        columns[1] = -1
    j, n = tid, np.uint32(k * n_columns)
    while j < n:
        i = np.uint32(j // n_columns)
        if factors[i] != np.uint32(0):
            at = np.uint32(first * n_columns + j)
            product = np.int64(factors[i]) * np.int64(rows[np.uint32(row + j - i * n_columns)])
            rows[at] = reduce(np.int64(rows[at]) + product, p, reciprocal)
        j = np.uint32(j + n_threads)
    cuda.syncthreads()


@by_block
def greedy_residues(family, room, bits, tid, n_threads):
    """As `kernels.linear.greedy_residues`; `vectors` (P, L, C) are residues modulo `primes` (P,).

    `batches` (P,) is how many products may be added up before they are reduced.
    """
    rank, items, n_taken, _, vectors, primes, batches = family
    _, order, rows, pivots, ys, factors, columns = room
    n_primes, n_columns = vectors.shape[0], np.uint32(vectors.shape[2])
    alive, j, n = (np.int64(1) << n_primes) - 1, 0, items.shape[0]
    k = np.uint32(0)
    if tid == 0:
        columns[1] = -1
    while k < rank and j < n:
        e = _item(items, n_taken, order, j)
        j += 1
        independent = np.int64(0)
        for q in range(n_primes):
            if (alive >> q) & 1:
                is_left, p, vector = 0, primes[q], vectors[q, e]
                c = tid
                while c < n_columns:
                    y = _entry_left(vector, c, rows, np.uint32(q * rank), pivots, k, p, 1.0 / p, batches[q])
                    ys[np.uint32(q * n_columns + c)] = y
                    if y != 0:
                        is_left = 1
                    c = np.uint32(c + n_threads)
                if cuda.syncthreads_or(is_left):
                    independent |= np.int64(1) << q
        if independent != 0:
            for q in range(n_primes):
                if (independent >> q) & 1:
                    p, left = primes[q], ys[q * n_columns : (q + 1) * n_columns]
                    first = np.uint32(q * rank)
                    _absorb(n_columns, rows, first, pivots, left, factors, columns, k, p, 1.0 / p, tid, n_threads)
            alive = independent
            if tid == 0:
                mark(bits, e)
            k = np.uint32(k + 1)
    return np.int64(k)


@by_block
def room_of_floats(family, at, n_threads):
    """Keys and order; rows in echelon form and their pivots; a vector; two factors; the largest entry, its column."""
    rank, n, n_columns = family[0], family[3], family[4].shape[1]
    longs, reals = cuda.shared.array(0, types.uint64), cuda.shared.array(0, types.float64)
    marks, shorts = cuda.shared.array(0, types.uint32), cuda.shared.array(0, types.int32)
    keys, at = longs[at : at + n], at + n
    rows, at = reals[at : at + rank * n_columns], at + rank * n_columns
    y, at = reals[at : at + n_columns], at + n_columns
    factors, top, at = reals[at : at + 2], longs[at + 2 : at + 3], 2 * (at + 3)
    order = marks[at : at + n]
    pivots = shorts[at + n : at + n + rank]
    return keys, order, rows, y, factors, top, pivots, shorts[at + n + rank : at + n + rank + 1]


@by_block
def greedy_floats(family, room, bits, tid, n_threads):
    """As `kernels.linear.greedy_floats`: `vectors` (L, C) are accepted while something above a tolerance is left."""
    rank, items, n_taken, _, vectors, tolerance = family
    _, order, rows, y, factors, top, pivots, column = room
    k, j, n, n_columns = 0, 0, items.shape[0], vectors.shape[1]
    while k < rank and j < n:
        e = _item(items, n_taken, order, j)
        least = tolerance if j >= n_taken else 0.0
        j += 1
        c = np.int64(tid)
        while c < n_columns:
            y[c] = vectors[e, c]
            c += n_threads
        for i in range(k):
            pivot = pivots[i]
            if pivot % n_threads == tid:  # whose column that is
                factors[i & 1] = y[pivot]
            cuda.syncthreads()
            factor = factors[i & 1]
            if factor != 0.0:
                c = np.int64(tid)
                while c < n_columns:
                    y[c] = 0.0 if c == pivot else y[c] - times(factor, rows[i * n_columns + c])
                    c += n_threads
        largest, c = 0.0, np.int64(tid)
        while c < n_columns:
            largest = max(largest, abs(y[c]))
            c += n_threads
        if tid == 0:
            top[0], column[0] = 0, n_columns
        if cuda.syncthreads_or(1 if largest > least else 0):
            key = np.float64(largest).view(np.uint64)  # in the order of what is not negative
            cuda.atomic.max(top, 0, key)
            cuda.syncthreads()
            c = np.int64(tid)
            while c < n_columns:
                if np.float64(abs(y[c])).view(np.uint64) == top[0]:
                    cuda.atomic.min(column, 0, np.int32(c))
                c += n_threads
            cuda.syncthreads()
            pivot = column[0]
            c = np.int64(tid)
            while c < n_columns:
                rows[k * n_columns + c] = y[c] / y[pivot]
                c += n_threads
            if tid == 0:
                pivots[k] = pivot
                mark(bits, e)
            cuda.syncthreads()
            k += 1
    return k


#: What copies of the frame have of each of these families.
ORDERS = {
    "masks": {"own_room": room_of_masks, "choose": by_block(choose_along, greedy=greedy_masks)},
    "lists": {"own_room": room_of_lists, "choose": by_block(choose_along, greedy=greedy_lists)},
    "residues": {"own_room": room_of_residues, "choose": by_block(choose_along, greedy=greedy_residues)},
    "floats": {"own_room": room_of_floats, "choose": by_block(choose_along, greedy=greedy_floats)},
}
