"""A deadline for a whole HTTP request; httpx has timeouts for single reads and writes alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

#: httpx refuses a timeout of 0.
_SHORTEST = 0.001

#: Bytes that are written under one timeout.
_PIECE = 65536

_thread = threading.local()


class Deadline:
    """The moment until which a call may take.

    Examples
    --------
    >>> Deadline(60.0).left() <= 60.0, Deadline(60.0).allows(90.0)
    (True, False)
    """

    __slots__ = ("_end",)

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout

    def left(self) -> float:
        """Seconds until then, never less than a moment."""
        return max(self._end - time.monotonic(), _SHORTEST)

    def within(self, seconds: float) -> Deadline:
        """The earlier of this one and of one after some seconds."""
        found = Deadline(seconds)
        found._end = min(found._end, self._end)
        return found

    def allows(self, pause: float) -> bool:
        """Whether something can be tried again after a pause."""
        return time.monotonic() + pause < self._end

    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self._end

    def __enter__(self) -> Deadline:
        """Let reads and writes of this thread end in time, on connections that were opened with `trace`."""
        _thread.deadline = self
        return self

    def __exit__(self, *_: object) -> None:
        _thread.deadline = None


def trace(event: str, info: dict[str, Any]) -> None:
    """A callback for httpx's extension ``trace``: reads and writes of every new connection keep to the deadline.

    Without it a server that sends a byte now and then holds a request for as long as it likes, since every read
    begins its timeout anew.
    """
    if event.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
        _bound(info["return_value"])


def _bound(stream: Any) -> None:
    """Make a stream's reads and writes keep to the deadline of the thread that calls them."""
    import httpcore

    read, write, start_tls = stream.read, stream.write, stream.start_tls

    def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = read(max_bytes, timeout=_within(timeout, httpcore.ReadTimeout))
        return data

    def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _PIECE):
            write(buffer[begin : begin + _PIECE], timeout=_within(timeout, httpcore.WriteTimeout))

    def bounded_start_tls(ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> Any:
        return start_tls(ssl_context, server_hostname, _within(timeout, httpcore.ConnectTimeout))

    stream.read, stream.write, stream.start_tls = bounded_read, bounded_write, bounded_start_tls


def _within(timeout: float | None, error: Callable[[str], Exception]) -> float | None:
    """A timeout that does not go beyond the thread's deadline, where it has one."""
    deadline: Deadline | None = getattr(_thread, "deadline", None)
    if deadline is None:
        return timeout
    if deadline.is_over():
        raise error("the time for the whole call is over")
    return deadline.left() if timeout is None else min(timeout, deadline.left())
