"""Any predicate that a user can write down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.checks import as_integer
from matroid_bandits.exceptions import InvalidMatroidError, SerializationError
from matroid_bandits.matroids._base import MOST_ITEMS, Matroid


class OracleMatroid(Matroid):
    """Matroid given by a Python predicate for independence; `testing.check_matroid` tests whether it is a matroid.

    Parameters
    ----------
    n_items : int
        Number of items.
    is_independent : callable
        Function of a frozenset of items that returns whether it is independent.
    labels : iterable of hashable, optional
        Labels of the items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> at_most_one_even = mb.OracleMatroid(4, lambda items: sum(e % 2 == 0 for e in items) <= 1)
    >>> at_most_one_even.max_weight_basis([1.0, 2.0, 3.0, 4.0])
    array([1, 2, 3])
    """

    def __init__(
        self,
        n_items: int,
        is_independent: Callable[[frozenset[int]], bool],
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        super().__init__(as_integer("n_items", n_items, 0, MOST_ITEMS, error=InvalidMatroidError), labels)
        if not callable(is_independent):
            raise InvalidMatroidError(f"expected a predicate over frozensets of items, got {is_independent!r}")
        self._predicate = is_independent

    @property
    def predicate(self) -> Callable[[frozenset[int]], bool]:
        """The independence test: takes a frozenset of items and returns a boolean."""
        return self._predicate

    def greedy(
        self, orders: IntArray, lengths: IntArray | None = None, taken: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        first = [] if taken is None else taken.tolist()
        ends = [None] * len(orders) if lengths is None else lengths.tolist()
        rows = [
            self._greedy_row(order[:end].tolist(), first, self.rank) for order, end in zip(orders, ends, strict=True)
        ]
        sizes = np.array([len(row) for row in rows], np.int64)
        items = np.empty((len(rows), sizes.max(initial=0)), np.int64)
        for chosen, row in zip(items, rows, strict=True):
            chosen[: len(row)] = row
        return items, sizes

    def find_rank(self) -> int:
        return len(self._greedy_row(range(self._n_items), [], self._n_items))

    def _greedy_row(self, order: Iterable[int], taken: list[int], limit: int) -> list[int]:
        accepted, chosen = list(taken), frozenset(taken)
        for e in order:
            if len(accepted) >= limit:
                break
            if e not in chosen and self._predicate(chosen | {e}):
                chosen |= {e}
                accepted.append(e)
        return accepted

    def _is_independent(self, items: IntArray) -> bool:
        return bool(self._predicate(frozenset(items.tolist())))

    def span(self, independent: IntArray) -> BoolArray:
        X = frozenset(independent.tolist())
        return np.array([e in X or not self._predicate(X | {e}) for e in range(self._n_items)], bool)

    def content(self) -> tuple[Any, ...]:
        return (self._predicate,)

    def fields(self) -> dict[str, Any]:
        raise SerializationError("an OracleMatroid cannot be stored: its predicate is code, not data")
