"""Campaigns as JSON Lines: their logs, exported, backed up, and restored elsewhere by replaying them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import NoneType
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
)
from matroid_bandits.service import _snapshots
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._operation import COMMAND_LINE
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import Database, EventRow, chained
from matroid_bandits.service._tables import campaigns, events, requests, snapshots
from matroid_bandits.specs import LONGEST_ABOUT, LONGEST_TITLE, CampaignTerms, Place, parse

FORMAT = "matroid-bandits/campaign"

#: Version 2 has a snapshot before the events, where the first ones are in archives.
VERSION, VERSION_WITH_BASE = 1, 2

_CHUNK = 5000
_STATUSES = ("active", "paused", "stopped", "archived")
_TERMS = ("title", "about", "answer_window", "default")
_TEXTS = {"title": LONGEST_TITLE, "about": LONGEST_ABOUT}

#: What the status of a campaign is after an event that changes it.
_STATUS_AFTER = {
    "paused": "paused",
    "resumed": "active",
    "archived": "archived",
    "stopped": "stopped",
    "trusted": "active",
}


def export_campaign(database: Database, name: str, archive: Archive | None = None) -> Iterator[str]:
    """Yield the log of a campaign as lines of JSON: a header, the events, and a last line with count and checksum.

    Where the first events are in archives, the log begins with a snapshot; with the archive given, it is whole.

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
    with database.reading(at_once=True) as connection:
        row = database.get(connection, name)
        yield from _lines(database, connection, row, archive)


def backup(database: Database) -> Iterator[str]:
    """Yield the logs of all campaigns, one after the other, in the format of `export_campaign`.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> list(backup(database))
    []
    >>> database.close()
    """
    with database.reading(at_once=True) as connection:
        for row in database.rows(connection):
            yield from _lines(database, connection, row)


def restore(
    database: Database,
    lines: Iterable[str],
    *,
    name: str | None = None,
    trust: bool = False,
    on_broken: Callable[[str, MatroidBanditsError], None] | None = None,
) -> list[str]:
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
        Accept logged decisions that a replay would make differently.
    on_broken : callable, optional
        Called with the name of each campaign that cannot be restored, and why; the others are restored without it.

    Returns
    -------
    list of str
        The names of the campaigns that were restored.

    Raises
    ------
    SerializationError
        The lines are damaged, incomplete or of something else.
    ReplayError
        A replay decides otherwise than a log says.
    CampaignStateError
        A name is taken.
    DataError
        A name, or another term of a campaign, that `create` would refuse.

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
        reader, is_more = _Reader(lines), True
        while is_more:
            called = "a campaign"
            try:
                header = reader.header()
                if header is None:
                    is_more = False
                    continue
                if name is not None and names:
                    raise SerializationError("expected one campaign to give another name to, got several")
                called = header["name"] = name or header["name"]
                with connection.begin_nested():
                    if database.find(connection, called) is not None:
                        raise CampaignStateError(f"expected a name that is free, got {called!r}")
                    _restore_one(database, connection, header, reader, trust)
                names.append(called)
            except MatroidBanditsError as error:
                if on_broken is None:
                    raise
                on_broken(called, error)
                reader.skip()
    return names


