"""Logins of browsers, which end, and are ended by signing out."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("key", sa.String(16), nullable=False),
        sa.Column("ends", sa.Double, nullable=False),
    )
