"""Ids that servers made are found by their age; two tables that this version had, version 0007 takes away."""

from alembic import op

revision = "0006"
down_revision = "0005"

#: As `FRONT_MARK` in `_remembered`: what ids begin with that a server made.
_MARK = "\x02"


_WORDS = "a server of this version does not write the hash of the log: end it"


def upgrade() -> None:
    """Add an index of the ids that are kept for minutes; servers of version 0005 go on beside it."""
    _refuse_first_version()
    op.execute(f"CREATE INDEX requests_of_fronts ON requests (at) WHERE substr(id, 1, 1) = '{_MARK}'")


def _refuse_first_version() -> None:
    """Refuse the writes of servers of version 0001, which append to a log and leave its hash as it was.

    One that was running when the tables were brought up to date would leave a log that looks as if it had been
    tampered with.
    """
    is_old = "NEW.seq <> OLD.seq AND NEW.digest = OLD.digest"
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"CREATE TRIGGER campaigns_hashed BEFORE UPDATE ON campaigns WHEN {is_old} "
            f"BEGIN SELECT RAISE(ABORT, '{_WORDS}'); END"
        )
        return
    op.execute(
        "CREATE FUNCTION campaigns_hashed() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_WORDS}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER campaigns_hashed BEFORE UPDATE ON campaigns FOR EACH ROW WHEN ({is_old}) "
        "EXECUTE FUNCTION campaigns_hashed()"
    )
