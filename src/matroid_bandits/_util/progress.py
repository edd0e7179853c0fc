"""How far something has come, for a person: a bar where a line can be written again, and otherwise lines."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

#: Seconds between two lines in a file.
EVERY_S = 10.0


class Shown(Protocol):
    """What shows a share of something: called with how much is done and how much there is, closed at the end."""

    def __call__(self, done: int, total: int) -> None: ...

    def close(self) -> None: ...


def shown_on_stderr() -> Shown:
    """A bar on a terminal or in a notebook, and a line now and then in a file."""
    return Bar() if can_rewrite(sys.stderr) else Lines()


def can_rewrite(stream: TextIO) -> bool:
    """Whether a carriage return lets the next text take the place of a line."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")


class Bar:
    """A line on stderr that is written again and again: bar, share done, time left."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_shown = False

    def __call__(self, done: int, total: int) -> None:
        share = done / total
        bar = ("█" * int(30 * share)).ljust(30, "░")
        sys.stderr.write(f"\r{bar} {share:4.0%}  {time_left(self._began, share)} left ")
        sys.stderr.flush()
        self._is_shown = True

    def close(self) -> None:
        if self._is_shown:
            sys.stderr.write("\n")


class Lines:
    """Lines on stderr, one every ten seconds at most, with the share done and the time left."""

    # What is done sooner writes nothing. The end is a line too, where there was one before it.

    def __init__(self, title: str = "") -> None:
        self.title = title
        self._began = self._last = time.monotonic()
        self._done, self._is_shown = 0, False

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if done < self._done:  # of something else
            self._began = now
        self._done = done
        is_end = self._is_shown and done == total
        if now < self._last + EVERY_S and not is_end:
            return
        self._last, self._is_shown = now, not is_end
        if total:
            share = done / total
            took = f"in {clock(now - self._began)}" if is_end else f"{time_left(self._began, share)} left"
            text = f"{share:.0%}, {took}"
        else:
            text = f"{done:,}"
        print(f"{self.title}: {text}" if self.title else text, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


def time_left(began: float, share: float) -> str:
    """Minutes and seconds that something takes still, if it goes on as it did until a share of it was done."""
    return clock((time.monotonic() - began) * (1.0 - share) / share) if share else "?"


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
