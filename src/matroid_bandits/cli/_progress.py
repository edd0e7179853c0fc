"""What shows how far a command is, on standard error: bars, which vanish when done, or lines where that is a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from matroid_bandits._util.progress import Lines

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

#: Called with what is being done, how much of it is done, and how much there is.
Update = Callable[[str, int, int], None]


@contextmanager
def run_bar(title: str) -> Iterator[Update]:
    """A line with what is being played, a bar and the time left."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    with _bar(words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(f"{title}: loading", total=None)
        lines = Lines()

        def update(what: str, done: int, total: int) -> None:
            lines.title = title if what == title else f"{title}: {what}"
            bar.update(task, description=lines.title, completed=done, total=total)
            if bar.disable:
                lines(done, total)

        yield update


@contextmanager
def download_bar() -> Iterator[Callable[[int, int | None], None]]:
    """A bar with the bytes that came, the speed and the time left."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    with _bar(BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("download", total=None)
        lines = Lines("download")

        def update(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)
            if bar.disable:
                lines(done, total)

        yield update


def _bar(*columns: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
