"""How kernels are compiled: Numba's `njit`, which also works where nothing can be written."""

from contextlib import contextmanager

import numba
from numba.core import event


def njit(**options):
    """Numba's decorator with these options, without a cache on disk where Numba finds no place for one.

    Numba keeps compiled code beside the sources, else in the user's cache folder, else nowhere, which it takes for
    an error: of a read-only installation without a home, for example. There, every process compiles anew; the
    variable NUMBA_CACHE_DIR names a folder that can be written.
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
