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
    setting("db", "SQLite file or postgresql://user@host/name; by default matroid-bandits.db here.", "DATABASE"),
]
ConfigOption = Annotated[
    Path | None,
    setting("config", f"TOML file with any of these settings; by default {CONFIG} here, if it is there.", "FILE"),
]


@app.command(epilog="Example: matroid-bandits serve --demo")
def serve(
    campaigns: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CAMPAIGN.toml", help="Campaigns to create, unless their names are taken."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", metavar="", help="Apply files that differ from their campaigns.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", metavar="", help="Play a demo campaign with simulated visitors.")
    ] = False,
    db: DbOption = None,
    host: Annotated[str | None, setting("host", "Address to listen on; by default 127.0.0.1.", "HOST")] = None,
    port: Annotated[int | None, setting("port", "Port to listen on; by default 8080, 0 for any.")] = None,
    config: ConfigOption = None,
    root_path: Annotated[
        str | None, setting("root_path", "Path under which a proxy has the service, such as /bandits.", "PATH")
    ] = None,
    proxies: Annotated[
        str | None,
        setting("proxies", "Proxies whose word is taken for a client's address; by default 127.0.0.1.", "ADDRESSES"),
    ] = None,
    cors: Annotated[
        list[str] | None,
        setting("cors", "Origin of pages that may call the API; may be given several times, * for all.", "ORIGIN"),
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option(
            "--insecure", envvar="MATROID_BANDITS_INSECURE", metavar="", help="Serve other machines without keys."
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
        float | None, setting("slow", "Seconds from which on a request is logged as slow; by default 1.")
    ] = None,
    rate: Annotated[float | None, setting("rate", "Requests a second of a key without a rate of its own.")] = None,
    max_body: Annotated[int | None, setting("max_body", "Bytes of a request; by default 1,048,576.")] = None,
    max_spec: Annotated[
        int | None, setting("max_spec", "Bytes of a campaign spec or a change of items; by default 33,554,432.")
    ] = None,
    max_url: Annotated[int | None, setting("max_url", "Bytes of a URL; by default 8,192.")] = None,
    max_head: Annotated[int | None, setting("max_head", "Bytes of a request's headers; by default 32,768.")] = None,
    max_connections: Annotated[
        int | None, setting("max_connections", "Connections; by default what the limit of open files allows.")
    ] = None,
    max_connections_per_address: Annotated[
        int | None, setting("max_connections_per_address", "Connections of one address; by default 512.")
    ] = None,
    request_timeout: Annotated[
        float | None, setting("request_timeout", "Seconds for a request to come whole; by default 20.")
    ] = None,
    answer_timeout: Annotated[
        float | None,
        setting("answer_timeout", "Seconds for a client to take some of its answer; by default 60."),
    ] = None,
    max_batch: Annotated[int | None, setting("max_batch", "Requests in one batch; by default 1,000.")] = None,
    max_label: Annotated[int | None, setting("max_label", "Characters of a label; by default 256.")] = None,
    max_items: Annotated[int | None, setting("max_items", "Items of a campaign; by default 100,000.")] = None,
    max_parts: Annotated[int | None, setting("max_parts", "Parts of a matroid; by default 1,000.")] = None,
    max_features: Annotated[int | None, setting("max_features", "Features of an item; by default 512.")] = None,
    max_work: Annotated[
        int | None, setting("max_work", "Requests of a batch times items of its campaign; by default 10,000,000.")
    ] = None,
    max_answer: Annotated[
        int | None, setting("max_answer", "Bytes of the answer to a batch; by default 33,554,432.")
    ] = None,
    max_campaigns: Annotated[int | None, setting("max_campaigns", "Campaigns; by default 1,000.")] = None,
    max_page: Annotated[
        int | None, setting("max_page", "Characters of the events in one page; by default 4,194,304.")
    ] = None,
    max_streams: Annotated[int | None, setting("max_streams", "Live streams at a time; by default 200.")] = None,
    max_streams_per_key: Annotated[
        int | None, setting("max_streams_per_key", "Live streams of one key; by default 50.")
    ] = None,
    snapshot_every: Annotated[
        int | None, setting("snapshot_every", "Events between two snapshots; by default 20,000.")
    ] = None,
    tick: Annotated[
        float | None, setting("tick", "Seconds between looks at deadlines and other servers; by default 1.")
    ] = None,
    lock_timeout: Annotated[
        float | None, setting("lock_timeout", "Seconds that a transaction waits for another server's; by default 5.")
    ] = None,
    statement_timeout: Annotated[
        float | None, setting("statement_timeout", "Seconds that PostgreSQL gives a statement; by default 8.")
    ] = None,
    connect_timeout: Annotated[
        float | None, setting("connect_timeout", "Seconds in which PostgreSQL must be reached; by default 5.")
    ] = None,
    idle_timeout: Annotated[
        float | None,
        setting("idle_timeout", "Seconds until PostgreSQL ends a stopped server's transaction; by default 8."),
    ] = None,
    workers: Annotated[
        str | None, setting("workers", "Processes that serve, or auto for one per core; by default 1.")
    ] = None,
    takeover: Annotated[
        float | None, setting("takeover", "Seconds until another server takes over from a dead one; by default 5.")
    ] = None,
    advertise: Annotated[
        str | None,
        setting("advertise", "Where other servers of the same PostgreSQL reach this one.", "HOST:PORT"),
    ] = None,
    peer_port: Annotated[
        int | None, setting("peer_port", "Port to listen on for other servers; by default that of --advertise.")
    ] = None,
    archive: Annotated[
        str | None,
        setting("archive", "Folder that old events are moved to; by default they stay in the database.", "DIR"),
    ] = None,
    keep_events: Annotated[
        int | None,
        setting("keep_events", "Events of a campaign that --archive leaves in the database; by default 1,000,000."),
    ] = None,
    keep_ids: Annotated[
        float | None, setting("keep_ids", "Days for which ids of requests are remembered; by default 7.")
    ] = None,
    drain: Annotated[
        float | None, setting("drain", "Seconds that requests get to finish at the end; by default 10.")
    ] = None,
) -> None:
    """Serve campaigns over HTTP: ask for sets, tell what they were worth, watch them on a page.

    Every option can also be set by a variable (MATROID_BANDITS_PORT for --port) and in the config file (port = 9000);
    the command line comes first, then the variables, then the file. Several servers may share one database.
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
