"""``matroid-bandits simulate``: problems of one's own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from command_line import TINY, call, one_sentence

pytestmark = pytest.mark.usefixtures("own_folder")

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_simulate():
    result = call("simulate", EXAMPLES / "graph.toml", "--runs", "2", "--episodes", "20", "--seed", "3")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "Cables between eight offices" in words
    assert "2 runs of 20 episodes, seed 3" in words
    assert "Aarhus-Bergen" in words
    assert {path.name for path in Path("report/graph").rglob("*.*")} == {
        "chapters.json",
        "index.html",
        "results.json",
        "graph.svg",
        "graph.png",
        "graph.pdf",
        "graph-basis.tex",
        "graph-policies.tex",
    }


@pytest.mark.long
@pytest.mark.compiled
def test_simulate_in_processes():
    results = {}
    for folder, more in (("threads", ()), ("processes", ("--executor", "2"))):
        result = call("simulate", EXAMPLES / "graph.toml", "--runs", "2", "--episodes", "20", "--out", folder, *more)
        assert result.exit_code == 0, result.output
        results[folder] = Path(folder, "figures", "graph.svg").read_text()
    assert results["threads"] == results["processes"]


def test_executors_that_are_not_known():
    result = call("simulate", EXAMPLES / "graph.toml", "--executor", "two")
    assert result.exit_code == 1
    assert one_sentence(result).endswith('a number of processes, "ray" or "dask://host:port"; got \'two\'\n')
    assert not Path("report").exists()


@pytest.mark.parametrize(
    ("device", "words"),
    [("abacus", "expected device to be"), ("gpu", "'KLOSM' cannot be simulated on a GPU: KLOSM takes logarithms")],
)
def test_devices_that_are_not_known_and_what_does_not_fit(device, words):
    result = call("simulate", EXAMPLES / "partition.toml", "--runs", "1", "--episodes", "2", "--device", device)
    assert result.exit_code == 1
    assert words in one_sentence(result)
    assert not Path("report").exists()


def test_simulate_where_it_fits():
    result = call("simulate", EXAMPLES / "graph.toml", "--runs", "1", "--episodes", "3", "--device", "auto")
    assert result.exit_code == 0, result.output


BRACKETS = """
title = "Cables [/bold] x [red]y"
episodes = 3
matroid = { kind = "uniform", file = "items[b].csv", rank = 1 }
weights = { mean = "mean", family = "bernoulli" }
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
    assert {path.name for path in Path("q[/]y/figures").iterdir()} == {
        f"a-b-c-1.{kind}" for kind in ("svg", "png", "pdf")
    }
    page = Path("q[/]y/index.html").read_text()
    assert 'href="figures/a-b-c-1.svg"' in page
    assert 'id="a-b-c-1"' in page
    folder = Path("x[/b]y[red]")
    folder.mkdir(parents=True)
    for command, code in (("list", 0), ("check", 1)):  # an empty folder is nothing to check
        result = call("data", command, "--data", folder)
        assert result.exit_code == code, result.output
        assert str(folder) in "".join(result.stdout.split())


def test_progress_in_a_file_is_lines(tmp_path):
    code = "from matroid_bandits._util import progress; progress.EVERY_S = 0.0; "
    code += "from matroid_bandits.cli import main; main()"
    command = [sys.executable, "-c", code, "simulate", EXAMPLES / "graph.toml", *TINY]
    with (tmp_path / "log").open("w") as log:
        subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=log, check=True)
    lines = (tmp_path / "log").read_bytes().decode().split("\n")[:-1]
    assert len(lines) > 1
    assert all(re.fullmatch(r"Cables between eight offices: \d+%, (in )?\d+:\d\d( left)?", line) for line in lines)
    assert ": 100%, in " in lines[-1]


@pytest.mark.compiled
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


@pytest.mark.skipif(os.name != "posix", reason="needs names of bytes")
@pytest.mark.parametrize("arguments", [["caf\udce9.toml"], ["graph.toml", "--out", "caf\udce9"]])
def test_names_that_are_no_text_cost_no_simulation(tmp_path, monkeypatch, arguments):
    for name in ("graph.csv", "graph.toml"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    (tmp_path / "caf\udce9.toml").write_bytes((EXAMPLES / "graph.toml").read_bytes())
    monkeypatch.setattr("matroid_bandits.simulation.simulate", lambda *_, **__: 1 / 0)
    result = call("simulate", *arguments)
    assert result.exit_code == 1
    assert "UTF-8" in one_sentence(result)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation.simulate", lambda *_, **__: 1 / 0)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/index.html").write_text("mine")
    result = call("simulate", EXAMPLES / "graph.toml", "--out", "thesis")
    assert result.exit_code == 1
    assert "got thesis, which holds other files" in one_sentence(result)
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["index.html"]


def test_simulate_from_json(tmp_path):
    spec = tomllib.loads((EXAMPLES / "quotas.toml").read_text(encoding="utf-8"))
    Path("quotas.json").write_text(json.dumps(spec))
    result = call("simulate", "quotas.json", *TINY)
    assert result.exit_code == 0, result.output
    assert "Six slots" in result.stdout


def test_simulate_with_a_mistake(tmp_path):
    (tmp_path / "problem.toml").write_text("episodes = 3\nrun = 4\n")
    result = call("simulate", "problem.toml")
    assert result.exit_code == 1
    said = "problem.toml: constraint: expected a table here or in matroid, but both keys are missing"
    assert said in one_sentence(result)
    assert call("simulate", "none.toml").exit_code == 1
    assert not Path("report").exists()


def test_without_matplotlib_nothing_is_simulated(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    result = call("simulate", EXAMPLES / "uniform.toml", "--out", tmp_path / "report")
    assert result.exit_code == 1
    assert result.stderr.startswith("matroid-bandits: plot needs matplotlib: pip install")
    assert not (tmp_path / "report").exists()
