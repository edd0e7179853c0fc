"""``matroid-bandits campaign``: the logs of campaigns, exported, backed up and restored."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits._util.files import check_not_device, replacing
from matroid_bandits.cli._app import app
from matroid_bandits.cli._serve import ConfigOption, DbOption, read_settings, setting
from matroid_bandits.exceptions import DataError, MatroidBanditsError

if TYPE_CHECKING:
    from matroid_bandits.service import Database

campaign_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Manage campaigns of the service: create, change, end; export and restore their logs.",
    epilog="Example: matroid-bandits campaign export front-page > front-page.jsonl",
)
app.add_typer(campaign_app, name="campaign")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.")]
Trust = Annotated[
    bool,
    typer.Option("--trust-log", metavar="", help="Accept logged decisions that this machine would make differently."),
]
ArchiveOption = Annotated[
    str | None,
    setting("archive", "Folder or object store of archived events, as given to serve --archive.", "DIR"),
]


class ExportFormat(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    PARQUET = "parquet"


#: For commands that may be the first to use a database.
New = Annotated[bool, typer.Option("--new", metavar="", help="Create the database if it does not exist.")]


@contextlib.contextmanager
def opened(db: str | None, config: Path | None, is_new: bool | None = None) -> Iterator[Database]:
    """The database that a command is about, created only where the command was told so."""
    # `is_new` is what its option `--new` says; None for a command without it.
    from matroid_bandits.service import Database

    database = Database(read_settings(config, {"db": db}).db)
    try:
        if not is_new and not database.exists():
            hint = "" if is_new is None else "; --new creates it"
            raise DataError(f"expected a database of campaigns, got {database}, where there is none{hint}")
        database.open()
        yield database
    finally:
        database.close()


@campaign_app.command("list", epilog="Example: matroid-bandits campaign list")
def list_campaigns(db: DbOption = None, config: ConfigOption = None) -> None:
    """List all campaigns with their status and the number of events, decisions and pending decisions."""
    with opened(db, config) as database, database.reading() as connection:
        for row in database.rows(connection):
            reason = f": {row.reason}" if row.reason else ""
            counts = f"{row.seq} events, {row.decisions} decisions, {row.waiting} waiting"
            counts += f", {row.alarms} alarms" if row.alarms else ""
            typer.echo(f"{row.name}  {row.status}{reason}  {counts}")


File = Annotated[Path, typer.Argument(metavar="CAMPAIGN.toml", help="A campaign file, TOML or JSON.")]


@campaign_app.command(epilog="Example: matroid-bandits campaign create front-page.toml --new")
def create(file: File, new: New = False, db: DbOption = None, config: ConfigOption = None) -> None:
    """Create a campaign from a file; running servers pick it up."""
    from matroid_bandits.service import create_campaign
    from matroid_bandits.specs import read_campaign

    spec, place = read_campaign(file)
    with opened(db, config, new) as database:
        create_campaign(database, spec, place, read_settings(config, {"db": db}))
    typer.echo(f"{spec.name} is created.")


@campaign_app.command("apply", epilog="Example: matroid-bandits campaign apply front-page.toml --dry-run")
def apply_file(
    file: File,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Print the differences, and change nothing.")
    ] = False,
    restart: Annotated[
        bool,
        typer.Option("--restart", metavar="", help="Discard past observations, for a policy that cannot use them."),
    ] = False,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Apply an edited campaign file: policy, hold-out, items, title, answers, answer window, default.

    Every difference is printed. Past observations are kept; settings missing in the file get their defaults.
    """
    from matroid_bandits.service import apply_campaign, in_words
    from matroid_bandits.specs import read_campaign

    spec, place = read_campaign(file)
    with opened(db, config) as database:
        settings = read_settings(config, {"db": db})
        found = apply_campaign(database, spec, place, is_dry=dry_run, restart=restart, settings=settings)
    for line in in_words(found):
        typer.echo(line)
    done = "would differ" if dry_run else "was applied"
    typer.echo(f"{spec.name}: {len(found)} {done}." if found else f"{spec.name}: nothing differs.")


@campaign_app.command(epilog="Example: matroid-bandits campaign pause front-page")
def pause(name: Name, db: DbOption = None, config: ConfigOption = None) -> None:
    """Pause a campaign: asks are refused, feedback is still accepted."""
    from matroid_bandits.service import move_campaign

    with opened(db, config) as database:
        move_campaign(database, name, "pause")
    typer.echo(f"{name} is paused.")


@campaign_app.command(epilog="Example: matroid-bandits campaign archive front-page")
def archive(name: Name, db: DbOption = None, config: ConfigOption = None) -> None:
    """End a campaign permanently; it can still be read."""
    from matroid_bandits.service import move_campaign

    with opened(db, config) as database:
        move_campaign(database, name, "archive")
    typer.echo(f"{name} is archived.")


@campaign_app.command(epilog="Example: matroid-bandits campaign delete front-page --yes")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", metavar="", help="Do not ask for confirmation.")] = False,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Delete a campaign with its log permanently, and revoke its keys; the name becomes free, archives stay."""
    from matroid_bandits.service import delete_campaign

    with opened(db, config) as database:
        if not yes:
            typer.confirm(f"Remove {name} and all that was learnt?", abort=True)
        delete_campaign(database, name)
    typer.echo(f"{name} is deleted.")


