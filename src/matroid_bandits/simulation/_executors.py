"""What a user may give as executor, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from matroid_bandits._util.checks import as_index
from matroid_bandits._util.extras import missing
from matroid_bandits._util.text import shown
from matroid_bandits._util.threads import n_threads
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._clusters import Dask, Ray
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._processes import Processes
from matroid_bandits.simulation._worker import Report
from matroid_bandits.simulation._workers import Remote, Threads, Workers

#: What `simulate` takes as executor; Any stands for a Dask Client, whose package need not be there.
ExecutorChoice: TypeAlias = int | Literal["ray"] | Executor | Any | None

_DASK = "dask://"


def workers_of(executor: Any, jobs: Sequence[Job], report: Report) -> Workers:
    """The workers that a user's `executor` stands for; `report` is told of episodes on threads of ours."""
    if executor is None:
        return Threads(max(1, min(n_threads(), sum(job.n_runs for job in jobs))), report)
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, pool=executor)
    if executor == "ray" and isinstance(executor, str):
        return Ray(jobs)
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return Dask(executor, jobs)
    if isinstance(executor, Executor):
        return Remote(executor, jobs, f"the executor given, a {type(executor).__name__},")
    try:
        n = as_index(executor)
    except TypeError:
        n = 0
    if n < 1:
        raise SimulationError(
            "expected executor to be None (threads), a number of processes of at least 1, a "
            f'concurrent.futures.Executor, a Dask Client or "ray"; got {shown(executor)}'
        )
    return Processes(n, jobs)


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
