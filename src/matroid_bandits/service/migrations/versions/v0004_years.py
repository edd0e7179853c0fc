"""Logs may begin after their first event, snapshots have a format of their own, and rows count open alarms."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns: logs are whole, snapshots of format 1, and alarms are counted when a log is written to."""
    op.add_column("campaigns", sa.Column("first", sa.BigInteger, nullable=False, server_default="1"))
    op.add_column("campaigns", sa.Column("alarms", sa.Integer, nullable=False, server_default="0"))
    op.add_column("snapshots", sa.Column("format", sa.Integer, nullable=False, server_default="1"))
    op.add_column("snapshots", sa.Column("kept", sa.Integer, nullable=False, server_default="0"))
    op.add_column("snapshots", sa.Column("at", sa.Double, nullable=False, server_default="0"))
