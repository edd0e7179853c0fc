"""A policy beside which every item gets at least its share of the episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.names import decode, plain
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State
from matroid_bandits.policies._wrapper import PolicyWrapper

#: What rates may exceed a bound by, for sums of rounded numbers.
_SLACK = 1e-9

#: Steps of the search for items whose floors cannot be met together, on matroids that are not made of quotas.
_MOST_STEPS = 2000


class ExposureFloors(PolicyWrapper):
    r"""Wrapper that guarantees each item i a minimum long-run share :math:`r_i` of the episodes.

    Every item has a debt :math:`Q_i \leftarrow \max(0, Q_i + r_i - 1\{i \text{ chosen}\})`, and its index is
    :math:`Q_i + \eta` times that of the policy (virtual queues: Li, Liu and Ji, 2019).

    Parameters
    ----------
    base : Policy
        How to choose beside the floors.
    floors : float, or mapping of label to float, or pairs
        The share of the episodes of every item, or of those named; in [0, 1].
    eta : float, optional
        What the policy's index counts beside an episode of debt: a larger one keeps the floors later and costs less.
        By default 100 over the width of the policy's range, or 100 where that has no bounds.
    away : mapping of label to float
        Floors of items that a learner does not have at present; they hold again when the items return.

    Notes
    -----
    The floors must fit the constraint: those of any items add up to no more than how many of them a set can have. On
    quotas this is checked by the sums of groups; on other matroids by a search that finds a violation unless it is
    tiny; for other constraints floors are refused. Only episodes in which an item was available count for its floor.
    Decisions that are held out and not learnt from do not count.

    On 20 items, sets of 5 and floors of 0.1 in 20,000 episodes, the item chosen least was chosen in 0.0996 of them
    with ``eta=100`` and in 0.0955 with 1,000; without floors in 0.001.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.3, 0.1]))
    >>> fair = mb.ExposureFloors(mb.OMM(0.3), 0.1, eta=10.0)
    >>> result = mb.simulate(problem, [fair], n_episodes=2000, n_runs=5, seed=0)
    >>> bool((result.choices[0] / (5 * 2000)).min() > 0.09)
    True
    """

    def __init__(
        self,
        base: Policy,
        floors: float | Mapping[Label, float] | Sequence[tuple[Label, float]],
        eta: float | None = None,
        away: Mapping[Label, float] | Sequence[tuple[Label, float]] = (),
    ) -> None:
        super().__init__(base)
        if isinstance(base, ExposureFloors):
            raise PolicyError(f"expected base to be a policy without floors, got {shown(base)}")
        if base.chooses_sets:
            raise PolicyError(f"expected base to be a policy with an index for every item, got {shown(base)}")
        is_one = isinstance(floors, (int, float, np.integer, np.floating))
        self._floors = _as_rate("floors", floors) if is_one else _as_floors(floors)
        self._away = _as_floors(away)
        self._eta = None if eta is None else as_number("eta", eta, 0.0, error=PolicyError)
        taken = {each.name for each in base.memory}
        for each in _OWN:
            if each.name in taken:
                raise PolicyError(f"expected {base!r} to keep nothing called {each.name!r}, which is that of floors")

    @property
    def memory(self) -> Sequence[Memory]:
        return *self._base.memory, *_OWN

    @property
    def affine(self) -> AffinePolicy | None:
        """None: the debts of all items change in every episode, so the index is not affine."""
        return None

    def prepare(self, constraint: Constraint) -> Any:
        """Check that the constraint can meet the floors, and prepare the wrapped policy."""
        check_floors(constraint, self._rates(constraint))
        return self._base.prepare(constraint)

    def indices(self, state: State, request: Request) -> FloatArray:
        U: FloatArray = self._debts(state) + self._factor * self._base.indices(state, request)
        return U

    def advance(self, state: State, request: Request) -> tuple[IntArray, IntArray] | None:
        """Increase the debts of the available items; the chosen set is counted when its plays are."""
        moved = self._base.advance(state, request)
        owed = self._rates(state.constraint)
        if request.excluded is not None:
            owed[request.excluded] = 0.0
        if request.available is not None:
            owed = np.where(request.available, owed, 0.0)
        state.extra["debt"][:] = self._debts(state) + owed
        state.extra["shown"][:] = state.asked
        return moved

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        base = self._base.change(before, sources, features)
        floors, away = self._floors, self._away
        if isinstance(floors, dict):
            stays = {before.labels[e] for e in sources[sources >= 0].tolist()}
            named = {before.labels[before.as_item(key)]: rate for key, rate in floors.items()}
            named |= {label: rate for label, rate in away.items() if label in before.labels}
            away = away | {label: rate for label, rate in named.items() if label not in stays}
            floors = {label: rate for label, rate in named.items() if label in stays}
        return ExposureFloors(base, floors, self._eta, away)

    def check_extra(self, state: State) -> None:
        self._base.check_extra(state)
        debts, shown_ = state.extra["debt"], state.extra["shown"]
        if not (np.isfinite(debts) & (debts >= 0.0)).all() or (shown_ < 0).any():
            raise PolicyError("expected debts of floors of 0 or more, and plays they were counted at; got others")

    def params(self) -> dict[str, Any]:
        floors = self._floors if isinstance(self._floors, float) else _listed(self._floors)
        found = {"base": self._base, "floors": floors, "eta": self._eta}
        return found | ({"away": _listed(self._away)} if self._away else {})

    @property
    def _factor(self) -> float:
        if self._eta is not None:
            return self._eta
        width = self.support[1] - self.support[0]
        return 100.0 / width if 0.0 < width < np.inf else 100.0

    def _debts(self, state: State) -> FloatArray:
        """What every item is owed after the last episode, whose set the state has counted by now."""
        n_new = np.maximum(state.asked - state.extra["shown"], 0)
        debts: FloatArray = np.maximum(state.extra["debt"] - n_new, 0.0)
        return debts

    def _rates(self, constraint: Constraint) -> FloatArray:
        rates: FloatArray = np.zeros(constraint.n_items)
        if not isinstance(self._floors, dict):
            rates[:] = self._floors
            return rates
        places = {label: e for e, label in enumerate(constraint.labels)}
        try:
            for label, rate in self._floors.items():
                rates[constraint.as_item(label)] = rate
        except ItemError as error:
            raise PolicyError(f"floors: {error}") from None
        for label, rate in self._away.items():
            if label in places:
                rates[places[label]] = rate
        return rates


_OWN = (Memory("debt"), Memory("shown", dtype=np.int64))


def check_floors(constraint: Constraint, rates: FloatArray) -> None:
    """Raise `PolicyError` unless sets of the constraint can give every item its minimum share (L,) of the episodes.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import check_floors
    >>> check_floors(mb.PartitionMatroid(["hats", "hats", "shoes"]), np.array([0.7, 0.4, 0.0]))
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: expected floors that sets can meet, got 1.1 for items 0, 1, of which a ...
    """
    if not isinstance(constraint, Matroid):
        raise PolicyError(f"expected a matroid, for which it is known what floors can be met; got {constraint!r}")
    quotas = constraint.quotas()
    if quotas is None:
        _search(constraint, rates)
        return
    group, parent, capacities = quotas
    _check(constraint, rates, np.arange(constraint.n_items), constraint.rank)
    sums = np.bincount(group[group >= 0], rates[group >= 0], minlength=parent.size)
    for g in range(parent.size - 1, -1, -1):  # containers have smaller numbers
        if sums[g] > capacities[g] + _SLACK:
            _check(constraint, rates, _members(g, group, parent), int(capacities[g]))
        if parent[g] >= 0:
            sums[parent[g]] += sums[g]


def _members(g: int, group: IntArray, parent: IntArray) -> IntArray:
    is_within = np.zeros(parent.size + 1, bool)
    for other in range(parent.size):
        is_within[other] = other == g or (parent[other] >= 0 and is_within[parent[other]])
    return np.flatnonzero(is_within[group])


def _search(matroid: Matroid, rates: FloatArray) -> None:
    """Play the debts alone; floors that cannot be met show in the items of the largest debts."""
    debts = rates.copy()
    for _ in range(_MOST_STEPS):
        order = np.argsort(-debts, kind="stable")
        items, sizes = matroid.greedy(order[None])
        is_accepted = np.zeros(matroid.n_items, bool)
        is_accepted[items[0, : sizes[0]]] = True
        excess = np.cumsum(rates[order]) - np.cumsum(is_accepted[order])
        worst = int(excess.argmax()) if excess.size else 0
        if excess.size and excess[worst] > _SLACK:
            first = np.sort(order[: worst + 1])
            _check(matroid, rates, first[rates[first] > 0.0], int(is_accepted[order[: worst + 1]].sum()))
        debts = np.maximum(debts + rates - is_accepted, 0.0)
        if not debts.any():
            return


def _check(constraint: Constraint, rates: FloatArray, items: IntArray, most: int) -> None:
    total = float(rates[items].sum())
    if total > most + _SLACK:
        names = ", ".join(str(constraint.labels[e]) for e in items[:6].tolist()) + (", ..." if items.size > 6 else "")
        raise PolicyError(
            f"expected floors that sets can meet, got {total:.6g} for items {names}, of which a set has at most "
            f"{most}"
        )


def _as_floors(floors: Any) -> dict[Label, float]:
    try:
        given = floors.items() if isinstance(floors, Mapping) else floors
        pairs = [(decode(plain(label)), rate) for label, rate in given]
    except (TypeError, ValueError):
        raise PolicyError(f"expected floors as one number, or by label; got {shown(floors)}") from None
    return {label: _as_rate(f"the floor of {label!r}", rate) for label, rate in pairs}


def _listed(floors: dict[Label, float]) -> Any:
    """Floors by label as JSON has them: pairs where a label is no string."""
    return dict(floors) if all(type(label) is str for label in floors) else [[*pair] for pair in floors.items()]


def _as_rate(what: str, rate: Any) -> float:
    return as_number(what, rate, 0.0, 1.0, error=PolicyError)
