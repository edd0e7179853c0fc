"""Why a decision was as it was: the campaign as it stood just before it, from a snapshot and the log."""

from __future__ import annotations

import threading
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection

from matroid_bandits._util.names import decode
from matroid_bandits.exceptions import LimitError, UnknownDecisionError
from matroid_bandits.service import _snapshots
from matroid_bandits.service._reads import archived_error, uplift_form
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import Database

#: Events that are replayed to explain a decision; snapshots are 20,000 apart unless told otherwise.
_MOST_REPLAYED = 100_000

#: Events that are read at once to find a decision.
_CHUNK = 64


class Past:
    """Campaigns as they stood before their decisions. The last one is kept: its items are asked for one by one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()  # one replay at a time
        self._last: tuple[str, int, Replica, dict[str, Any]] | None = None

    def explain(self, name: str, item: Any, decision: int) -> dict[str, Any]:
        """Why an item is in or out of a decision, by what was believed when it was made."""
        with self._lock:
            if self._last is None or self._last[:2] != (name, decision):
                self._last = name, decision, *self._stand_before(name, decision)
            _, _, replica, asked = self._last
            learner = replica.learner
            if asked.get("held_out"):
                found = learner.explain(item, decision=decision)
            else:
                given = (key for key in ("available", "exclude", "pinned") if key in asked)
                wanted: dict[str, Any] = {key: [*map(decode, asked[key])] for key in given}
                found = learner.explain(item, **wanted, features=asked.get("features"))
        return found.to_dict() | {"text": str(found)}

    def _stand_before(self, name: str, decision: int) -> tuple[Replica, dict[str, Any]]:
        """A replica just before the event of a decision, after it where it was drawn at random; and the event."""
        database = self._database
        with database.reading() as connection:
            row = database.get(connection, name)
            database.take_time(connection)
            seq, asked = self._find(connection, row, decision)
            replica = _snapshots.newest(connection, row, seq - 1)
            n_between = seq - replica.seq
            if n_between > _MOST_REPLAYED:
                raise LimitError(
                    f"expected a decision at most {_MOST_REPLAYED:,} events after a snapshot, got {n_between:,}"
                )
            until = seq if asked.get("held_out") else seq - 1
            for event in database.log(connection, row.id, replica.seq, until - replica.seq):
                replica.follow(event.seq, event.at, event.payload, event.seq)  # by the log's word
            return replica, asked

    def _find(self, connection: Connection, row: Any, decision: int) -> tuple[int, dict[str, Any]]:
        """The event of a decision: their numbers rise along the log."""
        low, high = row.first - 1, row.seq  # events after `low`, up to `high`
        kept = self._next_asked(connection, row, low, high) if low else None
        if low and (kept is None or decision < kept[1]["decision"]):
            raise archived_error(
                row, f"expected a decision of {row.name} whose event is not in archives, got {decision}"
            )
        while high > low:
            middle = (low + high) // 2
            found = self._next_asked(connection, row, middle, high)
            if found is None or found[1]["decision"] > decision:
                high = middle
            elif found[1]["decision"] == decision:
                return found
            else:
                low = found[0]
        raise UnknownDecisionError(f"expected a decision of {row.name} that is in its log, got {decision}")

    def _next_asked(
        self, connection: Connection, row: Any, after: int, until: int
    ) -> tuple[int, dict[str, Any]] | None:
        """The first decision after an event."""
        while after < until:
            chunk = [*self._database.log(connection, row.id, after, min(_CHUNK, until - after))]
            for event in chunk:
                if event.seq > until:
                    return None
                if event.payload.startswith('{"event":"asked"'):
                    return event.seq, from_json(event.payload)
            if not chunk:
                return None
            after = chunk[-1].seq
        return None


def campaign_uplift(database: Database, name: str) -> dict[str, Any]:
    """Return a campaign's uplift over its control, computed from its newest snapshot and the log since then.

    Raises
    ------
    UnknownCampaignError
        There is no such campaign.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     campaign_uplift(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    """
    with database.reading(at_once=True) as connection:
        row = database.get(connection, name)
        database.take_time(connection)
        replica = _snapshots.newest(connection, row, row.seq, lambda saved: saved.uplift.is_complete or row.first > 1)
        for event in database.log(connection, row.id, replica.seq, row.seq - replica.seq):
            replica.follow(event.seq, event.at, event.payload, event.seq)  # by the log's word
        return uplift_form(replica, database.now(connection))
