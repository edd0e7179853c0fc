"""The report folder: ``index.html`` to read, figures to take along, ``results.json`` to compute with."""

from __future__ import annotations

import json
import os
import platform
import time
from html import escape
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from matroid_bandits._util import threads as _threads
from matroid_bandits._version import __version__
from matroid_bandits.exceptions import DataError
from matroid_bandits.experiments import _figures
from matroid_bandits.experiments._blocks import (
    STANDIN,
    STANDIN_NOTE,
    Block,
    Chapter,
    Claim,
    Column,
    Plot,
    Table,
    Text,
)
from matroid_bandits.experiments._page import PAGE
from matroid_bandits.experiments._spec import Outcome, plain
from matroid_bandits.experiments._tables import counted
from matroid_bandits.experiments._write import put
from matroid_bandits.experiments.datasets import Dataset

_FORMAT = "matroid-bandits/report"
_MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}


class Report:
    """A folder that grows by a chapter whenever an experiment has been run.

    After each `add` everything in it is complete, so an interrupted session keeps what it finished.

    Parameters
    ----------
    folder : path
        Where to write; made with the first chapter when it is not there.
    title, lead : str
        Heading of the page, and what is said under it.
    command : str
        What was typed, for whoever wants to do it again.

    Raises
    ------
    DataError
        The folder cannot be made or written to.
    """

    def __init__(self, folder: str | os.PathLike[str], title: str, lead: str, command: str) -> None:
        self.folder = Path(folder)
        self._title, self._lead, self._command = title, lead, command
        self._chapters: list[tuple[Outcome, Chapter]] = []
        self._svgs: dict[str, str] = {}
        self._began = time.perf_counter()
        _check_writable(self.folder)

    @property
    def wall_time(self) -> float:
        """Seconds since the report was begun."""
        return time.perf_counter() - self._began

    def add(self, outcome: Outcome) -> Chapter:
        """Write the experiment's chapter: the results so far, the page so far, its figures."""
        chapter = outcome.experiment.write(outcome)
        for plot in chapter.plots:
            self._draw_panels(plot)
        try:
            if not self._chapters:
                _remove_old_figures(self.folder)
            self._chapters.append((outcome, chapter))
            put(self.folder / "results.json", self.to_json())
            put(self.folder / "index.html", self.to_html())
            for plot in chapter.plots:
                figure = _figures.draw(plot)
                put(self.folder / "figures" / f"{plot.name}.svg", _figures.to_svg(figure, plot.name))
                put(self.folder / "figures" / f"{plot.name}.png", _figures.to_png(figure))
        except OSError as error:
            raise DataError(f"cannot write the report to {self.folder} ({error.strerror})") from error
        return chapter

    def to_json(self) -> str:
        """Everything found; the same bytes for the same seed, options and data, on any machine."""
        results = {
            "format": _FORMAT,
            "version": 1,
            "package": __version__,
            "experiments": {
                outcome.experiment.name: {
                    **outcome.to_dict(),
                    "tables": {table.name: plain(table.records()) for table in chapter.tables},
                    "claims": [
                        {"claim": claim.text, "verdict": claim.verdict, "evidence": claim.evidence}
                        for claim in chapter.claims
                    ],
                }
                for outcome, chapter in self._chapters
            },
        }
        return json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def to_html(self) -> str:
        """The page, with its style and figures inside."""
        chapters = self._chapters
        is_standin = any(outcome.is_standin for outcome, _ in chapters)
        return PAGE.substitute(
            title=escape(self._title),
            lead=self._lead,
            banner=f'<p class="banner"><b>{STANDIN.capitalize()}.</b> {_STANDIN_BANNER}</p>' if is_standin else "",
            glance=self._glance(),
            chapters="\n".join(self._chapter(outcome, chapter) for outcome, chapter in chapters),
            colophon=self._colophon(),
            version=__version__,
        )

    def _draw_panels(self, plot: Plot) -> None:
        """One small SVG for each panel: the page lays them out to fit its width."""
        for number, panel in enumerate(plot.panels):
            name = f"{plot.name}-{number}"
            self._svgs[name] = _figures.to_svg(_figures.draw(plot, (panel,), has_legend=False), name)

    def _glance(self) -> str:
        items = [
            f'<li>{_badge(claim)} <span><a href="#{quote(outcome.experiment.name)}">{escape(claim.text)}</a>'
            f" <small>{escape(outcome.experiment.title)}</small>{_standin_tag(claim.is_standin)}</span></li>"
            for outcome, chapter in self._chapters
            for claim in chapter.claims
        ]
        return f'<section><h2>At a glance</h2><ul class="glance">{"".join(items)}</ul></section>' if items else ""

    def _chapter(self, outcome: Outcome, chapter: Chapter) -> str:
        experiment = outcome.experiment
        number = f"<small>Section {experiment.section} of the paper</small>" if experiment.section else ""
        blocks = "\n".join(self._block(block) for block in chapter.blocks)
        return (
            f'<section id="{escape(experiment.name)}"><h2>{escape(experiment.title)} {number}</h2>'
            f"<p>{escape(chapter.lead)}</p>"
            f'<p class="run">{escape(_what_was_run(outcome))}</p>\n{blocks}</section>'
        )

    def _block(self, block: Block) -> str:
        if isinstance(block, Table):
            return _table(block)
        if isinstance(block, Plot):
            return self._plot(block)
        if isinstance(block, Claim):
            return (
                f'<div class="claim">{_badge(block)} <b>{escape(block.text)}</b>{_standin_tag(block.is_standin)}'
                f"<p>{escape(block.evidence)}</p></div>"
            )
        assert isinstance(block, Text)
        return f"<p>{escape(block.text)}</p>"

    def _plot(self, plot: Plot) -> str:
        keys = "".join(
            f'<span><svg width="28" height="8" aria-hidden="true"><line x1="1" y1="4" x2="27" y2="4" stroke="{color}"'
            f' stroke-width="2.5" stroke-dasharray="{_DASHES[dash]}"/></svg> {escape(label)}</span>'
            for label, (color, dash) in _figures.styles(plot).items()
        )
        panels = "".join(
            f'<div role="img" aria-label="{escape(panel.title)}: {escape(panel.y_label)} over episodes">'
            f"{self._svgs[f'{plot.name}-{number}']}</div>"
            for number, panel in enumerate(plot.panels)
        )
        files = " · ".join(
            f'<a href="figures/{quote(plot.name)}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png")
        )
        return (
            f"<figure><figcaption><b>{escape(plot.title)}</b>{_standin_tag(plot.is_standin)}</figcaption>"
            f'<div class="keys">{keys}</div><div class="panels">{panels}</div>'
            f"<figcaption>{escape(plot.caption)} {files}</figcaption></figure>"
        )

    def _colophon(self) -> str:
        simulated = " + ".join(
            f"{outcome.wall_time:.1f} s {outcome.experiment.name}" for outcome, _ in self._chapters
        )
        facts = {
            "command": f"<code>{escape(self._command)}</code>",
            "wall time": f"{self.wall_time:.1f} s, of which simulation: {simulated}",
            "machine": f"{platform.system()} {platform.machine()}, {counted(_threads.n_threads(), 'core')} used",
            "versions": escape(", ".join(f"{name} {version}" for name, version in _versions().items())),
        }
        rows = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in facts.items())
        data = "".join(
            f"<tr><th>{escape(trial.dataset.title)}{_standin_tag(trial.is_standin)}</th>"
            f"<td>{escape(_where_from(trial.dataset))}</td></tr>"
            for outcome, _ in self._chapters
            for trial in outcome.trials
        )
        return (
            f'<h3>Run</h3><div class="scroll"><table class="facts">{rows}</table></div>'
            f'<h3>Data</h3><div class="scroll"><table class="facts">{data}</table></div>'
        )