def repair(database: Database, name: str, save: Callable[[Iterable[str]], None], *, after: int | None = None) -> int:
    """Truncate the log of a campaign after an event, so that it can be read again; running servers notice.

    Parameters
    ----------
    database : Database
        Where the campaign is.
    name : str
        The campaign.
    save : callable
        Called with the events that are cut off, a line of JSON each, with the text that was in the log; they are
        removed when it returns.
    after : int, optional
        The last event to keep; by default the last one before the first that cannot be read.

    Returns
    -------
    int
        The last event that was kept.

    Raises
    ------
    CampaignStateError
        Nothing would be left, or nothing would be cut off.
    ReplayError
        What is to be kept cannot be read either.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> repair(database, "ads", print)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    >>> database.close()
    """
    with database.writing() as connection:
        found = database.get(connection, name)
        (row,) = database.lock(connection, [found.id])
        replica = Replica(row.id, name, json.loads(row.spec))
        if row.first > 1 and not _snapshots.restore(connection, replica, row.first - 1):
            raise ReplayError(f"expected the snapshot at event {row.first - 1} of {name}, where its log begins")
        status = replica.status
        for event in database.log(connection, row.id, row.first - 1):
            if event.seq > (row.seq if after is None else after):
                break
            try:
                replica.follow(event.seq, event.at, event.payload, row.trusted)
            except MatroidBanditsError:
                if after is not None:
                    raise
                break
            status = _STATUS_AFTER.get(json.loads(event.payload)["event"], status)
        last = replica.seq
        if not 0 < last < row.seq or after not in (None, last):
            what = "all its events can be read" if last == row.seq else f"{last} events could be kept"
            raise CampaignStateError(f"expected to keep some of the {row.seq} events of {name}, but not all; {what}")
        values = {"trusted": min(row.trusted, last), "status": status, "reason": None}
        if (terms := _terms_before(database.log(connection, row.id, last))) is not None:
            values["spec"] = terms
        cut = database.log(connection, row.id, last)
        save(json.dumps({"seq": event.seq, "at": event.at, "payload": event.payload}) for event in cut)
        _cut(connection, replica, values)
    return last


def _terms_before(cut: Iterable[Any]) -> str | None:
    """The terms of a campaign before events that are cut off, as its row has them; None where these change none."""
    for event in cut:
        try:
            form = json.loads(event.payload)
            if form["event"] == "adjusted":
                return json.dumps(form["was"])
        except (ValueError, KeyError, TypeError):  # what cannot be read is cut off for that
            continue
    return None


def _cut(connection: Connection, replica: Replica, values: dict[str, Any]) -> None:
    """Remove what comes after a replica's last event: events, snapshots, and answers to requests."""
    of_it = (events.c.campaign == replica.id) & (events.c.seq > replica.seq)
    since = connection.execute(sa.select(sa.func.min(events.c.at)).where(of_it)).scalar_one()
    connection.execute(sa.delete(events).where(of_it))
    connection.execute(sa.delete(snapshots).where(snapshots.c.campaign == replica.id, snapshots.c.seq > replica.seq))
    connection.execute(sa.delete(requests).where(requests.c.campaign.in_([replica.id, -1]), requests.c.at >= since))
    values |= {"seq": replica.seq, "digest": replica.digest, "decisions": replica.learner.n_decisions}
    values |= {"waiting": replica.learner.n_outstanding, "alarms": len(replica.alarms)}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == replica.id).values(values))


def trust_log(database: Database, name: str) -> None:
    """Resume a stopped campaign, trusting the decisions of its log.

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
    """Resume a paused campaign.

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


def acknowledge_alarms(database: Database, name: str) -> None:
    """Acknowledge all alarms of a campaign.

    Examples
    --------
    >>> import tempfile
    >>> database = Database(tempfile.mkdtemp() + "/campaigns.db")
    >>> database.open()
    >>> acknowledge_alarms(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    >>> database.close()
    """
    _append(database, name, None, {"event": "acknowledged"}, is_trusted=False)


def _append(database: Database, name: str, status: str | None, event: dict[str, Any], *, is_trusted: bool) -> None:
    """Write an event of the service to a log; `status` is what the campaign's must be, None for any but archived."""
    with database.writing() as connection:
        found = database.get(connection, name)
        (row,) = database.lock(connection, [found.id])
        if row.status != status and (status is not None or row.status == "archived"):
            expected = f"is {status}" if status else "is not archived"
            raise CampaignStateError(f"expected a campaign that {expected}, got {name}, which is {row.status}")
        seq = row.seq + 1
        event |= {"by": COMMAND_LINE} | ({"until": row.seq} if status is None else {})
        payload = to_json(event).decode()
        database.append(connection, [(row.id, seq, row.now, payload)])
        digest = database.digest(connection, row.id, row.seq) if is_trusted else row.digest
        values = {"seq": seq, "digest": chained(digest, seq, row.now, payload)}
        values |= {"alarms": 0} if status is None else {"status": "active", "reason": None}
        values |= {"trusted": seq} if is_trusted else {}
        connection.execute(sa.update(campaigns).where(campaigns.c.id == row.id).values(values))


