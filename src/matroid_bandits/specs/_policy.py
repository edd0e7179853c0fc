"""The section ``policies``: who plays, by the name of a policy with its constructor's parameters."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, model_validator

from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.policies import POLICIES, Policy
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._spec import Spec, check_known_keys, mistake

_CODE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def _check_policy(name: str, info: ValidationInfo) -> str:
    if ":" not in name:
        if name not in POLICIES:
            raise unknown_policy(name)
    elif not (info.context or {}).get("allow_code"):
        raise mistake(f"expected the name of a policy, since no code is imported here; got {shown(name)}")
    elif not _CODE.fullmatch(name):
        raise mistake(f"expected a policy of one's own as module:Class, got {shown(name)}")
    return name


#: A policy of the package, or ``module:Class``, which imports code; JSON Schema marks it with ``x-imports-code``.
PolicyName = Annotated[
    str, AfterValidator(_check_policy), Field(json_schema_extra={"x-imports-code": "module:Class"})
]


class PolicySpec(Spec):
    """A policy by its name, and its constructor's parameters.

    Where a parameter is called `features`, names of columns stand for the numbers in them; in `items`, the items'
    names stand for their numbers.

    Examples
    --------
    >>> from matroid_bandits.specs import UniformSpec, parse
    >>> ground = UniformSpec(kind="uniform", rows=["a", "b"], rank=1).ground()
    >>> parse(PolicySpec, {"policy": "OMM", "scale": 2}).make(ground)
    OMM(scale=2.0)
    """

    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: add_parameters(schema))

    policy: PolicyName = Field(description="The name of a policy, or module:Class for one of your own.")

    @model_validator(mode="before")
    @classmethod
    def _check_parameters(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(name := data.get("policy"), str) and name in POLICIES:
            check_known_keys(data, dict.fromkeys([*cls.model_fields, *parameters(POLICIES[name])]))
        return data

    def make(self, ground: Ground, place: Place | None = None) -> Policy:
        """The policy, which must be able to play on these items."""
        return self._make(dict(self.model_extra or {}), ground, Place() if place is None else place)

    def _make(self, values: dict[str, Any], ground: Ground, place: Place) -> Policy:
        """The policy with these values of its parameters."""
        kind = POLICIES[self.policy] if ":" not in self.policy else import_policy(self.policy, place)
        known = parameters(kind)
        for key in values:
            if key not in known:
                hint = did_you_mean(key, known) or f"; known are {', '.join(sorted(['policy', *known]))}"
                raise place.at(key).error(f"unknown key{hint}")
        features, items = values.get("features"), values.get("items")
        if isinstance(features, list) and not any(isinstance(row, list) for row in features):
            for column in features:
                if not isinstance(column, str):
                    raise place.at("features").error(f"expected names of columns, got {shown(column)}")
            values["features"] = ground.features(features)
        if isinstance(items, list):
            at = place.at("items")
            values["items"] = [ground.numbers([e], at)[0] if isinstance(e, str) else e for e in items]
        try:
            policy = kind(**values)
            policy.check(ground.matroid)
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise place.error(f"{kind.__name__}: {error}") from error
        return policy


def unknown_policy(name: str, *keys: str) -> Exception:
    """The mistake that there is no policy of this name."""
    hint = did_you_mean(name, POLICIES)
    return mistake(f"expected a policy, one of {', '.join(POLICIES)}; got {shown(name)}{hint}", *keys)


def import_policy(name: str, place: Place) -> type[Policy]:
    """The class that ``module:Class`` names; a module beside the spec's file is found too, after installed ones."""
    module, _, kind = name.partition(":")
    at = place.at("policy")
    beside = str(place.file.parent.resolve()) if place.file is not None else None
    if beside is not None:
        sys.path.append(beside)
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except Exception as error:  # whatever the module itself raises
        raise at.error(f"{module} cannot be imported ({type(error).__name__}: {error})") from error
    finally:
        if beside is not None:
            sys.path.remove(beside)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise at.error(f"expected a Policy called {kind} in {module}, got {shown(found)}")
    return found


def parameters(kind: type[Policy]) -> dict[str, Any]:
    """The parameters of a policy's constructor, by name."""
    listed = inspect.signature(kind).parameters
    return {
        name: about for name, about in listed.items() if about.kind not in (about.VAR_POSITIONAL, about.VAR_KEYWORD)
    }


def add_parameters(schema: dict[str, Any], *, is_family: bool = False) -> None:
    """Add to the JSON Schema which parameters each policy of the package takes, in a family by ``vary`` too."""
    cases: list[Any] = []
    for name, kind in POLICIES.items():
        if not kind.__module__.startswith("matroid_bandits."):
            continue
        hints = get_type_hints(kind.__init__, include_extras=True)
        properties = {key: _json_type(key, hints.get(key)) for key in parameters(kind)}
        needed = [key for key, about in parameters(kind).items() if about.default is about.empty]
        own = {"policy": True, "vary": True} if is_family else {"policy": True}
        case = {"properties": {**own, **properties}, "additionalProperties": False}
        if not is_family:
            case["required"] = needed
        cases.append({"if": {"properties": {"policy": {"const": name}}, "required": ["policy"]}, "then": case})
    schema["allOf"] = cases
    schema.pop("required", None)  # where it is left out, the key above is the policy's name


def _json_type(name: str, hint: Any) -> dict[str, Any]:
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if name == "features":
        return {"type": "array", "description": "Names of columns, or a list of numbers for each item."}
    if name == "items":
        return {"type": "array", "items": {"type": ["string", "integer"]}, "description": "Names of items."}
    return {float: {"type": "number"}, int: {"type": "integer"}, bool: {"type": "boolean"}}.get(hint, {})
