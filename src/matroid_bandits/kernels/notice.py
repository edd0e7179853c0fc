"""What is said on standard error while kernels are compiled: a clock on a terminal, one line elsewhere."""

import multiprocessing
import sys
import threading
import time
from contextlib import contextmanager, suppress

#: Seconds of compiling that are worth a notice.
LONG_S = 2.0

_FOR_ONCE = "matroid_bandits: compiling for this machine, up to a minute; the next process finds it on disk"
_EVERY_TIME = (
    "matroid_bandits: compiling, up to a minute, which every process does again: no folder for compiled code can be "
    "written; the variable NUMBA_CACHE_DIR names one"
)


class _Notice:
    """Says that this process compiles its kernels, where that takes long.

    On a terminal a line counts the seconds while they pass. A file or a notebook gets one line, once in a process. In
    processes that others have started nothing is said: there may be many of them.
    """

    def __init__(self):
        self._is_given = False
        self.on_compiling = lambda: None  # called when a kernel is about to be compiled, and is not on disk
        self._ended = self._began = -LONG_S

    @contextmanager
    def given(self, is_on_disk, can_be_kept):
        """While a kernel is compiled; kernels that follow within a second count as one."""
        if not is_on_disk:
            self.on_compiling()
        if is_on_disk or multiprocessing.parent_process() is not None:
            yield
            return
        now = time.monotonic()
        if now - self._ended > 1.0:
            self._began = now
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(done, _FOR_ONCE if can_be_kept else _EVERY_TIME))
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
            self._ended = time.monotonic()

    def _watch(self, done, text):
        """Wait until it takes long, say so, and count the seconds on a terminal until it is done."""
        if done.wait(self._began + LONG_S - time.monotonic()):
            return
        with suppress(AttributeError, OSError, ValueError):  # there may be no stream, or a closed one
            if sys.stderr.isatty():
                self._is_given = True
                line = ""
                while line == "" or not done.wait(1.0):
                    line = f"{text} ({round(time.monotonic() - self._began)} s)"
                    print("\r" + line, end="", file=sys.stderr, flush=True)
                print("\r" + " " * len(line) + "\r", end="", file=sys.stderr, flush=True)
            elif not self._is_given:
                self._is_given = True
                print(text, file=sys.stderr, flush=True)


the_notice = _Notice()
given = the_notice.given
