"""Arguments checked at the public edge, each kind in one place: what was expected, what was given."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from matroid_bandits._util.text import shown

#: The largest weight, in size, that is taken anywhere: sums of as many as can be, and their squares, are finite.
MOST_WEIGHT: Final = 1e100

#: The largest feature, in size: with weights, priors and noise within their bounds it keeps linear beliefs finite.
MOST_FEATURE: Final = 1e50


def as_index(value: Any) -> int:
    """An integer of any type as an int; a TypeError for all else, booleans and floats included."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"expected an integer, got {value!r}")
    return operator.index(value)


def as_integer(
    what: str, value: Any, low: int = 0, high: int | None = None, *, error: type[Exception] = ValueError
) -> int:
    """`value` as an int in [low, high]; booleans are no integers."""
    try:
        n = as_index(value)
        is_wrong = n < low or (high is not None and n > high)
    except TypeError:
        is_wrong = True
    if is_wrong:
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise error(f"expected {what} to be an integer {bounds}, got {shown(value)}")
    return n


def as_number(
    what: str, value: Any, low: float = -math.inf, high: float = math.inf, *, error: type[Exception] = ValueError
) -> float:
    """`value` as a finite float in [low, high]; booleans are no numbers."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:  # of an integer with hundreds of digits
        number = math.inf
    if not (math.isfinite(number) and low <= number <= high):
        if high < math.inf:
            bounds = f"a number in [{low:g}, {high:g}]"
        else:
            bounds = "a finite number" if low == -math.inf else f"a finite number of at least {low:g}"
        raise error(f"expected {what} to be {bounds}, got {shown(value)}")
    return number


def as_flag(what: str, value: Any, *, error: type[Exception] = ValueError) -> bool:
    """`value` as a bool; nothing but True and False is one, so that a word such as "false" is not taken for true."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"expected {what} to be True or False, got {shown(value)}")
    return bool(value)


def check_features(features: Any, names: Sequence[Any], *, error: type[Exception] = ValueError) -> None:
    """Raise where an array (L, d) has a number that is not finite, or larger than `MOST_FEATURE`."""
    is_wrong = ~(np.abs(features) <= MOST_FEATURE)  # of NaN too
    if is_wrong.any():
        e, k = np.argwhere(is_wrong)[0].tolist()
        given = features[e, k]
        expected = f"features of at most {MOST_FEATURE:g} in size" if np.isfinite(given) else "finite features"
        raise error(f"expected {expected}, got {given:g} as feature {k} of item {names[e]!r}")


def check_rows(who: str, items: Any, sizes: Any, n_runs: int, *, error: type[Exception] = ValueError) -> None:
    """Check that `who` returned sets as items (R, K) and sizes (R,), int64, a row for each run."""
    for name, array, n_axes in (("items", items, 2), ("sizes", sizes, 1)):
        is_array = isinstance(array, np.ndarray) and array.dtype == np.int64
        if not is_array or array.ndim != n_axes or array.shape[0] != n_runs:
            given = f"shape {array.shape} of {array.dtype}" if hasattr(array, "dtype") else type(array).__name__
            raise error(f"expected {who} to return {name}, {n_axes}-d int64, a row per run; got {given}")
    if ((sizes < 0) | (sizes > items.shape[1])).any():
        raise error(f"expected {who} to return sizes in 0..{items.shape[1]}, got {sizes.tolist()}")
