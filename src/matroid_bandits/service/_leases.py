"""Leases: which server keeps a campaign's learner in memory, by the database's clock.

A lease saves work and guards nothing. Any server may write any campaign at any time, under the lock of its row; one
that has the lease need not read what others have appended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.service._store import Database, reason_of
from matroid_bandits.service._tables import campaigns, leases

log = logging.getLogger("matroid_bandits.service")

#: Looks at the table in the time of a lease, and the share of a lease that may be gone before it is renewed.
_LOOKS, _RENEWED = 4, 0.4

#: Seconds over which requests are counted before a campaign is given to another server, and their least number.
_WEIGHED_S: Final = 10.0
_FEW: Final = 20

#: The share of a campaign's requests that makes a server the one to have its lease.
_MOST_OF_THEM: Final = 0.75


class Clock:
    """The database's clock as this server last read it, and the pauses between two readings."""

    def __init__(self, most: float) -> None:
        self.last, self.era, self._most = 0.0, 0, most
        self._lock = threading.Lock()
        self.on_pause: Callable[[], None] = lambda: None

    def read(self, now: float) -> bool:
        """Take note of what the database's clock says; whether the server was paused since the last reading."""
        with self._lock:
            is_paused = 0.0 < self.last < now - self._most
            seconds, self.last = now - self.last, now
            self.era += is_paused
        if is_paused:
            log.warning("the database's clock was not read for %.1f seconds: earlier requests are dropped", seconds)
            self.on_pause()
        return is_paused


