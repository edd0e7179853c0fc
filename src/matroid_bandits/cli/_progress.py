"""What shows how far a command is: bars, which vanish when done and need a terminal, and a notice of compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: Called with what is being done, how much of it is done, and how much there is.
Update = Callable[[str, int, int], None]


@contextmanager
def run_bar(console: Console, title: str) -> Iterator[Update]:
    """A line with what is being played, a bar and the time left."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"{title}: loading", total=None)

        def update(what: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield update


@contextmanager
def compiling_announced(console: Console) -> Iterator[None]:
    """Say once that kernels are being compiled, where that happens; from then on they are found on disk."""
    from matroid_bandits.kernels.compiling import announced

    with announced(lambda: console.print("Compiling for this machine: some seconds, the first time only.")):
        yield


@contextmanager
def download_bar(console: Console) -> Iterator[Callable[[int, int | None], None]]:
    """A bar with the bytes that came, the speed and the time left."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("download", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
