"""Campaigns and snapshots carry a hash of the log; ids of requests belong to campaigns."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_CHUNK = 5000
_LOG = "SELECT seq, at, payload FROM events WHERE campaign = :id AND seq > :after ORDER BY seq LIMIT :most"


def upgrade() -> None:
    """Add the columns, and fill them from the logs there are."""
    for table in ("campaigns", "snapshots"):
        op.add_column(table, sa.Column("digest", sa.String(32), nullable=False, server_default=""))
    connection = op.get_bind()
    for id, seq in connection.execute(sa.text("SELECT id, seq FROM campaigns ORDER BY id")).all():
        _fill(connection, id, seq)
    _number_requests()


def _fill(connection: sa.Connection, id: int, last: int) -> None:
    of_it = connection.execute(sa.text("SELECT seq FROM snapshots WHERE campaign = :id"), {"id": id})
    saved = set(of_it.scalars())
    digest, after = "", 0
    while after < last:
        given = {"id": id, "after": after, "most": min(_CHUNK, last - after)}
        rows = connection.execute(sa.text(_LOG), given).all()
        if not rows:  # a log that ends too early is noticed when it is read
            break
        for seq, at, payload in rows:
            chained = f"{digest} {seq} {at!r} {payload}"
            digest, after = hashlib.blake2b(chained.encode(), digest_size=16).hexdigest(), seq
            if seq in saved:
                which = {"digest": digest, "id": id, "seq": seq}
                text = "UPDATE snapshots SET digest = :digest WHERE campaign = :id AND seq = :seq"
                connection.execute(sa.text(text), which)
    connection.execute(sa.text("UPDATE campaigns SET digest = :digest WHERE id = :id"), {"digest": digest, "id": id})


def _number_requests() -> None:
    """Make the ids of requests unique within a campaign; of those there are it is not known whose they were: -1."""
    op.rename_table("requests", "requests_0001")
    op.create_table(
        "requests",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("campaign", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", "campaign", name="requests_by_campaign"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO requests (id, campaign, digest, status, answer, at) "
        "SELECT id, -1, digest, status, answer, at FROM requests_0001"
    )
    op.drop_table("requests_0001")
