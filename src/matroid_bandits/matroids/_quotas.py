"""The greedy algorithm on nested quotas, which several families are made of."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.kernels import laminar as laminar_kernels
from matroid_bandits.matroids._base import Matroid, rows_for

Quotas = tuple[IntArray, IntArray, IntArray]


class QuotaMatroid(Matroid):
    """A family that is nothing but nested quotas: how full they are settles most questions."""

    @abstractmethod
    def quotas(self) -> Quotas: ...

    def span(self, independent: IntArray) -> BoolArray:
        return self.spanned_after(independent) <= independent.size

    def spanned_after(self, order: IntArray) -> IntArray:
        group, parent, capacities = self.quotas()
        full = np.empty(parent.size + 1, np.int64)
        full[-1] = order.size + 1  # of items in no group
        laminar_kernels.full_after(order, group, parent, capacities, full[:-1])
        after: IntArray = full[group]
        after[order] = np.arange(1, order.size + 1)
        return after

    def exchanges(self, basis: IntArray) -> tuple[IntArray, IntArray]:
        """Return all exchanges: an item can replace the members inside the innermost full group around it."""
        group, parent, _ = self.quotas()
        room = room_beside(self.quotas(), basis)
        is_outside = np.ones(self._n_items, bool)
        is_outside[basis] = False
        outside = np.flatnonzero(is_outside)
        full = group[outside]
        while (has_room := (full >= 0) & (room[full] > 0)).any():
            full[has_room] = parent[full[has_room]]
        members, places = {}, np.sort(basis)
        for g in np.unique(full).tolist():
            is_within = np.zeros(parent.size + 1, bool)  # the last cell answers for items in no group
            laminar_kernels.groups_within(g, parent, is_within)
            members[g] = places[is_within[group[places]]]
        if len(members) == 1:
            inside = next(iter(members.values()))
            return np.tile(inside, outside.size), np.repeat(outside, inside.size)
        listed = [members[g] for g in full.tolist()]
        leaves = np.concatenate([np.empty(0, np.int64), *listed])
        return leaves, np.repeat(outside, [each.size for each in listed])

    def most_exchanges(self) -> int:
        """Return the number of pairs inside each outermost group, since items of different groups never replace
        each other."""
        group, parent, _ = self.quotas()
        outermost = np.arange(parent.size)
        while (has_container := parent[outermost] >= 0).any():
            outermost[has_container] = parent[outermost[has_container]]
        basis = self._select(np.arange(self._n_items))
        owners = np.append(outermost, parent.size)[group]  # the last for items in no group, which are always chosen
        n = np.bincount(owners, minlength=parent.size + 1)[:-1]
        k = np.bincount(owners[basis], minlength=parent.size + 1)[:-1]
        return int((k * (n - k)).sum())

    def coloops(self, items: IntArray | None = None) -> IntArray:
        """Return the items that are in no group with more items than its capacity."""
        group, parent, capacities = self.quotas()
        X = np.arange(self._n_items) if items is None else np.sort(items)
        is_strict = np.zeros(parent.size + 1, bool)
        laminar_kernels.strict_groups(X, group, parent, capacities, is_strict[:-1])
        free: IntArray = X[~is_strict[group[X]]]
        return free


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
