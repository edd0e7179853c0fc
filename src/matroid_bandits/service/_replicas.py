"""The replicas of a process: found by name, loaded when needed, kept up with their logs, saved now and then."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection

from matroid_bandits.exceptions import CampaignStoppedError, MatroidBanditsError, ReplayError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._background import Background
from matroid_bandits.service._checker import Checker
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import Database
from matroid_bandits.service._warm import warm_up

log = logging.getLogger("matroid_bandits.service")

#: Seconds of operations after which a snapshot is made, since a replay would take as long again.
_MOST_REPLAY_S = 10.0


#: Events between two looks at the progress of a replay, and seconds between two lines in the log about it.
_SHOWN, _SAY_EVERY_S = 1024, 5.0

#: The number of events that a history made in the background may be behind; the writer's thread adds those.
_NEAR = 1000


class Replicas:
    """All replicas of a process; only the writer's thread touches them."""

    def __init__(
        self,
        database: Database,
        snapshot_every: int,
        figures: Figures | None = None,
        checker: Checker | None = None,
    ) -> None:
        self.by_id: dict[int, Replica] = {}
        self.is_shared, self.progress = False, ""
        self._database, self._snapshot_every = database, snapshot_every
        self._by_name: dict[str, Replica] = {}
        self._at_risk: dict[int, tuple[Replica, str | None]] = {}  # with the digest of what is known to be in its log
        self._broken: dict[str, tuple[str, tuple[Any, ...]]] = {}  # what is wrong, and of which row
        self._figures = figures or Figures()
        self._background = Background("background", self._figures)
        self._checker = checker or Checker(database)
        self.reading: dict[str, tuple[int, int]] = {}
        self._said = 0.0

    def find(self, name: str) -> Replica:
        """The replica of a campaign, loaded if it is not."""
        replica = self._by_name.get(name)
        if replica is not None:
            return replica
        if name in self._broken:
            raise CampaignStoppedError(f"the log of {name} cannot be read: {self._broken[name][0]}")
        with self._database.reading() as connection:
            row = self._database.get(connection, name)
            return self._load(row, connection)

    def learn(self, rows: list[Any]) -> None:
        """Load the campaigns that are not loaded, archived ones apart."""
        missing = [row for row in rows if self._is_missing(row)]
        for n, row in enumerate(missing, 1):
            self._broken.pop(row.name, None)
            self.progress = f"loading campaign {row.name}, {n} of {len(missing)}"
            log.info("%s", self.progress)
            began = time.perf_counter()
            try:
                with self._database.reading() as connection:
                    replica = self._load(row, connection)
            except MatroidBanditsError:
                log.error("campaign %s could not be loaded: see its status", row.name)
            else:
                seconds = time.perf_counter() - began
                log.info("campaign %s is loaded at event %d after %.1f seconds", row.name, replica.seq, seconds)
        self.progress = ""

    def _is_missing(self, row: Any) -> bool:
        """Whether a campaign is to be loaded: it is not, is not archived, and can be read as far as is known."""
        if row.id in self.by_id or row.status == "archived":
            return False
        return row.name not in self._broken or self._broken[row.name][1] != _version_of(row)

    def adopt(self, replica: Replica) -> None:
        """Take a replica of a campaign that was just created."""
        self.by_id[replica.id] = self._by_name[replica.name] = replica

    def catch_up(self, replica: Replica, row: Any, connection: Connection) -> bool:
        """Let everything happen that the log has and the replica has not; whether there was anything."""
        is_behind: bool = replica.seq < row.seq
        try:
            if is_behind:
                self.is_shared = True
                self._follow(replica, row, connection)
            if (replica.seq, replica.digest) != (row.seq, row.digest):
                raise ReplayError(f"expected to be at event {row.seq} of {replica.name}, got {replica.seq} or others")
            replica.compare(row)
        except BaseException:
            self.doubt(replica)
            raise
        return is_behind

    def risk(self, replicas: dict[int, Replica]) -> None:
        """Take note of replicas that are about to be ahead of the log."""
        for id, replica in replicas.items():
            self._at_risk.setdefault(id, (replica, replica.digest))

    def doubt(self, replica: Replica) -> None:
        """Take note of a replica that may be anything."""
        self._at_risk[replica.id] = replica, None

    def committed(self, replicas: dict[int, Replica]) -> None:
        """What happened to these replicas is in the log now; save those that are far from their last snapshot."""
        for id, replica in replicas.items():
            self._at_risk.pop(id, None)
            is_far = replica.seq - replica.saved >= self._snapshot_every or replica.spent > _MOST_REPLAY_S
            if is_far or replica.is_unsaved:
                self._save(replica)

    def loaded(self, name: str | None) -> Replica | None:
        """The replica of a campaign, where it is loaded."""
        return self._by_name.get(name or "")

    def release(self, replica: Replica) -> None:
        """Give up a replica that another thread takes."""
        del self.by_id[replica.id], self._by_name[replica.name]

    def forget(self, ids: Iterable[int]) -> None:
        """Give up the replicas of campaigns that are not there any more."""
        for id in ids:
            replica = self.by_id.pop(id, None)
            if replica is not None and self._by_name.get(replica.name) is replica:
                del self._by_name[replica.name]

    def drop_unsettled(self) -> None:
        """Forget the replicas that may be ahead of the log; they are loaded anew when needed."""
        for id, (replica, digest) in self._at_risk.items():
            if replica.digest != digest or not replica.is_clean:
                self.by_id.pop(id, None)
                self._by_name.pop(replica.name, None)
        self._at_risk.clear()

    def close(self) -> None:
        """Save what has changed, and end."""
        for replica in self.by_id.values():
            if replica.is_unsaved or replica.seq - replica.saved >= min(100, self._snapshot_every):
                self._save(replica)
        self._background.stop()

    def forget_ids(self, before: float, *, of_servers: bool = False) -> None:
        """Forget, in the background, the ids of requests that were answered before a time."""
        self._background.put(partial(self._database.forget_ids, before, of_servers=of_servers))

    def _load(self, row: Any, connection: Connection) -> Replica:
        self._database.take_time(connection)
        try:
            replica = self._read(row, connection)
            replica.compare(row)
        except MatroidBanditsError as error:
            self._broken[row.name] = str(error), _version_of(row)
            raise CampaignStoppedError(f"the log of {row.name} cannot be read: {error}") from error
        if replica.saved:  # what a snapshot does not hold
            replica.recent.clear()
            for payload in self._database.tail(connection, row.id, row.seq, 2 * (replica.recent.maxlen or 0)):
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # what a hand has written
                    event = from_json(payload)
                    if event["event"] == "asked":
                        replica.remember(event["items"])
        warm_up(replica.learner, row.name)
        self.adopt(replica)
        self._figures.count("loaded_campaigns")
        self._checker.loaded(replica, row)
        return replica

    def _read(self, row: Any, connection: Connection) -> Replica:
        """A replica at the end of its log: from a snapshot where that leads to its digest, else from event 1."""

        def leads_there(replica: Replica) -> bool:
            try:
                self._follow(replica, row, connection)
            except MatroidBanditsError:
                log.warning("a snapshot of campaign %s does not fit its log", row.name)
                return False
            return bool(replica.digest == row.digest)

        replica = _snapshots.newest(connection, row, row.seq, leads_there)
        if replica.seq:
            if replica.build != _snapshots.BUILD:
                replica.difference, replica.mismatch = replica.mismatch, ""
                replica.is_unsaved = True
            return replica
        if row.first > 1:
            raise ReplayError(
                f"expected the snapshot at event {row.first - 1}, where the log begins, got none that fits its log"
            )
        self._follow(replica, row, connection)
        if replica.digest != row.digest:
            replica.mismatch = replica.mismatch or "the events in its log are not those that were written"
            replica.digest = row.digest
        return replica

    def _follow(self, replica: Replica, row: Any, connection: Connection) -> None:
        first, began = replica.seq, time.perf_counter()
        try:
            for event in self._database.log(connection, replica.id, replica.seq):
                if event.seq > row.seq:  # committed since the row was read
                    break
                replica.follow(event.seq, event.at, event.payload, row.trusted)
                if event.seq % _SHOWN == 0 and row.seq - first > _SHOWN:
                    self._show_progress(replica, row, began)
        finally:
            self.reading.pop(row.name, None)
            self._figures.count("replayed_events", amount=replica.seq - first)
            self._figures.count("replay_seconds", amount=time.perf_counter() - began)
        if replica.seq < row.seq:
            raise ReplayError(f"expected event {replica.seq + 1} of {replica.name}, got the end of its log")

    def _show_progress(self, replica: Replica, row: Any, began: float) -> None:
        """Say how far a long replay is, in the log now and then."""
        is_first = row.name not in self.reading
        self.reading[row.name] = replica.seq, row.seq
        seconds = time.perf_counter() - began
        if is_first or seconds > self._said + _SAY_EVERY_S:
            self._said = 0.0 if is_first else seconds
            log.info("campaign %s: replaying its log, event %d of %d", row.name, replica.seq, row.seq)

    def heed(self, rows: list[Any]) -> None:
        """Take what was found in the background: differences between logs and snapshots, and histories."""
        for row in rows:
            replica = self.by_id.get(row.id)
            if replica is None:
                continue
            text, is_own = self._checker.differences.get(row.id, ("", False))
            if text and is_own:
                replica.mismatch = replica.mismatch or text
            elif text and all(alarm["text"] != text for alarm in replica.alarms.values()):
                replica.difference = text
            if text and (row.status == "stopped" or not (replica.mismatch or replica.difference)):
                del self._checker.differences[row.id]
            if row.id in self._checker.histories:
                self._take_history(replica, row)

    def _take_history(self, replica: Replica, row: Any) -> None:
        """Take a history that was made from the log, once it has come to where the replica is."""
        made = self._checker.histories[replica.id]
        if replica.seq - made.seq > _NEAR:
            self._checker.go_on(self._checker.histories.pop(replica.id), replica.seq)
        elif replica.seq >= made.seq:
            del self._checker.histories[replica.id]
            with self._database.reading() as connection:
                for event in self._database.log(connection, replica.id, made.seq, replica.seq - made.seq):
                    made.follow(event.seq, event.at, event.payload, event.seq)
            if made.digest == replica.digest:
                replica.history, replica.uplift, replica.is_unsaved = made.history, made.uplift, True
                log.info("campaign %s: its history is complete", replica.name)

    def _save(self, replica: Replica) -> None:
        replica.saved, replica.spent, replica.is_unsaved = replica.seq, 0.0, False
        if not replica.mismatch:
            try:
                self._background.put(partial(self._store, _snapshots.take(replica)))
            except (MatroidBanditsError, OSError) as error:  # the log has everything, and a restart takes longer
                self._figures.count("snapshots", "failed")
                log.warning("a snapshot of campaign %s could not be made: %s", replica.name, type(error).__name__)

    def _store(self, row: dict[str, Any]) -> None:
        try:
            _snapshots.store(self._database, row)
        except BaseException:
            self._figures.count("snapshots", "failed")
            raise
        self._figures.count("snapshots", "written")
        self._checker.saved(row["campaign"])


def _version_of(row: Any) -> tuple[Any, ...]:
    """What of a campaign's row decides whether it can be loaded."""
    return row.digest, row.trusted, row.spec, row.status, row.reason
