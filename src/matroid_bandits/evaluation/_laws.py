"""The laws by which logged decisions were made, and by which targets would have made them."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.evaluation._inclusion import inclusion_probabilities
from matroid_bandits.evaluation._log import LEARNERS_OWN, Event, Log, LoggedDecision
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.learner import Learner
from matroid_bandits.policies import FixedSet, Policy, UniformRandom

#: Redraws of a policy that samples: enough for a relative bias of 1 / p of 1%, and no more than this.
_MOST_REDRAWS = 10_000
#: The same without a hold-out, where the bias does not depend on the number.
_REDRAWS = 1_000


class RandomSets:
    """Inclusion probabilities of random sets for each request that occurs in a log."""

    def __init__(self, n_draws: int, seed: int) -> None:
        self.n_draws, self.seed = n_draws, seed
        self._known: dict[Any, FloatArray] = {}
        self.largest_error = 0.0

    def of(self, decision: LoggedDecision) -> FloatArray:
        """The chance (L,) of each item to be in a random set for the decision's request."""
        key = _key(decision)
        if key not in self._known:
            found = inclusion_probabilities(
                decision.constraint,
                available=decision.available,
                pinned=decision.pinned,
                n_draws=self.n_draws,
                seed=self.seed,
            )
            self._known[key] = found.probabilities
            self.largest_error = max(self.largest_error, float(found.errors.max(initial=0.0)))
        return self._known[key]


def _key(decision: LoggedDecision) -> tuple[Any, ...]:
    mask = b"" if decision.available is None else decision.available.tobytes()
    return decision.constraint, mask, decision.pinned.tobytes()


class Propensities:
    """The chance of each item to be in the played set, decision by decision, in the order of the log.

    A policy that does not sample has one set; where the log has it, nothing is replayed. For a policy that samples,
    for held-out decisions of early logs and for controls, the learner is replayed along.
    """

    def __init__(self, log: Log, random: RandomSets, n_redraws: int | None) -> None:
        self._random, self._n_redraws = random, n_redraws
        is_known = all(each.learner_items is not None and each.control is None for each in log.decisions)
        self._is_replayed = log.may_sample or not is_known
        self._learner: Learner | None = None
        self.n_redraws = 0
        self.own: FloatArray = np.empty(0)

    def follow(self, event: Event) -> None:
        """Let an event happen to the replayed learner."""
        if not self._is_replayed:
            return
        if event.kind == "created":
            self._learner = Learner.replay([event.form])
        elif self._learner is not None and event.kind in LEARNERS_OWN:
            self._learner.apply(event.form, trust=True)

    def of(self, decision: LoggedDecision) -> tuple[FloatArray, FloatArray]:
        """The chances (L,), and those of a set that is held out; before the decision's own event is followed."""
        q, h = self._held_out(decision), decision.share
        self.own = own = self._own(decision, q)  # the learner's part of it
        chances: FloatArray = h * q + (1.0 - h) * own
        return chances, q

    def _held_out(self, decision: LoggedDecision) -> FloatArray:
        """The chance (L,) of each item to be in a set that is held out."""
        if decision.control is None or decision.share == 0.0:
            return self._random.of(decision)
        assert self._learner is not None
        n = (self._n_redraws or _REDRAWS) if decision.control.samples else 1
        self.n_redraws = max(self.n_redraws, n if n > 1 else 0)
        sets, sizes = self._learner.redraws(n, **_request(decision), is_control=True)
        hits = _count(sets, sizes, decision.constraint.n_items)
        return _smoothed(hits, n) if n > 1 else hits.astype(np.float64)

    def _own(self, decision: LoggedDecision, q: FloatArray) -> FloatArray:
        """The chance (L,) of each item to be in the learner's set."""
        n_items = decision.constraint.n_items
        learner = self._learner
        if learner is None or not learner.policy.samples:
            items = decision.learner_items
            if items is None and learner is not None:
                items = learner.redraws(1, **_request(decision))[0][0]
            assert items is not None
            return _indicator(items, n_items)
        h, least = decision.share, float(q[q > 0.0].min(initial=1.0))
        is_alone = h == 0.0 or decision.control is not None  # no random sets, in which every item has its chance
        n = self._n_redraws or (_REDRAWS if is_alone else min(ceil(25.0 / (h * least)), _MOST_REDRAWS))
        self.n_redraws = max(self.n_redraws, n)
        sets, sizes = learner.redraws(n, **_request(decision))
        hits = _count(sets, sizes, n_items)
        return _smoothed(hits, n) if is_alone else hits / n


def propensities(
    log: Log, *, n_redraws: int | None = None, n_draws: int = 100_000, seed: int = 0
) -> list[FloatArray]:
    """The chance that the played set contained each of its items (K,), for each decision of a log."""
    laws = Propensities(log, RandomSets(n_draws, seed), n_redraws)
    found, n_followed = [], 0
    for number, decision, places in log.steps:
        if places is None:
            for event in log.events[n_followed : number - 1]:
                laws.follow(event)
            n_followed = number - 1
            found.append(laws.of(decision)[0][decision.items])
    return found


