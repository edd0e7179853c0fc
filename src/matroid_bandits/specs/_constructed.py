"""Models whose keys are the parameters of a constructor: with its defaults, described by its docstring."""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar, Literal, get_origin, get_type_hints

import numpy as np
from pydantic import Field

from matroid_bandits.specs._code import parameters
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import Sheet
from matroid_bandits.specs._spec import Columns, Count, Number, Spec
from matroid_bandits.specs._values import NumberOrValues, Values, read_values

#: What a parameter is in a spec, by its name or else by its annotation.
_KINDS: dict[str, Any] = {
    "features": Columns,
    "best": list[str],
    "int": Count,
    "float": Number,
    "float | None": Number | None,
    "float | ItemValues": NumberOrValues,
    "ItemValues | None": Values | None,
    "ArrayLike": list[Number],
    "float | ArrayLike": Number | list[Number],
}

#: What is said of a parameter that has names in a spec.
_NAMES = {"features": "The columns of features.", "best": "The best items, by name."}

#: What the items' table or their names decide, which no key says.
_OF_ITEMS = ("environment", "n_items")


class ConstructedSpec(Spec):
    """A model with a key for each parameter of a constructor that it does not declare itself.

    ``class DriftSpec(ConstructedSpec, of=DriftingEnvironment)`` is such a model. Items and columns have names in it.
    """

    _constructor: ClassVar[Any] = None

    def __init_subclass__(cls, of: Any = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if of is None:
            return
        cls._constructor = of
        hints, about = get_type_hints(of.__init__), _descriptions(of) | _NAMES
        for name, parameter in parameters(of).items():
            if name not in cls.__annotations__ and name not in _OF_ITEMS:
                is_choice = get_origin(hints[name]) is Literal
                kind = hints[name] if is_choice else _KINDS.get(name) or _KINDS[str(parameter.annotation)]
                default = ... if parameter.default is parameter.empty else parameter.default
                cls.__annotations__[name] = kind
                setattr(cls, name, Field(default, description=about.get(name)))

    def made(self, ground: Ground, place: Place, own: tuple[Sheet, str] | None = None, **known: Any) -> Any:
        """What the constructor makes of the keys: of numbers for each item, of features, and of items by number."""
        for name in parameters(self._constructor):
            if name in _OF_ITEMS:
                known.setdefault(name, ground.constraint.n_items)
                continue
            value, at = getattr(self, name), place.at(name)
            kind = _KINDS.get(name) or type(self).__annotations__[name]
            if kind is Columns:
                value = ground.features(value).astype(np.float64)
            elif name in _KINDS:
                value = ground.numbers(value, at)
            elif kind in (NumberOrValues, Values | None) and not isinstance(value, float | None):
                value = read_values(value, ground, at, own)
            known[name] = value
        return self._constructor(**known)


def _descriptions(kind: Any) -> dict[str, str]:
    """The first sentence that the docstring of a class says of each parameter, without formulas."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("Parameters\n----------\n")[2].split("\n\n")[0]
    found: dict[str, str] = {}
    for names, about in re.findall(r"^(\w[^:\n]*) : .*\n((?: .*(?:\n|$))+)", text, re.MULTILINE):
        words = re.sub(r",? :math:`[^`]*`|``", "", " ".join(about.split()))
        found |= dict.fromkeys(names.split(", "), words.partition(". ")[0].rstrip(".") + ".")
    return found
