"""Matroids from their stored form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matroid_bandits.constraint import constraint_from_dict
from matroid_bandits.exceptions import SerializationError
from matroid_bandits.matroids._base import Matroid


def matroid_from_dict(form: Mapping[str, Any]) -> Matroid:
    """The matroid that `Matroid.to_dict` described, of a family of the package or of one's own.

    Raises
    ------
    SerializationError
        The form is not a matroid's, is incomplete or malformed, was written by a newer version, or is of a class that
        has not been defined.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> matroid = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])
    >>> mb.matroid_from_dict(matroid.to_dict()) == matroid
    True
    """
    matroid = constraint_from_dict(form)
    if not isinstance(matroid, Matroid):
        raise SerializationError(f"expected the form of a matroid, got that of {matroid!r}")
    return matroid
