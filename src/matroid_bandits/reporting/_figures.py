"""Plots drawn with matplotlib, without pyplot and its global state."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.plots import OPTIMAL, SETTINGS, line_styles, matplotlib_parts
from matroid_bandits.reporting._blocks import STANDIN, Panel, Plot

_FONTS = "system-ui, 'Helvetica Neue', Arial, sans-serif"


def styles(plot: Plot) -> dict[str, tuple[str, str]]:
    """Colour and line style of each label of a plot, the optimum first."""
    labels = (curve.label for panel in plot.panels for curve in panel.curves)
    return line_styles(labels, has_optimum=any(panel.optimum is not None for panel in plot.panels))


def draw(plot: Plot, panels: tuple[Panel, ...] | None = None, *, has_legend: bool = True) -> Any:
    """Draw all panels of a plot, or some of them, as a matplotlib Figure."""
    Figure, rc_context = matplotlib_parts()
    shown = plot.panels if panels is None else panels
    n_columns = min(3, len(shown))
    n_rows = -(-len(shown) // n_columns)
    style = styles(plot)
    with rc_context(SETTINGS):
        extra = 0.4 if has_legend else 0.0
        figure = Figure(figsize=(0.3 + 3.7 * n_columns, 2.8 * n_rows + extra), layout="constrained")
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        for axes, panel in zip(grid.flat, shown, strict=False):
            _draw_panel(axes, panel, style)
        for axes in list(grid.flat)[len(shown) :]:
            axes.remove()
        if has_legend:
            lines = {line.get_label(): line for axes in figure.axes for line in axes.lines}
            figure.legend(
                [lines[label] for label in style if label in lines],
                [label for label in style if label in lines],
                loc="outside lower center",
                ncols=len(lines),
                frameon=False,
            )
    return figure


def to_svg(figure: Any, name: str) -> str:
    """The figure as SVG text: small, the same for the same figure, with ids of its own."""
    _, rc_context = matplotlib_parts()
    raw = io.StringIO()
    with rc_context({**SETTINGS, "svg.hashsalt": name}):
        figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    text = raw.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r" <metadata>.*?</metadata>\n", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]*; ", "", text).replace("<svg ", f'<svg font-family="{_FONTS}" ', 1)
    # A tenth of a point is finer than any screen; opacities and widths keep their digits.
    text = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\d\.\d)\d+", r"\1", d[0]).replace(" \n", " "), text)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"\n\s+", "\n", text)
    # Several figures share a page, so their ids must differ.
    text = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", text)
    return re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', text)


def to_png(figure: Any) -> bytes:
    """The figure as PNG."""
    _, rc_context = matplotlib_parts()
    raw = io.BytesIO()
    with rc_context(SETTINGS):
        figure.savefig(raw, format="png", dpi=150, metadata={"Software": None})
    return raw.getvalue()


def _draw_panel(axes: Any, panel: Panel, style: dict[str, tuple[str, str]]) -> None:
    """Draw the curves of a panel, each with its 95% band, and name the axes."""
    few = _few(panel)
    x = panel.x[few]
    if panel.optimum is not None:
        color, dash = style[OPTIMAL]
        axes.axhline(panel.optimum, color=color, linestyle=dash, label=OPTIMAL, zorder=3)
    for curve in panel.curves:
        color, dash = style[curve.label]
        axes.plot(x, curve.y[few], color=color, linestyle=dash, label=curve.label)
        if curve.error is not None and np.isfinite(curve.error).all():
            low, high = curve.y - 1.96 * curve.error, curve.y + 1.96 * curve.error
            axes.fill_between(x, low[few], high[few], color=color, alpha=0.18, linewidth=0)
    title = f"{panel.title} ({STANDIN})" if panel.is_standin else panel.title
    axes.set_title(title, color="#a33b00" if panel.is_standin else "#222222")
    end = max(2, int(panel.x[-1]))
    axes.set(xlabel="episodes", ylabel=panel.y_label)
    if panel.is_log:
        axes.set(xscale="log", xlim=(1, end))
        axes.minorticks_off()
    else:
        axes.set(xlim=(0, end), ylim=(0, None))
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.6g}")


def _few(panel: Panel) -> IntArray:
    """Places of 50 points at most, evenly spaced on the axis: small files, and nothing lost to the eye."""
    wanted = (np.geomspace if panel.is_log else np.linspace)(1, panel.x[-1], 50)
    return np.unique(np.minimum(np.searchsorted(panel.x, wanted), panel.x.size - 1))
