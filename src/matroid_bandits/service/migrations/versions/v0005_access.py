"""Keys end and say when they were used last; servers share what tokens are signed with."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns and the table; keys that are there have no end."""
    op.add_column("keys", sa.Column("expires", sa.Double))
    op.add_column("keys", sa.Column("used", sa.Double))
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("value", sa.String(64), nullable=False),
    )
