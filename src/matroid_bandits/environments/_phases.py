"""A world made against optimism: levels that jump in phases of growing length."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.environments._bernoulli import BernoulliEnvironment
from matroid_bandits.environments._piecewise import PiecewiseEnvironment
from matroid_bandits.exceptions import InvalidEnvironmentError

#: Episodes are below this number; later phases do not matter.
_MOST_EPISODES = 2**47


class PhasesEnvironment(PiecewiseEnvironment):
    """Bernoulli weights whose means alternate between two levels in growing phases (Zimmert, Luo and Wei, 2019).

    In odd phases the best items have mean 1 and the others 1 - gap, in even ones gap and 0. The best set is the same
    all the time and so is the gap, but an average over phases says nothing: policies that trust averages stay with a
    wrong item for whole phases, while policies for adversaries (`Hybrid`) do not mind. Phase n has
    ceil(growth^n) episodes; the first begins with episode 0, the look before the first decision.

    Parameters
    ----------
    n_items : int
        How many items there are.
    best : sequence of int
        The best items.
    gap : float, default 0.1
        By how much they are better, above 0 and at most 1.
    growth : float, default 1.6
        How much longer each phase is than the one before, from 1.1.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.PhasesEnvironment(4, best=[0, 1])
    >>> world.changes[:4]  # phases of 2, 3, 5 and 7 episodes, from episode 0 on
    (2, 5, 10, 17)
    >>> world.means(1, mb.Stream(0, [0])), world.means(2, mb.Stream(0, [0]))
    (array([1. , 1. , 0.9, 0.9]), array([0.1, 0.1, 0. , 0. ]))
    """

    def __init__(self, n_items: int, best: Any, gap: float = 0.1, growth: float = 1.6) -> None:
        n = as_integer("n_items", n_items, 1, error=InvalidEnvironmentError)
        self._best = _as_mask(best, n)
        self._gap = as_number("gap", gap, 0.0, 1.0, error=InvalidEnvironmentError)
        if self._gap == 0.0:
            raise InvalidEnvironmentError(f"expected gap to be above 0; got {shown(gap)}")
        self._growth = as_number("growth", growth, 1.1, 1e6, error=InvalidEnvironmentError)
        high = BernoulliEnvironment(np.where(self._best, 1.0, 1.0 - self._gap))
        low = BernoulliEnvironment(np.where(self._best, self._gap, 0.0))
        changes, phase, t = [], 1, ceil(self._growth)
        while t < _MOST_EPISODES:
            changes.append(t)
            phase += 1
            t += ceil(self._growth**phase)
        super().__init__([high if i % 2 == 0 else low for i in range(len(changes) + 1)], changes)

    def __repr__(self) -> str:
        n_best = int(self._best.sum())
        return f"<{type(self).__name__}: {self.n_items} items, {n_best} better by {self._gap:g}>"


def _as_mask(best: Any, n_items: int) -> BoolArray:
    try:
        items = [as_integer("an item of best", e, 0, n_items - 1, error=InvalidEnvironmentError) for e in best]
    except TypeError:
        raise InvalidEnvironmentError(f"expected best to be a row of items; got {shown(best)}") from None
    if not items:
        raise InvalidEnvironmentError("expected best to name an item or more; got none")
    mask = np.zeros(n_items, bool)
    mask[items] = True
    mask.flags.writeable = False
    return mask
