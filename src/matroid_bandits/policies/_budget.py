"""A policy beside which sets cost no more than a budget on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.names import decode, pairs_of, plain
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Request, Spending
from matroid_bandits.policies._state import State
from matroid_bandits.policies._wrapper import _HearingWrapper

#: What waits in the queue; what decisions have cost, and how many they are.
_OWN = (Memory("overdraft", "time"), Memory("spent", "time"), Memory("n_paid", "time", dtype=np.int64))


class Budget(_HearingWrapper):
    r"""Wrapper that keeps what a decision costs on average to a budget, on any constraint.

    The overdraft is :math:`Q \leftarrow \max(0, Q + c(A_t) - b)`, where :math:`c(A_t)` is what the chosen set costs
    and b the budget per decision; the index of item i is :math:`\eta` times that of the policy, less :math:`Q c_i`
    (a virtual queue). A single decision may cost more; `KnapsackConstraint` limits each of them.

    Parameters
    ----------
    base : Policy
        How to choose beside the budget.
    costs : mapping of label to float, or sequence
        What each item costs, 0 or more. A mapping may name items that a learner does not have yet.
    per_decision : float
        The budget: what a decision may cost on average, above 0.
    eta : float, optional
        What the policy's index counts beside the overdraft, with costs in units of the largest: a larger one lets the
        overdraft grow further before it acts, and regret is smaller. By default 10 over the width of the policy's
        range, or 10 where that has no bounds.

    Notes
    -----
    Decisions of a hold-out do not count, neither what they cost nor what they might have cost. If even the cheapest
    sets cost more than the budget, the cheapest are chosen. `Learner.estimates` has what was spent, and so have the
    service's page and metrics.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> policy = mb.Budget(mb.ThompsonSampling(), [4.0, 2.0, 1.0], per_decision=2.0)
    >>> result = mb.simulate(problem, [policy], n_episodes=2000, n_runs=4, seed=0)
    >>> bool(result.choices[0] @ [4.0, 2.0, 1.0] / (4 * 2000) < 2.02)
    True
    """

    tunable = ("costs", "per_decision", "eta")

    def __init__(
        self,
        base: Policy,
        costs: Mapping[Label, float] | Sequence[float] | FloatArray,
        per_decision: float,
        eta: float | None = None,
    ) -> None:
        super().__init__(base)
        if base.chooses_sets:
            raise PolicyError(f"expected base to be a policy with an index for every item, got {shown(base)}")
        self._costs = _read_costs(costs)
        self._per_decision = as_number("per_decision", per_decision, 0.0, error=PolicyError)
        if self._per_decision <= 0.0:
            raise PolicyError(f"expected per_decision to be above 0, got {shown(per_decision)}")
        self._eta = None if eta is None else as_number("eta", eta, 0.0, error=PolicyError)
        taken = {each.name for each in base.memory}
        for each in _OWN:
            if each.name in taken:
                raise PolicyError(
                    f"expected {base!r} to keep nothing called {each.name!r}, which is that of a budget"
                )

    @property
    def memory(self) -> Sequence[Memory]:
        return *self._base.memory, *_OWN

    @property
    def affine(self) -> AffinePolicy | None:
        """None: the overdraft moves all items in every episode, so the index is not affine."""
        return None

    def prepare(self, constraint: Constraint) -> Any:
        """Check that every item has a cost, and prepare the wrapped policy."""
        self._costs_of(constraint)
        return self._base.prepare(constraint)

    def indices(self, state: State, request: Request) -> FloatArray:
        costs = self._costs_of(state.constraint)
        largest = costs.max(initial=0.0)
        scale = 1.0 / largest if largest > 0.0 else 0.0
        overdraft = state.extra["overdraft"][:, None] * scale
        U: FloatArray = self._factor * self._base.indices(state, request) - overdraft * (costs * scale)
        return U

    def _hear(self, state: State, runs: IntArray, items: IntArray) -> None:
        cost = np.bincount(runs, self._costs_of(state.constraint)[items], state.n_runs)
        overdraft = state.extra["overdraft"]
        np.maximum(overdraft + cost - self._per_decision, 0.0, out=overdraft)
        state.extra["spent"] += cost
        state.extra["n_paid"] += 1

    def spending(self, state: State) -> Spending:
        """Return what the decisions of each run have cost so far.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> policy = mb.Budget(mb.OMM(), [4.0, 2.0], per_decision=2.0)
        >>> policy.spending(mb.State(mb.UniformMatroid(2, 1), n_runs=1, policy=policy)).total
        array([0.])
        """
        return Spending(state.extra["spent"].copy(), state.extra["n_paid"].copy(), self._per_decision)

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        base = self._base.change(before, sources, features)
        costs = self._costs
        if not isinstance(costs, dict):
            costs = dict(zip(before.labels, costs, strict=True))
        return Budget(base, costs, self._per_decision, self._eta)

    def check_extra(self, state: State) -> None:
        self._base.check_extra(state)
        amounts = np.concatenate([state.extra["overdraft"], state.extra["spent"]])
        if not (np.isfinite(amounts) & (amounts >= 0.0)).all() or (state.extra["n_paid"] < 0).any():
            raise PolicyError("expected an overdraft, sums and counts of 0 or more; got others")

    def params(self) -> dict[str, Any]:
        costs: Any = self._costs
        if isinstance(costs, dict) and not all(type(label) is str for label in costs):
            costs = [[*pair] for pair in costs.items()]
        elif isinstance(costs, tuple):
            costs = list(costs)
        return {"base": self._base, "costs": costs, "per_decision": self._per_decision, "eta": self._eta}

    @property
    def _factor(self) -> float:
        if self._eta is not None:
            return self._eta
        width = self.support[1] - self.support[0]
        return 10.0 / width if 0.0 < width < np.inf else 10.0

    def _costs_of(self, constraint: Constraint) -> FloatArray:
        if isinstance(self._costs, tuple):
            if len(self._costs) != constraint.n_items:
                raise PolicyError(f"expected a cost for each of {constraint.n_items} items, got {len(self._costs)}")
            return np.array(self._costs)
        costs = np.full(constraint.n_items, np.nan)
        for label, cost in self._costs.items():
            try:
                costs[constraint.as_item(label)] = cost
            except ItemError:  # of an item that is not there
                continue
        if np.isnan(costs).any():
            missing = constraint.labels[int(np.isnan(costs).argmax())]
            raise PolicyError(f"expected a cost for every item, got none for {missing!r}")
        return costs


def _read_costs(costs: Any) -> dict[Label, float] | tuple[float, ...]:
    named = pairs_of(costs)
    if named is None:
        try:
            given = list(costs)
        except TypeError:
            raise PolicyError(f"expected a cost for each item, got {shown(costs)}") from None
        if not given or not all(isinstance(each, (list, tuple)) and len(each) == 2 for each in given):
            return tuple(_as_cost(f"the cost of item {e}", cost) for e, cost in enumerate(given))
        named = [pair[0] for pair in given], [pair[1] for pair in given]
    labels = [decode(plain(label)) for label in named[0]]
    return {label: _as_cost(f"the cost of {label!r}", cost) for label, cost in zip(labels, named[1], strict=True)}


def _as_cost(what: str, cost: Any) -> float:
    return as_number(what, cost, 0.0, error=PolicyError)
