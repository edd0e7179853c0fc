"""The command line: parse, call the library, print."""

from __future__ import annotations

import io
import shlex
import signal
import sys
import threading
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
    from rich.table import Table as RichTable
    from rich.text import Text

    from matroid_bandits.experiments import Experiment, Report
    from matroid_bandits.experiments._blocks import Chapter, Table

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

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # where no command has more to say about it
            _complain("interrupted.")
            raise typer.Exit(_EXIT_INTERRUPTED) from None


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


def _check_number(param: typer.CallbackParam, value: int | None) -> int | None:
    if value is not None:
        from matroid_bandits.experiments._spec import out_of_range

        if message := out_of_range(str(param.name), value):
            raise typer.BadParameter(message)
    return value


def _number(option: str, help: str) -> Any:
    return typer.Option(option, callback=_check_number, metavar="N", help=help)


_Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data folder; by default the one named by MATROID_BANDITS_DATA, then the user's cache.",
    ),
]


def main() -> None:
    """Entry point of ``matroid-bandits``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters shows others, and nothing is lost
    app(prog_name="matroid-bandits")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"matroid-bandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, metavar="", help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: matroid-bandits reproduce graphic --runs 50 --out my-report")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="graphic|transversal|linear", help="Which experiments; all three by default."),
    ] = None,
    runs: Annotated[
        int | None,
        _number("--runs", "Runs of each policy; by default 100 (graphic), 20 (transversal), 20 (linear)."),
    ] = None,
    episodes: Annotated[
        int | None,
        _number(
            "--episodes", "Episodes of a run; by default 1,000 (graphic), 15,000 (transversal), 50,000 (linear)."
        ),
    ] = None,
    seed: Annotated[int | None, _number("--seed", "Seed of all random numbers; by default 2014.")] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the report.")] = Path("report"),
    data: _Data = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            metavar="",
            help="A taste in seconds: 10 runs of 1,000 episodes (graphic), 4 of 3,000 (transversal), 4 of 5,000"
            " (linear); --runs and --episodes override it.",
        ),
    ] = False,
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
    runs: Annotated[int | None, _number("--runs", "Runs of each policy, instead of the file's.")] = None,
    episodes: Annotated[int | None, _number("--episodes", "Episodes of each run, instead of the file's.")] = None,
    seed: Annotated[int | None, _number("--seed", "Seed of all random numbers, instead of the file's.")] = None,
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
    folder = Path("report") / experiment.name if out is None else out
    lead = "A problem of one's own: policies that learn the best basis of a matroid, raced."
    _run_all([experiment], Report(folder, experiment.title, lead, _command()), None)


@data_app.command("list", epilog="Example: matroid-bandits data list --data my-data")
def list_data(data: _Data = None) -> None:
    """Show which data sets are here, where from, and how to get the others."""
    from matroid_bandits.experiments import list_datasets

    console = _console()
    for status in list_datasets(data):
        console.print(_text((status.name, "bold"), f": {status.title}"))
        if status.is_present:
            console.print(_text("  ", ("present", "green"), f" in {status.folder}"), soft_wrap=True)
        else:
            instead = "a stand-in is used in its place" if data is None else "runs that need it end with an error"
            console.print(_text("  ", ("not here", "yellow"), f" in {status.folder}; {instead}"), soft_wrap=True)
            console.print(_text(f"  to get it: {status.how}"), soft_wrap=True)
        console.print(_text((f"  terms: {status.terms}", "dim")))


@data_app.command("check", epilog="Example: matroid-bandits data check --data my-data")
def check_data(data: _Data = None) -> None:
    """Compare the size and sha256 of every data file with the known ones; exit code 1 when one differs."""
    from rich.table import Table
    from rich.text import Text

    from matroid_bandits.experiments import check

    table = Table(box=None, pad_edge=False)
    for column in ("data set", "file", "state"):
        table.add_column(column, overflow="fold", no_wrap=column == "data set")
    wrong = []
    for status in check(data):
        for file in status.files:
            color = "green" if file.state == "ok" else "yellow" if file.state == "missing" else "red"
            need = "" if file.is_needed or file.state != "missing" else " (not needed)"
            table.add_row(status.name, Text(str(file.path)), _text((file.state, color), need))
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
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Another address of the publisher's archive.")
    ] = None,
    data: _Data = None,
) -> None:
    """Download a data set from its publisher, after showing its terms; an interrupted download is resumed."""
    from matroid_bandits import experiments
    from matroid_bandits.experiments._catalog import SOURCES

    console = _console()
    if name not in SOURCES:
        raise typer.BadParameter(f"expected movielens, rocketfuel or kiva; got {name!r}")
    console.print(_text((SOURCES[name].title, "bold"), f"\nTerms: {SOURCES[name].terms}"))
    try:
        with _download_bar(console) as progress:
            folder = experiments.fetch(name, data, url=url, progress=progress)
    except KeyboardInterrupt:
        _complain("interrupted: what came is kept, and the next fetch goes on from there.")
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    console.print(_text((f"{name} is in {folder}", "green")), soft_wrap=True)


# ---------------------------------------------------------------------------------------------------------
# Running and printing

_TITLE = "Matroid Bandits, run again"
_LEAD = (
    "The three experiments of Kveton, Wen, Ashkan, Eydgahi and Eriksson,"
    ' <a href="https://arxiv.org/abs/1403.5045">Matroid Bandits: Fast Combinatorial Optimization with Learning</a>'
    " (UAI 2014): ours beside the paper's."
)


def _run_all(experiments: Sequence[Experiment], report: Report, data: Path | None) -> None:
    """Run and report one after the other; Ctrl-C loses nothing that was computed to its end."""
    console = _console()
    done: list[str] = []
    try:
        with _bar(console, "All data"):
            ready = [experiment.loaded(data) for experiment in experiments]  # a mistake there costs no simulation
        for experiment in ready:
            _print_chapter(console, experiment, _run_one(console, experiment, report, done))
    except KeyboardInterrupt:
        left = ", ".join(experiment.name for experiment in experiments if experiment.name not in done)
        kept = f"{report.folder} holds {', '.join(done)}" if done else "nothing was finished"
        _complain(f"interrupted: {kept}{f'; not run to the end: {left}' if left else ''}.")
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    console.print(
        _text((str(report.folder / "index.html"), "bold"), (f"  {report.wall_time:.0f} s", "dim")), soft_wrap=True
    )


def _run_one(console: Console, experiment: Experiment, report: Report, done: list[str]) -> Chapter:
    from matroid_bandits.experiments import run

    outcome = None
    try:
        with _bar(console, experiment.title) as progress:
            outcome = run(experiment, None, progress)
    finally:
        if outcome is not None:
            with _uninterrupted():
                chapter = report.add(outcome)
                done.append(experiment.name)
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


def _print_chapter(console: Console, experiment: Experiment, chapter: Chapter) -> None:
    from matroid_bandits.experiments._blocks import Claim, Table, Text
    from matroid_bandits.experiments._tables import counted

    section = f" (Section {experiment.section})" if experiment.section else ""
    console.rule(_text((experiment.title, "bold"), section), align="left")
    size = f"{counted(experiment.n_runs, 'run')} of {counted(experiment.n_episodes, 'episode')}"
    console.print(_text((f"{size}, seed {experiment.seed}\n", "dim")))
    for block in chapter.blocks:
        if isinstance(block, Table):
            _print_table(console, block)
        elif isinstance(block, Claim):
            mark = _standin_mark(block.is_standin)
            console.print(_text((block.verdict, _COLORS[block.verdict]), f": {block.text}", mark))
            console.print(_text((f"{block.evidence}\n", "dim")))
        elif isinstance(block, Text):
            console.print(_text(f"{block.text}\n"))


def _print_table(console: Console, table: Table) -> None:
    from matroid_bandits.experiments._blocks import STANDIN_NOTE

    notes = [note for note in (table.note, STANDIN_NOTE if table.is_standin else "") if note]
    console.print(_text((table.title, "bold"), _standin_mark(table.is_standin)))
    for part in _parts(table, console.width):
        console.print(part)
    if notes:
        console.print(_text((" ".join(notes), "dim")))
    console.print()


def _parts(table: Table, width: int) -> Iterator[RichTable]:
    """The table, or where it is too wide as many as needed one below the other, each with the first column."""
    from rich.cells import cell_len

    cells = [[text.replace("\u00a0", "") for text in column] for column in zip(*table.texts(), strict=True)]
    least, most = [], []
    for column, texts in zip(table.columns, cells, strict=True):
        lines = [column.group, column.name, *texts]
        most.append(max(map(cell_len, lines)))
        least.append(max(cell_len(word) for line in lines for word in line.split(" ")))
    # A word that leaves no room for anything else is broken.
    least[0] = min(least[0], max(1, width // 2 - 2))
    least[1:] = [min(size, max(1, width - least[0] - 2 * _GAP)) for size in least[1:]]
    part = [0]
    for at in range(1, len(least)):
        if len(part) > 1 and sum(least[c] + _GAP for c in (*part, at)) > width:
            yield _part(table, cells, part, _widths(part, least, most, width))
            part = [0]
        part.append(at)
    yield _part(table, cells, part, _widths(part, least, most, width))


_GAP = 2  # blanks that come with a column


def _widths(part: list[int], least: list[int], most: list[int], width: int) -> list[int]:
    """Share the room among the columns that want more than they need."""
    widths = [least[c] for c in part]
    for _ in range(width - sum(size + _GAP for size in widths)):
        wanting = [place for place, c in enumerate(part) if widths[place] < most[c]]
        if not wanting:
            break
        widths[max(wanting, key=lambda place: most[part[place]] / widths[place])] += 1
    return widths


def _part(table: Table, cells: list[list[str]], part: list[int], widths: list[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    last = ""
    has_groups = any(table.columns[c].group for c in part)
    for c, width in zip(part, widths, strict=True):
        column = table.columns[c]
        group = column.group if column.group != last else ""
        last = column.group
        shown.add_column(
            _text(f"{group}\n{column.name}" if has_groups else column.name),
            justify="left" if column.is_text else "right",
            style="yellow" if column.is_paper else "",
            overflow="fold",
            width=width,
        )
    for row in zip(*(cells[c] for c in part), strict=True):
        shown.add_row(*map(_text, row))
    return shown


def _standin_mark(is_standin: bool) -> tuple[str, str]:
    from matroid_bandits.experiments._blocks import STANDIN

    return (f" ({STANDIN})" if is_standin else "", "bold yellow")


@contextmanager
def _bar(console: Console, title: str) -> Iterator[Any]:
    """A line with what is being played, a bar and the time left; it vanishes when done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"{title}: loading", total=None)

        def update(what: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield update


@contextmanager
def _download_bar(console: Console) -> Iterator[Any]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("download", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _text(*parts: str | tuple[str, str]) -> Text:
    """Words, some with a style; nothing in them is taken for markup."""
    from rich.text import Text

    return Text.assemble(*parts)


def _complain(sentence: str) -> None:
    typer.echo(f"matroid-bandits: {sentence}", err=True)


def _command() -> str:
    """What was typed, without the folder the program is in."""
    return shlex.join(["matroid-bandits", *sys.argv[1:]])
