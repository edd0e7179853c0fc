"""``matroid-bandits data``: what is here, how to get the rest."""

from __future__ import annotations

from typing import Annotated

import typer

from matroid_bandits.cli._app import EXIT_INTERRUPTED, app, complain
from matroid_bandits.cli._options import DataOption
from matroid_bandits.cli._progress import download_bar

data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Manage the paper's data sets: list, check and download them. Everything works without"
    " them, on stand-ins that are marked as such.",
    epilog="Example: matroid-bandits data list",
)
app.add_typer(data_app, name="data")


@data_app.command("list", epilog="Example: matroid-bandits data list --data my-data")
def list_data(data: DataOption = None) -> None:
    """List the data sets, where each was found, and how to get the others."""
    from matroid_bandits.datasets import list_datasets
    from matroid_bandits.reporting import open_console, styled

    console = open_console()
    for status in list_datasets(data):
        console.print(styled((status.name, "bold"), f": {status.title}"))
        if status.is_present:
            console.print(styled("  ", ("present", "green"), f" in {status.folder}"), soft_wrap=True)
        else:
            instead = "a stand-in is used in its place" if data is None else "runs that need it end with an error"
            console.print(styled("  ", ("not here", "yellow"), f" in {status.folder}; {instead}"), soft_wrap=True)
            console.print(styled(f"  to get it: {status.how}"), soft_wrap=True)
        console.print(styled((f"  terms: {status.terms}", "dim")))


@data_app.command("check", epilog="Example: matroid-bandits data check --data my-data")
def check_data(data: DataOption = None) -> None:
    """Compare every data file with the published one, by size and sha256.

    The exit code is 1 when a file differs, or when there is no data at all; single data sets may be missing.
    """
    from rich.table import Table
    from rich.text import Text

    from matroid_bandits.datasets import check
    from matroid_bandits.reporting import open_console, styled

    table = Table(box=None, pad_edge=False)
    for column in ("data set", "file", "state"):
        table.add_column(column, overflow="fold", no_wrap=column == "data set")
    wrong = []
    statuses = check(data)
    for status in statuses:
        for file in status.files:
            color = "green" if file.state == "ok" else "yellow" if file.state == "missing" else "red"
            need = "" if file.is_needed or file.state != "missing" else " (not needed)"
            table.add_row(status.name, Text(str(file.path)), styled((file.state, color), need))
        if not status.is_sound:
            wrong.append(status.name)
    open_console().print(table)
    if wrong:
        complain(
            f"{' and '.join(wrong)}: files differ from the known ones; remove them and fetch or place them again."
        )
        raise typer.Exit(1)
    if all(file.state == "missing" for status in statuses for file in status.files):
        complain("there is no data to check; matroid-bandits data list says how to get it.")
        raise typer.Exit(1)


@data_app.command(epilog="Example: matroid-bandits data fetch movielens")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="movielens or rocketfuel; kiva is placed by hand.")],
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Alternative URL of the publisher's archive.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Download a data set from its publisher, after showing its terms; an interrupted download is resumed."""
    from matroid_bandits import datasets
    from matroid_bandits.reporting import open_console, styled

    console = open_console()
    if name not in datasets.SOURCES:
        raise typer.BadParameter(f"expected movielens, rocketfuel or kiva; got {name!r}")
    source = datasets.SOURCES[name]
    console.print(styled((source.title, "bold"), f"\nTerms: {source.terms}"))
    try:
        with download_bar() as progress:
            folder = datasets.fetch(name, data, url=url, progress=progress)
    except KeyboardInterrupt:
        complain("interrupted: what came is kept, and the next fetch goes on from there.")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    console.print(styled((f"{name} is in {folder}", "green")), soft_wrap=True)
