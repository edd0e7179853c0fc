"""A child process that compiles into the cache on disk, while this process goes on with interpreted kernels.

The child has the lowest priority, does one job after the other, and ends with its parent. The variable
MATROID_BANDITS_BACKGROUND=0 forbids children.
"""

from __future__ import annotations

import atexit
import base64
import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress
from queue import SimpleQueue

from matroid_bandits.kernels.notice import the_notice

#: What the child runs: it finds modules where its parent does.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
from matroid_bandits.kernels.background import work
work()
"""


class Compiler:
    """Jobs by name that a child process does for this one; the child ends when none is left.

    A job is a pickle of a function and its arguments. `seconds` has the child's processor time for each, None until
    it is done, and where it has failed.
    """

    def __init__(self) -> None:
        self._renew()
        _compilers.append(self)

    def _renew(self) -> None:
        self.seconds: dict[str, float | None] = {}
        self._under_way: list[str] = []
        self._jobs: SimpleQueue[tuple[str, str]] = SimpleQueue()
        self._lock, self._n_asked = threading.Lock(), 0
        self._name: str | None = None
        self._child: subprocess.Popen[str] | None = None

    def add(self, name: str, job: bytes) -> None:
        """Do a job in the child, unless that is forbidden."""
        if not is_allowed():
            return
        with self._lock:
            self.seconds[name] = None
            self._n_asked += 1
            self._under_way.append(name)
            self._jobs.put((name, base64.b64encode(job).decode()))
            if len(self._under_way) == 1:
                threading.Thread(target=self._run, name="matroid-bandits-compiler", daemon=True).start()

    def is_under_way(self, name: str) -> bool:
        """Whether a job waits or is being done."""
        return name in self._under_way

    def doing(self, name: str) -> str | None:
        """Which of how many jobs this one is, while it compiles; else None."""
        with self._lock:
            n = self._n_asked - len(self._under_way) + 1
            return f"{n} of {self._n_asked}" if name == self._name else None

    def begun(self, name: str) -> None:
        """Called when a job has begun to compile."""

    def died(self, name: str) -> None:
        """Called when the child has ended in a job."""

    def _run(self) -> None:
        """Send jobs to a child until none is left."""
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        ) as self._child:
            assert self._child.stdin is not None
            assert self._child.stdout is not None
            while self._under_way:
                name, job = self._jobs.get()
                with suppress(OSError):  # it was killed; reading finds its end
                    self._child.stdin.write(job + "\n")
                for line in self._child.stdout:
                    if line != "compiling\n":
                        self.seconds[name] = float(line)
                        break
                    if self._name != name:
                        self._name = name
                        self.begun(name)
                else:
                    if not _is_over.is_set():
                        self.died(name)
                with self._lock:
                    self._name = None
                    self._under_way.remove(name)
                    if not self._under_way:
                        self._n_asked = 0
                        break  # the next job starts a thread and a child of its own
            with suppress(OSError):
                self._child.stdin.close()


_compilers: list[Compiler] = []
_is_over = threading.Event()


def is_allowed() -> bool:
    """Whether this process may start children that compile."""
    is_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return is_python and os.environ.get("MATROID_BANDITS_BACKGROUND", "1") != "0"


def work() -> None:
    """Do the jobs on the standard input, a line for each, in the child.

    "compiling" is printed for every kernel that is not on disk, and after each job the seconds of processor time.
    """
    if hasattr(os, "nice"):
        os.nice(19)
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1) as answers:
        sys.stdout = sys.stderr  # whatever others print
        the_notice.on_compiling = lambda: print("compiling", file=answers)
        began = 0.0
        while line := lines.get():
            with suppress(Exception):  # of a user's own code
                function, *arguments = pickle.loads(base64.b64decode(line))
                function(*arguments)
            print(time.process_time() - began, file=answers)
            began = time.process_time()


def _read(lines: SimpleQueue[str]) -> None:
    """Take lines from the standard input, and end the process with it: its parent has all it asked for, or died."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


@atexit.register
def _end_all() -> None:
    """End the children with this process."""
    _is_over.set()
    for each in _compilers:
        if each._child is not None:
            each._child.kill()
            each._child.wait()


def _forget_children() -> None:
    """A forked process has no children, and does not keep those of its parent alive."""
    for each in _compilers:
        if each._child is not None and each._child.stdin is not None and not each._child.stdin.closed:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, each._child.stdin.fileno())
            os.close(nothing)
            each._child.returncode = 0
        each._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)
