"""Which servers of one PostgreSQL are alive, and at which of them each campaign is at home."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.service._store import Database, reason_of
from matroid_bandits.service._tables import campaigns, homes, servers

log = logging.getLogger("matroid_bandits.service")

#: The version of what servers say to each other; one that speaks another is handed nothing.
PROTOCOL: Final = 1

#: Seconds for which a campaign stays where it is, unless its home dies or drains.
STAY_S: Final = 10.0

#: Of the takeover time: how long a server may be silent before others take it for dead, and how often it says that it
#: is not; and how long PostgreSQL and the network may keep what it holds.
SILENT, BEAT, HOLD = 0.6, 0.1, 0.8

#: Seconds after which the row of a server that never came back is removed.
_FORGET_S = 3600.0


@dataclass(frozen=True)
class Server:
    """A server as others know it; `silent` is for how many seconds it has said nothing."""

    id: str
    address: str
    protocol: int = PROTOCOL
    is_draining: bool = False
    silent: float = 0.0


@dataclass(frozen=True)
class Home:
    """Where a campaign is at home; the server is empty, and the epoch 0, where it never was anywhere."""

    campaign: int
    name: str
    server: str = ""
    epoch: int = 0
    age: float = 0.0
    is_archived: bool = False


@dataclass(frozen=True)
class View:
    """Servers and homes at one moment.

    Attributes
    ----------
    servers : dict of id to Server
        All that are known, alive or not.
    homes : dict of name to Home
        Of each campaign.
    everywhere : str
        The server that is home of every campaign, where it is the same for all: a SQLite file has one.
    """

    servers: dict[str, Server] = field(default_factory=dict)
    homes: dict[str, Home] = field(default_factory=dict)
    everywhere: str = ""

    def home_of(self, name: str | None) -> str:
        """The id of a campaign's home; empty where there is none."""
        if self.everywhere:
            return self.everywhere
        home = self.homes.get(name or "")
        return "" if home is None else home.server

    def alive(self, silent: float) -> dict[str, Server]:
        """The servers whose last heartbeat is at most this many seconds old."""
        return {id: server for id, server in self.servers.items() if server.silent < silent}


def least_busy(view: View, silent: float, but: str = "", first: str = "") -> str | None:
    """The server to give a campaign to: alive, with the fewest campaigns; `first` among equals.

    Examples
    --------
    >>> view = View({"a": Server("a", ""), "b": Server("b", "")}, {"ads": Home(1, "ads", "a", 1)})
    >>> least_busy(view, silent=3.0), least_busy(view, silent=3.0, but="b")
    ('b', 'a')
    """
    counts = Counter(home.server for home in view.homes.values() if not home.is_archived)
    able = [
        id
        for id, server in view.alive(silent).items()
        if server.protocol == PROTOCOL and not server.is_draining and id != but
    ]
    return min(able, key=lambda id: (counts[id], id != first, id), default=None)


class Registry:
    """The tables of servers and homes. Every comparison of times is made by the database's clock.

    Parameters
    ----------
    database : Database
        A PostgreSQL.
    takeover : float
        Seconds within which another server takes over from one that died.
    """

    def __init__(self, database: Database, takeover: float) -> None:
        self.database, self.silent = database, SILENT * takeover

    def beat(self, alive: list[Server]) -> None:
        """Say that some servers are alive."""
        if not alive:
            return
        given = [
            {"id": each.id, "address": each.address, "protocol": each.protocol, "draining": int(each.is_draining)}
            for each in sorted(alive, key=lambda server: server.id)
        ]
        now = self.database.clock
        statement = insert(servers).values([row | {"seen": now} for row in given])
        changes = {name: statement.excluded[name] for name in ("address", "protocol", "draining", "seen")}
        with self.database.writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=changes))

    def leave(self, ids: list[str]) -> None:
        """Forget servers that end, and those that have not been heard of for long; their campaigns are free then."""
        is_over = servers.c.id.in_(ids) | (servers.c.seen < self.database.clock - _FORGET_S)
        with self.database.writing() as connection:
            connection.execute(sa.delete(servers).where(is_over))

    def view(self) -> View:
        """What there is now."""
        now = self.database.clock
        known = select(servers, (now - servers.c.seen).label("silent"))
        placed = select(
            campaigns.c.id, campaigns.c.name, campaigns.c.status, homes.c.server, homes.c.epoch,
            (now - homes.c.since).label("age"),
        ).outerjoin(homes, homes.c.campaign == campaigns.c.id)  # fmt: skip
        with self.database.reading() as connection:
            found = {
                row.id: Server(row.id, row.address, row.protocol, bool(row.draining), row.silent)
                for row in connection.execute(known)
            }
            at = {
                row.name: Home(
                    row.id, row.name, row.server or "", row.epoch or 0, row.age or 0.0, row.status == "archived"
                )
                for row in connection.execute(placed)
            }
        return View(found, at)

    def place(self, home: Home, target: str) -> bool:
        """Move a campaign to a server, unless another move came first or its home may keep it; whether it moved.

        A home keeps its campaigns for `STAY_S` seconds, except when it is dead or drains.
        """
        now = self.database.clock
        with self.database.writing() as connection:
            if not home.epoch:
                fresh = insert(homes).values(campaign=home.campaign, server=target, epoch=1, since=now)
                claimed = fresh.on_conflict_do_nothing().returning(homes.c.epoch)
                return connection.execute(claimed).first() is not None
            steady = select(servers.c.id).where(
                servers.c.id == homes.c.server, servers.c.draining == 0, servers.c.seen > now - self.silent
            )
            moved = (
                sa.update(homes)
                .where(homes.c.campaign == home.campaign, homes.c.epoch == home.epoch)
                .where((homes.c.since < now - STAY_S) | ~steady.exists())
                .values(server=target, epoch=homes.c.epoch + 1, since=now)
            )
            return connection.execute(moved).rowcount == 1

    def end_transactions(self, server: str) -> None:
        """End what a dead server has begun in the database, so that no one waits for its locks."""
        try:
            with self.database.writing() as connection:
                connection.execute(
                    sa.text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name "
                        "AND datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"
                    ),
                    {"name": application_name(server)},
                )
        except SQLAlchemyError as error:  # it may not be allowed; the transaction then ends by its own timeout
            log.info("transactions of a dead server were not ended: %s", reason_of(error))


def application_name(server: str) -> str:
    """The name by which PostgreSQL knows the connections of a server."""
    return f"matroid-bandits {server}"
