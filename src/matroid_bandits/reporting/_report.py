"""The report folder: ``index.html`` to read, figures to take along, ``results.json`` to compute with."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from matroid_bandits._util.files import write_file
from matroid_bandits._version import __version__
from matroid_bandits.exceptions import DataError
from matroid_bandits.reporting import _figures
from matroid_bandits.reporting._blocks import Plot
from matroid_bandits.reporting._chapter import Chapter
from matroid_bandits.reporting._html import render_page
from matroid_bandits.reporting._records import plain

_FORMAT = "matroid-bandits/report"


class Report:
    """A folder that grows by a chapter whenever something has been run.

    After each `add` everything in it is complete, so an interrupted session keeps what it finished.

    Parameters
    ----------
    folder : path
        Where to write; made with the first chapter when it is not there.
    title : str
        Heading of the page.
    lead : str
        What is said under it, as HTML.
    command : str
        What was typed, for whoever wants to do it again.

    Raises
    ------
    DataError
        The folder cannot be made or written to.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from matroid_bandits.reporting import Chapter, Report, RunFacts, Text
    >>> report = Report(pathlib.Path(tempfile.mkdtemp()) / "report", "My report", "", "make report")
    >>> facts = RunFacts(10, 2, 0, "observe", {}, (), 0.0)
    >>> report.add(Chapter("mine", "My problem", "What it is about.", facts, (Text("What was found."),)))
    >>> sorted(path.name for path in report.folder.iterdir())
    ['index.html', 'results.json']
    """

    def __init__(self, folder: str | os.PathLike[str], title: str, lead: str, command: str) -> None:
        self.folder = Path(folder)
        self._title, self._lead, self._command = title, lead, command
        self._chapters: list[Chapter] = []
        self._svgs: dict[str, str] = {}
        self._began = time.perf_counter()
        _check_writable(self.folder)

    @property
    def wall_time(self) -> float:
        """Seconds since the report was begun."""
        return time.perf_counter() - self._began

    def add(self, chapter: Chapter) -> None:
        """Write a chapter: the results so far, the page so far, its figures."""
        for plot in chapter.plots:
            self._draw_panels(plot)
        try:
            if not self._chapters:
                _remove_old_figures(self.folder)
            self._chapters.append(chapter)
            write_file(self.folder / "results.json", self.to_json())
            write_file(self.folder / "index.html", self.to_html())
            for plot in chapter.plots:
                figure = _figures.draw(plot)
                write_file(self.folder / "figures" / f"{plot.name}.svg", _figures.to_svg(figure, plot.name))
                write_file(self.folder / "figures" / f"{plot.name}.png", _figures.to_png(figure))
                write_file(self.folder / "figures" / f"{plot.name}.pdf", _figures.to_pdf(figure))
        except OSError as error:
            raise DataError(f"cannot write the report to {self.folder} ({error.strerror})") from error

    def to_json(self) -> str:
        """Everything found; the same bytes for the same seed, options and data, on any machine."""
        results = {
            "format": _FORMAT,
            "version": 1,
            "package": __version__,
            "experiments": {chapter.name: _record(chapter) for chapter in self._chapters},
        }
        return json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """The page, with its style and figures inside."""
        return render_page(
            self._chapters,
            self._svgs,
            title=self._title,
            lead=self._lead,
            command=self._command,
            wall_time=self.wall_time,
        )

    def _draw_panels(self, plot: Plot) -> None:
        """Draw one small SVG for each panel: the page lays them out to fit its width."""
        for number, panel in enumerate(plot.panels):
            name = f"{plot.name}-{number}"
            self._svgs[name] = _figures.to_svg(_figures.draw(plot, (panel,), has_legend=False), name)


def _record(chapter: Chapter) -> dict[str, object]:
    """What ``results.json`` says of a chapter."""
    return {
        "section": chapter.section,
        **chapter.run.to_dict(),
        **chapter.records,
        "tables": {table.name: plain(table.records()) for table in chapter.tables},
        "claims": [
            {"claim": claim.text, "verdict": claim.verdict, "evidence": claim.evidence} for claim in chapter.claims
        ],
    }


def _check_writable(folder: Path) -> None:
    """Raise when the folder cannot be written to, before anything is simulated, and leave no trace."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise DataError(f"cannot write a report to {folder} ({there.name} is not a folder)")
    if not os.access(there, os.W_OK | os.X_OK):
        raise DataError(f"cannot write a report to {folder} (no permission)")


def _remove_old_figures(folder: Path) -> None:
    """Remove the figures of the report that this one takes the place of."""
    try:
        old = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        names = list(old["experiments"]) if old["format"] == _FORMAT else []
    except (OSError, ValueError, TypeError, KeyError):
        return  # no report of ours
    for name in names:
        for kind in _figures.KINDS:
            if (file := folder / "figures" / f"{name}.{kind}").parent == folder / "figures":
                file.unlink(missing_ok=True)
