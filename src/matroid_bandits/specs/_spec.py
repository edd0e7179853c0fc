"""The base of every model: keys checked in our own words, and what reads files or imports code marked as such.

A model refuses a file name, or code, unless its validation context says ``allow_files`` or ``allow_code``: code
that takes specs from strangers is safe by default.
"""

from __future__ import annotations

import difflib
import math
import re
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError, from_json

from matroid_bandits._util.literature import other_word
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import MalformedRequestError
from matroid_bandits.specs._place import Place

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_DEEPEST = 64

#: What is said of data that is nested deeper, or so deep that its text cannot be read.
TOO_DEEP = f"expected at most {_DEEPEST} tables and lists in each other, got more"
_MOST_BITS = 10_000  # more, and not even an error message can be printed


class Spec(BaseModel):
    """Base class of the models: unknown and missing keys are errors that suggest the key that may have been meant.

    Examples
    --------
    >>> class Slot(Spec):
    ...     name: str
    ...     size: int = 1
    >>> parse(Slot, {"name": "top", "siez": 2})
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.DataError: siez: unknown key; did you mean 'size'?
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key, about in cls.model_fields.items():
                if about.is_required() and key not in data:
                    others = [other for other in data if other not in cls.model_fields]
                    missing = f"expected {_kind_of(about.annotation)}, but the key is missing"
                    raise mistake(f"{missing}{closest(key, others)}", key)
            if cls.model_config.get("extra") == "forbid":
                check_known_keys(data, cls.model_fields)
        return data


def parse(
    model: type[T] | Any,
    data: Any,
    place: Place | None = None,
    *,
    allow_files: bool = False,
    allow_code: bool = False,
) -> T:
    """Parse plain data into a spec model; errors name the key.

    Parameters
    ----------
    model : a Spec, or a union of them
        What to expect.
    data : dict
        What a TOML or JSON file, or a body, says.
    place : Place, optional
        Where it was read, for messages.
    allow_files, allow_code : bool, default False
        Whether it may name files to read, and code to import.

    Raises
    ------
    DataError
        With the key that is wrong, what was expected there and what was given.

    Examples
    --------
    >>> from matroid_bandits.specs import ConstraintSpec
    >>> parse(ConstraintSpec, {"kind": "uniform", "rows": ["a", "b"], "rank": 1}).ground().constraint
    UniformMatroid(n_items=2, rank=1)
    >>> parse(ConstraintSpec, {"kind": "uniform", "file": "/etc/passwd", "rank": 1})
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.DataError: file: expected no file, since none are read here; got '/etc/passwd'
    """
    place = Place() if place is None else place
    _check_sane(data, place)
    try:
        found: T = TypeAdapter(model).validate_python(
            data, context={"allow_files": allow_files, "allow_code": allow_code}
        )
    except ValidationError as error:
        at, message = explain(error, data, place)
        raise at.error(message) from None
    return found


def parse_json(model: type[M], body: bytes) -> M:
    """Parse a JSON body into a spec model; the body may name neither files nor code.

    Raises
    ------
    MalformedRequestError
        The body is no JSON.
    DataError
        With the key that is wrong, what was expected there and what was given.

    Examples
    --------
    >>> class Slot(Spec):
    ...     name: str
    >>> parse_json(Slot, b'{"name": "top"}')
    Slot(name='top')
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            raise MalformedRequestError(f"expected JSON, got what is none ({first['ctx']['error']})") from None
        at, message = explain(error, from_json(body), Place())
        raise at.error(message) from None


def _check_sane(data: Any, place: Place) -> None:
    """Raise when data is nested unreasonably deep, or holds what no library can print."""
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(data, ())]
    while waiting:
        value, keys = waiting.pop()
        wrong = ""
        if len(keys) > _DEEPEST:
            keys, wrong = (), TOO_DEEP
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            wrong = f"expected an integer of a sensible size, got {shown(value)}"
        elif isinstance(value, str) and not _is_text(value):
            wrong = f"expected text that UTF-8 can hold, got {shown(value)}"
        elif isinstance(value, dict):
            if not all(isinstance(key, str) and _is_text(key) for key in value):
                wrong = f"expected keys that UTF-8 can hold, got {shown(list(value))}"
            waiting += [(part, (*keys, key)) for key, part in value.items()]
        elif isinstance(value, list):
            waiting += [(part, (*keys, number)) for number, part in enumerate(value)]
        if wrong:
            for key in keys:
                place = place.at(key)
            raise place.error(wrong)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in value) if not value.isascii() else True


def mistake(message: str, *keys: str) -> PydanticCustomError:
    """An error for a validator to raise, about the value it was given or about a key below it."""
    return PydanticCustomError("mistake", "{message}", {"message": message, "keys": keys})


