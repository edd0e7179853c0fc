"""Items that come and go: what is known carries over by label, also to those who return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_number
from matroid_bandits.agent import Agent
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, InvalidMatroidError, ItemError
from matroid_bandits.matroids import UniformMatroid
from matroid_bandits.policies import Feedback, Plays, Policy, State

#: Stands in a play for an item that nobody remembers; answers for it are taken and not counted.
NOWHERE = np.iinfo(np.int64).min

_PLAYS = ("counts", "waiting", "lost", "sums", "means")
_PRIORS = ("prior_means", "prior_counts")


class Departed:
    """What was known of items when they left, in the order in which they did.

    An open play names a departed item by its code, -1 for the first, -2 for the second and so on.
    """

    def __init__(self, labels: list[Label], columns: dict[str, AnyArray]) -> None:
        self.labels, self.columns = labels, columns
        self._codes = {label: -1 - i for i, label in enumerate(labels)}

    def code(self, label: Any) -> int | None:
        """How plays name an item that has left; None when it is not remembered."""
        try:
            return self._codes.get(label)
        except TypeError:  # of what cannot be a label
            return None

    def label(self, code: int) -> Label | None:
        """The label of a departed item; None when it is not remembered."""
        return self.labels[-1 - code] if -len(self.labels) <= code < 0 else None

    def answer(self, code: int, feedback: Feedback, state: State, policy: Policy) -> None:
        """Count a late answer about an item that has left, in what is kept of it and in what the items share."""
        i = -1 - code
        alone = self._alone(i, state)
        features = self.columns["features"][0, i : i + 1] if "features" in self.columns else feedback.features
        told = feedback._replace(items=np.zeros(1, np.int64), features=features)
        alone.answer(told, was_waiting=True)
        policy.observe(alone, told)
        state.restore_totals(**alone.totals())
        self._keep(i, alone)

    def drop(self, code: int, episode: int, state: State, policy: Policy) -> None:
        """Take note that no answer will come to a play of an item that has left."""
        i, here = -1 - code, np.zeros(1, np.int64)
        alone = self._alone(i, state)
        alone.drop(here, here)
        if self._own:  # what the items share is not narrowed by a play of one that has left
            policy.drop(alone, [Plays(here, here, episode)], ())
        self._keep(i, alone)

    @property
    def _own(self) -> dict[str, str]:
        """The policy's arrays that have a column per item, by their names here."""
        return {key: key.removeprefix("extra/") for key in self.columns if key.startswith("extra/")}

    def _alone(self, i: int, state: State) -> State:
        """A state of one departed item, with what the items of `state` share."""
        alone = State(UniformMatroid(1, 1), 1, state.minimize)
        for name in _PLAYS:
            getattr(alone, name)[:] = self.columns[name][:, i : i + 1]
        if "prior_counts" in self.columns:
            alone.prior_means, alone.prior_counts = (self.columns[name][:, i : i + 1].copy() for name in _PRIORS)
        alone.restore_totals(**state.totals())
        own = self._own
        alone.extra = {name: array for name, array in state.extra.items() if name not in own.values()}
        alone.extra |= {name: self.columns[key][:, i : i + 1].copy() for key, name in own.items()}
        return alone

    def _keep(self, i: int, alone: State) -> None:
        """Take over what a state of one departed item has become."""
        for name in _PLAYS:
            self.columns[name][:, i] = getattr(alone, name)[:, 0]
        for key, name in self._own.items():
            self.columns[key][:, i] = alone.extra[name][:, 0]