def _lines(database: Database, connection: Connection, row: Any, archive: Archive | None = None) -> Iterator[str]:
    digest, n = hashlib.sha256(), 0
    base = _snapshots.find(connection, row.id, row.first - 1) if row.first > 1 else None
    if row.first > 1 and base is None:
        raise ReplayError(f"expected the snapshot at event {row.first - 1} of {row.name}, where its log begins")
    earlier: Iterator[tuple[int, float, str]] = iter(())
    if base is not None and archive is not None:
        earlier = archive.events(row.name, json.loads(base["extra"])["id"], 0, "", row.first - 1)
        base = None
    header = {
        "format": FORMAT,
        "version": VERSION if base is None else VERSION_WITH_BASE,
        "name": row.name,
        "spec": json.loads(row.spec),
        "status": row.status,
        "reason": row.reason,
        "trusted": row.trusted,
    }
    line = json.dumps(header)
    digest.update(line.encode())
    yield line
    if base is not None:
        line = json.dumps({"snapshot": base | {"data": base64.b64encode(base["data"]).decode()}})
        digest.update(line.encode())
        yield line
    for seq, at, payload in chain(earlier, database.log(connection, row.id, row.first - 1)):
        if seq > row.seq:
            break
        line = f'{{"seq":{seq},"at":{at!r},{payload[1:]}'
        digest.update(line.encode())
        n += 1
        yield line
    yield json.dumps({"end": row.name, "events": n, "checksum": digest.hexdigest()})


