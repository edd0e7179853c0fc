"""Three ways for the threads of a block to fill quotas; all mark the items that the greedy algorithm takes.

Items are compared by their keys, larger first, and equal ones by number. `cells` (L,) is the cell of each item,
`capacities` (C,) how many of a cell are taken.
"""

import numpy as np

from matroid_bandits.gpu._codes import ZONE
from matroid_bandits.gpu._device import cuda
from matroid_bandits.gpu._episode import UNSEEN, mark

#: Halvings of an interval after which its best key is tried too, every other time: many are equal.
_PLAIN_STEPS = 6

_TOP = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@cuda.jit(device=True)
def choose_one_each(keys, cells, capacities, items, has_last, upper, rest, bits, tid, n_threads):
    """Take the best item of every cell that may have one: first by the upper halves of keys, then by the rest.

    `upper` (C,) uint32 and `rest` (C,) uint64 are work space, zero on entry. Last episode's items give a first bound.
    """
    n_cells, n_items, rank = np.uint32(capacities.shape[0]), np.uint32(keys.shape[0]), np.uint32(items.shape[0])
    if has_last:
        k = tid
        while k < rank:
            upper[cells[items[k]]] = np.uint32(keys[items[k]] >> _HALF)
            k = np.uint32(k + n_threads)
        cuda.syncthreads()
    e = tid
    while e < n_items:
        half, b = np.uint32(keys[e] >> _HALF), cells[e]
        if upper[b] < half:
            cuda.atomic.max(upper, b, half)
        e = np.uint32(e + n_threads)
    cuda.syncthreads()
    e = tid
    while e < n_items:
        key, b = keys[e], cells[e]
        if upper[b] == np.uint32(key >> _HALF):
            lower = ((key & _LOW) << _HALF) | (_LOW - np.uint64(e))
            if rest[b] < lower:
                cuda.atomic.max(rest, b, lower)
        e = np.uint32(e + n_threads)
    cuda.syncthreads()
    b = tid
    while b < n_cells:
        if capacities[b] > 0:
            mark(bits, np.uint32(_LOW - (rest[b] & _LOW)))
        b = np.uint32(b + n_threads)


@cuda.jit(device=True)
def choose_few(keys, rank, key, item, tops, top_items, zone, flags, bits, tid, n_threads):
    """Take the best `rank` items of one cell, no more than there are threads; False where too many come near.

    `key` and `item` are the best of the thread's own items. As many items as there are threads are in the race: those
    no worse than the rank-th best of them all, among which the set is found one by one. `flags[4]` is 0 on entry.
    """
    n_items = np.uint32(keys.shape[0])
    tops[tid], top_items[tid] = key, item
    cuda.syncthreads()
    before = 0
    for i in range(n_threads):
        if tops[i] > key or (tops[i] == key and top_items[i] < item):
            before += 1
    cuda.syncthreads()
    if before == rank - 1:
        tops[0], top_items[0] = key, item
    cuda.syncthreads()
    if before < rank:
        bound, last = tops[0], top_items[0]
        e = tid
        while e < n_items:
            if keys[e] > bound or (keys[e] == bound and e <= last):
                place = cuda.atomic.add(flags, 4, 1)
                if place < ZONE:
                    zone[place] = e
            e = np.uint32(e + n_threads)
    cuda.syncthreads()
    n = flags[4]
    if n > ZONE:
        return False
    j = tid
    while j < n:
        if _n_before(j, n, keys, zone) < rank:
            mark(bits, zone[j])
        j = np.uint32(j + n_threads)
    return True


@cuda.jit(device=True)
def _n_before(j, n, keys, zone):
    """How many of the first n items of `zone` come before the j-th of them."""
    e = zone[j]
    key, before = keys[e], 0
    for i in range(n):
        f = zone[i]
        if keys[f] > key or (keys[f] == key and f < e):
            before += 1
    return before


@cuda.jit(device=True)
def _count(keys, cells, bounds, counts, tid, n_threads):
    """Add to `counts` how many keys of each cell reach its bound; neighbours of one cell are added together."""
    n_items, cell, n = np.uint32(keys.shape[0]), np.uint32(0), np.int32(0)
    e = tid
    while e < n_items:
        b = cells[e]
        if b != cell:
            if n > 0:
                cuda.atomic.add(counts, cell, n)
            cell, n = b, np.int32(0)
        if keys[e] >= bounds[b]:
            n = np.int32(n + 1)
        e = np.uint32(e + n_threads)
    if n > 0:
        cuda.atomic.add(counts, cell, n)


