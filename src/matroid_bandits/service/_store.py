"""The database: connections, transactions, its clock, and the statements that everything else is made of."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, bindparam, event, func, literal_column, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import ReplayError, UnavailableError, UnknownCampaignError
from matroid_bandits.service._migrate import migrate
from matroid_bandits.service._remembered import MADE
from matroid_bandits.service._tables import campaigns, events, requests, snapshots

#: The table in which Alembic keeps the version of the others.
_VERSIONS = "alembic_version"

#: Rows that are removed in one transaction, where there may be many.
_AT_ONCE = 500

#: Rows that a statement of SQLite inserts, a power of two.
_MOST_ROWS = 128

#: A limit of rows that no table has.
_ALL = 2**62

_SCHEMA = re.compile("[a-z_][a-z0-9_]{0,62}")

_SQLITE_NOW = "((julianday('now') - 2440587.5) * 86400.0)"
_POSTGRES_NOW = "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


#: What the busiest statements are given: campaign, number, time, payload of an event; ...
EventRow = tuple[int, int, float, str]
#: ... id, campaign, digest, status, answer and time of a request; ...
RequestRow = tuple[str, int, str, int, str, float]
#: ... last event, digest, decisions, waiting decisions, open alarms, status, reason, and number of a campaign.
CampaignRow = tuple[int, str, int, int, int, str, str | None, int]

#: The columns of a campaign, as the busiest statements read them.
_COLUMNS = [column.name for column in campaigns.c]
LockedRow = namedtuple("LockedRow", [*_COLUMNS, "now"])  # type: ignore[misc]
KnownRow = namedtuple("KnownRow", ["id", "campaign", "digest", "status", "answer"])

# The busiest statements are written out for each database and given to its driver: SQLAlchemy would prepare every row
# of them anew.
_SQLITE = {
    "lock": f"SELECT {', '.join(_COLUMNS)}, {_SQLITE_NOW} FROM campaigns "
    "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    "known": "SELECT id, campaign, digest, status, answer FROM requests WHERE id IN (SELECT value FROM json_each(?))",
    "append": "INSERT INTO events (campaign, seq, at, payload) VALUES ",
    "remember": "INSERT INTO requests (id, campaign, digest, status, answer, at) VALUES ",
    "advance": "UPDATE campaigns SET seq = ?, digest = ?, decisions = ?, waiting = ?, alarms = ?, status = ?, "
    "reason = ? WHERE id = ?",
}
_POSTGRES = {
    "lock": f"SELECT {', '.join(_COLUMNS)}, {_POSTGRES_NOW} FROM campaigns WHERE id = ANY(%s) ORDER BY id FOR UPDATE",
    "known": "SELECT id, campaign, digest, status, answer FROM requests "
    "WHERE id IN (SELECT json_array_elements_text(%s::json))",
    # not by COPY, in which a server that is stopped keeps its locks: no timeout ends it
    "append": "INSERT INTO events (campaign, seq, at, payload) "
    "SELECT * FROM unnest(%s::int[], %s::bigint[], %s::float8[], %s::text[])",
    "remember": "INSERT INTO requests (id, campaign, digest, status, answer, at) "
    "SELECT * FROM unnest(%s::text[], %s::int[], %s::text[], %s::int[], %s::text[], %s::float8[])",
    "advance": "UPDATE campaigns SET seq = %s, digest = %s, decisions = %s, waiting = %s, alarms = %s, status = %s, "
    "reason = %s WHERE id = %s",
}


@dataclass(frozen=True)
class Timeouts:
    """How long a process waits for the database and for other processes, in seconds; 0 for as long as it takes."""

    lock: float = 30.0
    connect: float = 5.0
    statement: float = 0.0
    idle: float = 0.0
    silent: float = 9.0


class Database:
    """SQLite or PostgreSQL database of campaigns (named learners) and their logs.

    Parameters
    ----------
    url : str
        ``sqlite:///file``, ``postgresql://user@host/name``, or the name of a SQLite file. With ``?schema=name`` the
        tables are in a schema of their own in PostgreSQL, which is created where it is missing.
    timeouts : Timeouts, optional
        How long to wait. By default statements take as long as they take, as commands that restore logs need it.
    application : str, optional
        The name by which PostgreSQL knows the connections.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     database.is_sqlite, database.now() > 1.7e9
    (True, True)
    """

    def __init__(self, url: str, timeouts: Timeouts | None = None, application: str = "") -> None:
        self.url, self.schema = _read_url(url)
        self.timeouts = timeouts or Timeouts()
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            options: dict[str, Any] = {"timeout": self.timeouts.lock, "isolation_level": None}
            self.engine = sa.create_engine(self.url, connect_args=options)
            event.listen(self.engine, "do_connect", lambda *_: self.check_file())
            event.listen(self.engine, "connect", _set_up_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            silent = self.timeouts.silent
            options = {"keepalives": 1, "keepalives_idle": max(int(silent / 3), 1), "keepalives_count": 3}
            options |= {"keepalives_interval": max(int(silent / 4.5), 1), "tcp_user_timeout": int(1000 * silent)}
            options |= {"connect_timeout": max(int(self.timeouts.connect), 2)}
            if application:
                options["application_name"] = application
            options = {name: value for name, value in options.items() if name not in self.url.query}
            self.engine = sa.create_engine(
                self.url, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args=options
            )
            event.listen(self.engine, "connect", self._set_up_postgres)
            event.listen(self.engine, "begin", self._begin_postgres)
        self._file: tuple[str, int, int] | None = None  # where the file of SQLite is, its device and inode
        self.clock: sa.ColumnElement[float] = literal_column(_SQLITE_NOW if self.is_sqlite else _POSTGRES_NOW)
        self._statements()

    def _statements(self) -> None:
        columns = [*campaigns.c, self.clock.label("now")]
        some = select(*columns).where(campaigns.c.id.in_(bindparam("ids", expanding=True))).order_by(campaigns.c.id)
        self._some = some
        self._all = select(*columns).order_by(campaigns.c.id)
        self._named = select(*columns).where(campaigns.c.name == bindparam("name"))
        self._after = (
            select(events.c.seq, events.c.at, events.c.payload)
            .where(events.c.campaign == bindparam("campaign"), events.c.seq > bindparam("after"))
            .order_by(events.c.seq)
            .limit(bindparam("limit"))
        )
        self._sql = _SQLITE if self.is_sqlite else _POSTGRES
        self._driver_error: type[Exception] = self.engine.dialect.loaded_dbapi.Error

    def open(self) -> None:
        """Connect, and migrate the tables to the current version."""
        try:
            if self.is_sqlite:
                _make_private(self.url.database)
            with self.writing() as connection:
                self.take_time(connection)
                if self.schema:
                    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
                migrate(connection)
            self._file = _identity(self.url.database) if self.is_sqlite else None
        except SQLAlchemyError as error:
            raise UnavailableError(f"cannot open the database {self}: {reason_of(error)}") from error

    def exists(self) -> bool:
        """Return whether there is a database of campaigns, without creating or changing anything."""
        try:
            if not self.is_sqlite:
                with self.reading() as connection:
                    return sa.inspect(connection).has_table(_VERSIONS)
            file = Path(self.url.database or "")
            if not file.is_file():
                return False
            with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as plain:
                return (
                    plain.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_VERSIONS,)).fetchone() is not None
                )
        except SQLAlchemyError as error:
            raise UnavailableError(f"cannot open the database {self}: {reason_of(error)}") from error
        except sqlite3.Error as error:
            raise UnavailableError(f"cannot open the database {self}: {error}") from error

    def is_away(self, error: BaseException) -> bool:
        """Whether an error of `open` says that PostgreSQL does not answer, which it may do later."""
        cause = error if isinstance(error, SQLAlchemyError) else error.__cause__
        return not self.is_sqlite and isinstance(cause, (OperationalError, InterfaceError))

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def check_file(self) -> None:
        """Raise where the opened file of SQLite is not in its place any more: commits would be lost."""
        if self._file is not None:
            path, *identity = self._file
            try:
                found = os.stat(path)
            except OSError:
                raise UnavailableError(f"the database file {path} was moved or deleted; restart the server") from None
            if [found.st_dev, found.st_ino] != identity:
                raise UnavailableError(f"the database file {path} was replaced by another; restart the server")

    def __enter__(self) -> Database:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_time(self, connection: Connection) -> None:
        """Lift the time limit of a transaction that reads or writes much."""
        if not self.is_sqlite:
            for each in ("lock", "statement", "idle_in_transaction_session"):
                connection.exec_driver_sql(f"SET LOCAL {each}_timeout = 0")

    def probe(self) -> None:
        """Raise within about a second unless the database can be written to."""
        with self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execute(select(self.clock))
                return
            driver = connection.connection.driver_connection
            assert driver is not None
            driver.execute("PRAGMA busy_timeout = 1000")
            try:
                with self.writing(connection):
                    pass
            finally:
                driver.execute(f"PRAGMA busy_timeout = {int(self.timeouts.lock * 1000)}")

    @contextlib.contextmanager
    def reading(self, connection: Connection | None = None, *, at_once: bool = False) -> Iterator[Connection]:
        """Context manager of a read transaction, on the given connection or a new one."""
        if connection is None:
            self.check_file()
            with self.engine.connect() as fresh:
                if at_once and not self.is_sqlite:
                    fresh = fresh.execution_options(isolation_level="REPEATABLE READ")
                with fresh.begin():
                    yield fresh
            return
        if self.is_sqlite:
            self.check_file()
            connection = connection.execution_options(writes=False)
        with connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self, connection: Connection | None = None) -> Iterator[Connection]:
        """Context manager of a write transaction, on the given connection or a new one."""
        if connection is None:
            with self.engine.connect() as fresh, self.writing(fresh):
                yield fresh
            return
        if self.is_sqlite:
            connection = connection.execution_options(writes=True)
        with connection.begin():
            yield connection
            self.check_file()  # before the commit

    def now(self, connection: Connection | None = None) -> float:
        """Return the database's time, in seconds since 1970."""
        if connection is None:
            with self.reading() as fresh:
                return self.now(fresh)
        return float(connection.execute(select(self.clock)).scalar_one())

    # Statements, on a connection of the caller's

    def lock(self, connection: Connection, ids: Sequence[int]) -> list[Any]:
        """Lock the rows of some campaigns until the transaction ends, in order of their numbers; return them."""
        given = json.dumps(ids) if self.is_sqlite else list(ids)
        return [LockedRow._make(row) for row in self._run(connection, self._sql["lock"], (given,)).fetchall()]

    def rows(self, connection: Connection, ids: Sequence[int] | None = None) -> list[Any]:
        """Return the current rows of some campaigns, or of all."""
        return list(connection.execute(*((self._all,) if ids is None else (self._some, {"ids": ids}))))

    def find(self, connection: Connection, name: str) -> Any | None:
        """Return the row of the campaign of a name; None without one."""
        if not name.isprintable():  # PostgreSQL refuses some of these, and with them the transaction
            return None
        return connection.execute(self._named, {"name": name}).first()

    def get(self, connection: Connection, name: str) -> Any:
        """Return the row of the campaign of a name; raise `UnknownCampaignError` without one."""
        row = self.find(connection, name)
        if row is None:
            raise UnknownCampaignError(f"expected the name of a campaign, got {name!r}")
        return row

    def log(
        self, connection: Connection, campaign: int, after: int = 0, limit: int | None = None, chunk: int = 64
    ) -> Iterator[Any]:
        """Yield number, time and payload of a campaign's events after a given event, a chunk of rows at a time."""
        given = {"campaign": campaign, "after": after, "limit": _ALL if limit is None else limit}
        with connection.execute(self._after, given, execution_options={"yield_per": chunk}) as found:
            yield from found

    def stretch(self, campaign: int, after: int, until: int, chunk: int, rest: Callable[[], None]) -> Iterator[Any]:
        """Yield events up to one as `log` does, each chunk in a transaction of its own, with rests after them."""
        while after < until:
            with self.reading() as connection:
                found = [*self.log(connection, campaign, after, min(chunk, until - after))]
            if not found:
                raise ReplayError(f"expected event {after + 1} in the log, got its end")
            yield from found
            after = found[-1].seq
            rest()

    def tail(self, connection: Connection, campaign: int, until: int, limit: int) -> list[str]:
        """Return the payloads of the last events up to a given event, oldest first."""
        newest = select(events.c.payload).where(events.c.campaign == campaign, events.c.seq <= until)
        found = connection.execute(newest.order_by(events.c.seq.desc()).limit(limit)).scalars().all()
        return [*reversed(found)]

    def page(self, connection: Connection, campaign: int, after: int, limit: int, most: int) -> list[Any]:
        """Return events of a campaign after a given one: at least one, at most `limit` and `most` characters."""
        found: list[Any] = []
        for row in self.log(connection, campaign, after, limit, chunk=16):
            most -= len(row.payload)
            if found and most < 0:
                break
            found.append(row)
        return found

    def base(self, connection: Connection, campaign: int) -> tuple[int, str]:
        """Return the event after which the log in the database begins, and the digest up to it."""
        row = connection.execute(select(campaigns.c.first).where(campaigns.c.id == campaign)).first()
        if row is None or row.first == 1:
            return 0, ""
        of_it = (snapshots.c.campaign == campaign) & (snapshots.c.seq == row.first - 1)
        found = connection.execute(select(snapshots.c.digest).where(of_it)).scalar()
        if found is None:
            raise ReplayError(f"expected a snapshot at event {row.first - 1}, where the log begins, got none")
        return row.first - 1, found

    def digest(self, connection: Connection, campaign: int, until: int) -> str:
        """Return the digest of a log up to an event, computed from its events."""
        first, found = self.base(connection, campaign)
        for row in self.log(connection, campaign, first):
            if row.seq > until:
                break
            found = chained(found, row.seq, row.at, row.payload)
        return found

    def known(self, connection: Connection, ids: Sequence[str]) -> dict[tuple[int, str], Any]:
        """Return the stored answers to some request ids, by campaign and id."""
        found = self._run(connection, self._sql["known"], (json.dumps(ids),)).fetchall()
        return {(row.campaign, row.id): row for row in map(KnownRow._make, found)}

    def append(self, connection: Connection, rows: list[EventRow]) -> None:
        """Append events to the log."""
        self._insert(connection, "append", rows)

    def remember(self, connection: Connection, rows: list[RequestRow]) -> None:
        """Store the answers to requests with ids."""
        self._insert(connection, "remember", rows)

    def advance(self, connection: Connection, rows: Iterable[CampaignRow]) -> None:
        """Update the log position in the rows of campaigns."""
        for row in rows:
            self._run(connection, self._sql["advance"], row)

    def set_terms(self, connection: Connection, terms: Mapping[int, str]) -> None:
        """Set the terms of some campaigns: titles, answer windows, defaults."""
        for id, text in terms.items():
            connection.execute(sa.update(campaigns).where(campaigns.c.id == id).values(spec=text))

    def _insert(self, connection: Connection, statement: str, rows: list[Any]) -> None:
        """Insert many rows: up to a hundred or so by a statement of SQLite, all by one of PostgreSQL."""
        if not self.is_sqlite:
            if rows:
                self._run(connection, self._sql[statement], [[*column] for column in zip(*rows, strict=True)])
            return
        first, n = 0, _MOST_ROWS
        while first < len(rows):
            while n > len(rows) - first:
                n //= 2  # few lengths, so that the driver keeps the statements prepared
            some = rows[first : first + n]
            values = ", ".join([f"({', '.join('?' * len(some[0]))})"] * n)
            self._run(connection, self._sql[statement] + values, [*chain.from_iterable(some)])
            first += n

    def _run(self, connection: Connection, statement: str, values: Sequence[Any]) -> Any:
        """Let the driver execute a statement within the transaction of a connection; its errors are SQLAlchemy's."""
        driver: Any = connection.connection
        try:
            cursor = driver.cursor()
            cursor.execute(statement, values)
        except self._driver_error as error:
            raise DBAPIError.instance(
                statement, None, error, self._driver_error, hide_parameters=True, dialect=self.engine.dialect
            ) from error
        return cursor

    def forget_ids(self, before: float, *, of_servers: bool = False) -> None:
        """Delete request ids answered before a time: all, or those generated by servers."""
        old = select(requests.c.id, requests.c.campaign).where(requests.c.at < before).limit(20 * _AT_ONCE)
        if of_servers:  # written out, as the index has it
            old = old.where(sa.text(f"substr(id, 1, 1) = '{MADE}'"))
        one = sa.delete(requests).where(requests.c.id == bindparam("an_id"), requests.c.campaign == bindparam("of"))
        is_more = True
        while is_more:
            with self.reading() as connection:
                self.take_time(connection)
                found = [{"an_id": row.id, "of": row.campaign} for row in connection.execute(old)]
            is_more = len(found) == 20 * _AT_ONCE
            for first in range(0, len(found), _AT_ONCE):
                with self.writing() as connection:
                    connection.execute(one, found[first : first + _AT_ONCE])

    def count(self, connection: Connection) -> int:
        """Return the number of campaigns, including archived ones."""
        return int(connection.execute(select(func.count()).select_from(campaigns)).scalar_one())

    def create(self, connection: Connection, name: str, spec: str, created: float, status: str = "active") -> int:
        """Insert a campaign without events, and return its number."""
        values: dict[str, Any] = {"name": name, "spec": spec, "status": status, "created": created, "digest": ""}
        values |= dict.fromkeys(("seq", "trusted", "decisions", "waiting"), 0)
        statement = sa.insert(campaigns).values(values)
        found = connection.execute(statement.returning(campaigns.c.id)).scalar_one()
        return int(found)

    @property
    def _set(self) -> dict[str, str]:
        """What is set in PostgreSQL: timeouts, that rows are found by their keys, and the schema."""
        limits = {"lock_timeout": self.timeouts.lock, "statement_timeout": self.timeouts.statement}
        limits["idle_in_transaction_session_timeout"] = self.timeouts.idle
        found = {f"enable_{way}": "off" for way in ("seqscan", "hashjoin", "mergejoin")}
        found |= {name: str(int(seconds * 1000)) for name, seconds in limits.items()}
        return found | ({"search_path": self.schema} if self.schema else {})

    def _set_up_postgres(self, connection: Any, record: Any) -> None:
        """Set up a connection."""
        try:
            with connection.cursor() as cursor:
                pid = cursor.execute("SELECT pg_backend_pid()").fetchone()[0]
                record.info["is_pooled"] = is_pooled = pid != connection.info.backend_pid
                if is_pooled:
                    connection.prepare_threshold = None
                else:
                    cursor.execute("; ".join(f"SET {name} = {value}" for name, value in self._set.items()))
            connection.commit()
        except BaseException:
            connection.close()
            raise

    def _begin_postgres(self, connection: Connection) -> None:
        if connection.connection.info["is_pooled"]:
            connection.exec_driver_sql("; ".join(f"SET LOCAL {name} = {value}" for name, value in self._set.items()))

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)


