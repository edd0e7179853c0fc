"""Tokens that may tell one decision for a while: for browsers, which must not hold a key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets as random
import threading
import time
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from matroid_bandits.service._keys import unknown
from matroid_bandits.service._store import Database
from matroid_bandits.service._tables import secrets

#: What the texts of tokens begin with.
TOKEN: Final = "mbt"

#: Seconds for which a token may be good.
LONGEST_S: Final = 7 * 86400

_NAME, _SIGNATURE_BYTES = "tokens", 16


@dataclass(frozen=True)
class Token:
    """What a token says: the campaign, its learner and the decision that it may tell."""

    campaign: str
    learner: str
    decision: int
    key: str
    until: float


class Tokens:
    """Signs tokens, and reads those that a server of the same database has signed."""

    def __init__(self, database: Database) -> None:
        self._database, self._lock = database, threading.Lock()
        self._secret: bytes | None = None

    @property
    def is_warm(self) -> bool:
        """Whether the secret is known, so that nothing waits for the database."""
        return self._secret is not None

    def sign(self, campaign: str, learner: str, decision: int, key: str, seconds: float) -> str:
        """A token that may tell a decision for some seconds; the learner's id is that of no later campaign."""
        payload = f"{campaign} {learner} {decision} {key} {int(time.time() + seconds)}".encode()
        return f"{TOKEN}_{_text(payload)}.{_text(self._signature(payload))}"

    def read(self, token: str) -> Token:
        """What a token says."""
        body, _, signature = token.removeprefix(f"{TOKEN}_").partition(".")
        try:
            payload, given = _bytes(body), _bytes(signature)
            if not hmac.compare_digest(self._signature(payload), given):
                raise ValueError
            campaign, learner, decision, key, until = payload.decode().split(" ")
        except ValueError:
            raise unknown("expected a token that was made here, got another") from None
        if float(until) <= time.time():
            raise unknown("expected a token that is still good, got one that has ended")
        return Token(campaign, learner, int(decision), key, float(until))

    def _signature(self, payload: bytes) -> bytes:
        return hmac.digest(self._known_secret(), payload, hashlib.sha256)[:_SIGNATURE_BYTES]

    def _known_secret(self) -> bytes:
        with self._lock:
            if self._secret is None:
                self._secret = _shared_secret(self._database)
            return self._secret


def _shared_secret(database: Database) -> bytes:
    """A secret that all servers of a database share; made by the first that needs it."""

    def read() -> str | None:
        with database.reading() as connection:
            found = connection.execute(select(secrets.c.value).where(secrets.c.name == _NAME)).scalar()
        return None if found is None else str(found)

    value = read()
    if value is None:
        value = random.token_hex(32)
        try:
            with database.writing() as connection:
                connection.execute(sa.insert(secrets).values(name=_NAME, value=value))
        except IntegrityError:  # another server was faster
            value = read() or ""
    return bytes.fromhex(value)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    if not text.isascii():
        raise ValueError(text)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
