"""Simulate, report and print, one chapter after the other; Ctrl-C loses nothing that was computed to its end."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from matroid_bandits.cli import _progress
from matroid_bandits.cli._app import EXIT_INTERRUPTED, complain

if TYPE_CHECKING:
    from matroid_bandits.reporting import Chapter, Report


@dataclass(frozen=True)
class Job:
    """Something to simulate and report on: `play` takes long and may be interrupted, `write` tells what it found."""

    name: str
    title: str
    play: Callable[[_progress.Update], Any]
    write: Callable[[Any], Chapter]


def run_jobs(names: Sequence[str], load: Callable[[], Iterable[Job]], report: Report) -> None:
    """Run and report the jobs of these names; all are loaded first, so that a mistake there costs no simulation."""
    from matroid_bandits._util.plots import matplotlib_parts
    from matroid_bandits.reporting import open_console, print_chapter, styled

    matplotlib_parts()  # raises where it is missing, before anything is simulated
    console = open_console()
    done: list[str] = []
    try:
        with _progress.run_bar("All data"):
            jobs = list(load())
        for job in jobs:
            chapter = _run_job(job, report, done)
            print_chapter(console, chapter)
    except KeyboardInterrupt:
        left = ", ".join(name for name in names if name not in done)
        kept = f"{report.folder} holds {', '.join(done)}" if done else "nothing was finished"
        complain(f"interrupted: {kept}{f'; not run to the end: {left}' if left else ''}.")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    console.print(
        styled((str(report.folder / "index.html"), "bold"), (f"  {report.wall_time:.0f} s", "dim")), soft_wrap=True
    )


@contextmanager
def warnings_told() -> Iterator[None]:
    """Say the warnings of a sweep and of simulations in a sentence each."""
    from matroid_bandits.exceptions import ScaleWarning, SweepWarning

    with warnings.catch_warnings():
        for category in (ScaleWarning, SweepWarning):
            warnings.simplefilter("always", category)
        usual = warnings.showwarning

        def tell(message: Any, category: Any, *rest: Any, **more: Any) -> None:
            if issubclass(category, (ScaleWarning, SweepWarning)):
                complain(f"{message}.")
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = tell
        yield


def typed_command() -> str:
    """What was typed on the command line, without the folder the program is in."""
    return shlex.join(["matroid-bandits", *sys.argv[1:]])


def _run_job(job: Job, report: Report, done: list[str]) -> Chapter:
    """Play a job and write its chapter, which is written too when Ctrl-C comes right after the last episode."""
    played = None
    try:
        with _progress.run_bar(job.title) as progress:
            played = job.play(progress)
    finally:
        if played is not None:
            with _uninterrupted():
                chapter = job.write(played)
                report.add(chapter)
                done.append(job.name)
    return chapter


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done."""
    is_main = threading.current_thread() is threading.main_thread()  # signals go to no other
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pending: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pending.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pending:
        raise KeyboardInterrupt
