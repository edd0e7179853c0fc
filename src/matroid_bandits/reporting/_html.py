"""Chapters as one web page, with its style and figures inside."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from html import escape as escape_markup
from urllib.parse import quote

from matroid_bandits._util.plots import STANDIN
from matroid_bandits._util.text import counted, printable
from matroid_bandits._util.threads import n_threads
from matroid_bandits._util.versions import versions
from matroid_bandits._version import __version__
from matroid_bandits.reporting._blocks import STANDIN_NOTE, Block, Claim, Column, Plot, Table, Text
from matroid_bandits.reporting._chapter import Chapter
from matroid_bandits.reporting._figures import KINDS, styles
from matroid_bandits.reporting._page import PAGE

_MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}
_DASHES = {"-": "none", "--": "6 3", "-.": "7 2 2 2", ":": "2 2.5"}
_STANDIN_BANNER = (
    "Not all of the paper's data was found, so made-up data that matches the figures printed in the paper takes its"
    " place, marked wherever it is shown. <code>matroid-bandits data list</code> says how to get the real data."
)


def escape(text: str) -> str:
    """Text for HTML, with characters that a page cannot hold written as escapes."""
    return escape_markup(printable(text))


def render_page(
    chapters: Sequence[Chapter],
    svgs: Mapping[str, str],
    *,
    title: str,
    lead: str,
    command: str,
    wall_time: float,
) -> str:
    """The whole page: a glance at the claims, the chapters, and how it all was made.

    `svgs` holds the drawing of each panel under the name of its plot and its number; `lead` is HTML.
    """
    is_standin = any(chapter.is_standin for chapter in chapters)
    return PAGE.substitute(
        title=escape(title),
        lead=lead,
        banner=f'<p class="banner"><b>{STANDIN.capitalize()}.</b> {_STANDIN_BANNER}</p>' if is_standin else "",
        glance=_glance(chapters),
        chapters="\n".join(_chapter(chapter, svgs) for chapter in chapters),
        colophon=_colophon(chapters, command, wall_time),
        version=__version__,
    )


def _glance(chapters: Sequence[Chapter]) -> str:
    """All claims of the report in a list, each with its verdict."""
    items = [
        f'<li>{_badge(claim)} <span><a href="#{quote(chapter.name)}">{escape(claim.text)}</a>'
        f" <small>{escape(chapter.title)}</small>{_standin_tag(claim.is_standin)}</span></li>"
        for chapter in chapters
        for claim in chapter.claims
    ]
    return f'<section><h2>At a glance</h2><ul class="glance">{"".join(items)}</ul></section>' if items else ""


def _chapter(chapter: Chapter, svgs: Mapping[str, str]) -> str:
    number = f"<small>Section {chapter.section} of the paper</small>" if chapter.section else ""
    blocks = "\n".join(_block(block, svgs) for block in chapter.blocks)
    return (
        f'<section id="{escape(chapter.name)}"><h2>{escape(chapter.title)} {number}</h2>'
        f"<p>{escape(chapter.lead)}</p>"
        f'<p class="run">{escape(chapter.run.summary)}</p>\n{blocks}</section>'
    )


def _block(block: Block, svgs: Mapping[str, str]) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Plot):
        return _plot(block, svgs)
    if isinstance(block, Claim):
        return (
            f'<div class="claim">{_badge(block)} <b>{escape(block.text)}</b>{_standin_tag(block.is_standin)}'
            f"<p>{escape(block.evidence)}</p></div>"
        )
    assert isinstance(block, Text)
    return f"<p>{escape(block.text)}</p>"


def _plot(plot: Plot, svgs: Mapping[str, str]) -> str:
    """Panels side by side, under a line that says which curve is whose, with links to the files."""
    keys = "".join(
        f'<span><svg width="28" height="8" aria-hidden="true"><line x1="1" y1="4" x2="27" y2="4" stroke="{color}"'
        f' stroke-width="2.5" stroke-dasharray="{_DASHES[dash]}"/></svg> {escape(label)}</span>'
        for label, (color, dash) in styles(plot).items()
    )
    panels = "".join(
        f'<div role="img" aria-label="{escape(panel.title)}: {escape(panel.y_label)} over episodes">'
        f"{svgs[f'{plot.name}-{number}']}</div>"
        for number, panel in enumerate(plot.panels)
    )
    files = " · ".join(f'<a href="figures/{quote(plot.name)}.{kind}">{kind.upper()}</a>' for kind in KINDS)
    return (
        f"<figure><figcaption><b>{escape(plot.title)}</b>{_standin_tag(plot.is_standin)}</figcaption>"
        f'<div class="keys">{keys}</div><div class="panels">{panels}</div>'
        f"<figcaption>{escape(plot.caption)} {files}</figcaption></figure>"
    )


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


def _colophon(chapters: Sequence[Chapter], command: str, wall_time: float) -> str:
    """How the page was made: what was typed, the time it took, the machine, versions and data."""
    simulated = " + ".join(f"{chapter.run.wall_time:.1f} s {chapter.name}" for chapter in chapters)
    libraries = versions("matplotlib", "topohub")
    facts = {
        "command": f"<code>{escape(command)}</code>",
        "wall time": f"{wall_time:.1f} s, of which simulation: {simulated}",
        "machine": f"{platform.system()} {platform.machine()}, {counted(n_threads(), 'core')} used",
        "versions": escape(", ".join(f"{name} {version}" for name, version in libraries.items())),
    }
    rows = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in facts.items())
    data = "".join(
        f"<tr><th>{escape(source.title)}{_standin_tag(source.is_standin)}</th>"
        f"<td>{escape(source.description)}</td></tr>"
        for chapter in chapters
        for source in chapter.run.data
    )
    return (
        f'<h3>Run</h3><div class="scroll"><table class="facts">{rows}</table></div>'
        f'<h3>Data</h3><div class="scroll"><table class="facts">{data}</table></div>'
    )