class FrozenTarget:
    """A target whose sets do not depend on what would have been seen: fixed, random, or a learner as it is."""

    def __init__(self, target: Any, random: RandomSets) -> None:
        self._random = random
        self._known: dict[Any, FloatArray] = {}
        if isinstance(target, (Learner, UniformRandom, FixedSet)):
            self._target: Learner | UniformRandom | FixedSet = target
        elif isinstance(target, Policy):
            raise EvaluationError(
                f"expected a target that does not learn, got {target!r}: what it would have played depends on what "
                "it would have seen. Give a Learner, which is taken as it is now; FixedSet(...); or UniformRandom()"
            )
        else:
            try:
                self._target = FixedSet(target)
            except (TypeError, ValueError) as error:
                raise EvaluationError(
                    f"expected a target as a set of items, a policy or a Learner: {error}"
                ) from None

    def of(self, decision: LoggedDecision) -> FloatArray:
        """The chance (L,) of each item to be in the target's set for the decision's request."""
        target = self._target
        if isinstance(target, UniformRandom):
            return self._random.of(decision)
        has_features = isinstance(target, Learner) and target.policy.n_features is not None
        key = (*_key(decision), decision.id if has_features else 0)
        if key not in self._known:
            found = self._set_of(target, decision)
            if has_features:
                return found
            self._known[key] = found
        return self._known[key]

    def _set_of(self, target: FixedSet | Learner, decision: LoggedDecision) -> FloatArray:
        if isinstance(target, Learner):
            return self._frozen(target, decision)
        constraint = decision.constraint
        indices = np.zeros((1, constraint.n_items))
        indices[0, target.prepare(constraint)] = 1.0
        mask = None if decision.available is None else decision.available[None]
        items, sizes = constraint.solve(indices, available=mask, pinned=_pins(decision))
        return _indicator(items[0, : sizes[0]], constraint.n_items)

    def _frozen(self, learner: Learner, decision: LoggedDecision) -> FloatArray:
        constraint, own = decision.constraint, learner.constraint
        n = _REDRAWS if learner.policy.samples else 1
        request = _request(decision)
        if own == constraint:
            sets, sizes = learner.redraws(n, **request)
            shares: FloatArray = _count(sets, sizes, constraint.n_items) / n
            return shares
        here = {label: e for e, label in enumerate(constraint.labels)}
        is_open = np.ones(constraint.n_items, bool) if decision.available is None else decision.available
        request["available"] = [label for label in own.labels if label in here and is_open[here[label]]]
        request.pop("exclude", None)
        try:
            sets, sizes = learner.redraws(n, **request)
        except ValueError as error:
            raise EvaluationError(
                f"the target cannot answer the request of decision {decision.id}: {error}"
            ) from error
        hits = _count(sets, sizes, own.n_items)
        found = np.zeros(constraint.n_items)
        for e in np.flatnonzero(hits).tolist():
            found[here[own.labels[e]]] = hits[e] / n
        first = np.array([here[own.labels[e]] for e in sets[0, : sizes[0]].tolist()], np.int64)
        if not constraint.allows(np.sort(first)):
            raise EvaluationError(
                f"expected a target whose sets were allowed throughout, got one that is not at decision {decision.id}"
            )
        return found


def _request(decision: LoggedDecision) -> dict[str, Any]:
    """The arguments of the `ask` that the decision answered; items by number."""
    request: dict[str, Any] = {}
    if decision.available is not None:
        request["available"] = decision.available
    if decision.pinned.size:
        request["pinned"] = [decision.constraint.labels[e] for e in decision.pinned.tolist()]
    if decision.features is not None:
        request["features"] = decision.features
    return request


def _pins(decision: LoggedDecision) -> IntArray | None:
    return decision.pinned if decision.pinned.size else None


def _indicator(items: IntArray, n_items: int) -> FloatArray:
    found = np.zeros(n_items)
    found[items] = 1.0
    return found


def _smoothed(hits: IntArray, n: int) -> FloatArray:
    """The share of hits among n redraws; its inverse is finite, and all but unbiased for 1 / p."""
    return ((hits + 1.0) / (n + 1.0)).astype(np.float64)


def _count(sets: IntArray, sizes: IntArray, n_items: int) -> IntArray:
    """How often each item is in a set."""
    is_in: BoolArray = np.arange(sets.shape[1]) < sizes[:, None]
    return np.bincount(sets[is_in], minlength=n_items)


def labels_of(constraint: Constraint, items: IntArray, most: int = 5) -> str:
    """Items in words: the first few by label."""
    named = ", ".join(repr(constraint.labels[e]) for e in items[:most].tolist())
    return named if items.size <= most else f"{named} and {items.size - most} more"
