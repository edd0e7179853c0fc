"""Arrays that are kept, handed out and passed to compiled code are read-only, after pickling too."""

from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view; the caller's own array stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view


def offsets(sizes: IntArray) -> IntArray:
    """Where each of consecutive pieces starts, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


class Immutable:
    """Objects whose arrays, alone or in tuples, stay read-only when they are unpickled, which forgets it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
        self.__dict__.update(state)
