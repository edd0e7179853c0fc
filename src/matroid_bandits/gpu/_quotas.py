"""Sets with a quota of items of each cell: uniform and partition matroids."""

import numpy as np

from matroid_bandits.gpu._choose import choose_few, choose_many, choose_one_each
from matroid_bandits.gpu._codes import FEW, ONE_EACH, ZONE
from matroid_bandits.gpu._device import by_block, cuda, index, types
from matroid_bandits.gpu._episode import explores, index_at, is_line, key_of, policy_words


@by_block
def room_of_quotas(family, at, n_threads):
    """Keys, what `choose_few`, `choose_one_each` and `choose_many` need, and flags."""
    n_items, n_cells = family[2].shape[0], family[5].shape[0]
    longs = cuda.shared.array(0, types.uint64)
    shorts = cuda.shared.array(0, types.int32)
    marks = cuda.shared.array(0, types.uint32)
    keys = longs[at : at + n_items]
    at += n_items
    low = longs[at : at + n_cells]
    at += n_cells
    high = longs[at : at + n_cells]
    at += n_cells
    middle = longs[at : at + n_cells]
    at += n_cells
    tops = longs[at : at + n_threads]
    at = 2 * (at + n_threads)
    n_low = shorts[at : at + n_cells]
    upper = marks[at : at + n_cells]  # of cells that have one item each; the counts are not needed then
    at += n_cells
    n_high = shorts[at : at + n_cells]
    at += n_cells
    n_middle = shorts[at : at + n_cells]
    at += n_cells
    zone = marks[at : at + ZONE]
    at += ZONE
    flags = shorts[at : at + 5]
    return keys, low, high, middle, tops, n_low, upper, n_high, n_middle, zone, flags


@by_block
def choose_quotas(family, room, policy, state, c, i, seed, t, run, items, bits, partial, tid, n_threads):
    """Set the bits of the best items of each cell.

    Of this family: how sets are chosen, the cell of each item, the items of each cell, and how many of each cell are
    chosen.
    """
    rank, method, cells, starts, members, capacities = family
    keys, low, high, middle, tops, n_low, upper, n_high, n_middle, zone, flags = room
    n_items, n_cells, n_words = np.uint32(cells.shape[0]), np.uint32(capacities.shape[0]), np.uint32(bits.shape[0])
    e, top, top_item = tid, np.uint64(0), n_items
    if is_line(policy[0]):  # apart, since most of the time is spent here
        while e < n_items:
            key = key_of(index(state[2][e], state[3][e], c))
            keys[e] = key
            if key > top:
                top, top_item = key, e
            e = np.uint32(e + n_threads)
    else:
        words = policy_words(seed, t)
        is_random = explores(policy, words, run)
        while e < n_items:
            key = key_of(index_at(policy, is_random, state, e, words, run, t))
            keys[e] = key
            if key > top:
                top, top_item = key, e
            e = np.uint32(e + n_threads)
    w = tid
    while w < n_words:
        bits[w] = 0
        w = np.uint32(w + n_threads)
    if method == ONE_EACH:
        b = tid
        while b < n_cells:
            low[b], upper[b] = 0, 0
            b = np.uint32(b + n_threads)
    if tid == 0:
        flags[4] = 0
    cuda.syncthreads()

    is_chosen = False
    if method == FEW:
        is_chosen = choose_few(keys, rank, top, top_item, tops, partial, zone, flags, bits, tid, n_threads)
    elif method == ONE_EACH:
        choose_one_each(keys, cells, capacities, items, i > 0, upper, low, bits, tid, n_threads)
        is_chosen = True
    if not is_chosen:
        choose_many(
            keys, cells, starts, members, capacities, items, i > 0, low, high, middle, n_low, n_high, n_middle,
            zone, flags, bits, tid, n_threads,
        )  # fmt: skip
    cuda.syncthreads()
    return True
