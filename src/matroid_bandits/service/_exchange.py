"""What servers say to each other: frames on connections that are kept, after a handshake that both sides prove.

A frame is the length of its text and bytes, the length of the text, the text (JSON), and the bytes it speaks of, such
as bodies of requests. A front sends ``["ops", lines]`` and gets ``["answers", lines]``; each line ends with the size
of its bytes. Many operations go in one frame: those that came while the event loop was at something else.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_core import from_json, to_json

from matroid_bandits.service._errors import problem_of
from matroid_bandits.service._homes import PROTOCOL, Server
from matroid_bandits.service._logs import log_unexpected
from matroid_bandits.service._operation import Answer

log = logging.getLogger("matroid_bandits.service")

#: What a line of answers is: an answer, an earlier request's answer, a refusal; or the campaign is not at home here.
ANSWER, REPLAYED, PROBLEM, MOVED = range(4)

#: The largest frame, in bytes, and the largest before the handshake is over.
_MOST_BYTES, _MOST_HELLO = 1 << 28, 4096

#: Seconds for a handshake, and between two attempts to connect: the first of them, and the longest.
_HELLO_S, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 0.02, 0.5

_HEAD = struct.Struct(">II")


def clock() -> float:
    """Seconds by a clock that never goes back, and goes on while the machine sleeps, where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(slots=True, eq=False)
class Handed:
    """An operation, or a whole request, on its way to its campaign's home.

    Attributes
    ----------
    campaign : str or None
        Whose home it is for.
    line : list
        What is sent of it: verb, campaign, request id, digest, key, and more for whole requests.
    content : bytes
        The body.
    answered : callable
        Called with the kind of the answer, its status and its body.
    failed : callable
        Called with the error where there is none.
    run_here : callable
        Called where this server is the home by then.
    to : str
        The server that it is for, where it is for one whatever campaigns it has.
    at : float
        When it came, by `clock`.
    """

    campaign: str | None
    line: list[Any]
    content: bytes
    answered: Callable[[int, int, bytes], None]
    failed: Callable[[BaseException], None]
    run_here: Callable[[], None]
    is_call: bool = False
    to: str = ""
    at: float = field(default_factory=clock)