@cuda.jit(device=True)
def choose_many(
    keys, cells, starts, members, capacities, items, has_last, low, high, middle, n_low, n_high, n_middle, zone,
    flags, bits, tid, n_threads,
):  # fmt: skip
    """Take the best of every cell by narrowing down the key of the last that is taken.

    It lies in an interval [low, high) per cell: as many items as the cell may hold, or more, have a key of `low` or
    more, and fewer have `high` or more. The set chosen last bounds it from below, and often there is nothing more to
    find out. Otherwise the intervals are halved until few items lie in them, which are ranked one by one; or until
    only equal keys do, of which the first are taken. `flags` and the arrays of cells are work space.
    """
    n_cells, n_items, rank = np.uint32(capacities.shape[0]), np.uint32(keys.shape[0]), np.uint32(items.shape[0])
    b = tid
    while b < n_cells:
        low[b] = _TOP if has_last or capacities[b] == 0 else np.uint64(0)
        high[b], middle[b], n_low[b], n_high[b] = _TOP, 0, 0, 0
        b = np.uint32(b + n_threads)
    w = tid
    while w < 5:
        flags[w] = 0
        w = np.uint32(w + n_threads)
    cuda.syncthreads()
    if has_last:  # the worst of last episode's set is a bound, whatever became of it
        k = tid
        while k < rank:
            cuda.atomic.min(low, cells[items[k]], keys[items[k]])
            k = np.uint32(k + n_threads)
        cuda.syncthreads()
    _count(keys, cells, low, n_low, tid, n_threads)
    cuda.syncthreads()
    n_open, side, step = 0, 0, 0
    while True:
        b = tid
        while b < n_cells:
            if n_low[b] > capacities[b]:
                cuda.atomic.add(flags, side, n_low[b] - n_high[b])
                if high[b] - low[b] > _ONE:
                    flags[side + 1] = 1
            b = np.uint32(b + n_threads)
        cuda.syncthreads()
        n_open = flags[side]
        if n_open <= ZONE or flags[side + 1] == 0:
            break
        is_top = step == 0 or (step > _PLAIN_STEPS and step % 2 == 1)
        if is_top:  # find the best key of each cell
            e = tid
            while e < n_items:
                key, b = keys[e], cells[e]
                if low[b] <= key < high[b] and key >= middle[b] and n_low[b] > capacities[b]:
                    cuda.atomic.max(middle, b, key + _ONE)
                e = np.uint32(e + n_threads)
            cuda.syncthreads()
        b = tid
        while b < n_cells:
            if n_low[b] > capacities[b]:
                if is_top:
                    high[b] = middle[b]
                is_probed = is_top and (step > 0 or high[b] > UNSEEN)  # whether it is one of many equals
                middle[b] = high[b] - _ONE if is_probed else low[b] + ((high[b] - low[b]) >> _ONE)
            else:
                middle[b] = _TOP
            n_middle[b] = 0
            b = np.uint32(b + n_threads)
        side = 2 - side
        if tid < 2:
            flags[side + tid] = 0
        step += 1
        cuda.syncthreads()
        _count(keys, cells, middle, n_middle, tid, n_threads)
        cuda.syncthreads()
        b = tid
        while b < n_cells:
            if n_low[b] > capacities[b]:
                if n_middle[b] >= capacities[b]:
                    low[b], n_low[b] = middle[b], n_middle[b]
                else:
                    high[b], n_high[b] = middle[b], n_middle[b]
                middle[b] = 0
            b = np.uint32(b + n_threads)

    e = tid
    while e < n_items:
        key, b = keys[e], cells[e]
        if key >= low[b]:
            if n_low[b] <= capacities[b] or key >= high[b]:
                mark(bits, e)
            elif n_open <= ZONE:
                zone[cuda.atomic.add(flags, 4, 1)] = e
        e = np.uint32(e + n_threads)
    if n_open > ZONE:  # equal keys
        b = tid
        while b < n_cells:
            if n_low[b] > capacities[b]:
                left, j = capacities[b] - n_high[b], starts[b]
                while left > 0:
                    if keys[members[j]] == low[b]:
                        mark(bits, members[j])
                        left -= 1
                    j += 1
            b = np.uint32(b + n_threads)
    elif n_open > 0:
        cuda.syncthreads()
        j = tid
        while j < n_open:
            e = zone[j]
            key, b, before = keys[e], cells[e], 0
            for i in range(n_open):
                f = zone[i]
                if cells[f] == b and (keys[f] > key or (keys[f] == key and f < e)):
                    before += 1
            if before < capacities[b] - n_high[b]:
                mark(bits, e)
            j = np.uint32(j + n_threads)
