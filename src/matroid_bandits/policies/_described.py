"""Objects that are known by their constructor's arguments: policies and detectors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from matroid_bandits.exceptions import PolicyError


class Described:
    """Keeps every argument of its constructor in an attribute of the same name, and is compared and shown by them."""

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain JSON values and arrays.

        Raises
        ------
        PolicyError
            An argument is in no attribute of its name.
        """
        found = {}
        for name in _arguments(type(self)):
            for attribute in (f"_{name}", name):
                if hasattr(self, attribute):
                    found[name] = getattr(self, attribute)
                    break
            else:
                raise PolicyError(
                    f"expected {type(self).__name__} to keep its argument {name!r} in an attribute of that name, "
                    f"{name} or _{name}"
                )
        return found

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Described)
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(_is_same(mine[key], theirs[key]) for key in mine)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        try:
            params = self.params()
        except PolicyError:
            return f"{type(self).__name__}(...)"
        return f"{type(self).__name__}({', '.join(f'{key}={_show(value)}' for key, value in params.items())})"


def _arguments(kind: type[Described]) -> list[str]:
    """The names of the constructor's arguments."""
    if kind.__init__ is object.__init__:
        return []
    return [
        name
        for name, parameter in list(inspect.signature(kind.__init__).parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _is_same(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, arrays by their content."""
    try:
        return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
    except ValueError:  # of lists of arrays
        return np.array_equal(a, b)


def _show(value: Any) -> str:
    return f"<array {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
