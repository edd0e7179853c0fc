"""Where something is said: the file and the key that an error message begins with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from matroid_bandits._util.text import shortened
from matroid_bandits.exceptions import DataError


@dataclass(frozen=True)
class Place:
    """A key of a spec, and the file it was read from, if any; used in error messages.

    Attributes
    ----------
    file : Path or None
        The TOML or JSON file; paths in it are relative to it. None for a body that came over a wire.
    path : str
        The key with those above it, such as ``matroid.of``; empty for the whole spec.
    rng : numpy Generator, or None
        Where worlds are being drawn from a law, what they are drawn with.

    Examples
    --------
    >>> place = Place(Path("ads.toml")).at("policies").at("my policy")
    >>> str(place.error("expected a table, got 3"))
    'ads.toml: policies."my policy": expected a table, got 3'
    """

    file: Path | None = None
    path: str = ""
    rng: np.random.Generator | None = field(default=None, compare=False)

    def at(self, key: str | int) -> Place:
        """Return the place of a key, or of an entry of a list, below this one."""
        if isinstance(key, int):
            return replace(self, path=f"{self.path}[{key}]")
        quoted = shortened(key) if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{shortened(key)}"'
        return replace(self, path=f"{self.path}.{quoted}" if self.path else quoted)

    def error(self, message: str) -> DataError:
        """Return a DataError that names the file and the key."""
        return DataError(f"{self}: {message}" if str(self) else message)

    def __str__(self) -> str:
        return ": ".join(filter(None, (str(self.file or ""), self.path)))
