"""Whether a kernel of whole episodes need not be compiled: it was in this process, or its form is on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matroid_bandits.compiled._kernels import KERNELS
from matroid_bandits.kernels import compiling


def is_interpreted() -> bool:
    """Whether nothing is compiled, because MATROID_BANDITS_KERNELS or NUMBA_DISABLE_JIT says so."""
    return compiling.tier() == "interpreted"


def is_loaded(name: str) -> bool:
    """Whether a kernel is compiled in this process, or was loaded from the cache."""
    return bool(KERNELS[name].is_compiled)


def is_cached(name: str) -> bool:
    """Whether a kernel will be found on disk."""
    return bool(KERNELS[name].is_on_disk)


def can_be_cached(name: str) -> bool:
    """Whether there is a folder for compiled code."""
    return folder_of(name) is not None


def folder_of(name: str) -> Path | None:
    """The folder of a kernel's compiled form; None where none can be written."""
    folder: Path | None = KERNELS[name].folder
    return folder


def call(name: str, *arguments: Any) -> int:
    """Call a kernel, compiled."""
    return int(KERNELS[name].compiled(*arguments))
