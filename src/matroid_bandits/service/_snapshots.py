"""Learners as files in the database: versioned by their own format, checksummed, skipped where torn or foreign."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, select

from matroid_bandits._util.versions import versions
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import Learner
from matroid_bandits.service._history import History
from matroid_bandits.service._replica import CHANGED, Replica, read_terms
from matroid_bandits.service._store import Database
from matroid_bandits.service._tables import campaigns, snapshots
from matroid_bandits.service._uplift import Uplift
from matroid_bandits.specs import read_answers

log = logging.getLogger("matroid_bandits.service")

#: What decisions may depend on besides the log. A snapshot of another build is used, and what was logged before it is
#: replayed in the background: see `Checker`.
BUILD = " ".join((*(f"{name} {version}" for name, version in versions().items()), platform.machine()))

#: The format of snapshots that are written, and those that are read. The checksum of format 1 does not cover the
#: digest, and open decisions may lie beside the learner.
FORMAT = 2
KNOWN = (1, 2)

#: How many are kept besides those that logs begin at: the newest, and those before it that it is checked against.
_KEPT = 3
_IN_MEMORY = "/dev/shm"

T = TypeVar("T")


def take(replica: Replica) -> dict[str, Any]:
    """A row of the table of snapshots, with the learner as it is now."""
    extra = json.dumps(
        {
            "id": replica.learner.id,
            "created": replica.created,
            "status": replica.status,
            "reason": replica.reason,
            "trusted": replica.trusted,
            "terms": replica.spec,
            "weights": [None if abs(x) == float("inf") else x for x in replica.weights],
            "alarms": [bool(replica.alarms), replica.is_wide, replica.n_alarms],
            "open_alarms": [*replica.alarms.values()],
            "history": replica.history.to_dict(),
            "uplift": replica.uplift.to_dict(),
        }
    )
    row = {
        "campaign": replica.id,
        "seq": replica.seq,
        "digest": replica.digest,
        "build": BUILD,
        "format": FORMAT,
        "kept": 0,
        "at": time.time(),
        "extra": extra,
        "data": state_of(replica),
    }
    return row | {"checksum": checksum(row)}


def fresh(replica: Replica) -> dict[str, Any] | None:
    """A row with the learner as it is now; None where no event came since the last one, or it is stopped."""
    if replica.mismatch or replica.seq == replica.saved:
        return None
    replica.saved, replica.spent, replica.is_unsaved = replica.seq, 0.0, False
    return take(replica)


def state_of(replica: Replica) -> bytes:
    """The learner as a file: the same bytes for the same state."""

    def write_and_read(file: Path) -> bytes:
        replica.learner.save(file)
        return file.read_bytes()

    return _through_a_file(write_and_read)


def store(database: Database, row: dict[str, Any]) -> None:
    """Write a snapshot, unless another process has, and remove old ones."""
    same = (snapshots.c.campaign == row["campaign"]) & (snapshots.c.seq == row["seq"])
    with database.writing() as connection:
        database.take_time(connection)
        is_there = select(campaigns.c.id).where(campaigns.c.id == row["campaign"])
        if connection.execute(is_there).first() is None:
            return  # deleted meanwhile
        if connection.execute(select(snapshots.c.seq).where(same)).first() is None:
            connection.execute(sa.insert(snapshots).values(row))
        of_it = (snapshots.c.campaign == row["campaign"]) & (snapshots.c.kept == 0)
        newest = select(snapshots.c.seq).where(of_it).order_by(snapshots.c.seq.desc())
        kept = [found.seq for found in connection.execute(newest.limit(_KEPT))]
        if kept:
            connection.execute(sa.delete(snapshots).where(of_it, snapshots.c.seq < kept[-1]))


def numbers(connection: Connection, campaign: int, until: int) -> list[int]:
    """The events after which there are snapshots of a campaign, newest first."""
    of_it = (snapshots.c.campaign == campaign) & (snapshots.c.seq <= until)
    return [*connection.execute(select(snapshots.c.seq).where(of_it).order_by(snapshots.c.seq.desc())).scalars()]


def restore(connection: Connection, replica: Replica, seq: int) -> bool:
    """Bring a fresh replica to the snapshot after an event; False, and nothing changed, where it is not sound."""
    row = find(connection, replica.id, seq)
    return row is not None and fill(replica, row)


def newest(connection: Connection, row: Any, until: int, is_wanted: Callable[[Replica], bool] = bool) -> Replica:
    """A replica at the newest sound snapshot up to an event, of those that are wanted; else one before event 1."""
    terms = read_terms(row.spec, row.name)
    for seq in numbers(connection, row.id, until):
        replica = Replica(row.id, row.name, terms)
        if restore(connection, replica, seq) and is_wanted(replica):
            return replica
    return Replica(row.id, row.name, terms)


def find(connection: Connection, campaign: int, seq: int) -> dict[str, Any] | None:
    """The row of a snapshot."""
    same = (snapshots.c.campaign == campaign) & (snapshots.c.seq == seq)
    row = connection.execute(select(snapshots).where(same)).first()
    return None if row is None else dict(row._mapping)


def fill(replica: Replica, row: dict[str, Any]) -> bool:
    """Give a replica what a snapshot holds; False, and nothing changed, where it is not sound."""
    if row["format"] not in KNOWN:
        log.warning("a snapshot of format %s is not known here and was skipped", row["format"])
        return False
    if checksum(row) != row["checksum"]:
        log.warning("a snapshot is damaged and was skipped")
        return False

    def write_and_load(file: Path) -> Learner:
        file.write_bytes(row["data"])
        return Learner.load(file, record=replica.record)

    try:
        learner = _through_a_file(write_and_load)
        extra = json.loads(row["extra"])
        terms = extra.get("terms")
        history = History.from_dict(extra["history"], read_answers(learner, terms or replica.spec))
        uplift = Uplift.from_dict(extra.get("uplift"))
        for id, at, *_ in extra.get("waiting", ()):  # where times were before learners kept them
            learner.book.date(id, at)
        (low, high), (_, is_wide, n_alarms) = extra["weights"], extra["alarms"]
        alarms = {alarm["seq"]: alarm for alarm in extra.get("open_alarms", _early_alarms(extra))}
        if learner.id != extra["id"]:
            return False
    except (MatroidBanditsError, OSError, ValueError, KeyError, TypeError):
        log.warning("a snapshot cannot be read and was skipped")
        return False
    replica._learner, replica.history, replica.uplift = learner, history, uplift
    replica.weights = float("inf") if low is None else low, -float("inf") if high is None else high
    replica.alarms, replica.is_wide, replica.n_alarms = alarms, is_wide, n_alarms
    replica.created, replica.build = extra["created"], row["build"]
    replica.status, replica.reason = extra.get("status", "active"), extra.get("reason")
    replica.spec, replica.is_told, replica.trusted = terms or replica.spec, terms is not None, extra.get("trusted", 0)
    replica.seq = replica.saved = row["seq"]
    replica.digest = row["digest"]
    return True


def _early_alarms(extra: dict[str, Any]) -> list[dict[str, Any]]:
    """The alarms in a snapshot from before they could be acknowledged: those on its time line."""
    marks = [mark for mark in extra["history"]["marks"] if mark["kind"] == "alarm"]
    kinds = ("drift" if mark["text"].startswith(CHANGED) else "scale" for mark in marks)
    return [
        {"seq": mark["seq"], "at": mark["at"], "kind": kind, "text": mark["text"]}
        for mark, kind in zip(marks, kinds, strict=True)
    ]


def checksum(row: dict[str, Any]) -> str:
    """The checksum of a snapshot's row."""
    head = f"{row['campaign']} {row['seq']} {row['build']}"
    if row["format"] > 1:
        head += f" {row['format']} {row['digest']}"
    found = hashlib.sha256(f"{head}\n{row['extra']}\n".encode())
    found.update(row["data"])
    return found.hexdigest()


def _through_a_file(use: Callable[[Path], T]) -> T:
    """Call `use` with the name of a file: in memory where there is such a folder and it has room, else on disk."""
    if os.access(_IN_MEMORY, os.W_OK):
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
            return use(Path(folder) / "learner.npz")
    with tempfile.TemporaryDirectory() as folder:
        return use(Path(folder) / "learner.npz")
