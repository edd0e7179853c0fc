"""What a result depends on besides its seed: the package and the libraries that computed it."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

from matroid_bandits._version import __version__


def versions(*libraries: str) -> dict[str, str]:
    """Versions of the package, of Python, NumPy and Numba, and of other libraries where they are installed."""
    found = {"matroid-bandits": __version__, "python": platform.python_version()}
    for name in ("numpy", "numba", *libraries):
        try:
            found[name] = _version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def _version(name: str) -> str:
    """The version of an installed library, whose metadata is parsed once a process."""
    return metadata.version(name)
