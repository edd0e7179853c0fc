"""How much a request may ask of the server."""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import to_json

from matroid_bandits._util.names import encode
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import LimitError, MalformedRequestError
from matroid_bandits.service._settings import Settings

#: Keys of stored forms that hold a number of items, which costs memory before anything is checked.
_SIZES = ("n_items", "rank", "capacity")

#: Lists of matroids' forms that have no entry per item.
_NO_ITEMS = ("vertices", "names", "capacities", "parent", "groups")

#: Every operation on a matroid (a dual, a truncation, a sum) keeps arrays of its items: all of them together have at
#: most this many times the items that a campaign may have.
_MOST_COPIES = 10

#: What an item of an answer counts for at least, in bytes: short labels cost time too.
_LEAST_BYTES = 32


def check_batch(n: int, settings: Settings) -> None:
    """Raise when a batch is too long."""
    if n > settings.max_batch:
        raise LimitError(f"expected a batch of at most {settings.max_batch}, got {n}")


def check_constraint(constraint: Constraint, settings: Settings) -> None:
    """Raise when a constraint has more items, or longer labels, than the server takes."""
    if constraint.n_items > settings.max_items:
        raise LimitError(f"expected at most {settings.max_items:,} items, got {constraint.n_items:,}")
    if constraint.has_labels:
        for label in constraint.labels:
            n = _length(label)
            if n > settings.max_label:
                raise LimitError(f"expected labels of at most {settings.max_label} characters, got one of {n}")


def check_work(n: int, constraint: Constraint, settings: Settings) -> None:
    """Raise when a batch of requests has too many items to look at, or too long an answer."""
    n_items, size = constraint.n_items, constraint.largest_size
    if n * n_items > settings.max_work:
        raise LimitError(
            f"expected at most {settings.max_work:,} items in a batch, requests times items of the campaign; "
            f"got {n:,} x {n_items:,}"
        )
    if n * size * max(settings.max_label, _LEAST_BYTES) <= settings.max_answer or not n * size:
        return
    longest = max((_length(label) for label in constraint.labels), default=0) if constraint.has_labels else 0
    most = n * size * max(longest, _LEAST_BYTES)
    if most > settings.max_answer:
        raise LimitError(
            f"expected a batch whose answer takes at most {settings.max_answer:,} bytes; got {n:,} requests for "
            f"up to {size:,} items, {most:,} bytes"
        )


def check_sizes(form: Any, settings: Settings) -> None:
    """Raise when the JSON of a spec, which may be small, speaks of more items, parts or features than allowed."""
    waiting = [form]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key in _SIZES:
                _check_number(key, part.get(key), settings.max_items)
            _check_number("n_features", part.get("n_features"), settings.max_features)
            _check_shape(part.get("shape"), settings)
            if "policy" in part:
                _check_number("the number of features", _width(part.get("features")), settings.max_features)
            waiting += part.values()
        elif isinstance(part, list):
            waiting += [entry for entry in part if isinstance(entry, (dict, list))]
    if isinstance(form, dict):
        weighed = [_weigh(form.get(key)) for key in ("constraint", "matroid")]
        n_items, n_copies, n_parts = (sum(numbers) for numbers in zip(*weighed, strict=True))
        if n_parts > settings.max_parts:
            raise LimitError(f"expected at most {settings.max_parts:,} parts of a matroid, got {n_parts:,}")
        if n_items > settings.max_items:
            raise LimitError(f"expected at most {settings.max_items:,} items, got {n_items:,}")
        if n_copies > _MOST_COPIES * settings.max_items:
            most = _MOST_COPIES * settings.max_items
            raise LimitError(f"expected at most {most:,} items in all operations of a matroid, got {n_copies:,}")


def _check_number(name: str, n: Any, most: int) -> None:
    if isinstance(n, int) and not isinstance(n, bool) and abs(n) > most:
        raise LimitError(f"expected {name} to be at most {most:,}, got {shown(n)}")


def _check_shape(shape: Any, settings: Settings) -> None:
    """A matrix without numbers is given by its shape alone."""
    if isinstance(shape, list) and all(isinstance(n, int) for n in shape):
        for n in shape:
            _check_number("shape", n, settings.max_items)
        if len(shape) > 2 or math.prod(shape) > settings.max_work:
            raise LimitError(f"expected a shape of at most {settings.max_work:,} numbers, got {shown(shape)}")


def _width(features: Any) -> int:
    """How many features an item has: names of columns, rows of numbers, or rows by label."""
    if isinstance(features, dict):
        features = list(features.values())
    if not isinstance(features, list):
        return 0
    rows = [row for row in features if isinstance(row, list)]
    return max(map(_longest, rows)) if rows else len(features)


def _longest(row: list[Any]) -> int:
    return max(len(row), *(len(part) for part in row if isinstance(part, list)), 0)


def _weigh(form: Any) -> tuple[int, int, int]:
    """The items of a matroid's form, the items of all its operations together, and how many parts it is made of."""
    if not isinstance(form, dict):
        return 0, 0, 0
    inner = [form.get(key) for key in ("of", "base")]
    parts = form.get("parts")
    if isinstance(parts, list):
        inner += parts
    found = [_weigh(part) for part in inner if isinstance(part, dict)]
    if found:
        n_items = sum(n for n, _, _ in found)
        return n_items, n_items + sum(n for _, n, _ in found), sum(n for _, _, n in found)
    n = form.get("n_items")
    n_items = n if isinstance(n, int) else 0
    lists = (value for key, value in form.items() if isinstance(value, list) and key not in _NO_ITEMS)
    n_items = max([n_items, *map(len, lists)])
    return n_items, n_items, 1


def _length(label: Any) -> int:
    """Characters of a label in JSON, its quotes apart."""
    return len(label) if isinstance(label, str) else len(to_json(encode(label, "label")))


def check_request_id(value: str) -> str:
    """The id that a client gave its request; raise unless it is 1 to 200 printable ASCII characters."""
    if not 0 < len(value) <= 200 or not value.isascii() or not value.isprintable():
        raise MalformedRequestError(
            f"expected Idempotency-Key to be 1 to 200 printable ASCII characters, got {len(value)} characters"
        )
    return value
