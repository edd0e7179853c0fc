"""Plots wherever they are drawn: curves as data, panels on axes, sizes and legends of figures."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.extras import missing
from matroid_bandits._util.styles import OPTIMAL, OPTIMUM, Styles, legend_label
from matroid_bandits._util.text import printable, shown

#: What most plots have on their horizontal axis.
EPISODES = "episodes"

#: Put wherever made-up data is shown.
STANDIN = "stand-in data"

#: matplotlib's settings for every figure, to be used with `rc_context`.
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small files, the reader's own fonts
    "pdf.fonttype": 42,  # text stays text here too, as journals ask
    "text.parse_math": False,  # a policy may be called "$"
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#333333",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "axes.grid": True,
    "lines.linewidth": 1.6,
}

#: The same for figures of a given width, as papers have them.
SMALL = SETTINGS | {"font.size": 8.0, "axes.titlesize": 8.0, "lines.linewidth": 1.2, "lines.markersize": 3.0}

#: Widths of figures by name, in inches: a column of two, and both, which no common style has narrower.
WIDTHS = {"column": 3.25, "page": 6.75}

#: A width by name, or in inches.
Width = Literal["column", "page"] | float


@dataclass(frozen=True)
class Curve:
    """Curve of a plot, with the band around it, if any: half its height, or the lower and the upper end.

    Examples
    --------
    >>> Curve("OMM", np.array([1.0, 1.5])).label
    'OMM'
    """

    label: str
    y: FloatArray
    band: FloatArray | None = None


@dataclass(frozen=True)
class Panel:
    """Set of curves that share axes, over episodes or over values of `x_label`.

    `optimum` is a level, or a curve, to compare them with. Without one, as regret has none, the axis begins at 0,
    unless `from_zero` says otherwise or the axis is logarithmic (`log_y`; `is_log` is about the horizontal one).

    Examples
    --------
    >>> panel = Panel("Regret", np.array([1, 2]), (Curve("OMM", np.array([1.0, 1.5])),), "cumulative regret")
    >>> [curve.label for curve in panel.curves]
    ['OMM']
    """

    title: str
    x: IntArray | FloatArray
    curves: tuple[Curve, ...]
    y_label: str
    optimum: float | FloatArray | None = None
    is_log: bool = True
    is_standin: bool = False
    from_zero: bool = True
    x_label: str = EPISODES
    log_y: bool = False


def draw_panel(
    axes: Any,
    panel: Panel,
    styles: Styles,
    *,
    optimum: str = OPTIMAL,
    n_points: int | None = None,
    is_small: bool = False,
) -> None:
    """Draw a panel on matplotlib axes: the curves, each with its band, the optimum, and what the axes show."""
    places = _spread(panel, n_points)
    x = panel.x[places]
    is_tried = panel.x_label != EPISODES and len(panel.x) <= 30  # a few values, one by one
    for i, curve in enumerate(panel.curves):
        style = styles[curve.label]
        # markers are sparse, at distances on the page, and not above each other
        every = None if is_tried or len(x) <= 8 else (0.03 + 0.035 * (i % 4), 0.14)
        axes.plot(
            x,
            curve.y[places],
            color=style.color,
            linestyle=style.linestyle,
            marker=style.marker or ("o" if is_tried else ""),
            markersize=4,
            markevery=every,
            label=curve.label,
        )
        if curve.band is not None and np.isfinite(curve.band).all():
            low, high = curve.band if curve.band.ndim == 2 else (curve.y - curve.band, curve.y + curve.band)
            axes.fill_between(x, low[places], high[places], color=style.color, alpha=0.18, linewidth=0)
    if panel.optimum is not None:
        options = {"color": OPTIMUM.color, "linestyle": OPTIMUM.linestyle, "label": optimum, "zorder": 3}
        if np.ndim(panel.optimum) == 0:
            axes.axhline(panel.optimum, **options)
        else:
            axes.plot(x, np.asarray(panel.optimum)[places], **options)
    title = f"{panel.title} ({STANDIN})" if panel.is_standin else panel.title
    axes.set_title(printable(title), color="#a33b00" if panel.is_standin else "#222222")
    lines = [printable(line) for line in panel.y_label.split("\n")]
    if is_small:
        lines = [part for line in lines for part in textwrap.wrap(line, 22)]
    axes.set(xlabel=printable(panel.x_label), ylabel="\n".join(lines))
    _scale_x(axes, panel)
    _scale_y(axes, panel)


def _scale_y(axes: Any, panel: Panel) -> None:
    """Set the vertical axis: regret begins at nothing, which a log axis does not have."""
    if panel.log_y:
        log_scale_y(axes)
    elif panel.optimum is None and panel.from_zero:
        axes.set(ylim=(0, None))
    _format_y(axes)


def _format_y(axes: Any) -> None:
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.6g}")


def log_scale_y(axes: Any) -> None:
    """Make the vertical axis logarithmic, from the least positive value of a line on; left as it is without one."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.lines] or [np.zeros(1)])
    values = values[np.isfinite(values) & (values > 0.0)]
    if values.size:
        axes.set_yscale("log")
        axes.autoscale(axis="y")
        axes.set(ylim=(0.8 * values.min(), None))
        axes.minorticks_off()
        _format_y(axes)  # a new scale comes with a formatter of its own


