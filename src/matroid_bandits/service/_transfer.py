"""Campaigns as JSON Lines: their logs, exported, backed up, and restored elsewhere by replaying them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import NoneType
from typing import Any

import sqlalchemy as sa
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
from matroid_bandits.service._replica import Replica, read_terms, stored_terms
from matroid_bandits.service._retention import archived
from matroid_bandits.service._store import Database, EventRow
from matroid_bandits.service._tables import campaigns, events, requests, snapshots
from matroid_bandits.specs import LONGEST_ABOUT, LONGEST_TITLE, CampaignTerms, Place, check_default, parse

FORMAT = "matroid-bandits/campaign"

#: Version 2 has a snapshot before the events, where the first ones are in archives.
VERSION, VERSION_WITH_BASE = 1, 2

_CHUNK = 5000
_STATUSES = ("active", "paused", "stopped", "archived")
_TERMS = ("title", "about", "answer_window", "default")
_TEXTS = {"title": LONGEST_TITLE, "about": LONGEST_ABOUT}


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
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     list(backup(database))
    []
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
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     restore(database, [])
    []
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

    Where all events can be read and the campaign's row alone is damaged, the row is written anew from the log.

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
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     repair(database, "ads", print)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    """
    with database.writing() as connection:
        found = database.get(connection, name)
        (row,) = database.lock(connection, [found.id])
        replica = Replica(row.id, name, stored_terms(row))
        if row.first > 1 and not _snapshots.restore(connection, replica, row.first - 1):
            raise ReplayError(f"expected the snapshot at event {row.first - 1} of {name}, where its log begins")
        for event in database.log(connection, row.id, row.first - 1):
            if event.seq > (row.seq if after is None else after):
                break
            try:
                replica.follow(event.seq, event.at, event.payload, row.trusted)
            except MatroidBanditsError:
                if after is not None:
                    raise
                break
        last, is_damaged = replica.seq, _is_row_alone_damaged(replica, row)
        if not (0 < last < row.seq or is_damaged) or after not in (None, last):
            what = "all its events can be read" if last == row.seq else f"{last} events could be kept"
            raise CampaignStateError(f"expected to keep some of the {row.seq} events of {name}, but not all; {what}")
        if not replica.is_told:  # the log is of a version that did not say the terms
            replica.spec = _terms_before(database.log(connection, row.id, last)) or stored_terms(row)
        cut = database.log(connection, row.id, last)
        save(json.dumps({"seq": event.seq, "at": event.at, "payload": event.payload}) for event in cut)
        if not is_damaged:
            _cut(connection, replica)
            if replica.trusted < min(row.trusted, last):  # the event that said it is cut off
                rows: list[EventRow] = []
                replica.put({"event": "trusted", "by": COMMAND_LINE}, row.now, rows)
                database.append(connection, rows)
        _write_row(connection, replica)
    return last


def _is_row_alone_damaged(replica: Replica, row: Any) -> bool:
    """Whether all events of a log can be read, and the row of the campaign is not the one that they lead to."""
    if not replica.is_told or (replica.seq, replica.digest) != (row.seq, row.digest):
        return False
    try:
        replica.compare(row, [*replica.row()])
    except ReplayError:
        return True
    return False


def _terms_before(cut: Iterable[Any]) -> dict[str, Any] | None:
    """The terms of a campaign before events that are cut off; None where these change none."""
    for event in cut:
        with contextlib.suppress(ValueError, KeyError, TypeError):  # what cannot be read is cut off for that
            form = json.loads(event.payload)
            if form["event"] == "adjusted":
                return dict(form["was"])
    return None


def _write_row(connection: Connection, replica: Replica) -> None:
    """Let the row of a campaign say what its log leads to."""
    values = replica.row() | {"spec": json.dumps(replica.spec)}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == replica.id).values(values))


def _cut(connection: Connection, replica: Replica) -> None:
    """Remove what comes after a replica's last event: events, snapshots, and answers to requests."""
    of_it = (events.c.campaign == replica.id) & (events.c.seq > replica.seq)
    since = connection.execute(sa.select(sa.func.min(events.c.at)).where(of_it)).scalar_one()
    connection.execute(sa.delete(events).where(of_it))
    connection.execute(sa.delete(snapshots).where(snapshots.c.campaign == replica.id, snapshots.c.seq > replica.seq))
    connection.execute(sa.delete(requests).where(requests.c.campaign.in_([replica.id, -1]), requests.c.at >= since))


def _lines(database: Database, connection: Connection, row: Any, archive: Archive | None = None) -> Iterator[str]:
    digest, n = hashlib.sha256(), 0
    base = _snapshots.find(connection, row.id, row.first - 1) if row.first > 1 else None
    if row.first > 1 and base is None:
        raise ReplayError(f"expected the snapshot at event {row.first - 1} of {row.name}, where its log begins")
    earlier: Iterator[tuple[int, float, str]] = iter(())
    if base is not None and archive is not None:
        earlier, base = archived(connection, row, archive), None
    header = {
        "format": FORMAT,
        "version": VERSION if base is None else VERSION_WITH_BASE,
        "name": row.name,
        "spec": read_terms(row.spec, row.name),
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
    if not replica.is_told:
        replica.spec, replica.status, replica.reason = header["spec"], header["status"], header.get("reason")
        replica.trusted = trusted
    if replica.mismatch:
        replica.put({"event": "trusted", "by": COMMAND_LINE}, database.now(connection), rows)
    if rows:
        database.append(connection, rows)
    check_default(terms.default, replica.answers, replica.learner.policy, place)
    _write_row(connection, replica)
