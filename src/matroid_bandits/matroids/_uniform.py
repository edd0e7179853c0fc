"""All sets of at most K items."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import selection as selection_kernels
from matroid_bandits.matroids._base import MOST_ITEMS
from matroid_bandits.matroids._quotas import QuotaMatroid, Quotas, greedy_within


class UniformMatroid(QuotaMatroid):
    """Uniform matroid: every set of at most `rank` items is independent, e.g. "show any three".

    Parameters
    ----------
    n_items : int
        Number of items.
    rank : int
        Size of a basis, from 0 to `n_items`.
    labels : iterable of hashable, optional
        Labels of the items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> top = mb.UniformMatroid(5, rank=2)
    >>> top.max_weight_basis([0.1, 0.9, 0.3, 0.9, 0.2])
    array([1, 3])
    """

    kind = "uniform"

    def __init__(self, n_items: int, rank: int, *, labels: Iterable[Label] | None = None) -> None:
        super().__init__(as_integer("n_items", n_items, 0, MOST_ITEMS, error=InvalidMatroidError), labels)
        self._size = as_integer("rank", rank, 0, self._n_items, error=InvalidMatroidError)

    def dual(self) -> UniformMatroid:
        """Return the dual, also uniform, of rank ``n_items - rank``."""
        return UniformMatroid(self._n_items, self._n_items - self._size, labels=self._labels)

    def find_rank(self) -> int:
        return self._size

    def quotas(self) -> Quotas:
        return self._one_group

    def compiled(self) -> forms.QuotaForm:
        return forms.QuotaForm(*self._one_group)

    @cached_property
    def _one_group(self) -> Quotas:
        return (
            frozen(np.zeros(self._n_items, np.int64)),
            frozen(np.array([-1], np.int64)),
            frozen(np.array([self._size], np.int64)),
        )

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        if lengths is not None or taken is not None:
            return greedy_within(self._one_group, orders, lengths, taken, self._size)
        items = orders[:, : self._size].copy()
        return items, np.full(items.shape[0], items.shape[1])

    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        items = np.empty((weights.shape[0], self._size), np.int64)
        sizes = np.empty(weights.shape[0], np.int64)
        if available is not None or pinned is not None:
            taken = np.empty(0, np.int64) if pinned is None else np.array(pinned, np.int64)
            room = np.array([self._size - taken.size], np.int64)
            starts, members = self._members
            is_open = self._open_items(available, pinned)
            selection_kernels.top_open_of_blocks(weights, is_open, starts, members, room, taken, items, sizes)
            return items, sizes
        sizes.fill(self._size)
        if self._size == self._n_items:
            items[:] = np.arange(self._n_items)
        elif self._size > 0:
            selection_kernels.top_rows(weights, self._size, items)
        return items, sizes

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray]:
        """All items as the one block of a partition, as `PartitionMatroid` keeps them."""
        return frozen(np.array([0, self._n_items], np.int64)), frozen(np.arange(self._n_items))

    def replaceable(self, basis: IntArray, item: int) -> IntArray:
        return basis

    def content(self) -> tuple[Any, ...]:
        return (self._size,)

    def fields(self) -> dict[str, Any]:
        return {"n_items": self._n_items, "rank": self._size}
