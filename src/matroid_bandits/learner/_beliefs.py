"""What a learner believes of its items, and why a set has them or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Play
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation, Standing
from matroid_bandits.learner._wanted import Wanted
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Request, evaluate

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


def estimates(learner: Learner, request: Request) -> Estimates:
    """Counts, means and indices of every item, in the units of the weights."""
    learner._agent.settle()
    state = learner._agent.state
    sign = -1.0 if state.minimize else 1.0
    U = evaluate(learner.policy, state, request)[0]
    means = _means(learner)
    labels = learner.constraint.labels
    own = learner.alarms or ()
    return Estimates(labels, state.counts[0].copy(), state.waiting[0].copy(), means, sign * U + 0.0, *own)


def best_basis(learner: Learner) -> BestSet:
    """The set of best means; items without one come last in a matroid, and are left out elsewhere."""
    state = learner._agent.state
    means = _means(learner)
    sign = -1.0 if state.minimize else 1.0
    is_known = ~np.isnan(means)
    if isinstance(learner.constraint, Matroid):
        items, sizes = learner.constraint.best_sets(np.where(is_known, sign * means, -np.inf)[None])
    else:
        gains = np.where(is_known, sign * means, 0.0)
        items, sizes = learner.constraint.solve(gains[None], available=is_known)
    best: IntArray = items[0, : sizes[0]].copy()
    labels = learner.constraint.labels
    return BestSet(best, tuple(labels[e] for e in best.tolist()), means[best], state.counts[0, best])


def explain(
    learner: Learner, item: int, request: Request, wanted: Wanted | None, play: Play | None, is_held_out: bool
) -> Explanation:
    """Why an item is in or out of the set for a request, or of the set of an outstanding decision."""
    matroid = learner.constraint
    if not isinstance(matroid, Matroid):
        raise PolicyError(f"expected a matroid, whose items replace each other one by one; got {matroid!r}")
    learner._agent.settle()
    state = learner._agent.state
    U: FloatArray = evaluate(learner.policy, state, request)[0]
    mask = np.ones(matroid.n_items, bool) if wanted is None else wanted.mask(matroid.n_items)
    pinned = np.empty(0, np.int64) if wanted is None else wanted.pinned
    if play is not None:
        chosen = np.sort(play.items[0][play.items[0] >= 0])
    else:
        items, sizes = matroid.best_sets(U[None], available=mask, pinned=pinned if pinned.size else None)
        chosen = items[0, : sizes[0]]
    standing, rivals = _standing(matroid, item, chosen, mask, pinned)
    with np.errstate(invalid="ignore"):  # two items to be tried first are equally good
        margins = np.where(U[rivals] == U[item], 0.0, U[rivals] - U[item])
    order = np.argsort(margins, kind="stable")
    labels = matroid.labels
    sign = -1.0 if state.minimize else 1.0
    alarms = learner.policy.alarms(state)
    return Explanation(
        item=item,
        label=labels[item],
        standing=standing,
        mean=float(_means(learner)[item]),
        plays=float(learner.policy.beliefs(state)[2][0, item]),
        index=float(sign * U[item]) + 0.0,
        rivals=rivals[order],
        rival_labels=tuple(labels[e] for e in rivals[order].tolist()),
        margins=margins[order],
        is_held_out=is_held_out,
        minimize=state.minimize,
        last_alarm=0 if alarms is None else int(alarms[1][0, item]),
    )


def _standing(
    matroid: Matroid, item: int, chosen: IntArray, mask: BoolArray, pinned: IntArray
) -> tuple[Standing, IntArray]:
    """Where an item stands, and the chosen items that it could replace."""
    nobody = np.empty(0, np.int64)
    if item in pinned:
        return "pinned", nobody
    if item in chosen:
        return "chosen", nobody
    if not mask[item]:
        return "unavailable", nobody
    # among the chosen items and this one alone, the chosen ones are a basis
    both = np.sort(np.append(chosen, item))
    alone = matroid.restrict(both)
    members = alone.replaceable(np.searchsorted(both, chosen), int(np.searchsorted(both, item)))
    rivals = np.setdiff1d(both[members], pinned)
    return ("out", rivals) if rivals.size else ("loop", nobody)


def _means(learner: Learner) -> FloatArray:
    """Mean weights, those of priors where nothing was told, NaN without one."""
    state = learner._agent.state
    means: FloatArray = learner.policy.beliefs(state)[0][0]
    return -means if state.minimize else means
