"""Sends what requests ask for to the home of their campaign, and serves what other servers send.

Where a campaign is at home is a hint. Every write locks the campaign's row and compares the log's last number and
hash with what the writer knows, so an operation that reaches the wrong server, or two of them, does no harm: it
carries an id, by which the second finds the answer of the first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json, to_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request

from matroid_bandits._util.names import is_campaign_name
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import MatroidBanditsError, UnavailableError, UnknownCampaignError
from matroid_bandits.service import _actions as act
from matroid_bandits.service import _snapshots
from matroid_bandits.service._dispatch import Call, Endpoint
from matroid_bandits.service._errors import HandedError
from matroid_bandits.service._exchange import PROBLEM, REPLAYED, Guest, Handed, Line, Reply, clock
from matroid_bandits.service._homes import BEAT, PROTOCOL, SILENT, STAY_S, Home, Registry, Server, View, least_busy
from matroid_bandits.service._keys import Key
from matroid_bandits.service._operation import Answer, Operation
from matroid_bandits.service._remembered import FRONT_MARK
from matroid_bandits.service._routes import ENDPOINTS
from matroid_bandits.service._service import Service
from matroid_bandits.service._store import reason_of
from matroid_bandits.service._tokens import shared_secret

#: The verb of a question for the figures of a worker.
_FIGURES: Final = "figures"

_BY_NAME = {endpoint.name: endpoint for endpoint in ENDPOINTS}

log = logging.getLogger("matroid_bandits.service")

#: Seconds after which nothing is sent a second time: ids that this server made are kept ten times as long.
_RESEND_S: Final = 60.0

#: Seconds between two turns of the event loop's own clock, and after how many of them without a turn the process was
#: stopped for a while: then nothing that it had begun is sent again.
_TURN_S: Final = 0.25
_STALL_S: Final = 5.0

#: Times the takeover time: how long a request waits for a home.
_PATIENCE: Final = 3.0

#: Seconds between two looks for a home.
_LOOK_S: Final = 0.05


class Router:
    """Knows the homes of campaigns, and hands operations to them.

    Parameters
    ----------
    service : Service
        Whose writer executes what is at home here.
    me : Server
        This server: its id, and the address that others are told.
    listen : tuple of str and int
        The address and port to listen on for other servers; port 0 for any that is free.
    registry : Registry, optional
        Servers and homes of a PostgreSQL. Without one, `take` is called with every view.
    beats : bool, default True
        Whether this process says by itself that it is alive; else its parent does.
    """

    def __init__(
        self,
        service: Service,
        me: Server,
        listen: tuple[str, int],
        registry: Registry | None = None,
        *,
        beats: bool = True,
    ) -> None:
        self.me, self.view, self._listen = me, View(), listen
        self.secret = shared_secret(service.database, "servers")
        self._service, self._registry, self._beats = service, registry, beats
        takeover = service.settings.takeover
        self._silent, self._patience, self._beat_s = SILENT * takeover, _PATIENCE * takeover, BEAT * takeover
        self._mine: frozenset[int] = frozenset()
        self.workers: list[Server] = []
        self._lines: dict[tuple[str, bool], Line] = {}
        self._guests: set[Guest] = set()
        self._unsettled: dict[str, list[Handed]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._refreshing: asyncio.Future[None] | None = None
        self._last_turn = self._stalled = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over, self._has_view, self._is_moving = threading.Event(), False, False
        self._heart = threading.Thread(target=self._keep_looking, name="matroid-bandits-homes", daemon=True)
        self._server: asyncio.Server | None = None

    # From the start to the end

    async def start(self) -> None:
        """Listen to other servers, announce this one, and begin to look at homes."""
        self._loop = loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Guest(self, self._guests), *self._listen)
        bound = self._server.sockets[0].getsockname()[1]
        name, _, told = self.me.address.rpartition(":")
        self.me = replace(self.me, address=f"{name}:{bound if told in ('', '0') else told}")
        self._last_turn = clock()
        self._turn()
        if self._registry is not None:
            await asyncio.to_thread(self._registry.beat, [self.me])
            await self._refresh()
            self._heart.start()

    def drain(self) -> None:
        """Take no more campaigns."""
        self.me = replace(self.me, is_draining=True)

    async def stop(self) -> None:
        """Hand campaigns over, with a snapshot of each, and end."""
        self.drain()
        self._is_over.set()
        if self._registry is not None:
            with contextlib.suppress(SQLAlchemyError):
                await asyncio.to_thread(self._registry.beat, [self.me])
                await self._refresh()
                for home in [home for home in self.view.homes.values() if home.server == self.me.id]:
                    target = least_busy(self.view, self._silent, but=self.me.id)
                    if target is not None:
                        await self._move(home, target)
        await self._wait_until(lambda: not any(guest.n_open for guest in self._guests), 5.0)
        if self._registry is not None:
            with contextlib.suppress(SQLAlchemyError):
                await asyncio.to_thread(self._heart.join, 2.0)  # it says that this server is alive
                await asyncio.to_thread(self._registry.leave, [self.me.id])
        if self._server is not None:
            self._server.close()
        for line in self._lines.values():
            line.close()
        for guest in [*self._guests]:
            guest.close()
        for task in self._tasks:
            task.cancel()

    @property
    def is_ready(self) -> bool:
        """Whether homes are known, and one is reached, here or elsewhere."""
        if not self._has_view:
            return False
        is_empty = not self.view.everywhere and all(home.is_archived for home in self.view.homes.values())
        is_home = bool(self._mine) or self.view.everywhere == self.me.id
        return is_empty or is_home or any(line.is_open for line in [*self._lines.values()])

    def is_home(self, campaign: int) -> bool:
        """Whether a campaign is at home here; asked by the writer."""
        return self.view.everywhere == self.me.id or campaign in self._mine

    # As a front

    def hand(self, operation: Operation) -> bool:
        """Hand an operation to its campaign's home; whether it was, and is not to be executed here."""
        if not operation.verb or self.view.home_of(operation.campaign) == self.me.id:
            return False
        if not operation.request_id:
            operation.request_id = fresh_id()

        def answered(kind: int, status: int, body: bytes) -> None:
            if kind == PROBLEM:
                operation.error = HandedError(status, body)
            else:
                operation.result = Answer(body, status, is_replayed=kind == REPLAYED)
            operation.resolve()

        def failed(error: BaseException) -> None:
            operation.error = error
            operation.resolve()

        def run_here() -> None:
            try:
                self._service.writer.submit(operation)
            except MatroidBanditsError as error:
                failed(error)

        line = [operation.verb, operation.campaign, operation.request_id, operation.digest, operation.by]
        self._route(Handed(operation.campaign, line, operation.content, answered, failed, run_here))
        return True

    def hand_soon(self, operation: Operation) -> bool:
        """The same, called by another thread than the event loop's."""
        if not operation.verb or self._loop is None or self.view.home_of(operation.campaign) == self.me.id:
            return False

        def submit() -> None:
            try:
                self._service.submit(operation)
            except MatroidBanditsError as error:
                operation.error = error
                operation.resolve()

        self._loop.call_soon_threadsafe(submit)
        return True

    async def hand_call(self, endpoint: Endpoint, call: Call) -> Answer | None:
        """Hand a whole request to its campaign's home; None where it is to be served here."""
        if endpoint.is_local or (call.name is None and not self.view.everywhere):
            return None
        if self.view.home_of(call.name) == self.me.id:
            return None
        assert self._loop is not None
        future: asyncio.Future[Answer | None] = self._loop.create_future()

        def answered(kind: int, status: int, body: bytes) -> None:
            if future.done():
                return
            if kind == PROBLEM:
                future.set_exception(HandedError(status, body))
            else:
                future.set_result(Answer(body, status, is_replayed=kind == REPLAYED))

        def failed(error: BaseException) -> None:
            if not future.done():
                future.set_exception(error)

        def run_here() -> None:
            if not future.done():
                future.set_result(None)

        call.front_id = fresh_id()
        key, scope = call.key, call.request.scope
        more = {
            "path": scope["path"],
            "query": scope["query_string"].decode("latin-1"),
            "id": call.headers.get(b"idempotency-key", b"").decode("latin-1"),
            "key": [key.role, key.campaign, key.decision],
        }
        line = [endpoint.name, call.name, call.front_id, "", key.id, more]
        self._route(Handed(call.name, line, call.content, answered, failed, run_here, is_call=True))
        return await future

    async def figures(self) -> list[dict[str, Any]]:
        """The figures of the other workers of this command.

        Raises
        ------
        UnavailableError
            One of them does not say its own.
        """
        others = [server for server in self.workers if server.id != self.me.id]
        try:
            return [*await asyncio.wait_for(asyncio.gather(*map(self._figures_of, others)), self._patience)]
        except TimeoutError:
            raise UnavailableError("a worker does not say its figures; try again") from None

    async def _figures_of(self, server: Server) -> dict[str, Any]:
        assert self._loop is not None
        future: asyncio.Future[bytes] = self._loop.create_future()

        def answered(kind: int, status: int, body: bytes) -> None:
            if kind == PROBLEM:
                failed(HandedError(status, body))
            elif not future.done():
                future.set_result(body)

        def failed(error: BaseException) -> None:
            if not future.done():
                future.set_exception(error)

        line = [_FIGURES, None, "", "", ""]
        handed = Handed(None, line, b"", answered, failed, lambda: None, is_call=True, to=server.id)
        self._line(server, is_call=True).hand(handed)
        found: dict[str, Any] = from_json(await future)
        return found

    async def _tell_figures(self, reply: Reply) -> None:
        try:
            form = await asyncio.to_thread(self._service.figures)
            reply.set_result(Answer(to_json(form, inf_nan_mode="constants")))
        except Exception as error:
            reply.set_exception(error)

    def look_at(self, names: Iterable[str]) -> None:
        """Be told by the homes of these campaigns when something happens to them."""
        by_home: dict[str, list[str]] = {}
        for name in names:
            by_home.setdefault(self.view.home_of(name), []).append(name)
        for (server, is_call), line in self._lines.items():
            if is_call:
                line.watch(sorted(by_home.pop(server, [])))
        for server, watched in by_home.items():
            if (found := self._able(server)) is not None and found.id != self.me.id:
                self._line(found, is_call=True).watch(sorted(watched))

    def _route(self, handed: Handed) -> None:
        """Send something where its campaign is at home, once that is known."""
        server = self._able(self.view.home_of(handed.campaign))
        if server is None:
            self._settle_later(handed)
        elif server.id == self.me.id:
            handed.run_here()
        else:
            self._line(server, is_call=handed.is_call).hand(handed)

    def _able(self, id: str) -> Server | None:
        """The server that serves what is at home at one: itself, or this one where it speaks another version."""
        if id == self.me.id:
            return self.me
        server = self.view.servers.get(id)
        if server is None or server.silent >= self._silent:
            return None
        return server if server.protocol == PROTOCOL else self.me

    def _line(self, server: Server, *, is_call: bool) -> Line:
        """The connection to a server: one for asks and answers, another for what may be large."""
        line = self._lines.get((server.id, is_call))
        if line is None:
            line = Line(self, server, self._heard, self._back, max(self._silent, 1.0))
            self._lines[server.id, is_call] = line
        return line

    def _back(self, handed: list[Handed]) -> None:
        """Send again what was not answered, unless that may be too late."""
        now = clock()
        for each in handed:
            is_fresh = (
                not each.to
                and now - each.at < _RESEND_S
                and now - self._last_turn < _STALL_S
                and each.at > self._stalled
            )
            if is_fresh and not self._is_over.is_set():
                self._settle_later(each)
            else:
                each.failed(UnavailableError("the campaign's home did not answer; it is not known what it did"))

    def _settle_later(self, handed: Handed) -> None:
        name = handed.campaign or ""
        waiting = self._unsettled.setdefault(name, [])
        waiting.append(handed)
        if len(waiting) == 1:
            self._spawn(self._settle(name))

    async def _settle(self, name: str) -> None:
        """Find a home for what waits for one."""
        while waiting := self._unsettled.get(name):
            error: MatroidBanditsError | None = None
            try:
                await self._refresh()
                home = self.view.homes.get(name)
                if self._able(self.view.home_of(name)) is not None:
                    for handed in self._unsettled.pop(name):
                        self._route(handed)
                    return
                if self._registry is not None:
                    if home is None or not is_campaign_name(name):
                        error = UnknownCampaignError(f"expected the name of a campaign, got {shown(name)}")
                    elif await asyncio.to_thread(self._place, home, self.view):
                        continue
            except SQLAlchemyError as failure:
                log.warning("cannot read the homes of campaigns: %s", reason_of(failure))
            now = clock()
            late = [handed for handed in waiting if error is not None or now - handed.at > self._patience]
            waiting[:] = [handed for handed in waiting if handed not in late]
            if not waiting:
                self._unsettled.pop(name, None)
            for handed in late:
                handed.failed(error or UnavailableError("the campaign's home does not answer; try again"))
            await asyncio.sleep(_LOOK_S)

    def _heard(self, news: dict[str, int]) -> None:
        self._service.wake(set(news))

    # As a home

    def execute(self, line: list[Any], content: bytes, reply: Reply) -> None:
        """Execute what another server handed over, where its campaign is at home here."""
        if line[0] == _FIGURES:
            self._spawn(self._tell_figures(reply))
        elif self.view.home_of(line[1]) == self.me.id:
            self._run(line, content, reply)
        else:
            self._spawn(self._look_again(line, content, reply))

    async def _look_again(self, line: list[Any], content: bytes, reply: Reply) -> None:
        with contextlib.suppress(SQLAlchemyError):
            await self._refresh()
        if self.view.home_of(line[1]) == self.me.id:
            self._run(line, content, reply)
        else:
            reply.moved()

    def _run(self, line: list[Any], content: bytes, reply: Reply) -> None:
        verb, campaign, id, digest, by, *more = line
        if more:
            self._spawn(self._serve(line, content, reply))
            return
        try:
            run = act.read_ask(content)[0] if verb == "ask" else act.read_tell(content)[0]
            operation = Operation(run, campaign, "ask" if verb == "ask" else "change", id, digest, by=by)
            operation.future = reply
            self._service.writer.submit(operation)
        except UnavailableError:  # this server ends
            reply.moved()
        except Exception as error:
            reply.set_exception(error)

    async def _serve(self, line: list[Any], content: bytes, reply: Reply) -> None:
        """Serve a whole request that another server has let in."""
        name, campaign, front_id, _, by, more = line
        role, of, decision = more["key"]
        headers = {b"idempotency-key": more["id"].encode("latin-1")} if more["id"] else {}
        method = name.partition(" ")[0]
        scope = {"type": "http", "method": method, "path": more["path"], "headers": [],
                 "query_string": more["query"].encode("latin-1")}  # fmt: skip
        try:
            endpoint = _BY_NAME[name]
            key = Key(by, role, of, decision=decision)
            call = Call(self._service, Request(scope), key, campaign, headers, content, front_id)
            reply.set_result(await endpoint.handler(call))
        except Exception as error:
            reply.set_exception(error)

    def watch(self, guest: Guest, names: list[str]) -> None:
        """Tell a front from now on when something happens to these campaigns."""
        guest.watched = set(names)

    def tell(self, news: dict[str, int]) -> None:
        """Tell the fronts that watch campaigns how far these are; called by the writer."""
        if self._loop is not None and any(guest.watched for guest in [*self._guests]):
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._tell, news)

    def _tell(self, news: dict[str, int]) -> None:
        for guest in self._guests:
            if watched := {name: seq for name, seq in news.items() if name in guest.watched}:
                guest.say(["news", watched])

    # Homes

    def take(self, view: View) -> None:
        """Go by another view of servers and homes."""
        self.view, self._has_view = view, True
        self._mine = frozenset(home.campaign for home in view.homes.values() if home.server == self.me.id)
        wanted = {view.everywhere} if view.everywhere else {home.server for home in view.homes.values()}
        for id in wanted - {self.me.id}:
            if (server := self._able(id)) is not None and server.id != self.me.id:
                self._line(server, is_call=False)
        for (id, is_call), line in [*self._lines.items()]:
            server = self._able(id)
            if server is None or server.address != line.server.address:
                del self._lines[id, is_call]
                line.close()
                continue
            for handed in line.overdue(clock() - self._patience):
                handed.failed(UnavailableError("the campaign's home cannot be reached; try again"))
            if back := line.take_back(lambda handed, id=id: not handed.to and view.home_of(handed.campaign) != id):  # type: ignore[misc]
                self._back(back)
        self.look_at(self._service.watched)

    def meet(self, workers: dict[int, Server]) -> None:
        """Take note of the workers of this command. The first is home of all campaigns of a SQLite file."""
        self.workers = [*workers.values()]
        if self._registry is None:
            home = workers.get(0)
            self.take(View({each.id: each for each in self.workers}, everywhere="none" if home is None else home.id))

    async def _refresh(self) -> None:
        """Read where campaigns are at home; those that ask meanwhile wait for the same look."""
        if self._registry is None:
            return
        if self._refreshing is not None:
            await asyncio.shield(self._refreshing)
            return
        assert self._loop is not None
        self._refreshing = self._loop.create_future()
        try:
            self.take(await asyncio.to_thread(self._registry.view))
        finally:
            done, self._refreshing = self._refreshing, None
            done.set_result(None)

    def _keep_looking(self) -> None:
        """Say again and again that this server is alive, look at the others, and see to campaigns without a home."""
        assert self._registry is not None
        assert self._loop is not None
        is_well = True
        while not self._is_over.wait(self._beat_s):
            try:
                if self._beats:
                    self._registry.beat([self.me])
                view = self._registry.view()
                self._loop.call_soon_threadsafe(self.take, view)
                self._see_to(view)
                is_well = True
            except (SQLAlchemyError, OSError) as error:
                if is_well:
                    log.warning("cannot read the homes of campaigns: %s", error.__class__.__name__)
                is_well = False
            except RuntimeError:  # the event loop has ended
                return

    def _see_to(self, view: View) -> None:
        """Give homes to campaigns that have none, as one of the servers does; and give away what is too much here."""
        alive = [id for id, each in view.alive(self._silent).items() if not each.is_draining]
        if self.me.id == min(alive, default=""):
            for home in [*view.homes.values()]:
                if not home.is_archived and home.server not in view.alive(self._silent):
                    self._place(home, view)
        mine = [home for home in view.homes.values() if home.server == self.me.id and not home.is_archived]
        target = least_busy(view, self._silent, but=self.me.id)
        if target is None or self._is_moving or self.me.is_draining:
            return
        n_there = sum(home.server == target and not home.is_archived for home in view.homes.values())
        settled = [home for home in mine if home.age > STAY_S]
        if len(mine) > n_there + 1 and settled:
            self._is_moving = True
            assert self._loop is not None
            asyncio.run_coroutine_threadsafe(self._move(settled[0], target), self._loop)

    def _place(self, home: Home, view: View) -> bool:
        """Give a campaign whose home is dead to another server; whether that was done here. Blocks."""
        assert self._registry is not None
        target = least_busy(view, self._silent, first=self.me.id)
        if target is None or not self._registry.place(home, target):
            return False
        view.homes[home.name] = replace(home, server=target, epoch=home.epoch + 1)  # so that the next goes elsewhere
        if home.server:
            log.warning("server %s is silent: campaign %s moves to %s", home.server, home.name, target)
            self._registry.end_transactions(home.server)
        return True

    async def _move(self, home: Home, target: str) -> None:
        """Hand a campaign of this server to another, with a snapshot, so that little is left to replay there."""
        assert self._registry is not None
        try:
            row = await self._service.read(home.name, _snapshot)
            if row is not None:
                await asyncio.to_thread(_snapshots.store, self._service.database, row)
            if await asyncio.to_thread(self._registry.place, home, target):
                log.info("campaign %s moves to server %s", home.name, target)
            await self._refresh()
        except (MatroidBanditsError, SQLAlchemyError) as error:
            log.warning("campaign %s stays here: %s", home.name, type(error).__name__)
        finally:
            self._is_moving = False

    # The event loop

    def _turn(self) -> None:
        """Notice when this process was stopped for a while."""
        now = clock()
        if now - self._last_turn > _STALL_S:
            self._stalled = now
        self._last_turn = now
        if not self._is_over.is_set():
            assert self._loop is not None
            self._loop.call_later(_TURN_S, self._turn)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        end = clock() + seconds
        while not condition() and clock() < end:
            await asyncio.sleep(0.01)


def fresh_id() -> str:
    """An id for a request that came without one: it begins as no client's may."""
    return FRONT_MARK + secrets.token_urlsafe(12)


def _snapshot(replica: Any) -> dict[str, Any] | None:
    """A snapshot of a replica, where events came since the last one."""
    if replica.mismatch or replica.seq == replica.saved:
        return None
    replica.saved, replica.spent, replica.is_unsaved = replica.seq, 0.0, False
    return _snapshots.take(replica)
