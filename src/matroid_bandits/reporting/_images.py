"""Plots drawn with matplotlib, without pyplot and its global state, and written as SVG, PNG and PDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from matroid_bandits._util.plots import (
    SETTINGS,
    Panel,
    add_legend,
    draw_panel,
    in_order,
    matplotlib_parts,
    new_figure,
    saved,
)
from matroid_bandits._util.styles import OPTIMAL, OPTIMUM, Style, Styles, by_family, curve_styles
from matroid_bandits.reporting._blocks import Plot

#: The kinds of files that a figure is written to.
KINDS = ("svg", "png", "pdf")

_FONTS = "system-ui, 'Helvetica Neue', Arial, sans-serif"
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

#: More points than this are lost to the eye and make large files.
_N_POINTS = 50


def chapter_styles(plots: Sequence[Plot]) -> dict[str, Style]:
    """The style of every label in some plots, the same in each of them."""
    found: dict[str, list[str]] = {}
    for plot in plots:
        labels = (curve.label for panel in plot.panels for curve in panel.curves)
        for family, own in (by_family(labels) if plot.groups is None else plot.groups).items():
            if list(own) == [family] and family in found:  # one curve for the family, in its style
                continue
            known = found.setdefault(family, [])
            known += [label for label in own if label not in known]
    return curve_styles(found)


def keys(plot: Plot, styles: Styles) -> dict[str, Style]:
    """The entries of a plot's legend: the optimum first, and then families together."""
    drawn = {curve.label for panel in plot.panels for curve in panel.curves}
    optimum = {OPTIMAL: OPTIMUM} if any(panel.optimum is not None for panel in plot.panels) else {}
    return optimum | {label: style for label, style in styles.items() if label in drawn}


def draw(
    plot: Plot, styles: Styles | None = None, panels: tuple[Panel, ...] | None = None, *, has_legend: bool = True
) -> Any:
    """Draw all panels of a plot, or some of them, as a matplotlib Figure; by default in styles of its own."""
    _, rc_context = matplotlib_parts()
    shown = plot.panels if panels is None else panels
    styles = chapter_styles([plot]) if styles is None else styles
    labels = list(keys(plot, styles)) if has_legend else []
    with rc_context(SETTINGS):
        figure, grid, n_columns = new_figure(len(shown), labels)
        for axes, panel in zip(grid, shown, strict=True):
            draw_panel(axes, panel, styles, n_points=_N_POINTS)
        if has_legend:
            add_legend(figure, in_order(grid, labels), loc="outside lower center", ncols=n_columns)
    return figure


def to_svg(figure: Any, name: str) -> str:
    """The figure as SVG: small, the same for the same figure, with ids that begin with its name."""
    # Text is left as matplotlib wrote it; only the markup around it is changed.
    _, rc_context = matplotlib_parts()
    with rc_context({"svg.hashsalt": name}):
        raw = saved(figure, format="svg")
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
