"""``matroid-bandits reproduce``: what it prints, what it writes, what an interrupt leaves."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import TINY, call, one_sentence
from matroid_bandits import paper
from matroid_bandits.cli import _progress, _reproduce, app
from matroid_bandits.datasets import ROCKETFUEL_ASNS
from matroid_bandits.reporting import Report
from service_kit import until

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.compiled
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
    tables = {name for name in files if name.startswith("report/tables/")}
    assert {"report/tables/graphic-costs.tex", "report/tables/linear-movies.tex"} <= tables
    assert files - tables == {"report/chapters.json", "report/index.html", "report/results.json"} | {
        f"report/figures/{name}.{kind}" for name in paper.EXPERIMENTS for kind in ("svg", "png", "pdf")
    }
    assert "report/index.html" in words


def test_reproduce_some_with_options():
    result = call("reproduce", "linear", *TINY, "--seed", "5", "--out", "there")
    assert result.exit_code == 0, result.output
    results = json.loads(Path("there/results.json").read_text())["experiments"]
    assert list(results) == ["linear"]
    assert [results["linear"][key] for key in ("runs", "episodes", "seed")] == [1, 3, 5]
    assert "Diverse movies" in Path("there/index.html").read_text()


def test_reproducing_more_adds_chapters():
    for name in ("linear", "transversal"):
        assert call("reproduce", name, *TINY).exit_code == 0
    results = json.loads(Path("report/results.json").read_text())["experiments"]
    assert list(results) == ["transversal", "linear"]
    page = Path("report/index.html").read_text()
    assert page.index("Microfinance") < page.index("Diverse movies")
    assert len(list(Path("report/figures").iterdir())) >= 4


@pytest.mark.compiled
def test_beyond_the_paper():
    result = call("reproduce", "delays", *TINY)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for text in ("Answers that come late", "1 run of 3 episodes, seed 2014", "(stand-in data)", "median"):
        assert text in words
    results = json.loads(Path("report/results.json").read_text())["experiments"]
    assert list(results) == ["delays"]
    assert Path("report/figures/beyond-delays.png").exists()


def test_beyond_is_four_experiments(monkeypatch):
    science = _reproduce._science()
    seen = []
    monkeypatch.setattr(science, "prepare", lambda name, *_, **__: seen.append(name) or ("", *[lambda _: 1 / 0] * 2))
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(app, ["reproduce", "race", "beyond"], catch_exceptions=False)
    assert seen == [*science.PARTS, "race"]
    assert {*science.PARTS, "race"} == {*_reproduce._BEYOND}


@pytest.mark.compiled
def test_the_race(monkeypatch):
    race = importlib.import_module(f"{_reproduce._science().__name__}.race")
    monkeypatch.setattr(race, "HEATS", tuple(heat for heat in race.HEATS if heat.name == "context"))
    result = call("reproduce", "race", "--quick", "--store", "store", *TINY)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for text in ("The race", "context: 3 worlds × 1 run of 3 episodes", "What won.", "Where OMM loses."):
        assert text in words
    results = json.loads(Path("report/results.json").read_text())["experiments"]
    assert results["race"]["laps"][0]["worlds"] == 3
    assert Path("store/store.json").exists()
    for options, message in (
        (["linear", "--full"], "expected race among what to reproduce"),
        (["linear", "--store", "store"], "expected beyond or race among what to reproduce"),
        (["race", "--full", "--quick"], "expected --quick or --full"),
        (["rice"], "expected graphic, transversal, linear, networks, delays, visitors, constraints, beyond or race"),
    ):
        assert message in " ".join(call("reproduce", *options).output.replace("│", " ").split())


def test_without_a_clone_the_paper_alone_is_reproduced(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "matroid_bandits.__file__", str(tmp_path / "site-packages" / "matroid_bandits" / "__init__.py")
    )
    result = call("reproduce", "race", *TINY)
    assert result.exit_code == 1
    assert "played from a clone of the repository, by its folder science/beyond" in one_sentence(result)
    assert call("reproduce", "linear", *TINY).exit_code == 0


def test_quick_is_shorter(monkeypatch):
    seen = []
    monkeypatch.setattr(paper, "run", lambda experiment, *_, **__: seen.append(experiment) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(app, ["reproduce", "--quick", "--runs", "3"], catch_exceptions=False)
    assert (seen[0].n_episodes, seen[0].n_runs) == (paper.EXPERIMENTS["graphic"].quick[0], 3)


def test_data_that_is_not_there(tmp_path):
    result = call("reproduce", "transversal", *TINY, "--data", tmp_path)
    assert result.exit_code == 1
    assert f"expected the file {tmp_path / 'kiva/loans.csv.gz'}" in one_sentence(result)


def test_data_is_loaded_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "run", lambda *_: 1 / 0)
    for asn in ROCKETFUEL_ASNS:
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
    run = paper.run

    def interrupted(experiment, *rest, **where):
        if experiment.name == "linear":
            raise KeyboardInterrupt
        return run(experiment, *rest, **where)

    monkeypatch.setattr(paper, "run", interrupted)
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
        bar = _progress.run_bar

        @contextmanager
        def interrupted_bar(title):
            with bar(title) as progress:
                yield progress
            if title != "All data":
                raise KeyboardInterrupt

        monkeypatch.setattr(_progress, "run_bar", interrupted_bar)
    else:
        add = Report.add

        def interrupted_add(report, chapter):
            signal.raise_signal(signal.SIGINT)
            return add(report, chapter)

        monkeypatch.setattr(Report, "add", interrupted_add)
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


def test_other_threads_get_no_signals():
    results = []
    thread = threading.Thread(target=lambda: results.append(call("reproduce", "linear", *TINY)))
    thread.start()
    thread.join()
    assert results[0].exit_code == 0, results[0].output


def test_interrupt_before_anything_was_finished(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(paper, "run", interrupted)
    result = call("reproduce", "linear", *TINY)
    assert result.exit_code == 130
    assert "nothing was finished" in one_sentence(result)


@pytest.mark.compiled
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_real_interrupt(tmp_path):
    program = """
import matroid_bandits as mb
from matroid_bandits.cli import main
from matroid_bandits.compiled import _choice

_choice.LEAST_COMPILED_S = float("inf")  # where there are no kernels yet, they are not waited for
made = mb.Problem.__init__

def note(*arguments, **options):
    open("ready", "w").close()
    made(*arguments, **options)

mb.Problem.__init__ = note
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, "reproduce", "linear", "--runs", "100000"],
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
            until((tmp_path / "ready").exists)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert errors == "matroid-bandits: interrupted: nothing was finished; not run to the end: linear.\n"
