"""Replays stretches of logs in the background: whether they still lead to what was saved, and for histories."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Any

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._background import Background
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._retention import Retention, archived
from matroid_bandits.service._store import Database

log = logging.getLogger("matroid_bandits.service")

#: Events that are replayed at a time, and how much longer than that the thread rests, so that requests do not wait.
_CHUNK, _REST = 256, 4.0

#: Where the log's word is to be taken for every decision.
_ALL = 2**62


class Checker(Background):
    """Checks, once for each campaign and process, that the log before its snapshot leads to that snapshot."""

    def __init__(
        self, database: Database, archive: Archive | None = None, keep_events: int = _ALL, apart: int = 1
    ) -> None:
        super().__init__("checker")
        self.archive = archive
        self._retention = None
        if archive is not None:
            self._retention = Retention(database, archive, keep_events, apart, self.walk, self.rest)
        self.differences: dict[int, tuple[str, bool]] = {}
        self.histories: dict[int, Replica] = {}
        self._database = database
        self._seen: set[int] = set()

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

    def walk(self, replica: Replica, until: int, trusted: int) -> None:
        """Let a replica follow its log up to an event, a few events at a time, with rests between them."""
        began = time.perf_counter()

        def rest() -> None:
            nonlocal began
            self.rest(_REST * (time.perf_counter() - began))
            began = time.perf_counter()

        for event in self._database.stretch(replica.id, replica.seq, until, _CHUNK, rest):
            replica.follow(event.seq, event.at, event.payload, trusted)

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
                text, is_learnt = earlier.differs_from(saved), earlier.digest == saved.digest
        except MatroidBanditsError as error:
            text, is_learnt = str(error), False
        if not text:
            log.info("campaign %s: events %d to %d lead to its snapshot", name, first + 1, seq)
            return
        text = f"events {first + 1} to {seq} do not lead to what was saved: {text}"
        log.error("campaign %s: events %d to %d do not lead to its snapshot", name, first + 1, seq)
        builds = {build for build in (earlier.build, saved.build) if build}
        self.differences[id] = text, builds == {_snapshots.BUILD} and not is_learnt

    def _rebuild(self, replica: Replica, until: int) -> None:
        if not replica.seq:
            log.info("campaign %s: its history is made anew from its log", replica.name)
            with self._database.reading() as connection:
                (row,) = self._database.rows(connection, [replica.id])
                earlier = archived(connection, row, self.archive)
            for seq, at, payload in earlier:
                replica.follow(seq, at, payload, _ALL)
                if seq % _CHUNK == 0:
                    self.rest()
        self.walk(replica, until, _ALL)
        self.histories[replica.id] = replica
