"""Names that users give to items, blocks and vertices: plain Python values, and their form in JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.exceptions import InvalidMatroidError, SerializationError

#: What a campaign may be called, as JSON Schema says it.
CAMPAIGN_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_CAMPAIGN = re.compile(CAMPAIGN_NAME)


def is_campaign_name(name: str) -> bool:
    """Whether a campaign may have this name: letters, digits, ``-_.``, at most 64, the first a letter or digit."""
    return _CAMPAIGN.fullmatch(name) is not None


def plain(value: Any) -> Any:
    """A name without NumPy's scalars, so that it prints, compares and serialises as expected."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value


def codes_of(
    values: Iterable[Hashable], what: str, error: type[Exception] = InvalidMatroidError
) -> tuple[IntArray, tuple[Hashable, ...]]:
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
    except TypeError as problem:
        raise error(f"expected every {what} to be hashable: {problem}") from None
    return codes, tuple(known)


def pairs_of(value: Any) -> tuple[list[Any], list[Any]] | None:
    """The keys and the values of a mapping, or of what has both, as a pandas Series does; None for all else."""
    if not isinstance(value, Mapping) and not (hasattr(value, "keys") and hasattr(value, "items")):
        return None
    pairs = list(value.items())
    return [key for key, _ in pairs], [entry for _, entry in pairs]


def rows_of(value: Any) -> tuple[list[Any], list[Any]] | None:
    """The names and the rows of a mapping, or of a pandas DataFrame by its index; None for all else."""
    if hasattr(value, "index") and hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return list(value.index), list(value.to_numpy())
    return pairs_of(value)


def encode(value: Any, what: str) -> Any:
    """A hashable name as JSON: strings, numbers, booleans, None, and tuples of them (as lists)."""
    if type(value) is str:  # nearly always
        return value
    if value is None or isinstance(value, (str, int, bool)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, tuple):
        return [encode(part, what) for part in value]
    raise SerializationError(f"expected each {what} to be a string, number or tuple of them, got {value!r}")


def encode_all(values: Iterable[Any], what: str) -> list[Any]:
    """Each of some names as JSON."""
    return [value if type(value) is str else encode(value, what) for value in values]


def decode(value: Any) -> Any:
    """The name that `encode` wrote: lists become tuples again."""
    if isinstance(value, list):
        return tuple(decode(part) for part in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise SerializationError(f"expected a name to be a string, number or list of them, got {value!r}")
    return value


@dataclass(frozen=True)
class Foreign:
    """A name that is no JSON, such as a date or an enum, as a file knows it: by its type and what it prints."""

    kind: str
    text: str

    @classmethod
    def of(cls, value: Any) -> Foreign | None:
        """The name as files know it; None where it prints its address in memory, which says nothing."""
        if isinstance(value, cls):
            return value
        own: Any = type(value).__repr__
        if own is object.__repr__:
            return None
        return cls(f"{type(value).__module__}.{type(value).__qualname__}", repr(value))


def encode_any(values: Iterable[Any]) -> list[Any]:
    """Names as JSON, those that are none by their type and what they print."""
    forms: list[Any] = []
    for i, value in enumerate(values):
        try:
            forms.append(encode(value, "label"))
        except SerializationError:
            known = Foreign.of(value) or Foreign("", f"{i}")
            forms.append({"kind": known.kind, "text": known.text})
    return forms


def decode_any(forms: Iterable[Any]) -> list[Any]:
    """The names that `encode_any` wrote, `Foreign` where they were no JSON."""
    return [
        Foreign(str(form["kind"]), str(form["text"])) if isinstance(form, dict) else decode(form) for form in forms
    ]
