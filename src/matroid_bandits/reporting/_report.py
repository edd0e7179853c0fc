"""The report folder: ``index.html`` to read, figures to take along, ``results.json`` to compute with.

``chapters.json`` has the chapters of the page as they are, for the next one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matroid_bandits._util.files import write_file
from matroid_bandits._util.latex import to_latex
from matroid_bandits._util.plots import saved
from matroid_bandits._util.styles import Styles
from matroid_bandits._util.text import shown
from matroid_bandits._version import __version__
from matroid_bandits.exceptions import DataError
from matroid_bandits.reporting import _images
from matroid_bandits.reporting._blocks import Plot
from matroid_bandits.reporting._chapter import Chapter
from matroid_bandits.reporting._html import Section, render_page, render_section
from matroid_bandits.reporting._results_file import plain

_FORMAT = "matroid-bandits/report"


class Report:
    """Report in a folder, written anew after each added chapter.

    After each `add` everything in it is complete, so an interrupted session keeps what it finished. Chapters of an
    earlier session stay, in the paper's order; one of the same name is replaced.

    Parameters
    ----------
    folder : path
        Where to write; made with the first chapter when it is not there. What is there must be a report.
    title : str
        Heading of the page.
    lead : str
        What is said under it, as HTML.
    command : str
        The command that made the report, so that it can be repeated.

    Raises
    ------
    DataError
        The folder cannot be made or written to, or holds something that is no report of ours.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from matroid_bandits.reporting import Chapter, Report, RunFacts, Text
    >>> report = Report(pathlib.Path(tempfile.mkdtemp()) / "report", "My report", "", "make report")
    >>> facts = RunFacts(10, 2, 0, "observe", {}, (), 0.0)
    >>> report.add(Chapter("mine", "My problem", "What it is about.", facts, (Text("What was found."),)))
    >>> sorted(path.name for path in report.folder.iterdir())
    ['chapters.json', 'index.html', 'results.json']
    """

    def __init__(self, folder: str | os.PathLike[str], title: str, lead: str, command: str) -> None:
        self.folder = Path(folder)
        self._title, self._lead, self._command = title, lead, command
        self._began = time.perf_counter()
        _check_text(str(self.folder), title, lead, command)
        _check_writable(self.folder)
        self._records = _read_records(self.folder)
        self._sections = _read_sections(self.folder) if self._records else {}

    @property
    def wall_time(self) -> float:
        """Seconds since the report was started."""
        return time.perf_counter() - self._began

    def add(self, chapter: Chapter) -> None:
        """Add a chapter, and write the results, the HTML page, the figures and the LaTeX tables so far."""
        styles = _images.chapter_styles(chapter.plots)
        svgs = {name: svg for plot in chapter.plots for name, svg in _draw_panels(plot, styles)}
        self._sections[chapter.name] = render_section(chapter, svgs, self._command)
        self._records[chapter.name] = _record(chapter)
        try:
            write_file(self.folder / "results.json", self.to_json())
            write_file(self.folder / "chapters.json", json.dumps([*map(asdict, self._sections.values())]))
            write_file(self.folder / "index.html", self.to_html())
            for plot in chapter.plots:
                figure = _images.draw(plot, styles)
                write_file(self.folder / "figures" / f"{plot.name}.svg", _images.to_svg(figure, plot.name))
                write_file(self.folder / "figures" / f"{plot.name}.png", saved(figure, format="png", dpi=150))
                write_file(self.folder / "figures" / f"{plot.name}.pdf", saved(figure, format="pdf"))
            for table in chapter.tables:
                write_file(self.folder / "tables" / f"{chapter.name}-{table.name}.tex", f"{to_latex(table)}\n")
        except OSError as error:
            raise DataError(f"cannot write the report to {self.folder} ({error.strerror})") from error

    def to_json(self) -> str:
        """Return the results as JSON; the same bytes for the same seed, options and data, on any machine."""
        names = sorted(self._records, key=lambda name: _place(str(self._records[name].get("section", ""))))
        results = {
            "format": _FORMAT,
            "version": 1,
            "package": __version__,
            "experiments": {name: self._records[name] for name in names},
        }
        return json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """Return the HTML page, with styles and figures embedded."""
        sections = sorted(self._sections.values(), key=lambda section: _place(section.number))
        return render_page(sections, title=self._title, lead=self._lead, wall_time=self.wall_time)


def _place(section: str) -> tuple[bool, str]:
    """Where a chapter stands: in the paper's order, and after all of those what is not in the paper."""
    return not section, section


def _draw_panels(plot: Plot, styles: Styles) -> Iterator[tuple[str, str]]:
    """One small SVG for each panel: the page lays them out to fit its width."""
    for number, panel in enumerate(plot.panels):
        name = f"{plot.name}-{number}"
        yield name, _images.to_svg(_images.draw(plot, styles, (panel,), has_legend=False), name)


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


def _check_text(*texts: str) -> None:
    """Raise when something that the report shows cannot be written as UTF-8, such as an odd name of a folder."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(f"expected names that are UTF-8, for the report to show; got {shown(text)}") from None


def _read_records(folder: Path) -> dict[str, Any]:
    """The results of the report that is there; raise when the folder holds anything else."""
    try:
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        if results["format"] == _FORMAT:
            return {name: record for name, record in results["experiments"].items() if isinstance(record, dict)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # no report of ours
    if folder.is_dir() and not all(_is_report(entry) for entry in folder.iterdir()):
        raise DataError(f"expected a new folder, an empty one or a report, got {folder}, which holds other files")
    return {}


def _is_report(entry: Path) -> bool:
    """Whether something in a folder is a report itself, as report/graph is in report, or what is left of one."""
    return (entry / "results.json").is_file() and bool(_read_records(entry))


def _read_sections(folder: Path) -> dict[str, Section]:
    """The chapters of the page that is there; none where an earlier version wrote it."""
    try:
        known = json.loads((folder / "chapters.json").read_text(encoding="utf-8"))
        return {section.name: section for section in map(Section.read, known)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
