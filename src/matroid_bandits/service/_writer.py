"""The one thread of a process that appends to logs: it collects what waits, and commits it at once."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError, SQLAlchemyError

from matroid_bandits._util.names import is_campaign_name
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import (
    MatroidBanditsError,
    ReplayError,
    RequestIdError,
    UnavailableError,
    UnknownCampaignError,
)
from matroid_bandits.service._checker import Checker
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._leases import Leases
from matroid_bandits.service._logs import log_unexpected
from matroid_bandits.service._operation import Answer, Operation, Turn, check_state
from matroid_bandits.service._remembered import (
    MADE_IDS_S,
    is_same,
    is_sound,
    sealed,
    short_id,
    whole,
)
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._replicas import Replicas
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._store import CampaignRow, Database, RequestRow, reason_of

log = logging.getLogger("matroid_bandits.service")

_MOST_IN_BATCH = 1024
_MOST_ATTEMPTS = 4

#: What is said of a request whose stored answer does not have its checksum: it is not executed again.
_DAMAGED = "the stored answer to the request of this id, which was executed; got one that is damaged"

_FORGET_EVERY, _FORGET_MADE_EVERY = 3600.0, 60.0

#: Seconds after which a transaction takes no more operations, so that its locks are not held for long; and bytes of
#: answers after which it takes no more of a key, so that long answers, which are stored, keep no other key waiting.
_MOST_TURN_S, _MOST_ANSWERED = 1.0, 1 << 22

#: Seconds by which the operations of a campaign may exceed those of others before it moves
#: to a lane, a thread that it shares with other slow ones; and the largest number of lanes.
_MOST_EXCESS_S, _MOST_LANES = 0.25, 8

#: Seconds after which a writer that is at one batch is taken to wait for the database, or for another server.
_MOST_BUSY_S = 3.0

#: Where the last batch had more than a few operations, the next one waits so long, in seconds, for others to come:
#: half as many transactions cost less than that. Where it had many, it waits again while others come, a few times.
_GATHER_S, _FEW, _MANY, _MOST_WAITS = 0.0005, 4, 16, 4


class Writer(threading.Thread):
    """Executes operations in batches, one transaction each."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        on_commit: Callable[[dict[str, int], int], None],
        figures: Figures,
        checker: Checker,
        leases: Leases,
    ) -> None:
        super().__init__(name="matroid-bandits-writer", daemon=True)
        self._options = database, settings, on_commit, figures, checker, leases
        self._figures, self._checker, self._leases, self._used = figures, checker, leases, set[int]()
        self._apart: dict[str, Lane] = {}
        self.database, self.replicas = database, Replicas(database, settings.snapshot_every, figures, checker)
        self._is_ready, self._busy_since = False, 0.0
        self._tick_every, self._keep_ids, self._on_commit = settings.tick, settings.keep_ids * 86400.0, on_commit
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._touched: dict[str, int] = {}
        self._is_stopping, self._n_last = False, 0
        self._next_tick, self._next_forgetting, self._next_made_forgetting = 0.0, 0.0, 0.0
        self._spent_until = 0.0  # of the thread's processor time, what campaigns were charged for

    # Called by other threads

    @property
    def is_ready(self) -> bool:
        """Whether campaigns are loaded, the database was read last time, and the writer is not waiting for it."""
        since = self._busy_since
        return self._is_ready and (not since or time.monotonic() - since < _MOST_BUSY_S)

    def submit(self, operation: Operation) -> None:
        """Put an operation into the queue; its future is resolved when it is committed."""
        if self._is_stopping:
            raise UnavailableError("the server is shutting down")
        if operation.campaign is not None and not is_campaign_name(operation.campaign):
            raise UnknownCampaignError(f"expected the name of a campaign, got {shown(operation.campaign)}")
        self._queue.put(operation)

    def replica(self, id: int) -> Replica | None:
        """The replica of a campaign, where it is loaded; only for a look at its figures."""
        lanes = {self, *self._apart.values()}
        return next((found for lane in lanes if (found := lane.replicas.by_id.get(id)) is not None), None)

    @property
    def reading(self) -> dict[str, tuple[int, int]]:
        """The last event that was read of each long log that is being loaded, and the last one it has."""
        return dict(self.replicas.reading)

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
            self._busy_since = time.monotonic()
            batch = [operation for operation in batch if not self._hand_over(operation)]
            if batch:
                self._serve(batch)
                self._set_apart({operation.campaign for operation in batch})
            if not is_last and time.monotonic() >= self._next_tick:
                self._tick()
                self._next_tick = time.monotonic() + self._tick_every
            self._busy_since = 0.0
        for lane in {*self._apart.values()}:
            lane.stop()
        self._checker.stop(at_once=True)
        self.replicas.close()
        self._disconnect()

    def _hand_over(self, operation: Operation) -> bool:
        """Give an operation to the lane that its campaign has, if any."""
        lane = self._apart.get(operation.campaign or "") if self._apart else None
        if lane is not None:
            lane._queue.put(operation)
        return lane is not None

    def _set_apart(self, names: set[str | None]) -> None:
        """Move campaigns whose operations take long to lanes, so that the others do not wait for them."""
        for name in names:
            replica = self.replicas.loaded(name)
            if replica is None or replica.excess < _MOST_EXCESS_S:
                continue
            lanes = {*self._apart.values()}
            if len(lanes) < _MOST_LANES:
                lane = Lane(*self._options)
                lane.start()
            else:
                lane = min(lanes, key=lambda lane: len(lane.names))
            log.info("campaign %s takes long, and is served apart from the others", replica.name)
            self.replicas.release(replica)
            lane.take(replica)
            self._apart[replica.name] = lane

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
                if not batch:
                    self._gather()
                batch.append(operation)
                timeout = None
        except queue.Empty:
            pass
        self._n_last = len(batch)
        return batch, False

    def _gather(self) -> None:
        """Wait for more operations, where the last batch had some: clients come back when they are answered."""
        n_waits = 0 if self._n_last <= _FEW else 1 if self._n_last <= _MANY else _MOST_WAITS
        for _ in range(n_waits):
            n_waiting = self._queue.qsize()
            time.sleep(_GATHER_S)
            if self._queue.qsize() == n_waiting:
                break

    def _serve(self, batch: list[Operation]) -> None:
        """Execute and commit operations until each is answered."""
        n_failures = 0
        while batch:
            self._busy_since = time.monotonic()
            is_whole = True
            try:
                again = self._attempt(batch)
            except Exception as error:
                is_whole = False
                self._reset()
                self._count_failure("commit", error)
                n_failures += 1
                again = batch  # also what failed: it may have failed by what was taken back
                for operation in again:
                    operation.error = None
                if _is_of_a_request(error) and len(again) > 1:  # one by one shows which
                    self._serve_apart([[operation] for operation in again])
                    again = []
                elif _is_locked(error) and len({operation.campaign for operation in again}) > 1:
                    by_campaign: dict[str | None, list[Operation]] = {}
                    for operation in again:
                        by_campaign.setdefault(operation.campaign, []).append(operation)
                    self._serve_apart([*by_campaign.values()])
                    again = []
                elif n_failures == _MOST_ATTEMPTS or not _is_worth_a_retry(error):
                    self._fail(again, error)
                    again = []
            for operation in again:
                operation.result = None
            waiting = set(again)
            self._answer([operation for operation in batch if operation not in waiting])
            if is_whole and not self._is_stopping:  # what came meanwhile is served before what is left
                for operation in again:
                    self._queue.put(operation)
                again = []
            batch = again

    def _serve_apart(self, batches: list[list[Operation]]) -> None:
        """Serve, one after the other, what could not be served together."""
        for batch in batches:
            for operation in batch:
                operation.result = None
            self._serve(batch)

    def _attempt(self, batch: list[Operation]) -> list[Operation]:
        """Execute operations and commit what they did; those that have to be tried again are returned."""
        again: list[Operation] = []
        for operation in batch:
            if operation.campaign is not None:
                try:
                    self._used.add(self.replicas.find(operation.campaign).id)
                except MatroidBanditsError as error:
                    operation.error = error
        batch = [operation for operation in batch if operation.error is None]
        writes = [operation for operation in batch if operation.is_write]
        reads = [operation for operation in batch if not operation.is_write]
        if writes:
            if self.replicas.is_shared:  # read what other servers did before taking the lock
                self._catch_up({operation.campaign for operation in batch}, connection=self._connected())
            again = self._commit(writes)
        if reads:
            self._catch_up({operation.campaign for operation in reads})
            self._spent_until = time.thread_time()
            for operation in reads:
                self._execute(operation, None)
        return again

    def _commit(self, writes: list[Operation]) -> list[Operation]:
        named = {operation.campaign for operation in writes if operation.campaign is not None}
        replicas = {(replica := self.replicas.find(name)).id: replica for name in named}
        self.replicas.risk(replicas)
        turn = self._transact(writes, replicas, self._connected())
        for replica in turn.created:
            self.replicas.adopt(replica)
            self._touched[replica.name] = replica.seq
        self.replicas.committed({id: replica for id, replica in replicas.items() if id not in turn.doubtful})
        if turn.doubtful:
            self.replicas.drop_unsettled()
        in_doubt = {replicas[id].name for id in turn.doubtful}
        return [
            operation
            for operation in writes
            if operation not in turn.run or (operation.error is None and operation.campaign in in_doubt)
        ]

    def _transact(self, writes: list[Operation], replicas: dict[int, Replica], connection: Connection) -> Turn:
        """Execute operations, and append what they did to the logs, under the locks of their campaigns."""
        ids = sorted(replicas)
        with self.database.writing(connection):
            turn = self._begin(connection, self._there(ids, self.database.lock(connection, ids) if ids else []))
            self._remember_answers(turn, [operation for operation in writes if operation.request_id])
            self._run_all(writes, turn)
            self._finish(turn, replicas)
        return turn

    def _there(self, ids: list[int], rows: list[Any]) -> list[Any]:
        """The rows of some campaigns; raise, and forget those, where some have been deleted."""
        gone = {*ids}.difference(row.id for row in rows)
        if gone:
            self.replicas.forget(gone)
            raise ReplayError("expected campaigns that are there, got some that have been deleted")
        return rows

    def _run_all(self, writes: list[Operation], turn: Turn) -> None:
        """Execute operations for as long as a transaction may take; answers are bounded in bytes for each key."""
        end, self._spent_until = time.monotonic() + _MOST_TURN_S, time.thread_time()
        n_bytes: Counter[str] = Counter()
        for operation in writes:
            if n_bytes[operation.by] > _MOST_ANSWERED:
                continue
            self._run(operation, turn)
            turn.run.add(operation)
            if isinstance(operation.result, Answer):
                n_bytes[operation.by] += len(operation.result.body)
            if time.monotonic() > end:
                break

    def _remember_answers(self, turn: Turn, operations: list[Operation]) -> None:
        """Read which requests were answered before, here or by another server."""
        if operations:
            named = {operation.request_id: operation.request_id for operation in operations}  # as early versions did
            named |= {short_id(id): id for id in named}
            found = self.database.known(turn.connection, [*named])
            for (campaign, id), row in found.items():
                replica = self.replicas.by_id.get(campaign)
                is_whole = is_sound(id, row.digest, row.status, row.answer)
                body = whole(row.answer, "" if replica is None else replica.learner.id) if is_whole else b""
                turn.answered[campaign, named[id]] = row.digest if is_whole else "", Answer(body, row.status)

    def _run(self, operation: Operation, turn: Turn) -> None:
        """Execute an operation that writes, unless it was answered before or its campaign is in doubt."""
        if operation.era is not None and operation.era != self._leases.clock.era:
            operation.error = UnavailableError("the server was paused after the request came; it was not executed")
            return
        campaign = 0 if operation.campaign is None else self.replicas.find(operation.campaign).id
        if campaign in turn.doubtful:
            return
        if not operation.request_id:
            self._execute(operation, turn)
            return
        key = campaign, operation.request_id
        if not self._answer_again(operation, key, turn):
            self._execute(operation, turn)
            if operation.error is None:
                turn.answered[key] = operation.digest, operation.result
                turn.fresh.append(_remembered(operation, campaign, turn.at))
            elif campaign == 0:  # no lock: another server may have served this very request since the ids were read
                self._remember_answers(turn, [operation])
                self._answer_again(operation, key, turn)

    def _begin(self, connection: Connection, rows: list[Any]) -> Turn:
        """Read what others appended to the logs of campaigns, up to what their rows say."""
        at = rows[0].now if rows else self.database.now(connection)
        self._leases.clock.read(at)
        turn = Turn(connection, at, locked={row.id: row for row in rows})
        for row in rows:
            replica = self.replicas.by_id[row.id]
            if self.replicas.catch_up(replica, row, connection):
                self._touched[replica.name] = replica.seq
            if replica.mismatch and row.status in ("active", "paused"):
                replica.status, replica.reason = "stopped", replica.mismatch
                replica.put({"event": "stopped", "reason": replica.mismatch}, at, turn.rows)
                log.error("campaign %s is stopped: its log does not replay here", replica.name)
            if replica.difference and row.status != "archived":
                replica.put({"event": "alarm", "kind": "replay", "text": replica.difference}, at, turn.rows)
                log.error("campaign %s: this build decides otherwise than its log says, which is taken", replica.name)
        return turn

    def _execute(self, operation: Operation, turn: Turn | None) -> None:
        replica: Replica | None = None
        before = 0, 0
        if turn is not None:
            turn.by = operation.by
        try:
            if operation.campaign is not None:
                replica = self.replicas.find(operation.campaign)
                before = replica.n_steps
                check_state(replica, operation.need)
            if replica is None and turn is not None:
                operation.result = _create(operation, turn)
            else:
                operation.result = operation.run(replica, turn)
        except SQLAlchemyError:
            raise
        except Exception as error:
            operation.error = error
            if not isinstance(error, MatroidBanditsError):
                log_unexpected(error)
            if turn is not None and replica is not None and replica.has_moved(before, error):
                turn.doubtful.add(replica.id)
                self.replicas.doubt(replica)
        finally:
            if replica is not None:
                now = time.thread_time()  # read once per operation: it costs as much as a few calls
                replica.spend(now - self._spent_until)
                if (n_unknown := replica.unknown_items()) > 0:
                    self._figures.count("unknown_items", replica.name, n_unknown)
                self._spent_until = now

    def _finish(self, turn: Turn, replicas: dict[int, Replica]) -> None:
        rows, fresh = turn.rows, turn.fresh
        if turn.doubtful:
            rows = [row for row in rows if row[0] not in turn.doubtful]
            fresh = [row for row in fresh if row[1] not in turn.doubtful]
        if rows:
            self.database.append(turn.connection, rows)
            sound = [replica for id, replica in replicas.items() if id not in turn.doubtful]
            assert all(replica.is_clean for replica in sound)
            changed = [replica for replica in sound if replica.seq != turn.locked[replica.id].seq]
            changed += turn.created
            self.database.advance(turn.connection, map(advanced, changed))
            self.database.set_terms(turn.connection, {id: turn.terms[id] for id in turn.terms.keys() - turn.doubtful})
            self._touched.update((replica.name, replica.seq) for replica in changed)
        if fresh:  # in one order, so that two servers do not wait for each other
            self.database.remember(turn.connection, sorted(fresh))

    def _answer_again(self, operation: Operation, key: tuple[int, str], turn: Turn) -> bool:
        """Give a request the answer that it was given before; whether there was one."""
        before = turn.answered.get(key)
        if before is None:
            before = turn.answered.get((-1, operation.request_id))
            if before is None or not is_same(before[0], operation.digest):
                return False
        operation.result = operation.error = None
        if is_same(before[0], operation.digest):
            operation.result = Answer(before[1].body, before[1].status, is_replayed=True)
        else:
            what = "the request that this id was given to first, got another" if before[0] else _DAMAGED
            operation.error = RequestIdError(f"expected {what}")
        return True

    def _tick(self) -> None:
        """Look at deadlines, and at what other processes did."""
        try:
            known = self._known()  # before rows are read: a lane may be given another campaign meanwhile
            rows = self._rows()
            self.replicas.forget(known.difference(row.id for row in rows))
            self.replicas.learn(rows)
            self._catch_up(None, rows)
            self.replicas.heed(rows)
            overdue = [
                Operation(_expire, row.name, "change")
                for row in rows
                if row.status != "archived"
                and (replica := self.replicas.by_id.get(row.id)) is not None
                and (
                    replica.expired(row.now) is not None
                    or (replica.mismatch and row.status != "stopped")
                    or replica.difference
                )
            ]
            if rows and time.monotonic() >= self._next_forgetting:
                self.replicas.forget_ids(rows[0].now - self._keep_ids)
                self._next_forgetting = time.monotonic() + _FORGET_EVERY
            if rows and time.monotonic() >= self._next_made_forgetting:
                self.replicas.forget_ids(rows[0].now - MADE_IDS_S, of_servers=True)
                self._next_made_forgetting = time.monotonic() + _FORGET_MADE_EVERY
            for replica in self.replicas.by_id.values():
                replica.excess /= 2.0
            self._is_ready = True
        except Exception as error:
            self._is_ready = False
            self._reset()
            self._count_failure("read", error)
            log.warning("cannot read the database: %s", _words(error))
            return
        if overdue:
            self._serve(overdue)
        elif self._touched:
            self._answer([])

    def _known(self) -> set[int]:
        """The campaigns that this thread serves, as far as it knows."""
        return {*self.replicas.by_id}

    def _rows(self) -> list[Any]:
        """The rows of the campaigns that this thread serves."""
        with self.database.reading() as connection:
            rows = self.database.rows(connection)
        return [row for row in self._kept(rows) if row.name not in self._apart]

    def _kept(self, rows: list[Any]) -> list[Any]:
        """The campaigns whose leases this server has, and those that it wrote or read since the last look."""
        used, self._used = self._used, set()
        return [row for row in rows if row.id in used or self._leases.holds(row.id)]

    def _catch_up(
        self, names: set[str | None] | None, rows: list[Any] | None = None, connection: Connection | None = None
    ) -> None:
        """Read what other processes appended, without a lock."""
        with self.database.reading(connection) as connection:
            if rows is None:
                assert names is not None
                ids = sorted(self.replicas.find(name).id for name in names if name is not None)
                rows = self._there(ids, self.database.rows(connection, ids)) if ids else []
            for row in rows:
                replica = self.replicas.by_id.get(row.id)
                if replica is not None and self.replicas.catch_up(replica, row, connection):
                    self._touched[replica.name] = replica.seq

    def _answer(self, batch: list[Operation]) -> None:
        """Set the results that callers wait for, each event loop once, and notify watchers of campaigns."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Operation]] = {}
        for operation in batch:
            get_loop = getattr(operation.future, "get_loop", None)
            if get_loop is not None:
                by_loop.setdefault(get_loop(), []).append(operation)
            else:
                operation.resolve()
        for loop, operations in by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve_all, operations)
            except RuntimeError:  # the loop has ended, so that no caller waits
                log.debug("an event loop ended before its answers came")
        touched, self._touched = self._touched, {}
        try:
            self._on_commit(touched, len(batch))
        except Exception as error:  # a watcher must not end the thread that serves
            log_unexpected(error)

    def _fail(self, batch: list[Operation], error: BaseException) -> None:
        for operation in batch:
            if operation.error is None:
                operation.result, operation.error = None, _unavailable(error)
        log.error("a batch of %d requests was not committed: %s", len(batch), _words(error))

    def _count_failure(self, kind: str, error: Exception) -> None:
        if isinstance(error, (SQLAlchemyError, OSError)):
            self._figures.count("database_errors", kind)

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


class Lane(Writer):
    """A writer for campaigns whose operations take long."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self.names: set[str] = set()
        self._ids: list[int] = []

    def take(self, replica: Replica) -> None:
        """Serve a campaign from now on; called before its first operation is put into the queue."""
        self.replicas.adopt(replica)
        self.names.add(replica.name)
        self._ids = [*self._ids, replica.id]

    def _set_apart(self, names: set[str | None]) -> None:
        """They are apart already."""

    def _known(self) -> set[int]:
        return {*self._ids}

    def _rows(self) -> list[Any]:
        with self.database.reading() as connection:
            return self._kept(self.database.rows(connection, self._ids))

    def _transact(self, writes: list[Operation], replicas: dict[int, Replica], connection: Connection) -> Turn:
        if self.replicas.is_shared:
            return super()._transact(writes, replicas, connection)
        ids = sorted(replicas)
        with self.database.reading(connection):
            turn = self._begin(connection, self._there(ids, self.database.rows(connection, ids)))
            self._remember_answers(turn, [operation for operation in writes if operation.request_id])
        self._run_all(writes, turn)
        with self.database.writing(connection):
            for row in self._there(ids, self.database.lock(connection, ids)):
                before = turn.locked[row.id]
                if (row.seq, row.digest) != (before.seq, before.digest):
                    self.replicas.is_shared = True
                    raise ReplayError(f"expected the log of {row.name} to end at event {before.seq}, got another")
            self._finish(turn, replicas)
        return turn


