"""The one thread of a process that appends to logs: it collects what waits, and commits it at once."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from matroid_bandits.exceptions import MatroidBanditsError, ReplayError, RequestIdError, UnavailableError
from matroid_bandits.service._logs import log_unexpected
from matroid_bandits.service._operation import Answer, Operation, Turn, check_state
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._replicas import Replicas
from matroid_bandits.service._store import CampaignRow, Database, RequestRow, reason_of

log = logging.getLogger("matroid_bandits.service")

_MOST_IN_BATCH = 1024
_MOST_ATTEMPTS = 4
_FORGET_EVERY = 3600.0

#: Where the last batch had more than a few operations, the next one waits so long, in seconds, for others to come:
#: half as many transactions cost less than that.
_GATHER_S, _FEW = 0.0005, 4


class _Again(Exception):
    """The batch has to be tried anew: an operation left its replica in doubt."""


class Writer(threading.Thread):
    """Executes operations in batches, one transaction each.

    Parameters
    ----------
    database : Database
        Where the logs are.
    tick_every : float
        Seconds between looks at deadlines and at what other processes did.
    snapshot_every : int
        Events of a campaign between two snapshots.
    keep_ids : float
        Seconds for which ids of requests are remembered.
    on_commit : callable
        Called with the names of campaigns that have new events, and how many operations the batch had.
    """

    def __init__(
        self,
        database: Database,
        tick_every: float = 1.0,
        snapshot_every: int = 20_000,
        keep_ids: float = 7 * 86400.0,
        on_commit: Callable[[set[str], int], None] = lambda names, n: None,
    ) -> None:
        super().__init__(name="matroid-bandits-writer", daemon=True)
        self.database, self.replicas = database, Replicas(database, snapshot_every)
        self.is_ready = False
        self._tick_every, self._keep_ids, self._on_commit = tick_every, keep_ids, on_commit
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._touched: set[str] = set()
        self._is_stopping, self._n_last = False, 0
        self._next_tick, self._next_forgetting = 0.0, 0.0

    # Called by other threads

    def submit(self, operation: Operation) -> None:
        """Put an operation into the queue; its future is resolved when it is committed."""
        if self._is_stopping:
            raise UnavailableError("the server is shutting down")
        self._queue.put(operation)

    def stop(self, timeout: float = 30.0) -> None:
        """Serve what is in the queue, save snapshots, and end."""
        self._is_stopping = True
        self._queue.put(None)
        self.join(timeout)

    # The thread itself

    def run(self) -> None:
        """Serve until stopped."""
        is_last = False
        while not is_last:
            batch, is_last = self._collect()
            if batch:
                self._serve(batch)
            if not is_last and time.monotonic() >= self._next_tick:
                self._tick()
                self._next_tick = time.monotonic() + self._tick_every
        self.replicas.close()
        self._disconnect()

    def _collect(self) -> tuple[list[Operation], bool]:
        batch: list[Operation] = []
        timeout: float | None = max(self._next_tick - time.monotonic(), 0.0)
        try:
            while len(batch) < _MOST_IN_BATCH:
                operation = self._queue.get(timeout=timeout) if timeout else self._queue.get_nowait()
                if operation is None:
                    while not self._queue.empty():  # who came between the last word and the end
                        if (late := self._queue.get()) is not None:
                            batch.append(late)
                    return batch, True
                if not batch and self._n_last > _FEW:
                    time.sleep(_GATHER_S)
                batch.append(operation)
                timeout = None
        except queue.Empty:
            pass
        self._n_last = len(batch)
        return batch, False

    def _serve(self, batch: list[Operation]) -> None:
        waiting = batch
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            try:
                self._attempt(waiting)
                break
            except Exception as error:
                self._reset()
                if not _is_worth_a_retry(error):
                    self._fail(waiting, error)
                    break
                waiting = [operation for operation in waiting if operation.error is None]
                for operation in waiting:
                    operation.result = None
                if attempt == _MOST_ATTEMPTS:
                    self._fail(waiting, error)
        self._answer(batch)

    def _attempt(self, batch: list[Operation]) -> None:
        for operation in batch:
            if operation.campaign is not None:
                try:
                    self.replicas.find(operation.campaign)
                except MatroidBanditsError as error:
                    operation.error = error
        batch = [operation for operation in batch if operation.error is None]
        writes = [operation for operation in batch if operation.is_write]
        reads = [operation for operation in batch if not operation.is_write]
        if writes:
            if self.replicas.is_shared:  # read what others did before anybody has to wait for the lock
                self._catch_up({operation.campaign for operation in batch}, connection=self._connected())
            self._commit(writes)
        if reads:
            self._catch_up({operation.campaign for operation in reads})
            for operation in reads:
                self._execute(operation, None)

    def _commit(self, writes: list[Operation]) -> None:
        named = {operation.campaign for operation in writes if operation.campaign is not None}
        replicas = {(replica := self.replicas.find(name)).id: replica for name in named}
        self.replicas.risk(replicas)
        with self.database.writing(self._connected()) as connection:
            turn = self._begin(connection, sorted(replicas))
            given = [operation.request_id for operation in writes if operation.request_id]
            answered: dict[str, tuple[str, Answer]] = {}
            if given:
                for id, row in self.database.known(connection, given).items():
                    answered[id] = row.digest, Answer(row.answer.encode(), row.status, is_replayed=True)
            fresh = []
            for operation in writes:
                before = answered.get(operation.request_id) if operation.request_id else None
                if before is not None:
                    self._answer_again(operation, *before)
                    continue
                self._execute(operation, turn)
                if operation.request_id and operation.error is None:
                    answer = operation.result
                    again = Answer(answer.body, answer.status, is_replayed=True)
                    answered[operation.request_id] = operation.digest, again
                    fresh.append(_remembered(operation, turn.at))
            self._finish(turn, replicas, fresh)
        for replica in turn.created:
            self.replicas.adopt(replica)
            self._touched.add(replica.name)
        self.replicas.committed(replicas)

    def _begin(self, connection: Connection, ids: list[int]) -> Turn:
        """Lock campaigns in the order of their numbers, and read what others appended to their logs."""
        rows = self.database.lock(connection, ids) if ids else []
        at = rows[0].now if rows else self.database.now(connection)
        turn = Turn(connection, at, locked={row.id: row for row in rows})
        for row in rows:
            replica = self.replicas.by_id[row.id]
            if self.replicas.catch_up(replica, row, connection):
                self._touched.add(replica.name)
            if replica.mismatch and row.status in ("active", "paused"):
                replica.status, replica.reason = "stopped", replica.mismatch
                replica.put({"event": "stopped", "reason": replica.mismatch}, at, turn.rows)
                log.error("campaign %s is stopped: its log does not replay here", replica.name)
        return turn

    def _execute(self, operation: Operation, turn: Turn | None) -> None:
        replica: Replica | None = None
        try:
            if operation.campaign is not None:
                replica = self.replicas.find(operation.campaign)
                check_state(replica, operation.need)
            operation.result = operation.run(replica, turn)
        except MatroidBanditsError as error:
            operation.error = error
            if replica is not None and not replica.is_clean:  # it failed after something had happened
                raise _Again from error
        except SQLAlchemyError:
            raise
        except Exception as error:
            operation.error = error
            log_unexpected(error)
            if turn is not None:
                raise _Again from error

    def _finish(self, turn: Turn, replicas: dict[int, Replica], fresh: list[RequestRow]) -> None:
        if turn.rows:
            self.database.append(turn.connection, turn.rows)
            assert all(replica.is_clean for replica in replicas.values())
            changed = [replica for replica in replicas.values() if replica.seq != turn.locked[replica.id].seq]
            changed += turn.created
            self.database.advance(turn.connection, map(_advanced, changed))
            self._touched.update(replica.name for replica in changed)
        if fresh:  # in one order, so that two servers do not wait for each other
            self.database.remember(turn.connection, sorted(fresh))

    def _answer_again(self, operation: Operation, digest: str, answer: Answer) -> None:
        if digest == operation.digest:
            operation.result = answer
        else:
            operation.error = RequestIdError("expected the request that this id was given to first, got another")

    def _tick(self) -> None:
        """Look at deadlines, and at what other processes did."""
        try:
            with self.database.reading() as connection:
                rows = self.database.rows(connection)
            self.replicas.learn(rows)
            self._catch_up(None, rows)
            overdue = [
                Operation(_expire, row.name, "change")
                for row in rows
                if row.status != "archived"
                and (replica := self.replicas.by_id.get(row.id)) is not None
                and (replica.expired(row.now) is not None or (replica.mismatch and row.status != "stopped"))
            ]
            if rows and time.monotonic() >= self._next_forgetting:
                self.replicas.forget_ids(rows[0].now - self._keep_ids)
                self._next_forgetting = time.monotonic() + _FORGET_EVERY
            self.is_ready = True
        except Exception as error:
            self.is_ready = False
            self._reset()
            log.warning("cannot read the database: %s", _words(error))
            return
        if overdue:
            self._serve(overdue)
        elif self._touched:
            self._answer([])

    def _catch_up(
        self, names: set[str | None] | None, rows: list[Any] | None = None, connection: Connection | None = None
    ) -> None:
        """Read what other processes appended, without a lock."""
        with self.database.reading(connection) as connection:
            if rows is None:
                assert names is not None
                ids = sorted(self.replicas.find(name).id for name in names if name is not None)
                rows = self.database.rows(connection, ids) if ids else []
            for row in rows:
                replica = self.replicas.by_id.get(row.id)
                if replica is not None and self.replicas.catch_up(replica, row, connection):
                    self._touched.add(replica.name)

    def _answer(self, batch: list[Operation]) -> None:
        """Wake everybody who waits, each event loop once, and tell who watches campaigns."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Operation]] = {}
        for operation in batch:
            if isinstance(operation.future, asyncio.Future):
                by_loop.setdefault(operation.future.get_loop(), []).append(operation)
            else:
                operation.resolve()
        for loop, operations in by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve_all, operations)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                log.debug("an event loop ended before its answers came")
        touched, self._touched = self._touched, set()
        try:
            self._on_commit(touched, len(batch))
        except Exception as error:  # whoever watches must not end the thread that serves
            log_unexpected(error)

    def _fail(self, batch: list[Operation], error: BaseException) -> None:
        for operation in batch:
            if operation.error is None:
                operation.result, operation.error = None, _unavailable(error)
        log.error("a batch of %d requests was not committed: %s", len(batch), _words(error))

    def _reset(self) -> None:
        """After a failure: drop the connection, and every replica that may be ahead of the log."""
        self._disconnect()
        self.replicas.drop_unsettled()

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self.database.engine.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.invalidate()
                connection.close()
            except SQLAlchemyError:
                log.debug("a broken connection could not be closed")


