"""A lease of each campaign says which server keeps its learner, in place of servers and homes."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a table, and drop two; servers of version 0006 go on beside it, and write under the lock of the row."""
    op.create_table(
        "leases",
        sa.Column("campaign", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("server", sa.String(32), nullable=False),
        sa.Column("url", sa.String(300), nullable=False),
        sa.Column("until", sa.Double, nullable=False),
    )
    op.execute("DROP TABLE IF EXISTS homes")
    op.execute("DROP TABLE IF EXISTS servers")
