"""The service behind the routes: its database, its writer, its keys, and who watches campaigns."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from pydantic_core import from_json, to_json
from sqlalchemy.exc import SQLAlchemyError

from matroid_bandits.exceptions import CampaignStateError, LimitError, MatroidBanditsError, UnavailableError
from matroid_bandits.learner import Learner
from matroid_bandits.service import _snapshots
from matroid_bandits.service._access import Watch, check_access
from matroid_bandits.service._apply import apply, in_words
from matroid_bandits.service._archive import Archive
from matroid_bandits.service._attempts import Attempts
from matroid_bandits.service._checker import Checker
from matroid_bandits.service._figures import Figures
from matroid_bandits.service._keys import Keys
from matroid_bandits.service._leases import Leases
from matroid_bandits.service._limits import check_constraint
from matroid_bandits.service._metrics import SPENDING, CampaignFigures
from matroid_bandits.service._operation import COMMAND_LINE, Answer, Need, Operation, Turn
from matroid_bandits.service._past import Past
from matroid_bandits.service._reads import campaign_form
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._settings import Settings
from matroid_bandits.service._sizes import database_sizes
from matroid_bandits.service._store import Database, Timeouts
from matroid_bandits.service._tokens import Tokens
from matroid_bandits.service._warm import warm_up
from matroid_bandits.service._writer import Writer
from matroid_bandits.specs import CampaignSpec, Place, Plan

log = logging.getLogger("matroid_bandits.service")

#: Of the time of a lease: how long PostgreSQL and the network may keep what this server holds when it is silent.
_HOLD: Final = 0.8

#: Seconds between two attempts to open a database that is away: the first, and the longest.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0


class Service:
    """Server core: runs the campaigns (named learners) of a database in one process.

    Parameters
    ----------
    settings : Settings
        Which database, and the limits.
    share : tuple of int, default (0, 1)
        Which of how many workers of a command this process is.

    Examples
    --------
    >>> import tempfile
    >>> from matroid_bandits.specs import CampaignSpec
    >>> service = Service(Settings(db=tempfile.mkdtemp() + "/campaigns.db"))
    >>> service.start()
    >>> matroid = {"kind": "uniform", "rows": ["boots", "hats"], "rank": 1}
    >>> answer = service.create(CampaignSpec(name="ads", matroid=matroid, policy="OMM"))
    >>> answer.status
    201
    >>> service.stop()
    """

    def __init__(self, settings: Settings, share: tuple[int, int] = (0, 1)) -> None:
        self.settings, self.id = settings, secrets.token_hex(8)
        self._ids, self._numbers = secrets.token_urlsafe(6), count()  # of requests whose clients gave none
        hold = _HOLD * settings.lease  # the locks of a server that is silent are free before its leases are
        self.database = Database(
            settings.db,
            Timeouts(
                lock=settings.lock_timeout,
                statement=settings.statement_timeout,
                connect=settings.connect_timeout,
                idle=min(settings.idle_timeout, hold),
                silent=hold,
            ),
        )
        self.leases = Leases(self.database, self.id, settings.lease, settings.tick, share)
        self.leases.save = self._save
        self.figures = Figures()
        self.watch_requests = Watch(settings, self.figures)
        self.archive = None if settings.archive is None else Archive(settings.archive)
        self.keys = Keys(self.database)
        self.past, self.tokens, self.attempts = Past(self.database), Tokens(self.database), Attempts()
        self.is_draining = False
        self._awaited: list[str] = []  # campaigns that `prepare` has not created yet
        self.count_connections: Callable[[], int] = lambda: 0  # known to the HTTP server
        checker = Checker(self.database, self.archive, settings.keep_events, settings.snapshot_every)
        self.writer = Writer(self.database, settings, self._committed, self.figures, checker, self.leases)
        self._is_over = threading.Event()
        self.on_failure: Callable[[BaseException], None] = lambda error: log.error("%s", error)
        self._watchers: dict[str, dict[asyncio.Event, str]] = {}  # with the key of each
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def start(self, *, is_patient: bool = False) -> None:
        """Open the database and start serving; a patient server waits in the background for one that is away."""
        if self.archive is not None:
            self.archive.open()
        try:
            self._open()
        except BaseException as error:
            is_away = isinstance(error, (UnavailableError, SQLAlchemyError)) and self.database.is_away(error)
            if not is_patient or not is_away:
                self.database.close()
                raise
            log.warning("%s: waiting for it", error)
            threading.Thread(target=self._open_later, daemon=True).start()

    def _open(self) -> None:
        self.database.open()
        self.keys.refresh()
        check_access(self.keys, self.settings)
        self.leases.look()
        self.leases.start()
        self.writer.start()

    def _open_later(self) -> None:
        """Try again until the database is there; what else goes wrong ends the server."""
        pause = _FIRST_PAUSE_S
        while not self._is_over.wait(pause):
            try:
                self._open()
            except MatroidBanditsError as error:
                if not self.database.is_away(error):
                    self.on_failure(error)
                    return
            except (SQLAlchemyError, OSError):
                log.debug("the database is still away")
            else:
                log.info("the database is there")
                return
            pause = min(2.0 * pause, _LONGEST_PAUSE_S)

    def stop(self) -> None:
        """Finish pending requests, save snapshots, give up leases, and close the database."""
        self.drain()
        self._is_over.set()
        self.leases.stop()
        if self.writer.is_alive():
            self.writer.stop()
            with contextlib.suppress(SQLAlchemyError, OSError):
                self.leases.release()
            log.info("snapshots are saved, and leases given up")
        self.keys.close()
        self.database.close()
        log.info("ended")

    def drain(self) -> None:
        """Stop accepting new work: end event streams, and finish requests in progress."""
        if not self.is_draining:
            log.info("draining: requests in progress are finished")
        self.is_draining = True
        self.leases.drain()
        self.wake(set(self._watchers))

    @property
    def is_ready(self) -> bool:
        """Whether campaigns are loaded, the last database access succeeded, and the server is not draining."""
        return self.writer.is_ready and not self.is_draining and not self._awaited

    @property
    def progress(self) -> str:
        """Startup work in progress, as text; empty where there is none."""
        if self._awaited:
            return f"creating campaign {self._awaited[0]}, {len(self._awaited)} to go"
        return self.writer.replicas.progress

    def prepare(self, specs: Sequence[tuple[CampaignSpec, Place]], *, is_applied: bool = False) -> Callable[[], None]:
        """Announce campaigns, for which requests wait, and return what creates them and may compile for a minute."""
        self._awaited = [spec.name for spec, _ in specs]

        def create() -> None:
            for spec, place in specs:
                log.info("creating campaign %s, %d to go", spec.name, len(self._awaited))
                try:
                    self.create(spec, place)
                except CampaignStateError:
                    self._compare(spec, place, is_applied)
                del self._awaited[0]

        return create

    def _compare(self, spec: CampaignSpec, place: Place, is_applied: bool) -> None:
        """Say what of a file differs from the campaign of its name, and apply it where that is asked for."""
        try:
            run = apply(Plan.of(spec, place), self.settings, is_dry=not is_applied)
            need: Need = "change" if is_applied else "read"
            found = from_json(self.call(Operation(run, spec.name, need, by=COMMAND_LINE)).body)["differences"]
        except MatroidBanditsError as error:
            log.warning("campaign %s stays as it is: its file cannot be applied: %s", spec.name, error)
            return
        if not found:
            log.info("campaign %s is there already, as its file says", spec.name)
        for line in in_words(found):
            log.warning("campaign %s %s its file: %s", spec.name, "now is as" if is_applied else "differs from", line)
        if found and not is_applied:
            log.warning(
                "campaign %s goes on as it was; serve --apply, or campaign apply, gives it what its file says",
                spec.name,
            )

    async def _wait_for(self, campaign: str | None) -> None:
        while campaign in self._awaited and not self.is_draining:
            await asyncio.sleep(0.05)

    @property
    def reading(self) -> dict[str, tuple[int, int]]:
        """Progress of each long log being loaded: the last event read, and the last event of the log."""
        return self.writer.reading

    def states(self) -> dict[str, tuple[str, float]]:
        """Return this server's gauges: description and value by name."""
        return {
            "ready": ("1 where requests are served.", float(self.is_ready)),
            "connections": ("Connections that are open.", float(self.count_connections())),
            "streams": ("Live streams that are open.", float(self.n_watchers)),
        }

    def told(self) -> tuple[list[CampaignFigures], dict[str, tuple[str, float]]]:
        """Return what Prometheus is told of campaigns and of this process; blocks the calling thread."""
        with self.database.reading() as connection:
            rows, sizes = self.database.rows(connection), database_sizes(self.database, connection)
            now = self.database.now(connection)
        texts = {"database_bytes": "Bytes of the database.", "database_free_bytes": "Bytes of it that are free."}
        states = {name: (text, float(sizes[name])) for name, text in texts.items()}
        archived = {} if self.archive is None else self.archive.sizes()
        held = [
            self._figures_of(row, now, archived.get(row.name, (0, 0))[1]) for row in rows if self.leases.holds(row.id)
        ]
        return held, self.states() | states

    def _figures_of(self, row: Any, now: float, archived: int) -> CampaignFigures:
        replica = self.writer.replica(row.id)
        totals: list[float] = []
        values: dict[str, float] = {
            "events": row.seq,
            "lag_events": max(row.seq - (0 if replica is None else replica.seq), 0),
            "leased": 1.0,
            "waiting_decisions": row.waiting,
            "kept_events": row.seq - row.first + 1,
            "archive_bytes": archived,
            "stopped": int(row.status == "stopped" or (replica is not None and bool(replica.mismatch))),
            "alarms": row.alarms,
        }
        if replica is not None:
            values["alarms"] = len(replica.alarms)  # rows of earlier versions do not say it
            values["drift_alarms"] = replica.n_alarms_of("drift")
            values["scale_warnings"] = replica.n_alarms_of("scale")
            values["replay_alarms"] = replica.n_alarms_of("replay")
            values["unsaved_events"] = max(replica.seq - replica.saved, 0)
            totals = replica.history.totals()
            values |= replica.uplift.gauges(now)
            if (spending := replica.spending()) is not None:
                values |= dict(zip(SPENDING, spending, strict=True))
        return CampaignFigures(row.name, values, totals)

    def make_id(self) -> str:
        """An id for a request that came to this server without one."""
        return f"{self._ids}{next(self._numbers):08x}"

    # Operations

    async def write(
        self,
        campaign: str | None,
        run: Callable[[Any, Any], Answer],
        need: Need,
        request_id: str = "",
        digest: str = "",
        by: str = "",
        era: int | None = None,
    ) -> Answer:
        """Execute an operation on the writer thread, and wait for its commit."""
        if self._awaited:
            await self._wait_for(campaign)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.writer.submit(Operation(run, campaign, need, request_id, digest, future, by=by, era=era))
        return await future

    @property
    def is_waiting(self) -> bool:
        """Whether requests wait for campaigns that are being created."""
        return bool(self._awaited)

    async def read(self, campaign: str, run: Callable[[Replica], Any]) -> Any:
        """Read from an up-to-date replica of a campaign on the writer thread, between two batches."""
        if self._awaited:
            await self._wait_for(campaign)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.writer.submit(Operation(lambda replica, _: run(replica), campaign, "read", future=future))
        return await future

    def call(self, operation: Operation) -> Any:
        """Execute an operation on the writer thread, and block until it is done."""
        operation.future = concurrent.futures.Future()
        self.writer.submit(operation)
        return operation.future.result()

    def _save(self, name: str) -> None:
        """Store a snapshot of a campaign that another server is to have."""
        row = self.call(Operation(lambda replica, _: _snapshots.fresh(replica), name))
        if row is not None:
            _snapshots.store(self.database, row)

    def create(self, spec: CampaignSpec, place: Place | None = None) -> Answer:
        """Create a campaign, and block until it is done."""
        answer: Answer = self.call(Operation(self.creating(spec, place), None, "change", by=COMMAND_LINE))
        return answer

    def creating(self, spec: CampaignSpec, place: Place | None = None) -> Callable[[Any, Turn], Answer]:
        """Return the writer's operation that creates a campaign."""
        emitted: list[dict[str, Any]] = []
        check_constraint(spec.learner(place, record=emitted.append).constraint, self.settings)
        learner = Learner.replay([from_json(to_json(emitted[0]))])  # the learner that a replay of the log will make
        warm_up(learner, spec.name)
        about = {
            "title": spec.title,
            "about": spec.about,
            "answer_window": spec.answer_window,
            "default": spec.default,
        }
        return lambda _, turn: self._create(turn, spec.name, about, learner, emitted[0])

    def _create(
        self, turn: Turn, name: str, about: dict[str, Any], learner: Learner, created: dict[str, Any]
    ) -> Answer:
        if self.database.find(turn.connection, name) is not None:
            raise CampaignStateError(f"expected a name that is free, got {name!r}")
        if self.database.count(turn.connection) >= self.settings.max_campaigns:
            raise LimitError(f"expected at most {self.settings.max_campaigns} campaigns, got one more")
        id = self.database.create(turn.connection, name, to_json(about).decode(), turn.at)
        self.leases.begin(turn.connection, id)
        replica = Replica(id, name, about, learner)
        replica.put(created | {"terms": about} | turn.signature, turn.at, turn.rows)
        turn.created.append(replica)
        return Answer(to_json(campaign_form(replica)), 201)

    # Watching

    def watch(self, campaign: str, key: str = "") -> asyncio.Event:
        """Return an asyncio event that is set whenever the campaign has new events."""
        event, settings = asyncio.Event(), self.settings
        with self._lock:
            holders = [holder for watchers in self._watchers.values() for holder in watchers.values()]
            if len(holders) >= settings.max_streams:
                raise LimitError(f"expected at most {settings.max_streams} streams at a time, got one more")
            if key and holders.count(key) >= settings.max_streams_per_key:
                raise LimitError(f"expected at most {settings.max_streams_per_key} streams of a key, got one more")
            self._loop = asyncio.get_running_loop()
            self._watchers.setdefault(campaign, {})[event] = key
        return event

    def unwatch(self, campaign: str, event: asyncio.Event) -> None:
        """Stop watching a campaign."""
        with self._lock:
            watchers = self._watchers.get(campaign, {})
            watchers.pop(event, None)
            if not watchers:
                self._watchers.pop(campaign, None)

    @property
    def n_watchers(self) -> int:
        """Number of open event streams."""
        with self._lock:
            return sum(map(len, self._watchers.values()))

    def _committed(self, news: dict[str, int], n: int) -> None:
        if n:
            self.figures.batches.observe(n)
        if self._watchers and not news.keys().isdisjoint(self._watchers):
            self.wake(set(news))

    def wake(self, names: set[str]) -> None:
        """Wake the event streams of some campaigns."""
        with self._lock:
            events = [event for name in names for event in self._watchers.get(name, ())]
            loop = self._loop
        if events and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(_set_all, events)


def _set_all(events: list[asyncio.Event]) -> None:
    for event in events:
        event.set()
