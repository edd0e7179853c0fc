"""Kernels that a child process compiles into the cache on disk, while an `Agent` plays.

The child has the lowest priority, ends with its parent, and is the only one on its machine that compiles this kernel
into this folder. `MATROID_BANDITS_BACKGROUND=0` forbids it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from matroid_bandits._util.files import claim
from matroid_bandits._util.pickling import pickler
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

#: What the child runs. Its standard input has the call and then stays open for as long as its parent lives.
_PROGRAM = """
import pickle, sys
path, raw = pickle.load(sys.stdin.buffer)
sys.path[:] = path
from matroid_bandits.compiled._background import work
work(raw)
"""


class _Child:
    """A process that compiles one kernel; `seconds` is its processor time, once it has ended."""

    def __init__(self, raw: bytes) -> None:
        self.seconds: float | None = None
        flags = getattr(subprocess, "IDLE_PRIORITY_CLASS", 0)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=flags,
        )
        self.thread = threading.Thread(target=self._follow, args=(raw,), name="matroid-bandits-compiler", daemon=True)
        self.thread.start()

    def _follow(self, raw: bytes) -> None:
        """Send the call, and take down what the child says of its processor time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError, ValueError):  # of a child that was ended
            self.process.stdin.write(raw)
            self.process.stdin.flush()
            self.seconds = float(self.process.stdout.read())
        self.process.wait()

    def end(self) -> None:
        """Kill the process, and wait for its end."""
        self.process.kill()
        self.thread.join()
        self.close()

    def close(self) -> None:
        """Close this process's ends of the pipes."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


#: The children of this process by kernel; None where one cannot be started. None is started twice.
_children: dict[str, _Child | None] = {}
_lock = threading.Lock()


def is_allowed() -> bool:
    """Whether this process may start children that compile."""
    return (
        os.environ.get("MATROID_BANDITS_BACKGROUND", "1") != "0"
        and bool(sys.executable)
        and not getattr(sys, "frozen", False)
    )


def begin(kernel: str, problem: Problem, policy: Policy, folder: Path) -> None:
    """Compile a kernel in a child, by playing an episode of this policy; once in the life of this process."""
    with _lock:
        if kernel in _children or not is_allowed():
            return
        _children[kernel] = None
        with suppress(Exception):  # of a policy that cannot be sent, or a system that starts no process
            call = pickler().dumps((problem, policy, str(folder / f"{kernel}.compiling")))
            _children[kernel] = _Child(pickle.dumps((sys.path, bytes(call))))


def is_under_way(kernel: str) -> bool:
    """Whether a child compiles a kernel now, of which Numba may have noted that it is on disk before all of it is."""
    child = _children.get(kernel)
    return child is not None and child.thread.is_alive()


def work(raw: bytes) -> None:
    """Compile in the child, unless another process does, and print the processor time."""
    if hasattr(os, "nice"):
        os.nice(19)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from matroid_bandits.compiled._warm import prepare

    problem, policy, lock = pickle.loads(raw)
    if claim(Path(lock)) is not None:
        prepare(problem, policy)
    print(time.process_time(), flush=True)


def _end_with_parent() -> None:
    with suppress(OSError):
        os.read(0, 1)  # not through `sys.stdin`, whose lock this thread would hold at the end
    os._exit(1)


def compiling() -> dict[str, float | None]:
    """Return the kernels that child processes of this one compile or have compiled for simulations.

    A child is started where a kernel would pay for the simulations of this process and is not on disk; meanwhile an
    `Agent` plays. The environment variable ``MATROID_BANDITS_BACKGROUND=0`` forbids children.

    Returns
    -------
    dict of str to float or None
        The child's processor time in seconds, which is in no other figure; None while it runs, or where it failed.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> all(seconds is None or seconds > 0.0 for seconds in mb.compiled.compiling().values())
    True
    """
    return {kernel: child.seconds for kernel, child in _children.items() if child is not None}


@atexit.register
def _end_all() -> None:
    """End the children with this process."""
    with _lock:
        for child in _children.values():
            if child is not None:
                child.end()


def _forget_children() -> None:
    """A forked process has no children, and does not keep those of its parent alive."""
    global _lock
    _lock = threading.Lock()
    for child in _children.values():
        if child is not None:
            child.process.returncode = 0
            child.close()
    _children.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)
