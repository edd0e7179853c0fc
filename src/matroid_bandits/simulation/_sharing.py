"""How many threads play a slice whose episodes enter Python: as many as are measured to pay, while it is played.

Threads share the interpreter. Each of n parts of a slice has an n-th of the work of an episode, and queues for its
turn in Python; where all of them queue most of the time, an episode takes longer the more parts there are, several
times as long as in one thread. How many pay depends on the policy, the problem and the machine. So a slice is begun
in one thread; then some numbers of parts play a few episodes each, and the best goes on. Nothing is played twice.

Slices of compiled episodes use the threads that these leave, and wait while the first of these is measured: beside
busy threads, everything would seem to take long.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from matroid_bandits.compiled import Settings, Slice, Stopped
from matroid_bandits.simulation._play import Game
from matroid_bandits.simulation._worker import Left, Pace, Played, Report, pace_of

#: Seconds by which an episode takes longer for every part that it is played in, about, before anything is measured.
WAIT_S = 2.5e-4

#: Seconds that are played in one thread first, and for which a number of parts is tried at least and at most; between
#: these a trial takes this share of the time that is left.
_FIRST_S, _LEAST_S, _MOST_S, _SHARE = 0.02, 0.01, 0.05, 0.015

#: A trial plays at least this many episodes.
_FEWEST = 4

#: With less than this left, in seconds, nothing is tried.
_SHORT_S = 0.1

#: More parts have to save at least this share of the time.
_LEAST_GAIN = 0.05

#: Numbers that differ by less than this factor are not told apart by a trial.
_APART = 1.25

#: The most numbers whose times are compared.
_MOST_TRIED = 6

#: What was found holds for this many times as long as it took to find it; then numbers near it are tried again.
_HOLDS = 40.0

#: Processes take the place of threads where they save that many seconds, and this share of the time; seconds that
#: they need to start, and that an episode takes at least in any of them.
LEAST_SAVED_S, LEAST_SAVED = 10.0, 0.4
_START_S, _LEAST_EPISODE_S = 3.0, 1e-4


class _Leaving(Exception):
    """Processes are to play what was begun on threads."""


class Sharing:
    """The threads of one simulation, for slices whose episodes enter Python.

    Parameters
    ----------
    n_threads : int
        How many there are.
    n_jobs : int
        How many jobs enter Python in all.
    leave : callable
        Called when processes would save much time; says whether they play all jobs instead.

    Attributes
    ----------
    n_at_once : int
        How many of these jobs are to be played at once; one until the first was measured.
    """

    def __init__(self, n_threads: int, n_jobs: int, leave: Callable[[], bool] = lambda: False) -> None:
        self._n_threads, self._n_jobs, self._leave = n_threads, n_jobs, leave
        self._lock, self._is_measured, self.n_at_once = threading.Lock(), False, 1
        self._players: list[_Player] = []
        self._is_quiet, self._n_parts = n_jobs > 0, 1
        self._pool: ThreadPoolExecutor | None = None

    def reserve(
        self, slice: Slice, settings: Settings, limit: float, report: Report, is_over: Callable[[], bool]
    ) -> Callable[[], Played | Pace | Left]:
        """A call that plays a slice in as many threads as pay; some are kept for it from now on.

        `report` and `is_over` are called from all of these threads. A slice of several runs that will take more than
        `limit` seconds is not played, and its pace is the answer.
        """
        with self._lock:
            player = _Player(self, slice, settings, limit, report, is_over, self._n_parts)
            self._players.append(player)
        return partial(self._play, player)

    def _play(self, player: _Player) -> Played | Pace | Left:
        try:
            return player.play()
        except _Leaving:
            return Left()
        finally:
            with self._lock:
                self._players.remove(player)
                self._is_quiet, self._n_parts = False, player.n_parts

    @property
    def n_each(self) -> int:
        """How many threads a slice may use now."""
        return max(1, self._n_threads // max(1, len(self._players)))

    @property
    def n_free(self) -> float:
        """How many slices of other jobs may be under way now: none while the first slice is measured."""
        with self._lock:
            if self._is_quiet:
                return 0
            n = sum(player.n_parts for player in self._players)
        return self._n_threads - n if n else math.inf

    def measured(self, alone: float, took: float, n_left: int) -> None:
        """Take note of the seconds of an episode, in one thread and in the best number of parts, with n_left to come.

        Raises `_Leaving` where processes are to play; asked of what is measured first, while nothing else is played.
        """
        with self._lock:
            if self._is_measured:
                return
            self._is_measured, self._is_quiet = True, False
            threads = took * n_left * self._n_jobs
            processes = _START_S + max(alone / self._n_threads, _LEAST_EPISODE_S) * n_left * self._n_jobs
            if threads - processes > max(LEAST_SAVED_S, LEAST_SAVED * threads) and self._leave():
                raise _Leaving
            # whole jobs at once are together as fast as the interpreter lets them be
            self.n_at_once = min(self._n_threads, self._n_jobs, max(1, round(alone / WAIT_S)))

    def submit(self, call: Callable[[], BaseException | None]) -> Future[BaseException | None]:
        """Have a part played beside the caller's."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="matroid-bandits-part")
        return self._pool.submit(call)

    def close(self) -> None:
        """End the threads, which have nothing left to do."""
        if self._pool is not None:
            self._pool.shutdown()


