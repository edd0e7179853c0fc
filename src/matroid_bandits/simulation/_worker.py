"""What a worker does, wherever it is: find the problem it was told of, play a slice of it, say what came of it."""

from __future__ import annotations

import math
import os
import pickle
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from matroid_bandits._util.pickling import pickler
from matroid_bandits._util.threads import in_one_thread
from matroid_bandits._version import __version__
from matroid_bandits.compiled import Part, Settings, Slice, Stopped, playing_time
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.kernels.compiling import resume
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._play import play

#: Seconds that are played before it is said how long a slice will take; its first episodes, which may wait for the
#: compiler, do not count.
_PROBE_S = 0.25

#: A slice that should take some seconds may take this many times as long before its job is cut anew.
_TOLERANCE = 2.0

#: A slice is made longer, up to this many times what it should take, while the fixed time of playing it is more than
#: this share of the rest: an episode of one run costs nearly as much as one of ten runs at once.
_MOST_STRETCH, _MOST_FIXED = 10.0, 0.1

#: Problems that a worker remembers.
_MOST_KNOWN = 8

#: What comes of a slice: its part; or, where it takes too long, how many runs it should have; or an error, pickled;
#: or None, from a worker that has never met the problem, and cannot find it where it was said to be.
Answer: TypeAlias = Part | int | bytes | None

#: Called with the episodes played since the last call.
Report: TypeAlias = Callable[[int], None]


@dataclass(frozen=True)
class Group:
    """What the slices of one problem share, and what travels to a worker once: settings, and policies by name."""

    settings: Settings
    policies: tuple[tuple[str, Policy], ...]


class _TooLong(Stopped):
    """A slice would take longer than it may."""


def work(
    version: str, token: str, source: bytes | str | None, policy: int, first: int, last: int, seconds: float
) -> Answer:
    """Play a slice in a process that is not the caller's; errors are answers too, so that they are not retried."""
    try:
        if version != __version__:
            raise SimulationError(
                f"expected workers with matroid-bandits {version}, the caller's version; got one with {__version__}"
            )
        group = _find(token, source)
        if group is None:
            return None
        with in_one_thread():
            slice = Slice(*group.policies[policy], first, last)
            return answer(slice, group.settings, seconds, is_over=_Abandoned(source))
    except BaseException as error:
        return _packed(error)


def begin(caller: Connection, seconds: float) -> None:
    """Prepare a process: kernels are in the tier of the caller, which has spent `seconds` on interpreting them.

    The process ends when the caller has, in whatever way: then its end of the pipe is closed. A caller that is killed
    says nothing to its workers, which would wait for their next slice for ever.
    """
    resume(seconds)

    def wait() -> None:
        with suppress(EOFError, OSError):
            caller.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, name="matroid-bandits-caller", daemon=True).start()


def answer(
    slice: Slice,
    settings: Settings,
    seconds: float,
    report: Report = lambda n: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Part | int:
    """Play a slice; or, where it can be cut and takes much longer than `seconds`, say how many runs it should have.

    `is_over` says whether to give up, which raises `Stopped`.
    """
    limit = _TOLERANCE * seconds if slice.n_runs > 1 else math.inf
    watch = _Watch(slice.n_runs * settings.n_episodes, limit, report, is_over)
    began = playing_time()
    try:
        part = play(slice, settings, watch)
    except _TooLong:
        return _n_runs(slice, settings, watch.estimate(), seconds, is_over)
    return replace(part, seconds=playing_time() - began)


def _n_runs(slice: Slice, settings: Settings, whole: float, seconds: float, is_over: Callable[[], bool]) -> int:
    """How many runs take `seconds`, where all of a slice take `whole`; a single one is measured.

    What an episode costs however many runs are played at once is worth sharing, so slices may be longer.
    """
    alone = _Watch(settings.n_episodes, 0.0, lambda n: None, is_over)
    with suppress(_TooLong):
        play(replace(slice, last=slice.first + 1), settings, alone)
    single = min(alone.estimate(), whole)
    per_run = max((whole - single) / (slice.n_runs - 1), 1e-9)
    fixed = max(single - per_run, 0.0)
    right, longest = ((n * seconds - fixed) / per_run for n in (1.0, _MOST_STRETCH))
    efficient = fixed / (_MOST_FIXED * per_run)
    return max(1, int(min(max(right, efficient), max(right, longest), 2.0**62)))


class _Watch:
    """Counts the episodes of a slice, estimates how long it takes, and stops it when that is too long.

    Episodes are reported once it is known that they count.
    """

    def __init__(self, total: int, limit: float, report: Report, is_over: Callable[[], bool]) -> None:
        self._total, self._limit, self._report, self._is_over = total, limit, report, is_over
        self._began = self._now = 0.0
        self._skipped = self._done = self._held = 0

    def __call__(self, n: int) -> bool:
        self._held += n
        self._now = time.perf_counter()
        if not self._began:
            self._began, self._skipped = self._now, n
        else:
            self._done += n
        if self._done and self._now - self._began >= _PROBE_S and self._limit < math.inf:
            if self.estimate() > self._limit:
                raise _TooLong
            self._limit = math.inf
        if self._limit == math.inf or self._skipped + self._done == self._total:
            self._report(self._held)
            self._held = 0
        return self._is_over()

    def estimate(self) -> float:
        """Seconds that the whole slice takes at the speed seen so far; 0 where it was too short to see any."""
        return (self._now - self._began) * self._total / self._done if self._done else 0.0


class _Abandoned:
    """Whether the result of a slice is no longer wanted, checked once a second.

    The caller removes the problem's file when it is interrupted; a Dask cluster forgets the task.
    """

    def __init__(self, source: bytes | str | None) -> None:
        self._source, self._next = source, time.monotonic() + 1.0

    def __call__(self) -> bool:
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + 1.0
        if isinstance(self._source, str):
            return not Path(self._source).exists()
        distributed = sys.modules.get("distributed")
        try:
            worker = distributed.get_worker()  # type: ignore[union-attr]
            task = worker.state.tasks.get(worker.get_current_task())
        except (AttributeError, ValueError):  # no Dask here, or one that does not tell
            return False
        return task is None or task.state == "cancelled"


_known: OrderedDict[str, Group] = OrderedDict()


def _find(token: str, source: bytes | str | None) -> Group | None:
    """The group of this name: cached, in the bytes that came along, or in a file, if it is on this machine."""
    group = _known.pop(token, None)
    if group is None:
        if isinstance(source, str):
            try:
                source = Path(source).read_bytes()
            except FileNotFoundError:
                return None
        if source is None:
            return None
        group = pickle.loads(source)
        assert isinstance(group, Group)
    _known[token] = group
    while len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)
    return group


def _packed(error: BaseException) -> bytes:
    """The error with the worker's traceback as a note; in words where it cannot be sent or would not arrive."""
    error.add_note("In the worker:\n" + "".join(traceback.format_exception(error)).rstrip())
    error.__cause__ = error.__context__ = None
    try:
        raw = pickler().dumps(error)
        pickle.loads(raw)
    except Exception:
        words = SimulationError(f"{type(error).__name__}: {error}")
        for note in error.__notes__:
            words.add_note(note)
        raw = pickle.dumps(words)
    return bytes(raw)
