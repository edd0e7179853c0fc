"""Words for people: plurals, what was given, what may have been meant."""

from __future__ import annotations

import difflib
import heapq
import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

#: More than this of a value is cut in a message.
_MOST = 100

#: No more words than this are compared with one that is unknown, and no more letters of them.
_MOST_WORDS = 5000
_MOST_LETTERS = 50_000

#: A longer word gets no hint.
_LONGEST = 50

#: Words are close when at least this part of their letters is the same, in the same order.
_CLOSE = 0.6

#: Of the words with nearly the same letters, this many are compared letter by letter, which is slow.
_MOST_LIKELY = 5

#: Most decimals that a column adds to those of its format, and most characters of a number with added decimals.
_MOST_MORE = 4
_MOST_DIGITS = 9

#: What rounding leaves of sums that should be zero is smaller than this.
_ZERO = 1e-12


def counted(n: int, noun: str) -> str:
    """A number and its noun, in the plural where it should be."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def listed(names: Iterable[str]) -> str:
    """Names one after the other, in quotation marks where some of them could be taken for several or for none."""
    given = list(names)
    is_plain = all(name == printable(name).strip() and name and not set(name) & set(",;'\"") for name in given)
    return ", ".join(given if is_plain else map(repr, given)) or "none"


def did_you_mean(word: Any, words: Iterable[Any]) -> str:
    """A hint at the known word closest to an unknown one; empty where none is close."""
    # Of very many words the first are looked at, and of a very long one nothing is said: a hint is not worth seconds.
    if not isinstance(word, str) or len(word) > _LONGEST:
        return ""
    matcher = difflib.SequenceMatcher(b=word.lower())
    likely: list[tuple[float, str]] = []
    n_letters = 0
    for other in islice(words, _MOST_WORDS):
        if not isinstance(other, str):
            continue
        matcher.set_seq1(other.lower())
        if matcher.real_quick_ratio() < _CLOSE:  # by their lengths alone
            continue
        n_letters += len(other)
        if n_letters > _MOST_LETTERS:
            break
        if (bound := matcher.quick_ratio()) >= _CLOSE:  # by how often each letter is there
            likely.append((bound, other))
    best, found = _CLOSE, None
    for bound, other in heapq.nlargest(_MOST_LIKELY, likely):
        matcher.set_seq1(other.lower())
        if bound >= best and (ratio := matcher.ratio()) >= best:
            best, found = ratio, other
    return "" if found is None else f"; did you mean {shown(found)}?"


def shown(value: Any) -> str:
    """What was given, short enough for a message."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) >= 10**_MOST:
        return f"an integer of more than {_MOST} digits"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of an integer of thousands of digits, or lists in lists, somewhere in it
        text = f"a {type(value).__name__} that is too large to show"
    return shortened(text)


def shortened(text: str) -> str:
    """A text short enough for a message; what is left out is marked."""
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def in_a_line(text: str, most: int = _MOST) -> str:
    """Return a name as tables and legends show it: printable, with the middle of a long one left out."""
    text = printable(text)
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def common_spec(numbers: Iterable[tuple[float, float]], spec: str) -> str | None:
    """The format for all numbers of a column, each with its error or NaN: `spec`, or one with more decimals."""
    # Every number is then within 2% of what it is, unless its error is larger, and no error looks like zero. None
    # where `spec` is no format of decimals, or where that would take too many of them.
    known = [pair for pair in numbers if math.isfinite(pair[0])]
    if re.fullmatch(r",?(\.\d+)?g", spec):
        texts = [format(mean, spec) for mean, _ in known]
        n_decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        return None if any("e" in text for text in texts) else f"{',' * spec.startswith(',')}.{n_decimals}f"
    form = re.fullmatch(r"(,?)\.(\d+)([f%])", spec)
    if form is None:
        return None
    for n_decimals in range(int(form[2]), int(form[2]) + _MOST_MORE + 1):
        wider = f"{form[1]}.{n_decimals}{form[3]}"
        if all(_is_shown(mean, error, wider) for mean, error in known):
            longest = max((len(format(abs(mean), wider)) for mean, _ in known), default=0)
            return wider if n_decimals == int(form[2]) or longest <= _MOST_DIGITS else None
    return None


def _is_shown(mean: float, error: float, spec: str) -> bool:
    """Whether a format keeps a number within 2%, or within its error, and shows that its error is not zero."""
    if not math.isnan(error) and abs(error) >= _ZERO and not re.search("[1-9]", format(error, spec)):
        return False
    if abs(mean) < _ZERO or abs(mean) < error:
        return True
    exact = 100.0 * mean if spec.endswith("%") else mean
    return abs(float(format(mean, spec).rstrip("%").replace(",", "")) - exact) <= 0.02 * abs(exact)


def number(value: float, spec: str) -> str:
    """A number written by a format, or to three digits where the format would change it by more than 2%."""
    text, unit = format(value, spec), "%" if spec.endswith("%") else ""
    exact = 100.0 * value if unit else value
    if not math.isfinite(value) or abs(value) < _ZERO:
        return format(0.0, spec) if abs(value) < _ZERO and isinstance(value, float) else text
    is_close = abs(float(text.rstrip("%").replace(",", "")) - exact) <= 0.02 * abs(exact)
    return text if is_close else f"{exact:.3g}{unit}"


def with_error(mean: float, error: float, spec: str) -> str:
    """A mean and its standard error, as every table writes them; one run has no error."""
    # The error is written like the mean, but to two digits where it would look like zero. A no-break space holds it
    # to its sign.
    if math.isnan(error):
        return number(mean, spec)
    text = format(error, spec)
    if abs(error) >= _ZERO and not re.search("[1-9]", text):
        text = f"{100.0 * error:.2g}%" if spec.endswith("%") else f"{error:.2g}"
    return f"{number(mean, spec)} ±\u00a0{text}"


def printable(text: str) -> str:
    """A name as pages, figures and terminals can show it: control characters and what is no character are escaped."""
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in text)


def _is_hidden(c: str) -> bool:
    """Whether a character is a control, half of a surrogate pair, or none at all."""
    code = ord(c)
    return unicodedata.category(c) in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
