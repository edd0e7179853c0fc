"""``--executor``: where runs are played, as it is written on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

_DASK = "dask://"


def _check(text: str | None) -> str | None:
    """Refuse what names no executor, as a mistake in the command line."""
    if text is None or text == "ray" or (text.isdecimal() and int(text) >= 1):
        return text
    if text.startswith(_DASK) and text.removeprefix(_DASK):
        return text
    raise typer.BadParameter(f"expected a number of processes, dask://host:8786 or ray; got {text!r}")


#: Where runs are played.
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="N|dask://HOST:PORT|ray",
        callback=_check,
        help="Play on N processes, on the Dask cluster of a scheduler, or on Ray; by default on threads.",
    ),
]


@contextmanager
def opened(text: str | None) -> Iterator[Any]:
    """The executor that was named, for as long as the block lasts; a Dask client is closed after it."""
    if text is None or text == "ray":
        yield text
    elif text.isdecimal():
        yield int(text)
    else:
        try:
            from distributed import Client
        except ImportError:
            from matroid_bandits.exceptions import MissingDependencyError

            raise MissingDependencyError("dask:// needs Dask: pip install 'matroid-bandits[dask]'") from None
        from matroid_bandits.exceptions import SimulationError

        try:
            client = Client(f"tcp://{text.removeprefix(_DASK)}", timeout="10s")
        except (OSError, ValueError) as error:
            raise SimulationError(f"expected a Dask scheduler at {text}, got none ({error})") from error
        with client:
            yield client
