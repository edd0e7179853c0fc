"""Whether a kernel need not be compiled: it was in this process, or a marker beside Numba's cache says that it was.

Numba keeps a compiled kernel as long as the kernel's own file stays as it is, and does not notice edits of what the
kernel calls. The marker is named after all of it: the sources of `kernels/` and `compiled/`, Numba, and the CPU.
Where it is missing, whatever Numba may have kept is thrown away.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from matroid_bandits import kernels
from matroid_bandits.compiled import _frame, _late, _orders, _quotas

#: Kernels by name.
KERNELS: dict[str, Any] = {"play_quotas": _quotas.play_quotas, "play_orders": _orders.play_orders}

_MODULES = (_frame, _late, _orders, _quotas)

_lock = threading.Lock()


def is_interpreted() -> bool:
    """Whether nothing is compiled, because of NUMBA_DISABLE_JIT."""
    return not hasattr(KERNELS["play_quotas"], "py_func")


def is_loaded(name: str) -> bool:
    """Whether a kernel is compiled in this process, or was loaded from the cache."""
    return bool(KERNELS[name].signatures)


def is_cached(name: str) -> bool:
    """Whether a kernel will be found on disk."""
    marker = _marker(name)
    return marker is not None and marker.exists()


def can_be_cached(name: str) -> bool:
    """Whether Numba has found a folder for the kernel."""
    return _marker(name) is not None


def call(name: str, *arguments: Any) -> int:
    """Call a kernel, of whose compiled form nothing older than its sources is used, and leave a marker.

    Returns what the kernel does: -1, or the number of a run that failed.
    """
    if is_interpreted() or is_loaded(name):
        return int(KERNELS[name](*arguments))
    with _lock:
        marker = _marker(name)
        is_new = marker is not None and not marker.exists()
        if is_new and not any(is_cached(other) for other in KERNELS):
            for module in _MODULES:
                _forget(module)
        found = int(KERNELS[name](*arguments))
        if is_new and marker is not None:
            with suppress(OSError):  # the next process compiles anew
                marker.touch()
        return found


def _marker(name: str) -> Path | None:
    folder = KERNELS[name].stats.cache_path
    return None if folder is None else Path(folder) / f"{name}-{_digest()}.ready"


@cache
def _digest() -> str:
    """A word for everything that compiled code depends on."""
    about = [version("numba"), sys.version, repr(KERNELS["play_quotas"].targetctx.codegen().magic_tuple())]
    digest = hashlib.sha256("\n".join(about).encode())
    for package in (kernels.__file__, __file__):
        for path in sorted(Path(str(package)).parent.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _forget(module: ModuleType) -> None:
    """Empty Numba's cache of the functions of a module."""
    for function in vars(module).values():
        if getattr(function, "__module__", None) == module.__name__ and hasattr(function, "_cache"):
            with suppress(OSError):
                function._cache.flush()
