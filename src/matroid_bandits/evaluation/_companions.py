"""Whether what an item is worth depends on the items chosen beside it, which estimates take for granted."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from matroid_bandits._util.sums import added
from matroid_bandits.evaluation._log import Log, read_log
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.learner import KINDS

#: Plays of random sets below which nothing can be said.
_LEAST = 100


class CompanionEffect(NamedTuple):
    """Regression slope of an item's weight on the average weights of the other items in its set.

    Attributes
    ----------
    slope, error : float
        The slope, 0 where companions do not matter, and its standard error by decision.
    n_plays : int
        The plays of random sets that it rests on.

    Examples
    --------
    >>> from matroid_bandits.evaluation import CompanionEffect
    >>> CompanionEffect(-0.2, 0.05, 4000).p_value < 0.001
    True
    """

    slope: float
    error: float
    n_plays: int

    @property
    def p_value(self) -> float:
        """P value of the hypothesis that the other items do not matter."""
        return 2.0 * NormalDist().cdf(-abs(self.slope) / self.error) if self.error > 0.0 else 1.0


def companion_effect(log: Any) -> CompanionEffect:
    """Regress the weights of items on the average weights of the other items in their sets.

    Both are taken less their average over the item's own plays, so only good company matters, not good items. Random
    sets alone are used: their company is drawn by chance. A negative slope says that items take attention from each
    other, a positive one that they help each other; either way estimates of sets that were hardly played are off.

    Parameters
    ----------
    log : Log, or anything that `read_log` takes
        A log with a hold-out of random sets.

    Raises
    ------
    EvaluationError
        Fewer than 100 items of random sets of two or more were answered, or sets were shown as lists.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> events, rng = [], np.random.default_rng(0)
    >>> learner = mb.Learner(mb.UniformMatroid(6, 3), mb.OMM(), seed=0, holdout=0.5, record=events.append)
    >>> for _ in range(600):
    ...     decision = learner.ask()
    ...     chances = decision.items / 10
    ...     company = (chances.sum() - chances) / 2
    ...     learner.tell(decision, (rng.random(3) < chances * (1.2 - company)).astype(float))  # they compete
    >>> found = mb.evaluation.companion_effect(events)
    >>> found.slope < 0, found.p_value < 0.05
    (True, True)
    """
    log = log if isinstance(log, Log) else read_log(log)
    is_answered = [each for each in log.decisions if each.is_answered and each.is_settled]
    if any(KINDS[each.answers].is_list for each in is_answered):
        raise EvaluationError(
            "expected sets whose items are all looked at, got lists: what an item gets there depends on its place"
        )
    sums: dict[Any, list[float]] = {}
    for each in is_answered:
        for label, weight in zip(each.labels, each.weights.tolist(), strict=True):
            known = sums.setdefault(label, [0.0, 0.0])
            known[0] += 1.0
            known[1] += weight
    rows: list[tuple[int, Any, float, float]] = []
    for place, each in enumerate(is_answered):
        if each.is_held_out and each.control is None and each.items.size > 1:
            worth = [sums[label][1] / sums[label][0] for label in each.labels]
            total = added(worth)
            rows += [
                (place, label, x, total - own)
                for label, x, own in zip(each.labels, each.weights.tolist(), worth, strict=True)
            ]
    if len(rows) < _LEAST:
        raise EvaluationError(
            f"expected at least {_LEAST} answered items of random sets of two or more, got {len(rows)}; a larger "
            "hold-out would have more"
        )
    numbers: dict[Any, int] = {}
    items = np.array([numbers.setdefault(label, len(numbers)) for _, label, _, _ in rows])
    x, c = (np.array([row[place] for row in rows], np.float64) for place in (2, 3))
    n = np.bincount(items)
    x -= (np.bincount(items, x) / n)[items]
    c -= (np.bincount(items, c) / n)[items]
    spread = float(c @ c)
    if spread <= 0.0:
        raise EvaluationError("expected items that were beside different ones, got the same company throughout")
    slope = float(c @ x) / spread
    places = np.unique([row[0] for row in rows], return_inverse=True)[1]
    scores = np.bincount(places, c * (x - slope * c))
    return CompanionEffect(slope, float(np.sqrt(np.square(scores).sum())) / spread, len(rows))
