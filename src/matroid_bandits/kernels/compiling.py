"""How kernels are compiled: Numba's `njit`, which also works where nothing can be written."""

import math
import multiprocessing
import sys
import threading
import time
from contextlib import contextmanager, suppress

import numba
from numba.core import event
from numba.extending import intrinsic, overload


def njit(**options):
    """Numba's decorator with these options, without a cache on disk where Numba finds no place for one.

    Numba keeps compiled code beside the sources, else in the user's cache folder, else nowhere, which it takes for
    an error: of a read-only installation without a home, for example. There, every process compiles anew; the
    variable NUMBA_CACHE_DIR names a folder that can be written.

    A compiled function that is called counts a reference to every array that it is handed, atomically, at some
    nanoseconds each. So what is called for every item, or every episode of a run, has ``forceinline=True``.
    """

    def compiled(function):
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
            return numba.njit(**{**options, "cache": False})(function)

    return compiled


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def times(x, y):
    """x y, rounded by itself, for products that are added to something and must have the same bits on a GPU.

    A GPU's compiler would fuse the product and the sum into one operation that rounds once. There, this function is
    replaced by one that it does not fuse.
    """
    return x * y


def borrowed(array):
    """The same array, to which compiled code counts no references; another name must `hold` it as long as it is used.

    A function that runs for a tenth of a second and uses its arrays millions of times borrows them first.
    """
    return array


def hold(*arrays):
    """Keep what was `borrowed` from these arrays in memory up to here, in a function that has made them itself."""


@overload(borrowed)
def _borrowed(array):
    return lambda array: _without_owner(array)


@intrinsic
def _without_owner(context, array):
    """The array as one whose memory nothing in compiled code owns; references to it are counted nowhere."""

    def codegen(context, builder, signature, arguments):
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        found.meminfo = found.meminfo.type(None)
        return found._getvalue()

    return array(array), codegen


@overload(hold)
def _hold(*arrays):
    return lambda *arrays: None


#: Seconds of compiling that are worth a notice.
LONG_S = 2.0

_FOR_ONCE = "matroid_bandits: compiling for this machine, up to a minute; the next process finds it on disk"
_EVERY_TIME = (
    "matroid_bandits: compiling, up to a minute, which every process does again: no folder for compiled code can be "
    "written; the variable NUMBA_CACHE_DIR names one"
)


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once in a process, on standard error, that the package's kernels are being compiled.

    Only where that takes long, and where standard error is a terminal or the notice was asked for. What is found on
    disk is not compiled. In processes that others have started it says nothing: there may be many of them.
    """

    def __init__(self):
        self.n_asking = 0
        self._is_given = False
        self._depth = 0  # kernels that are being compiled for another's sake, which Numba compiles in one thread
        self._began = self._ended = -math.inf

    def on_start(self, event):
        if self._is_given or not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1:
            now = time.monotonic()
            if now - self._ended > 1.0:  # else it goes on with what was being compiled before
                self._began = now
            where = event.data["dispatcher"].stats.cache_path
            self._timer = threading.Timer(self._began + LONG_S - now, self._give, (where,))
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event):
        if self._depth and _is_ours(event):
            self._depth -= 1
            if not self._depth:
                self._timer.cancel()
                self._ended = time.monotonic()

    def _give(self, folder):
        stream = sys.stderr
        if self._is_given or multiprocessing.parent_process() is not None:
            return
        with suppress(AttributeError, OSError, ValueError):  # there may be no stream, or a closed one
            start = "\r" if stream.isatty() else ""  # a bar may be there
            if start or self.n_asking:
                self._is_given = True
                print(start + _FOR_ONCE if folder else start + _EVERY_TIME, file=stream, flush=True)


def _is_ours(event):
    return event.data["dispatcher"].py_func.__module__.startswith("matroid_bandits.")


_notice = _Notice()
event.register("numba:compile", _notice)


@contextmanager
def announced():
    """While this lasts, a long compilation is announced on standard error even where that is not a terminal."""
    _notice.n_asking += 1
    try:
        yield
    finally:
        _notice.n_asking -= 1
