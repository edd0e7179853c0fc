"""Items that come and go: what is known of an item carries over by its label, also when it returns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.names import Foreign, plain
from matroid_bandits.agent import Agent
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, InvalidMatroidError, ItemError
from matroid_bandits.matroids import UniformMatroid
from matroid_bandits.policies import Feedback, Plays, Policy, State

#: Stands in a play for an item that the learner has forgotten; answers for it are taken and not counted.
NOWHERE = np.iinfo(np.int64).min

_PLAYS = ("counts", "waiting", "lost", "sums", "means")
_PRIORS = ("prior_means", "prior_counts")


class Departed:
    """What was known of items when they left, by label, oldest first.

    An item that has left has a row of its own in every column. An open play names it by its code, -1 - row.

    Parameters
    ----------
    labels : sequence of labels
        The items, in the order in which they left.
    columns : mapping of str to array (1, n, ...)
        What was known of them, in the same order.
    restarted_at : int
        The last episode in which all items were forgotten. Answers to decisions up to it are taken and not counted.
    """

    def __init__(
        self,
        labels: Sequence[Label] = (),
        columns: Mapping[str, AnyArray] = MappingProxyType({}),
        restarted_at: int = 0,
    ) -> None:
        self._rows: OrderedDict[Label, int] = OrderedDict(zip(labels, range(len(labels)), strict=True))
        self._names: list[Any] = list(labels)  # by row, also of rows in no use
        self._free: list[int] = []
        self._columns = dict(columns)
        self._has_foreign = any(isinstance(label, Foreign) for label in labels)
        self.restarted_at = restarted_at

    @property
    def labels(self) -> list[Label]:
        """The labels of departed items; the one that left first comes first."""
        return list(self._rows)

    @property
    def columns(self) -> dict[str, AnyArray]:
        """What is kept of each, in the order of `labels`."""
        rows = np.fromiter(self._rows.values(), np.int64, len(self._rows))
        return {name: array[:, rows] for name, array in self._columns.items()}

    def recognise(self, labels: Iterable[Any]) -> None:
        """Give departed items that a file knows by what they print their labels back, where those are among some."""
        if not self._has_foreign:
            return
        given = {Foreign.of(label): label for label in labels}
        found: dict[Any, Label] = {
            name: given[name] for name in self._rows if isinstance(name, Foreign) and name in given
        }
        if found:
            self._rows = OrderedDict((found.get(name, name), row) for name, row in self._rows.items())
            self._names = [found.get(name, name) if isinstance(name, Foreign) else name for name in self._names]
            self._has_foreign = any(isinstance(name, Foreign) for name in self._rows)

    def ranked(self, items: IntArray) -> IntArray:
        """Items of plays with the codes that a store of `labels` and `columns` alone gives them."""
        places = np.zeros(len(self._names), np.int64)
        places[list(self._rows.values())] = np.arange(len(self._rows))
        is_away = (items < 0) & (items != NOWHERE)
        ranked = items.copy()
        ranked[is_away] = -1 - places[-1 - items[is_away]]
        return ranked

    def code(self, label: Any) -> int | None:
        """How plays name an item that has left; None when it is not remembered.

        A number names the item only where it is of the label's own type: True and 1.0 are not 1.
        """
        label = plain(label)
        self.recognise((label,))
        try:
            row = self._rows.get(label)
        except TypeError:  # of what cannot be a label
            return None
        if row is None:
            return None
        own = self._names[row]
        is_number = isinstance(own, (int, float))  # and so are booleans
        return None if is_number and type(label) is not type(own) else -1 - row

    def knows(self, code: int) -> bool:
        """Whether an item of a play has left and is remembered."""
        row = -1 - code
        return 0 <= row < len(self._names) and self._rows.get(self._names[row]) == row

    def label(self, code: int) -> Label | None:
        """The label of a departed item; None when it is not remembered."""
        return self._names[-1 - code] if self.knows(code) else None

    def rows(self, name: str, codes: IntArray) -> AnyArray:
        """What a column has of items that have left, by their codes."""
        return self._columns[name][:, -1 - codes]

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._columns

    def answer(self, code: int, feedback: Feedback, state: State, policy: Policy) -> None:
        """Count a late answer about an item that has left, in what is kept of it and in what the items share."""
        if feedback.episode <= self.restarted_at:
            return
        row = -1 - code
        alone = self._alone(row, state)
        features = self._columns["features"][0, row : row + 1] if self.has("features") else feedback.features
        told = feedback._replace(items=np.zeros(1, np.int64), features=features)
        alone.answer(told, was_waiting=True)
        policy.observe(alone, told)
        state.restore_totals(**alone.totals())
        self._keep(row, alone, state)

    def drop(self, code: int, episode: int, state: State, policy: Policy, were_unseen: bool) -> None:
        """Take note that no answer will come to a play of an item that has left; see `Agent.close`."""
        if episode <= self.restarted_at:
            return
        row, here = -1 - code, np.zeros(1, np.int64)
        alone = self._alone(row, state)
        alone.drop(here, here, were_unseen)
        if self._own:  # what the items share is not narrowed by a play of one that has left
            policy.drop(alone, [Plays(here, here, episode)])
        self._keep(row, alone, state)

    def restart(self, policy: Policy, episode: int) -> None:
        """Forget what is known of all items that have left, in an episode; names and features stay."""
        self.restarted_at = episode
        initial = {f"extra/{each.name}": each.value(episode) for each in policy.memory}
        for name, array in self._columns.items():
            if name != "features":
                array[:] = initial.get(name, 0)

    def under(self, policy: Policy, agent: Agent, keeps: bool) -> Departed:
        """The same items as they are known to another policy, which an agent plays; it `keeps` the memory or begins.

        Codes stay what they are.
        """
        columns = {name: array.copy() for name, array in self._columns.items()}
        if not keeps:
            columns = {name: array for name, array in columns.items() if not name.startswith("extra/")}
            columns |= self._begun(policy, agent)
        return self._with(columns, policy, self.restarted_at)

    def restarted(self, policy: Policy, state: State) -> Departed:
        """The same items with nothing known of them, under another policy; codes stay what they are."""
        n = len(self._names)
        columns = {name: np.zeros_like(array[:, :n]) for name, array in self._columns.items() if name in _PLAYS}
        if columns:
            memory = [each for each in policy.memory if each.kind == "item"]
            columns |= {f"extra/{each.name}": each.make(1, n, state.episode) for each in memory}
        if self.has("features"):
            columns["features"] = self._columns["features"].copy()
        return self._with(columns, policy, state.episode)

    def _with(self, columns: dict[str, AnyArray], policy: Policy, restarted_at: int) -> Departed:
        """The same items with other columns; those of a policy that keeps features of its own must have them."""
        own = policy.item_features
        kept = columns.pop("features", None)
        if own is not None:
            if kept is None or kept.shape[2] != own.shape[1]:
                return Departed(restarted_at=restarted_at)
            columns["features"] = kept
        other = Departed(restarted_at=restarted_at)
        other._rows, other._names, other._free = self._rows.copy(), [*self._names], [*self._free]
        other._columns, other._has_foreign = columns, self._has_foreign
        return other

    def _begun(self, policy: Policy, agent: Agent) -> dict[str, AnyArray]:
        """What a policy makes of the plays and gains of the departed items: the columns of its memory."""
        n = len(self._names)
        if not n:
            return {}
        state, shared = agent.state, {each.name for each in policy.memory if each.kind != "item"}
        all_ = State(UniformMatroid(n, 1), 1, state.minimize)
        all_.is_apart, all_.episode, all_.memory = True, state.episode, state.memory
        for name in _PLAYS:
            getattr(all_, name)[:] = self._columns[name][:, :n]
        if self.has("prior_counts"):
            all_.prior_means, all_.prior_counts = (self._columns[name][:, :n].copy() for name in _PRIORS)
        all_.restore_totals(**state.totals())
        all_.update(np.arange(n))
        all_.extra = {
            each.name: state.extra[each.name] if each.name in shared else each.make(1, n, state.episode)
            for each in policy.memory
        }
        all_.pending = lambda: _plays_of_departed(agent)
        policy.begin(all_)
        return {f"extra/{name}": array for name, array in all_.extra.items() if name not in shared}

    def plan(
        self, gone: Iterable[Label], leaving: list[Label], columns: Mapping[str, AnyArray], most: int
    ) -> Turnover:
        """What is to happen when items leave, and some of the departed are `gone`; nothing is changed yet.

        At most `most` items are remembered, those that left last.
        """
        given = {
            *gone,
            *(label for label in leaving if label in self._rows),
        }  # the latter are numbers of another type
        n_over = max(len(self._rows) - len(given) + len(leaving) - most, 0)
        over = islice((label for label in self._rows if label not in given), n_over)
        first = max(len(leaving) - most, 0)
        n = len(leaving) - first
        n_reused = min(n, len(self._free))
        rows = [*self._free[len(self._free) - n_reused :], *range(len(self._names), len(self._names) + n - n_reused)]
        kept = {name: array[:, first:] for name, array in columns.items()}
        return Turnover({*given, *over}, dict(zip(leaving[first:], rows, strict=True)), kept)

    def turn_over(self, turnover: Turnover) -> None:
        """Let what was planned happen."""
        rows = list(turnover.rows.values())
        n_new = sum(row >= len(self._names) for row in rows)
        del self._free[len(self._free) - (len(rows) - n_new) :]
        for label in turnover.gone:
            self._free.append(self._rows.pop(label))
        self._names += [None] * n_new
        for label, row in turnover.rows.items():
            self._rows[label], self._names[row] = row, label
        for name in self._columns.keys() - turnover.columns.keys():
            self._columns[name][:, [row for row in rows if row < self._columns[name].shape[1]]] = 0
        for name, array in turnover.columns.items():
            old = self._columns.get(name, np.zeros((array.shape[0], 0, *array.shape[2:]), array.dtype))
            if old.shape[1] < len(self._names):  # with room for as many again
                size = max(len(self._names), 2 * old.shape[1])
                larger = np.zeros((old.shape[0], size, *old.shape[2:]), old.dtype)
                larger[:, : old.shape[1]] = old
                old = larger
            old[:, rows] = array
            self._columns[name] = old

    @property
    def _own(self) -> dict[str, str]:
        """The policy's arrays that have a column per item, by their names here."""
        return {key: key.removeprefix("extra/") for key in self._columns if key.startswith("extra/")}

    def _alone(self, row: int, state: State) -> State:
        """A state of one departed item, with what the items of `state` share."""
        alone = State(UniformMatroid(1, 1), 1, state.minimize)
        alone.is_apart, alone.episode, alone.memory = True, state.episode, state.memory
        for name in _PLAYS:
            getattr(alone, name)[:] = self._columns[name][:, row : row + 1]
        if self.has("prior_counts"):
            alone.prior_means, alone.prior_counts = (self._columns[name][:, row : row + 1].copy() for name in _PRIORS)
        alone.restore_totals(**state.totals())
        own = self._own
        alone.extra = {name: array for name, array in state.extra.items() if name not in own.values()}
        alone.extra |= {name: self._columns[key][:, row : row + 1].copy() for key, name in own.items()}
        return alone

    def _keep(self, row: int, alone: State, state: State) -> None:
        """Take over what a state of one departed item has become."""
        for name in (*_PLAYS, *(_PRIORS if self.has("prior_counts") else ())):
            self._columns[name][:, row] = getattr(alone, name)[:, 0]
        own = self._own
        for key, name in own.items():
            self._columns[key][:, row] = alone.extra[name][:, 0]
        for name in state.extra.keys() - own.values():  # a growing one may have been replaced
            state.extra[name] = alone.extra[name]


