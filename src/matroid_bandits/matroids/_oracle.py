"""Any predicate that a user can write down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.checks import as_integer
from matroid_bandits.exceptions import InvalidMatroidError, SerializationError
from matroid_bandits.matroids._base import MOST_ITEMS, Matroid

#: How many answers of a predicate are remembered by default, at most, and in about how many bytes.
_MOST_ANSWERS, _MOST_BYTES = 2**16, 2**24


class OracleMatroid(Matroid):
    """Matroid given by a Python predicate for independence; `testing.check_matroid` tests whether it is a matroid.

    Parameters
    ----------
    n_items : int
        Number of items.
    is_independent : callable
        Function of a frozenset of items that returns whether it is independent. Answers are cached, so they must not
        change.
    labels : iterable of hashable, optional
        Labels of the items.
    cache_size : int, optional
        Largest number of cached answers; 0 turns the cache off. The default is what takes about 16 MB, at most
        65,536. Answers that were used least recently are dropped first.

    Notes
    -----
    Greedy choices ask about the same sets in many episodes, so most answers come from the cache. Copies and pickles
    of the matroid start with an empty cache.

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
        cache_size: int | None = None,
    ) -> None:
        super().__init__(as_integer("n_items", n_items, 0, MOST_ITEMS, error=InvalidMatroidError), labels)
        if not callable(is_independent):
            raise InvalidMatroidError(f"expected a predicate over frozensets of items, got {is_independent!r}")
        self._predicate = is_independent
        bytes_each = 64 + self._n_items // 8
        size = min(_MOST_ANSWERS, _MOST_BYTES // bytes_each) if cache_size is None else cache_size
        self._cache_size = as_integer("cache_size", size, 0, error=InvalidMatroidError)
        self._answers = _Answers(self._cache_size)

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
        accepted, mask = list(taken), _mask(taken)
        for e in order:
            if len(accepted) >= limit:
                break
            bit = 1 << e
            if not mask & bit and self._holds(mask | bit, [*accepted, e]):
                mask |= bit
                accepted.append(e)
        return accepted

    def _holds(self, mask: int, items: list[int]) -> bool:
        """Whether a set is independent: remembered by its mask, or asked of the predicate."""
        answer = self._answers.get(mask)
        if answer is None:
            answer = bool(self._predicate(frozenset(items)))
            self._answers.put(mask, answer)
        return answer

    def _is_independent(self, items: IntArray) -> bool:
        listed = items.tolist()
        return self._holds(_mask(listed), listed)

    def span(self, independent: IntArray) -> BoolArray:
        X = independent.tolist()
        mask = _mask(X)
        return np.array(
            [bool(mask >> e & 1) or not self._holds(mask | 1 << e, [*X, e]) for e in range(self._n_items)], bool
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_answers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._answers = _Answers(self._cache_size)

    def content(self) -> tuple[Any, ...]:
        return (self._predicate,)

    def fields(self) -> dict[str, Any]:
        raise SerializationError("an OracleMatroid cannot be stored: its predicate is code, not data")


class _Answers:
    """Answers by the masks of sets, at most `size` of them; threads may share it.

    There are two generations of half the size each. An answer that is used moves to the new one; when that is full,
    the old one is forgotten. A thread that reads while another one writes misses an answer at worst.
    """

    def __init__(self, size: int) -> None:
        self._most = size // 2
        self._new: dict[int, bool] = {}
        self._old: dict[int, bool] = {}

    def get(self, mask: int) -> bool | None:
        answer = self._new.get(mask)
        if answer is None:
            answer = self._old.get(mask)
            if answer is not None:
                self.put(mask, answer)
        return answer

    def put(self, mask: int, answer: bool) -> None:
        if len(self._new) >= self._most:
            if not self._most:
                return
            self._old, self._new = self._new, {}
        self._new[mask] = answer


def _mask(items: Iterable[int]) -> int:
    """A set of items as the bits of a number."""
    mask = 0
    for e in items:
        mask |= 1 << e
    return mask
