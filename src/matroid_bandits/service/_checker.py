"""Replays stretches of logs in the background: whether they still lead to what was saved, and for histories."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.exceptions import MatroidBanditsError, ReplayError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._retention import Retention, archived
from matroid_bandits.service._store import Database, reason_of

log = logging.getLogger("matroid_bandits.service")

#: Events that are replayed at a time, and how much longer than that the thread rests, so that requests do not wait.
_CHUNK, _REST = 256, 4.0

#: Where the log's word is to be taken for every decision.
_ALL = 2**62


class Checker(threading.Thread):
    """Checks, once for each campaign and process, that the log before its snapshot leads to that snapshot."""

    def __init__(
        self, database: Database, archive: Archive | None = None, keep_events: int = _ALL, apart: int = 1
    ) -> None:
        super().__init__(name="matroid-bandits-checker", daemon=True)
        self.archive = archive
        self._retention = None
        if archive is not None:
            self._retention = Retention(database, archive, keep_events, apart, self.walk, self._rest)
        self.differences: dict[int, tuple[str, bool]] = {}
        self.histories: dict[int, Replica] = {}
        self._database = database
        self._seen: set[int] = set()
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._is_over = threading.Event()
        self._lock = threading.Lock()

    def loaded(self, replica: Replica, row: Any) -> None:
        """Check the log of a campaign that was loaded, and make its history anew where that is needed."""
        with self._lock:
            if replica.id in self._seen:
                return
            self._seen.add(replica.id)
        if replica.saved:
            self.put(partial(self._verify, replica.id, replica.name, replica.saved, row.trusted))
        if not replica.is_complete:
            self.go_on(Replica(replica.id, replica.name, replica.spec), replica.seq)
        self.saved(replica.id)

    def saved(self, campaign: int) -> None:
        """Archive what can be, after a snapshot was written."""
        if self._retention is not None:
            self.put(partial(self._retention.tend, campaign))

    def go_on(self, replica: Replica, until: int) -> None:
        """Let a replica follow its log up to an event, for its history."""
        self.put(partial(self._rebuild, replica, until))

    def put(self, job: Callable[[], None]) -> None:
        """Do something in the background, after what was put before."""
        with self._lock:
            if not self._is_over.is_set():
                if not self.is_alive():
                    self.start()
                self._queue.put(job)

    def run(self) -> None:
        """Do one thing after the other."""
        while (job := self._queue.get()) is not None and not self._is_over.is_set():
            try:
                job()
            except _OverError:
                return
            except SQLAlchemyError as error:
                log.warning("the database could not be read in the background: %s", reason_of(error))
            except (MatroidBanditsError, OSError) as error:
                log.error("what is done in the background failed: %s", error)
            except Exception as error:  # the next one may go well
                log.error("what is done in the background failed: %s", type(error).__name__)

    def stop(self) -> None:
        """End, in the middle of what is done."""
        with self._lock:
            self._is_over.set()
            self._queue.put(None)
        if self.is_alive():
            self.join(30.0)

    def walk(self, replica: Replica, until: int, trusted: int) -> None:
        """Let a replica follow its log up to an event, a few events at a time, with rests between them."""
        while replica.seq < until:
            began, first = time.perf_counter(), replica.seq
            with self._database.reading() as connection:
                most = min(_CHUNK, until - replica.seq)
                for event in self._database.log(connection, replica.id, replica.seq, most):
                    replica.follow(event.seq, event.at, event.payload, trusted)
            if replica.seq == first:
                raise ReplayError(f"expected event {first + 1} of {replica.name}, got the end of its log")
            self._rest(_REST * (time.perf_counter() - began))

    def _rest(self, seconds: float = 0.005) -> None:
        if self._is_over.wait(seconds):
            raise _OverError

    def _verify(self, id: int, name: str, seq: int, trusted: int) -> None:
        """Replay what lies between a snapshot and the one before it, and compare."""
        saved = Replica(id, name, {})
        with self._database.reading() as connection:
            if not _snapshots.restore(connection, saved, seq):
                return
            (row,) = self._database.rows(connection, [id])
            earlier = _snapshots.newest(connection, row, seq - 1)
        first = earlier.seq
        if first + 1 < row.first:  # it is where the log begins: nothing in the database comes before it
            return
        try:
            self.walk(earlier, seq, trusted)
            text, is_learnt = earlier.mismatch, False
            if not text:
                text, is_learnt = self._compare(earlier, saved), earlier.digest == saved.digest
        except MatroidBanditsError as error:
            text, is_learnt = str(error), False
        if not text:
            log.info("campaign %s: events %d to %d lead to its snapshot", name, first + 1, seq)
            return
        text = f"events {first + 1} to {seq} do not lead to what was saved: {text}"
        log.error("campaign %s: events %d to %d do not lead to its snapshot", name, first + 1, seq)
        builds = {build for build in (earlier.build, saved.build) if build}
        self.differences[id] = text, builds == {_snapshots.BUILD} and not is_learnt

    @staticmethod
    def _compare(replayed: Replica, saved: Replica) -> str:
        if replayed.digest != saved.digest:
            return "the events in the log are not those that were written"
        if not replayed.learner.has_state_of(saved.learner):
            return "decisions are the same, and what was learnt is not"
        return ""

    def _rebuild(self, replica: Replica, until: int) -> None:
        if not replica.seq:
            log.info("campaign %s: its history is made anew from its log", replica.name)
            with self._database.reading() as connection:
                (row,) = self._database.rows(connection, [replica.id])
                earlier = archived(connection, row, self.archive)
            for seq, at, payload in earlier:
                replica.follow(seq, at, payload, _ALL)
                if seq % _CHUNK == 0:
                    self._rest()
        self.walk(replica, until, _ALL)
        self.histories[replica.id] = replica


class _OverError(Exception):
    """The server ends."""