def chained(digest: str, seq: int, at: float, payload: str) -> str:
    """The digest of a log after one more event: a hash of the digest before it and of the event."""
    return hashlib.blake2b(f"{digest} {seq} {at!r} {payload}".encode(), digest_size=16).hexdigest()


def reason_of(error: SQLAlchemyError) -> str:
    """What went wrong with the database, in the driver's words and without the statement's values."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split()) or type(cause).__name__


def _read_url(url: str) -> tuple[URL, str]:
    """Where a database is, and the schema of its tables; empty for the usual one."""
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url))), ""
    try:
        found = make_url(url)
    except ArgumentError:
        raise UnavailableError(
            "expected sqlite:///file, postgresql://user@host/name or a file, got another"
        ) from None
    backend, schema = found.get_backend_name(), str(found.query.get("schema", ""))
    if backend in ("postgresql", "postgres"):
        if schema and not _SCHEMA.fullmatch(schema):
            raise UnavailableError(f"expected a schema of small letters, digits and _, got {shown(schema)}")
        return found.difference_update_query(["schema"]).set(drivername="postgresql+psycopg"), schema
    if backend != "sqlite" or not found.database or found.database == ":memory:":
        raise UnavailableError(f"expected a SQLite file or a PostgreSQL database, got {found.drivername}")
    return found, ""


def _make_private(file: str | None) -> None:
    """Create a SQLite file that is its owner's alone, as the files that SQLite puts beside it are then too."""
    if file is not None and not file.startswith("file:"):
        with contextlib.suppress(OSError):  # what is wrong with it is told when it is opened
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _identity(file: str | None) -> tuple[str, int, int] | None:
    """The absolute path of a file, its device and its inode; None of a URI of SQLite."""
    if file is None or file.startswith("file:"):
        return None
    found = os.stat(file)
    return os.path.abspath(file), found.st_dev, found.st_ino


def _set_up_sqlite(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    is_writing = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")
