"""Campaigns as JSON Lines: their logs, exported, backed up, and restored elsewhere by replaying them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy import Connection

from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import (
    CampaignStateError,
    MatroidBanditsError,
    ReplayError,
    SerializationError,
    UnknownCampaignError,
)
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import Database, EventRow, chained
from matroid_bandits.service._tables import campaigns

FORMAT = "matroid-bandits/campaign"
VERSION = 1

_CHUNK = 5000
_STATUSES = ("active", "paused", "stopped", "archived")


def export_campaign(database: Database, name: str) -> Iterator[str]:
    """The log of a campaign as lines of JSON: a header, the events, and a line with their number and checksum.

    Examples
    --------
    >>> import json, tempfile
    >>> from matroid_bandits.service import Service, Settings
    >>> from matroid_bandits.specs import CampaignSpec
    >>> service = Service(Settings(db=tempfile.mkdtemp() + "/campaigns.db"))
    >>> service.start()
    >>> matroid = {"kind": "uniform", "rows": ["boots", "hats"], "rank": 1}
    >>> _ = service.create(CampaignSpec(name="ads", matroid=matroid, policy="OMM"))
    >>> [json.loads(line).get("event") for line in export_campaign(service.database, "ads")]
    [None, 'created', None]
    >>> service.stop()
    """
    with database.reading() as connection:
        row = database.find(connection, name)
        if row is None:
            raise UnknownCampaignError(f"expected the name of a campaign, got {name!r}")
        yield from _lines(database, connection, row)


def backup(database: Database) -> Iterator[str]:
    """The logs of all campaigns, one after the other, as `export_campaign` writes them.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> list(backup(database))
    []
    >>> database.close()
    """
    with database.reading() as connection:
        for row in database.rows(connection):
            yield from _lines(database, connection, row)


def restore(database: Database, lines: Iterable[str], *, name: str | None = None, trust: bool = False) -> list[str]:
    """Create the campaigns of an export or backup by replaying their logs: all of them, or none.

    Parameters
    ----------
    database : Database
        Where to.
    lines : iterable of str
        What `export_campaign` or `backup` wrote.
    name : str, optional
        Another name for the one campaign there is.
    trust : bool, default False
        Take the log's word where a replay would decide otherwise.

    Returns
    -------
    list of str
        The names of the campaigns.

    Raises
    ------
    SerializationError
        The lines are damaged, incomplete or of something else.
    ReplayError
        A replay decides otherwise than a log says.
    CampaignStateError
        A name is taken.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> restore(database, [])
    []
    >>> database.close()
    """
    names: list[str] = []
    with database.writing() as connection:
        reader = _Reader(lines)
        while (header := reader.header()) is not None:
            if name is not None and names:
                raise SerializationError("expected one campaign to give another name to, got several")
            header["name"] = name or header["name"]
            if database.find(connection, header["name"]) is not None:
                raise CampaignStateError(f"expected a name that is free, got {header['name']!r}")
            _restore_one(database, connection, header, reader, trust)
            names.append(header["name"])
    return names


def trust_log(database: Database, name: str) -> None:
    """Let a stopped campaign go on by the log's word.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> trust_log(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    >>> database.close()
    """
    _append(database, name, "stopped", {"event": "trusted"}, is_trusted=True)


def resume_campaign(database: Database, name: str) -> None:
    """Let a paused campaign go on.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> resume_campaign(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    >>> database.close()
    """
    _append(database, name, "paused", {"event": "resumed"}, is_trusted=False)


def _append(database: Database, name: str, status: str, event: dict[str, Any], *, is_trusted: bool) -> None:
    with database.writing() as connection:
        found = database.find(connection, name)
        if found is None:
            raise UnknownCampaignError(f"expected the name of a campaign, got {name!r}")
        (row,) = database.lock(connection, [found.id])
        if row.status != status:
            raise CampaignStateError(f"expected a campaign that is {status}, got {name}, which is {row.status}")
        seq = row.seq + 1
        payload = to_json(event).decode()
        database.append(connection, [(row.id, seq, row.now, payload)])
        digest = database.digest(connection, row.id, row.seq) if is_trusted else row.digest
        values = {"seq": seq, "digest": chained(digest, seq, row.now, payload), "status": "active", "reason": None}
        values |= {"trusted": seq} if is_trusted else {}
        connection.execute(sa.update(campaigns).where(campaigns.c.id == row.id).values(values))


def _lines(database: Database, connection: Connection, row: Any) -> Iterator[str]:
    digest, n = hashlib.sha256(), 0
    header = {
        "format": FORMAT,
        "version": VERSION,
        "name": row.name,
        "spec": json.loads(row.spec),
        "status": row.status,
        "reason": row.reason,
        "trusted": row.trusted,
    }
    line = json.dumps(header)
    digest.update(line.encode())
    yield line
    for event in database.log(connection, row.id):
        if event.seq > row.seq:
            break
        line = f'{{"seq":{event.seq},"at":{event.at!r},{event.payload[1:]}'
        digest.update(line.encode())
        n += 1
        yield line
    yield json.dumps({"end": row.name, "events": n, "checksum": digest.hexdigest()})


class _Reader:
    """Reads the lines of campaigns, and checks that none is missing."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = (line.rstrip("\r\n") for line in lines)
        self._digest = hashlib.sha256()
        self._n = 0

    def header(self) -> dict[str, Any] | None:
        """The next campaign; None after the last."""
        self._digest, self._n = hashlib.sha256(), 0
        line = next((line for line in self._lines if line), None)
        if line is None:
            return None
        form = self._parse(line)
        if form.get("format") != FORMAT:
            raise SerializationError(f"expected a campaign's log, got {shown(form.get('format'))}")
        if form.get("version") != VERSION:
            raise SerializationError(f"expected version {VERSION}, got {shown(form.get('version'))}")
        is_sound = isinstance(form.get("name"), str) and isinstance(form.get("spec"), dict)
        if not is_sound or form.get("status") not in _STATUSES or type(form.get("trusted")) is not int:
            raise SerializationError("expected a campaign with its name, spec, status and trusted event, got another")
        self._digest.update(line.encode())
        return form

    def events(self) -> Iterator[tuple[int, float, str]]:
        """The number, time and payload of each event of the campaign."""
        for line in self._lines:
            form = self._parse(line)
            if "end" in form:
                if form.get("events") != self._n or form.get("checksum") != self._digest.hexdigest():
                    raise SerializationError(f"expected {shown(form.get('events'))} events as they were, got others")
                return
            self._digest.update(line.encode())
            self._n += 1
            seq, at = form.pop("seq", None), form.pop("at", None)
            if type(seq) is not int or not isinstance(at, (int, float)):
                raise SerializationError(f"expected an event with its number and time, got {shown(line)}")
            yield seq, float(at), json.dumps(form, separators=(",", ":"))
        raise SerializationError("expected a last line with a checksum, got the end of the file")

    @staticmethod
    def _parse(line: str) -> dict[str, Any]:
        try:
            form = json.loads(line)
        except ValueError:
            form = None
        if not isinstance(form, dict):
            raise SerializationError(f"expected a line of JSON, got {shown(line)}")
        return form


def _restore_one(
    database: Database, connection: Connection, header: dict[str, Any], reader: _Reader, trust: bool
) -> None:
    name, trusted = header["name"], header["trusted"]
    id = database.create(connection, name, json.dumps(header["spec"]), 0.0, header["status"])
    replica = Replica(id, name, header["spec"])
    rows: list[EventRow] = []
    for seq, at, payload in reader.events():
        try:
            replica.follow(seq, at, payload, trusted)
        except (MatroidBanditsError, KeyError, TypeError) as error:
            raise ReplayError(f"event {seq} of {name} cannot happen: {error}") from error
        if replica.mismatch and not trust:
            raise ReplayError(f"{replica.mismatch} (event {seq} of {name}; --trust-log takes the log's word)")
        rows.append((id, seq, at, payload))
        if len(rows) == _CHUNK:
            database.append(connection, rows)
            rows = []
    if rows:
        database.append(connection, rows)
    values: dict[str, Any] = {
        "seq": replica.seq,
        "digest": replica.digest,
        "decisions": replica.learner.n_decisions,
        "waiting": len(replica.waiting),
    }
    values |= {"trusted": replica.seq if replica.mismatch else trusted, "reason": header.get("reason")}
    values |= {"created": replica.created}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == id).values(values))