class _Player:
    """Plays a slice to its end, in parts.

    Attributes
    ----------
    n_parts : int
        How many threads it has now; at first as many as are expected to be the best number.
    """

    def __init__(
        self,
        sharing: Sharing,
        slice: Slice,
        settings: Settings,
        limit: float,
        report: Report,
        is_over: Callable[[], bool],
        n_parts: int,
    ) -> None:
        self._sharing, self._slice, self._settings, self._n_episodes = sharing, slice, settings, settings.n_episodes
        self._limit, self._report, self._is_over, self.n_parts = limit, report, is_over, n_parts
        self._failed, self._lock = threading.Event(), threading.Lock()
        self._beside = 0.0  # seconds of the other threads
        self._is_settled, self._held = False, 0  # episodes are reported once it is known that they count

    def play(self) -> Played | Pace:
        began_at = time.perf_counter()
        game = self._game = Game(self._slice, self._settings)
        alone = took = self._begin()
        n, n_next = 1, max(2, round(math.sqrt(alone / WAIT_S)))
        is_first, is_up = True, False
        while game.t < self._n_episodes:
            most = min(self._sharing.n_each, game.slice.n_runs)
            began = time.perf_counter()
            if most == 1:
                n = 1
            elif took * (self._n_episodes - game.t) > _SHORT_S:
                n, took = search(self._trial, alone, min(n, most), took, min(n_next, most), most)
            if is_first:
                self._sharing.measured(alone, took, self._n_episodes - game.t)
                if took * self._n_episodes > self._limit and game.slice.n_runs > 1:
                    return pace_of(game.slice, self._settings, took * self._n_episodes, self._is_over)
                self._settle()
                is_first = False
            searched = time.perf_counter() - began
            seconds = max(_HOLDS * searched, 1.0)
            took = self._advance(n, max(_FEWEST, int(seconds / took)))
            is_up = not is_up
            n_next = n + max(1, n // 2) if is_up else max(1, 2 * n // 3)
        if is_first:
            self._settle()
        took = time.perf_counter() - began_at
        return Played(replace(game.result(), seconds=took + self._beside), took)

    def _begin(self) -> float:
        """Play the first episodes in this thread; seconds of one, without those that may wait for the compiler."""
        game, last = self._game, self._n_episodes
        game.play(min(2, last), self._count)
        began, t = time.perf_counter(), game.t
        while game.t < last and time.perf_counter() - began < _FIRST_S:
            game.play(min(2 * game.t, game.t + 64, last), self._count)
        return (time.perf_counter() - began) / max(1, game.t - t)

    def _trial(self, n: int, took: float) -> float:
        """Seconds of an episode in n parts, where it has been found to take about `took`."""
        left = took * (self._n_episodes - self._game.t)
        seconds = min(max(_LEAST_S, _SHARE * left), _MOST_S)
        return self._advance(n, max(_FEWEST, math.ceil(seconds / took)))

    def _advance(self, n: int, n_episodes: int) -> float:
        """Play some episodes in n parts; seconds of one."""
        game, first, self.n_parts = self._game, self._game.t, n
        until = min(first + n_episodes, self._n_episodes)
        if until == first:
            return math.inf
        began = time.perf_counter()
        if n == 1:
            game.play(until, self._count)
            return (time.perf_counter() - began) / (until - first)
        parts = game.parts(n)
        others = [self._sharing.submit(partial(self._play_part, part, until)) for part in parts[1:]]
        error = self._play_part(parts[0], until)
        errors = [error, *(other.result() for other in others)]
        for error in sorted(filter(None, errors), key=lambda error: isinstance(error, Stopped)):
            raise error
        game.rejoin(parts)
        took = time.perf_counter() - began
        self._beside += (n - 1) * took
        return took / (until - first)

    def _play_part(self, part: Game, until: int) -> BaseException | None:
        """Play a part; gives the error that ended it."""
        try:
            part.play(until, self._count)
        except BaseException as error:
            self._failed.set()  # the other parts need not go on
            return error
        return None

    def _count(self, n: int) -> bool:
        if self._is_settled:
            self._report(n)
        else:
            with self._lock:
                self._held += n
        return self._is_over() or self._failed.is_set()

    def _settle(self) -> None:
        """Report what was played so far; no part is under way."""
        self._is_settled = True
        self._report(self._held)


def search(
    trial: Callable[[int, float], float], alone: float, n: int, took: float, n_next: int, most: int
) -> tuple[int, float]:
    """A number of parts in which episodes are soon played, and the seconds that one takes.

    Parameters
    ----------
    trial : callable
        Called with a number of parts, and the seconds that an episode is believed to take; gives those it took.
    alone : float
        Seconds of an episode in one part.
    n, took : int, float
        A number of parts whose time is known, and that time.
    n_next : int
        Which number to try first.
    most : int
        The most parts.
    """
    tried = {n: took}
    while len(tried) < _MOST_TRIED and not any(1.0 / _APART < n_next / n < _APART for n in tried):
        tried[n_next] = trial(n_next, min(tried.values()))
        best = _best(tried)
        if n_next == best:  # towards the number for which the wait of each part is as long as its work
            waits = (tried[best] - alone / best) / best
            goal = math.sqrt(alone / waits) if waits > 0.0 else math.inf
            n_next = min(max(1, round(min(goal, 2.0 * best))), *(n for n in tried if n > best), most)
        else:
            n_next = max(1, round(math.sqrt(best * n_next)))
    return _best(tried), tried[_best(tried)]


def _best(tried: dict[int, float]) -> int:
    """The number with the least time; of two that are nearly alike the smaller one."""
    best = min(tried)
    for n in sorted(tried):
        if tried[n] < tried[best] * (1.0 - _LEAST_GAIN):
            best = n
    return best
