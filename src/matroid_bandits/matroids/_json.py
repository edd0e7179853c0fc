"""The stored form of matroids: plain JSON with a format name and a version."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matroid_bandits.exceptions import MatroidBanditsError, SerializationError

if TYPE_CHECKING:
    from matroid_bandits.matroids._base import Matroid

FORMAT = "matroid-bandits/matroid"
VERSION = 1


def encode(value: Any, what: str) -> Any:
    """A hashable name as JSON: strings, numbers, booleans, None, and tuples of them (as lists)."""
    if value is None or isinstance(value, (str, int, bool)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, tuple):
        return [encode(part, what) for part in value]
    raise SerializationError(f"expected each {what} to be a string, number or tuple of them, got {value!r}")


def decode(value: Any) -> Any:
    """The inverse of `encode`: lists become tuples again."""
    return tuple(decode(part) for part in value) if isinstance(value, list) else value


def matroid_from_dict(form: Mapping[str, Any]) -> Matroid:
    """The matroid that `Matroid.to_dict` described.

    Raises
    ------
    SerializationError
        The form is not a matroid's, is incomplete or malformed, or was written by a newer version.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> matroid = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])
    >>> mb.matroid_from_dict(matroid.to_dict()) == matroid
    True
    """
    from matroid_bandits.matroids import KINDS

    if not isinstance(form, Mapping):
        raise SerializationError(f"expected a dict as made by Matroid.to_dict, got {type(form).__name__}")
    if form.get("format") != FORMAT:
        raise SerializationError(f"expected 'format' to be {FORMAT!r}, got {form.get('format')!r}")
    version = form.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SerializationError(f"expected 'version' to be a positive integer, got {version!r}")
    if version > VERSION:
        raise SerializationError(f"expected version {VERSION} or older, got {version}: upgrade matroid-bandits")
    kind = form.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SerializationError(f"expected 'kind' to be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    fields = {key: value for key, value in form.items() if key not in ("format", "version", "kind")}
    labels = fields.pop("labels", None)
    if labels is not None:
        if not isinstance(labels, list):
            raise SerializationError(f"expected 'labels' to be a list, got {type(labels).__name__}")
        labels = decode(labels)
    try:
        return KINDS[kind]._from_fields(labels=labels, **fields)
    except SerializationError:
        raise
    except (MatroidBanditsError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
            MemoryError, RecursionError) as error:  # fmt: skip
        raise SerializationError(f"malformed {kind} matroid: {error}") from error
