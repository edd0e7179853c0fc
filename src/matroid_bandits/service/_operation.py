"""A request on its way through the writer, and the transaction it takes part in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol

from pydantic_core import to_json
from sqlalchemy import Connection

from matroid_bandits.exceptions import CampaignStateError, CampaignStoppedError
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._store import EventRow, RequestRow

#: What a request needs of its campaign: nothing but that it is there, that it is not archived, that it decides.
Need = Literal["read", "change", "ask"]

#: Who changed a campaign by a command, or by a file that a server was started with.
COMMAND_LINE = "command line"


@dataclass
class Answer:
    """What a request is answered: the status, the body, and whether it is an earlier request's answer."""

    body: bytes
    status: int = 200
    is_replayed: bool = False
    stored: str = ""  # what is kept of the body with the request's id, where that is shorter


@dataclass
class Turn:
    """One transaction: its time, what it appends, the campaigns it has locked and those it made."""

    connection: Connection
    at: float
    rows: list[EventRow] = field(default_factory=list)
    locked: dict[int, Any] = field(default_factory=dict)
    created: list[Replica] = field(default_factory=list)
    answered: dict[tuple[int, str], tuple[str, Answer]] = field(default_factory=dict)  # digests by campaign and id
    fresh: list[RequestRow] = field(default_factory=list)  # the ids that were answered in this transaction
    doubtful: set[int] = field(default_factory=set)  # campaigns in doubt: nothing of theirs is committed
    run: set[Operation] = field(default_factory=set)  # what was executed
    by: str = ""  # whose operation is executed: the id of a key, or "command line"; empty where there are no keys
    terms: dict[int, str] = field(default_factory=dict)  # new ones, as the rows of campaigns have them

    @property
    def signature(self) -> dict[str, str]:
        """What an event of the operation in hand says of its origin; nothing where that is not known."""
        return {"by": self.by} if self.by else {}


#: Executed by the writer's thread.
Action = Callable[[Replica, Turn], Answer]

P = ParamSpec("P")


def action(run: Callable[Concatenate[Replica, Turn, P], Any]) -> Callable[P, Action]:
    """What makes an action of `run`, which gives an answer, or a form of one, from its other arguments."""

    @wraps(run)
    def given(*args: P.args, **options: P.kwargs) -> Action:
        def act(replica: Replica, turn: Turn) -> Answer:
            found = run(replica, turn, *args, **options)
            return found if isinstance(found, Answer) else Answer(to_json(found))

        return act

    return given


class Future(Protocol):
    """What is told of an operation's end: a future, or what has its methods; in its loop, where it has `get_loop`."""

    def done(self) -> bool:
        """Whether nothing waits any more."""

    def set_result(self, result: Any, /) -> None:
        """Take the result."""

    def set_exception(self, error: BaseException, /) -> None:
        """Take the error."""


@dataclass(slots=True, eq=False)
class Operation:
    """A request to the writer."""

    run: Callable[[Any, Any], Any]  # called by the writer's thread with replica and turn; reads get no turn
    campaign: str | None = None  # None for what concerns none, or makes one
    need: Need = "read"
    request_id: str = ""
    digest: str = ""  # the hash of what the request asks for
    future: Future | None = None
    result: Any = None
    error: BaseException | None = None
    by: str = ""
    era: int | None = None  # of the database's clock in which it came; None for what came from no client

    @property
    def is_write(self) -> bool:
        """Whether it appends to the log."""
        return self.need != "read"

    def resolve(self) -> None:
        """Set the result of the future that the caller waits for; an asyncio future's from its own loop."""
        future = self.future
        if future is None or future.done():  # a client that has gone away
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.result)


def check_state(replica: Replica, need: Need) -> None:
    """Raise unless the campaign's state allows what is needed."""
    if need == "read" or replica.status == "active":
        return
    if replica.status == "archived":
        raise CampaignStateError(f"expected a campaign that is not archived, got {replica.name}")
    if need == "ask" and replica.status == "paused":
        raise CampaignStateError(f"expected a campaign that decides, got {replica.name}, which is paused")
    if need == "ask" and replica.status == "stopped":
        raise CampaignStoppedError(
            f"{replica.name} is stopped: {replica.reason}. "
            f"To accept the logged decisions and resume: matroid-bandits campaign resume {replica.name} --trust-log"
        )
