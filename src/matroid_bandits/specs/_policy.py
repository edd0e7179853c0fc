"""The section ``policies``: the name of each policy with its constructor's parameters."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, model_validator

from matroid_bandits._util import literature
from matroid_bandits._util.literature import known_as
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.policies import DETECTORS, POLICIES, Detector, Policy
from matroid_bandits.specs._code import check_arguments, check_code, import_class, made, parameters
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._spec import Spec, check_known_keys, mistake, nested


def _check_policy(name: str, info: ValidationInfo) -> str:
    if ":" not in name and name not in POLICIES:
        raise unknown_policy(name)
    return check_code(name, "policy", info)


def _check_detector(name: str, info: ValidationInfo) -> str:
    if ":" not in name and name not in DETECTORS:
        known = ", ".join(DETECTORS)
        raise mistake(f"expected a detector, one of {known}; got {shown(name)}{did_you_mean(name, DETECTORS)}")
    return check_code(name, "detector", info)


def _own_policies() -> dict[str, type[Policy]]:
    """The policies of the package, without those that users have defined."""
    return {name: kind for name, kind in POLICIES.items() if kind.__module__.startswith("matroid_bandits.")}


#: A policy of the package, or ``module:Class``, which imports code; JSON Schema marks it with ``x-imports-code``.
PolicyName = Annotated[
    str,
    AfterValidator(_check_policy),
    Field(
        json_schema_extra={
            "anyOf": [{"enum": [*_own_policies()]}, {"pattern": ":", "x-imports-code": "module:Class"}]
        }
    ),
]

#: A detector of the package, or ``module:Class``, which imports code.
DetectorName = Annotated[
    str,
    AfterValidator(_check_detector),
    Field(json_schema_extra={"anyOf": [{"enum": [*DETECTORS]}, {"pattern": ":", "x-imports-code": "module:Class"}]}),
]


class PolicySpec(Spec):
    """A policy: its name and its constructor's parameters.

    Where a parameter is called `features`, names of columns stand for the numbers in them; in `items`, the items'
    names stand for their numbers. The `base` of a policy around another, such as `Restarting`, is a policy again,
    and a `detector` is a `DetectorSpec`.

    Examples
    --------
    >>> from matroid_bandits.specs import ConstraintSpec, parse
    >>> ground = parse(ConstraintSpec, {"kind": "uniform", "rows": ["a", "b"], "rank": 1}).ground()
    >>> parse(PolicySpec, {"policy": "OMM", "scale": 2}).make(ground)
    OMM(scale=2.0)
    """

    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: add_parameters(schema))

    policy: PolicyName = Field(description="The name of a policy, or module:Class for one of your own.")

    @model_validator(mode="before")
    @classmethod
    def _check_parameters(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, dict) and isinstance(name := data.get("policy"), str) and name in POLICIES:
            check_known_keys(data, dict.fromkeys([*cls.model_fields, *parameters(POLICIES[name])]))
            for key in _needed(POLICIES[name]):
                if key not in data and key not in (data.get("vary") or {}):
                    raise mistake("expected a value, but the key is missing", key)
            if "base" in parameters(POLICIES[name]):
                for key, model in (("base", PolicySpec), ("detector", DetectorSpec)):
                    if key in data:
                        data = data | {key: nested(model, data, key, info)}
        return data

    def make(self, ground: Ground, place: Place | None = None) -> Policy:
        """Return the policy, checked to be able to play on these items."""
        return self._make(dict(self.model_extra or {}), ground, Place() if place is None else place)

    def make_all(self, ground: Ground, place: Place | None = None) -> Policy | list[Policy]:
        """Return the policy, or the list of a family's."""
        return self.make(ground, place)

    def _make(self, values: dict[str, Any], ground: Ground, place: Place) -> Policy:
        """The policy with these values of its parameters."""
        kind = (
            POLICIES[self.policy] if ":" not in self.policy else import_class(self.policy, place.at("policy"), Policy)
        )
        check_arguments("policy", values, kind, place)
        if "base" in parameters(kind) and isinstance(values.get("base"), PolicySpec):
            values["base"] = values["base"].make(ground, place.at("base"))
            if "detector" in values:
                values["detector"] = values["detector"].make(place.at("detector"))
        features, items = values.get("features"), values.get("items")
        if isinstance(features, list) and not any(isinstance(row, list) for row in features):
            for column in features:
                if not isinstance(column, str):
                    raise place.at("features").error(f"expected names of columns, got {shown(column)}")
            values["features"] = ground.features(features)
        if isinstance(items, list) and ground.rows:  # a stored constraint has labels, and no rows
            at = place.at("items")
            values["items"] = [ground.numbers([e], at)[0] if isinstance(e, str) else e for e in items]
        policy: Policy = made(kind, values, place)
        try:
            policy.prepare(ground.constraint)
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error
        return policy