def check_known_keys(data: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise when a table has an unknown key."""
    for key in data:
        if key not in known:
            hint = did_you_mean(key, known) or f"; known are {', '.join(sorted(known))}"
            raise mistake(f"unknown key{hint}", str(key))


def closest(key: str, others: list[str]) -> str:
    """A hint at the key that may have been written for one that is missing; empty where none is close."""
    close = difflib.get_close_matches(key, [other for other in others if isinstance(other, str)], n=1, cutoff=0.7)
    return f"; the closest there is {shown(close[0])}" if close else ""


def explain(error: ValidationError, data: Any, place: Place) -> tuple[Place, str]:
    """Where the first mistake is, and what is wrong there in our words."""
    keys, message = _first_mistake(error, data)
    for key in keys:
        place = place.at(key)
    return place, message


def nested(model: type[T], data: Any, key: str, info: ValidationInfo) -> T:
    """The model that a key of a table describes, for a validator to call that looks at the table first."""
    try:
        found: T = TypeAdapter(model).validate_python(data[key], context=info.context)
    except ValidationError as error:
        keys, message = _first_mistake(error, data[key])
        raise mistake(message, key, *keys) from None
    return found


def _first_mistake(error: ValidationError, data: Any) -> tuple[tuple[Any, ...], str]:
    """The keys that lead to the first mistake, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    kind, given, about = first["type"], first["input"], first.get("ctx", {})
    keys: tuple[Any, ...] = ()
    for part in first["loc"]:  # names of alternatives are among the keys: whatever is not in the data
        if part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int):
            keys, data = (*keys, part), data[part]
    if kind == "mistake":
        return (*keys, *about["keys"]), about["message"]
    if kind.startswith("union_tag"):
        key = about["discriminator"].strip("'")
        if kind == "union_tag_not_found":
            return (*keys, key), "expected a string, but the key is missing"
        return (*keys, key), _expected_one_of(about["expected_tags"], given[key])
    if kind == "missing":
        return (*keys, first["loc"][-1]), "expected a value, but the key is missing"
    if kind == "extra_forbidden":
        return keys, "unknown key"
    if kind == "literal_error":
        return keys, _expected_one_of(about["expected"], given)
    return keys, f"expected {_WORDS.get(kind, first['msg'].removeprefix('Input should be '))}, got {shown(given)}"


def _expected_one_of(words: str, given: Any) -> str:
    listed = re.findall("'([^']*)'", words)
    return f"expected one of {', '.join(listed)}; got {shown(given)}{other_word(given, listed)}"


_WORDS = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def _kind_of(annotation: Any) -> str:
    """What a field holds, in words."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kind_of(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _kind_of(get_args(annotation)[0])
    if annotation is str or origin is Literal:
        return "a string"
    return {int: "an integer", float: "a number", list: "a list"}.get(origin or annotation, "a table")


def check_number(value: Any) -> float:
    """A finite number, as a float; booleans are none.

    Examples
    --------
    >>> check_number(3)
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mistake(f"expected a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:  # of an integer with hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise mistake(f"expected a finite number, got {shown(value)}")
    return number


def whole(value: Any) -> Any:
    """An integer that is written as a float, such as 3.0, as an integer; anything else as it is.

    Examples
    --------
    >>> whole(3.0), whole(3.5), whole("3.0")
    (3, 3.5, '3.0')
    """
    return int(value) if type(value) is float and value.is_integer() else value


def _check_columns(value: Any) -> Any:
    if isinstance(value, list):
        for name in value:
            if not isinstance(name, str):
                raise mistake(f"expected names of columns, got {shown(name)}")
        if not value:
            raise mistake("expected a column or more, got none")
    return value


def _check_file(name: str, info: ValidationInfo) -> str:
    if not name or "\0" in name:
        raise mistake(f"expected the name of a CSV file, got {shown(name)}")
    if not (info.context or {}).get("allow_files"):
        raise mistake(f"expected no file, since none are read here; got {shown(name)}")
    return name


#: A number, finite; an integer is one.
Number = Annotated[float, BeforeValidator(check_number)]

#: An integer, also where it is written 3.0, as JSON Schema has it.
Integer = Annotated[int, BeforeValidator(whole)]

#: An integer of at least 1.
Count = Annotated[
    Integer,
    AfterValidator(lambda n: n if n >= 1 else _refuse(f"expected a positive integer, got {shown(n)}")),
    Field(json_schema_extra={"minimum": 1}),
]

#: Names of columns, one or more.
Columns = Annotated[list[str], BeforeValidator(_check_columns), Field(json_schema_extra={"minItems": 1})]

#: The name of a CSV file, which is read; JSON Schema marks it with ``x-reads-file``.
FileName = Annotated[str, AfterValidator(_check_file), Field(json_schema_extra={"x-reads-file": True})]


def _refuse(message: str) -> Any:
    raise mistake(message)
