"""Names of items in JSON: strings, numbers, and lists of them for tuples such as edges; and values by name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from matroid_bandits._util.names import decode
from matroid_bandits._util.text import shown
from matroid_bandits.specs._spec import check_number, mistake

_DEEPEST = 4


def read_label(value: Any, depth: int = 0) -> Any:
    """A label from its JSON form: a string or number as it is, a list as a tuple."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        return tuple(read_label(part, depth + 1) for part in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise mistake(f"expected a label, which is a string, a number or a list of them; got {shown(value)}")
    if isinstance(value, float):
        check_number(value)
    return decode(value)


def read_pairs(value: Any, what: str) -> dict[Any, Any]:
    """Values by label, from an object or from a list of pairs."""
    if isinstance(value, dict):
        return {read_label(key): entry for key, entry in value.items()}
    if not isinstance(value, list):
        raise mistake(f"expected {what} by label, as an object or a list of pairs; got {shown(value)}")
    pairs: dict[Any, Any] = {}
    for pair in value:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise mistake(f"expected pairs of a label and {what}, got {shown(pair)}")
        label = read_label(pair[0])
        if label in pairs:
            raise mistake(f"expected each label once, got {shown(label)} twice")
        pairs[label] = pair[1]
    return pairs


def _read_priors(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        return value[0], check_number(value[1])
    priors = {}
    for label, prior in read_pairs(value, "a prior").items():
        if not isinstance(prior, (list, tuple)) or len(prior) != 2:
            raise mistake(f"expected a mean and how many plays it is worth, got {shown(prior)}")
        priors[label] = (check_number(prior[0]), check_number(prior[1]))
    return priors


def _read_features(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list) and all(_is_row(row) for row in value):
        return [_read_row(row) for row in value]
    return {label: _read_row(row) for label, row in read_pairs(value, "a row of numbers").items()}


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and not (len(row) == 2 and isinstance(row[1], list))


def _read_row(row: Any) -> list[float]:
    if not isinstance(row, list):
        raise mistake(f"expected a row of numbers, got {shown(row)}")
    return [check_number(number) for number in row]


def _label_schema(depth: int) -> dict[str, Any]:
    kinds: list[Any] = [{"type": "string"}, {"type": "number"}]
    return {"anyOf": [*kinds, {"type": "array", "items": _label_schema(depth - 1)}] if depth else kinds}


LABEL_SCHEMA = _label_schema(_DEEPEST) | {
    "description": "A string, a number, or an array of them for a tuple such as an edge."
}
_ROW = {"type": "array", "items": {"type": "number"}}
_PRIOR = _ROW | {"minItems": 2, "maxItems": 2}


def _by_label(values: dict[str, Any], what: str) -> dict[str, Any]:
    pair = {"type": "array", "prefixItems": [LABEL_SCHEMA, values], "minItems": 2, "maxItems": 2}
    return {
        "anyOf": [{"type": "object", "additionalProperties": values}, {"type": "array", "items": pair}],
        "description": f"{what} by label, as an object or a list of pairs.",
    }


#: What an item is called.
Label = Annotated[Any, BeforeValidator(read_label), WithJsonSchema(LABEL_SCHEMA)]

_TYPICAL = [
    {"enum": ["typical", None]},
    {"type": "array", "prefixItems": [{"const": "typical"}, {"type": "number"}], "minItems": 2, "maxItems": 2},
]

#: A mean and how many plays it is worth, by label; some callers allow the word "typical" too, or it and its plays.
Priors = Annotated[
    Any,
    BeforeValidator(_read_priors),
    WithJsonSchema({"anyOf": [*_by_label(_PRIOR, "Mean and plays")["anyOf"], *_TYPICAL]}),
]

#: A row of numbers for each item: in the items' order, or by label.
Features = Annotated[
    Any,
    BeforeValidator(_read_features),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _ROW}, *_by_label(_ROW, "")["anyOf"], {"type": "null"}]}),
]

#: Weights of a decision: in the order of its items, or by label.
WEIGHTS_SCHEMA: dict[str, Any] = {
    "anyOf": [_ROW, *_by_label({"type": "number"}, "Weights")["anyOf"]],
    "description": "Weights in the order of the decision's items, or by label: an object, or a list of pairs.",
}


def _read_weights(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        return value
    return read_pairs(value, "a weight")


#: What the items of a decision were worth.
Weights = Annotated[Any, BeforeValidator(_read_weights), WithJsonSchema(WEIGHTS_SCHEMA)]
