"""How plots look, wherever they are drawn: curves as data, colours, line styles and matplotlib's settings."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.extras import missing
from matroid_bandits._util.text import printable

#: What the level of the optimum is called, where a policy may stand beside it.
OPTIMAL = "optimal"

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

# Colours that people with any colour vision can tell apart (Okabe and Ito), each with a line style of its own.
_KNOWN: dict[str, tuple[str, str]] = {
    OPTIMAL: ("#555555", ":"),
    "ε-greedy": ("#d55e00", "-"),
    "OMM": ("#0072b2", "-"),
    "KLOSM": ("#009e73", "--"),
    "Thompson": ("#b0568f", "-."),
}
_OTHERS: tuple[tuple[str, str], ...] = (
    ("#0072b2", "-"),
    ("#d55e00", "-"),
    ("#009e73", "--"),
    ("#b0568f", "-."),
    ("#56b4e9", "--"),
    ("#e69f00", "-"),
    ("#000000", "-."),
)
_LIGHTER, _ANY = ("#56b4e9", "--"), ("#777777", "-")

Styles = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Curve:
    """Curve of a plot, with half the height of its 95% confidence band, if any.

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
    unless `from_zero` says otherwise.

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


def line_styles(labels: Iterable[str], *, has_optimum: bool = False) -> dict[str, tuple[str, str]]:
    """Colour and line style of each curve by its label, the optimum first where it is shown.

    A policy that the paper's experiments play looks the same in every plot; others take what is free.

    Examples
    --------
    >>> line_styles(["OMM", "mine"])
    {'OMM': ('#0072b2', '-'), 'mine': ('#d55e00', '-')}
    """
    labels = list(dict.fromkeys(labels))
    chosen = {OPTIMAL: _KNOWN[OPTIMAL]} if has_optimum else {}
    taken = {_KNOWN[label] for label in labels if label in _KNOWN}
    for label in labels:
        options = (_LIGHTER, *_OTHERS) if label.startswith("OMM, ") else _OTHERS  # a variant of OMM looks like OMM
        chosen[label] = _KNOWN.get(label) or next((style for style in options if style not in taken), _ANY)
        taken.add(chosen[label])
    return chosen


def family_styles(groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Colour and line style of the curves of groups by label: a group has one colour, from light to full.

    Examples
    --------
    >>> family_styles({"OMM": ["OMM, scale=1", "OMM, scale=2"], "KLOSM": ["KLOSM"]})
    {'OMM, scale=1': ('#b2d5e8', '-'), 'OMM, scale=2': ('#0072b2', '-'), 'KLOSM': ('#009e73', '--')}
    """
    return {
        label: (_lighter(color, 0.7 * (len(labels) - 1 - place) / max(1, len(labels) - 1)), dash)
        for (color, dash), labels in zip(line_styles(groups).values(), groups.values(), strict=True)
        for place, label in enumerate(labels)
    }


def _lighter(color: str, share: float) -> str:
    """A colour mixed with white, of which there is this share."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)


def draw_panel(
    axes: Any, panel: Panel, styles: Styles, *, optimum: str = OPTIMAL, n_points: int | None = None
) -> None:
    """Draw a panel on matplotlib axes: the curves, each with its band, the optimum, and what the axes show.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    panel : Panel
        What to draw.
    styles : mapping of label to (colour, line style)
        As `line_styles` chose them.
    optimum : str
        What the level of the optimum is called.
    n_points : int, optional
        How many points of each curve to draw, evenly spaced on the axis; all of them by default.
    """
    places = _spread(panel, n_points)
    x = panel.x[places]
    for curve in panel.curves:
        color, dash = styles[curve.label]
        is_tried = panel.x_label != EPISODES and len(panel.x) <= 30  # a few values, one by one
        mark = "o" if is_tried else ""
        axes.plot(x, curve.y[places], color=color, linestyle=dash, marker=mark, markersize=4, label=curve.label)
        if curve.band is not None and np.isfinite(curve.band).all():
            low, high = curve.y - curve.band, curve.y + curve.band
            axes.fill_between(x, low[places], high[places], color=color, alpha=0.18, linewidth=0)
    if panel.optimum is not None:
        color, dash = _KNOWN[OPTIMAL]
        if np.ndim(panel.optimum) == 0:
            axes.axhline(panel.optimum, color=color, linestyle=dash, label=optimum, zorder=3)
        else:
            axes.plot(x, np.asarray(panel.optimum)[places], color=color, linestyle=dash, label=optimum, zorder=3)
    title = f"{panel.title} ({STANDIN})" if panel.is_standin else panel.title
    axes.set_title(printable(title), color="#a33b00" if panel.is_standin else "#222222")
    axes.set(xlabel=printable(panel.x_label), ylabel="\n".join(map(printable, panel.y_label.split("\n"))))
    _scale_x(axes, panel)
    if panel.optimum is None and panel.from_zero:  # regret begins at nothing
        axes.set(ylim=(0, None))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.6g}")


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


def add_legend(target: Any, lines: Sequence[Any], **options: Any) -> None:
    """A legend of lines by their labels, on axes or a figure; matplotlib itself drops names that begin with "_"."""
    legend = target.legend(lines, ["-"] * len(lines), frameon=False, **options)
    for text, line in zip(legend.get_texts(), lines, strict=True):
        text.set_parse_math(False)
        text.set_text(printable(line.get_label()))


def new_figure(n_panels: int, labels: Sequence[str]) -> tuple[Any, Any, int]:
    """A figure for panels side by side, three in a row, with room for a legend of these labels under them.

    Returns the figure, the axes in order, and the number of columns that the legend has. Call it within `rc_context`.
    """
    Figure, _ = matplotlib_parts()
    n_columns = min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    width = 0.3 + 3.7 * n_columns
    longest = max((len(label) for label in labels), default=0)
    per_row = max(1, min(len(labels), int(width / (0.6 + 0.075 * longest)))) if labels else 1
    n_lines = math.ceil(len(labels) / per_row)
    height = 2.8 * n_rows + (0.2 + 0.2 * n_lines if labels else 0.0)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for axes in grid[n_panels:]:
        axes.remove()
    return figure, grid[:n_panels], math.ceil(len(labels) / max(1, n_lines))


def to_png(figure: Any) -> bytes:
    """The figure as PNG, the same bytes for the same figure."""
    return saved(figure, format="png", dpi=150, metadata={"Software": None})


def saved(figure: Any, **options: Any) -> bytes:
    """What matplotlib writes to a file for a figure, in the style of all figures."""
    _, rc_context = matplotlib_parts()
    raw = io.BytesIO()
    with rc_context(SETTINGS):
        figure.savefig(raw, **options)
    return raw.getvalue()


def matplotlib_parts() -> tuple[Any, Any]:
    """matplotlib's `Figure` and `rc_context`, which do without pyplot and its global state."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("plot needs matplotlib", "plot") from None
    return Figure, rc_context


def _spread(panel: Panel, n_points: int | None) -> IntArray | slice:
    """Places of points that are evenly spaced on the axis."""
    if n_points is None or panel.x_label != EPISODES:
        return slice(None)
    wanted = (np.geomspace if panel.is_log else np.linspace)(1, panel.x[-1], n_points)
    return np.unique(np.minimum(np.searchsorted(panel.x, wanted), panel.x.size - 1))
