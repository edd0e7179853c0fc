"""``matroid-bandits key``: credentials of the service."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from matroid_bandits.cli._app import app
from matroid_bandits.cli._campaign import New, opened
from matroid_bandits.cli._serve import ConfigOption, DbOption

key_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Manage API keys of the service: read, decide or admin. Without any key it serves this machine alone.",
    epilog="Example: matroid-bandits key create admin",
)
app.add_typer(key_app, name="key")


@key_app.command(epilog="Example: matroid-bandits key create decide --campaign front-page --rate 100")
def create(
    role: Annotated[str, typer.Argument(metavar="read|decide|admin", help="Role of the key: read, decide or admin.")],
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign", metavar="NAME", help="Restrict the key to one campaign, which may be created later."
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="Rate limit in requests per second, for each server.")
    ] = None,
    about: Annotated[str, typer.Option("--about", metavar="TEXT", help="Description of the key.")] = "",
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", help="Days until the key expires; by default never."),
    ] = None,
    new: New = False,
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Create a key and print it; it is stored hashed, so it is printed only this once."""
    from matroid_bandits.service import create_key

    with opened(db, config, new) as database:
        typer.echo(create_key(database, role, campaign=campaign, rate=rate, about=about, days=days))


@key_app.command("list", epilog="Example: matroid-bandits key list")
def list_them(db: DbOption = None, config: ConfigOption = None) -> None:
    """List all keys: id, role, campaign, dates of creation, last use and expiry, and whether they are revoked."""
    from matroid_bandits.service import list_keys

    with opened(db, config) as database:
        now = database.now()
        for key in list_keys(database):
            made = f"made {_day(key.created)}"
            used = "  never used" if key.used is None else f"  last used {_day(key.used, '%Y-%m-%d %H:%M')}"
            word = "" if key.expires is None else "until" if key.expires > now else "expired"
            ends = "" if key.expires is None else f"  {word} {_day(key.expires)}"
            rate = "" if key.rate is None else f"  {key.rate:g}/s"
            revoked = "" if key.revoked is None else "  revoked"
            who = f"{key.id}  {key.role}  {key.campaign or 'all campaigns'}"
            typer.echo(f"{who}  {made}{used}{ends}{rate}{revoked}  {key.about}".rstrip())


def _day(at: float, form: str = "%Y-%m-%d") -> str:
    return time.strftime(form, time.gmtime(at))


@key_app.command(epilog="Example: matroid-bandits key revoke 1a2b3c4d5e6f")
def revoke(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="The key's id: its part between the first two underscores.")
    ],
    db: DbOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a key; servers notice within two seconds, streams within four."""
    from matroid_bandits.service import revoke_key

    with opened(db, config) as database:
        revoke_key(database, id)
    typer.echo(f"{id} is revoked.")
