"""Plots drawn with matplotlib, without pyplot and its global state, and written as SVG, PNG and PDF."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from matroid_bandits._util.plots import (
    SETTINGS,
    Panel,
    add_legend,
    draw_panel,
    family_styles,
    line_styles,
    matplotlib_parts,
    new_figure,
    saved,
    to_png,
)
from matroid_bandits.reporting._blocks import Plot

__all__ = ["KINDS", "draw", "styles", "to_pdf", "to_png", "to_svg"]

#: The kinds of files that a figure is written to.
KINDS = ("svg", "png", "pdf")

_FONTS = "system-ui, 'Helvetica Neue', Arial, sans-serif"
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

#: More points than this are lost to the eye and make large files.
_N_POINTS = 50


def styles(plot: Plot) -> dict[str, tuple[str, str]]:
    """Colour and line style of each label of a plot, the optimum first."""
    if plot.groups is not None:
        return family_styles(plot.groups)
    labels = (curve.label for panel in plot.panels for curve in panel.curves)
    return line_styles(labels, has_optimum=any(panel.optimum is not None for panel in plot.panels))


def draw(plot: Plot, panels: tuple[Panel, ...] | None = None, *, has_legend: bool = True) -> Any:
    """Draw all panels of a plot, or some of them, as a matplotlib Figure."""
    _, rc_context = matplotlib_parts()
    shown = plot.panels if panels is None else panels
    style = styles(plot)
    with rc_context(SETTINGS):
        figure, grid, n_columns = new_figure(len(shown), list(style) if has_legend else [])
        for axes, panel in zip(grid, shown, strict=True):
            draw_panel(axes, panel, style, n_points=_N_POINTS)
        if has_legend:
            lines = {line.get_label(): line for axes in grid for line in axes.lines}
            listed = [lines[label] for label in style if label in lines]
            add_legend(figure, listed, loc="outside lower center", ncols=n_columns)
    return figure


def to_svg(figure: Any, name: str) -> str:
    """The figure as SVG: small, the same for the same figure, with ids that begin with its name.

    Text is left as matplotlib wrote it; only the markup around it is changed.
    """
    _, rc_context = matplotlib_parts()
    with rc_context({"svg.hashsalt": name}):
        raw = saved(figure, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(raw)
    root.set("font-family", _FONTS)
    for element in root.iter():
        _tidy(element, name)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _tidy(element: Any, name: str) -> None:
    """Make an element's attributes shorter and its ids unique; several figures share a page."""
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == f"{{{_XLINK}}}href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif key == "clip-path":
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        elif key == "d":  # a tenth of a point is finer than any screen
            element.set(key, " ".join(re.sub(r"-?\d+\.\d\d+", lambda x: f"{float(x[0]):.1f}", value).split()))
        elif key == "style" and element.tag == f"{{{_SVG}}}text":  # the page's own fonts
            parts = [part.strip() for part in value.split(";")]
            element.set(key, "; ".join(part for part in parts if not part.startswith("font-family")))


def to_pdf(figure: Any) -> bytes:
    """The figure as PDF, the same bytes for the same figure."""
    return saved(figure, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