class Turnover(NamedTuple):
    """Items that are no longer among the departed, and the rows and columns of those that leave now."""

    gone: set[Label]
    rows: dict[Label, int]
    columns: dict[str, AnyArray]


def changed(
    agent: Agent,
    policy: Policy,
    departed: Departed,
    constraint: Constraint,
    features: FloatArray | None,
    forgotten: set[Label],
    engine: Any,
    most_departed: int,
) -> tuple[Agent, Policy, Turnover, BoolArray]:
    """An agent for other items that knows what the old one knew, and which of its items are newcomers.

    Items are matched by label. Nothing of the old agent and of `departed` is changed.
    """
    old = agent.state
    for which, labelled in (("old", old.constraint), ("new", constraint)):
        if not labelled.has_labels:
            raise InvalidMatroidError(
                f"expected labels, by which items are matched when they change; the {which} constraint has none"
            )
    agent.settle()
    places = dict(zip(constraint.labels, range(constraint.n_items), strict=True))
    before = dict(zip(old.constraint.labels, range(old.n_items), strict=True))

    def former(label: Label) -> int:
        """What an item was: a number, a code, or NOWHERE for a newcomer."""
        found = None if label in forgotten else before.get(label, departed.code(label))
        return NOWHERE if found is None else found

    sources = np.array([former(label) for label in places], np.int64)
    stays, returns = sources >= 0, (sources < 0) & (sources != NOWHERE)
    rows = _features(policy, departed, sources, features)
    new_policy = policy.change(old.constraint, np.where(stays, sources, -1), rows)
    new = Agent(constraint, new_policy, minimize=old.minimize, engine=engine, episode=old.episode)
    state = new.state
    columns = _columns(old)
    for name in columns | dict.fromkeys(filter(departed.has, _PRIORS)):  # items may return to others without priors
        target = _target(state, name)
        if name in columns:
            target[:, stays] = columns[name][:, sources[stays]]
        if departed.has(name):
            target[:, returns] = departed.rows(name, sources[returns])
    for each in old.memory:
        if each.kind == "growing":
            state.extra[each.name] = old.extra[each.name].copy()
        elif each.kind != "item":
            state.extra[each.name][:] = old.extra[each.name]
    state.restore_totals(**old.totals())
    is_gone = np.ones(old.n_items, bool)
    is_gone[sources[stays]] = False
    leaving = [e for e in np.flatnonzero(is_gone).tolist() if old.constraint.labels[e] not in forgotten]
    left = {name: array[:, leaving] for name, array in columns.items()}
    if policy.item_features is not None:
        left["features"] = policy.item_features[None, leaving]
    gone = (label for label in {*places, *forgotten} if departed.code(label) is not None)
    turnover = departed.plan(gone, [old.constraint.labels[e] for e in leaving], left, most_departed)

    def now(label: Label) -> int:
        if label in forgotten:
            return NOWHERE
        if label in places:
            return int(places[label])
        if label in turnover.rows:
            return -1 - turnover.rows[label]
        code = departed.code(label)
        return NOWHERE if code is None or label in turnover.gone else code

    lost = {label for label in {*forgotten, *turnover.gone, *before} if now(label) == NOWHERE}
    _translate(agent, new, old.constraint.labels, departed, now, lost)
    state.n_waiting[:] = state.waiting.sum(axis=1)
    state.update(np.arange(state.n_items))
    new.renew()
    return new, new_policy, turnover, ~(stays | returns)