def _scale_x(axes: Any, panel: Panel) -> None:
    """Set the horizontal axis: episodes from the first to the last, values of a parameter where they were tried."""
    if panel.x_label != EPISODES:
        if panel.is_log:
            axes.set(xscale="log")
        if len(panel.x) <= 8:  # every value can be named
            axes.set_xticks(panel.x)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.6g}")
        return
    end = max(2, int(panel.x[-1]))
    if panel.is_log:
        axes.set(xscale="log", xlim=(1, end))
        axes.minorticks_off()
    else:
        axes.set(xlim=(0, end))
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def add_legend(target: Any, lines: Sequence[Any], *, ncols: int = 1, **options: Any) -> None:
    """A legend of lines by their labels, on axes or a figure; lines in order are side by side, row after row."""
    # matplotlib itself goes down columns, and drops names that begin with "_".
    rows = [line for column in range(ncols) for line in lines[column::ncols]]
    legend = target.legend(rows, ["-"] * len(rows), frameon=False, ncols=ncols, **options)
    for text, line in zip(legend.get_texts(), rows, strict=True):
        text.set_parse_math(False)
        text.set_text(legend_label(line.get_label()))


def in_order(axes: Iterable[Any], labels: Iterable[str]) -> list[Any]:
    """The lines of some axes, one for each label, in the order of these labels, and then those of other labels."""
    lines = {line.get_label(): line for each in axes for line in each.lines}
    first = [label for label in dict.fromkeys(labels) if label in lines]
    return [lines[label] for label in dict.fromkeys([*first, *lines])]


def figure_size(width: Any, height: Any, error: type[Exception]) -> tuple[float | None, float | None]:
    """The width and the height of a figure in inches, checked; None where they are not given."""
    if isinstance(width, str):
        if width not in WIDTHS:
            raise error(f'expected width to be "column", "page" or a number of inches, got {shown(width)}')
        width = WIDTHS[width]
    sizes = [
        None if given is None else as_number(f"{name} (in inches)", given, 1.0, 100.0, error=error)
        for name, given in (("width", width), ("height", height))
    ]
    return sizes[0], sizes[1]


def new_figure(
    n_panels: int, labels: Sequence[str], width: float | None = None, height: float | None = None
) -> tuple[Any, Any, int]:
    """A figure for panels side by side, up to three in a row, with room for a legend of these labels under them."""
    # Returns the figure, the axes in order, and the number of columns that the legend has. Call it within
    # `rc_context`, of `SMALL` where a width is given.
    Figure, _ = matplotlib_parts()
    n_columns = 2 if n_panels == 4 else min(3, n_panels)
    if width is not None:
        n_columns = max(1, min(n_columns, int(width / 2.0)))
    n_rows = -(-n_panels // n_columns)
    key, letter, line = (0.6, 0.075, 0.2) if width is None else (0.5, 0.066, 0.17)
    panel_height = 2.8 if width is None else 0.4 + 0.6 * width / n_columns
    if width is None:
        width = 0.3 + 3.7 * n_columns
    longest = max((len(legend_label(label)) for label in labels), default=0)
    per_row = max(1, min(len(labels), int(width / (key + letter * longest)))) if labels else 1
    n_lines = math.ceil(len(labels) / per_row)
    if height is None:
        height = panel_height * n_rows + (line + line * n_lines if labels else 0.0)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for axes in grid[n_panels:]:
        axes.remove()
    return figure, grid[:n_panels], math.ceil(len(labels) / max(1, n_lines))


def saved(figure: Any, **options: Any) -> bytes:
    """What matplotlib writes to a file for a figure."""
    raw = io.BytesIO()
    figure.savefig(raw, **options)
    return raw.getvalue()


def matplotlib_parts() -> tuple[Any, Any]:
    """`StyledFigure` and matplotlib's `rc_context`, which do without pyplot and its global state."""
    try:
        from matplotlib import rc_context

        from matroid_bandits._util.figures import StyledFigure
    except ImportError:
        raise missing("plot needs matplotlib", "plot") from None
    return StyledFigure, rc_context


def _spread(panel: Panel, n_points: int | None) -> IntArray | slice:
    """Places of points that are evenly spaced on the axis."""
    if n_points is None or panel.x_label != EPISODES:
        return slice(None)
    wanted = (np.geomspace if panel.is_log else np.linspace)(1, panel.x[-1], n_points)
    return np.unique(np.minimum(np.searchsorted(panel.x, wanted), panel.x.size - 1))
