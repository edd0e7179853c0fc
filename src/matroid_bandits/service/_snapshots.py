"""Learners as files in the database: checksummed, and skipped where torn, foreign or of another build."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, select

from matroid_bandits._util.versions import versions
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import Learner
from matroid_bandits.service._history import History
from matroid_bandits.service._replica import CHANGED, Replica
from matroid_bandits.service._store import Database
from matroid_bandits.service._tables import snapshots

log = logging.getLogger("matroid_bandits.service")

#: What decisions may depend on besides the log: a snapshot of another build is not used, so that a replay checks it.
BUILD = " ".join((*(f"{name} {version}" for name, version in versions().items()), platform.machine()))

_KEPT = 2
_IN_MEMORY = "/dev/shm"

T = TypeVar("T")


def take(replica: Replica) -> dict[str, Any]:
    """A row of the table of snapshots, with the learner as it is now."""

    def write_and_read(file: Path) -> bytes:
        replica.learner.save(file)
        return file.read_bytes()

    data = _through_a_file(write_and_read)
    extra = json.dumps(
        {
            "id": replica.learner.id,
            "created": replica.created,
            "weights": [None if abs(x) == float("inf") else x for x in replica.weights],
            "alarms": [bool(replica.alarms), replica.is_wide, replica.n_alarms],
            "open_alarms": [*replica.alarms.values()],
            "history": replica.history.to_dict(),
        }
    )
    row = {"campaign": replica.id, "seq": replica.seq, "build": BUILD, "extra": extra, "data": data}
    return row | {"digest": replica.digest, "checksum": _checksum(row)}


def store(database: Database, row: dict[str, Any]) -> None:
    """Write a snapshot, unless another process has, and remove old ones."""
    same = (snapshots.c.campaign == row["campaign"]) & (snapshots.c.seq == row["seq"])
    with database.writing() as connection:
        database.take_time(connection)
        if connection.execute(select(snapshots.c.seq).where(same)).first() is None:
            connection.execute(sa.insert(snapshots).values(row))
        of_it = snapshots.c.campaign == row["campaign"]
        newest = select(snapshots.c.seq).where(of_it).order_by(snapshots.c.seq.desc())
        kept = [found.seq for found in connection.execute(newest.limit(_KEPT))]
        connection.execute(sa.delete(snapshots).where(of_it, snapshots.c.seq < kept[-1]))


def restore(connection: Connection, replica: Replica, until: int) -> None:
    """Bring a fresh replica to the newest sound snapshot that lies within its log; without one it stays as it is."""
    newest = (
        select(snapshots.c.seq)
        .where(snapshots.c.campaign == replica.id, snapshots.c.seq <= until)
        .order_by(snapshots.c.seq.desc())
    )
    for found in connection.execute(newest).all():
        same = (snapshots.c.campaign == replica.id) & (snapshots.c.seq == found.seq)
        row = connection.execute(select(snapshots).where(same)).first()
        if row is not None and _fill(replica, row):
            return


def _fill(replica: Replica, row: Any) -> bool:
    """Give a replica what a snapshot holds; False, and nothing changed, where it is not sound."""
    if row.build != BUILD:
        return False
    if _checksum(row._mapping) != row.checksum:
        log.warning("a snapshot is damaged and was skipped")
        return False

    def write_and_load(file: Path) -> Learner:
        file.write_bytes(row.data)
        return Learner.load(file, record=replica.record)

    try:
        learner = _through_a_file(write_and_load)
        extra = json.loads(row.extra)
        history = History.from_dict(extra["history"])
        for id, at, *_ in extra.get("waiting", ()):  # where times were before learners kept them
            learner.book.date(id, at)
        (low, high), (_, is_wide, n_alarms) = extra["weights"], extra["alarms"]
        alarms = {alarm["seq"]: alarm for alarm in extra.get("open_alarms", _early_alarms(extra))}
        if learner.id != extra["id"]:
            return False
    except (MatroidBanditsError, OSError, ValueError, KeyError, TypeError):
        log.warning("a snapshot cannot be read and was skipped")
        return False
    replica._learner, replica.history = learner, history
    replica.weights = float("inf") if low is None else low, -float("inf") if high is None else high
    replica.alarms, replica.is_wide, replica.n_alarms = alarms, is_wide, n_alarms
    replica.created = extra["created"]
    replica.seq = replica.saved = row.seq
    replica.digest = row.digest
    return True


def _early_alarms(extra: dict[str, Any]) -> list[dict[str, Any]]:
    """The alarms in a snapshot from before they could be acknowledged: those on its time line."""
    marks = [mark for mark in extra["history"]["marks"] if mark["kind"] == "alarm"]
    kinds = ("drift" if mark["text"].startswith(CHANGED) else "scale" for mark in marks)
    return [mark | {"kind": kind} for mark, kind in zip(marks, kinds, strict=True)]


def _checksum(row: Any) -> str:
    found = hashlib.sha256(f"{row['campaign']} {row['seq']} {row['build']}\n{row['extra']}\n".encode())
    found.update(row["data"])
    return found.hexdigest()


def _through_a_file(use: Callable[[Path], T]) -> T:
    """Call `use` with the name of a file: in memory where there is such a folder and it has room, else on disk."""
    if os.access(_IN_MEMORY, os.W_OK):
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
            return use(Path(folder) / "learner.npz")
    with tempfile.TemporaryDirectory() as folder:
        return use(Path(folder) / "learner.npz")
