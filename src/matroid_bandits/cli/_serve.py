"""``matroid-bandits serve``: the decision service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from matroid_bandits.cli._app import app

CONFIG = "matroid-bandits.toml"


def setting(name: str, help: str, metavar: str = "N") -> Any:
    """An option that a variable of the environment, or the config file, can give too."""
    option = "--" + name.replace("_", "-")
    return typer.Option(option, envvar=f"MATROID_BANDITS_{name.upper()}", metavar=metavar, help=help)


DbOption = Annotated[
    str | None,
    setting(
        "db",
        "SQLite file or postgresql://user@host/name; by default matroid-bandits.db in the current folder.",
        "DATABASE",
    ),
]
ConfigOption = Annotated[
    Path | None,
    setting(
        "config", f"TOML file with any of these settings; by default {CONFIG} in this folder, if it exists.", "FILE"
    ),
]


@app.command(epilog="Example: matroid-bandits serve --demo")
def serve(
    campaigns: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CAMPAIGN.toml", help="Campaign files; campaigns that do not exist yet are created."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", metavar="", help="Update existing campaigns whose files have changed.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", metavar="", help="Run a demo campaign with simulated visitors.")
    ] = False,
    db: DbOption = None,
    host: Annotated[str | None, setting("host", "Address to listen on; by default 127.0.0.1.", "HOST")] = None,
    port: Annotated[int | None, setting("port", "Port to listen on; by default 8080, 0 for any.")] = None,
    config: ConfigOption = None,
    root_path: Annotated[
        str | None,
        setting("root_path", "Path prefix under which a proxy serves the service, such as /bandits.", "PATH"),
    ] = None,
    proxies: Annotated[
        str | None,
        setting(
            "proxies",
            "Addresses of proxies that are trusted to give the client's address; by default 127.0.0.1.",
            "ADDRESSES",
        ),
    ] = None,
    cors: Annotated[
        list[str] | None,
        setting("cors", "Origin of pages that may call the API; may be given several times, * for all.", "ORIGIN"),
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option(
            "--insecure",
            envvar="MATROID_BANDITS_INSECURE",
            metavar="",
            help="Accept requests from other machines without keys.",
        ),
    ] = None,
    json_logs: Annotated[
        bool | None,
        typer.Option("--json-logs", envvar="MATROID_BANDITS_JSON_LOGS", metavar="", help="Write the log as JSON."),
    ] = None,
    log_level: Annotated[
        str | None, setting("log_level", "debug, info, warning or error; by default info.", "LEVEL")
    ] = None,
    access_log: Annotated[
        bool | None,
        typer.Option(
            "--access-log", envvar="MATROID_BANDITS_ACCESS_LOG", metavar="", help="Log every request, with its id."
        ),
    ] = None,
    slow: Annotated[
        float | None, setting("slow", "Requests that take longer, in seconds, are logged as slow; by default 1.")
    ] = None,
    rate: Annotated[float | None, setting("rate", "Default rate limit of a key, in requests per second.")] = None,
    max_body: Annotated[
        int | None, setting("max_body", "Maximum size of a request, in bytes; by default 1,048,576.")
    ] = None,
    max_spec: Annotated[
        int | None,
        setting("max_spec", "Maximum size of a campaign spec or a change of items, in bytes; by default 33,554,432."),
    ] = None,
    max_url: Annotated[int | None, setting("max_url", "Maximum length of a URL, in bytes; by default 8,192.")] = None,
    max_head: Annotated[
        int | None, setting("max_head", "Maximum size of a request's headers, in bytes; by default 32,768.")
    ] = None,
    max_connections: Annotated[
        int | None,
        setting("max_connections", "Maximum number of connections; by default what the limit of open files allows."),
    ] = None,
    max_connections_per_address: Annotated[
        int | None,
        setting("max_connections_per_address", "Maximum number of connections of one address; by default 512."),
    ] = None,
    request_timeout: Annotated[
        float | None, setting("request_timeout", "Timeout for receiving a whole request, in seconds; by default 20.")
    ] = None,
    answer_timeout: Annotated[
        float | None,
        setting(
            "answer_timeout", "Timeout for a client that reads nothing of its response, in seconds; by default 60."
        ),
    ] = None,
    max_batch: Annotated[
        int | None, setting("max_batch", "Maximum number of requests in one batch; by default 1,000.")
    ] = None,
    max_label: Annotated[
        int | None, setting("max_label", "Maximum length of a label, in characters; by default 256.")
    ] = None,
    max_items: Annotated[
        int | None, setting("max_items", "Maximum number of items of a campaign; by default 100,000.")
    ] = None,
    max_parts: Annotated[
        int | None, setting("max_parts", "Maximum number of parts of a matroid; by default 1,000.")
    ] = None,
    max_features: Annotated[
        int | None, setting("max_features", "Maximum number of features of an item; by default 512.")
    ] = None,
    max_work: Annotated[
        int | None,
        setting("max_work", "Maximum of requests in a batch times items of the campaign; by default 10,000,000."),
    ] = None,
    max_answer: Annotated[
        int | None, setting("max_answer", "Maximum size of the response to a batch, in bytes; by default 33,554,432.")
    ] = None,
    max_campaigns: Annotated[
        int | None, setting("max_campaigns", "Maximum number of campaigns; by default 1,000.")
    ] = None,
    max_page: Annotated[
        int | None, setting("max_page", "Maximum size of a page of events, in characters; by default 4,194,304.")
    ] = None,
    max_streams: Annotated[
        int | None, setting("max_streams", "Maximum number of open event streams; by default 200.")
    ] = None,
    max_streams_per_key: Annotated[
        int | None, setting("max_streams_per_key", "Maximum number of open event streams of one key; by default 50.")
    ] = None,
    snapshot_every: Annotated[
        int | None, setting("snapshot_every", "Number of events between two snapshots; by default 20,000.")
    ] = None,
    tick: Annotated[
        float | None,
        setting("tick", "Interval at which deadlines and other servers are checked, in seconds; by default 1."),
    ] = None,
    lock_timeout: Annotated[
        float | None,
        setting(
            "lock_timeout",
            "Timeout for a transaction that waits for another server's lock, in seconds; by default 5.",
        ),
    ] = None,
    statement_timeout: Annotated[
        float | None, setting("statement_timeout", "Timeout of a PostgreSQL statement, in seconds; by default 8.")
    ] = None,
    connect_timeout: Annotated[
        float | None, setting("connect_timeout", "Timeout for connecting to PostgreSQL, in seconds; by default 5.")
    ] = None,
    idle_timeout: Annotated[
        float | None,
        setting("idle_timeout", "Timeout after which PostgreSQL ends an idle transaction, in seconds; by default 8."),
    ] = None,
    workers: Annotated[
        str | None, setting("workers", "Number of server processes, or auto for one per core; by default 1.")
    ] = None,
    lease: Annotated[
        float | None,
        setting("lease", "Seconds until another server takes the campaigns of a dead one; by default 5."),
    ] = None,
    advertise: Annotated[
        str | None,
        setting(
            "advertise",
            "HOST:PORT at which other servers of the same database reach this one; by default its host and port.",
            "HOST:PORT",
        ),
    ] = None,
    worker_port: Annotated[
        int | None,
        setting(
            "worker_port",
            "First of the loopback ports of --workers: worker K is reached, and scraped, at PORT + K; by default "
            "any that are free.",
        ),
    ] = None,
    archive: Annotated[
        str | None,
        setting(
            "archive",
            "Folder that old events are moved to, or an object store such as s3://bucket/folder; by default they "
            "stay in the database.",
            "DIR",
        ),
    ] = None,
    keep_events: Annotated[
        int | None,
        setting("keep_events", "Events of a campaign that --archive leaves in the database; by default 1,000,000."),
    ] = None,
    keep_ids: Annotated[
        float | None, setting("keep_ids", "Days for which request ids are stored; by default 7.")
    ] = None,
    drain: Annotated[
        float | None,
        setting("drain", "Grace period for requests in progress at shutdown, in seconds; by default 10."),
    ] = None,
) -> None:
    """Serve campaigns over HTTP: clients ask for sets and tell the observed weights; a web page shows the state.

    Every option can also be set by an environment variable (MATROID_BANDITS_PORT for --port) and in the config file
    (port = 9000); the command line takes precedence over variables, and variables over the file. Several servers may
    share one database.
    """
    given = {name: value for name, value in locals().items() if name not in ("campaigns", "apply", "demo", "config")}
    if workers is not None and workers.isdecimal():
        given["workers"] = int(workers)
    from matroid_bandits.service import run_server

    run_server(read_settings(config, given), campaigns or [], is_applied=apply, demo=demo, say=typer.echo)


def read_settings(config: Path | None, given: dict[str, Any]) -> Any:
    """The settings: what is given, then what the config file says."""
    from matroid_bandits.service import Settings
    from matroid_bandits.specs import Place, parse, read_file

    file = Path(CONFIG) if config is None and Path(CONFIG).is_file() else config
    data = {} if file is None else read_file(file)
    if isinstance(data, dict):
        data = data | {name: value for name, value in given.items() if value is not None}
    return parse(Settings, data, Place(file) if file is not None else None)
