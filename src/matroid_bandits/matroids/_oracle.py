"""Any predicate that a user can write down."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits.exceptions import InvalidMatroidError, SerializationError
from matroid_bandits.matroids._base import Matroid, as_count


class OracleMatroid(Matroid):
    """The matroid of a Python predicate; `matroid_bandits.testing.check_matroid` tells whether it is one.

    Parameters
    ----------
    n_items : int
        Number of items.
    is_independent : callable
        Takes a frozenset of items, says whether it is independent.
    labels : iterable of hashable, optional
        What each item is called.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> at_most_one_even = mb.OracleMatroid(4, lambda items: sum(e % 2 == 0 for e in items) <= 1)
    >>> at_most_one_even.max_weight_basis([1.0, 2.0, 3.0, 4.0])
    array([1, 2, 3])
    """

    kind = "oracle"

    def __init__(
        self,
        n_items: int,
        is_independent: Callable[[frozenset[int]], bool],
        *,
        labels: Iterable[Label] | None = None,
    ) -> None:
        super().__init__(as_count(n_items, "n_items"), labels)
        if not callable(is_independent):
            raise InvalidMatroidError(f"expected a predicate over frozensets of items, got {is_independent!r}")
        self._predicate = is_independent

    def _greedy(self, orders: IntArray, limit: int) -> IntArray:
        rows = [self._greedy_row(order.tolist(), limit) for order in orders]
        if len({len(row) for row in rows}) > 1:
            raise InvalidMatroidError(
                "expected a matroid, got a predicate whose maximal sets differ in size: run check_matroid on it"
            )
        return np.array(rows, np.int64).reshape(len(rows), -1)

    def _greedy_row(self, order: list[int], limit: int) -> list[int]:
        chosen: frozenset[int] = frozenset()
        accepted: list[int] = []
        for e in order:
            if len(accepted) == limit:
                break
            if self._predicate(chosen | {e}):
                chosen |= {e}
                accepted.append(e)
        return accepted

    def _is_independent(self, items: IntArray) -> bool:
        return bool(self._predicate(frozenset(items.tolist())))

    def _span(self, independent: IntArray) -> BoolArray:
        X = frozenset(independent.tolist())
        return np.array([e in X or not self._predicate(X | {e}) for e in range(self._n_items)], bool)

    def _content(self) -> tuple[Any, ...]:
        return (self._predicate,)

    def _fields(self) -> dict[str, Any]:
        raise SerializationError("an OracleMatroid cannot be stored: its predicate is code, not data")
