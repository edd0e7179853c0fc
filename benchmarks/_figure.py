"""The figure of the README: time per episode against the number of items."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from benchmarks._harness import Result, format_time
from benchmarks.engines import FIGURE_PREFIX

#: Of whom, under what name, colour, and where the label goes relative to the end of the line, in points.
_LINES = (
    ("NumPy loop", "NumPy, argpartition", "#b4543b", 0),
    ("plain engine", "plain engine, every item", "#8a8f98", 0),
    (None, "the engine chosen", "#1f6fb2", 0),
)


def draw(results: list[Result], path: Path) -> None:
    """Draw the cases that are meant for the figure; says nothing when there are too few of them."""
    shown = [result for result in results if result.name.removeprefix(FIGURE_PREFIX).replace(",", "").isdigit()]
    if len(shown) < 2:
        return
    shown.sort(key=_n_items)
    sizes = [_n_items(result) for result in shown]
    style = {
        "svg.fonttype": "path",
        "svg.hashsalt": "matroid-bandits",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#666666",
        "xtick.color": "#444444",
        "ytick.color": "#444444",
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(7.2, 3.9), layout="constrained")
        for name, label, color, dy in _LINES:
            times = [result.ours if name is None else result.others[name] for result in shown]
            width = 2.4 if name is None else 1.8
            axes.plot(sizes, times, color=color, linewidth=width, marker="o", markersize=4)
            axes.annotate(
                f"{label}\n{format_time(times[-1]).strip().replace('us', 'µs')}",
                (sizes[-1], times[-1]),
                xytext=(9, dy),
                textcoords="offset points",
                color=color,
                va="center",
                fontweight="bold" if name is None else "normal",
            )
        axes.set(xscale="log", yscale="log", xlabel="items L", ylabel="time per episode")
        axes.set_title(
            "OMM choosing 100 of L items, while it learns (episodes 1,000 to 10,000)", loc="left", fontsize=11
        )
        ticks = [10**k for k in range(-6, 1) if axes.get_ylim()[0] <= 10.0**k <= axes.get_ylim()[1]]
        axes.set_yticks(ticks, [_plain_time(tick) for tick in ticks])
        axes.set_xticks([10**k for k in range(3, 7)], ["1,000", "10,000", "100,000", "1,000,000"])
        axes.minorticks_off()
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.8)
        axes.set_axisbelow(True)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def _n_items(result: Result) -> int:
    return int(result.name.removeprefix(FIGURE_PREFIX).replace(",", ""))


def _plain_time(seconds: float) -> str:
    unit, size = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    return f"{seconds / size:g} {unit}"
