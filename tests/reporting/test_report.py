"""The report folder: what is written, in which order, and what is left alone."""

import json
import os

import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.paper import EXPERIMENTS, run
from matroid_bandits.reporting import Chapter, Claim, DataSource, Report, RunFacts, Text, _report


def tiny_chapter(name: str) -> Chapter:
    """The chapter on a few episodes of one of the paper's experiments."""
    experiment = EXPERIMENTS[name].resized(n_episodes=4, n_runs=2)
    return experiment.write(run(experiment))


def test_report_that_cannot_be_written(tmp_path, no_data, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write a report to"):
        Report(tmp_path / "file", "", "", "")
    with pytest.raises(DataError, match="file is not a folder"):
        Report(tmp_path / "file/below", "", "", "")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        with pytest.raises(DataError, match="no permission"):
            Report(tmp_path / "report", "", "", "")
    report = Report(tmp_path / "report", "", "", "")
    assert not (tmp_path / "report").exists()
    (tmp_path / "report/results.json").mkdir(parents=True)
    with pytest.raises(DataError, match="cannot write the report to"):
        report.add(tiny_chapter("linear"))
    assert not list(tmp_path.rglob(".results*"))


@pytest.mark.long
def test_chapters_of_an_earlier_session_stay(tmp_path, no_data):
    Report(tmp_path / "a", "T", "", "first").add(tiny_chapter("linear"))
    (tmp_path / "a/figures/mine.svg").write_text("mine")
    Report(tmp_path / "a", "T", "", "second").add(tiny_chapter("transversal"))
    assert {path.name for path in (tmp_path / "a/figures").iterdir()} == {
        "mine.svg",
        *(f"{name}.{kind}" for name in ("linear", "transversal") for kind in ("svg", "png", "pdf")),
    }
    together = Report(tmp_path / "b", "T", "", "both")
    for name in ("transversal", "linear"):
        together.add(tiny_chapter(name))
    assert (tmp_path / "a/results.json").read_bytes() == (tmp_path / "b/results.json").read_bytes()
    pages = [(tmp_path / folder / "index.html").read_text() for folder in "ab"]
    for page in pages:
        assert page.index('<section id="transversal">') < page.index('<section id="linear">')  # as in the paper
    between = slice(pages[0].index("<header>"), pages[0].index('<section id="made">'))
    assert pages[0][between].count("<li>") == pages[1][between].count("<li>") > 2  # claims of both
    assert "<code>second</code><br><code>first</code>" in pages[0]
    # a chapter that is run again takes its own place
    Report(tmp_path / "a", "T", "", "third").add(tiny_chapter("transversal"))
    page = (tmp_path / "a/index.html").read_text()
    assert [page.count(f'<section id="{name}">') for name in ("transversal", "linear")] == [1, 1]
    assert "<code>third</code><br><code>first</code>" in page


def test_lost_chapters_lose_no_results(tmp_path, no_data):
    Report(tmp_path, "T", "", "").add(tiny_chapter("linear"))
    (tmp_path / "chapters.json").write_text("[{}]")
    Report(tmp_path, "T", "", "").add(tiny_chapter("transversal"))
    assert list(json.loads((tmp_path / "results.json").read_text())["experiments"]) == ["transversal", "linear"]


def test_odd_texts_come_back_as_they_were(tmp_path):
    facts = RunFacts(10, 2, 0, "observe", {}, (DataSource("--> <!--", "-->"),), 0.0)
    evil = '-->\n<!--"\n<script>'
    for number in range(3):
        chapter = Chapter(f"c{number}", evil, evil, facts, (Text(evil), Claim(evil, "holds", evil)))
        Report(tmp_path, evil, "", evil).add(chapter)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<section id=") == 4
    assert page.count('<span class="badge holds">') == 6
    assert "<script>" not in page


@pytest.mark.parametrize("name", ["index.html", "results.json", "thesis.tex", "figures/mine.png"])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path, name):
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"format": "another"}')
    with pytest.raises(
        DataError, match=r"expected a new folder, an empty one or a report, got .*mine, which holds other"
    ):
        Report(tmp_path / "mine", "", "", "")
    assert [str(file.relative_to(tmp_path / "mine")) for file in (tmp_path / "mine").rglob("*.*")] == [name]


def test_reports_may_lie_in_a_report(tmp_path, no_data):
    """As report/graph, of `simulate`, in report, of `reproduce`."""
    Report(tmp_path / "report/graph", "T", "", "").add(tiny_chapter("linear"))
    Report(tmp_path / "report", "T", "", "").add(tiny_chapter("linear"))


def test_names_that_are_no_text(tmp_path):
    for folder, command in ((tmp_path / "caf\udce9", ""), (tmp_path / "a", "simulate caf\udce9.toml")):
        with pytest.raises(
            DataError, match=r"expected names that are UTF-8, for the report to show; got '.*caf\\udce9"
        ):
            Report(folder, "", "", command)


def test_results_are_written_before_the_figures(tmp_path, no_data, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_report, "saved", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Report(tmp_path, "", "", "").add(tiny_chapter("linear"))
    assert list(json.loads((tmp_path / "results.json").read_text())["experiments"]) == ["linear"]
    assert "Diverse movies" in (tmp_path / "index.html").read_text()
