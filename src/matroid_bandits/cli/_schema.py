"""``matroid-bandits schema``: what a problem file or a campaign file may say, for editors and services."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from matroid_bandits.cli._app import app


@app.command(epilog="Example: matroid-bandits schema > problem.schema.json")
def schema(
    what: Annotated[
        str, typer.Argument(metavar="problem|campaign", help="Of which files; by default problem files.")
    ] = "problem",
) -> None:
    """Print the JSON Schema of problem files, or of campaign files, for editors that complete and check them.

    TOML and JSON files share it. Keys that read a file are marked with x-reads-file, the one that imports code with
    x-imports-code.
    """
    from matroid_bandits.specs import CampaignSpec, SimulationSpec, json_schema

    models = {"problem": SimulationSpec, "campaign": CampaignSpec}
    if what not in models:
        raise typer.BadParameter(f"expected problem or campaign, got {what!r}")
    typer.echo(json.dumps(json_schema(models[what]), indent=2))