class _Reader:
    """Reads the lines of campaigns, and checks that none is missing."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: Iterator[str] = (line.rstrip("\r\n") for line in lines)
        self._digest = hashlib.sha256()
        self._n, self._is_inside = 0, False

    def header(self) -> dict[str, Any] | None:
        """The next campaign; None after the last."""
        self._digest, self._n = hashlib.sha256(), 0
        line = next((line for line in self._lines if line), None)
        if line is None:
            return None
        self._is_inside = True
        form = self._parse(line)
        if form.get("format") != FORMAT:
            raise SerializationError(f"expected a campaign's log, got {shown(form.get('format'))}")
        if form.get("version") not in (VERSION, VERSION_WITH_BASE):
            raise SerializationError(f"expected version {VERSION_WITH_BASE}, got {shown(form.get('version'))}")
        is_sound = isinstance(form.get("name"), str) and isinstance(form.get("spec"), dict)
        is_sound &= form.get("status") in _STATUSES and isinstance(form.get("reason"), (str, NoneType))
        if not is_sound or type(form.get("trusted")) is not int or not 0 <= form["trusted"] < 2**63:
            raise SerializationError("expected a campaign with its name, spec, status and trusted event, got another")
        self._digest.update(line.encode())
        return form

    def base(self) -> dict[str, Any]:
        """The snapshot that the log of a campaign begins at."""
        line = next(self._lines, "")
        self._digest.update(line.encode())
        row = self._parse(line).get("snapshot")
        kinds = {"campaign": int, "seq": int, "digest": str, "build": str, "format": int, "extra": str, "data": str}
        if not isinstance(row, dict) or any(type(row.get(name)) is not kind for name, kind in kinds.items()):
            raise SerializationError(f"expected the snapshot that the log begins at, got {shown(line)}")
        try:
            return row | {"data": base64.b64decode(row["data"], validate=True)}
        except ValueError:
            raise SerializationError("expected a snapshot in base64, got something else") from None

    def events(self) -> Iterator[tuple[int, float, str]]:
        """The number, time and payload of each event of the campaign."""
        for line in self._lines:
            form = self._parse(line)
            if form.get("format") == FORMAT:
                self._lines = chain([line], self._lines)
                break
            if "end" in form:
                self._is_inside = False
                if form.get("events") != self._n or form.get("checksum") != self._digest.hexdigest():
                    raise SerializationError(f"expected {shown(form.get('events'))} events as they were, got others")
                return
            self._digest.update(line.encode())
            self._n += 1
            seq, at = form.pop("seq", None), form.pop("at", None)
            if type(seq) is not int or type(at) not in (int, float) or not math.isfinite(at):
                raise SerializationError(f"expected an event with its number and time, got {shown(line)}")
            yield seq, float(at), json.dumps(form, separators=(",", ":"))
        self._is_inside = False
        raise SerializationError("expected a last line with a checksum, got the end of the file or another campaign")

    def skip(self) -> None:
        """Go on after the campaign's last line; without one, at the next campaign's first."""
        while self._is_inside and (line := next(self._lines, None)) is not None:
            try:
                form = self._parse(line)
            except SerializationError:
                continue
            if form.get("format") == FORMAT:
                self._lines = chain([line], self._lines)
                break
            if "end" in form:
                break
        self._is_inside = False

    @staticmethod
    def _parse(line: str) -> dict[str, Any]:
        try:
            form = json.loads(line)
        except ValueError:
            form = None
        if not isinstance(form, dict):
            raise SerializationError(f"expected a line of JSON, got {shown(line)}")
        return form


def _terms(header: dict[str, Any], place: Place) -> CampaignTerms:
    """The terms of a campaign, checked as when it is created; long titles that were once allowed are cut."""
    form = {key: value for key, value in header["spec"].items() if value is not None or key not in _TEXTS}
    for key, most in _TEXTS.items():
        if isinstance(form.get(key), str):
            form[key] = form[key][:most]
    return parse(CampaignTerms, {**form, "name": header["name"]}, place)


def _restore_base(connection: Connection, replica: Replica, row: dict[str, Any]) -> None:
    """Let a campaign begin at the snapshot of another database."""
    if not _snapshots.fill(replica, row):
        raise SerializationError(f"expected the snapshot that the log of {replica.name} begins at, got a damaged one")
    row = {column.name: row.get(column.name, 0) for column in snapshots.c} | {"campaign": replica.id, "kept": 1}
    row["checksum"] = _snapshots.checksum(row)
    connection.execute(sa.insert(snapshots).values(row))
    first = {"first": replica.seq + 1}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == replica.id).values(first))


def _restore_one(
    database: Database, connection: Connection, header: dict[str, Any], reader: _Reader, trust: bool
) -> None:
    name, trusted, place = header["name"], header["trusted"], Place().at(header["name"])
    terms = _terms(header, place)
    header["spec"] = terms.model_dump(include=set(_TERMS))
    id = database.create(connection, name, json.dumps(header["spec"]), 0.0, header["status"])
    replica = Replica(id, name, header["spec"])
    if header["version"] == VERSION_WITH_BASE:
        _restore_base(connection, replica, reader.base())
    rows: list[EventRow] = []
    for seq, at, payload in reader.events():
        try:
            replica.follow(seq, at, payload, trusted)
        except (MatroidBanditsError, KeyError, TypeError) as error:
            raise ReplayError(f"event {seq} of {name} cannot happen: {error}") from error
        if replica.mismatch and not trust:
            raise ReplayError(f"{replica.mismatch} (event {seq} of {name}; --trust-log accepts logged decisions)")
        rows.append((id, seq, at, payload))
        if len(rows) == _CHUNK:
            database.append(connection, rows)
            rows = []
    if rows:
        database.append(connection, rows)
    terms.check_default(replica.learner.policy, place)
    values: dict[str, Any] = {
        "seq": replica.seq,
        "digest": replica.digest,
        "decisions": replica.learner.n_decisions,
        "waiting": replica.learner.n_outstanding,
        "alarms": len(replica.alarms),
    }
    values |= {"trusted": replica.seq if replica.mismatch else trusted, "reason": header.get("reason")}
    values |= {"created": replica.created}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == id).values(values))
