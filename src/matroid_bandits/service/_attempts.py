"""Wrong logins of one address: the more there were, the longer the next one has to wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

#: Wrong logins that cost nothing, the longest wait in seconds, and after how many seconds they are forgotten.
_FREE: Final = 5
_LONGEST_S: Final = 60.0
_FORGET_S: Final = 600.0

#: Addresses that are remembered; one more makes the oldest forgotten.
_MOST: Final = 10_000


class Attempts:
    """Counts wrong logins by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}  # how many, and when the last one was

    def wait(self, address: str) -> float:
        """Seconds until a login of this address is looked at."""
        n, last = self._wrong.get(address, (0, 0.0))
        if n < _FREE:
            return 0.0
        return max(0.0, last + min(2.0 ** min(n - _FREE, 30), _LONGEST_S) - self._clock())

    def wrong(self, address: str) -> None:
        """Count a wrong login."""
        n, last = self._wrong.pop(address, (0, 0.0))
        now = self._clock()
        self._wrong[address] = (1 if now - last > _FORGET_S else n + 1), now
        if len(self._wrong) > _MOST:
            del self._wrong[next(iter(self._wrong))]

    def right(self, address: str) -> None:
        """Forget the wrong logins of an address after a right one."""
        self._wrong.pop(address, None)
