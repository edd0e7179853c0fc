"""Parts of a log: decisions by the values of a tag, and items by category."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.evaluation._estimators import Decisions, Target
from matroid_bandits.evaluation._log import LoggedDecision

#: Values of a tag that are parts of their own; rarer ones are one part together.
MOST_VALUES = 20
OTHERS = "(others)"

#: What may stand between a category and the rest of a label.
_SEPARATORS = "/:|"


class Categories:
    """The category of each item of the constraints that a log had: partition blocks, else what labels begin with."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._known: dict[int, tuple[Constraint, IntArray]] = {}

    def codes(self, constraint: Constraint) -> IntArray:
        """The number (L,) of each item's category among `names`."""
        known = self._known.get(id(constraint))
        if known is None:
            named = _named(constraint)
            codes = np.array([self.names.setdefault(name, len(self.names)) for name in named], np.int64)
            known = self._known[id(constraint)] = constraint, codes
        return known[1]


def _named(constraint: Constraint) -> list[str]:
    kinds = constraint.categories()
    if kinds:
        return ["(none)" if name is None else str(name) for name in kinds[0]]
    return [_prefix(label) for label in constraint.labels]


def _prefix(label: Any) -> str:
    """What a label begins with, up to a separator; the same for all that have none."""
    text = label if isinstance(label, str) else ""
    places = [text.index(mark) for mark in _SEPARATORS if mark in text]
    return text[: min(places)] if places and min(places) > 0 else "(none)"


def by_value(kept: Sequence[LoggedDecision], tag: str) -> dict[str, BoolArray]:
    """Which decisions have each value of a tag, the most frequent first; a few that are rare are one part."""
    values = [_text(each.tags[tag]) if tag in each.tags else "(none)" for each in kept]
    frequent = [value for value, _ in Counter(values).most_common(MOST_VALUES)]
    found = {value: np.array([each == value for each in values], bool) for value in frequent}
    if len(frequent) < len({*values}):
        found[OTHERS] = ~np.logical_or.reduce([*found.values()])
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def of_decisions(log: Decisions, target: Target, chosen: BoolArray) -> tuple[Decisions, Target]:
    """A log and a target restricted to some decisions."""
    rows = chosen[log.decision]
    places = np.cumsum(chosen) - 1
    part = replace(
        log,
        decision=places[log.decision[rows]],
        weights=log.weights[rows],
        propensities=log.propensities[rows],
        predictions=log.predictions[rows],
        is_held_out=log.is_held_out[chosen],
        units=None if log.units is None else log.units[chosen],
    )
    return part, Target(target.inclusions[rows], target.sizes[chosen], target.predicted[chosen])
