"""What a user may give as executor, and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from matroid_bandits._util.checks import as_index
from matroid_bandits._util.extras import missing
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._backend import Backend
from matroid_bandits.simulation._clusters import Dask, Ray
from matroid_bandits.simulation._local import Given, Processes, Threads

#: What `simulate` takes as executor; Any stands for a Dask Client, whose package need not be there.
ExecutorChoice: TypeAlias = int | Literal["ray"] | Executor | Any | None

_DASK = "dask://"


def backend_of(executor: Any) -> Backend:
    """The backend of what a user gave as `executor`; None, for threads of ours, is not among it."""
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, executor)
    if executor == "ray" and isinstance(executor, str):
        return Ray()
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return Dask(executor)
    if isinstance(executor, Executor):
        return Given(executor)
    try:
        n = as_index(executor)
    except TypeError:
        n = 0
    if n < 1:
        raise SimulationError(
            "expected executor to be None (threads), a number of processes of at least 1, a "
            f'concurrent.futures.Executor, a Dask Client or "ray"; got {shown(executor)}'
        )
    return Processes(n)


@contextmanager
def named_executor(text: str | None) -> Iterator[ExecutorChoice]:
    """Context manager of the executor named on the command line: a number of processes, "ray", or "dask://host:port".

    Examples
    --------
    >>> from matroid_bandits.simulation import named_executor
    >>> with named_executor("4") as executor:
    ...     executor
    4
    """
    if text is not None and text.startswith(_DASK):
        try:
            from distributed import Client
        except ImportError:
            raise missing("dask:// needs Dask", "dask") from None
        address = text.removeprefix(_DASK)
        try:
            client = Client(f"tcp://{address}", timeout=10)
        except (OSError, ValueError) as error:
            raise SimulationError(f"expected a Dask scheduler at {shown(address)}; got {error}") from error
        with client:
            yield client
    elif text is None or text == "ray":
        yield text
    elif text.isdecimal() and int(text) > 0:
        yield int(text)
    else:
        raise SimulationError(
            f'expected an executor to be a number of processes, "ray" or "dask://host:port"; got {shown(text)}'
        )
