"""Replay a campaign from its first event, archives included, and compare what comes out with what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Connection

from matroid_bandits.exceptions import ReplayError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._replica import Replica, read_terms
from matroid_bandits.service._retention import archived
from matroid_bandits.service._store import Database

#: Events between two calls of `on_progress`.
_SHOWN = 100_000


@dataclass(frozen=True)
class Verified:
    """Result of `verify_campaign`: numbers of replayed events, decisions and snapshots.

    Attributes
    ----------
    n_events, n_archived : int
        How many events there are, and how many of them are in archives alone.
    n_decisions : int
        How many decisions were made again, each the one in the log.
    n_snapshots : int
        How many snapshots are what the replay came to.

    Examples
    --------
    >>> Verified(n_events=41, n_archived=20, n_decisions=20, n_snapshots=2).n_decisions
    20
    """

    n_events: int
    n_archived: int
    n_decisions: int
    n_snapshots: int


def verify_campaign(
    database: Database,
    name: str,
    archive: Archive | None = None,
    on_progress: Callable[[int, int], None] = lambda seq, last: None,
) -> Verified:
    """Replay a campaign's log from the start and compare decisions, hashes and snapshots, without changing anything.

    Parameters
    ----------
    database : Database
        Where the campaign is.
    name : str
        The campaign.
    archive : Archive, optional
        Where its first events are, if they are not in the database.
    on_progress : callable
        Called with an event's number and the last one's, now and then.

    Raises
    ------
    ReplayError
        The replay differs from what is stored, the campaign's row is not the one that the log leads to, or the first
        events are in archives and none is given.
    SerializationError
        An archive is damaged, or a file of it is missing.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     verify_campaign(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    """
    with database.reading(at_once=True) as connection:
        database.take_time(connection)
        row = database.get(connection, name)
        replica = Replica(row.id, name, read_terms(row.spec, name))
        saved = {*_snapshots.numbers(connection, row.id, row.seq)}
        if row.first < 1:
            raise ReplayError(f"the row of {name} says that its log begins at event {row.first}")
        kept = database.log(connection, row.id, row.first - 1, row.seq - row.first + 1)
        for seq, at, payload in chain(archived(connection, row, archive), kept):
            replica.follow(seq, at, payload, row.trusted)
            if seq in saved:
                _compare(connection, replica)
            if seq % _SHOWN == 0:
                on_progress(seq, row.seq)
    if replica.mismatch:
        raise ReplayError(f"{name}: {replica.mismatch}")
    if (replica.seq, replica.digest) != (row.seq, row.digest):
        raise ReplayError(f"{name}: the events in its log are not those that were written")
    replica.compare(row, [*replica.row()])
    return Verified(row.seq, row.first - 1, replica.learner.n_decisions, len(saved))


def _compare(connection: Connection, replica: Replica) -> None:
    saved = Replica(replica.id, replica.name, {})
    where = f"the snapshot at event {replica.seq} of {replica.name}"
    if not _snapshots.restore(connection, saved, replica.seq):
        raise ReplayError(f"{where} cannot be read")
    if difference := replica.differs_from(saved):
        raise ReplayError(f"{where} is not what the log leads to: {difference}")
