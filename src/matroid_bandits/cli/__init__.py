"""The command line, one file per command: parse the arguments, call the library, print the results."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

from matroid_bandits.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from matroid_bandits.cli._commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run ``matroid-bandits`` with the command-line arguments of this process.

    Examples
    --------
    >>> import subprocess, sys
    >>> code = "from matroid_bandits.cli import main; main()"
    >>> done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True)
    >>> done.stdout.startswith("matroid-bandits ")
    True
    """
    try:
        from matroid_bandits.cli._commands import app, flushed
    except MissingDependencyError as error:
        sys.exit(str(error))
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters shows others, and nothing is lost
    with flushed():
        app(prog_name="matroid-bandits")


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, which Python leaves as None."""
    # Writing to standard output is then an error, as to a full disk; and no file that is opened later takes its
    # place.
    for name, mode, flag in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flag), mode))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import the application, which needs typer, when it is first used."""
        if name != "app":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from matroid_bandits.cli._commands import app

        return app
