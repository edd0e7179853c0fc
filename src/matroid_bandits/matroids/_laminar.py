"""Nested quotas: a largest number of items for each group, where groups may contain groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits.exceptions import InvalidMatroidError, ItemError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import laminar as laminar_kernels
from matroid_bandits.matroids._base import MOST_ITEMS
from matroid_bandits.matroids._quotas import QuotaMatroid, Quotas, greedy_within, room_beside


class LaminarMatroid(QuotaMatroid):
    """Laminar matroid, nested quotas: "five in all, at most two per category, at most one per brand".

    Parameters
    ----------
    n_items : int
        Number of items.
    groups : iterable of (items, capacity)
        Items by label or number. Any two groups are disjoint or one contains the other. Items in no group are free.
    labels : iterable of hashable, optional
        Labels of the items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> matroid = mb.LaminarMatroid(5, [([0, 1, 2, 3, 4], 2), ([0, 1], 1)])
    >>> matroid.max_weight_basis([0.9, 0.8, 0.1, 0.2, 0.3])
    array([0, 4])
    """

    kind = "laminar"
    per_item = "group"

    def __init__(
        self,
        n_items: int,
        groups: Iterable[tuple[Iterable[Label] | IntArray, int]],
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        super().__init__(as_integer("n_items", n_items, 0, MOST_ITEMS, error=InvalidMatroidError), labels)
        sets, capacities = self._check_groups(groups)
        # Larger groups first, so that a group's container is placed before it; then whatever order they came in.
        order = sorted(range(len(sets)), key=lambda g: (-sets[g].size, *sets[g][:1], capacities[g]))
        group = np.full(self._n_items, -1, np.int64)
        parent = np.full(len(sets), -1, np.int64)
        for g, original in enumerate(order):
            X = sets[original]
            if X.size == 0:
                continue
            around = group[X]
            parent[g] = around[0]
            if (around != around[0]).any():
                smallest = int(around.max())  # the last one placed does not hold all of X, nor X all of it
                raise InvalidMatroidError(
                    "expected groups that are nested or disjoint, got groups "
                    f"{order[smallest]} and {original}, which cross: both hold item "
                    f"{X[around == smallest][0]}, item {X[around != smallest][0]} is only in group {original}"
                )
            group[X] = g
        self._set(group, parent, capacities[order])

    def _set(self, group: IntArray, parent: IntArray, capacities: IntArray) -> None:
        """Groups as a forest whose containers come first: each item's innermost, each group's container."""
        self._group, self._parent, self._capacities = frozen(group), frozen(parent), frozen(capacities)
        self._tight = _without_slack(group, parent, capacities)

    def _check_groups(
        self, groups: Iterable[tuple[Iterable[Label] | IntArray, int]]
    ) -> tuple[list[IntArray], IntArray]:
        sets, capacities = [], []
        try:
            for g, (items, capacity) in enumerate(groups):
                try:
                    sets.append(self.as_items(items))
                except ItemError as error:
                    raise InvalidMatroidError(f"group {g}: {error}") from None
                what = f"the capacity of group {g}"
                capacities.append(as_integer(what, capacity, 0, MOST_ITEMS, error=InvalidMatroidError))
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidMatroidError):
                raise
            raise InvalidMatroidError(f"expected groups to be (items, capacity) pairs, got {groups!r}") from None
        return sets, np.array(capacities, np.int64)

    def find_rank(self) -> int:
        group, parent, capacities = self._tight
        return int(_bounds(group, parent, capacities)[parent < 0].sum() + (group < 0).sum())

    def quotas(self) -> Quotas:
        return self._tight

    def compiled(self) -> forms.QuotaForm:
        return forms.QuotaForm(*self._tight)

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return greedy_within(self._tight, orders, lengths, taken, self.rank)

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        """Return the members of the innermost full group around the item."""
        group, parent, _ = self._tight
        room = room_beside(self._tight, basis)
        g = group[item]
        while g >= 0 and room[g] > 0:
            g = parent[g]
        assert g >= 0, "an item outside a basis lies in a full group"
        return self._inside(g, basis)

    def _inside(self, g: int, items: IntArray) -> IntArray:
        """Those of some items that lie in a group or in a group within it."""
        group, parent, _ = self._tight
        is_within = np.zeros(parent.size + 1, bool)  # the last cell answers for items in no group
        laminar_kernels.groups_within(g, parent, is_within)
        return items[is_within[group[items]]]

    def content(self) -> tuple[Any, ...]:
        return (self._group, self._parent, self._capacities)

    def fields(self) -> dict[str, Any]:
        return {
            "group": self._group.tolist(),
            "parent": self._parent.tolist(),
            "capacities": self._capacities.tolist(),
        }

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> LaminarMatroid:
        group, parent, capacities = (np.array(fields.pop(key), np.int64) for key in ("group", "parent", "capacities"))
        if fields:
            raise TypeError(f"unexpected {sorted(fields)}")
        if not (group.ndim == parent.ndim == 1 and parent.shape == capacities.shape):
            raise ValueError("group, parent and capacities do not fit together")
        if (group >= parent.size).any() or (group < -1).any() or (capacities < 0).any():
            raise ValueError("a group or capacity is out of range")
        if (parent >= np.arange(parent.size)).any() or (parent < -1).any():
            raise ValueError("a group comes before the one around it")
        matroid = cls(group.size, [], labels=labels)
        matroid._set(group, parent, capacities)
        return matroid


def _bounds(group: IntArray, parent: IntArray, capacities: IntArray) -> IntArray:
    """The rank of each group."""
    bounds = np.bincount(group[group >= 0], minlength=parent.size)
    for g in range(parent.size - 1, -1, -1):
        bounds[g] = min(bounds[g], capacities[g])
        if parent[g] >= 0:
            bounds[parent[g]] += bounds[g]
    return bounds


def _without_slack(group: IntArray, parent: IntArray, capacities: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The same matroid without the groups that never bind, so that a path of groups is no longer than the rank.

    A group never binds when the one around it is at least as strict, or when what it holds has no larger rank.
    """
    inside = np.bincount(group[group >= 0], minlength=parent.size)  # ranks of the contents
    is_kept = np.ones(parent.size, bool)
    for g in range(parent.size - 1, -1, -1):
        is_kept[g] = capacities[g] < inside[g]
        if parent[g] >= 0:
            inside[parent[g]] += min(inside[g], capacities[g])
    above = parent.copy()  # the nearest kept group outside
    for g in range(parent.size):
        while above[g] >= 0 and not is_kept[above[g]]:
            above[g] = above[above[g]]
        is_kept[g] &= above[g] < 0 or capacities[g] < capacities[above[g]]
    number = np.append(np.cumsum(is_kept) - 1, -1)
    innermost = np.where(is_kept, np.arange(parent.size), above)
    innermost = np.append(innermost, -1)
    return (
        frozen(number[innermost[group]]),
        frozen(number[above[is_kept]]),
        frozen(capacities[is_kept]),
    )