def _is_worth_a_retry(error: Exception) -> bool:
    """Whether another attempt may go well: after what another server took, a deadlock, or a replica in doubt."""
    if isinstance(error, (_Again, ReplayError, IntegrityError)):
        return True
    return getattr(getattr(error, "orig", None), "sqlstate", None) in ("40001", "40P01")


def _resolve_all(operations: list[Operation]) -> None:
    for operation in operations:
        operation.resolve()


def _expire(replica: Replica, turn: Turn) -> Answer:
    """Close what is overdue by the database's clock."""
    until = replica.expired(turn.at)
    if until is not None:
        replica.learner.close_before(until, default=replica.spec.get("default"))
        replica.take(turn.at, turn.rows, expired=True)
    return Answer(b"")


def _remembered(operation: Operation, at: float) -> RequestRow:
    answer = operation.result
    return operation.request_id, operation.digest, answer.status, answer.body.decode(), at


def _advanced(replica: Replica) -> CampaignRow:
    n_decisions, n_waiting = replica.learner.n_decisions, len(replica.waiting)
    return replica.seq, n_decisions, n_waiting, replica.status, replica.reason, replica.id


def _words(error: BaseException) -> str:
    if isinstance(error, SQLAlchemyError):
        return reason_of(error)
    return type(error).__name__ if isinstance(error, ReplayError) else str(error) or type(error).__name__


def _unavailable(error: BaseException) -> BaseException:
    if not isinstance(error, (SQLAlchemyError, OSError, _Again)):
        return error
    return UnavailableError(f"the database did not take the request ({type(error).__name__}); try again")
