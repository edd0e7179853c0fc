"""Code in specs, ``module:Class`` with its constructor's arguments: where it is allowed, and how it is imported."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from typing import Any

from pydantic import ValidationInfo

from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._spec import mistake

_CODE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def check_code(name: str, what: str, info: ValidationInfo) -> str:
    """A name that may be ``module:Class`` where code may be imported."""
    if ":" not in name:
        return name
    if not (info.context or {}).get("allow_code"):
        raise mistake(f"expected the name of a {what}, since no code is imported here; got {shown(name)}")
    if not _CODE.fullmatch(name):
        raise mistake(f"expected a {what} of your own as module:Class, got {shown(name)}")
    return name


def check_arguments(name: str, values: dict[str, Any], kind: type[Any], place: Place) -> None:
    """Raise when a table has a key that is neither `name` nor a parameter of the constructor."""
    known = parameters(kind)
    for key in values:
        if key not in known:
            hint = did_you_mean(key, known) or f"; known are {', '.join(sorted([name, *known]))}"
            raise place.at(key).error(f"unknown key{hint}")


def made(kind: type[Any], values: dict[str, Any], place: Place) -> Any:
    """What a constructor makes of its arguments; whatever is wrong with them is told with the place."""
    try:
        return kind(**values)
    except MatroidBanditsError as error:
        raise place.error(str(error)) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise place.error(f"{kind.__name__}: {error}") from error


def import_class(name: str, at: Place, expected: type[Any]) -> type[Any]:
    """The class that ``module:Class`` names; a module beside the spec's file is found too, after installed ones."""
    module, _, kind = name.partition(":")
    beside = str(at.file.parent.resolve()) if at.file is not None else None
    if beside is not None:
        sys.path.append(beside)
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except Exception as error:  # whatever the module itself raises
        raise at.error(f"{module} cannot be imported ({type(error).__name__}: {error})") from error
    finally:
        if beside is not None:
            sys.path.remove(beside)
    if not (isinstance(found, type) and issubclass(found, expected)):
        raise at.error(f"expected a {expected.__name__} called {kind} in {module}, got {shown(found)}")
    return found


def parameters(kind: type[Any]) -> dict[str, Any]:
    """The parameters of a constructor, by name."""
    _, *listed = inspect.signature(kind.__init__).parameters.items()  # without self
    return {name: about for name, about in listed if about.kind not in (about.VAR_POSITIONAL, about.VAR_KEYWORD)}
