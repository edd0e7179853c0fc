"""Kernels that a child process compiles into the cache on disk, while an `Agent` plays.

Of several processes on a machine, one compiles a kernel into a folder.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from matroid_bandits._util.files import claim
from matroid_bandits._util.pickling import pickler
from matroid_bandits.compiled._warm import prepare
from matroid_bandits.kernels.background import Compiler, is_allowed
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

_compiler = Compiler()
is_under_way = _compiler.is_under_way

#: The kernels that were sent, or cannot be; none is sent twice.
_tried: set[str] = set()
_lock = threading.Lock()


def begin(kernel: str, problem: Problem, policy: Policy, folder: Path) -> None:
    """Compile a kernel in a child, by playing an episode of this policy; once in the life of this process."""
    with _lock:
        if kernel in _tried or not is_allowed():
            return
        _tried.add(kernel)
    with suppress(Exception):  # of a policy that cannot be sent
        _compiler.add(kernel, pickler().dumps((prepare_alone, problem, policy, folder / f"{kernel}.compiling")))


def prepare_alone(problem: Problem, policy: Policy, lock: Path) -> None:
    """Compile in the child, unless another process does."""
    if (give_back := claim(lock)) is not None:
        prepare(problem, policy)
        give_back()


def compiling() -> dict[str, float | None]:
    """Return the kernels that a child process of this one compiles or has compiled for simulations.

    The child is started where a kernel would pay for the simulations of this process and is not on disk; meanwhile an
    `Agent` plays. The environment variable ``MATROID_BANDITS_BACKGROUND=0`` forbids it.

    Returns
    -------
    dict of str to float or None
        The child's processor time in seconds, which is in no other figure; None until it is done, or where it failed.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> all(seconds is None or seconds > 0.0 for seconds in mb.compiled.compiling().values())
    True
    """
    return dict(_compiler.seconds)