class Frames(asyncio.Protocol):
    """One end of a connection."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.heard = self.loop.time()
        self.is_open = False  # after the handshake
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection."""
        self._transport = transport
        self._timer = self.loop.call_later(_HELLO_S, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the user of the connection."""
        self._timer.cancel()
        self.is_open, self._transport = False, None
        self.lost()

    def data_received(self, data: bytes) -> None:
        """Take what came, and each frame that is whole."""
        self.heard = self.loop.time()
        self._buffer += data
        while len(self._buffer) >= _HEAD.size and self._transport is not None:
            size, n_text = _HEAD.unpack_from(self._buffer)
            if n_text > size or size > (_MOST_BYTES if self.is_open else _MOST_HELLO):
                self.close("a frame that is none, or too long")
                return
            end = _HEAD.size + size
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            try:
                self._take(from_json(frame[:n_text]), frame[n_text:])
            except (ValueError, KeyError, TypeError, IndexError) as error:
                self.close(f"a frame that cannot be read ({type(error).__name__})")

    def say(self, text: Any, *contents: bytes) -> None:
        """Send a frame, unless the connection is lost."""
        if self._transport is not None:
            head = to_json(text)
            size = len(head) + sum(map(len, contents))
            self._transport.write(b"".join((_HEAD.pack(size, len(head)), head, *contents)))

    def close(self, why: str = "") -> None:
        """End the connection at once."""
        if why:
            log.warning("a connection between servers was closed: %s", why)
        if self._transport is not None:
            self._transport.abort()

    def _take(self, text: Any, content: bytes) -> None:
        if self.is_open:
            self.took(text, content)
        else:
            self.greet(text)

    def _expire(self) -> None:
        if not self.is_open:
            self.close("no handshake in time")

    def greet(self, text: Any) -> None:
        """Take a part of the handshake."""
        raise NotImplementedError

    def took(self, text: Any, content: bytes) -> None:
        """Take a frame."""
        raise NotImplementedError

    def lost(self) -> None:
        """The connection is lost."""
        raise NotImplementedError


def lines_of(lines: list[Any], content: bytes) -> list[tuple[list[Any], bytes]]:
    """Each line without its size, and its bytes.

    Examples
    --------
    >>> lines_of([[1, "a", 2], [2, "b", 1]], b"xyz")
    [([1, 'a'], b'xy'), ([2, 'b'], b'z')]
    """
    start, found = 0, []
    for *line, size in lines:
        found.append((line, content[start : start + size]))
        start += size
    return found


def _proof(secret: bytes, side: str, front: str, home: str, nonces: tuple[str, str]) -> str:
    return hmac.new(secret, " ".join((side, front, home, *nonces)).encode(), hashlib.sha256).hexdigest()


class Hall(Protocol):
    """What a server does with operations that others hand to it."""

    me: Server
    secret: bytes

    def execute(self, line: list[Any], content: bytes, reply: Reply) -> None:
        """Execute an operation, and answer it."""

    def watch(self, guest: Guest, names: list[str]) -> None:
        """Tell a front from now on when something happens to these campaigns, and to no others."""


class Guest(Frames):
    """A connection that another server has made: it hands over operations."""

    def __init__(self, hall: Hall, guests: set[Guest]) -> None:
        super().__init__()
        self._hall, self._guests = hall, guests
        self._front, self._nonces = "", ("", "")
        self._lines: list[list[Any]] = []
        self._contents: list[bytes] = []
        self.n_open = 0  # operations that are not answered
        self.watched: set[str] = set()

    def greet(self, text: Any) -> None:
        """Check who calls: the right version, meant for this server, with the secret of the database."""
        me = self._hall.me
        if not self._front:
            if text["protocol"] != PROTOCOL or text["to"] != me.id:
                self.say({"refused": f"this is server {me.id}, which speaks version {PROTOCOL}"})
                assert self._transport is not None
                self._transport.close()
                return
            self._front, self._nonces = str(text["from"]), (str(text["nonce"]), secrets.token_hex(16))
            proof = _proof(self._hall.secret, "home", self._front, me.id, self._nonces)
            self.say({"nonce": self._nonces[1], "proof": proof})
            return
        wanted = _proof(self._hall.secret, "front", self._front, me.id, self._nonces)
        if not hmac.compare_digest(wanted, str(text["proof"])):
            self.close("a server without the secret of this database")
            return
        self.is_open = True
        self._guests.add(self)
        self.say(["welcome"])

    def took(self, text: Any, content: bytes) -> None:
        """Take operations, or what this front watches."""
        kind = text[0]
        if kind == "ops":
            for line, part in lines_of(text[1], content):
                self.n_open += 1
                self._hall.execute(line[1:], part, Reply(self, line[0]))
        elif kind == "watch":
            self._hall.watch(self, text[1])
        elif kind == "ping":
            self.say(["pong"])

    def lost(self) -> None:
        """Forget the connection; what it handed over is executed, and found by its ids when it comes again."""
        self._guests.discard(self)

    def answer(self, n: int, kind: int, status: int, body: bytes) -> None:
        """Answer an operation, with the others that are answered now."""
        self.n_open -= 1
        if not self._lines:
            self.loop.call_soon(self._flush)
        self._lines.append([n, kind, status, len(body)])
        self._contents.append(body)

    def _flush(self) -> None:
        lines, contents = self._lines, self._contents
        self._lines, self._contents = [], []
        self.say(["answers", lines], *contents)


class Reply:
    """Answers one operation: to the writer it is the future that a caller waits for."""

    __slots__ = ("_guest", "_n")

    def __init__(self, guest: Guest, n: int) -> None:
        self._guest, self._n = guest, n

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which it is to be answered."""
        return self._guest.loop

    def done(self) -> bool:
        """Whether it was answered: never, as long as it is asked."""
        return False

    def set_result(self, answer: Answer) -> None:
        """Answer the operation."""
        self._guest.answer(self._n, REPLAYED if answer.is_replayed else ANSWER, answer.status, answer.body)

    def set_exception(self, error: BaseException) -> None:
        """Refuse the operation."""
        status, body = problem_of(error)
        if status == 500:
            log_unexpected(error)
        self._guest.answer(self._n, PROBLEM, status, body)

    def moved(self) -> None:
        """Say that the campaign is not at home here."""
        self._guest.answer(self._n, MOVED, 0, b"")


class Link(Frames):
    """A connection that this server has made to a home.

    Parameters
    ----------
    hall : Hall
        Who connects.
    server : Server
        The home.
    on_news : callable
        Called with names and last events of campaigns that have changed.
    on_back : callable
        Called with what was handed over and not answered: the campaign has moved, or the connection is lost.
    on_open : callable
        Called when the handshake is over.
    """

    def __init__(
        self,
        hall: Hall,
        server: Server,
        on_news: Callable[[dict[str, int]], None],
        on_back: Callable[[list[Handed]], None],
        on_open: Callable[[], None],
    ) -> None:
        super().__init__()
        self._hall, self.server = hall, server
        self._on_news, self._on_back, self._on_open = on_news, on_back, on_open
        self._nonce = secrets.token_hex(16)
        self._n, self._open, self._outbox = 0, dict[int, Handed](), list[tuple[int, Handed]]()
        self.ended: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake."""
        super().connection_made(transport)
        self.say({"protocol": PROTOCOL, "from": self._hall.me.id, "to": self.server.id, "nonce": self._nonce})

    def greet(self, text: Any) -> None:
        """Check that this is the server that was meant, and prove who calls."""
        if text == ["welcome"]:
            self.is_open = True
            self._on_open()
            return
        if "refused" in text:
            self.close(f"expected server {self.server.id} at {self.server.address}; {text['refused'][:100]}")
            return
        nonces = self._nonce, str(text["nonce"])
        ends = self._hall.me.id, self.server.id
        if not hmac.compare_digest(_proof(self._hall.secret, "home", *ends, nonces), str(text["proof"])):
            self.close(f"a program at {self.server.address} without the secret of this database")
            return
        self.say({"proof": _proof(self._hall.secret, "front", *ends, nonces)})

    def hand(self, handed: Handed) -> None:
        """Send an operation, with the others that are handed over now."""
        self._n += 1
        self._open[self._n] = handed
        if not self._outbox:
            self.loop.call_soon(self._flush)
        self._outbox.append((self._n, handed))

    def take_back(self, is_wrong: Callable[[Handed], bool]) -> list[Handed]:
        """Give up operations that are to go elsewhere; their answers are not heard any more."""
        wrong = {n for n, handed in self._open.items() if is_wrong(handed)}
        if wrong:
            self._outbox = [(n, handed) for n, handed in self._outbox if n not in wrong]
        return [self._open.pop(n) for n in wrong]

    def _flush(self) -> None:
        outbox, self._outbox = self._outbox, []
        lines = [[n, *handed.line, len(handed.content)] for n, handed in outbox]
        self.say(["ops", lines], *(handed.content for _, handed in outbox))

    def took(self, text: Any, content: bytes) -> None:
        """Take answers, or news of campaigns."""
        kind = text[0]
        if kind == "answers":
            moved = []
            for (n, how, status), body in lines_of(text[1], content):
                handed = self._open.pop(n, None)
                if handed is None:
                    continue
                if how == MOVED:
                    moved.append(handed)
                else:
                    handed.answered(how, status, body)
            if moved:
                self._on_back(moved)
        elif kind == "news":
            self._on_news(text[1])

    def lost(self) -> None:
        """Give back what was not answered."""
        if not self.ended.done():
            self.ended.set_result(None)
        left, self._open, self._outbox = [*self._open.values()], {}, []
        self._on_back(left)


class Line:
    """A link that is made anew whenever it is lost, for as long as it is wanted."""

    def __init__(
        self,
        hall: Hall,
        server: Server,
        on_news: Callable[[dict[str, int]], None],
        on_back: Callable[[list[Handed]], None],
        patience: float,
    ) -> None:
        self.server = server
        self._make: Callable[[], Link] = lambda: Link(hall, server, on_news, on_back, self._opened)
        self._on_back, self._patience = on_back, patience
        self._link: Link | None = None
        self._waiting: list[Handed] = []
        self._watched: list[str] = []
        self._task = asyncio.get_running_loop().create_task(self._keep())

    @property
    def is_open(self) -> bool:
        """Whether the home is reached."""
        return self._link is not None and self._link.is_open

    def hand(self, handed: Handed) -> None:
        """Send an operation now, or as soon as there is a connection."""
        if self._link is not None and self._link.is_open:
            self._link.hand(handed)
        else:
            self._waiting.append(handed)

    def _opened(self) -> None:
        """Send what has waited for a connection."""
        link, waiting, self._waiting = self._link, self._waiting, []
        assert link is not None
        link.say(["watch", self._watched])
        for handed in waiting:
            link.hand(handed)

    def take_back(self, is_wrong: Callable[[Handed], bool]) -> list[Handed]:
        """Give up operations that are to go elsewhere."""
        wrong = [handed for handed in self._waiting if is_wrong(handed)]
        self._waiting = [handed for handed in self._waiting if not is_wrong(handed)]
        return wrong if self._link is None else wrong + self._link.take_back(is_wrong)

    def overdue(self, before: float) -> list[Handed]:
        """Give up operations that were never sent, and came before a time."""
        late = [handed for handed in self._waiting if handed.at < before]
        self._waiting = [handed for handed in self._waiting if handed.at >= before]
        return late

    def watch(self, names: list[str]) -> None:
        """Be told when something happens to these campaigns, and to no others."""
        if names != self._watched:
            self._watched = names
            if self.is_open and self._link is not None:
                self._link.say(["watch", names])

    def close(self) -> None:
        """End the connection; what is left is given back."""
        self._task.cancel()
        if self._link is not None:
            self._link.close()
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._on_back(waiting)

    async def _keep(self) -> None:
        """Connect, again and again."""
        pause = _FIRST_PAUSE_S
        while True:
            self._link = link = self._make()
            try:
                await asyncio.wait_for(self._connect(link), _HELLO_S)
                if await self._attend(link):
                    pause = _FIRST_PAUSE_S
            except (TimeoutError, OSError, ValueError):
                pass
            finally:
                link.close()
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def _connect(self, link: Link) -> None:
        host, _, port = self.server.address.rpartition(":")
        await link.loop.create_connection(lambda: link, host.strip("[]"), int(port))

    async def _attend(self, link: Link) -> bool:
        """Wait until a link is lost, which it is when it says nothing for long; whether there was a handshake."""
        was_open = False
        while not link.ended.done():
            await asyncio.wait([link.ended], timeout=self._patience / 5)
            if link.is_open:
                was_open = True
                if link.loop.time() - link.heard > self._patience:
                    link.close(f"server {self.server.id} at {self.server.address} says nothing")
                link.say(["ping"])
        return was_open
