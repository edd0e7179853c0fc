"""The command line: parse, call the library, print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from matroid_bandits._version import __version__
from matroid_bandits.exceptions import MatroidBanditsError

try:
    import typer
    from typer.core import TyperGroup
except ImportError:
    raise SystemExit("the command line needs typer and rich: pip install 'matroid-bandits[experiments]'") from None

if TYPE_CHECKING:
    from rich.console import Console

    from matroid_bandits.experiments import Experiment, Report
    from matroid_bandits.experiments._blocks import Chapter, Table

_EXIT_USAGE = 2
_EXIT_INTERRUPTED = 130
_COLORS = {"holds": "green", "does not hold": "red", "undecided": "cyan"}


class _Commands(TyperGroup):
    """Says what is wrong in one sentence: 2 for the command line itself, 1 for what it asked for."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except MatroidBanditsError as error:
            _complain(str(error))
            code = 1
        except Exception as error:
            # Not `except UsageError`: typer brings its own copy of click, or uses the one installed.
            if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
                raise
            message = error.format_message().rstrip(".")
            context = getattr(error, "ctx", None)
            hint = f" Try: {context.command_path} --help" if context is not None else ""
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(error.format_message())
            else:
                _complain(f"{' '.join(message.split())}.{hint}")
            code = int(error.exit_code)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn the best basis of a matroid: the paper's experiments, and problems of your own.",
    epilog="Start with: matroid-bandits reproduce --quick",
)
data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The paper's data sets: what is here, how to get the rest.",
    epilog="Example: matroid-bandits data list",
)
app.add_typer(data_app, name="data")


def _check_seed(seed: int | None) -> int | None:
    if seed is not None and not 0 <= seed < 2**64:
        raise typer.BadParameter(f"expected an integer from 0 to 2**64 - 1, got {seed}")
    return seed


_Runs = Annotated[int | None, typer.Option("--runs", min=1, metavar="N", help="Independent runs of each policy.")]
_Episodes = Annotated[int | None, typer.Option("--episodes", min=1, metavar="N", help="Episodes of each run.")]
_Seed = Annotated[
    int | None, typer.Option("--seed", callback=_check_seed, metavar="N", help="Seed of all random numbers.")
]
_Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Data folder; by default $MATROID_BANDITS_DATA, then the user's cache."
    ),
]


def main() -> None:
    """Entry point of ``matroid-bandits``."""
    app(prog_name="matroid-bandits")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"matroid-bandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: matroid-bandits reproduce graphic --runs 50 --out my-report")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="graphic|transversal|linear", help="Which experiments; all three by default."),
    ] = None,
    runs: _Runs = None,
    episodes: _Episodes = None,
    seed: _Seed = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the report.")] = Path("report"),
    data: _Data = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs: some seconds.")] = False,
) -> None:
    """Run the paper's experiments (Sections 5.1 to 5.3) and report ours beside its figures.

    Prints the tables and writes index.html, results.json and figures/ to the report folder. Where the paper's
    data is not found, stand-ins take its place and are marked as such.
    """
    from matroid_bandits.experiments import EXPERIMENTS, Report

    for name in names or []:
        if name not in EXPERIMENTS:
            raise typer.BadParameter(f"expected graphic, transversal or linear; got {name!r}")
    chosen = [experiment for name, experiment in EXPERIMENTS.items() if not names or name in names]
    sized = [experiment.resized(n_episodes=episodes, n_runs=runs, seed=seed, quick=quick) for experiment in chosen]
    report = Report(out, _TITLE, _LEAD, _command())
    _run_all(sized, report, data)


@app.command(epilog="Example: matroid-bandits simulate examples/graph.toml --runs 100")
def simulate(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.toml", help="The problem; see the examples folder.")],
    runs: _Runs = None,
    episodes: _Episodes = None,
    seed: _Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the report; by default report/PROBLEM.")
    ] = None,
) -> None:
    """Race policies on a problem of your own: a TOML file that names a matroid, weights and policies.

    The matroid comes from a CSV file: a graph's edges, items with categories, pairs, feature vectors, or plain
    items. Prints a table and writes a report like reproduce does.
    """
    from matroid_bandits.experiments import Report, read_problem

    experiment = read_problem(problem).resized(n_episodes=episodes, n_runs=runs, seed=seed)
    folder = Path("report") / problem.stem if out is None else out
    lead = "A problem of one's own: policies that learn the best basis of a matroid, raced."
    _run_all([experiment], Report(folder, experiment.title, lead, _command()), None)


@data_app.command("list", epilog="Example: matroid-bandits data list --data my-data")
def list_data(data: _Data = None) -> None:
    """Show which data sets are here, where from, and how to get the others."""
    from matroid_bandits.experiments import list_datasets

    console = _console()
    for status in list_datasets(data):
        console.print(f"[bold]{status.name}[/]: {status.title}")
        if status.is_present:
            console.print(f"  [green]present[/] in {status.folder}", soft_wrap=True)
        else:
            console.print("  [yellow]not here[/]; a stand-in is used in its place")
            console.print(f"  to get it: {status.how}")
        console.print(f"  [dim]terms: {status.terms}[/]")


