"""Chapters as one web page, with its style and figures inside; the markup is in ``templates/``."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from matroid_bandits._util.extras import missing
from matroid_bandits._util.plots import STANDIN
from matroid_bandits._util.styles import legend_label
from matroid_bandits._util.tables import STANDIN_NOTE, groups_of
from matroid_bandits._util.text import counted, printable
from matroid_bandits._util.threads import n_threads
from matroid_bandits._util.versions import versions
from matroid_bandits._version import __version__
from matroid_bandits.reporting._blocks import Block, Claim, unknown_block
from matroid_bandits.reporting._chapter import Chapter, DataSource
from matroid_bandits.reporting._images import KINDS, chapter_styles, keys

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}

#: Markers of legends around (0, 0), as paths of SVG.
_MARKERS = {
    "": "",
    "o": "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "s": "M-3.2-3.2h6.4v6.4h-6.4z",
    "^": "M0-4L4 3.5h-8z",
    "v": "M0 4L4-3.5h-8z",
    "<": "M-4 0L3.5-4v8z",
    ">": "M4 0L-3.5-4v8z",
    "D": "M0-4.4L4.4 0L0 4.4L-4.4 0z",
    "X": "M-4-2L-2-4L0-2L2-4L4-2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0z",
    "P": "M-1.4-4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
    "*": "M0-4.5L1.1-1.4H4.4L1.8.7L2.8 4L0 2L-2.8 4L-1.8.7L-4.4-1.4H-1.1z",
    "p": "M0-4L4-1L2.5 3.6h-5L-4-1z",
}


@dataclass(frozen=True)
class Section:
    """A chapter as it stands on a page, with what the rest of the page says of it; a later page can take it over."""

    name: str
    title: str
    number: str
    command: str
    wall_time: float
    is_standin: bool
    claims: tuple[Claim, ...]
    data: tuple[DataSource, ...]
    html: str

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Section:
        """The chapter that was written as `asdict` gives it."""
        claims = tuple(Claim(**claim) for claim in facts["claims"])
        data = tuple(DataSource(**source) for source in facts["data"])
        return cls(**{**facts, "claims": claims, "data": data, "html": _marked(facts["html"])})


def render_section(chapter: Chapter, svgs: Mapping[str, str], command: str) -> Section:
    """A chapter as markup; `svgs` holds the drawing of each panel under the name of its plot and its number."""
    html = (
        _templates()
        .get_template("chapter.html")
        .render(chapter=chapter, svgs=svgs, styles=chapter_styles(chapter.plots))
    )
    return Section(
        name=chapter.name,
        title=chapter.title,
        number=chapter.section,
        command=command,
        wall_time=chapter.run.wall_time,
        is_standin=chapter.is_standin,
        claims=tuple(chapter.claims),
        data=chapter.run.data,
        html=_marked(html.strip()),
    )


def render_page(sections: Sequence[Section], *, title: str, lead: str, wall_time: float) -> str:
    """The whole page: a glance at the claims, the chapters, and how it all was made; `lead` is HTML."""
    return (
        _templates()
        .get_template("report.html")
        .render(
            sections=sections,
            title=title,
            lead=_marked(lead),
            wall_time=wall_time,
            machine=f"{platform.system()} {platform.machine()}, {counted(n_threads(), 'core')} used",
            versions=", ".join(f"{name} {version}" for name, version in versions("matplotlib", "topohub").items()),
            version=__version__,
        )
    )


@cache
def _templates() -> Environment:
    """The templates, in which everything is escaped that is not marked as markup."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:  # pragma: no cover - installed wherever the tests run
        raise missing("reports need jinja2", "experiments") from error
    templates = Environment(
        loader=PackageLoader("matroid_bandits.reporting"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        chapter=None,
        legend_label=legend_label,
        markers=_MARKERS,
        figure_kinds=KINDS,
        groups_of=groups_of,
        kind_of=_kind_of,
        marks=_MARKS,
        refuse=_refuse,
        standin=STANDIN,
        standin_note=STANDIN_NOTE,
        keys_of=keys,
    )
    return templates


def _marked(html: str) -> Any:
    """Markup that templates leave as it is."""
    from markupsafe import Markup

    return Markup(html)


def _kind_of(block: Block) -> str:
    """The name of the kind that a block is of, or is derived from."""
    for kind in get_args(Block):
        if isinstance(block, kind):
            return str(kind.__name__)
    raise unknown_block(block, "the page")


def _refuse(block: Block) -> NoReturn:
    """Raise the error that the template has no case for a block."""
    raise unknown_block(block, "the page")
