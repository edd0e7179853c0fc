"""Bring a database's tables to the version that this package needs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text

from matroid_bandits.exceptions import UnavailableError

log = logging.getLogger("matroid_bandits.service")

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 7_126_403_551  # any number that other programs are unlikely to lock in the same database


def migrate(connection: Connection, to: str = "head") -> None:
    """Run the steps that the database has not seen yet, in one transaction; processes do it one after another."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)

    def steps(revision: Any, _: Any) -> Any:
        return scripts._upgrade_revs(to, revision)

    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    try:
        with EnvironmentContext(config, scripts, fn=steps) as environment:
            environment.configure(connection=connection)
            before = environment.get_context().get_current_revision()
            environment.run_migrations()
            after = environment.get_context().get_current_revision()
            if before is not None and before != after:
                log.info("migrated the tables from version %s to %s", before, after)
    except CommandError as error:
        raise UnavailableError(f"the database is of another version of matroid-bandits ({error})") from error
