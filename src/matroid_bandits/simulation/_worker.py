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
from typing import Any, TypeAlias

from matroid_bandits._util.threads import in_one_thread
from matroid_bandits._version import __version__
from matroid_bandits.compiled import Part, Settings, Slice, Stopped
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._play import play

#: Seconds that are played before it is said how long a slice will take; its first episodes, which may wait for the
#: compiler, do not count.
_PROBE_S = 0.25

#: Problems that a worker remembers.
_MOST_KNOWN = 8


@dataclass(frozen=True)
class JobGroup:
    """What the slices of one problem share, and what travels to a worker once: settings, and policies by name."""

    settings: Settings
    policies: tuple[tuple[str, Policy], ...]

    def slice(self, policy: int, first: int, last: int) -> Slice:
        """The runs from `first` up to `last` of one of the policies."""
        name, player = self.policies[policy]
        return Slice(name, player, first, last)


@dataclass(frozen=True)
class Played:
    """A slice was played; `seconds` does not count the compiler's time."""

    part: Part
    seconds: float


@dataclass(frozen=True)
class Pace:
    """How long slices of a job take: a fixed time, in seconds, and a time for every run.

    The fixed time is what an episode costs however many runs are played at once.
    """

    fixed: float
    per_run: float

    def of(self, n_runs: int) -> float:
        """The seconds that `n_runs` runs take at once."""
        return self.fixed + self.per_run * n_runs

    def scaled(self, factor: float) -> Pace:
        """The pace of a job that takes `factor` times as long."""
        return Pace(self.fixed * factor, self.per_run * factor)


@dataclass(frozen=True)
class Failed:
    """A slice ended with an error, pickled."""

    error: bytes


@dataclass(frozen=True)
class Unknown:
    """The worker has never met the problem, and cannot find it where it was said to be."""


@dataclass(frozen=True)
class Left:
    """A slice was given up on threads, since processes are to play it."""


Answer: TypeAlias = Played | Pace | Failed | Unknown | Left

#: Called with the episodes played since the last call.
Report: TypeAlias = Callable[[int], None]


class _TooLong(Stopped):
    """A slice would take longer than it may."""


def work(
    version: str, token: str, source: bytes | str | None, policy: int, first: int, last: int, limit: float
) -> Answer:
    """Play a slice in a process that is not the caller's; errors are answers too, so that they are not retried.

    Parameters
    ----------
    version : str
        The caller's version of the package, which must be ours.
    token : str
        The name of a pickled `JobGroup`, the same for the same bytes.
    source : bytes, str or None
        The group, or the file it is in; None where the worker is believed to know it.
    policy, first, last : int
        Which policy of the group, on which runs.
    limit : float
        Seconds; a slice of several runs that will take longer is not played, and its pace is the answer.
    """
    try:
        if version != __version__:
            raise SimulationError(
                f"expected workers with matroid-bandits {version}, the caller's version; got one with {__version__}"
            )
        group = _find(token, source)
        if group is None:
            return Unknown()
        with in_one_thread():
            return answer(group, policy, first, last, limit, is_over=_Abandoned(source))
    except BaseException as error:
        return Failed(_packed(error))


def end_with(caller: Connection) -> None:
    """Make this process end when the caller has, in whatever way: then its end of the pipe is closed.

    A caller that is killed says nothing to its workers, which would wait for their next slice for ever.
    """

    def wait() -> None:
        with suppress(EOFError, OSError):
            caller.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, name="matroid-bandits-caller", daemon=True).start()


def answer(
    group: JobGroup,
    policy: int,
    first: int,
    last: int,
    limit: float,
    report: Report = lambda n: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Played | Pace:
    """Play a slice, or, where that will take longer than `limit` seconds and can be cut, measure its pace.

    `is_over` says whether to give up, which raises `Stopped`.
    """
    slice, settings = group.slice(policy, first, last), group.settings
    watch = _Watch(slice.n_runs * settings.n_episodes, limit if slice.n_runs > 1 else math.inf, report, is_over)
    began = time.perf_counter()
    try:
        part = play(slice, settings, watch)
    except _TooLong:
        return pace_of(slice, settings, watch.estimate(), is_over)
    took, paced = time.perf_counter() - began, watch.estimate()
    return Played(replace(part, seconds=min(took, paced or took)), paced)  # the pace does not count the compiler


def pace_of(slice: Slice, settings: Settings, whole: float, is_over: Callable[[], bool]) -> Pace:
    """The pace of a job of which a slice of several runs takes `whole` seconds; one run is measured alone."""
    alone = _Watch(settings.n_episodes, 0.0, lambda n: None, is_over)
    with suppress(_TooLong):
        play(replace(slice, last=slice.first + 1), settings, alone)
    single = min(alone.estimate(), whole)
    per_run = (whole - single) / (slice.n_runs - 1)
    return Pace(max(single - per_run, 0.0), max(per_run, 1e-9))


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


_known: OrderedDict[str, JobGroup] = OrderedDict()


def _find(token: str, source: bytes | str | None) -> JobGroup | None:
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
        assert isinstance(group, JobGroup)
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


def pickler() -> Any:
    """The module that pickles: cloudpickle, which takes classes of notebooks and scripts, where it is installed."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return __import__(name, fromlist=["dumps"])
        except ImportError:
            continue
    return pickle
