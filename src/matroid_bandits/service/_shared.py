"""What the worker processes of one command count together: uses of keys, open streams, connections.

It lies in a file that all of them have mapped. A lock of the file guards it, which ends with the process that holds
it, so a worker that is killed leaves no one waiting.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Iterator

from matroid_bandits.exceptions import LimitError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no locks of this kind
    fcntl = None  # type: ignore[assignment]

#: Keys whose rates are counted, and how many places are looked at for one; of streams, keys of each worker.
_BUCKETS, _PROBES, _HOLDERS = 4096, 16, 512

_BUCKET = struct.Struct("<Qdd")  # key, tokens, when they were counted
_HOLDER = struct.Struct("<Qq")  # key, streams
_COUNT = struct.Struct("<q")


def make_shared(n_workers: int) -> str:
    """The name of a new file for some workers."""
    handle, name = tempfile.mkstemp(prefix="matroid-bandits-")
    os.ftruncate(handle, _size(n_workers))
    os.close(handle)
    return name


def _size(n_workers: int) -> int:
    return _BUCKETS * _BUCKET.size + n_workers * (_HOLDERS * _HOLDER.size + _COUNT.size)


class Shared:
    """The counts of all workers, as one of them, or their parent, sees and changes them.

    Parameters
    ----------
    name : str
        The file.
    n_workers, worker : int
        How many workers there are, and which one this is.

    Examples
    --------
    >>> name = make_shared(2)
    >>> one, two = Shared(name, 2, 0), Shared(name, 2, 1)
    >>> one.spend("a key", 1.0), two.spend("a key", 1.0)
    (True, False)
    >>> one.connections = 3
    >>> two.fewest_connections
    0
    >>> one.close(), two.close(), os.remove(name)
    (None, None, None)
    """

    def __init__(self, name: str, n_workers: int, worker: int) -> None:
        self._n_workers, self._worker = n_workers, worker
        self._file = os.open(name, os.O_RDWR)
        self._map = mmap.mmap(self._file, _size(n_workers))

    def close(self) -> None:
        """Give up the file."""
        self._map.close()
        os.close(self._file)

    def spend(self, key: str, rate: float) -> bool:
        """Count a use of a key; whether it may be used, with a second's worth of uses at once."""
        mark, now, most = _mark(key), time.monotonic(), max(rate, 1.0)  # one clock for all processes of a machine
        with self._locked():
            place, tokens, filled = self._bucket(mark)
            tokens = min(most, tokens + max(now - filled, 0.0) * rate) if filled else most
            is_allowed = tokens >= 1.0
            _BUCKET.pack_into(self._map, place, mark, tokens - is_allowed, now)
        return is_allowed

    def _bucket(self, mark: int) -> tuple[int, float, float]:
        """The place of a key's uses, and what it says; of a key that has none, the one used longest ago."""
        oldest = None
        for n in range(_PROBES):
            place = (mark + n) % _BUCKETS * _BUCKET.size
            found, tokens, filled = _BUCKET.unpack_from(self._map, place)
            if found == mark:
                return place, tokens, filled
            if oldest is None or filled < oldest[1]:
                oldest = place, filled
        assert oldest is not None
        return oldest[0], 0.0, 0.0

    # Streams

    def enter(self, key: str, most: int, most_of_key: int) -> None:
        """Count a stream of a key.

        Raises
        ------
        LimitError
            All streams that there may be are open, or all that one key may have.
        """
        mark, n, n_of_key = _mark(key), 0, 0
        with self._locked():
            for worker in range(self._n_workers):
                for place in self._holders(worker):
                    found, count = _HOLDER.unpack_from(self._map, place)
                    n += count
                    n_of_key += count if found == mark else 0
            if n >= most:
                raise LimitError(f"expected at most {most} streams at a time, got one more")
            if key and n_of_key >= most_of_key:
                raise LimitError(f"expected at most {most_of_key} streams of a key, got one more")
            self._add(mark, 1)

    def leave(self, key: str) -> None:
        """Count a stream no more."""
        with self._locked():
            self._add(_mark(key), -1)

    def _add(self, mark: int, change: int) -> None:
        free = None
        for place in self._holders(self._worker):
            found, count = _HOLDER.unpack_from(self._map, place)
            if found == mark and count:
                _HOLDER.pack_into(self._map, place, mark, count + change)
                return
            if not count and free is None:
                free = place
        if free is not None and change > 0:
            _HOLDER.pack_into(self._map, free, mark, change)

    def _holders(self, worker: int) -> range:
        first = _BUCKETS * _BUCKET.size + worker * _HOLDERS * _HOLDER.size
        return range(first, first + _HOLDERS * _HOLDER.size, _HOLDER.size)

    def clear(self, worker: int) -> None:
        """Forget the streams and connections of a worker that has ended."""
        with self._locked():
            places = self._holders(worker)
            self._map[places.start : places.stop] = bytes(len(places) * _HOLDER.size)
            _COUNT.pack_into(self._map, self._place_of_count(worker), 0)

    # Connections, by which workers share the listening socket evenly

    def _place_of_count(self, worker: int) -> int:
        return _BUCKETS * _BUCKET.size + self._n_workers * _HOLDERS * _HOLDER.size + worker * _COUNT.size

    @property
    def connections(self) -> int:
        """How many connections this worker has."""
        return int(_COUNT.unpack_from(self._map, self._place_of_count(self._worker))[0])

    @connections.setter
    def connections(self, n: int) -> None:
        _COUNT.pack_into(self._map, self._place_of_count(self._worker), n)

    @property
    def fewest_connections(self) -> int:
        """How many connections the worker has that has the fewest."""
        counts = (_COUNT.unpack_from(self._map, self._place_of_count(n))[0] for n in range(self._n_workers))
        return int(min(counts))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if fcntl is None:  # pragma: no cover
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def _mark(key: str) -> int:
    """A number other than 0 that stands for a key."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") | 1
