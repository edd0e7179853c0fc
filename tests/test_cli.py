"""The command line: what it prints, what it writes, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from matroid_bandits import __version__, cli, experiments
from matroid_bandits.exceptions import MatroidBanditsError
from test_fetch import server  # noqa: F401 - a fixture: a local server with a small archive

EXAMPLES = Path(__file__).parent.parent / "examples"
TINY = ["--runs", "1", "--episodes", "3"]


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """No data anywhere, and a folder of one's own to run in."""
    monkeypatch.delenv("MATROID_BANDITS_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)


def call(*arguments: str):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], prog_name="matroid-bandits")


def one_sentence(result) -> str:
    """What was said on stderr, which must be a line."""
    assert result.stderr.startswith("matroid-bandits: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("reproduce",),
        ("simulate",),
        ("data",),
        ("data", "list"),
        ("data", "fetch"),
        ("data", "check"),
    ],
)
def test_help(command):
    result = call(*command, "--help")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "Usage: matroid-bandits" in words
    assert "matroid-bandits " + (" ".join(command) or "reproduce") in words.split("Example", 1)[-1]


def test_help_tells_the_defaults():
    """They are written out, so that help is quick; here they are held against the experiments."""
    words = " ".join(call("reproduce", "--help").stdout.replace("│", " ").split())
    for name, experiment in experiments.EXPERIMENTS.items():
        n_episodes, n_runs = experiment.quick
        for text in (
            f"{experiment.n_runs} ({name})",
            f"{experiment.n_episodes:,} ({name})",
            f"{n_episodes:,} ({name})",
        ):
            assert text in words
        assert re.search(rf"\b{n_runs} (runs )?of {n_episodes:,}", words)
        assert f"by default {experiment.seed}." in words
    assert "--quick A taste" in words


def test_no_command_is_help():
    assert "Usage: matroid-bandits" in call().output


def test_version():
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"matroid-bandits {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nope"], "No such option: --nope"),
        (["reproduce", "--nope"], "No such option: --nope"),
        (["reproduce", "spanning"], "expected graphic, transversal or linear; got 'spanning'"),
        (["reproduce", "--runs", "0"], "--runs"),
        (["reproduce", "--runs", "many"], "--runs"),
        (["reproduce", "--episodes", "-1"], "--episodes"),
        (["reproduce", "--seed", "-1"], "--seed"),
        (["reproduce", "--seed", str(2**64)], "expected an integer from 0 to 2**64 - 1"),
        (["reproduce", "--episodes", str(10**22)], "expected an integer from 1 to 1,000,000,000, got 1000"),
        (["simulate", "x.toml", "--runs", str(10**20)], "expected an integer from 1 to 1,000,000, got 1000"),
        (["simulate"], "PROBLEM.toml"),
        (["data", "fetch"], "NAME"),
        (["data", "fetch", "imdb"], "expected movielens, rocketfuel or kiva; got 'imdb'"),
        (["data", "lst"], "lst"),
        (["nope"], "nope"),
    ],
)
def test_bad_options(arguments, words):
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in one_sentence(result)
    assert "--help" in result.stderr


def test_reproduce_on_standins(tmp_path):
    result = call("reproduce", *TINY)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for text in (
        "Routing networks",
        "Microfinance",
        "Diverse movies",
        "(stand-in data)",
        "629.88",
        "1221†",
        "undecided",
    ):
        assert text in words
    assert words.count("(stand-in data)") >= 8
    files = {str(path.relative_to(tmp_path)) for path in Path("report").resolve().rglob("*") if path.is_file()}
    assert files == {"report/index.html", "report/results.json"} | {
        f"report/figures/{name}.{kind}" for name in experiments.EXPERIMENTS for kind in ("svg", "png")
    }
    assert "report/index.html" in words


