"""TOML files read strictly: every mistake is reported with its key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import DataError
from matroid_bandits.specs._csv import Sheet, read_sheet

T = TypeVar("T")
_MISSING: Any = object()


def read_toml(file: Path) -> dict[str, Any]:
    """Read a whole TOML file."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # of the text, of its encoding, or of a number with thousands of digits
        raise DataError(f"{file}: not a TOML file: {error}") from error


class Section:
    """A table of the file whose keys are asked for one by one; a key nobody asked for is a mistake."""

    def __init__(self, file: Path, where: str, table: Mapping[str, Any]) -> None:
        self.file, self._where, self._table = file, where, table
        self._asked: set[str] = set()

    def error(self, key: str, message: str) -> DataError:
        """A DataError that names the file and the key."""
        return DataError(f"{self.file}: {self._path(key)}: {message}")

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self._table

    def peek(self, key: str) -> Any:
        """The value of a key, or None, without the key counting as asked for."""
        return self._table.get(key)

    def names(self) -> list[str]:
        """All keys of the table, in order."""
        return list(self._table)

    def take(self, key: str, kind: type[T], default: T = _MISSING) -> T:
        """The value of a key, which must be of a type; the default, where one is given, when the key is missing."""
        self._asked.add(key)
        if key not in self._table:
            if default is _MISSING:
                raise self.error(key, f"expected {_A[kind]}, but the key is missing{self.closest(key)}")
            return default
        value = self._table[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, f"expected {_A[kind]}, got {shown(value)}")
        return value

    def closest(self, key: str) -> str:
        """A hint at the key that may have been written for one that is missing; empty where none is close."""
        others = [other for other in self._table if other not in self._asked]
        close = difflib.get_close_matches(key, others, n=1, cutoff=0.7)
        return f"; the closest there is {close[0]!r}" if close else ""

    def count(self, key: str, default: int = _MISSING) -> int:
        """The value of a key, which must be a positive integer."""
        value = self.take(key, int, default)
        if value < 1:
            raise self.error(key, f"expected a positive integer, got {shown(value)}")
        return value

    def choice(self, key: str, words: tuple[str, ...], default: str = _MISSING) -> str:
        """The value of a key, which must be one of some words."""
        word = self.take(key, str, default)
        if word not in words:
            hint = did_you_mean(word, words)
            raise self.error(key, f"expected one of {', '.join(words)}; got {shown(word)}{hint}")
        return word

    def section(self, key: str) -> Section:
        """The table that a key holds."""
        return Section(self.file, self._path(key), self.take(key, dict))

    def sheet(self, key: str) -> Sheet:
        """The CSV file that a key names, beside this file."""
        name = self.take(key, str)
        if not name or "\0" in name:
            raise self.error(key, f"expected the name of a CSV file, got {shown(name)}")
        path = self.file.parent / name
        try:
            path.open("rb").close()
        except OSError as error:
            raise self.error(key, f"{path}: cannot be read ({error.strerror})") from error
        return read_sheet(path)

    def close(self) -> None:
        """Raise when a key was not asked for."""
        for key in self._table:
            if key not in self._asked:
                hint = did_you_mean(key, self._asked) or f"; known are {', '.join(sorted(self._asked))}"
                raise self.error(key, f"unknown key{hint}")

    def _path(self, key: str) -> str:
        """A key with those above it, quoted as in the file."""
        quoted = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
        return f"{self._where}.{quoted}" if self._where else quoted


_A: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
