"""How much a request may ask of the server."""

from __future__ import annotations

import math
import re
from typing import Any

from pydantic_core import to_json

from matroid_bandits._util.names import encode
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint, FormSize
from matroid_bandits.exceptions import LimitError, MalformedRequestError
from matroid_bandits.service._settings import Settings

#: Keys of stored forms that hold a number of items, which costs memory before anything is checked.
_SIZES = ("n_items", "rank", "capacity")

#: Kinds of specs with several rows for an item, or several items in a row.
_SEVERAL_ROWS = ("sets", "transversal")

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
    work, size = constraint.work, constraint.largest_size
    if n * work > settings.max_work:
        per = "items of the campaign" if work == constraint.n_items else "a tenth of the additions within its budget"
        raise LimitError(
            f"expected at most {settings.max_work:,} items in a batch, requests times {per}; got {n:,} x {work:,}"
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
            _check_sets(part, settings)
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
    if isinstance(n, int) and not isinstance(n, bool) and n > most:
        raise LimitError(f"expected {name} to be at most {most:,}, got {shown(n)}")


def _check_shape(shape: Any, settings: Settings) -> None:
    """A matrix without numbers is given by its shape alone."""
    if isinstance(shape, list) and all(isinstance(n, int) for n in shape):
        for n in shape:
            _check_number("shape", n, settings.max_items)
        if len(shape) > 2 or math.prod(shape) > settings.max_work:
            raise LimitError(f"expected a shape of at most {settings.max_work:,} numbers, got {shown(shape)}")


def _check_sets(form: dict[str, Any], settings: Settings) -> None:
    """Listed sets are kept as a matrix with a row for each and a column per item."""
    listed = form.get("sets") if "format" in form else form.get("rows") if form.get("kind") == "sets" else None
    if isinstance(listed, list):
        n_items = _weigh(form).n_items
        if len(listed) * n_items > settings.max_work:
            raise LimitError(
                f"expected at most {settings.max_work:,} items in listed sets, sets times items; got "
                f"{len(listed):,} x {n_items:,}"
            )


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


def _weigh(form: Any) -> FormSize:
    """The items of a constraint, those of all its operations together, and how many parts it is made of."""
    if not isinstance(form, dict):
        return FormSize(0, 0, 0)
    if "format" in form:
        return Constraint.form_size(form)
    parts = form.get("parts")
    inner = [part for part in [form.get("of"), *(parts if isinstance(parts, list) else ())] if isinstance(part, dict)]
    if inner:
        sizes = [_weigh(part) for part in inner]
        together = max if form.get("kind") == "intersection" else sum
        n_items = together(size.n_items for size in sizes)
        return FormSize(
            n_items, n_items + sum(size.n_items_in_all for size in sizes), sum(size.n_parts for size in sizes)
        )
    n_items = _n_rows(form)
    return FormSize(n_items, n_items, 1)


def _n_rows(form: dict[str, Any]) -> int:
    """The items that the rows of a spec list."""
    rows = form.get("rows")
    if not isinstance(rows, list):
        return 0
    if form.get("kind") not in _SEVERAL_ROWS:
        return len(rows)
    named = [row.get(str(form.get("item", "item"))) for row in rows if isinstance(row, dict)]
    lists = (value if isinstance(value, list) else [value] for value in named)
    return len({name for names in lists for name in names if isinstance(name, str)})


def _length(label: Any) -> int:
    """Characters of a label in JSON, its quotes apart."""
    return len(label) if isinstance(label, str) else len(to_json(encode(label, "label")))


#: Ids of requests, as JSON Schema says it; servers take spaces at both ends of a header away.
REQUEST_ID = "^[!-~]([ -~]{0,198}[!-~])?$"
_REQUEST_ID = re.compile(REQUEST_ID)


def check_request_id(value: str) -> str:
    """The id that a client gave its request; raise unless it is 1 to 200 printable ASCII characters."""
    if _REQUEST_ID.fullmatch(value) is None:
        raise MalformedRequestError(
            f"expected Idempotency-Key to be 1 to 200 printable ASCII characters, got {len(value)} characters"
        )
    return value
