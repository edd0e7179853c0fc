"""``matroid-bandits schema``: what problem, sweep and campaign files may say, for editors and services."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from matroid_bandits.cli._app import app


@app.command(epilog="Example: matroid-bandits schema > problem.schema.json")
def schema(
    what: Annotated[str, typer.Argument(metavar="problem|sweep|campaign", help="Which kind of file.")] = "problem",
) -> None:
    """Print the JSON Schema of problem, sweep or campaign files, for editors that complete and check them.

    TOML and JSON files share it. Keys that read a file are marked with x-reads-file, the one that imports code with
    x-imports-code.
    """
    from matroid_bandits.specs import CampaignSpec, SimulationSpec, SweepSpec, json_schema

    models = {"problem": SimulationSpec, "sweep": SweepSpec, "campaign": CampaignSpec}
    if what not in models:
        raise typer.BadParameter(f"expected problem, sweep or campaign; got {what!r}")
    typer.echo(json.dumps(json_schema(models[what]), indent=2))
