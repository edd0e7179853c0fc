"""Nested quotas: greedy along given orders, walking from an item's innermost group to the outermost."""

import numpy as np

from matroid_bandits.kernels.compiling import inlined, kernel


@inlined
def greedy_nested(order, length, group, parent, room, n_taken, limit, left, chosen):
    """Accept items along the first `length` entries of `order` (M,) while their groups have room; returns how many.

    `group` is each item's innermost group or -1, `parent` each group's next larger one or -1, `room` what each group
    may still get, and `left` is room for that. The first `n_taken` cells of `chosen` (at least limit,) are the
    caller's; accepted items follow, at most `limit` in all.
    """
    for g in range(room.shape[0]):
        left[g] = room[g]
    k = n_taken
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
        chosen[k] = e
        k += 1
    return k


@kernel
def greedy_quotas(orders, lengths, group, parent, room, n_taken, limit, chosen, sizes):
    """`greedy_nested` along the first lengths[r] entries of each row of `orders` (R, M), into `chosen`.

    No `lengths` (an empty array) means whole rows. `sizes` (R,) gets how many items each row of `chosen` has.
    """
    left = np.empty(room.shape[0], np.int64)
    for run in range(orders.shape[0]):
        length = lengths[run] if lengths.shape[0] > 0 else orders.shape[1]
        sizes[run] = greedy_nested(orders[run], length, group, parent, room, n_taken, limit, left, chosen[run])


@kernel
def room_beside(taken, group, parent, capacities, room):
    """room[g]: what the `taken` items leave of each group's capacity."""
    for g in range(capacities.shape[0]):
        room[g] = capacities[g]
    for i in range(taken.shape[0]):
        g = group[taken[i]]
        while g >= 0:
            room[g] -= 1
            g = parent[g]


@kernel
def full_after(order, group, parent, capacities, after):
    """after[g]: how many items of an independent set, in order, until group g or one around it has no room left.

    One more than there are where it still has. Containers come before what they contain.
    """
    left = capacities.copy()
    for g in range(left.shape[0]):
        after[g] = 0 if left[g] == 0 else order.shape[0] + 1
    for i in range(order.shape[0]):
        g = group[order[i]]
        while g >= 0:
            left[g] -= 1
            if left[g] == 0:
                after[g] = i + 1
            g = parent[g]
    for g in range(left.shape[0]):
        if parent[g] >= 0:
            after[g] = min(after[g], after[parent[g]])


@kernel
def strict_groups(items, group, parent, capacities, is_strict):
    """is_strict[g]: may a group, or one around it, get fewer of the `items` than those within it would leave it?"""
    ranks = np.zeros(parent.shape[0], np.int64)  # of what is in each group
    for i in range(items.shape[0]):
        if group[items[i]] >= 0:
            ranks[group[items[i]]] += 1
    for g in range(parent.shape[0] - 1, -1, -1):
        is_strict[g] = ranks[g] > capacities[g]
        if parent[g] >= 0:
            ranks[parent[g]] += min(ranks[g], capacities[g])
    for g in range(parent.shape[0]):
        if parent[g] >= 0:
            is_strict[g] |= is_strict[parent[g]]


@kernel
def least_around(parent, capacities, least):
    """least[g]: the least capacity of a group and those around it; containers come before what they contain."""
    for g in range(parent.shape[0]):
        least[g] = capacities[g] if parent[g] < 0 else min(capacities[g], least[parent[g]])


@kernel
def groups_within(g, parent, is_within):
    """Set is_within[h] for group g and all groups in it; containers come before what they contain."""
    is_within[g] = True
    for h in range(g + 1, parent.shape[0]):
        is_within[h] = parent[h] >= 0 and is_within[parent[h]]
