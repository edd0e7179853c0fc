"""Priors for new items, from what is known of the items of their categories."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, Label
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError
from matroid_bandits.policies import Policy, State

#: The word for priors that are worked out.
TYPICAL = "typical"

#: Fewer known items of a category have no spread to speak of.
_FEWEST = 2


class ByLabel(dict[Label, tuple[float, float]]):
    """Priors by label alone: a number among the keys is a label, not the number of an item."""


def spelled_out(
    priors: Any,
    policy: Policy,
    state: State,
    extremes: tuple[float, float],
    constraint: Constraint,
    newcomers: Sequence[int],
    forget: set[Label],
    is_replaying: bool,
) -> Any:
    """Priors as numbers by label, where they are given as the word, alone or with a number of plays.

    `state` is that of the items so far, `extremes` are the least and the largest weight that were told; `newcomers`
    are items of the new `constraint`.

    A new item takes the mean of the known items of its category. It is worth sigma^2 / tau^2 plays, where tau is the
    spread of those items' means, what answers add to it apart, and sigma^2 the largest variance of weights with that
    mean between the least and the largest that were told; at least 1 and at most the plays of half the items. In logs
    of version 0.2, which have the word alone, it is the median of the means, and of the plays, of all known items.
    """
    is_pair = isinstance(priors, (tuple, list)) and len(priors) == 2 and priors[0] == TYPICAL
    if not is_pair and not isinstance(priors, str):
        return priors
    if isinstance(priors, str) and priors != TYPICAL:
        raise FeedbackError(f'expected priors by item, or "typical"; got {shown(priors)}')
    plays = None
    if is_pair:
        plays = as_number("the plays of typical priors", priors[1], 0.0, 1e12, error=FeedbackError)
    known = _Known(policy, state, extremes, constraint, forget)
    if not known.means.size:
        return ByLabel()
    if is_replaying:
        like = dict.fromkeys(newcomers, (float(np.median(known.means)), float(np.median(known.counts))))
    else:
        like = {
            e: known.like(kinds, plays) for e, kinds in zip(newcomers, _kinds(constraint, newcomers), strict=True)
        }
    sign = -1.0 if state.minimize else 1.0
    return ByLabel({constraint.labels[e]: (sign * mean, worth) for e, (mean, worth) in like.items()})


class _Known:
    """Means and plays of the items that were answered, with their categories."""

    def __init__(
        self,
        policy: Policy,
        state: State,
        extremes: tuple[float, float],
        constraint: Constraint,
        forget: set[Label],
    ) -> None:
        before = state.constraint
        means, counts, _ = (array[0] for array in policy.beliefs(state))
        answered = [e for e in np.flatnonzero(counts > 0).tolist() if before.labels[e] not in forget]
        self.means: FloatArray = np.asarray(means, np.float64)[answered]
        self.counts: FloatArray = np.asarray(counts, np.float64)[answered]
        # items that stay have the categories that they are to have
        now = dict(zip(constraint.labels, _kinds(constraint, range(constraint.n_items)), strict=True))
        was = _kinds(before, answered)
        self._kinds = [now.get(before.labels[e], kinds) for e, kinds in zip(answered, was, strict=True)]
        low, high = extremes
        self._range = (-high, -low) if state.minimize else (low, high)
        self._found: dict[tuple[Hashable, ...], tuple[float, float]] = {}

    def like(self, kinds: tuple[Hashable, ...], plays: float | None) -> tuple[float, float]:
        """The prior of an item: the mean of those like it, and how many plays it is worth."""
        if kinds not in self._found:
            rows = self._rows(kinds)
            mean = math.fsum(self.means[rows].tolist()) / len(rows)
            self._found[kinds] = mean, self._worth(mean, rows) if plays is None else plays
        return self._found[kinds]

    def _rows(self, kinds: tuple[Hashable, ...]) -> list[int]:
        """The known items of the same category, of both where there are two kinds, else of one, else all."""
        singles = ((place,) for place in range(len(kinds)))
        for places in [range(len(kinds)), *singles] if len(kinds) > 1 else singles:
            if any(kinds[place] is None for place in places):
                continue
            rows = [
                row
                for row, other in enumerate(self._kinds)
                if len(other) == len(kinds) and all(other[place] == kinds[place] for place in places)
            ]
            if len(rows) >= _FEWEST:
                return rows
        return list(range(self.means.size))

    def _worth(self, mean: float, rows: list[int]) -> float:
        counts = self.counts[rows]
        most = max(float(np.median(counts)), 1.0)
        low, high = self._range
        variance = (mean - low) * (high - mean)
        if len(rows) < _FEWEST or not 0.0 < variance < math.inf:
            return most
        spread = math.fsum(((self.means[rows] - mean) ** 2).tolist()) / (len(rows) - 1)
        spread -= variance * math.fsum((1.0 / counts).tolist()) / len(rows)
        return most if spread <= 0.0 else min(max(variance / spread, 1.0), most)


def _kinds(constraint: Constraint, items: Iterable[int]) -> list[tuple[Hashable, ...]]:
    """The categories of items, one of each kind; empty ones where items have no categories."""
    named = constraint.categories()
    return [tuple(names[e] for names in named) for e in items]
