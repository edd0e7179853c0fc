"""How a server is run: from flags, variables of the environment, and a file, in this order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from matroid_bandits.specs import Spec


class Settings(Spec):
    """Settings of a server; a config file has the same keys.

    Examples
    --------
    >>> Settings(port=9000).address
    'http://127.0.0.1:9000'
    """

    db: str = Field(
        default="matroid-bandits.db", description="The database: a SQLite file, or postgresql://user@host/name."
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="The port to listen on; 0 for any that is free.")
    root_path: str = Field(
        default="",
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="The path under which a proxy has the service, such as /bandits.",
    )
    cors: list[str] = Field(
        default=[], description="Origins of pages that may call the API, such as https://shop.example; * for all."
    )
    proxies: str = Field(
        default="127.0.0.1",
        description="Addresses of proxies whose word is taken for a client's address and for https; * for all.",
    )
    insecure: bool = Field(default=False, description="Serve other machines without keys.")
    json_logs: bool = Field(default=False, description="Write the log as JSON, a line per entry.")
    log_level: str = Field(default="info", description="debug, info, warning or error.")
    access_log: bool = Field(default=False, description="Write a line for every request, with its id.")
    slow: float = Field(default=1.0, gt=0, description="Seconds from which on a request is logged as slow.")
    rate: float | None = Field(
        default=None, gt=0, description="Requests a second of a key that has no rate of its own."
    )
    max_body: int = Field(default=1 << 20, ge=1024, description="Bytes of a request's body.")
    max_spec: int = Field(
        default=32 << 20,
        ge=1024,
        description="Bytes of a body that lists items, such as a campaign spec.",
    )
    max_url: int = Field(default=8192, ge=64, description="Bytes of a request's URL.")
    max_head: int = Field(default=32_768, ge=1024, description="Bytes of a request's headers.")
    max_connections: int | None = Field(
        default=None, ge=1, description="Connections at a time; by default what the limit of open files allows."
    )
    max_connections_per_address: int = Field(
        default=512, ge=1, description="Connections of one address at a time; a proxy is one address."
    )
    request_timeout: float = Field(default=20.0, gt=0, description="Seconds in which a request must have come whole.")
    answer_timeout: float = Field(
        default=60.0, gt=0, description="Seconds after which a client that takes nothing of its answer is cut off."
    )
    max_batch: int = Field(default=1000, ge=1, description="Requests or answers in one batch.")
    max_label: int = Field(default=256, ge=1, description="Characters of a label in JSON.")
    max_items: int = Field(default=100_000, ge=1, description="Items of a campaign.")
    max_parts: int = Field(default=1000, ge=1, description="Parts of a campaign's matroid, such as of a direct sum.")
    max_features: int = Field(default=512, ge=1, description="Features of an item that a policy learns from.")
    max_work: int = Field(
        default=10_000_000, ge=1, description="Items that a batch looks at: requests times items of the campaign."
    )
    max_answer: int = Field(default=32 << 20, ge=1024, description="Bytes of the answer to a batch of requests.")
    max_campaigns: int = Field(default=1000, ge=1, description="Campaigns in the database.")
    max_page: int = Field(
        default=4 << 20, ge=1, description="Characters of the events in one page; a page has one event at least."
    )
    max_streams: int = Field(default=200, ge=1, description="Live streams at a time.")
    max_streams_per_key: int = Field(default=50, ge=1, description="Live streams of one key at a time.")
    snapshot_every: int = Field(default=20_000, ge=1, description="Events of a campaign between two snapshots.")
    tick: float = Field(
        default=1.0, gt=0, description="Seconds between looks at deadlines and at other servers' events."
    )
    lock_timeout: float = Field(
        default=5.0, gt=0, description="Seconds that a transaction waits for another server's."
    )
    statement_timeout: float = Field(default=8.0, gt=0, description="Seconds that PostgreSQL gives a statement.")
    connect_timeout: float = Field(default=5.0, gt=0, description="Seconds in which PostgreSQL must be reached.")
    idle_timeout: float = Field(
        default=8.0, gt=0, description="Seconds after which PostgreSQL ends the transaction of a server that stopped."
    )
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default=1, description="Processes that serve; auto for as many as there are cores."
    )
    takeover: float = Field(
        default=5.0, ge=0.5, description="Seconds in which another server takes over from one that died or stopped."
    )
    advertise: str | None = Field(
        default=None,
        pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):[0-9]{1,5}$",
        description="HOST:PORT at which other servers of the same PostgreSQL reach this one.",
    )
    peer_port: int | None = Field(
        default=None, ge=0, le=65535, description="The port to listen on for other servers; that of advertise."
    )
    archive: str | None = Field(
        default=None, description="A folder for old events, which are then removed from the database."
    )
    keep_events: int = Field(
        default=1_000_000,
        ge=1,
        description="Events of a campaign that an archive leaves in the database.",
    )
    keep_ids: float = Field(default=7.0, gt=0, description="Days for which ids of requests are remembered.")
    drain: float = Field(
        default=10.0, ge=0, description="Seconds that requests in progress get when the server ends."
    )

    @property
    def is_fronted(self) -> bool:
        """Whether a proxy serves the service under a path, or pages of other origins may call it."""
        return bool(self.root_path or self.cors)

    @property
    def address(self) -> str:
        """URL of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"
