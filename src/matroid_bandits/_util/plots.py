"""How plots look, wherever they are drawn: colours, line styles and matplotlib's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matroid_bandits.exceptions import MissingDependencyError

#: What the level of the optimum is called, where a policy may stand beside it.
OPTIMAL = "optimal"

#: matplotlib's settings for every figure, to be used with `rc_context`.
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small files, the reader's own fonts
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


def matplotlib_parts() -> tuple[Any, Any]:
    """matplotlib's `Figure` and `rc_context`, which do without pyplot and its global state."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("figures need matplotlib: pip install 'matroid-bandits[experiments]'") from None
    return Figure, rc_context