@data_app.command("check", epilog="Example: matroid-bandits data check --data my-data")
def check_data(data: _Data = None) -> None:
    """Compare the size and sha256 of every data file with the known ones; exit code 1 when one differs."""
    from rich.table import Table

    from matroid_bandits.experiments import check

    table = Table(box=None, pad_edge=False)
    for column in ("data set", "file", "state"):
        table.add_column(column, overflow="fold")
    wrong = []
    for status in check(data):
        for file in status.files:
            color = "green" if file.state == "ok" else "yellow" if file.state == "missing" else "red"
            need = "" if file.is_needed or file.state != "missing" else " (not needed)"
            table.add_row(status.name, str(file.path), f"[{color}]{file.state}[/]{need}")
        if not status.is_sound:
            wrong.append(status.name)
    _console().print(table)
    if wrong:
        _complain(
            f"{' and '.join(wrong)}: files differ from the known ones; remove them and fetch or place them again."
        )
        raise typer.Exit(1)


@data_app.command(epilog="Example: matroid-bandits data fetch movielens")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="movielens or rocketfuel; kiva is placed by hand.")],
    url: Annotated[str | None, typer.Option("--url", help="Another address of the publisher's archive.")] = None,
    data: _Data = None,
) -> None:
    """Download a data set from its publisher, after showing its terms; an interrupted download is resumed."""
    from matroid_bandits import experiments

    console = _console()
    status = {status.name: status for status in experiments.list_datasets(data)}.get(name)
    if status is None:
        raise typer.BadParameter(f"expected movielens, rocketfuel or kiva; got {name!r}")
    console.print(f"[bold]{status.title}[/]\nTerms: {status.terms}")
    with _download_bar(console) as progress:
        folder = experiments.fetch(name, data, url=url, progress=progress)
    console.print(f"[green]{name} is in {folder}[/]", soft_wrap=True)


# ---------------------------------------------------------------------------------------------------------
# Running and printing

_TITLE = "Matroid Bandits, run again"
_LEAD = (
    "The three experiments of Kveton, Wen, Ashkan, Eydgahi and Eriksson,"
    ' <a href="https://arxiv.org/abs/1403.5045">Matroid Bandits: Fast Combinatorial Optimization with Learning</a>'
    " (UAI 2014): ours beside the paper's."
)


def _run_all(experiments: Sequence[Experiment], report: Report, data: Path | None) -> None:
    from matroid_bandits.experiments import run

    console = _console()
    done: list[str] = []
    try:
        for experiment in experiments:
            with _bar(console, experiment.title) as progress:
                outcome = run(experiment, data, progress)
            chapter = report.add(outcome)
            done.append(experiment.name)
            _print_chapter(console, experiment, chapter)
    except KeyboardInterrupt:
        left = ", ".join(experiment.name for experiment in experiments if experiment.name not in done)
        kept = f"{report.folder} holds {', '.join(done)}" if done else "nothing was finished"
        _complain(f"interrupted: {kept}; not run to the end: {left}.")
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    console.print(f"[bold]{report.folder / 'index.html'}[/]  [dim]{report.wall_time:.0f} s[/]", soft_wrap=True)


def _print_chapter(console: Console, experiment: Experiment, chapter: Chapter) -> None:
    from matroid_bandits.experiments._blocks import Claim, Table, Text

    section = f" (Section {experiment.section})" if experiment.section else ""
    console.rule(f"[bold]{experiment.title}[/]{section}", align="left")
    console.print(f"[dim]{experiment.n_runs} runs of {experiment.n_episodes:,} episodes, seed {experiment.seed}[/]\n")
    for block in chapter.blocks:
        if isinstance(block, Table):
            _print_table(console, block)
        elif isinstance(block, Claim):
            mark = _standin_mark(block.is_standin)
            console.print(f"[{_COLORS[block.verdict]}]{block.verdict}[/]: {block.text}{mark}")
            console.print(f"[dim]{block.evidence}[/]\n")
        elif isinstance(block, Text):
            console.print(f"{block.text}\n")


def _print_table(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable

    from matroid_bandits.experiments._blocks import STANDIN_NOTE

    notes = [note for note in (table.note, STANDIN_NOTE if table.is_standin else "") if note]
    shown = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    last = ""
    has_groups = any(column.group for column in table.columns)
    for column in table.columns:
        group = column.group if column.group != last else ""
        last = column.group
        header = f"{group}\n{column.name}" if has_groups else column.name
        shown.add_column(
            header,
            justify="left" if column.is_text else "right",
            style="yellow" if column.is_paper else None,
            min_width=max(len(word) for word in header.replace("\n", " ").split(" ")),
        )
    for row in table.texts():
        shown.add_row(*(text.replace("\u00a0", "") for text in row))
    console.print(f"[bold]{table.title}[/]{_standin_mark(table.is_standin)}")
    console.print(shown)
    if notes:
        console.print(f"[dim]{' '.join(notes)}[/]")
    console.print()


def _standin_mark(is_standin: bool) -> str:
    from matroid_bandits.experiments._blocks import STANDIN

    return f" [bold yellow]({STANDIN})[/]" if is_standin else ""


@contextmanager
def _bar(console: Console, title: str) -> Iterator[Any]:
    """A line with what is being played, a bar and the time left; it vanishes when done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"{title}: loading", total=None)

        def update(what: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield update


@contextmanager
def _download_bar(console: Console) -> Iterator[Any]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("download", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _complain(sentence: str) -> None:
    typer.echo(f"matroid-bandits: {sentence}", err=True)


def _command() -> str:
    """What was typed, without the folder the program is in."""
    return shlex.join(["matroid-bandits", *sys.argv[1:]])
