"""Nested quotas: greedy along given orders, walking from an item's innermost group to the outermost."""

import numpy as np

from matroid_bandits.kernels.compiling import njit


@njit(cache=True, nogil=True)
def greedy_quotas(orders, lengths, group, parent, room, n_taken, limit, chosen, sizes):
    """Accept items along the first lengths[r] entries of each row of `orders` (R, M) while their groups have room.

    No `lengths` (an empty array) means whole rows. `group` is each item's innermost group or -1, `parent` each
    group's next larger one or -1, `room` what each group may still get. The first `n_taken` cells of each row of
    `chosen` (R, at least limit) are the caller's; accepted items follow, `sizes[r]` in all and at most `limit`.
    """
    left = np.empty(room.shape[0], np.int64)
    for run in range(orders.shape[0]):
        order = orders[run]
        left[:] = room
        k = n_taken
        length = lengths[run] if lengths.shape[0] > 0 else order.shape[0]
        for i in range(length):
            if k >= limit:
                break
            e = order[i]
            g = group[e]
            while g >= 0 and left[g] > 0:
                g = parent[g]
            if g >= 0:
                continue
            g = group[e]
            while g >= 0:
                left[g] -= 1
                g = parent[g]
            chosen[run, k] = e
            k += 1
        sizes[run] = k


@njit(cache=True, nogil=True)
def room_beside(taken, group, parent, capacities, room):
    """room[g]: what the `taken` items leave of each group's capacity."""
    room[:] = capacities
    for i in range(taken.shape[0]):
        g = group[taken[i]]
        while g >= 0:
            room[g] -= 1
            g = parent[g]
