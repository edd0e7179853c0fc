"""The look of curves: a colour for each family, and a dash and marker for each curve, which also differ in grey."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from matroid_bandits._util.text import in_a_line

#: What the level of the optimum is called, where a policy may stand beside it.
OPTIMAL = "optimal"

#: Longer labels are shortened in the middle, so that a legend keeps to the width of its figure.
_LONGEST = 48


class Style(NamedTuple):
    """Colour, dash and marker of a curve.

    Attributes
    ----------
    color : str
        As "#rrggbb".
    dash : tuple of float
        Lengths of strokes and gaps by turns, in line widths; empty for a solid line.
    marker : str
        One of matplotlib's markers; empty for none.

    Examples
    --------
    >>> Style("#000000", (2.0, 1.0), "o").linestyle
    (0, (2.0, 1.0))
    """

    color: str
    dash: tuple[float, ...] = ()
    marker: str = ""

    @property
    def linestyle(self) -> str | tuple[int, tuple[float, ...]]:
        """The dash as matplotlib takes it."""
        return (0, self.dash) if self.dash else "-"


# Colours that people with any colour vision can tell apart (Okabe and Ito).
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#b0568f", "#56b4e9", "#e69f00", "#000000")
_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (2.0, 1.0),
    (4.0, 1.6),
    (5.0, 1.5, 1.0, 1.5),
    (8.0, 2.0),
    (5.0, 1.3, 1.0, 1.3, 1.0, 1.3),
)
MARKERS = ("", "o", "s", "^", "D", "v", "X", "<", "P", ">", "*", "p")

#: Families that look the same in every figure, by their place in the lists above.
_KNOWN = {
    "OMM": 0,
    "ε-greedy": 1,
    "EpsilonGreedy": 1,
    "KLOSM": 2,
    "KL-OSM": 2,
    "Thompson": 3,
    "ThompsonSampling": 3,
    "CTS": 3,
}

#: The level of the optimum, whose dash no policy has.
OPTIMUM = Style("#555555", (1.0, 1.2))

#: Bounds are grey, and their dashes are those of no policy.
_BOUNDS: tuple[tuple[float, ...], ...] = (
    (12.0, 4.0),
    (1.0, 3.0),
    (12.0, 3.0, 3.0, 3.0),
    (3.0, 4.0),
    (12.0, 3.0, 1.0, 3.0, 1.0, 3.0),
)

Styles = Mapping[str, Style]


def by_family(labels: Iterable[str]) -> dict[str, list[str]]:
    """Labels by the family that they name first: "OMM, scale=2", "OMM(scale=2.0)" and "OMM" are of OMM."""
    groups: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels):
        groups.setdefault(re.split(r", |\(", label, maxsplit=1)[0], []).append(label)
    return groups


def curve_styles(groups: Mapping[str, Sequence[str]]) -> dict[str, Style]:
    """The style of each curve, by label, families together: a family has one colour, from light to full."""
    # No two curves have both the dash and the marker in common, so a figure can be read in grey. A curve that has the
    # family's own name is in full colour, and the first of the family; where no curve has, the name has a style for
    # figures that draw one curve for the whole family.
    styles: dict[str, Style] = {}
    taken: set[tuple[tuple[float, ...], str]] = set()
    for (family, labels), place in zip(groups.items(), _places(groups), strict=True):
        color, first = _COLORS[place % len(_COLORS)], place % len(_DASHES)
        dashes = (*_DASHES[first:], *_DASHES[:first])  # others only where a family has more curves than markers
        own = sorted(labels, key=lambda label: label != family)
        for i, label in enumerate(own):
            step = (len(own) - i) % len(own) if own[0] == family else len(own) - 1 - i
            pairs = ((dash, marker) for dash in dashes for marker in MARKERS)
            pair = next((pair for pair in pairs if pair not in taken), (_DASHES[first], ""))
            taken.add(pair)
            styles[label] = Style(_lighter(color, 0.5 * step / max(1, len(own) - 1)), *pair)
        styles.setdefault(family, styles[own[0]]._replace(color=color))
    return styles


def bound_styles(labels: Iterable[str]) -> dict[str, Style]:
    """The styles of bounds, which are beside the curves of policies."""
    return {label: Style("#888888", _BOUNDS[i % len(_BOUNDS)]) for i, label in enumerate(labels)}


def _places(families: Iterable[str]) -> list[int]:
    """A place in the lists of colours and dashes for each family: that of its name, or the next that is free."""
    families = list(families)
    kept = {_KNOWN[family] for family in families if family in _KNOWN}
    free = iter(place for place in range(len(families) + len(kept)) if place not in kept)
    places: list[int] = []
    for family in families:
        known = _KNOWN.get(family)
        places.append(known if known is not None and known not in places else next(free))
    return places


def _lighter(color: str, share: float) -> str:
    """A colour mixed with white, of which there is this share."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{int(part + (255 - part) * share + 0.5):02x}" for part in parts)


def legend_label(label: str) -> str:
    """A label as a legend shows it, in a line; the middle of a long one is left out."""
    return in_a_line(label, _LONGEST)
