"""How much a request may ask of the server."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from matroid_bandits._util.names import encode
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import LimitError, MalformedRequestError
from matroid_bandits.service._settings import Settings

#: Keys of stored forms that hold a number of items, which costs memory before anything is checked.
_SIZES = ("n_items", "rank", "capacity")


def check_batch(n: int, settings: Settings) -> None:
    """Raise when a batch is too long."""
    if n > settings.max_batch:
        raise LimitError(f"expected a batch of at most {settings.max_batch}, got {n}")


def check_matroid(matroid: Constraint, settings: Settings) -> None:
    """Raise when a matroid has more items, or longer labels, than the server takes."""
    if matroid.n_items > settings.max_items:
        raise LimitError(f"expected at most {settings.max_items:,} items, got {matroid.n_items:,}")
    if matroid.has_labels:
        for label in matroid.labels:
            n = len(label) if isinstance(label, str) else len(to_json(encode(label, "label")))
            if n > settings.max_label:
                raise LimitError(f"expected labels of at most {settings.max_label} characters, got one of {n}")


def check_sizes(form: Any, settings: Settings) -> None:
    """Raise when a matroid's form, which may be small, speaks of more items than the server takes."""
    waiting = [form]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key in _SIZES:
                n = part.get(key)
                if isinstance(n, int) and not isinstance(n, bool) and abs(n) > settings.max_items:
                    raise LimitError(f"expected {key} to be at most {settings.max_items:,}, got more")
            waiting += part.values()
        elif isinstance(part, list):
            waiting += [entry for entry in part if isinstance(entry, (dict, list))]


def check_request_id(value: str) -> str:
    """The id that a client gave its request; raise unless it is 1 to 200 printable ASCII characters."""
    if not 0 < len(value) <= 200 or not value.isascii() or not value.isprintable():
        raise MalformedRequestError(
            f"expected Idempotency-Key to be 1 to 200 printable ASCII characters, got {len(value)} characters"
        )
    return value
