"""``matroid-bandits schema``: what problem, sweep and campaign files may say, for editors and services."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from matroid_bandits.cli._app import app


@app.command(epilog="Example: matroid-bandits schema > problem.schema.json")
def schema(
    what: Annotated[
        str,
        typer.Argument(
            metavar="problem|sweep|campaign|openapi|typescript",
            help="Kind of file, openapi for the service's API, or typescript for a client.",
        ),
    ] = "problem",
) -> None:
    """Print the JSON Schema of problem, sweep or campaign files, for editors that complete and check them.

    The same schema describes TOML and JSON files. Keys that read a file are marked with x-reads-file, the one that
    imports code with x-imports-code. openapi prints the document of the service's API, typescript a client for it.
    """
    if what in ("openapi", "typescript"):
        from matroid_bandits.service import api_document, typescript

        document = api_document()
        typer.echo(
            json.dumps(document, indent=2) if what == "openapi" else typescript(document), nl=what == "openapi"
        )
        return
    from matroid_bandits.specs import CampaignSpec, SimulationSpec, SweepSpec, json_schema

    models = {"problem": SimulationSpec, "sweep": SweepSpec, "campaign": CampaignSpec}
    if what not in models:
        raise typer.BadParameter(f"expected problem, sweep, campaign, openapi or typescript; got {what!r}")
    typer.echo(json.dumps(json_schema(models[what]), indent=2))
