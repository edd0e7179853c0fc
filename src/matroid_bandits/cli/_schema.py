"""``matroid-bandits schema``: what a problem file may say, for editors and services."""

from __future__ import annotations

import json

import typer

from matroid_bandits.cli._app import app


@app.command(epilog="Example: matroid-bandits schema > problem.schema.json")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors that complete and check them.

    TOML and JSON files share it. Keys that read a file are marked with x-reads-file, the one that imports code with
    x-imports-code.
    """
    from matroid_bandits.specs import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