def _is_worth_a_retry(error: Exception) -> bool:
    """Whether another attempt may go well: after what another server took, a deadlock, or a pause."""
    if isinstance(error, (ReplayError, IntegrityError)):
        return True
    return getattr(getattr(error, "orig", None), "sqlstate", None) in ("40001", "40P01", "25P03")


def _is_of_a_request(error: Exception) -> bool:
    """Whether the values of one request may have brought this about, and not the state of the database."""
    if isinstance(error, SQLAlchemyError):
        return isinstance(error, (DataError, ProgrammingError))
    return not isinstance(error, (MatroidBanditsError, OSError))


def _is_locked(error: Exception) -> bool:
    """Whether another server keeps the row of a campaign: those of the others can be had."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) in ("55P03", "57014")


def _resolve_all(operations: list[Operation]) -> None:
    for operation in operations:
        operation.resolve()


def _create(operation: Operation, turn: Turn) -> Any:
    """Execute what makes a campaign: whole, or without a trace in the transaction."""
    n_rows, n_created = len(turn.rows), len(turn.created)
    try:
        with turn.connection.begin_nested():
            return operation.run(None, turn)
    except BaseException:
        del turn.rows[n_rows:], turn.created[n_created:]
        raise


def _expire(replica: Replica, turn: Turn) -> Answer:
    """Close what is overdue by the database's clock."""
    until = replica.expired(turn.at)
    if until is not None:
        replica.learner.close_before(until, default=replica.rest(replica.spec.get("default")))
        replica.take(turn.at, turn.rows, expired=True)
    return Answer(b"")


def _remembered(operation: Operation, campaign: int, at: float) -> RequestRow:
    answer = operation.result
    stored = answer.stored or answer.body.decode()
    id = short_id(operation.request_id)
    return id, campaign, sealed(id, operation.digest, answer.status, stored), answer.status, stored, at


def advanced(replica: Replica) -> CampaignRow:
    """What the row of a campaign says of its log."""
    counts = replica.learner.n_decisions, replica.learner.n_outstanding, len(replica.alarms)
    return replica.seq, replica.digest, *counts, replica.status, replica.reason, replica.id


def _words(error: BaseException) -> str:
    if isinstance(error, SQLAlchemyError):
        return reason_of(error)
    return type(error).__name__ if isinstance(error, ReplayError) else str(error) or type(error).__name__


def _unavailable(error: BaseException) -> BaseException:
    if isinstance(error, UnavailableError) or not isinstance(error, (SQLAlchemyError, OSError)):
        return error
    return UnavailableError(f"the database did not take the request ({type(error).__name__}); try again")
