"""``matroid-bandits sweep``: every policy on every problem of a file."""

import json
import tomllib
from pathlib import Path

import pytest

from command_line import TINY, call, one_sentence

pytestmark = pytest.mark.usefixtures("own_folder")

SWEEP = Path(__file__).parents[2] / "examples" / "sweep.toml"


def test_sweep():
    result = call("sweep", SWEEP, "--runs", "2", "--episodes", "20", "--seed", "3", "--store", "kept")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for text in (
        "How optimistic should OMM be?",
        "2 runs of 20 episodes, seed 3",
        "The best of each family",
        "Regret minus that of",
    ):
        assert text in words
    assert {path.name for path in Path("report/sweep").rglob("*.*")} == {
        "chapters.json",
        "index.html",
        "results.json",
        *(f"sweep{part}.{kind}" for part in ("", "-OMM") for kind in ("svg", "png", "pdf")),
        *(f"sweep-{table}.tex" for table in ("best", "differences", "regret")),
    }
    record = json.loads(Path("report/sweep/results.json").read_bytes())["experiments"]["sweep"]
    assert [trial["data"] for trial in record["trials"]] == ["quotas", "couriers", "banner"]
    assert set(record["tables"]) == {"regret", "best", "differences"}
    assert record["policies"]["OMM, scale=0.1"] == "OMM(scale=0.1)"


@pytest.fixture
def tiny():
    """A file of one problem and one policy."""
    problem = {
        "matroid": {"kind": "uniform", "rows": ["a", "b"], "rank": 1},
        "weights": {"family": "bernoulli", "mean": [0.5, 0.25]},
    }
    Path("tiny.json").write_text(json.dumps({"episodes": 3, "problems": {"ads": problem}, "policies": {"OMM": {}}}))
    return "tiny.json"


def test_a_store_goes_on_and_tells_of_changes(tiny):
    assert call("sweep", tiny, "--runs", "1", "--store", "kept").exit_code == 0
    assert call("sweep", tiny, "--runs", "2", "--out", "fresh").exit_code == 0
    result = call("sweep", tiny, "--runs", "2", "--store", "kept", "--out", "again")
    assert (result.exit_code, result.stderr) == (0, "")
    assert Path("again/results.json").read_bytes() == Path("fresh/results.json").read_bytes()
    assert {path.name for path in Path("kept").glob("*/*.npz")} == {"00000000-00000001.npz", "00000001-00000002.npz"}
    result = call("sweep", tiny, "--runs", "1", "--seed", "9", "--store", "kept")
    assert result.exit_code == 0
    said = "kept holds results under these names with other settings, kept apart: seed was 0 and is 9."
    assert said in one_sentence(result)


def test_ctrl_c_says_where_to_go_on(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("matroid_bandits.simulation.sweep", interrupted)
    result = call("sweep", SWEEP, *TINY, "--store", "kept")
    assert result.exit_code == 130
    assert "interrupted: what was played is in kept, and the same command goes on from there." in one_sentence(result)
    result = call("sweep", SWEEP, *TINY)
    assert result.exit_code == 130
    assert "nothing was finished; not run to the end: sweep" in one_sentence(result)


def test_devices(tiny):
    result = call("sweep", tiny, "--runs", "1", "--device", "abacus")
    assert result.exit_code == 1
    assert 'expected device to be "cpu", "gpu" or "auto"' in one_sentence(result)
    assert call("sweep", tiny, "--runs", "1", "--device", "auto").exit_code == 0
    Path(tiny).write_text(Path(tiny).read_text().replace('"OMM": {}', '"KLOSM": {}'))
    result = call("sweep", tiny, "--runs", "1", "--device", "gpu")
    assert "'KLOSM on ads' cannot be simulated on a GPU" in one_sentence(result)


@pytest.mark.parametrize("executor", ["0", "-1", "two", "tcp://x:1", ""])
def test_executors_that_are_none(executor):
    result = call("sweep", SWEEP, *TINY, "--executor", executor)
    assert result.exit_code == 1
    assert "expected an executor to be a number of processes" in one_sentence(result)
    assert not Path("report").exists()


def test_a_mistake_in_the_file_costs_no_simulation(monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation.sweep", lambda *_, **__: 1 / 0)
    spec = tomllib.loads(SWEEP.read_text(encoding="utf-8"))
    spec["problems"] = {"a": {"file": "none.toml"}}
    Path("s.json").write_text(json.dumps(spec))
    result = call("sweep", "s.json")
    assert result.exit_code == 1
    assert "none.toml: cannot be read" in one_sentence(result)
    assert not Path("report").exists()


def test_the_schema_of_sweeps():
    result = call("schema", "sweep")
    assert result.exit_code == 0
    assert "problems" in json.loads(result.stdout)["required"]
    assert call("schema").stdout == call("schema", "problem").stdout
    result = call("schema", "sweeps")
    assert result.exit_code == 2
    assert "expected problem, sweep, campaign, openapi or typescript; got 'sweeps'" in one_sentence(result)