def test_reproduce_some_with_options():
    result = call("reproduce", "linear", *TINY, "--seed", "5", "--out", "there")
    assert result.exit_code == 0, result.output
    results = json.loads(Path("there/results.json").read_text())["experiments"]
    assert list(results) == ["linear"]
    assert [results["linear"][key] for key in ("runs", "episodes", "seed")] == [1, 3, 5]
    assert "Diverse movies" in Path("there/index.html").read_text()


def test_quick_is_shorter(monkeypatch):
    seen = []
    monkeypatch.setattr(experiments, "run", lambda experiment, *_: seen.append(experiment) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(cli.app, ["reproduce", "--quick", "--runs", "3"], catch_exceptions=False)
    assert (seen[0].n_episodes, seen[0].n_runs) == (experiments.EXPERIMENTS["graphic"].quick[0], 3)


def test_data_that_is_not_there(tmp_path):
    result = call("reproduce", "transversal", *TINY, "--data", tmp_path)
    assert result.exit_code == 1
    assert f"expected the file {tmp_path / 'kiva/loans.csv.gz'}" in one_sentence(result)


def test_data_is_loaded_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "run", lambda *_: 1 / 0)
    for asn in experiments.ROCKETFUEL_ASNS:
        file = tmp_path / f"mine/rocketfuel/{asn}/latencies.intra"
        file.parent.mkdir(parents=True)
        file.write_text("a b 1\nb a 1\n")
    result = call("reproduce", "--data", tmp_path / "mine")
    assert result.exit_code == 1
    assert "kiva: expected the file" in one_sentence(result)
    assert not Path("report").exists()


def test_a_folder_that_does_not_exist(tmp_path, monkeypatch):
    for command in (["reproduce", "linear", *TINY], ["data", "list"], ["data", "check"]):
        result = call(*command, "--data", tmp_path / "none")
        assert result.exit_code == 1
        assert "expected a data folder, got" in one_sentence(result)
    monkeypatch.setenv("MATROID_BANDITS_DATA", str(tmp_path / "none"))
    assert "expected a data folder (MATROID_BANDITS_DATA), got" in one_sentence(call("reproduce", "linear", *TINY))


def test_a_report_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    result = call("reproduce", "linear", *TINY, "--out", "file")
    assert result.exit_code == 1
    assert "cannot write a report to file" in one_sentence(result)


def test_interrupt_keeps_what_was_finished(monkeypatch):
    run = experiments.run

    def interrupted(experiment, *rest):
        if experiment.name == "linear":
            raise KeyboardInterrupt
        return run(experiment, *rest)

    monkeypatch.setattr(experiments, "run", interrupted)
    result = call("reproduce", "transversal", "linear", *TINY)
    assert result.exit_code == 130
    assert one_sentence(result) == (
        "matroid-bandits: interrupted: report holds transversal; not run to the end: linear.\n"
    )
    assert list(json.loads(Path("report/results.json").read_text())["experiments"]) == ["transversal"]
    assert "Microfinance" in Path("report/index.html").read_text()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("moment", ["while the bar goes", "while the chapter is written"])
def test_interrupt_after_the_last_episode_keeps_the_experiment(monkeypatch, moment):
    if moment == "while the bar goes":
        bar = cli._bar

        @contextmanager
        def interrupted_bar(console, title):
            with bar(console, title) as progress:
                yield progress
            if title != "All data":
                raise KeyboardInterrupt

        monkeypatch.setattr(cli, "_bar", interrupted_bar)
    else:
        add = experiments.Report.add

        def interrupted_add(report, outcome):
            signal.raise_signal(signal.SIGINT)
            return add(report, outcome)

        monkeypatch.setattr(experiments.Report, "add", interrupted_add)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    try:
        result = call("reproduce", "transversal", "linear", *TINY)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.exit_code == 130
    assert "report holds transversal; not run to the end: linear." in one_sentence(result)
    assert list(json.loads(Path("report/results.json").read_text())["experiments"]) == ["transversal"]
    assert Path("report/figures/transversal.png").exists()


