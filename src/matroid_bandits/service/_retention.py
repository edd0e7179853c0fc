"""How much of a log is kept in the database: what is older goes to an archive, behind a snapshot that stays."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, select

from matroid_bandits.exceptions import ReplayError, SerializationError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._archive import Archive, Event
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import Database, chained
from matroid_bandits.service._tables import campaigns, events, snapshots

log = logging.getLogger("matroid_bandits.service")

#: Events that are read or removed at a time, so that neither the database nor requests wait for long.
_CHUNK = 2000

#: Where the log's word is taken for every decision: hashes show whether it is the log that was written.
_ALL = 2**62


# A snapshot is chosen and kept. Once `keep_events` events follow it, what comes before it is written to a file, read
# back and compared with the digest in the snapshot; then the log begins after the snapshot, and the events before are
# removed. So a log has at most about twice `keep_events` events. Where it has more, as when the archive came later, a
# snapshot is made `keep_events` before its end, and the log is cut there at once. Decisions that wait are in
# the snapshot, and ids of requests in a table of their own: neither holds a stretch up.


class Retention:
    """Moves closed stretches of logs to an archive."""

    def __init__(
        self,
        database: Database,
        archive: Archive,
        keep_events: int,
        apart: int,
        walk: Callable[[Replica, int, int], None],
        rest: Callable[[], None],
    ) -> None:
        self.archive = archive
        self._database, self._keep_events, self._apart = database, keep_events, apart
        self._walk, self._rest = walk, rest

    def tend(self, campaign: int) -> None:
        """Archive and remove what can be, and choose the snapshot that the log will begin at next."""
        with self._database.reading() as connection:
            (row,) = self._database.rows(connection, [campaign]) or (None,)
            if row is None:
                return
            has_kept = _kept(connection, campaign, row.first) is not None
        self._remove(campaign, row.first)  # what a server left that ended in the middle of it
        last_old = row.seq - self._keep_events
        most_old = self._keep_events + 2 * self._apart if has_kept else self._apart
        if last_old - row.first > most_old and self._make(row, last_old):
            self._cut(row, last_old)
            return
        chosen = self._choose(campaign, row.first)
        if chosen is not None and row.seq - chosen >= self._keep_events:
            self._cut(row, chosen)
            self._choose(campaign, chosen + 1)

    def _make(self, row: Any, seq: int) -> bool:
        """Make a snapshot at an event by replaying the log, and keep it; whether that could be done."""
        with self._database.reading() as connection:
            replica = _snapshots.newest(connection, row, seq, lambda earlier: earlier.is_complete)
        if replica.seq < row.first - 1:  # what is before it is in archives alone
            return False
        log.info("campaign %s: making a snapshot at event %d, to archive what is older", row.name, seq)
        self._walk(replica, seq, _ALL)
        digest = replica.digest
        for number, at, payload in self._stretch(row.id, seq, row.seq):
            digest = chained(digest, number, at, payload)
        if digest != row.digest:
            raise SerializationError(f"expected the log of {row.name} as it was written, got another")
        _snapshots.store(self._database, _snapshots.take(replica) | {"kept": 1})
        self._keep(row.id, seq, 1)  # where a server had made one at the same event
        return True

    def _choose(self, campaign: int, first: int) -> int | None:
        """The snapshot that is kept until the log begins after it: the newest one when there was none."""
        of_it = (snapshots.c.campaign == campaign) & (snapshots.c.seq >= first)
        with self._database.writing() as connection:
            found = _kept(connection, campaign, first)
            if found is None:
                found = connection.execute(select(sa.func.max(snapshots.c.seq)).where(of_it)).scalar_one()
                if found is not None:
                    connection.execute(sa.update(snapshots).where(of_it, snapshots.c.seq == found).values(kept=1))
        return found

    def _cut(self, row: Any, seq: int) -> None:
        """Let a log begin after the snapshot at an event."""
        with self._database.reading() as connection:
            saved = Replica(row.id, row.name, {})
            if not _snapshots.restore(connection, saved, seq):
                self._keep(row.id, seq, 0)
                return
            before = self._database.base(connection, row.id)[1]
            if self._is_cut(connection, row):
                return  # and `before` may be of the log as it is now
        if not saved.is_complete:  # it is made from the whole log, which must be there
            self._keep(row.id, seq, 0)
            return
        log_of_it = self._stretch(row.id, row.first - 1, seq)
        try:
            path, digest = self.archive.write(row.name, saved.learner.id, before, row.first, seq, log_of_it)
        except (ReplayError, SerializationError):
            with self._database.reading() as connection:
                if self._is_cut(connection, row):  # by another server, while its events were read
                    return
            raise
        again = before
        for number, at, payload in self.archive.read(path, before):
            again = chained(again, number, at, payload)
            if number % _CHUNK == 0:
                self._rest()
        if not digest == again == saved.digest:
            raise SerializationError(f"{path}: expected the log that the snapshot was made of, got another")
        with self._database.writing() as connection:
            (now,) = self._database.lock(connection, [row.id]) or (None,)
            if now is None or now.first != row.first or _snapshots.find(connection, row.id, seq) is None:
                return  # another server has done it, or the campaign is gone
            connection.execute(sa.update(campaigns).where(campaigns.c.id == row.id).values(first=seq + 1))
        log.info("campaign %s: events %d to %d are in %s", row.name, row.first, seq, path)
        self._remove(row.id, seq + 1)

    def _stretch(self, campaign: int, after: int, until: int) -> Iterator[Event]:
        return self._database.stretch(campaign, after, until, _CHUNK, self._rest)

    def _is_cut(self, connection: Connection, row: Any) -> bool:
        """Whether the log of a campaign does not begin any more where it did, or is gone."""
        (now,) = self._database.rows(connection, [row.id]) or (None,)
        return now is None or bool(now.first != row.first)

    def _keep(self, campaign: int, seq: int, kept: int) -> None:
        """Keep a snapshot, or let it go, so that another is chosen next time."""
        with self._database.writing() as connection:
            same = (snapshots.c.campaign == campaign) & (snapshots.c.seq == seq)
            connection.execute(sa.update(snapshots).where(same).values(kept=kept))

    def _remove(self, campaign: int, first: int) -> None:
        """Remove events before the first that is kept, and snapshots before the one that the log begins at."""
        of_it = (events.c.campaign == campaign) & (events.c.seq < first)
        while first > 1:
            with self._database.writing() as connection:
                lowest = connection.execute(select(sa.func.min(events.c.seq)).where(of_it)).scalar_one()
                if lowest is None:
                    old = (snapshots.c.campaign == campaign) & (snapshots.c.seq < first - 1)
                    connection.execute(sa.delete(snapshots).where(old))
                    return
                connection.execute(sa.delete(events).where(of_it, events.c.seq < lowest + _CHUNK))
            self._rest()


def archived(connection: Connection, row: Any, archive: Archive | None) -> Iterator[Event]:
    """The events of a campaign that are in the archive alone, from the first on."""
    if row.first == 1:
        return iter(())
    if archive is None:
        raise ReplayError(f"the log of {row.name} begins at event {row.first}, and no archive is given")
    base = Replica(row.id, row.name, {})
    if not _snapshots.restore(connection, base, row.first - 1):
        raise ReplayError(f"the snapshot at event {row.first - 1} of {row.name}, where it begins, is damaged")
    return archive.events(row.name, base.learner.id, 0, "", row.first - 1)


def _kept(connection: Connection, campaign: int, first: int) -> int | None:
    """The snapshot that is kept until the log begins after it."""
    of_it = (snapshots.c.campaign == campaign) & (snapshots.c.seq >= first) & (snapshots.c.kept == 1)
    found: int | None = connection.execute(select(sa.func.max(snapshots.c.seq)).where(of_it)).scalar_one()
    return found