class Leases(threading.Thread):
    """The leases of the campaigns of a database, as one server takes, renews and gives them up."""

    def __init__(
        self, database: Database, server: str, seconds: float, every: float, share: tuple[int, int] = (0, 1)
    ) -> None:
        super().__init__(name="matroid-bandits-leases", daemon=True)
        self.url, self.share, self.clock = "", share, Clock(seconds)
        self.save: Callable[[str], None] = lambda name: None
        self._database, self._me, self._seconds = database, server, seconds
        self._every = min(every, seconds / _LOOKS)
        self._held: frozenset[int] = frozenset()
        self._begun: set[int] = set()  # of campaigns that are created while the table is read
        self._holders: dict[str, str] = {}  # the URLs of those of others, by campaign
        self._free_since: dict[int, float] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._next_weighing = time.monotonic() + _WEIGHED_S
        self._is_over, self._is_draining, self._wake = False, False, threading.Event()
        self._is_mine = leases.c.server == self._me
        self._renewal = sa.update(leases).where(self._is_mine)
        self._insert = sqlite.insert if self._database.is_sqlite else postgresql.insert

    # What the server asks, on any thread

    def holds(self, campaign: int) -> bool:
        """Whether this server has the lease of a campaign, by its number."""
        return campaign in self._held

    @property
    def held(self) -> frozenset[int]:
        """The campaigns whose leases this server has."""
        return self._held

    def url_of(self, name: str) -> str:
        """Where the holder of a campaign's lease is reached; empty where the campaign is to be written here."""
        return self._holders.get(name, "")

    @property
    def has_others(self) -> bool:
        """Whether another server has a lease."""
        return bool(self._holders)

    def count(self, name: str, server: str = "") -> None:
        """Count a request that is executed here: one of a client, or one that another server passed on."""
        self._counts[name, server or self._me] += 1

    # The thread itself

    def run(self) -> None:
        """Look at the table again and again."""
        is_well = True
        while not self._is_over:
            self._wake.wait(self._every)
            self._wake.clear()
            try:
                if not self._is_over:
                    self.look()
                is_well = True
            except (SQLAlchemyError, OSError) as error:
                if is_well:
                    words = reason_of(error) if isinstance(error, SQLAlchemyError) else str(error)
                    log.warning("cannot read the leases of campaigns: %s", words)
                is_well = False

    def look(self) -> None:
        """Read the database's clock and all leases; renew those of this server, and take those that are free."""
        begun, self._begun = self._begun, set()
        with self._database.reading() as connection:
            rows = connection.execute(self._all()).all()
            now = rows[0].now if rows else self._database.now(connection)
        self.clock.read(now)
        mine = [row for row in rows if row.server == self._me]
        is_due = any(row.until < now + (1.0 - _RENEWED) * self._seconds or row.url != self.url for row in mine)
        wanted = [] if self._is_draining else [row.id for row in rows if self._may_take(row, now)]
        taken: Collection[int] = ()
        if (is_due and not self._is_draining) or wanted:
            with self._database.writing() as connection:
                self._renew(connection)
                taken = self._take(connection, wanted)
        self._held = frozenset(row.id for row in mine if row.until > 0.0).union(taken, begun, self._begun)
        self._holders = {
            row.name: row.url
            for row in rows
            if row.id not in self._held and row.server is not None and row.until > now
        }
        if time.monotonic() >= self._next_weighing:
            self._next_weighing = time.monotonic() + _WEIGHED_S
            self._give_one(rows)

    def _all(self) -> sa.Select[Any]:
        """Every campaign, with its lease and the time."""
        joined = campaigns.outerjoin(leases, leases.c.campaign == campaigns.c.id)
        columns = campaigns.c.id, campaigns.c.name, campaigns.c.status, leases.c.server, leases.c.url, leases.c.until
        now = self._database.clock.label("now")
        return select(*columns, now).select_from(joined).order_by(campaigns.c.id)

    def _may_take(self, row: Any, now: float) -> bool:
        """Whether a lease is free for this server: it has run out, or is of an earlier server at the same URL."""
        if row.status == "archived" or row.server == self._me:
            return False
        if row.server is not None and row.url == self.url != "":
            return True
        if row.server is not None and row.until > now:
            self._free_since.pop(row.id, None)
            return False
        worker, n_workers = self.share
        since = self._free_since.setdefault(row.id, now)
        return row.id % n_workers == worker or now - since > self._seconds

    def _renew(self, connection: Connection) -> None:
        """Renew every lease of this server in one statement."""
        until = self._database.clock + self._seconds
        connection.execute(self._renewal.values(until=until, url=self.url))

    def _take(self, connection: Connection, wanted: list[int]) -> Collection[int]:
        """Take leases, each by one compare-and-set; those that were had."""
        if not wanted:
            return ()
        clock = self._database.clock
        fresh = {"server": self._me, "url": self.url, "until": clock + self._seconds}
        statement = self._insert(leases).values([{"campaign": id, **fresh} for id in wanted])
        is_free = (leases.c.until < clock) | self._is_mine
        if self.url:
            is_free |= leases.c.url == self.url
        claimed = statement.on_conflict_do_update(
            index_elements=["campaign"],
            set_={name: statement.excluded[name] for name in fresh},
            where=is_free,
        )
        return [row.campaign for row in connection.execute(claimed.returning(leases.c.campaign))]

    def begin(self, connection: Connection, campaign: int) -> None:
        """Take the lease of a campaign that is being created, unless it is another worker's share."""
        if campaign % self.share[1] == self.share[0] and not self._is_draining:
            self._take(connection, [campaign])
            self._begun.add(campaign)
            self._held |= {campaign}

    # Leases follow requests

    def _give_one(self, rows: Any) -> None:
        """Give one campaign to a server that has passed on most of its requests, or to one with fewer campaigns."""
        old, self._counts = self._counts, Counter()
        counts = Counter(old)  # the event loop may still be counting in the old one
        of_servers = Counter(row.server for row in rows if row.server is not None and row.until > row.now)
        known = {server for _, server in counts} - {self._me}
        least = min(known, key=lambda server: (of_servers[server], server), default=None)
        for row in rows:
            if row.id not in self._held or row.server != self._me:  # one that was just taken stays
                continue
            of_it = Counter({server: n for (name, server), n in counts.items() if name == row.name})
            if (total := of_it.total()) < _FEW:
                continue
            busiest, n = of_it.most_common(1)[0]
            is_here = of_it[self._me] > _MOST_OF_THEM * total
            if busiest != self._me and n > _MOST_OF_THEM * total:
                self.give(row.id, row.name, busiest)
                return
            if least is not None and not is_here and len(self._held) >= of_servers[least] + 2:
                self.give(row.id, row.name, least)
                return

    def give(self, campaign: int, name: str, server: str) -> None:
        """Give a campaign to another server, with a snapshot, so that little is left to replay there."""
        try:
            self.save(name)
        except MatroidBanditsError as error:
            log.warning("campaign %s stays here: %s", name, error)
            return
        until = self._database.clock + self._seconds
        with self._database.writing() as connection:
            is_it = (leases.c.campaign == campaign) & self._is_mine
            connection.execute(sa.update(leases).where(is_it).values(server=server, url="", until=until))
        self._held -= {campaign}
        log.info("campaign %s is given to server %s, which passed on more of its requests", name, server)

    # The end

    def drain(self) -> None:
        """Take no more leases."""
        self._is_draining = True

    def release(self) -> None:
        """Give up every lease, so that others take them at once."""
        with self._database.writing() as connection:
            connection.execute(self._renewal.values(until=0.0))
        self._held = frozenset()

    def stop(self) -> None:
        """End the thread."""
        self._is_over = self._is_draining = True
        self._wake.set()
        if self.is_alive():
            self.join(5.0)
