"""Figures in the documentation are those of the stored results, and every figure has its place there."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_pages_show_what_is_stored(page):
    text = page.read_text(encoding="utf-8")
    assert tables.filled(text) == text, "run `python docs/tables.py`"


def test_a_changed_figure_is_noticed_and_mended():
    page = "<!-- table: race/context -->\nold\n<!-- end -->\nit has 9 ± 1<!-- =race/context/MOSS/uniform mean -->."
    mended = tables.filled(page)
    assert "| `MOSS()` | 859 ± 28; 831 |" in mended
    assert "it has 859 ± 28<!-- =" in mended
    assert tables.filled(mended) == mended
    speed = "9x<!-- =bench/episodes/graphic 315/972, 100 runs x 1,000/SciPy --> in 1 s"
    speed += "<!-- =bench/learner/L = 1,000, K = 10/ours -->"
    assert re.fullmatch(r"[\d.]+x<!-- [^>]+ --> in [\d.]+ µs<!-- [^>]+ -->", tables.filled(speed))


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_measured_figures_come_from_stored_results(page):
    """A table with errors, times or ratios is a stored one; so is a mean with its error in a sentence."""
    text = tables.TABLE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    measured = re.compile(r"\d ± \d|\d [µm]s\b|\b\d[\d.,]*x\b")
    assert [line for line in text.split("\n") if line.startswith("|") and measured.search(line)] == []
    assert re.findall(r".*\d ± [\d.,]*\d(?!<!-- =|[\d.,]).*", text) == []


@pytest.mark.parametrize("path", sorted(tables.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_results_say_where_they_are_from(path):
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert {"command", "package", "date", "machine"} <= stored.keys()
    name = path.stem
    shown = "".join(page.read_text(encoding="utf-8") for page in tables.PAGES)
    assert f"<!-- table: {name}/" in shown


def test_tables_and_values_stand_in_lines_of_their_own_or_behind_their_number():
    for page in tables.PAGES:
        for line in page.read_text(encoding="utf-8").split("\n"):
            # a line that begins with a comment is HTML to a Markdown reader, whatever follows
            assert not line.lstrip().startswith("<!-- ="), (page.name, line)


def test_results_of_reports_and_benchmarks_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    chapter = {
        "section": "5.1", "episodes": 10, "runs": 2, "seed": 1, "trials": ["left out"],
        "tables": {"mine": [{"policy": "OMM", "regret": [123.4, 5.6]}]}, "claims": [],
    }  # fmt: skip
    report = {"format": "matroid-bandits/report", "package": "0.1", "experiments": {"mine": chapter}}
    (tmp_path / "report").write_text(json.dumps(report))
    assert tables.take(tmp_path / "report", "a machine") == ["mine"]
    stored = tables.read("mine")
    assert (stored["command"], stored["machine"]) == ("matroid-bandits reproduce mine", "a machine")
    assert "trials" not in stored
    assert tables.table("mine/mine") == "\n| policy | regret |\n| --- | --- |\n| OMM | 123 ± 6 |\n\n"
    case = {
        "case": "a tree", "ours_s": 2e-6, "others": {"SciPy": {"s": 4e-5, "ratio": 20.0}},
        "expected": [{"against": "SciPy", "at_least": 30, "reached": False}],
    }  # fmt: skip
    for suite in ("graphic", "linear"):  # one suite after the other
        run = {"machine": {"matroid_bandits": "0.1"}, "suites": {suite: [case]}}
        (tmp_path / "bench-run").write_text(json.dumps(run))
        assert tables.take(tmp_path / "bench-run", "two cores") == ["bench"]
    assert list(tables.read("bench")["suites"]) == ["graphic", "linear"]
    assert "| a tree | 2.00 µs | 40.0 µs, 20.0x | 30x **missed** |" in tables.table("bench/graphic")
