"""Keys of clients: made, revoked, stored hashed, compared in constant time, and how often each may be used."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits._util.names import is_campaign_name
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import (
    AccessError,
    DataError,
    RateLimitError,
    UnavailableError,
    UnknownCampaignError,
)
from matroid_bandits.service._store import Database
from matroid_bandits.service._tables import keys, sessions

Role = Literal["read", "decide", "admin"]

#: What each role may do, the later ones also what the earlier may.
ROLES: Final[tuple[Role, ...]] = ("read", "decide", "admin")

#: A revoked key is refused after this many seconds at the latest. Keys are read again, in the background, when they
#: have been known for half of them, so that under steady load no request waits for it.
STALE_S: Final = 2.0

#: Seconds between two reads: unknown keys, each of which is looked for, cost the database no more than this.
_APART_S: Final = 0.2

#: Seconds between two writes of which keys were used.
_NOTED_S: Final = 60.0

#: Headers that are remembered between two reads; there are as many as keys, usually.
_MOST_RECALLED: Final = 1000

#: What the texts of keys, and of logins made with them, begin with.
KEY, SESSION = "mb", "mbs"

#: Seconds after which a login ends, and logins of one key; one more ends the oldest.
SESSION_S: Final = 12 * 3600.0
_MOST_SESSIONS: Final = 100


@dataclass(eq=False)
class Key:
    """A credential for the service, with its role."""

    id: str
    role: Role
    campaign: str | None = None  # the only one that it is for
    rate: float | None = None  # requests a second
    about: str = ""
    created: float = 0.0
    revoked: float | None = None
    expires: float | None = None
    used: float | None = None
    decision: int | None = None  # of one that was made from a token: the only decision that it may tell, ...
    learner: str = ""  # ... and the id of its campaign's learner
    digest: str = field(default="", repr=False)
    until: float = field(default=math.inf, repr=False)  # when it ends, by this process's monotonic clock
    is_used: bool = field(default=False, repr=False)  # since that was last written down
    _tokens: float = field(default=-1.0, repr=False)
    _filled: float = field(default=0.0, repr=False)

    def check(self, role: Role, campaign: str | None) -> None:
        """Raise unless the key may do this; who may read one campaign may list campaigns, and sees that one."""
        if ROLES.index(self.role) < ROLES.index(role):
            raise AccessError(f"expected a key that may {role}, got one that may {self.role}")
        if self.campaign is not None and campaign != self.campaign and not (campaign is None and role == "read"):
            raise AccessError(f"expected a key for this, got one for campaign {self.campaign}")

    def spend(self, default_rate: float | None) -> None:
        """Count a use; raise where the key was used too often here: a second's worth may come at once."""
        rate = self.rate if self.rate is not None else default_rate
        if rate is None:
            return
        now = time.monotonic()
        most = max(rate, 1.0)
        tokens = most if self._tokens < 0.0 else min(most, self._tokens + (now - self._filled) * rate)
        self._filled = now
        if tokens < 1.0:
            self._tokens = tokens
            raise RateLimitError(f"expected at most {rate:g} requests a second, got more")
        self._tokens = tokens - 1.0


#: What a request without a key counts as where the database never had one.
OPEN_KEY: Final = Key("", "admin")


@dataclass(frozen=True)
class Session:
    """A login that a browser made with a key, and until when it is good, by this process's monotonic clock."""

    key: str
    digest: str
    until: float


