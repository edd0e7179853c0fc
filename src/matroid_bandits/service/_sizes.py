"""How large things are: the database, and what a campaign has in it and in the archive."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, func, select

from matroid_bandits.service._archive import Archive
from matroid_bandits.service._store import Database
from matroid_bandits.service._tables import events, metadata, snapshots

#: The number of latest events over which their average size is taken.
_SAMPLED = 500

_POSTGRES = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname = ANY(%s)"
)


def database_sizes(database: Database, connection: Connection) -> dict[str, int]:
    """The bytes of the database, and those of them that are free for what comes (SQLite alone says so)."""
    if not database.is_sqlite:
        names = [table.name for table in metadata.sorted_tables]
        size = connection.exec_driver_sql(_POSTGRES, (names,)).scalar_one()
        return {"database_bytes": int(size), "database_free_bytes": 0}
    page, n_pages, n_free = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("page_size", "page_count", "freelist_count")
    )
    return {"database_bytes": page * n_pages, "database_free_bytes": page * n_free}


def campaign_sizes(database: Database, connection: Connection, row: Any, archive: Archive | None) -> dict[str, Any]:
    """What a campaign has in the database, from its row, and in the archive."""
    of_it = snapshots.c.campaign == row.id
    length = func.length(snapshots.c.data) + func.length(snapshots.c.extra)
    n_snapshots, snapshot_bytes = connection.execute(select(func.count(), func.sum(length)).where(of_it)).one()
    latest = select(func.length(events.c.payload).label("size")).where(events.c.campaign == row.id)
    latest = latest.where(events.c.seq > row.seq - _SAMPLED)
    average = connection.execute(select(func.avg(sa.literal_column("size"))).select_from(latest.subquery())).scalar()
    n_events = row.seq - row.first + 1
    n_archives, archive_bytes = (0, 0) if archive is None else archive.sizes().get(row.name, (0, 0))
    return {
        "first": row.first,
        "seq": row.seq,
        "events": n_events,
        "event_bytes": round(float(average or 0.0) * n_events),
        "snapshots": n_snapshots,
        "snapshot_bytes": int(snapshot_bytes or 0),
        "archives": n_archives,
        "archive_bytes": archive_bytes,
    }
