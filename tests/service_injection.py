"""Faults below SQLAlchemy: a chosen statement or commit of a driver raises, before or after it took effect."""

import contextlib
import sqlite3

import psycopg
from sqlalchemy import event


class Faults:
    """Counts the statements and commits of a database's connections, and fails one of them.

    Attributes
    ----------
    n_seen : int
        Statements and commits since the count was reset.
    is_armed : bool
        Whether the fault has yet to come.
    """

    def __init__(self, database):
        self.n_seen, self.is_armed, self._at, self._after, self._only = 0, False, 0, False, ""
        kind = sqlite3 if database.is_sqlite else psycopg
        self._error = kind.OperationalError
        event.listen(database.engine, "do_connect", self._connect_sqlite if database.is_sqlite else self._connect)

    def count(self):
        """Count from zero, and fail nothing."""
        self.n_seen, self.is_armed = 0, False

    def arm(self, at, *, after=False, only=""):
        """Fail the statement or commit of that number (from 1), of those that contain a text."""
        self.n_seen, self.is_armed, self._at, self._after, self._only = 0, True, at, after, only

    def is_next(self, text):
        """Whether the next statement is the one that fails."""
        return self._only in text and self.is_armed and self.n_seen + 1 == self._at

    def step(self, text, call):
        """Make a call of the driver, or fail instead of it or after it."""
        is_it = False
        if self._only in text:
            self.n_seen += 1
            is_it = self.is_armed and self.n_seen == self._at
        if is_it:
            self.is_armed = False
            if not self._after:
                raise self._error("an injected fault")
        found = call()
        if is_it:
            raise self._error("an injected fault, after the fact")
        return found

    def _connect_sqlite(self, dialect, record, arguments, options):
        faults = self

        class Cursor(sqlite3.Cursor):
            def execute(self, text, *more):
                return faults.step(text, lambda: super(Cursor, self).execute(text, *more))

            def executemany(self, text, *more):
                return faults.step(text, lambda: super(Cursor, self).executemany(text, *more))

        class Connection(sqlite3.Connection):
            def cursor(self, factory=Cursor):
                return super().cursor(factory)

            def commit(self):
                return faults.step("COMMIT", super().commit)

        return sqlite3.connect(*arguments, **options, factory=Connection)

    def _connect(self, dialect, record, arguments, options):
        faults = self

        class Cursor(psycopg.Cursor):
            def execute(self, text, *more, **options):
                return faults.step(str(text), lambda: super(Cursor, self).execute(text, *more, **options))

            @contextlib.contextmanager
            def copy(self, text, *more, **options):
                text = str(text)
                is_it = faults.is_next(what := text.replace("COPY", "INSERT INTO"))
                if is_it and not faults._after:
                    faults.step(what, None)
                with super().copy(text, *more, **options) as found:
                    yield found
                faults.step(what, lambda: None)

        class Connection(psycopg.Connection):
            def commit(self):
                return faults.step("COMMIT", super().commit)

        return Connection.connect(*arguments, **options, cursor_factory=Cursor)