class Keys:
    """The keys of a database, as this process knows them: read again before they are `STALE_S` seconds old."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Key] = {}
        self._sessions: dict[str, Session] = {}
        self._is_open = False  # until they have been read
        self._began = self._read_at = -math.inf
        self._recalled: dict[bytes, Key] = {}  # by the header that each was given with, of the keys in `_of`
        self._of = self._known
        self._reading: asyncio.Task[None] | None = None
        self._lock, self._is_closed = threading.Lock(), False
        self._noting, self._noted_at = threading.Lock(), time.monotonic()

    def refresh(self) -> None:
        """Read the keys again; those that are still there keep count of their uses."""
        with self._lock:
            if self._is_closed:
                raise UnavailableError("the server is shutting down")
            self._began = time.monotonic()
            found = {key.id: key for key in list_keys(self._database)}
            self._sessions = _list_sessions(self._database)
            for id, key in found.items():
                old = self._known.get(id)
                if old is not None:
                    key._tokens, key._filled, key.is_used = old._tokens, old._filled, old.is_used
            self._known, self._is_open, self._read_at = found, not found, self._began

    def close(self) -> None:
        """Wait for a read that has begun, and read no more: the database is about to be closed."""
        self.note_uses()
        with self._lock:
            self._is_closed = True

    def note_uses(self) -> None:
        """Write down which keys were used, where any was; what the database does not take is written later."""
        with self._noting:
            self._noted_at = time.monotonic()
            used = [key for key in self._known.values() if key.is_used]
            if not used or self._is_closed:
                return
            for key in used:
                key.is_used = False
            try:
                with self._database.writing() as connection:
                    of_them = keys.c.id.in_([key.id for key in used])
                    connection.execute(sa.update(keys).where(of_them).values(used=self._database.clock))
            except (SQLAlchemyError, OSError):
                for key in used:
                    key.is_used = True

    @property
    def is_open(self) -> bool:
        """Whether there never was a key, so that requests need none; revoking the last one opens nothing."""
        return self._is_open

    @property
    def are_all_revoked(self) -> bool:
        """Whether there were keys and none can be used."""
        now = time.monotonic()
        return not self._is_open and all(key.revoked is not None or key.until <= now for key in self._known.values())

    async def look_up(self, token: str | None, kind: str = KEY) -> Key:
        """The same as `find`, from what the database had at most `STALE_S` seconds ago."""
        came = time.monotonic()
        if came - self._read_at > STALE_S / 2:
            await self.read_since(came - STALE_S)
        try:
            return self.find(token, kind)
        except AccessError:
            if not token or not token.startswith(f"{kind}_") or self._knows(token, kind):
                raise
        await self.read_since(came)  # it may have been made since
        return self.find(token, kind)

    def is_fresh(self) -> bool:
        """Whether the keys were read at most `STALE_S` seconds ago; from half of that on they are read again."""
        age = time.monotonic() - self._read_at
        if age > STALE_S / 2:
            self._read_soon()
        return age <= STALE_S

    def recall(self, header: bytes) -> Key | None:
        """The key of an Authorization header, without waiting; None where it is not known, or not any more."""
        if not self.is_fresh():
            return None
        if self._of is not self._known or len(self._recalled) >= _MOST_RECALLED:
            self._of, self._recalled = self._known, {}
        key = self._recalled.get(header)
        if key is None:
            scheme, _, token = header.decode("latin-1").partition(" ")
            try:
                key = self.find(token.strip()) if scheme.lower() == "bearer" else None
            except AccessError:
                return None
            if key is not None:
                self._recalled[header] = key
            return key
        key.is_used = True
        return key if key.until == math.inf or key.until > time.monotonic() else None

    def _knows(self, token: str, kind: str) -> bool:
        return _id_of(token) in (self._sessions if kind == SESSION else self._known)

    def seconds_left(self, token: str) -> float:
        """For how long a login that `find` knows is good."""
        session = self._sessions.get(_id_of(token))
        return 0.0 if session is None else session.until - time.monotonic()

    async def read_since(self, moment: float) -> None:
        """Wait until a read of the keys that began after a moment is done; all that wait share one."""
        if time.monotonic() - self._read_at > STALE_S / 2:
            self._read_soon()
        while self._read_at < moment:
            try:
                await asyncio.shield(self._read_soon())
            except UnavailableError:  # which says more
                raise
            except (SQLAlchemyError, OSError) as error:
                raise UnavailableError("the database does not answer") from error

    def _read_soon(self) -> asyncio.Task[None]:
        reading, loop = self._reading, asyncio.get_running_loop()
        if reading is None or reading.done() or reading.get_loop() is not loop:
            self._reading = reading = loop.create_task(self._read())
            reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # those that wait are told
        return reading

    async def _read(self) -> None:
        await asyncio.sleep(max(self._began + _APART_S - time.monotonic(), 0.0))
        await asyncio.to_thread(self.refresh)
        if time.monotonic() - self._noted_at > _NOTED_S:
            self._noted_at = time.monotonic()
            asyncio.get_running_loop().run_in_executor(None, self.note_uses)  # nothing waits for it

    def find(self, token: str | None, kind: str = KEY) -> Key:
        """Whose key, or login, this is."""
        if self.is_open:
            return OPEN_KEY
        if not token:
            raise unknown("expected a key, as Authorization: Bearer mb_..., got none")
        given, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        key, digest = self._owner(id, kind)
        is_known = key is not None and key.revoked is None and hmac.compare_digest(digest, _digest(secret))
        if given != kind or key is None or not is_known:
            raise unknown("expected a key that is known here, got another")
        if key.until != math.inf and key.until <= time.monotonic():
            raise unknown("expected a key that is still good, got one that has expired")
        key.is_used = True
        return key

    def by_id(self, id: str) -> Key:
        """The key of an id, where it is still good."""
        if self.is_open:
            return OPEN_KEY
        key = self._known.get(id)
        if key is None or key.revoked is not None or key.until <= time.monotonic():
            raise unknown("expected a key that is known here, got another")
        return key

    def _owner(self, id: str, kind: str) -> tuple[Key | None, str]:
        """The key of that id, or of the login of that id while it is good, and the hash to compare with."""
        if kind == KEY:
            key = self._known.get(id)
            return key, "" if key is None else key.digest
        session = self._sessions.get(id)
        if session is None or session.until <= time.monotonic():
            return None, ""
        return self._known.get(session.key), session.digest


def create_key(
    database: Database,
    role: str,
    *,
    campaign: str | None = None,
    rate: float | None = None,
    about: str = "",
    days: float | None = None,
) -> str:
    """Create an API key, with or without an expiry, and return its text, which is not stored.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.service import Database
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> create_key(database, "read").startswith("mb_")
    True
    >>> [key.role for key in list_keys(database)]
    ['read']
    >>> database.close()
    """
    if role not in ROLES:
        raise DataError(f"expected a role, one of {', '.join(ROLES)}; got {role!r}")
    if rate is not None and not 0.0 < rate < 1e9:
        raise DataError(f"expected a rate of more than 0 requests a second, got {rate!r}")
    if days is not None and not 0.0 < days < 1e6:
        raise DataError(f"expected more than 0 days, got {days!r}")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    if campaign is not None and not is_campaign_name(campaign):  # it may be created later
        raise UnknownCampaignError(f"expected the name of a campaign, got {shown(campaign)}")
    with database.writing() as connection:
        values: dict[str, Any] = {"id": id, "digest": _digest(secret), "role": role, "campaign": campaign}
        values |= {"rate": rate, "about": about, "created": database.clock}
        values["expires"] = None if days is None else database.clock + 86400.0 * days
        connection.execute(sa.insert(keys).values(values))
    return f"mb_{id}_{secret}"


def list_keys(database: Database) -> list[Key]:
    """Return all API keys, including revoked ones, oldest first.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.service import Database
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     list_keys(database)
    []
    """
    left = (keys.c.expires - database.clock).label("left")
    with database.reading() as connection:
        rows, now = connection.execute(select(keys, left).order_by(keys.c.created, keys.c.id)).all(), time.monotonic()
    return [
        Key(until=math.inf if left is None else now + left, **dict(zip(keys.c.keys(), values, strict=True)))
        for *values, left in rows
    ]


def revoke_key(database: Database, id: str) -> None:
    """Revoke an API key; servers notice within `STALE_S` seconds.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.service import Database
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     text = create_key(database, "admin")
    ...     revoke_key(database, text.split("_")[1])
    ...     list_keys(database)[0].revoked is None
    False
    """
    with database.writing() as connection:
        statement = sa.update(keys).where(keys.c.id == id, keys.c.revoked.is_(None)).values(revoked=database.clock)
        if connection.execute(statement).rowcount == 0:
            raise DataError(f"expected the id of a key that is not revoked, got {id!r}")


def revoke_keys_of(connection: Connection, campaign: str, now: float) -> None:
    """Let the keys that are for one campaign alone be used no more, since another may get its name."""
    statement = sa.update(keys).where(keys.c.campaign == campaign, keys.c.revoked.is_(None))
    connection.execute(statement.values(revoked=now))


def open_session(database: Database, key: str) -> str:
    """Make a login with a key, and give its text, which is stored hashed; it ends after `SESSION_S` seconds."""
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    with database.writing() as connection:
        newest = select(sessions.c.id, sessions.c.ends).where(sessions.c.key == key).order_by(sessions.c.ends.desc())
        kept = connection.execute(newest.limit(_MOST_SESSIONS - 1)).all()
        is_one_more = (sessions.c.key == key) & sessions.c.id.not_in([row.id for row in kept])
        connection.execute(sa.delete(sessions).where((sessions.c.ends <= database.clock) | is_one_more))
        ends = connection.execute(select(database.clock + SESSION_S)).scalar_one()
        if kept:
            ends = max(ends, math.nextafter(kept[0].ends, math.inf))
        values = {"id": id, "digest": _digest(secret), "key": key, "ends": ends}
        connection.execute(sa.insert(sessions).values(values))
    return f"{SESSION}_{id}_{secret}"


def close_session(database: Database, token: str) -> None:
    """End a login; what is none, or another's, ends nothing."""
    secret = token.partition("_")[2].partition("_")[2]
    same = (sessions.c.id == _id_of(token)) & (sessions.c.digest == _digest(secret))
    with database.writing() as connection:
        connection.execute(sa.delete(sessions).where(same))


def _list_sessions(database: Database) -> dict[str, Session]:
    """The logins that have not ended, by their ids."""
    left = (sessions.c.ends - database.clock).label("left")
    statement = select(sessions.c.id, sessions.c.key, sessions.c.digest, left).where(left > 0.0)
    with database.reading() as connection:
        found, now = connection.execute(statement).all(), time.monotonic()
    return {row.id: Session(row.key, row.digest, now + row.left) for row in found}


def _id_of(token: str) -> str:
    return token.partition("_")[2].partition("_")[0]


def _digest(secret: str) -> str:
    return _hashed(_hashed(secret))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def unknown(message: str) -> AccessError:
    """The error of a key, a login or a token that is not known here."""
    error = AccessError(message)
    error.is_unknown = True  # type: ignore[attr-defined]
    return error
