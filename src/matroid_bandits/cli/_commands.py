"""The application with all its commands."""

from matroid_bandits._util.extras import missing

try:
    import typer  # noqa: F401 - the files below need it, and a person without it a sentence
except ImportError:
    raise missing("the command line needs typer and rich", "cli") from None

from matroid_bandits.cli import (  # noqa: F401 - each adds its commands
    _campaign,
    _data,
    _evaluate,
    _identify,
    _key,
    _reproduce,
    _schema,
    _serve,
    _simulate,
    _sweep,
)
from matroid_bandits.cli._app import app, flushed

__all__ = ["app", "flushed"]