def _check_writable(folder: Path) -> None:
    """Say so before anything is simulated, and leave no trace."""
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
        for kind in ("svg", "png"):
            if (file := folder / "figures" / f"{name}.{kind}").parent == folder / "figures":
                file.unlink(missing_ok=True)


_DASHES = {"-": "none", "--": "6 3", "-.": "7 2 2 2", ":": "2 2.5"}
_STANDIN_BANNER = (
    "Not all of the paper's data was found, so made-up data that matches the figures printed in the paper takes its"
    " place, marked wherever it is shown. <code>matroid-bandits data list</code> says how to get the real data."
)


def _what_was_run(outcome: Outcome) -> str:
    e = outcome.experiment
    names = ", ".join(dict.fromkeys(_short(repr(policy)) for policy in e.policies.values()))
    start = "every item seen once before episode 1" if e.start == "observe" else "nothing seen before episode 1"
    return (
        f"{counted(len(outcome.trials), 'problem')} × {len(e.policies)} policies × {counted(e.n_runs, 'run')}"
        f" of {counted(e.n_episodes, 'episode')}, seed {e.seed}, {start}. {names}."
    )


def _where_from(dataset: Dataset) -> str:
    """Its description and its file, without the folders of this machine."""
    path, about = dataset.path, dataset.description
    return about if path is None or path.name in about else f"{about} Read from {path.parent.name}/{path.name}."


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def _table(table: Table) -> str:
    groups = ""
    has_groups = any(column.group for column in table.columns)
    at = 0
    while at < len(table.columns):
        group = table.columns[at].group
        width = 1
        while group and at + width < len(table.columns) and table.columns[at + width].group == group:
            width += 1
        groups += f'<th colspan="{width}" class="{"group" if group else ""}">{escape(group)}</th>'
        at += width
    sides = {True: ' class="text"', False: ""}
    names = "".join(f"<th{sides[column.is_text]}>{escape(column.name)}</th>" for column in table.columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{_classes(column)}">{escape(text)}</td>'
            for column, text in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.texts()
    )
    head = (f'<tr class="groups">{groups}</tr>' if has_groups else "") + f"<tr>{names}</tr>"
    note = " ".join(filter(None, (table.note, STANDIN_NOTE if table.is_standin else "")))
    return (
        f"<h3>{escape(table.title)}{_standin_tag(table.is_standin)}</h3>"
        f'<div class="scroll" tabindex="0"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
        + (f'<p class="note">{escape(note)}</p>' if note else "")
    )


def _classes(column: Column) -> str:
    return " ".join(filter(None, ("text" if column.is_text else "", "paper" if column.is_paper else "")))


def _badge(claim: Claim) -> str:
    kind = claim.verdict.replace(" ", "-")
    return f'<span class="badge {kind}">{_MARKS[claim.verdict]} {claim.verdict}</span>'


def _standin_tag(is_standin: bool) -> str:
    return f' <span class="standin">{STANDIN}</span>' if is_standin else ""


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "matroid-bandits": __version__}
    for name in ("numpy", "numba", "matplotlib", "topohub"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # pragma: no cover - installed wherever the tests run
            continue
    return found
