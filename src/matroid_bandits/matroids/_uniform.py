"""At most so many items in all."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray, Label
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids._base import Matroid, as_count


class UniformMatroid(Matroid):
    """Sets of at most `rank` items: "show any three".

    Parameters
    ----------
    n_items : int
        Number of items.
    rank : int
        Size of a basis, from 0 to `n_items`.
    labels : iterable of hashable, optional
        What each item is called.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> top = mb.UniformMatroid(5, rank=2)
    >>> top.max_weight_basis([0.1, 0.9, 0.3, 0.9, 0.2])
    array([1, 3])
    """

    kind = "uniform"

    def __init__(self, n_items: int, rank: int, *, labels: Iterable[Label] | None = None) -> None:
        super().__init__(as_count(n_items, "n_items"), labels)
        self._size = as_count(rank, "rank")
        if self._size > self._n_items:
            raise InvalidMatroidError(f"expected rank to be at most n_items = {self._n_items}, got {self._size}")

    def dual(self) -> "UniformMatroid":
        """Also uniform: of rank ``n_items - rank``."""
        return UniformMatroid(self._n_items, self._n_items - self._size, labels=self._labels)

    def _rank(self) -> int:
        return self._size

    def _quotas(self) -> tuple[IntArray, IntArray, IntArray]:
        return np.zeros(self._n_items, np.int64), np.array([-1], np.int64), np.array([self._size], np.int64)

    def _greedy(self, orders: IntArray, limit: int) -> IntArray:
        return orders[:, : min(limit, self._size)].copy()

    def _max_weight_bases(self, weights: FloatArray, minimize: bool) -> IntArray:
        bases = np.empty((weights.shape[0], self._size), np.int64)
        if self._size == self._n_items:
            bases[:] = np.arange(self._n_items)
        elif self._size > 0:
            order_kernels.top_rows(weights, minimize, self._size, bases)
        return bases

    def _span(self, independent: IntArray) -> BoolArray:
        mask = np.full(self._n_items, independent.size == self._size)
        mask[independent] = True
        return mask

    def _circuit(self, basis: IntArray, item: int) -> IntArray:
        return basis

    def _content(self) -> tuple[Any, ...]:
        return (self._size,)

    def _fields(self) -> dict[str, Any]:
        return {"n_items": self._n_items, "rank": self._size}