def test_interrupt_elsewhere(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "read_problem", interrupted)
    result = call("simulate", "problem.toml")
    assert (result.exit_code, one_sentence(result)) == (130, "matroid-bandits: interrupted.\n")
    monkeypatch.setattr(experiments, "fetch", interrupted)
    result = call("data", "fetch", "movielens")
    assert result.exit_code == 130
    assert "the next fetch goes on from there" in one_sentence(result)


def test_other_threads_get_no_signals():
    results = []
    thread = threading.Thread(target=lambda: results.append(call("reproduce", "linear", *TINY)))
    thread.start()
    thread.join()
    assert results[0].exit_code == 0, results[0].output


def test_interrupt_before_anything_was_finished(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", interrupted)
    result = call("reproduce", "linear", *TINY)
    assert result.exit_code == 130
    assert "nothing was finished" in one_sentence(result)


@pytest.mark.compiled
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_real_interrupt(tmp_path):
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; open('ready', 'w').close(); main()"]
    with subprocess.Popen(
        [*command, "reproduce", "linear", "--runs", "1000"],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if key != "MATROID_BANDITS_DATA"}
        | {"XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # where the tests themselves run in the background, interrupts are ignored and a child would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            deadline = time.monotonic() + 30
            while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(2.0)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert errors == "matroid-bandits: interrupted: nothing was finished; not run to the end: linear.\n"


# ---------------------------------------------------------------------------------------------------------
# Problems of one's own


def test_simulate():
    result = call("simulate", EXAMPLES / "graph.toml", "--runs", "2", "--episodes", "20", "--seed", "3")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "Cables between eight offices" in words
    assert "2 runs of 20 episodes, seed 3" in words
    assert "Aarhus-Bergen" in words
    assert {path.name for path in Path("report/graph").rglob("*.*")} == {
        "index.html",
        "results.json",
        "graph.svg",
        "graph.png",
    }


BRACKETS = """
title = "Cables [/bold] x [red]y"
episodes = 3
matroid = { kind = "uniform", file = "items[b].csv", rank = 1 }
weights = { mean = "mean", noise = "bernoulli" }
policies = { "OMM [/x]" = { policy = "OMM" }, "$\\\\frac$ [red]" = { policy = "OMM" } }
"""


def test_nothing_is_markup():
    Path("a [b] & c#1.toml").write_text(BRACKETS)
    Path("items[b].csv").write_text("item,mean\n[/]Bergen,0.5\n[red]Cork,0.25\n")
    result = call("simulate", "a [b] & c#1.toml", *TINY, "--out", "q[/]y")
    assert result.exit_code == 0, result.output
    for text in (
        "Cables [/bold] x [red]y",
        "OMM [/x]",
        "$\\frac$",
        "[red]",
        "[/]Bergen",
        "q[/]y/index.html",
        "1 run of 3 ep",
    ):
        assert text in result.stdout
    assert {path.name for path in Path("q[/]y/figures").iterdir()} == {"a-b-c-1.svg", "a-b-c-1.png"}
    page = Path("q[/]y/index.html").read_text()
    assert 'href="figures/a-b-c-1.svg"' in page
    assert 'id="a-b-c-1"' in page
    folder = Path("x[/b]y[red]")
    folder.mkdir(parents=True)
    for command in ("list", "check"):
        result = call("data", command, "--data", folder)
        assert result.exit_code == 0, result.output
        assert str(folder) in "".join(result.stdout.split())


@pytest.mark.parametrize("width", [20, 60, 100, 300])
def test_narrow_terminals_lose_nothing(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    console = cli._console()
    for name in experiments.EXPERIMENTS:
        outcome = experiments.run(experiments.EXPERIMENTS[name].resized(n_episodes=3, n_runs=2))
        for table in experiments.EXPERIMENTS[name].write(outcome).tables:
            parts = list(cli._parts(table, width))
            with console.capture() as captured:
                console.print(*parts)
            lines = captured.get().splitlines()
            assert max(map(len, lines)) <= width
            assert (width < 300) or len(parts) == 1
            if width == 20:  # words are broken, columns are still there
                continue
            words = set(captured.get().split())
            for column, cells in zip(table.columns, zip(*table.texts(), strict=True), strict=True):
                for text in (column.group, column.name, *cells):
                    assert set(text.replace("\u00a0", "").split()) <= words


def test_terminals_without_our_letters(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from matroid_bandits.cli import main; main()",
            "simulate",
            EXAMPLES / "graph.toml",
            *TINY,
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "?-greedy" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_closed_pipe_ends_quietly(tmp_path):
    code = "import sys, time; from matroid_bandits.cli import main; sys.stdin.read(); main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "data", "list"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_simulate_with_a_mistake(tmp_path):
    (tmp_path / "problem.toml").write_text("episodes = 3\nrun = 4\n")
    result = call("simulate", "problem.toml")
    assert result.exit_code == 1
    assert "problem.toml: matroid: expected a table, but the key is missing" in one_sentence(result)
    assert call("simulate", "none.toml").exit_code == 1
    assert not Path("report").exists()


# ---------------------------------------------------------------------------------------------------------
# Data


def test_list(tmp_path):
    result = call("data", "list")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert words.count("not here in") == 3
    assert words.count("a stand-in is used in its place") == 3
    assert str(tmp_path / "cache/kiva/loans.csv.gz") in result.stdout
    assert "matroid-bandits data fetch movielens" in words
    assert "place the extract by hand" in words
    assert "no redistribution" in words
    (tmp_path / "mine").mkdir()
    words = " ".join(call("data", "list", "--data", "mine").stdout.split())
    assert words.count("not here in mine; runs that need it end with an error") == 3
    assert "matroid-bandits data fetch movielens --data mine" in words


def test_fetch_and_check(server, tmp_path):  # noqa: F811
    result = call("data", "fetch", "rocketfuel", "--url", server.url, "--data", tmp_path / "mine")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Terms: terms") < result.stdout.index("is in")
    assert "present in" in " ".join(call("data", "list", "--data", tmp_path / "mine").stdout.split())
    result = call("data", "check", "--data", tmp_path / "mine")
    assert result.exit_code == 0
    assert "ok" in result.stdout
    assert "missing" in result.stdout
    (tmp_path / "mine/rocketfuel/1221/latencies.intra").write_text("a b 9\nb a 9\n")
    result = call("data", "check", "--data", tmp_path / "mine")
    assert result.exit_code == 1
    assert "rocketfuel: files differ" in one_sentence(result)


def test_fetch_without_network(tmp_path):
    result = call("data", "fetch", "movielens", "--url", "http://127.0.0.1:9/none", "--data", tmp_path)
    assert result.exit_code == 1
    one_sentence(result)
    assert "GroupLens's own terms" in " ".join(result.stdout.split())


def test_fetch_of_what_is_not_published(tmp_path):
    result = call("data", "fetch", "kiva", "--data", tmp_path)
    assert result.exit_code == 1
    assert "kiva cannot be downloaded: place the extract by hand" in one_sentence(result)


def test_without_standalone_mode():
    """As typer's own callers may ask: errors are still sentences, the code is returned."""
    command = cli.typer.main.get_command(cli.app)
    assert command.main(["data", "fetch", "kiva"], standalone_mode=False) == 1


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("bug")

    monkeypatch.setattr(experiments, "list_datasets", broken)
    with pytest.raises(RuntimeError, match="bug"):
        CliRunner().invoke(cli.app, ["data", "list"], catch_exceptions=False)


def test_expected_errors_are_one_sentence(monkeypatch):
    def wrong(*_):
        raise MatroidBanditsError("this and that")

    monkeypatch.setattr(experiments, "list_datasets", wrong)
    result = call("data", "list")
    assert (result.exit_code, result.stderr) == (1, "matroid-bandits: this and that\n")


def test_importing_the_command_line_is_quick():
    code = (
        "import sys, matroid_bandits.cli; "
        "print([m for m in ('matplotlib', 'rich.progress', 'networkx', 'pandas', 'matroid_bandits.experiments')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
