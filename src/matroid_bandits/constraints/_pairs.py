"""Items that are pairs, of a row and a column or of the two ends of an arc, as users give them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits._util.names import plain
from matroid_bandits.exceptions import InvalidConstraintError

#: The first and the second of each pair.
Sides = tuple[Sequence[Hashable] | AnyArray, Sequence[Hashable] | AnyArray]


def read_pairs(pairs: Any, what: str, of: str) -> tuple[Any, Any, list[tuple[Hashable, Hashable]] | None]:
    """The first and the second of each pair, and the pairs where they may serve as labels."""
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu":
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidConstraintError(f"expected an array of {what}s of shape (n_items, 2), got {pairs.shape}")
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), None
    try:
        listed = list(pairs)
    except TypeError:
        raise InvalidConstraintError(f"expected a sequence of {what}s, got {type(pairs).__name__}") from None
    for e, pair in enumerate(listed):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InvalidConstraintError(f"expected {what} {e} to be {of}, got {pair!r}")
    named = [(plain(first), plain(second)) for first, second in listed]
    try:
        is_distinct = len(set(named)) == len(named)
    except TypeError as error:
        raise InvalidConstraintError(f"expected {what}s of hashable names: {error}") from None
    return [first for first, _ in named], [second for _, second in named], named if is_distinct else None


def check_distinct(first: IntArray, second: IntArray, name: Callable[[int], str]) -> None:
    """Raise where a pair is listed twice."""
    order = np.lexsort((second, first))
    is_same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    if is_same.any():
        place = int(is_same.argmax())
        one, two = sorted(order[place : place + 2].tolist())
        raise InvalidConstraintError(f"expected distinct pairs, got {name(one)} as items {one} and {two}")
