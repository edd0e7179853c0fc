"""Words for people: plurals, what was given, what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

#: More than this of a value is cut in a message.
_MOST = 100

#: No more words than this are compared with one that is unknown.
_MOST_WORDS = 5000


def counted(n: int, noun: str) -> str:
    """A number and its noun, in the plural where it should be.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def did_you_mean(word: Any, words: Iterable[Any]) -> str:
    """A hint at the known word closest to an unknown one; empty where none is close.

    Of very many words the first thousands are looked at: a hint is not worth seconds.

    Examples
    --------
    >>> did_you_mean("grafic", ["graphic", "linear"])
    "; did you mean 'graphic'?"
    """
    if not isinstance(word, str):
        return ""
    by_fold = {other.lower(): other for other in islice(words, _MOST_WORDS) if isinstance(other, str)}
    close = difflib.get_close_matches(word.lower(), by_fold, n=1)
    return f"; did you mean {by_fold[close[0]]!r}?" if close else ""


def shown(value: Any) -> str:
    """What was given, short enough for a message.

    Examples
    --------
    >>> shown("ten"), shown(np.float64(0.5)), shown(10**400)
    ("'ten'", '0.5', 'an integer of more than 100 digits')
    >>> shown([16**5000])
    'a list that is too large to show'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) >= 10**_MOST:
        return f"an integer of more than {_MOST} digits"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of an integer of thousands of digits, or lists in lists, somewhere in it
        text = f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"
