"""What a learner believes of its items, and why a set has them or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation, Forced, Standing
from matroid_bandits.learner._wanted import Wanted, read_features
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Request, Spending, evaluate

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

_NONE: IntArray = np.empty(0, np.int64)

#: There is no other set.
_NEVER = Forced(np.inf)


def estimates(learner: Learner, request: Request) -> Estimates:
    """Counts, means and indices of every item, in the units of the weights."""
    learner._agent.settle()
    state = learner._agent.state
    sign = -1.0 if state.minimize else 1.0
    U = evaluate(learner.policy, state, request)[0]
    means = _means(learner)
    labels = learner.constraint.labels
    counts, waiting = state.counts[0].copy(), state.waiting[0].copy()
    alarms, last = learner.alarms or (None, None)
    radii = learner.policy.spreads(state, request)[0]
    radii = np.where(np.isfinite(radii), radii, np.nan)
    found = labels, counts, waiting, means, sign * U + 0.0, radii, alarms, last, state.minimize
    return Estimates(*found, spending(learner), attention(learner))


def attention(learner: Learner) -> FloatArray | None:
    """The chance that each place of a list is looked at, which `PositionBias` keeps; None for other policies."""
    found = learner._agent.state.extra.get("attention")
    return None if found is None else found[0].copy()


def spending(learner: Learner) -> Spending | None:
    """What decisions have cost beside a budget; None without one."""
    found = learner.policy.spending(learner._agent.state)
    if found is None:
        return None
    return Spending(float(found.total[0]), int(found.n_decisions[0]), found.per_decision)


def best_basis(learner: Learner, pessimism: float | None = None, deviation: float = 0.5) -> BestSet:
    """The allowed set of best means, with as few items without one as possible.

    With `pessimism`, the set of best lower bounds on the means of answered plays.
    """
    state = learner._agent.state
    means = _means(learner)
    sign = -1.0 if state.minimize else 1.0
    gains = sign * means
    if pessimism is not None:
        gains = _lower_bounds(learner, pessimism, deviation)
    is_known = ~np.isnan(gains)
    if isinstance(learner.constraint, Matroid):
        items, sizes = learner.constraint.best_sets(np.where(is_known, gains, -np.inf)[None])
    else:
        # below what any set of other items can make up for
        largest = np.abs(gains[is_known]).max(initial=0.0)
        last = -2.0 * (learner.constraint.largest_size + 1) * (largest if largest > 0.0 else 1.0)
        items, sizes = learner.constraint.solve(np.where(is_known, gains, last)[None])
    best: IntArray = items[0, : sizes[0]].copy()
    labels = learner.constraint.labels
    return BestSet(best, tuple(labels[e] for e in best.tolist()), means[best], state.counts[0, best])


def _lower_bounds(learner: Learner, delta: float, deviation: float) -> FloatArray:
    """What the mean gain of each item exceeds, all at once but for a chance of delta; NaN without an answer."""
    state, n_items = learner._agent.state, learner.constraint.n_items
    counts = np.where(state.counts[0] > 0, state.counts[0], np.nan)
    radii = deviation * np.sqrt(2.0 * np.log(2.0 * max(n_items, 1) / delta) / counts)
    bounds: FloatArray = state.sums[0] / counts - radii
    return bounds


def explain(learner: Learner, item: int, request: Request, wanted: Wanted | None) -> Explanation:
    """Why an item is in or out of the set for a request."""
    constraint = learner.constraint
    learner._agent.settle()
    U = evaluate(learner.policy, learner._agent.state, request)[0]
    mask = np.ones(constraint.n_items, bool) if wanted is None else wanted.mask(constraint.n_items)
    pinned = _NONE if wanted is None else wanted.pinned
    if learner.policy.chooses_sets:
        items, sizes = learner._agent.choose(learner._request_of(wanted)._replace(features=request.features))
        standing = _standing_in_a_set(item, items[0, : sizes[0]], mask, pinned)
        return _explanation(learner, item, U, standing, _NONE, missing=_as_a_whole(learner, standing))
    chosen = _best(constraint, U, mask, pinned)
    return _explanation(learner, item, U, *_standing(learner, item, U, chosen, mask, pinned))


def explain_decision(learner: Learner, item: int, play: Play, features: Any) -> Explanation:
    """Why an item is in or out of the set of an open decision, by its own request; with what is believed today."""
    constraint, id = learner.constraint, play.request.episode
    learner._agent.settle()
    asked: Asked = play.note
    U, missing = _indices(learner, play, asked, features)
    label, is_held_out = constraint.labels[item], asked.is_held_out
    chosen = asked.now(asked.items, constraint)
    wanted = asked.wanted
    pinned = _NONE if wanted is None else asked.now(wanted.pinned, constraint)
    if id > learner._changed_at:
        mask = np.ones(constraint.n_items, bool) if wanted is None else wanted.mask(constraint.n_items)
        if learner.policy.chooses_sets:
            standing = _standing_in_a_set(item, chosen, mask, pinned)
            return _explanation(learner, item, U, standing, _NONE, None, is_held_out, _as_a_whole(learner, standing))
        standing, rivals, forced = _standing(learner, item, U, np.sort(chosen), mask, pinned)
        compared = rivals if isinstance(constraint, Matroid) else mask
        missing = missing if np.isnan(U[item]) or np.isnan(U[compared]).any() else ""
        return _explanation(learner, item, U, standing, rivals, forced, is_held_out, missing)
    if item in pinned or item in chosen:
        return _explanation(learner, item, U, "pinned" if item in pinned else "chosen", _NONE, None, is_held_out)
    if label not in asked.labels:
        missing = f"{label!r} was not there at decision {id}, or was forgotten since"
        return _explanation(learner, item, U, "unavailable", _NONE, None, is_held_out, missing)
    offered = None if wanted is None or wanted.available is None else asked.now(wanted.available, constraint)
    is_barred = wanted is not None and item in asked.now(wanted.exclude, constraint)
    if is_barred or (offered is not None and item not in offered):
        return _explanation(learner, item, U, "unavailable", _NONE, None, is_held_out)
    missing = f"the items have changed since decision {id}, so what it was compared with can no longer be said"
    return _explanation(learner, item, U, "out", _NONE, None, is_held_out, missing)


def _indices(learner: Learner, play: Play, asked: Asked, features: Any) -> tuple[FloatArray, str]:
    """The indices by the features of a decision, NaN where those are not known any more; and why they are not."""
    policy, state, t = learner.policy, learner._agent.state, learner._episode + 1
    if policy.n_features is None:
        return evaluate(policy, state, Request(t, learner._stream))[0], ""
    is_older = play.request.episode <= learner._changed_at
    table = None if asked.wanted is None or is_older else asked.wanted.features
    if features is not None:
        table = read_features(learner.constraint, policy, features)
    if table is not None:
        return evaluate(policy, state, Request(t, learner._stream, features=table))[0], ""
    here = play.items[0] >= 0
    rows = np.zeros((learner.constraint.n_items, policy.n_features))
    assert play.features is not None
    rows[play.items[0][here]] = play.features[here]
    U = np.full(rows.shape[0], np.nan)
    given = evaluate(policy, state, Request(t, learner._stream, features=rows))[0]
    U[play.items[0][here]] = given[play.items[0][here]]
    return U, f"features of decision {play.request.episode} are kept of chosen items alone: pass them as features"


def _explanation(
    learner: Learner,
    item: int,
    U: FloatArray,
    standing: Standing,
    rivals: IntArray,
    forced: Forced | None = None,
    is_held_out: bool = False,
    missing: str = "",
) -> Explanation:
    state, labels = learner._agent.state, learner.constraint.labels
    with np.errstate(invalid="ignore"):  # two items to be tried first are equally good
        margins = np.where(U[rivals] == U[item], 0.0, U[rivals] - U[item])
    order = np.argsort(margins, kind="stable")
    sign = -1.0 if state.minimize else 1.0
    alarms = state.alarms
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
        missing=missing,
        forced=forced,
        about=learner.constraint.about(item),
        attention=None if (found := attention(learner)) is None else found[: learner.constraint.largest_size],
    )


def _as_a_whole(learner: Learner, standing: Standing) -> str:
    """Why no rivals are named of an item that is in or out by the choice of a policy that chooses sets."""
    if standing not in ("chosen", "out"):
        return ""
    return f"{type(learner.policy).__name__} chooses sets as a whole, so that no item is compared with another"


def _standing_in_a_set(item: int, chosen: IntArray, mask: BoolArray, pinned: IntArray) -> Standing:
    """Where an item stands beside a set whose policy compares no items."""
    if item in pinned:
        return "pinned"
    if item in chosen:
        return "chosen"
    return "out" if mask[item] else "unavailable"


def _best(constraint: Constraint, U: FloatArray, mask: BoolArray, pinned: IntArray) -> IntArray:
    """The best set of what is available, with what is pinned."""
    items, sizes = constraint.solve(U[None], available=mask, pinned=pinned if pinned.size else None)
    return items[0, : sizes[0]]


def _standing(
    learner: Learner, item: int, U: FloatArray, chosen: IntArray, mask: BoolArray, pinned: IntArray
) -> tuple[Standing, IntArray, Forced | None]:
    """Where an item stands; in a matroid the chosen items that it could replace, elsewhere what forcing it costs."""
    constraint = learner.constraint
    if item in pinned:
        return "pinned", _NONE, None
    if item in chosen:
        if isinstance(constraint, Matroid):
            return "chosen", _NONE, None
        return "chosen", _NONE, _forced(learner, U, item, chosen, mask, pinned)
    if not mask[item]:
        return "unavailable", _NONE, None
    if isinstance(constraint, Matroid):
        # among the chosen items and this one alone, the chosen ones are a basis
        both = np.sort(np.append(chosen, item))
        alone = constraint.restrict(both)
        members = alone.replaceable(np.searchsorted(both, chosen), int(np.searchsorted(both, item)))
        rivals = np.setdiff1d(both[members], pinned)
        return ("out", rivals, None) if rivals.size else ("loop", _NONE, None)
    forced = _forced(learner, U, item, chosen, mask, pinned)
    return ("loop", _NONE, None) if forced == _NEVER else ("out", _NONE, forced)


def _forced(
    learner: Learner, U: FloatArray, item: int, chosen: IntArray, mask: BoolArray, pinned: IntArray
) -> Forced | None:
    """The best set in which an item changes sides beside the one that is chosen; None where indices are not known."""
    constraint = learner.constraint
    weights, pins = np.where(np.isnan(U), 0.0, U), pinned if pinned.size else None
    other = constraint.force(weights, item, item not in chosen, available=mask, pinned=pins)
    if other is None:
        return Forced(np.nan)
    if item not in chosen and item not in other:
        return _NEVER
    if np.isnan(U[mask]).any():
        return None
    if other.size == 0 and not constraint.allows(other):
        return _NEVER
    n_unseen, value = _worth(U, chosen)
    n_others, worth = _worth(U, other)
    cost = value - worth if n_unseen == n_others else np.inf if n_unseen > n_others else -np.inf
    if constraint.fills_up and other.size < chosen.size:
        cost = np.inf
    labels = constraint.labels
    enters, leaves = (
        tuple(labels[e] for e in np.setdiff1d(one, two).tolist()) for one, two in ((other, chosen), (chosen, other))
    )
    return Forced(float(cost) + 0.0, enters, leaves)


def _worth(U: FloatArray, items: IntArray) -> tuple[int, float]:
    """How many items of a set are to be tried first, and what the indices of the others add up to."""
    is_first = np.isposinf(U[items])
    return int(is_first.sum()), float(U[items[~is_first]].sum())


def _means(learner: Learner) -> FloatArray:
    """Mean weights, those of priors where nothing was told, NaN without one."""
    state = learner._agent.state
    means: FloatArray = learner.policy.beliefs(state)[0][0]
    return -means if state.minimize else means
