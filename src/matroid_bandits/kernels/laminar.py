"""Nested quotas: greedy along given orders, walking from an item's innermost group to the outermost."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def greedy_quotas(orders, group, parent, capacities, limit, chosen):
    """Accept items along each row of `orders` (R, M) while all their groups have room, at most `limit`.

    `group` is each item's innermost group or -1, `parent` each group's next larger one or -1. Returns how many
    items the last row got; rows that permute one set of items all get as many.
    """
    room = np.empty(capacities.shape[0], np.int64)
    k = 0
    for run in range(orders.shape[0]):
        order = orders[run]
        room[:] = capacities
        k = 0
        for i in range(order.shape[0]):
            if k == limit:
                break
            e = order[i]
            g = group[e]
            while g >= 0 and room[g] > 0:
                g = parent[g]
            if g >= 0:
                continue
            g = group[e]
            while g >= 0:
                room[g] -= 1
                g = parent[g]
            chosen[run, k] = e
            k += 1
    return k
