"""How kernels are compiled: Numba's `njit`, which also works where nothing can be written."""

import numba


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
