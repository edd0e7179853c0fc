"""How kernels are compiled: Numba's `njit`, which also works where nothing can be written."""

from contextlib import contextmanager

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


@contextmanager
def announced(notice):
    """While this lasts, call `notice` once when the first kernel is compiled, and not when all are found on disk."""

    class Listener(event.Listener):  # type: ignore[misc]
        is_given = False

        def on_start(self, event):
            if not self.is_given:
                self.is_given = True
                notice()

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