def changed(
    agent: Agent,
    policy: Policy,
    departed: Departed,
    constraint: Constraint,
    features: FloatArray | None,
    forgotten: set[Label],
    engine: Any,
    most_departed: int,
) -> tuple[Agent, Policy, Departed, BoolArray]:
    """An agent for other items that knows what the old one knew, and which of its items are newcomers.

    Items are matched by label. Nothing of the old agent is changed.
    """
    old = agent.state
    for which, each in (("old", old.constraint), ("new", constraint)):
        if not each.has_labels:
            raise InvalidMatroidError(
                f"expected labels, by which items are matched when they change; the {which} constraint has none"
            )
    agent.settle()
    places = dict(zip(constraint.labels, range(constraint.n_items), strict=True))
    before = dict(zip(old.constraint.labels, range(old.n_items), strict=True))
    for label in forgotten:
        before.pop(label, None)
    # what each new item was: a number, a code, or NOWHERE for a newcomer
    sources = np.array([before.get(label, NOWHERE) for label in places], np.int64)
    for i, label in enumerate(departed.labels):
        if label in places and label not in forgotten:
            sources[places[label]] = -1 - i
    stays, returns = sources >= 0, (sources < 0) & (sources != NOWHERE)
    rows = _features(policy, departed, sources, features)
    new_policy = policy.change(old.constraint, np.where(stays, sources, -1), rows)
    new = Agent(constraint, new_policy, minimize=old.minimize, engine=engine)
    state = new.state
    for name, array in _columns(old, policy).items():
        target = _target(state, name)
        target[:, stays] = array[:, sources[stays]]
        if name in departed.columns:
            target[:, returns] = departed.columns[name][:, -1 - sources[returns]]
    for name, array in old.extra.items():
        if name in policy.open_arrays:
            state.extra[name] = array.copy()
        elif f"extra/{name}" not in _columns(old, policy):
            state.extra[name][:] = array
    state.restore_totals(**old.totals())
    is_gone = np.ones(old.n_items, bool)
    is_gone[sources[stays]] = False
    left = _left(old, policy, departed, np.flatnonzero(is_gone), places, forgotten, most_departed)

    def now(label: Label) -> int:
        found = None if label in forgotten else places.get(label, left.code(label))
        return NOWHERE if found is None else found

    _translate(agent, new, old.constraint.labels, departed.labels, now)
    state.n_waiting[:] = state.waiting.sum(axis=1)
    state.update(np.arange(state.n_items))
    new.renew()
    return new, new_policy, left, ~(stays | returns)


def restart(agent: Agent, policy: Policy, items: IntArray | None) -> None:
    """Forget what is known of some items, or of all, and whom the plays that wait are about."""
    agent.settle()
    state = agent.state
    which = np.arange(state.n_items) if items is None else items
    is_forgotten = np.zeros(state.n_items, bool)
    is_forgotten[which] = True
    fresh = State(state.constraint, state.n_runs, state.minimize)
    policy.prepare(fresh)
    own = _columns(state, policy)
    for name, array in list(state.extra.items()):
        if f"extra/{name}" in own:
            array[:, which] = fresh.extra[name][:, which]
        elif items is None and name in policy.open_arrays:
            state.extra[name] = fresh.extra[name]
        elif items is None and name not in policy.time_arrays:
            array[:] = fresh.extra[name]
    if items is None:
        state.restore_totals(**fresh.totals())
    state.restart(which)
    for play in agent.open.values():
        hit = (play.items >= 0) & is_forgotten[np.maximum(play.items, 0)] if state.n_items else play.items < 0
        if hit.any():
            play.items = np.where(hit, NOWHERE, play.items)
    agent.renew()
    agent.refresh(which)


