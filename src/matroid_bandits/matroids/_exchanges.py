"""The exchanges of bases, remembered: bases of best means change rarely from one round to the next."""

from __future__ import annotations

import threading

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.matroids._base import Matroid

#: Pairs that are remembered before all are forgotten.
_MOST_PAIRS = 2**22


class Exchanges:
    """Cache of the exchange pairs of bases of one matroid, as flat arrays for kernels; safe to share between threads.

    Parameters
    ----------
    matroid : Matroid
        Whose bases they are.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.matroids import Exchanges
    >>> first, last, leaves, enters = Exchanges(mb.UniformMatroid(3, 1)).of(np.array([[0], [2], [0]]))
    >>> leaves[first[1] : last[1]], enters[first[1] : last[1]]
    (array([2, 2]), array([0, 1]))
    """

    def __init__(self, matroid: Matroid) -> None:
        self.matroid = matroid
        self._lock = threading.Lock()
        self._clear()

    def of(self, bases: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the exchange pairs of each row of `bases` (R, K): offsets of the rows, and the pairs as two flat
        arrays."""
        rows = np.ascontiguousarray(bases)
        if len(rows) > 1 and rows.shape[1]:  # few of the rows differ
            whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
            _, firsts, which = np.unique(whole, return_index=True, return_inverse=True)
            rows = rows[firsts]
        else:
            which = np.zeros(len(rows), np.int64)
            rows = rows[:1]
        with self._lock:
            if self._n_pairs > _MOST_PAIRS:
                self._clear()
            places = np.empty((len(rows), 2), np.int64)
            for i, row in enumerate(rows):
                key = row.tobytes()
                if key not in self._places:
                    self._add(key, row)
                places[i] = self._places[key]
            return places[which, 0], places[which, 1], self._leaves, self._enters

    def _clear(self) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}
        self._leaves, self._enters = np.empty(0, np.int64), np.empty(0, np.int64)
        self._n_pairs = 0

    def _add(self, key: bytes, basis: IntArray) -> None:
        leaves, enters = self.matroid.exchanges(basis)
        n, end = self._n_pairs, self._n_pairs + leaves.size
        if end > self._leaves.size:  # arrays that were handed out stay as they are
            room = max(end, 2 * self._leaves.size)
            grown = np.empty((2, room), np.int64)
            grown[0, :n], grown[1, :n] = self._leaves[:n], self._enters[:n]
            self._leaves, self._enters = grown[0], grown[1]
        self._leaves[n:end], self._enters[n:end] = leaves, enters
        self._places[key] = n, end
        self._n_pairs = end

    def __getstate__(self) -> Matroid:
        return self.matroid

    def __setstate__(self, matroid: Matroid) -> None:
        self.__init__(matroid)  # type: ignore[misc]