class DetectorSpec(Spec):
    """A change detector: its name and its constructor's parameters."""

    model_config = ConfigDict(extra="allow")

    kind: DetectorName = Field(description="The name of a detector, or module:Class for one of your own.")

    def make(self, place: Place | None = None) -> Detector:
        """Return the detector."""
        place = Place() if place is None else place
        kind = DETECTORS[self.kind] if ":" not in self.kind else import_class(self.kind, place.at("kind"), Detector)
        values = dict(self.model_extra or {})
        check_arguments("kind", values, kind, place)
        detector: Detector = made(kind, values, place)
        return detector


def unknown_policy(name: str, *keys: str) -> Exception:
    """The mistake that there is no policy of this name."""
    hint = f"; {other}" if (other := known_as(name, literature.POLICIES)) else did_you_mean(name, POLICIES)
    return mistake(f"expected a policy, one of {', '.join(POLICIES)}; got {shown(name)}{hint}", *keys)


def add_parameters(schema: dict[str, Any], *, is_family: bool = False) -> None:
    """Add to the JSON Schema which parameters each policy of the package takes, in a family by ``vary`` too."""
    schema["allOf"] = [_policy_case(name, kind, is_family) for name, kind in _own_policies().items()]
    schema.pop("required", None)  # where it is left out, the key above is the policy's name


def _policy_case(name: str, kind: type[Policy], is_family: bool = False) -> dict[str, Any]:
    """The JSON Schema of a table that names this policy."""
    own = {"policy": True, "vary": True} if is_family else {"policy": True}
    properties = own | _properties(kind)
    case = {"properties": properties, "additionalProperties": False}
    if not is_family:
        case["required"] = _needed(kind)
        if {"features", "n_features"} <= properties.keys():  # what the items keep, or what comes with requests
            case["oneOf"] = [{"required": ["features"]}, {"required": ["n_features"]}]
    return {"if": {"properties": {"policy": {"const": name}}, "required": ["policy"]}, "then": case}


def _needed(kind: type[Any]) -> list[str]:
    return [key for key, about in parameters(kind).items() if about.default is about.empty]


def _properties(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of each parameter of a constructor."""
    hints = get_type_hints(kind.__init__, include_extras=True)
    return {key: _json_type(key, hints.get(key)) for key in parameters(kind)}


def _json_type(name: str, hint: Any) -> dict[str, Any]:
    if get_origin(hint) in (Union, UnionType) and type(None) in get_args(hint) and len(get_args(hint)) == 2:
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if hint is Policy:
        # Written out instead of a reference: this part is used in several documents, and no policy nests deeper.
        bases = [_policy_case(name, kind) for name, kind in _own_policies().items() if "base" not in parameters(kind)]
        return {
            "type": "object",
            "properties": {"policy": {"type": "string"}},
            "required": ["policy"],
            "allOf": bases,
        }
    if hint is Detector:
        return {"anyOf": [_detector_case(name, kind) for name, kind in DETECTORS.items()]}
    if name == "features":
        return {"type": "array", "description": "Names of columns, or a list of numbers for each item."}
    if name == "items":
        return {"type": "array", "items": {"type": ["string", "number", "array"]}, "description": "Names of items."}
    return {float: {"type": "number"}, int: {"type": "integer"}, bool: {"type": "boolean"}}.get(hint, {})


def _detector_case(name: str, kind: type[Detector]) -> dict[str, Any]:
    properties = {"kind": {"const": name}, **_properties(kind)}
    return {"properties": properties, "required": ["kind", *_needed(kind)], "additionalProperties": False}