def as_priors(
    priors: Any,
    state: State,
    newcomers: BoolArray,
    typical: tuple[float, float] | None,
    find: Callable[[Any], int],
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Items with their prior mean gains and what these are worth in plays.

    `priors` maps items or labels to (mean weight, plays), or is "typical" for all newcomers.
    """
    none = np.empty(0, np.int64), np.empty(0), np.empty(0)
    if priors is None:
        return none
    if isinstance(priors, str):
        if priors != "typical":
            raise FeedbackError(f'expected priors by item, or "typical"; got {priors!r}')
        items = np.flatnonzero(newcomers)
        if typical is None or not items.size:
            return none
        return items, np.full(items.size, typical[0]), np.full(items.size, typical[1])
    if not isinstance(priors, Mapping):
        raise FeedbackError(f'expected priors by item, or "typical"; got {priors!r}')
    sign = -1.0 if state.minimize else 1.0
    rows = []
    for key, prior in priors.items():
        e = find(key)
        if not newcomers[e]:
            raise ItemError(f"expected priors of newcomers, got one for {key!r}, which is known already")
        try:
            mean, count = prior
        except (TypeError, ValueError):
            raise FeedbackError(f"expected a mean and what it is worth in plays for {key!r}, got {prior!r}") from None
        mean = as_number(f"the prior mean of {key!r}", mean, -1e100, 1e100, error=FeedbackError)
        count = as_number(f"the weight of the prior of {key!r}", count, 0.0, 1e12, error=FeedbackError)
        rows.append((e, sign * mean, count))
    if not rows:
        return none
    items, means, counts = (np.array(column) for column in zip(*rows, strict=True))
    return items.astype(np.int64), means.astype(np.float64), counts.astype(np.float64)


def typical(state: State, policy: Policy, departed: Departed, forgotten: set[Label]) -> tuple[float, float] | None:
    """The median of the living items' mean gains and of their plays; None before anything was answered."""
    means, counts, _ = (array[0] for array in policy.beliefs(state))
    is_answered = counts > 0
    for label in forgotten:
        if departed.code(label) is None:
            is_answered[state.constraint.item(label)] = False
    if not is_answered.any():
        return None
    return float(np.median(means[is_answered])), float(np.median(counts[is_answered]))


def labels_of(
    keys: Iterable[Any], constraint: Constraint, departed: Departed, find: Callable[[Any], int]
) -> list[Label]:
    """The labels of items given by label or number, present or departed."""
    return [key if departed.code(key) is not None else constraint.labels[find(key)] for key in keys]


def _columns(state: State, policy: Policy) -> dict[str, AnyArray]:
    """Every array of a state that has a column per item."""
    named = {name: getattr(state, name) for name in (*_PLAYS, *(_PRIORS if state.has_priors else ()))}
    named |= {f"extra/{name}": state.extra[name] for name in policy.columns(state)}
    return named


def _target(state: State, name: str) -> AnyArray:
    """The array of a new state that takes over a column; priors get theirs made."""
    if name.startswith("extra/"):
        return state.extra[name.removeprefix("extra/")]
    if name in _PRIORS and not state.has_priors:
        state.prior_means, state.prior_counts = np.zeros(state.sums.shape), np.zeros(state.sums.shape)
    target: AnyArray = getattr(state, name)
    return target


def _features(
    policy: Policy, departed: Departed, sources: IntArray, features: FloatArray | None
) -> FloatArray | None:
    """The features of items that the policy does not know yet: given, or remembered of those who return."""
    returns = (sources < 0) & (sources != NOWHERE)
    if "features" not in departed.columns or not returns.any():
        return features
    kept = departed.columns["features"][0]
    rows = np.zeros((sources.size, kept.shape[1])) if features is None else features.copy()
    rows[returns] = kept[-1 - sources[returns]]
    return rows if features is not None or (sources != NOWHERE).all() else None


def _left(
    old: State,
    policy: Policy,
    departed: Departed,
    gone: IntArray,
    places: Mapping[Label, int],
    forgotten: set[Label],
    most: int,
) -> Departed:
    """Who has left by now: those who had before and did not return, then those who leave now; the last `most`."""
    before = [i for i, label in enumerate(departed.labels) if label not in places and label not in forgotten]
    now = [e for e in gone.tolist() if old.constraint.labels[e] not in forgotten]
    labels = [*(departed.labels[i] for i in before), *(old.constraint.labels[e] for e in now)]
    columns = _columns(old, policy)
    if (rows := policy.features_of(np.array(now, np.int64))) is not None:
        columns["features"] = np.empty((1, 0, rows.shape[1]))
    kept = {}
    for name, array in columns.items():
        leaving = rows[None] if name == "features" else array[:, now]  # type: ignore[index]
        former = (
            departed.columns[name][:, before]
            if name in departed.columns
            else np.zeros((leaving.shape[0], len(before), *leaving.shape[2:]), leaving.dtype)
        )
        kept[name] = np.concatenate([former, leaving], axis=1)[:, max(len(labels) - most, 0) :]
    return Departed(labels[max(len(labels) - most, 0) :], kept)


def _translate(
    old: Agent, new: Agent, labels: Sequence[Label], departed: Sequence[Label], now: Callable[[Label], int]
) -> None:
    """Hand the open plays over, their items called by what they are `now`."""
    plays = list(old.open.values())
    new.open = dict(old.open)
    if not plays:
        return
    flat = np.concatenate([play.items.reshape(-1) for play in plays])
    known, where = np.unique(flat, return_inverse=True)
    names = [NOWHERE if e == NOWHERE else now(labels[e] if e >= 0 else departed[-1 - e]) for e in known.tolist()]
    flat = np.array(names, np.int64)[where]
    edges = np.cumsum([0, *(play.items.size for play in plays)])
    for play, lo, hi in zip(plays, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        new.open[play.request.episode] = play.renamed(flat[lo:hi].reshape(play.items.shape))
