"""What a policy keeps besides plays and gains: declared, so that everything else follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError

#: Whose an array is: each item's, each run's, each run's time, or each run's with axes that may grow.
MemoryKind = Literal["item", "run", "time", "growing"]

#: The initial value that is the last episode which has passed.
NOW = "now"


def _same(array: AnyArray) -> AnyArray:
    return array


@dataclass(frozen=True, eq=False)
class Memory:
    """Declaration of an array that a policy keeps in ``state.extra``: its shape, dtype and initial value.

    When an item is reset, its cells get the initial value again; when a learner's items change, cells move with their
    item; files hold the arrays, and are validated when loaded.

    Parameters
    ----------
    name : str
        The key in ``state.extra``.
    kind : "item", "run", "time" or "growing", default "item"
        "item": a cell for every run and item, shape (R, L, ...). "run": one for every run, shape (R, ...), made anew
        when all items are forgotten. "time": the same, but it goes on. "growing": as "run", and the policy may
        replace the array by one with longer axes after the first.
    dtype : dtype, default float
        Of the numbers.
    shape : tuple of int, default ()
        Of a cell.
    initial : number or array of that shape, or "now"
        Initial value of a cell; "now" stands for the last episode that has passed.
    former : str, optional
        The name of the corresponding array in files of an earlier version.
    converted : callable, optional
        Function that converts the array stored under the `former` name to the same type and shape; by default the
        identity.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Memory("last").make(n_runs=2, n_items=3).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> mb.Memory("clock", "time", shape=(2,), initial=[1.0, 0.0]).make(n_runs=1, n_items=3).tolist()
    [[1.0, 0.0]]
    """

    name: str
    kind: MemoryKind = "item"
    dtype: Any = np.float64
    shape: tuple[int, ...] = ()
    initial: Any = 0
    former: str | None = None
    converted: Callable[[AnyArray], AnyArray] = _same

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PolicyError(f"expected the name of an array, got {shown(self.name)}")
        if self.kind not in get_args(MemoryKind):
            kinds = ", ".join(get_args(MemoryKind))
            raise PolicyError(f"expected {self.name} to be of one of the kinds {kinds}, got {shown(self.kind)}")
        try:
            is_plain = np.dtype(self.dtype).kind in "biuf"
        except TypeError:
            is_plain = False
        if not is_plain:
            raise PolicyError(f"expected {self.name} to be of a type of numbers, got {shown(self.dtype)}")

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Memory) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, ...]:
        initial = self.initial if isinstance(self.initial, str) else np.asarray(self.initial).tolist()
        return self.name, self.kind, np.dtype(self.dtype).str, repr(self.shape), repr(initial)

    def make(self, n_runs: int, n_items: int, now: int = 0) -> AnyArray:
        """Return a new array with the declared initial value."""
        array = np.empty((n_runs, *self.axes(n_items)), self.dtype)
        array[...] = self.value(now)
        return array

    def axes(self, n_items: int) -> tuple[int, ...]:
        """Return the lengths of the axes after the first."""
        return (n_items, *self.shape) if self.kind == "item" else self.shape

    def value(self, now: int) -> Any:
        """Return the initial value of a cell that is created after the episode `now`."""
        return now if isinstance(self.initial, str) and self.initial == NOW else self.initial
