"""Declarations that a subclass loses by overriding what they describe."""

from __future__ import annotations

from collections.abc import Collection

#: What Python itself puts into a class, and names that say nothing about behaviour.
_PLAIN = frozenset({"_abc_impl", "kind"})


def override(thing: object, declaration: str, free: Collection[str] = ()) -> str | None:
    """The name of what a subclass has overridden since its base declared something; None where nothing was."""
    # The declaration is a method. It holds for the class that wrote it, and for subclasses that override nothing of
    # that class; names in `free` may be overridden, since the declaration itself goes by them or nothing depends on
    # them.
    for kind in type(thing).__mro__:
        if declaration in vars(kind):
            return None
        owner = next(each for each in kind.__mro__ if declaration in vars(each))
        for name in vars(kind):
            if not (name.startswith("__") or name in _PLAIN or name in free) and hasattr(owner, name):
                return name
    raise AssertionError(f"no class declares {declaration}")
