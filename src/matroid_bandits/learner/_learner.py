"""A live learner: ask for a set, tell what its items were worth, never lose what was learnt."""

from __future__ import annotations

import copy
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import ArrayLike, IntArray, Label
from matroid_bandits._util.checks import as_flag, as_integer, as_number
from matroid_bandits._util.names import plain
from matroid_bandits._util.text import shown
from matroid_bandits.agent import Agent, Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    ItemError,
    PolicyError,
    ReplayError,
    UnknownDecisionError,
)
from matroid_bandits.learner import _beliefs, _events, _items, _snapshot
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.learner._items import Departed
from matroid_bandits.learner._validate import MOST_DECISIONS
from matroid_bandits.learner._wanted import Wanted, read_features, read_rows, read_wanted
from matroid_bandits.policies import Feedback, Policy, Request, as_policy
from matroid_bandits.stream import HOLDOUT, POLICY, Stream, as_seed

#: Called with every event that happened to a learner, as a plain JSON form.
Record = Callable[[dict[str, Any]], None]

#: What `ask` is given where nothing is asked for besides a set.
_NOTHING: tuple[Any, ...] = ()
_PLAIN: dict[str, Any] = {}


class Learner:
    """Learns the best sets of a constraint from what its choices turn out to be worth.

    A learner is a deterministic state machine: the same arguments, the same seed and the same calls in the same order
    make the same decisions. It may be shared between threads; every public method is atomic.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen; a matroid.
    policy : Policy
        How to choose.
    minimize : bool, default False
        Weights are costs.
    seed : int, optional
        For policies that randomise; by default a fresh one.
    id : str, optional
        What decisions of this learner carry, so that no other takes them; by default a fresh one.
    priors : mapping of item or label to (mean weight, plays), optional
        What is believed of items before anything is told: a mean, and how many plays it is worth. An item with a
        prior is not tried before the others.
    features : array_like (L, d) or mapping, optional
        For policies that take features with a request: those of a request that brings none.
    holdout : float, default 0.0
        Probability with which a request is answered by a random set instead; the decision says so, and its event has
        the set that would have been chosen. Later evaluation rests on such decisions.
    max_departed : int, default 100000
        How many items that have left are remembered, in case they return or are told of late.
    engine : str, or class of one's own, default "auto"
        How decisions are found; all engines make the same ones.
    record : callable, optional
        Called with every event before it happens to the learner, a plain JSON form; see `apply`. Where it raises,
        nothing happens.

    Attributes
    ----------
    MOST_DECISIONS : int
        How many decisions one learner may make.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> ads = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats"})
    >>> learner = mb.Learner(ads, mb.OMM(), seed=0)
    >>> decision = learner.ask()
    >>> decision.labels
    ('boots', 'fedora')
    >>> learner.tell(decision, {"boots": 0.0})  # the rest may come later
    >>> learner.tell(decision.id, {"fedora": 1.0})
    >>> learner.ask(exclude=["fedora"]).labels
    ('heels',)
    """

    #: Episodes beyond this address further looks at items before the first decision.
    MOST_DECISIONS: ClassVar[int] = MOST_DECISIONS
    #: How often a call has begun to change the learner: a call that failed at the same number has changed nothing.
    _n_steps = 0

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        *,
        minimize: bool = False,
        seed: int | None = None,
        id: str | None = None,
        priors: Mapping[Any, tuple[float, float]] | None = None,
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        holdout: float = 0.0,
        max_departed: int = 100_000,
        engine: EngineChoice = "auto",
        record: Record | None = None,
    ) -> None:
        if not isinstance(constraint, Constraint):
            raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
        if id is not None and not (isinstance(id, str) and id):
            raise PolicyError(f"expected id to be a string, got {id!r}")
        self._constraint, self._policy = constraint, as_policy(policy)
        is_cost = as_flag("minimize", minimize, error=PolicyError)
        self._holdout = as_number("holdout", holdout, 0.0, 1.0, error=PolicyError)
        self._max_departed = as_integer("max_departed", max_departed, error=PolicyError)
        self._stream = Stream(as_seed(seed), range(1), POLICY)
        self._id = secrets.token_hex(16) if id is None else id
        self._engine = engine
        self._agent = Agent(constraint, policy, minimize=is_cost, engine=engine)
        self._features = None if features is None else read_features(constraint, policy, features)
        if priors is not None and isinstance(priors, str):
            raise FeedbackError(f"expected priors by item before anything is known, got {priors!r}")
        self._is_replaying = False
        self._set_priors(priors, np.ones(constraint.n_items, bool), None)
        self._departed = Departed()
        self._reader = Reader(self)
        self._episode = self._n_changes = self._changed_at = 0
        self._lock = threading.RLock()
        self._record: Record | None = None
        if record is not None:
            created = _events.created(self, priors, self._features)
            self._record = record
            record(created)

    @property
    def constraint(self) -> Constraint:
        """Which sets may be chosen."""
        return self._constraint

    @property
    def policy(self) -> Policy:
        """How to choose."""
        return self._policy

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._agent.state.minimize

    @property
    def seed(self) -> int:
        """The seed of the policy's random choices."""
        return self._stream.seed

    @property
    def id(self) -> str:
        """What decisions of this learner carry."""
        return self._id

    @property
    def holdout(self) -> float:
        """Probability with which a request is answered by a random set."""
        return self._holdout

    @property
    def max_departed(self) -> int:
        """How many items that have left are remembered."""
        return self._max_departed

    @property
    def n_decisions(self) -> int:
        """How many decisions were asked for."""
        return self._episode

    @property
    def n_outstanding(self) -> int:
        """How many decisions still wait for weights."""
        return len(self._agent.open)

    @property
    def alarms(self) -> tuple[IntArray, IntArray] | None:
        """How often each item has started anew since its weights had changed, and after which decision last.

        Both are of shape (L,); the decision is 0 for none. None where the policy has no detector, see `Restarting`.
        """
        with self._lock:
            alarms = self._policy.alarms(self._agent.state)
            return None if alarms is None else (alarms[0][0].copy(), alarms[1][0].copy())

    @property
    def outstanding(self) -> tuple[Decision, ...]:
        """Decisions that still wait for weights, oldest first; of items that are still there."""
        with self._lock:
            return tuple(self._decision(id, play) for id, play in self._agent.open.items())

    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    ) -> Decision:
        """Choose a set for one request. Several decisions may be outstanding at a time.

        The set is the best of what is available given what is pinned, and smaller than others only where the request
        leaves less.

        Parameters
        ----------
        available : items, labels or a mask, optional
            Who may be chosen; by default everybody.
        exclude : items or labels
            Who may not be chosen.
        pinned : items or labels
            Who must be chosen. They count as available, and are observed like the others.
        features : array_like (L, d), or mapping of item or label to row, optional
            What is known of every item in this request, for policies that use it.

        Raises
        ------
        ItemError
            An item is unknown or named twice, is both pinned and excluded, or the pinned items cannot be chosen
            together.
        PolicyError
            The policy takes no features, or needs them.
        """
        if available is None and exclude is _NOTHING and pinned is _NOTHING:
            return self._ask(_PLAIN, features)
        return self._ask({"available": available, "exclude": exclude, "pinned": pinned}, features)

    def preview(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    ) -> Decision:
        """The decision that `ask` would make for the same request now; no episode passes.

        It has id 0, and nothing waits for it: it cannot be told.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM())
        >>> learner.preview(exclude=["a"]).labels
        ('b', 'c')
        >>> learner.n_decisions
        0
        """
        with self._lock:
            asked = self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
            request, items, sizes, is_held_out = self._choose(asked)
            return Decision(0, items[0, : sizes[0]], self._constraint, self._id, request.pinned, is_held_out)

    def tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Say what the items of a decision were worth.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        weights : array_like (K,), or mapping of item or label to float
            An array is in the order of ``decision.items``. A mapping may name some of the items; the rest may
            follow later, in any order. An integer that is one item's label and another's number is an error. A
            pandas Series is a mapping: its index names the items. After a `change`, numbers are those of the
            `Decision` that is given; with a bare id items are named by their labels alone. No weight may be larger
            than 1e100 in size, so that sums stay finite.

        Raises
        ------
        UnknownDecisionError
            No such decision was made by this learner.
        DecisionClosedError
            An item of it has been told already, or the decision was closed.
        FeedbackError
            The weights do not fit the items, or are not numbers the policy can take.
        """
        with self._lock:
            play = self._find(decision)
            id = play.request.episode
            places, values = self._reader.read(weights, play.items[0], id, *self._numbering(decision, id))
            self._check_once(play, places)
            if self._record is not None:
                self._check_taken(play, values, places)
                labels = self._reader.labels(play.items[0], places)
                self._record(_events.told(id, labels, values, is_whole=places is None))
            self._learn(play, values, places)

    def check_ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    ) -> None:
        """Raise what `ask` would raise for the same request; nothing is changed."""
        with self._lock:
            self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)

    def check_tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Raise what `tell` would raise for the same answer; nothing is changed."""
        with self._lock:
            play = self._find(decision)
            id = play.request.episode
            places, _ = self._reader.read(weights, play.items[0], id, *self._numbering(decision, id))
            self._check_once(play, places)

    def close(self, decision: Decision | int, default: float | None = None) -> None:
        """Stop waiting for what a decision has not been told.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        default : float, optional
            The weight that counts for every item not told; without one, they are forgotten.

        Raises
        ------
        UnknownDecisionError
            No such decision was made by this learner.
        DecisionClosedError
            The decision was told all its weights, or closed, already.
        FeedbackError
            The default is not a weight the policy can take.
        """
        with self._lock:
            play = self._find(decision)
            value = self._reader.default(default)
            self._log(_events.closed(play.request.episode, value))
            self._close([play], value)

    def close_before(self, episode: int, default: float | None = None) -> int:
        """Close every outstanding decision made before an episode, in one event.

        Parameters
        ----------
        episode : int
            The first episode whose decision stays open.
        default : float, optional
            The weight that counts for every item not told; without one, they are forgotten.

        Returns
        -------
        int
            How many decisions were closed.
        """
        with self._lock:
            until = as_integer("episode", episode, error=UnknownDecisionError)
            value = self._reader.default(default)
            plays = [play for _, play in takewhile(lambda entry: entry[0] < until, self._agent.open.items())]
            self._log(_events.closed_before(until, value))
            self._close(plays, value)
            return len(plays)

    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Count weights seen before the first decision, one for every item or for those a mapping names."""
        with self._lock:
            if self._episode:
                raise DecisionClosedError("expected observe() before the first ask(); use tell() after it")
            items = self._reader.all_items
            places, values = self._reader.read(weights, items, 0)
            seen = items if places is None else places
            # The first look at an item belongs to episode 0, as in a simulation. Further ones have addresses past all
            # episodes, so that what a policy draws for them is drawn anew.
            looks = self._agent.state.counts[0, seen]
            parts = []
            for n in np.unique(looks).tolist():
                is_now = looks == n
                request = Request(self.MOST_DECISIONS + n if n else 0, self._stream, features=self._features)
                parts.append((request, seen[None, is_now], values[None, is_now]))
            if self._record is not None:
                for part in parts:
                    self._agent.check_observe(*part)
                self._record(_events.observed(self._reader.labels(items, places), values))
            self._n_steps += 1
            for part in parts:
                self._agent.observe(*part)

    def change(
        self,
        constraint: Constraint,
        *,
        priors: Mapping[Any, tuple[float, float]] | str | None = None,
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        forget: Iterable[Any] = (),
    ) -> None:
        """Go on with other items: some have come, some have gone, the rules may be others.

        Items are matched by label. What is known of them, the time, and the decisions that wait carry over; a waiting
        decision may still be told of an item that has left; who returns is remembered.

        Parameters
        ----------
        constraint : Constraint
            The new items and which sets of them may be chosen; it has labels.
        priors : mapping of newcomer to (mean weight, plays), or "typical", optional
            What to believe of newcomers. "typical" gives each the median of the known items' means and plays, so that
            a hundred newcomers do not flood a page. Without a prior they are tried before the others.
        features : array_like (L, d), or mapping of item or label to row, optional
            For policies made with features: those of the newcomers.
        forget : items or labels
            Items, here or departed, of which nothing is to be kept.

        Raises
        ------
        InvalidMatroidError
            The old or the new constraint has no labels.
        PolicyError
            The policy needs features of the newcomers, or takes no priors.
        """
        with self._lock:
            if not isinstance(constraint, Constraint):
                raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
            if isinstance(forget, Mapping):
                raise ItemError(f"expected items or labels to forget, got the mapping {shown(forget)}")
            self._departed.recognise(constraint.labels)
            listed = _items.labels_of(forget, self._constraint, self._item, self._departed_item)
            known = _items.typical(self._agent.state, self._policy, self._departed, set(listed))
            rows, newcomers = self._read_rows(constraint, features, set(listed))
            agent, policy, turnover, is_new = _items.changed(
                self._agent,
                self._policy,
                self._departed,
                constraint,
                rows if self._policy.n_features is None else None,
                set(listed),
                self._engine,
                self._max_departed,
            )
            rest = self._constraint, self._policy, self._agent, self._features
            self._constraint, self._policy, self._agent = constraint, policy, agent
            self._features = rows if policy.n_features is not None else None
            try:
                self._set_priors(priors, is_new, known)
                if self._record is not None:
                    self._record(_events.changed(constraint, priors, self._features, rows, newcomers, listed))
            except BaseException:
                self._constraint, self._policy, self._agent, self._features = rest
                raise
            self._n_steps += 1
            self._departed.turn_over(turnover)
            self._reader = self._reader.renewed(self)
            self._n_changes += 1
            self._changed_at = self._episode  # decisions up to here were made with other numbers

    def restart(self, items: Iterable[Any] | None = None) -> None:
        """Forget what is known of some items (or labels), or of all; time goes on.

        Answers to what was asked before are still taken, and not counted. All items are those that have left, too.
        """
        with self._lock:
            which = None if items is None else self._constraint.as_items(items)
            if self._record is not None:
                labels = None if which is None else [self._constraint.labels[e] for e in which.tolist()]
                self._record(_events.restarted(labels))
            self._n_steps += 1
            _items.restart(self._agent, which)
            if which is None:
                self._departed.restart(self._policy, self._episode)
            self._n_changes += 1

    def apply(self, event: Mapping[str, Any], *, trust: bool = False) -> Any:
        """Let a recorded event happen again; what the call that made it returned is returned.

        Parameters
        ----------
        event : mapping
            A form that `record` was given.
        trust : bool, default False
            Take the log's word for what was chosen. By default the learner decides again.

        Raises
        ------
        ReplayError
            The event does not fit, or the learner decides otherwise than the log says; nothing is changed.
        """
        with self._lock:
            self._is_replaying = True
            try:
                return _events.apply(self, event, as_flag("trust", trust, error=ReplayError))
            finally:
                self._is_replaying = False

    @classmethod
    def replay(
        cls,
        events: Iterable[Mapping[str, Any]],
        *,
        trust: bool = False,
        engine: EngineChoice = "auto",
        record: Record | None = None,
    ) -> Learner:
        """The learner that a log of events describes, the first of which is `created`.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> log = []
        >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), record=log.append)
        >>> learner.tell(learner.ask(), [0.5])
        >>> [event["event"] for event in log]
        ['created', 'asked', 'told']
        >>> mb.Learner.replay(log).ask() == learner.ask()
        True
        """
        iterator = iter(events)
        learner = _events.from_created(cls, next(iterator, {}), engine, record)
        for event in iterator:
            learner.apply(event, trust=trust)
        return learner

    def estimates(self, *, features: ArrayLike | Mapping[Any, ArrayLike] | None = None) -> Estimates:
        """What is believed of each item now, in the units of the weights."""
        with self._lock:
            return _beliefs.estimates(self, self._next_request(features))

    def best_basis(self) -> BestSet:
        """The set of best means so far, without exploration; items never seen come last."""
        with self._lock:
            return _beliefs.best_basis(self)

    def explain(
        self,
        item: Any,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        decision: Decision | int | None = None,
    ) -> Explanation:
        """Why an item (number or label) is in or out of the set for a request.

        Parameters
        ----------
        item : item or label
            The item asked about.
        available, exclude, pinned, features
            The next request, as for `ask`.
        decision : Decision or int, optional
            An outstanding decision: its set, its request and its own features, with what is believed today. The
            explanation says what is no longer known of it, as after a `change` of the items.
        """
        with self._lock:
            e = self._item(item)
            if decision is not None:
                return _beliefs.explain_decision(self, e, self._find(decision), features)
            wanted = self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
            return _beliefs.explain(self, e, self._next_request(features), wanted)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learner to one file, atomically: a crash leaves the old file or the new one.

        An `OracleMatroid`, and a policy whose arguments are not known, are code and cannot be stored; pass them to
        `load`. Of the matroid the file keeps a fingerprint, so that another one is noticed. The file that is
        replaced keeps its mode, and its place where `path` is a link to it.

        Raises
        ------
        SerializationError
            What the policy keeps is not what it can be, so `load` would refuse the file; the old file stays.
        """
        with self._lock:
            _snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        constraint: Constraint | None = None,
        policy: Policy | None = None,
        engine: EngineChoice = "auto",
        record: Record | None = None,
    ) -> Learner:
        """The learner that `save` wrote, which goes on with exactly the decisions it would have made.

        Parameters
        ----------
        path : path
            The file.
        constraint, policy : optional
            Needed when they could not be stored: an `OracleMatroid`, a policy whose arguments are not known. They
            must be those that the learner was saved with.
        engine : str, or class of one's own, default "auto"
            How decisions are found.
        record : callable, optional
            Called with every event from now on.

        Raises
        ------
        SerializationError
            The file is damaged, foreign or newer, or does not fit the arguments.
        """
        learner = _snapshot.load(cls, path, constraint, policy, engine)
        learner._record = record
        return learner

    def _change_form(self, constraint: Constraint, *, priors: Any, features: Any, forget: Any) -> dict[str, Any]:
        """The event that `change` of the same arguments would record; nothing is changed.

        A service applies it as it will be read from a log, so that what was written can be read.
        """
        with self._lock:
            listed = _items.labels_of(forget, self._constraint, self._item, self._departed_item)
            rows, newcomers = self._read_rows(constraint, features, set(listed))
            own = rows if self._policy.n_features is not None else None
            return _events.changed(constraint, priors, own, rows, newcomers, listed)

    # Steps of the public methods, called under the lock

    def _ask(
        self,
        wanted: Mapping[str, Any],
        features: Any,
        *,
        expected: list[Label] | None = None,
        instead: list[Label] | None = None,
        taken: tuple[list[Label], bool] | None = None,
    ) -> Decision:
        """Choose a set; one that must be `expected`, or that is `taken` as given.

        Where a set drawn at random is expected, the learner would have chosen another `instead`.
        """
        with self._lock:
            asked = self._read_wanted(wanted, features)
            self._n_steps += 1
            request, items, sizes, is_held_out = self._choose(asked, taken)
            t = request.episode
            own = None
            if items.shape[1] != sizes[0]:
                items = items[:, : sizes[0]]
            if is_held_out and (self._record is not None or instead is not None) and taken is None:
                chosen, n_chosen = self._agent.choose(request)
                own = chosen[0, : n_chosen[0]]
            if expected is not None:
                for said, decided in ((expected, items[0]), (instead, own)):
                    found = None if decided is None else [self._constraint.labels[e] for e in decided.tolist()]
                    if said is not None and found != said:
                        raise ReplayError(f"decision {t}: the log says {said}, this learner decides {found}")
            if self._record is not None:
                self._record(_events.asked(t, items[0], asked, self._constraint, is_held_out, own))
            play = self._agent.play(request, items, sizes)
            chosen = play.items[0]
            self._episode = t
            if asked is not None:
                play.request = Request(t, self._stream)  # without its masks, which may be large
            play.note = Asked(self._constraint.labels, chosen, asked, is_held_out)
            return Decision(t, chosen, self._constraint, self._id, request.pinned, is_held_out)

    def _choose(
        self, asked: Wanted | None, taken: tuple[list[Label], bool] | None = None
    ) -> tuple[Request, IntArray, IntArray, bool]:
        """The next request, the set chosen for it with its size, and whether it was drawn at random."""
        t, constraint = self._episode + 1, self._constraint
        if t >= self.MOST_DECISIONS:
            raise DecisionClosedError(f"expected fewer than {self.MOST_DECISIONS} decisions of one learner")
        request = Request(t, self._stream)
        if asked is not None:
            request = asked.request(t, self._stream, constraint.n_items)
        if taken is not None:
            items = constraint.as_items([constraint.item(label) for label in taken[0]])[None]
            return request, items, np.array([items.shape[1]]), taken[1]
        if self._holdout > 0.0 and self._stream.with_purpose(HOLDOUT).run_uniform(t)[0] < self._holdout:
            u = self._stream.with_purpose(HOLDOUT).uniform(t, np.arange(constraint.n_items))
            mask = None if asked is None else asked.mask(constraint.n_items)
            items, sizes = constraint.solve(u, available=mask, pinned=request.pinned)
            return request, items[:, : sizes[0]], sizes, True
        return request, *self._agent.choose(request), False

    def _numbering(self, decision: Decision | int, id: int) -> tuple[Decision | None, bool]:
        """Whose numbers an answer may go by besides labels, None for those of today; and whether by labels alone."""
        is_older = id <= self._changed_at
        return decision if is_older and isinstance(decision, Decision) else None, is_older

    def _check_once(self, play: Play, places: IntArray | None) -> None:
        """Raise when one of some places of a play, or of all for None, was told before."""
        told = play.told
        if told is not None and (told.any() if places is None else told[places].any()):
            again = np.flatnonzero(told)[0] if places is None else places[told[places]][0]
            raise DecisionClosedError(
                f"expected a weight once per item; item {self._reader.name(play.items[0, again])} of decision "
                f"{play.request.episode} was told before"
            )

    def _check_taken(self, play: Play, values: Any, places: IntArray | None) -> None:
        """Raise what a policy that may refuse answers raises, before anything is recorded."""
        told = np.arange(play.items.size) if places is None else places
        is_here = play.items[0, told] >= 0
        if is_here.any():
            self._agent.check_learn(play, values[is_here], told[is_here])

    def _learn(self, play: Play, values: Any, places: IntArray | None) -> None:
        """Count weights, those of items that have left where they are kept."""
        items = play.items[0]
        self._n_steps += 1
        if self._n_changes:  # before the first change nobody can have left
            told = np.arange(items.size) if places is None else places
            is_here = items[told] >= 0
            if not is_here.all():
                self._learn_departed(play, values[~is_here], told[~is_here])
                places, values = told[is_here], values[is_here]
        if places is None or places.size:
            self._agent.learn(play, values, places)

    def _learn_departed(self, play: Play, values: Any, places: IntArray) -> None:
        sign = -1.0 if self.minimize else 1.0
        state, episode, one = self._agent.state, play.request.episode, np.zeros(1, np.int64)
        self._agent.dismiss(play, places)
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            code = int(play.items[0, place])
            if self._departed.knows(code):
                features = None if play.features is None else play.features[place : place + 1]
                # no number addresses its random numbers: it has those of a run of its own, as run 0 is all others'
                stream = Stream(self._stream.seed, [1 + place], POLICY)
                told = Feedback(one, one, np.array([sign * value]), episode, stream, features)
                self._departed.answer(code, told, state, self._policy)

    def _close(self, plays: list[Play], default: float | None) -> None:
        dropped = []
        self._n_steps += 1
        for play in plays:
            places = play.untold()
            if default is not None:
                self._learn(play, np.full(places.size, default), places)
                continue
            items = play.items[0, places]
            is_here = items >= 0
            for code in items[~is_here].tolist():
                if self._departed.knows(code):
                    self._departed.drop(code, play.request.episode, self._agent.state, self._policy)
            if is_here.all():
                dropped.append((play, places))
            else:
                self._agent.dismiss(play, places[~is_here])
                dropped.append((play, places[is_here]))
        self._agent.close(dropped)
        for play in plays:
            self._agent.open.pop(play.request.episode, None)

    def _find(self, decision: Decision | int) -> Play:
        """The open play of a decision."""
        if isinstance(decision, Decision):
            if decision._learner != self._id:
                raise UnknownDecisionError(
                    f"expected a decision of learner {self._id}, got {decision!r} of learner {decision.learner}"
                )
            id: Any = decision._id
        else:
            id = decision
        play = self._agent.open.get(id) if type(id) is int else None
        return self._find_otherwise(id) if play is None else play

    def _find_otherwise(self, id: Any) -> Play:
        try:
            number = as_integer("decision", id, 1, self._episode, error=UnknownDecisionError)
        except UnknownDecisionError:
            raise UnknownDecisionError(f"expected a decision or its id, 1..{self._episode}; got {id!r}") from None
        if number in self._agent.open:
            return self._agent.open[number]
        raise DecisionClosedError(f"decision {number} was told all its weights already, or closed")

    def _decision(self, id: int, play: Play) -> Decision:
        asked: Asked | None = play.note
        pinned = None
        if asked is not None and asked.wanted is not None and asked.wanted.pinned.size:
            pinned = asked.now(asked.wanted.pinned, self._constraint)
        is_held_out = asked is not None and asked.is_held_out
        items, places = play.items[0], None
        if self._n_changes:
            places = np.flatnonzero(items >= 0)
            places = places[np.argsort(items[places])]
            items = items[places]
        return Decision(id, items, self._constraint, self._id, pinned, is_held_out, places)

    def _read_wanted(self, wanted: Mapping[str, Any], features: Any) -> Wanted | None:
        if features is None:
            features = self._features
        if not wanted and features is None and self._policy.n_features is None:
            return None
        return read_wanted(
            self._constraint,
            self._policy,
            wanted.get("available"),
            wanted.get("exclude", ()),
            wanted.get("pinned", ()),
            features,
        )

    def _next_request(self, features: Any) -> Request:
        rows = features if features is not None else self._features
        described = None if rows is None else read_features(self._constraint, self._policy, rows)
        return Request(self._episode + 1, self._stream, features=described)

    def _read_rows(self, constraint: Constraint, features: Any, forgotten: set[Label]) -> tuple[Any, list[int]]:
        """The features that come with a change, (L, d), or None; and the items that nothing is known of."""
        policy, before, left = self._policy, {*self._constraint.labels}, self._departed
        newcomers = [
            e
            for e, label in enumerate(constraint.labels)
            if label in forgotten or (label not in before and left.code(label) is None)
        ]
        if policy.n_features is None:
            if features is None:
                return None, newcomers
            own = policy.features_of(np.empty(0, np.int64))
            width = None if own is None else own.shape[1]
            return read_rows(constraint, features, width, newcomers, is_strict=not self._is_replaying), newcomers
        if self._features is not None:
            return read_features(constraint, policy, features), newcomers
        if features is not None and not self._is_replaying:  # early versions dropped them
            raise PolicyError(f"expected no features, since requests bring those that {policy!r} needs; got some")
        return None, newcomers

    def _set_priors(self, priors: Any, newcomers: Any, known: tuple[float, float] | None) -> None:
        if priors is not None and not self._policy.takes_priors:
            raise PolicyError(f"expected no priors, since {self._policy!r} has beliefs of its own; got some")
        items, means, counts = _items.as_priors(priors, self._agent.state, newcomers, known, self._item)
        low, high = self._policy.support
        weights = -means if self.minimize else means
        is_wrong = ~((low <= weights) & (weights <= high)) & (counts > 0.0)
        if is_wrong.any():
            e = int(is_wrong.argmax())
            raise FeedbackError(
                f"{self._policy!r} needs weights in [{low:g}, {high:g}], got a prior mean of {weights[e]:g} for "
                f"{self._constraint.labels[items[e]]!r}"
            )
        if items.size:
            self._agent.set_priors(items, means, counts)

    def _item(self, key: Any) -> int:
        """An item by its label or number; in a log by its label alone."""
        try:
            return self._constraint.item(key) if self._is_replaying else self._constraint.as_item(key)
        except ItemError:
            if self._constraint.has_labels:
                raise
            raise ItemError(f"expected an item or its label, got {shown(key)}") from None

    def _departed_item(self, key: Any) -> int | None:
        """The code of the departed item that a key names; None where it names none."""
        code = self._departed.code(key)
        is_number = code is not None and type(plain(key)) is int and 0 <= key < self._constraint.n_items
        if is_number and not self._is_replaying:
            raise ItemError(
                f"expected one item, got {key}, which is the label of an item that has left and the number of item "
                f"{self._constraint.labels[key]!r}"
            )
        return code

    def _log(self, event: dict[str, Any]) -> None:
        if self._record is not None:
            self._record(event)

    def __copy__(self) -> Learner:
        """A learner of its own: two that share what they know would both be wrong."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_lock"], state["_record"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._record = threading.RLock(), None

    def __repr__(self) -> str:
        return (
            f"Learner({self._constraint!r}, {self._policy!r}, {self._episode} decisions, "
            f"{self.n_outstanding} outstanding)"
        )