@campaign_app.command(epilog="Example: matroid-bandits campaign export front-page > front-page.jsonl")
def export(
    name: Name,
    form: Annotated[
        ExportFormat,
        typer.Option(
            "--format", help="jsonl for the events, or parquet for a table with a row per decision and item."
        ),
    ] = ExportFormat.JSONL,
    archive: ArchiveOption = None,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Print a campaign's log as JSON Lines: a header, the events, and a line with a checksum.

    Where the first events are in archives, the lines begin with a snapshot; with --archive they are all events.
    """
    from matroid_bandits.service import Archive, export_campaign

    folder = read_settings(config, {"archive": archive}).archive
    with opened(db, config) as database:
        lines = export_campaign(database, name, None if folder is None else Archive(folder))
        if form is ExportFormat.PARQUET:
            _print_parquet(lines)
            return
        for line in lines:
            typer.echo(line)


def _print_parquet(lines: Iterable[str]) -> None:
    from matroid_bandits.evaluation import read_log

    if sys.stdout.isatty():
        raise DataError("expected standard output to be a file or a pipe for Parquet, got a terminal")
    packed = io.BytesIO()
    read_log(lines).to_parquet(packed)
    sys.stdout.buffer.write(packed.getvalue())


@campaign_app.command(epilog="Example: matroid-bandits campaign backup monday.jsonl")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file, replaced atomically.")],
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the logs of all campaigns to one file while servers run, without keys and request ids."""
    from matroid_bandits.service import backup as lines

    with opened(db, config) as database, replacing(file) as target:
        for line in lines(database):
            target.write(f"{line}\n".encode())


@campaign_app.command(epilog="Example: matroid-bandits campaign restore monday.jsonl --db elsewhere.db --new")
def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File written by export or backup; - for standard input.")
    ],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="New name for the campaign, if the file has only one.")
    ] = None,
    trust_log: Trust = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", metavar="", help="Skip campaigns that cannot be restored.")
    ] = False,
    new: New = False,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Create the campaigns of a file by replaying their logs: all of them, or none."""
    from matroid_bandits.service import restore as restored

    def leave_out(name: str, error: MatroidBanditsError) -> None:
        typer.echo(f"{name} is left out: {error}", err=True)

    with _lines(file) as lines, opened(db, config, new) as database:
        for restored_name in restored(
            database, lines, name=name, trust=trust_log, on_broken=leave_out if skip_broken else None
        ):
            typer.echo(f"{restored_name} is restored.")


@campaign_app.command(epilog="Example: matroid-bandits campaign resume front-page --trust-log")
def resume(name: Name, trust_log: Trust = False, db: DbOption = None, config: ConfigOption = None) -> None:
    """Resume a paused campaign; with --trust-log, one that was stopped because its log does not replay here."""
    from matroid_bandits.service import move_campaign

    with opened(db, config) as database:
        move_campaign(database, name, "trust" if trust_log else "resume")
    typer.echo(f"{name} goes on.")


@campaign_app.command(epilog="Example: matroid-bandits campaign acknowledge front-page")
def acknowledge(name: Name, db: DbOption = None, config: ConfigOption = None) -> None:
    """Acknowledge all alarms of a campaign; metrics and the page show only later ones."""
    from matroid_bandits.service import move_campaign

    with opened(db, config) as database:
        move_campaign(database, name, "acknowledge")
    typer.echo(f"The alarms of {name} are acknowledged.")


@campaign_app.command(epilog="Example: matroid-bandits campaign verify front-page --archive old-events")
def verify(
    name: Name,
    archive: ArchiveOption = None,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Replay a campaign from its first event, archives included, and compare decisions, hashes and snapshots."""
    from matroid_bandits.service import Archive, verify_campaign

    folder = read_settings(config, {"archive": archive}).archive
    with opened(db, config) as database:
        found = verify_campaign(
            database,
            name,
            None if folder is None else Archive(folder),
            lambda seq, last: typer.echo(f"event {seq:,} of {last:,}", err=True),
        )
    archived = f" ({found.n_archived:,} of them archived)" if found.n_archived else ""
    typer.echo(
        f"{name} is sound: {found.n_events:,} events{archived} lead to the same {found.n_decisions:,} decisions "
        f"and to {found.n_snapshots} snapshots."
    )


@campaign_app.command(epilog="Example: matroid-bandits campaign uplift front-page")
def uplift(
    name: Name,
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="Print JSON, with all windows and other intervals.")
    ] = False,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Print the learner's uplift over its control in the last 7 days: the sentence of the campaign's page."""
    from matroid_bandits.service import campaign_uplift

    with opened(db, config) as database:
        found = campaign_uplift(database, name)
    lines = [found["sentence"], *found["notes"], *filter(None, [found["shown"]])]
    typer.echo(json.dumps(found, indent=1) if as_json else "\n".join(lines))


@campaign_app.command(epilog="Example: matroid-bandits campaign repair front-page rest.jsonl")
def repair(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file for the removed events.")],
    after: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of the last event to keep; by default the last one before an unreadable event.",
        ),
    ] = None,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove events from the first unreadable one on, save them to a file, and resume the campaign."""
    from matroid_bandits.service import repair as repaired

    def save(lines: Iterable[str]) -> None:
        with replacing(file) as target:
            for line in lines:
                target.write(f"{line}\n".encode())

    with opened(db, config) as database:
        last = repaired(database, name, save, after=after)
    typer.echo(f"{name} goes on after event {last}; what came later is in {file}.")


@contextlib.contextmanager
def _lines(file: Path) -> Iterator[Any]:
    if str(file) == "-":
        yield sys.stdin
        return
    try:
        check_not_device(file)
        with open(file, encoding="utf-8") as source:
            yield source
    except MatroidBanditsError:  # of what is done with the lines; some are OSErrors
        raise
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: expected lines of JSON in UTF-8, got other bytes") from error
