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
        description="The path prefix under which a proxy serves the service, such as /bandits.",
    )
    cors: list[str] = Field(
        default=[], description="Origins of pages that may call the API, such as https://shop.example; * for all."
    )
    proxies: str = Field(
        default="127.0.0.1",
        description="Addresses of proxies trusted to give a client's address and scheme; * for all.",
    )
    insecure: bool = Field(default=False, description="Accept requests from other machines without keys.")
    json_logs: bool = Field(default=False, description="Write the log as JSON, a line per entry.")
    log_level: str = Field(default="info", description="debug, info, warning or error.")
    access_log: bool = Field(default=False, description="Write a line for every request, with its id.")
    slow: float = Field(default=1.0, gt=0, description="Requests that take longer, in seconds, are logged as slow.")
    rate: float | None = Field(default=None, gt=0, description="Default rate limit of a key, in requests per second.")
    max_body: int = Field(default=1 << 20, ge=1024, description="Maximum size of a request's body, in bytes.")
    max_spec: int = Field(
        default=32 << 20,
        ge=1024,
        description="Maximum size of a body that lists items, such as a campaign spec, in bytes.",
    )
    max_url: int = Field(default=8192, ge=64, description="Maximum length of a request's URL, in bytes.")
    max_head: int = Field(default=32_768, ge=1024, description="Maximum size of a request's headers, in bytes.")
    max_connections: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of connections; by default what the limit of open files allows.",
    )
    max_connections_per_address: int = Field(
        default=512, ge=1, description="Maximum number of connections of one address; a proxy is one address."
    )
    request_timeout: float = Field(
        default=20.0, gt=0, description="Timeout for receiving a whole request, in seconds."
    )
    answer_timeout: float = Field(
        default=60.0, gt=0, description="Timeout for a client that reads nothing of its response, in seconds."
    )
    max_batch: int = Field(default=1000, ge=1, description="Maximum number of requests or answers in one batch.")
    max_label: int = Field(default=256, ge=1, description="Maximum length of a label in JSON, in characters.")
    max_items: int = Field(default=100_000, ge=1, description="Maximum number of items of a campaign.")
    max_parts: int = Field(
        default=1000, ge=1, description="Maximum number of parts of a matroid, such as of a direct sum."
    )
    max_features: int = Field(default=512, ge=1, description="Maximum number of features of an item.")
    max_work: int = Field(
        default=10_000_000, ge=1, description="Maximum of requests in a batch times items of the campaign."
    )
    max_answer: int = Field(
        default=32 << 20, ge=1024, description="Maximum size of the response to a batch, in bytes."
    )
    max_campaigns: int = Field(default=1000, ge=1, description="Maximum number of campaigns in the database.")
    max_page: int = Field(
        default=4 << 20,
        ge=1,
        description="Maximum size of a page of events, in characters; a page has at least one event.",
    )
    max_streams: int = Field(default=200, ge=1, description="Maximum number of open event streams.")
    max_streams_per_key: int = Field(default=50, ge=1, description="Maximum number of open event streams of one key.")
    snapshot_every: int = Field(
        default=20_000, ge=1, description="Number of events of a campaign between two snapshots."
    )
    tick: float = Field(
        default=1.0,
        gt=0,
        description="Interval at which deadlines and other servers' events are checked, in seconds.",
    )
    lock_timeout: float = Field(
        default=5.0, gt=0, description="Timeout for a transaction that waits for another server's lock, in seconds."
    )
    statement_timeout: float = Field(default=8.0, gt=0, description="Timeout of a PostgreSQL statement, in seconds.")
    connect_timeout: float = Field(default=5.0, gt=0, description="Timeout for connecting to PostgreSQL, in seconds.")
    idle_timeout: float = Field(
        default=8.0, gt=0, description="Timeout after which PostgreSQL ends an idle transaction, in seconds."
    )
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default=1, description="Number of server processes; auto for one per core."
    )
    lease: float = Field(
        default=5.0,
        ge=0.5,
        description="Seconds for which a server keeps a campaign that it does not renew its lease of.",
    )
    advertise: str | None = Field(
        default=None,
        pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):[0-9]{1,5}$",
        description="HOST:PORT at which other servers reach this one; by default host and port.",
    )
    worker_port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="The first of the ports at which each worker is reached by itself; by default any that are free.",
    )
    archive: str | None = Field(
        default=None,
        description="A folder, or an object store such as s3://bucket/folder, for old events, which are then removed "
        "from the database.",
    )
    keep_events: int = Field(
        default=1_000_000,
        ge=1,
        description="Events of a campaign that an archive leaves in the database.",
    )
    keep_ids: float = Field(default=7.0, gt=0, description="Days for which request ids are stored.")
    drain: float = Field(
        default=10.0, ge=0, description="Grace period for requests in progress at shutdown, in seconds."
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
