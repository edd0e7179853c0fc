"""What commands do to the campaigns of a database, while servers run or not; servers notice it in their next look."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa
from pydantic_core import from_json, to_json
from sqlalchemy import Connection

from matroid_bandits.exceptions import CampaignStateError
from matroid_bandits.service._actions import MOVES, Verb
from matroid_bandits.service._apply import apply
from matroid_bandits.service._keys import revoke_keys_of
from matroid_bandits.service._operation import COMMAND_LINE, Turn, check_state
from matroid_bandits.service._replicas import Replicas
from matroid_bandits.service._service import Service
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._store import Database, chained
from matroid_bandits.service._tables import campaigns, events, leases, requests, snapshots
from matroid_bandits.service._writer import advanced
from matroid_bandits.specs import CampaignSpec, Place, Plan


def create_campaign(
    database: Database, spec: CampaignSpec, place: Place | None = None, settings: Settings | None = None
) -> None:
    """Create a campaign in a database.

    Raises
    ------
    CampaignStateError
        The name is taken.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     matroid = {"kind": "uniform", "rows": ["boots", "hats"], "rank": 1}
    ...     create_campaign(database, CampaignSpec(name="ads", matroid=matroid, policy="OMM"))
    ...     delete_campaign(database, "ads")
    """
    make = Service(Settings(db=str(database)) if settings is None else settings).creating(spec, place)
    with database.writing() as connection:
        turn = Turn(connection, database.now(connection), by=COMMAND_LINE)
        make(None, turn)
        database.append(connection, turn.rows)
        database.advance(connection, map(advanced, turn.created))


def apply_campaign(
    database: Database,
    spec: CampaignSpec,
    place: Place | None = None,
    *,
    is_dry: bool = False,
    restart: bool = False,
    settings: Settings | None = None,
) -> list[dict[str, Any]]:
    """Apply the settings of a campaign file, all or none, and return the differences.

    Parameters
    ----------
    database : Database
        Where the campaign is.
    spec, place
        What the file says, as `read_campaign` gives it.
    is_dry : bool, default False
        Change nothing.
    restart : bool, default False
        Forget what was learnt.
    settings : Settings, optional
        The limits.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     spec = CampaignSpec(name="ads", matroid={"kind": "uniform", "rows": ["a", "b"], "rank": 1}, policy="OMM")
    ...     create_campaign(database, spec)
    ...     apply_campaign(database, spec.model_copy(update={"title": "Ads"}))
    [{'setting': 'title', 'before': '', 'after': 'Ads'}]
    """
    limits = Settings(db=str(database)) if settings is None else settings
    run = apply(Plan.of(spec, place, restart=restart), limits, is_dry=is_dry)
    replicas = Replicas(database, snapshot_every=2**62)
    replica = replicas.find(spec.name)  # before the lock, since it may take a while
    with database.writing() as connection:
        (row,) = database.lock(connection, [replica.id])
        replicas.catch_up(replica, row, connection)
        check_state(replica, "change")
        turn = Turn(connection, row.now, locked={row.id: row}, by=COMMAND_LINE)
        answer = run(replica, turn)
        if turn.rows:
            database.append(connection, turn.rows)
            database.advance(connection, [advanced(replica)])
            database.set_terms(connection, turn.terms)
    found: list[dict[str, Any]] = from_json(answer.body)["differences"]
    return found


def move_campaign(database: Database, name: str, verb: Verb | Literal["trust", "acknowledge"]) -> None:
    """Pause, resume or archive a campaign, resume a stopped one by the word of its log, or acknowledge its alarms.

    Doing it again changes nothing, and the log is not read, but for its hash.

    Raises
    ------
    CampaignStateError
        It is in another state.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     move_campaign(database, "ads", "pause")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    """
    with database.writing() as connection:
        row = _locked(database, connection, name)
        if verb == "acknowledge":
            _append(database, connection, row, None, {"event": "acknowledged", "until": row.seq}, {"alarms": 0})
        elif verb == "trust":
            row = row._replace(digest=database.digest(connection, row.id, row.seq))
            values = {"status": "active", "reason": None, "trusted": row.seq + 1}
            _append(database, connection, row, "stopped", {"event": "trusted"}, values)
        elif row.status != MOVES[verb][1]:
            source, target, event = MOVES[verb]
            _append(database, connection, row, source, {"event": event}, {"status": target, "reason": None})


def _append(
    database: Database, connection: Connection, row: Any, status: str | None, event: dict[str, Any], values: Any
) -> None:
    """Write an event of the service to a log; `status` is what the campaign's must be, None for any but archived."""
    if row.status != status and (status is not None or row.status == "archived"):
        expected = f"is {status}" if status else "is not archived"
        raise CampaignStateError(f"expected a campaign that {expected}, got {row.name}, which is {row.status}")
    seq, payload = row.seq + 1, to_json(event | {"by": COMMAND_LINE}).decode()
    database.append(connection, [(row.id, seq, row.now, payload)])
    values = {"seq": seq, "digest": chained(row.digest, seq, row.now, payload), **values}
    connection.execute(sa.update(campaigns).where(campaigns.c.id == row.id).values(values))


def delete_campaign(database: Database, name: str) -> None:
    """Delete a campaign with its log, snapshots and request ids, and revoke its keys; the name becomes free.

    Raises
    ------
    UnknownCampaignError
        There is no such campaign.

    Examples
    --------
    >>> import tempfile
    >>> with Database(tempfile.mkdtemp() + "/campaigns.db") as database:
    ...     delete_campaign(database, "ads")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.UnknownCampaignError: expected the name of a campaign, got 'ads'
    """
    with database.writing() as connection:
        database.take_time(connection)
        row = _locked(database, connection, name)
        for table in (events, snapshots, requests, leases):
            connection.execute(sa.delete(table).where(table.c.campaign == row.id))
        connection.execute(sa.delete(campaigns).where(campaigns.c.id == row.id))
        revoke_keys_of(connection, name, row.now)


def _locked(database: Database, connection: Connection, name: str) -> Any:
    found = database.get(connection, name)
    (row,) = database.lock(connection, [found.id])
    return row
