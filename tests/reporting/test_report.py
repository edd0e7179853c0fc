"""The report folder: what is written, in which order, and what is left alone."""

import json
import os

import pytest

from matroid_bandits.exceptions import DataError
from matroid_bandits.paper import EXPERIMENTS, run
from matroid_bandits.reporting import Chapter, Report, _figures


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


def test_figures_of_the_report_before_are_removed_and_nothing_else(tmp_path, no_data):
    Report(tmp_path, "", "", "").add(tiny_chapter("transversal"))
    (tmp_path / "figures/mine.svg").write_text("mine")
    Report(tmp_path, "", "", "").add(tiny_chapter("linear"))
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {"linear.svg", "linear.png", "linear.pdf", "mine.svg"}


def test_results_are_written_before_the_figures(tmp_path, no_data, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_figures, "to_png", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Report(tmp_path, "", "", "").add(tiny_chapter("linear"))
    assert list(json.loads((tmp_path / "results.json").read_text())["experiments"]) == ["linear"]
    assert "Diverse movies" in (tmp_path / "index.html").read_text()