def restart(agent: Agent, items: IntArray | None) -> None:
    """Forget what is known of some items, or of all, and their numbers in the plays that wait."""
    agent.settle()
    state = agent.state
    which = np.arange(state.n_items) if items is None else items
    is_forgotten = np.zeros(state.n_items + 1, bool)  # the last for items that are not there
    is_forgotten[which] = True
    state.restart(items)
    for play in agent.open.values():
        hit = is_forgotten[np.maximum(play.items, -1)]
        if hit.any():
            play.items = np.where(hit, NOWHERE, play.items)
    agent.renew()
    agent.refresh(which)


def as_priors(
    priors: Any,
    state: State,
    newcomers: BoolArray,
    find: Callable[[Any], int],
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Items with their prior mean gains and what these are worth in plays.

    `priors` maps items or labels to (mean weight, plays).
    """
    none = np.empty(0, np.int64), np.empty(0), np.empty(0)
    if priors is None:
        return none
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
    if np.unique(items).size < items.size:
        raise FeedbackError("expected a prior of each item once, got one twice, as by its label and by its number")
    return items.astype(np.int64), means.astype(np.float64), counts.astype(np.float64)


def labels_of(
    keys: Iterable[Any],
    constraint: Constraint,
    find: Callable[[Any], int],
    find_departed: Callable[[Any], int | None],
) -> list[Label]:
    """The labels of items given by label or number, present or departed."""
    return [plain(key) if find_departed(key) is not None else constraint.labels[find(key)] for key in keys]


def _plays_of_departed(agent: Agent) -> Iterator[Plays]:
    """The choices that wait, of items that have left, by their rows."""
    for play in agent.open.values():
        if not play.is_counted:
            continue
        items = play.items[0, play.untold()]
        rows = -1 - items[(items < 0) & (items != NOWHERE)]
        if rows.size:
            yield Plays(np.zeros(rows.size, np.int64), rows, play.request.episode)


def _columns(state: State) -> dict[str, AnyArray]:
    """Every array of a state that has a column per item."""
    named = {name: getattr(state, name) for name in (*_PLAYS, *(_PRIORS if state.has_priors else ()))}
    named |= {f"extra/{each.name}": state.extra[each.name] for each in state.memory if each.kind == "item"}
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
    """The features of items that the policy does not know yet: given, or remembered of items that return."""
    returns = (sources < 0) & (sources != NOWHERE)
    if not departed.has("features") or not returns.any():
        return features
    kept = departed.rows("features", sources[returns])[0]
    rows = np.zeros((sources.size, kept.shape[1])) if features is None else features.copy()
    rows[returns] = kept
    return rows if features is not None or (sources != NOWHERE).all() else None


def _translate(
    old: Agent,
    new: Agent,
    labels: Sequence[Label],
    departed: Departed,
    now: Callable[[Label], int],
    lost: set[Label],
) -> None:
    """Hand the open plays over, their items called by what they are `now`, and `lost` ones by nothing."""
    plays = list(old.open.values())
    new.open = dict(old.open)
    if not plays:
        return
    flat = np.concatenate([play.items.reshape(-1) for play in plays])
    known, where = np.unique(flat, return_inverse=True)
    names = [NOWHERE if e == NOWHERE else now(labels[e] if e >= 0 else departed.label(e)) for e in known.tolist()]
    renamed = np.array(names, np.int64)[where]
    sizes = [play.items.size for play in plays]
    if departed.restarted_at:  # items that return have forgotten what was asked before
        is_old = np.repeat([play.request.episode <= departed.restarted_at for play in plays], sizes)
        renamed[is_old & (flat < 0) & (renamed >= 0)] = NOWHERE
    edges = np.cumsum([0, *sizes])
    known_notes: dict[int, Sequence[Label]] = {}
    for play, lo, hi in zip(plays, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        handed = play.renamed(renamed[lo:hi].reshape(play.items.shape))
        if lost:
            handed.note = handed.note.without(lost, known_notes)
        new.open[play.request.episode] = handed
