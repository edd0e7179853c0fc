"""The greedy algorithm on nested quotas, which several families are made of."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.kernels import laminar as laminar_kernels
from matroid_bandits.matroids._base import rows_for

Quotas = tuple[IntArray, IntArray, IntArray]


def greedy_within(
    quotas: Quotas, orders: IntArray, lengths: IntArray | None, taken: IntArray | None, limit: int
) -> tuple[IntArray, IntArray]:
    """What `Matroid.greedy` answers on the quotas that `Matroid.quotas` describes, at most `limit` items a row."""
    group, parent, room = quotas
    lengths, taken, items, sizes = rows_for(orders, lengths, taken, limit)
    if taken.size:
        room = room_beside(quotas, taken)
        # one more group, without room, holds what is taken: nothing of it is accepted again
        group = group.copy()
        group[taken] = parent.size
        # read-only, as the families' own arrays are: kernels are compiled once
        group, parent, room = frozen(group), frozen(np.append(parent, -1)), frozen(np.append(room, 0))
        items[:, : taken.size] = taken
    laminar_kernels.greedy_quotas(orders, lengths, group, parent, room, taken.size, limit, items, sizes)
    return items, sizes


def room_beside(quotas: Quotas, taken: IntArray) -> IntArray:
    """How many items each group may still get beside those taken."""
    room = np.empty(quotas[2].size, np.int64)
    laminar_kernels.room_beside(taken, *quotas, room)
    return room


def spanned_within(quotas: Quotas, order: IntArray) -> IntArray:
    """What `Matroid.spanned_after` answers on quotas: from when on a group around each item is full."""
    group, parent, capacities = quotas
    full = np.empty(parent.size + 1, np.int64)
    full[-1] = order.size + 1  # of items in no group
    laminar_kernels.full_after(order, group, parent, capacities, full[:-1])
    after: IntArray = full[group]
    after[order] = np.arange(1, order.size + 1)
    return after
