"""Values that users name blocks and vertices by, as consecutive numbers."""

from collections.abc import Hashable, Iterable

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.names import plain
from matroid_bandits.exceptions import InvalidMatroidError


def codes_of(values: Iterable[Hashable], what: str) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Number hashable values by first appearance; the numbers, then the names. Arrays need no Python loop."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        found, first, by_value = np.unique(values, return_index=True, return_inverse=True)
        by_appearance = np.argsort(first)
        number = np.empty(found.size, np.int64)
        number[by_appearance] = np.arange(found.size)
        return number[by_value.reshape(-1)], tuple(found[by_appearance].tolist())
    known: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((known.setdefault(plain(v), len(known)) for v in values), np.int64)
    except TypeError as error:
        raise InvalidMatroidError(f"expected every {what} to be hashable: {error}") from None
    return codes, tuple(known)
