"""A live learner: ask for a set, tell what its items were worth, never lose what was learnt."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import replace
from itertools import takewhile
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT, as_flag, as_integer, as_number
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
    StoppingError,
    UnknownDecisionError,
)
from matroid_bandits.identification import Confidence, StoppingRule, Threshold, as_delta
from matroid_bandits.learner import _beliefs, _changes, _confidence, _control, _events, _snapshot
from matroid_bandits.learner._answers import KINDS, Answers, as_answers, check_kind, read_rest
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._book import Book
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.learner._fork import Entrance, changing, give_locks, reading
from matroid_bandits.learner._holdout import Holdout, read_tags
from matroid_bandits.learner._items import Departed
from matroid_bandits.learner._order import Logged, Order, as_order, listed, random_places
from matroid_bandits.learner._plain import Plain, check_number
from matroid_bandits.learner._seen import UNSAID, WEIGHTS_ALONE, Said, check_said, read_said
from matroid_bandits.learner._validate import MOST_DECISIONS
from matroid_bandits.learner._wanted import IGNORE, RAISE, Wanted, read_features, read_wanted, without_unknown
from matroid_bandits.learner._warm import warm_up
from matroid_bandits.policies import Feedback, Policy, Request, Spending, as_policy, check_takes, choose_sets
from matroid_bandits.stream import HOLDOUT, POLICY, Stream, as_seed

#: What `ask` is given where nothing is asked for besides a set.
_NOTHING: tuple[Any, ...] = ()

#: The run of the first redraw: run 0 is the learner's own, and departed items have the next ones.
_FIRST_REDRAW = 2**31

#: Called with every event that happens to a learner, as a plain JSON form.
Record = Callable[[dict[str, Any]], None]

#: The weight of what was not told: a number, None to leave it unknown, or what the learner's kind of answers says.
Default = float | Literal["answers"] | None


class Learner:
    """Live learner of the best sets of a constraint: `ask` chooses a set, `tell` takes the observed weights.

    A learner is a deterministic state machine: the same arguments, the same seed and the same calls in the same order
    make the same decisions. It may be shared between threads; every public method is atomic.

    Parameters
    ----------
    constraint : Constraint
        The constraint, usually a matroid.
    policy : Policy
        How to choose.
    minimize : bool, default False
        Weights are costs.
    seed : int, optional
        Seed of the policy's random numbers; by default a new one.
    id : str, optional
        Identifier of the learner, stored in its decisions; other learners refuse them. By default a new one.
    priors : mapping of item or label to (mean weight, plays), optional
        Prior of some items: a mean weight, and the number of plays it counts for. An item with a prior does not count
        as unseen.
    features : array_like (L, d) or mapping, optional
        For policies with features: the default features of requests without features.
    holdout : float or Holdout, default 0.0
        Probability that a request is answered by a random set, for later evaluation; the decision is marked
        (`is_held_out`), and its event has the set that would have been chosen. A `Holdout` can be sticky by the value
        of a tag.
    answers : {"all", "clicks", "first-click", "first-failure", "clicks-by-place"}, default "all"
        What answers tell of. "all": every chosen item is told, and what is missing when a decision is closed stays
        unknown. "clicks": only what happened is told, and the rest is 0 when the decision is closed; `close_before`
        does so for all decisions that are old enough. With the others a set is shown as a list, `Decision.order`.
        "first-click": people read it from the top and stop at the first click, so that nothing is known of what is
        below. "first-failure": all items must work, and nothing is tried below the first that fails.
        "clicks-by-place": as "clicks", by a policy that learns how often each place is looked at.
    max_departed : int, default 100000
        Maximum number of removed items whose statistics are kept, in case they return or get late feedback.
    engine : str or class, default "auto"
        The algorithm that finds decisions; all engines make the same ones.
    record : callable, optional
        Callback that receives every event, as plain JSON, before it is applied; see `apply`. If it raises, the
        learner does not change.

    Attributes
    ----------
    MOST_DECISIONS : int
        Maximum number of decisions of one learner.

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

    _lock: Entrance
    _changes: Entrance  # the same lock, until the process is forked

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
        holdout: float | Holdout = 0.0,
        answers: Answers = "all",
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
        self._holdout = Holdout.of(holdout)
        self._answers: Answers | None = as_answers(answers)
        check_kind(self._answers, policy, constraint)
        if self._holdout.control is not None:
            check_kind(self._answers, self._holdout.control, constraint)
        self._max_departed = as_integer("max_departed", max_departed, error=PolicyError)
        self._stream = Stream(as_seed(seed), range(1), POLICY)
        self._id = secrets.token_hex(16) if id is None else id
        self._engine = engine
        self._plain: Plain | None = None
        self._loop = Agent(constraint, policy, minimize=is_cost, engine=engine)
        #: Features of requests that bring none, (L, d).
        self._features = None if features is None else read_features(constraint, policy, features)
        if priors is not None and isinstance(priors, str):
            raise FeedbackError(f"expected priors by item before anything is known, got {priors!r}")
        #: Whether an event of a log is happening, in which items go by their labels alone.
        self._is_replaying = False
        #: Replayed decisions without items. They are settled at once; version 0.2.0 waited for their answers, so its
        #: logs may close them.
        self._replayed_empty: set[int] = set()
        _changes.set_priors(self, priors, np.ones(constraint.n_items, bool))
        #: What was known of items when they left.
        self._departed = Departed()
        self._reader = Reader(self)
        #: How many decisions were asked for, how often items changed or started anew, and the last decision before
        #: items changed.
        self._episode = self._n_changes = self._changed_at = 0
        #: How often the state has begun to change, and how often requests named items that were not there.
        self._n_steps = self._n_unknown = 0
        #: How many items have ever arrived.
        self._n_known = constraint.n_items
        #: Whether something was learnt by a policy that forgets, so that what is counted is not all that was seen.
        self._has_forgotten = policy.forgets
        #: Whether it is known which weights were told and how many items there were: not in files of early versions.
        self._is_evidence_whole = True
        #: Whether it is known how many plays were forgotten: not in files of early versions.
        self._knows_forgotten = True
        #: The learner that answers what is held out; None where random sets do.
        self._control: Learner | None = _control.made(self, self._holdout, priors)
        self._record: Record | None = None
        give_locks(self)
        if record is not None:
            self._start_record(record, priors)
        self._bind()

    @classmethod
    def _made(cls, constraint: Constraint, policy: Policy, *, answers: Answers | None, **settings: Any) -> Self:
        """A learner of a log, a file or a hold-out, whose `answers` may be None."""
        learner = cls.__new__(cls)
        Learner.__init__(learner, constraint, policy, answers="all" if answers is None else answers, **settings)
        if answers is None:
            learner._answers = None
        return learner

    def _start_record(self, record: Record, priors: Any) -> None:
        """Record that the learner was made, and what happens from now on."""
        created = _events.created(self, priors, self._features)
        self._record = record
        record(created)

    @property
    def _agent(self) -> Agent:
        """What was seen, and the open plays by episode, the last one included. The note of each is an `Asked`.

        What has found a play among them goes on with `_loop`, which is the same agent.
        """
        if self._plain is not None:
            self._plain.settle()
        return self._loop

    @_agent.setter
    def _agent(self, agent: Agent) -> None:
        self._loop = agent

    def _bind(self) -> None:
        """Look up again what plain calls use; after everything that changes the agent or the settings."""
        if self._plain is not None:
            self._plain.settle()
        is_plain = self._record is None and self._features is None and self._policy.n_features is None
        is_list = KINDS[self._answers or "all"].is_list
        self._plain = Plain(self) if is_plain and self._holdout.share <= 0.0 and not is_list else None

    @property
    def constraint(self) -> Constraint:
        """The constraint, which says which sets may be chosen."""
        return self._constraint

    @property
    def policy(self) -> Policy:
        """The policy that chooses sets."""
        return self._policy

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._loop.state.minimize

    @property
    def seed(self) -> int:
        """The seed of the policy's random choices."""
        return self._stream.seed

    @property
    def id(self) -> str:
        """Identifier of the learner, which its decisions carry."""
        return self._id

    @property
    def holdout(self) -> Holdout:
        """Settings of the hold-out: the share of requests answered by a random set."""
        return self._holdout

    @property
    def answers(self) -> Answers | None:
        """Kind of the answers; None, which is like "all", in a learner of an early version."""
        return self._answers

    @property
    def max_departed(self) -> int:
        """Maximum number of removed items whose statistics are kept."""
        return self._max_departed

    @property
    def n_decisions(self) -> int:
        """Number of decisions made."""
        return self._episode

    @property
    def n_outstanding(self) -> int:
        """Number of decisions that still wait for weights."""
        plain = self._plain
        return len(self._loop.open) + (plain is not None and plain.is_waiting)

    @property
    def n_steps(self) -> int:
        """Counter of state changes; a call that failed and left it the same changed nothing."""
        return self._n_steps

    @property
    def n_unknown(self) -> int:
        """Number of unknown item labels that `ask` has ignored since the learner was made or loaded."""
        return self._n_unknown

    @property
    def record(self) -> Record | None:
        """Callback that receives every event before it is applied; None for none."""
        return self._record

    @record.setter
    @changing
    def record(self, record: Record | None) -> None:
        self._record = record
        self._bind()

    @property
    @reading
    def alarms(self) -> tuple[IntArray, IntArray] | None:
        """Number of resets of each item by a change detector, and the decision after which the last one happened.

        Both are of shape (L,); the decision is 0 for none. None where the policy has no detector, see `Restarting`.
        """
        alarms = self._agent.state.alarms
        return None if alarms is None else (alarms[0][0].copy(), alarms[1][0].copy())

    @property
    @reading
    def outstanding(self) -> tuple[Decision, ...]:
        """Decisions that still wait for weights of current items, oldest first."""
        return tuple(self._decision(id, play) for id, play in self._agent.open.items())

    @property
    def book(self) -> Book:
        """The pending decisions by number, and the time each was asked for."""
        return Book(self)

    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
        order: Order | None = None,
    ) -> Decision:
        """Choose a set for one request; several decisions may be outstanding at a time.

        The set is the best one of available items that contains the pinned ones; it is smaller than a basis only if
        the request leaves too few items.

        Parameters
        ----------
        available : items, labels or a mask, optional
            Which items may be chosen; by default all.
        exclude : items or labels
            Items that may not be chosen.
        pinned : items or labels
            Items that must be chosen. They count as available, and are observed like the others.
        features : array_like (L, d), or mapping of item or label to row, optional
            Features of every item in this request, for policies that use them.
        tags : mapping of str to JSON, optional
            Description of the request (visitor, page, segment), at most 1,024 characters of JSON, stored in the
            decision and its event. Choices do not depend on tags, but a `Holdout` may.
        unknown : "raise" or "ignore", default "raise"
            How to treat unknown labels in `available` and `exclude`, e.g. of a list older than the last `change`.
            Ignored labels are counted in `n_unknown`. Unknown pins always raise.
        order : "best" or "explore", optional
            How the set is shown as a list, `Decision.order`: with "best" the best first, behind the pinned items;
            with "explore" the worst first, which learns most where one click is all that counts. A random set is
            shown in random order. By default there is a list, the best first, where `answers` asks for one.

        Raises
        ------
        MalformedRequestError
            The tags are not a small JSON object.
        ItemError
            An item is unknown or named twice, is both pinned and excluded, or the pinned items cannot be chosen
            together.
        PolicyError
            The policy takes no features, or needs them; or it is another order.
        """
        is_plain = available is None and exclude is _NOTHING and pinned is _NOTHING and unknown == RAISE
        with self._changes:
            if is_plain and features is None and tags is None and order is None and self._plain is not None:
                return self._plain.ask()
            wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
            return self._ask({} if is_plain else wanted, features, tags, as_order(order))

    @reading
    def preview(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
        order: Order | None = None,
    ) -> Decision:
        """Return the decision that `ask` would make for the same request, without changing the learner.

        It has id 0 and is not outstanding, so its weights cannot be told.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM())
        >>> learner.preview(exclude=["a"]).labels
        ('b', 'c')
        >>> learner.n_decisions
        0
        """
        wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
        asked, tags, order = self._read_wanted(wanted, features), read_tags(tags), as_order(order)
        request, items, sizes, is_held_out = self._choose(asked, tags)
        places = self._places(request, items, sizes, is_held_out, order, asked)
        chosen = items[0, : sizes[0]]
        return Decision(0, chosen, self._constraint, self._id, request.pinned, is_held_out, tags, places)

    @reading
    def redraws(
        self,
        n: int,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        is_control: bool = False,
    ) -> tuple[IntArray, IntArray]:
        """Return the sets that the policy would choose for `n` other random seeds, without hold-out or state change.

        Sets of a policy that does not sample are all the same. With `is_control` they are those of the control of the
        hold-out.

        Returns
        -------
        items : int64 array (n, K)
            A row per set.
        sizes : int64 array (n,)
            How many items of each row count.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(4, 1), mb.ThompsonSampling(), seed=0)
        >>> items, sizes = learner.redraws(1000)
        >>> np.bincount(items[:, 0]).tolist()  # nothing is known yet
        [252, 253, 238, 257]
        """
        n = as_integer("n", n, 1, error=PolicyError)
        asked = self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
        if not is_control:
            return self._redraws(asked, n)
        if self._control is None:
            raise PolicyError("expected a learner whose hold-out has a control, got one with random sets")
        return self._control._redraws(_control.wanted(self._control, asked), n)

    def tell(
        self,
        decision: Decision | int,
        weights: ArrayLike | Mapping[Any, float] | None = None,
        *,
        clicked: Any = UNSAID,
        failed: Any = UNSAID,
        examined: Iterable[Any] | None = None,
    ) -> None:
        """Record the observed weights of a decision's items, or where people stopped in its list.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        weights : array_like (K,), or mapping of item or label to float, optional
            An array is in the order of ``decision.items``. A mapping may name some of the items; the rest may
            follow later, in any order. An integer that is one item's label and another's number is an error. A
            pandas Series is a mapping: its index names the items. After a `change`, numbers are those of the
            `Decision` that is given; with a bare id items are named by their labels alone. No weight may be larger
            than 1e100 in size, so that sums stay finite.
        clicked : item, label or None, optional
            With the answers "first-click": the item of the first click, which has weight 1; those above it have 0,
            and those below were not looked at. None where people looked at all items and clicked none.
        failed : item, label or None, optional
            With the answers "first-failure": the first item that failed, which has weight 0; those above it have 1,
            and those below were not tried. None where all have worked.
        examined : items or labels, optional
            The items that people looked at, where that is known; those without a weight have 0, with "first-failure"
            1, and nothing is learnt of the others. No more answers come to the decision.

        Raises
        ------
        UnknownDecisionError
            No such decision was made by this learner.
        DecisionClosedError
            The weight of an item was already told, or the decision was closed.
        FeedbackError
            The weights do not fit the items, or the policy does not accept them; or the answer is of another kind
            than `answers`.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> news = mb.UniformMatroid(4, 3, labels=["budget", "flood", "goal", "opera"])
        >>> learner = mb.Learner(news, mb.OMM(), answers="first-click")
        >>> decision = learner.ask()
        >>> decision.order
        ('budget', 'flood', 'goal')
        >>> learner.tell(decision, clicked="flood")  # nothing is known of "goal"
        >>> learner.estimates().counts.tolist()
        [1, 1, 0, 0]
        """
        with self._changes:
            if clicked is UNSAID and failed is UNSAID and examined is None:
                if (plain := self._plain) is not None:
                    is_last = decision is plain.last or (type(decision) is int and decision == plain.last._id)
                    if is_last and plain.tell(weights):
                        return
                self._tell(decision, weights)
            else:
                self._tell(decision, weights, Said(clicked, failed, examined))

    def warm_up(self) -> float:
        """Compile the kernels that this learner's requests need, or load them from disk; the learner does not change.

        The first requests of a process otherwise wait for the compiler, the first on a machine for up to a minute.

        Returns
        -------
        float
            The seconds that it took.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
        >>> learner.warm_up() > 0.0
        True
        >>> learner.n_decisions
        0
        """
        return warm_up(self)

    @reading
    def check_ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
        order: Order | None = None,
    ) -> None:
        """Raise the error that `ask` would raise for the same request, without changing the learner."""
        read_tags(tags)
        as_order(order)
        wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
        self._read_wanted(wanted, features)

    @reading
    def check_tell(
        self,
        decision: Decision | int,
        weights: ArrayLike | Mapping[Any, float] | None = None,
        *,
        clicked: Any = UNSAID,
        failed: Any = UNSAID,
        examined: Iterable[Any] | None = None,
    ) -> None:
        """Raise the error that `tell` would raise for the same arguments, without changing the learner."""
        self._tell(decision, weights, Said(clicked, failed, examined), is_trial=True)

    @changing
    def close(self, decision: Decision | int, default: Default = "answers") -> None:
        """Stop waiting for the missing weights of a decision.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        default : float or None, optional
            The weight that counts for every item without feedback; None drops these plays. If it is left out,
            `answers` decides: with "clicks" and "clicks-by-place" they count as 0, with others they are dropped.
            Where people stop in a list they can only be dropped: without an answer it is not known what they looked
            at.

        Raises
        ------
        UnknownDecisionError
            No such decision was made by this learner.
        DecisionClosedError
            All weights of the decision were already told, or it was closed.
        FeedbackError
            The policy does not accept the default as a weight, or `answers` has none.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(2, 2, labels="ab"), mb.OMM(), answers="clicks")
        >>> decision = learner.ask()
        >>> learner.tell(decision, {"b": 1.0})  # the only click
        >>> learner.close(decision)
        >>> learner.estimates().means.tolist()
        [0.0, 1.0]
        """
        if self._is_replaying and decision in self._replayed_empty:
            return
        play = self._find(decision)
        value = self._default(default)
        if self._record is not None:
            self._record(_events.closed(play.request.episode, value))
        self._close([play], value)

    @changing
    def close_before(self, episode: int, default: Default = "answers") -> int:
        """Close every outstanding decision made before an episode, in one event.

        Parameters
        ----------
        episode : int
            The first episode whose decision stays open.
        default : float or None, optional
            The weight that counts for every item without feedback, as for `close`.

        Returns
        -------
        int
            How many decisions were closed.
        """
        until = as_integer("episode", episode, error=UnknownDecisionError)
        value = self._default(default)
        plays = [play for _, play in takewhile(lambda entry: entry[0] < until, self._agent.open.items())]
        if self._record is not None:
            self._record(_events.closed_before(until, value))
        self._close(plays, value)
        return len(plays)

    @changing
    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Record weights observed before the first decision, for every item or for those in a mapping."""
        if self._episode:
            raise DecisionClosedError("expected observe() before the first ask(); use tell() after it")
        if self._policy.n_features is not None:
            read_features(self._constraint, self._policy, self._features)  # a policy refuses looks without features
        seen, values = self._reader.read_seen(weights)
        # The first look at an item belongs to episode 0, as in a simulation. Further ones have addresses past all
        # episodes, so that what a policy draws for them is drawn anew.
        looks = self._agent.state.counts[0, seen]
        parts = []
        for n in np.unique(looks).tolist():
            is_now = looks == n
            request = Request(MOST_DECISIONS + n if n else 0, self._stream, features=self._features)
            parts.append((request, seen[None, is_now], values[None, is_now]))
        if self._record is not None:
            for part in parts:
                self._agent.check_observe(*part)
            self._record(_events.observed([self._constraint.labels[e] for e in seen.tolist()], values))
        self._n_steps += 1
        self._reader.count(values)
        for part in parts:
            self._agent.observe(*part)

    @changing
    def change(
        self,
        constraint: Constraint,
        *,
        priors: Mapping[Any, tuple[float, float]] | str | tuple[str, float] | None = None,
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        forget: Iterable[Any] = (),
    ) -> None:
        """Replace the constraint: items may be added or removed, and rules changed; statistics are kept by label.

        Items are matched by label. Their statistics, the episode count and outstanding decisions are kept; weights of
        removed items may still be told, and items that return get their statistics back.

        Parameters
        ----------
        constraint : Constraint
            The new items and which sets of them may be chosen; it has labels.
        priors : mapping of newcomer to (mean weight, plays), or "typical", or ("typical", plays), optional
            Priors of new items. "typical" gives each the mean of the known items of its category, so that many new
            items do not fill whole sets; its plays follow from the spread of these, or are those given. Without a
            prior, new items are played first.
        features : array_like (L, d), or mapping of item or label to row, optional
            For policies with fixed features: those of the new items. Known items keep theirs, so a row given for one
            must equal its present row.
        forget : items or labels
            Present or removed items whose statistics are discarded.

        Raises
        ------
        InvalidMatroidError
            The old or the new constraint has no labels.
        PolicyError
            The policy needs features of the new items, or does not accept priors.
        """
        _changes.change(self, constraint, priors, features, forget)

    @reading
    def change_form(self, constraint: Constraint, *, priors: Any, features: Any, forget: Any) -> dict[str, Any]:
        """Return the event that `change` would record for the same arguments, without changing the learner.

        A service applies it as it will be read from a log, so that what was written can be read.
        """
        return _changes.change_form(self, constraint, priors, features, forget)

    @changing
    def configure(
        self,
        *,
        policy: Policy | None = None,
        holdout: float | Holdout | None = None,
        answers: Answers | None = None,
        restart: bool = False,
    ) -> None:
        """Change the policy, the hold-out or what answers tell of; other settings and past observations stay.

        Plays, gains, priors, outstanding decisions and removed items are kept. A policy with more state initialises
        it from these: Thompson sampling takes the total of the gains as successes, a discounted policy gives all past
        observations full weight, a change detector starts empty. If only arguments change that no stored state
        depends on, such as the ``scale`` of `SlidingWindowOMM`, all state is kept.

        Parameters
        ----------
        policy : Policy, optional
            The new policy.
        holdout : float or Holdout, optional
            The new share of requests answered by a random set.
        answers : str, optional
            What answers tell of from now on, of outstanding decisions too; see `Learner`.
        restart : bool, default False
            Discard past observations. Outstanding decisions can still be told, and are not counted.

        Raises
        ------
        PolicyError
            The policy cannot start from plays and gains, as `SlidingWindowOMM` and `CombLinUCB` cannot, or cannot
            take the weights told so far, and `restart` is not given; or it does not fit the constraint.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM())
        >>> learner.tell(learner.ask(), [0.5])
        >>> learner.configure(policy=mb.ThompsonSampling("normal"), holdout=0.1)
        >>> learner.policy, learner.estimates().counts
        (ThompsonSampling(prior='normal', noise=1.0), array([1, 0]))
        """
        _changes.configure(self, policy, holdout, answers, restart)

    @reading
    def configure_form(
        self, *, policy: Any = None, holdout: Any = None, answers: Any = None, restart: bool = False
    ) -> dict[str, Any]:
        """Return the event that `configure` would record for the same arguments, without changing the learner."""
        return _events.configured(*_changes.read_settings(self, policy, holdout, answers, restart))

    @changing
    def restart(self, items: Iterable[Any] | None = None) -> None:
        """Discard the statistics of some items (numbers or labels), or of all; the episode count continues.

        Answers to what was asked before are still taken, and not counted. All items are those that have left, too.
        """
        _changes.restart(self, items)

    @changing
    def apply(self, event: Mapping[str, Any], *, trust: bool = False) -> Any:
        """Apply a recorded event again, and return what the original call returned.

        Parameters
        ----------
        event : mapping
            A form that `record` was given.
        trust : bool, default False
            Accept the logged decision. By default the learner makes the decision again and compares.

        Raises
        ------
        ReplayError
            The event does not fit, or the learner decides otherwise than the log says; nothing is changed.
        """
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
        """Rebuild a learner from a log of events, of which the first is `created`.

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

    @reading
    def estimates(self, *, features: ArrayLike | Mapping[Any, ArrayLike] | None = None) -> Estimates:
        """Return the current estimates of each item, in the units of the weights."""
        return _beliefs.estimates(self, self._next_request(features))

    @property
    @reading
    def spending(self) -> Spending | None:
        """The cost of decisions under a `Budget` so far; None for policies without one."""
        return _beliefs.spending(self)

    @property
    @reading
    def attention(self) -> FloatArray | None:
        """Chance that each place of a list is looked at, from the top, as `PositionBias` knows it; else None."""
        return _beliefs.attention(self)

    @reading
    def gap(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
    ) -> float:
        """Return an upper bound on how much a better set's index could exceed that of the set `ask` would choose.

        0 for policies that always find the best set of their indices, as most do; `ESCB` certifies a number. The
        arguments are those of `ask`.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.Learner(mb.UniformMatroid(3, 1), mb.OMM()).gap()
        0.0
        """
        wanted = self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
        self._agent.settle()
        gaps = self._policy.gaps(self._agent.state, self._request_of(wanted))
        return 0.0 if gaps is None else float(gaps[0])

    @reading
    def best_basis(self, *, pessimism: float | None = None, deviation: float = 0.5) -> BestSet:
        """Return the set of largest mean weights so far, without exploration; unseen items come last.

        Parameters
        ----------
        pessimism : float, optional
            Return the set of largest lower confidence bounds instead, which hold simultaneously with probability one
            minus this: means of few plays have large errors. (CLCB: Liu et al., ICML 2025; on 50 items with 1 to
            1,000 plays each it lost 0.33 where the best means lost 0.79.) Priors do not count.
        deviation : float, default 0.5
            The standard deviation of a weight, or its sub-Gaussian parameter; 0.5 for weights in [0, 1].

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.OMM())
        >>> learner.observe({"b": 1.0})  # one lucky look
        >>> for weight in [0.0, 1.0, 1.0, 1.0] * 25:
        ...     learner.observe({"a": weight})
        >>> learner.best_basis().labels, learner.best_basis(pessimism=0.1).labels
        (('b',), ('a',))
        """
        if pessimism is not None:
            pessimism = as_delta(pessimism)
        deviation = as_number("deviation", deviation, 0.0, MOST_WEIGHT, error=StoppingError)
        return _beliefs.best_basis(self, pessimism, deviation)

    @reading
    def confidence(
        self,
        *,
        weights: Literal["unit"] | None = None,
        deviation: float | None = None,
        tolerance: float = 0.0,
        independent: bool = True,
        threshold: Threshold = "proven",
        delta: float = 0.05,
        n_margins: int | None = 20,
    ) -> Confidence:
        """Return how certain the best set is: the least delta at which a stopping rule would stop now, and its
        margins.

        Answered plays count, including those before the first decision, and a default that closed a decision counts
        like a told weight; priors and pending plays do not count. `restart` resets the evidence. Every catalogue of
        items (the first, and one more after each `change` or `restart`) spends a part of delta, the n-th 6 / (pi^2
        n^2), so that the probability of an error in any of them is at most delta. Removals of items and the times of
        looks may depend on observed weights; additions must not.

        Parameters
        ----------
        weights, deviation, tolerance, independent, threshold
            As in `StoppingRule`; one of the first two gives the distribution of the weights.
        delta : float, default 0.05
            The delta of the margins.
        n_margins : int or None, default 20
            Maximum number of margins, the least certain first; None for all.

        Raises
        ------
        StoppingError
            The constraint is not a matroid; the policy discounts observations, or an earlier one did; weights depend
            on features of requests; or a told weight is outside the assumed range.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.SoftMinimum(), seed=0)
        >>> for t in range(40):
        ...     decision = learner.ask()
        ...     learner.tell(decision, [{"a": 1.0, "b": float(t % 4 == 0), "c": 0.0}[decision.labels[0]]])
        >>> print(learner.confidence(weights="unit"))
        at delta 0.0026 it would stop; the closest call is a over b
        """
        rule = StoppingRule(
            weights=weights, deviation=deviation, tolerance=tolerance, independent=independent, threshold=threshold
        )
        return _confidence.confidence(self, rule, as_delta(delta), n_margins)

    def is_sure(
        self,
        delta: float,
        *,
        weights: Literal["unit"] | None = None,
        deviation: float | None = None,
        tolerance: float = 0.0,
        independent: bool = True,
        threshold: Threshold = "proven",
    ) -> bool:
        """Return whether a stopping rule would stop now at this delta; see `confidence`."""
        law = {"weights": weights, "deviation": deviation, "tolerance": tolerance, "independent": independent}
        return self.confidence(**law, threshold=threshold, n_margins=1).is_sure(delta)  # type: ignore[arg-type]

    @reading
    def explain(
        self,
        item: Any,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        decision: Decision | int | None = None,
        sure: StoppingRule | None = None,
    ) -> Explanation:
        """Explain why an item (number or label) is in or out of the set for a request.

        Parameters
        ----------
        item : item or label
            The item asked about.
        available, exclude, pinned, features
            The next request, as for `ask`.
        decision : Decision or int, optional
            An outstanding decision: its set, its request and its features, with the present estimates. The
            explanation says what is no longer known, e.g. after a `change` of the items.
        sure : StoppingRule, optional
            If given, the explanation also has the confidence in the best set, with the margins of this item's
            exchanges.
        """
        e = self._item(item)
        if decision is not None:
            found = _beliefs.explain_decision(self, e, self._find(decision), features)
        else:
            wanted = self._read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
            found = _beliefs.explain(self, e, self._next_request(features), wanted)
        if sure is None:
            return found
        delta = 0.05 if sure.delta is None else sure.delta
        return replace(found, confidence=_confidence.confidence(self, sure, delta, None, of=e))

    @reading
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
        _snapshot.save(self, path)

    @reading
    def has_state_of(self, other: Learner) -> bool:
        """Return whether another learner has the same state, so that both would save the same file content.

        What `confidence` rests on besides plays is not compared where one of the two comes from a file of an earlier
        version, which does not say it.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> one, other = (mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), seed=0, id="a") for _ in range(2))
        >>> one.has_state_of(other)
        True
        >>> _ = one.ask()
        >>> one.has_state_of(other)
        False
        """
        with other._lock:
            return _snapshot.is_same_state(self, other)

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
        """Load a learner that `save` wrote; it continues with exactly the same decisions.

        Parameters
        ----------
        path : path
            The file.
        constraint, policy : optional
            Required if they could not be stored: an `OracleMatroid`, a policy whose arguments are not known. They
            must equal those that the learner was saved with.
        engine : str or class, default "auto"
            How decisions are found.
        record : callable, optional
            Called with every event from now on.

        Raises
        ------
        SerializationError
            The file is damaged, foreign or newer, or does not fit the arguments.
        """
        learner = _snapshot.load(cls, path, constraint, policy, engine)
        learner.record = record
        return learner

    def _ask(
        self,
        wanted: Mapping[str, Any],
        features: Any,
        tags: Any = None,
        order: Order | None = None,
        *,
        logged: Logged | None = None,
        trust: bool = False,
    ) -> Decision:
        """Choose a set; what a log says of it is to be the same, or is taken as given with `trust`."""
        agent, n_unknown = self._agent, 0
        if wanted.get("unknown") == IGNORE:
            wanted, n_unknown = without_unknown(self._constraint, wanted)
        asked, tags = self._read_wanted(wanted, features), read_tags(tags)
        self._n_steps += 1
        self._n_unknown += n_unknown
        taken = logged if trust else None
        request, items, sizes, is_held_out = self._choose(asked, tags, taken)
        t = request.episode
        own = None
        if items.shape[1] != sizes[0]:
            items = items[:, : sizes[0]]
        if taken is None:
            places = self._places(request, items, sizes, is_held_out, order, asked)
            if is_held_out and (self._record is not None or (logged is not None and logged.instead is not None)):
                chosen, n_chosen = agent.choose(request)
                own = chosen[0, : n_chosen[0]]
        else:
            places = taken.places(self._constraint, items[0])
            if taken.instead is not None:
                own = np.array([self._constraint.item(label) for label in taken.instead], np.int64)
        if logged is not None and taken is None:
            found = [(logged.items, items[0]), (logged.order, listed(items[0], places))]
            found += [] if logged.instead is None else [(logged.instead, own)]
            for said, decided in found:
                labels = None if decided is None else [self._constraint.labels[e] for e in decided.tolist()]
                if labels != said:
                    raise ReplayError(f"decision {t}: the log says {said}, this learner decides {labels}")
        if self._record is not None:
            form = _events.asked(t, items[0], asked, self._constraint, is_held_out, own, tags)
            self._record(form | _events.order_form(listed(items[0], places), order, self._constraint))
        play = agent.play(request, items, sizes, not is_held_out, places)
        chosen = play.items[0]
        self._episode = t
        if self._is_replaying and not chosen.size:
            self._replayed_empty.add(t)
        if asked is not None:
            play.request = Request(t, self._stream)  # without its masks, which may be large
        play.note = Asked(self._constraint.labels, chosen, asked, is_held_out, tags=tags)
        if is_held_out:
            if self._control is not None:
                play.note.control = _control.follow(self._control, asked, items, sizes, places)
            if not self._holdout.learns:
                agent.keep_apart(play)
        return Decision(t, chosen, self._constraint, self._id, request.pinned, is_held_out, tags, places)

    def _places(
        self,
        request: Request,
        items: IntArray,
        sizes: IntArray,
        is_held_out: bool,
        order: Order | None,
        asked: Wanted | None,
    ) -> IntArray | None:
        """The place at which each item of a set is shown; None where no order is asked for."""
        if order is None and not KINDS[self._answers or "all"].is_list:
            return None
        worst_first = order == "explore"
        if not is_held_out:
            return self._agent.order(request, items, sizes, worst_first)
        if self._control is not None:
            return _control.order(self._control, asked, items, sizes, worst_first)
        return random_places(self._stream, request, items[0, : sizes[0]], self._constraint.n_items)

    def _request_of(self, asked: Wanted | None) -> Request:
        """The next request, for which this is wanted."""
        t, stream = self._episode + 1, self._stream
        return Request(t, stream) if asked is None else asked.request(t, stream, self._constraint.n_items)

    def _redraws(self, asked: Wanted | None, n: int) -> tuple[IntArray, IntArray]:
        """The same for a request that has been read."""
        t = self._episode + 1
        stream = Stream(self.seed, _FIRST_REDRAW + np.arange(n), POLICY)
        request = Request(t, stream) if asked is None else asked.request(t, stream, self._constraint.n_items)
        return choose_sets(self._policy, self._agent.state.repeated(n), request)

    def _tell(
        self,
        decision: Decision | int,
        weights: Any,
        said: Said = WEIGHTS_ALONE,
        *,
        closes: bool = False,
        is_trial: bool = False,
    ) -> None:
        """Count what the items of a decision were worth, or only raise what that raises.

        With `closes`, which is of a log, no more answers come to the other items.
        """
        if self._is_nothing(decision, weights, said):
            return
        play = self._find(decision)
        if not self._is_replaying:  # a log has weights, whatever was said
            check_said(self._answers, weights, said)
            if said.closes:
                check_takes(self._policy, "cascade")
        is_new = self._record is None and play.told is None and not self._n_changes and not is_trial
        if is_new and type(weights) in (np.ndarray, list) and not said.closes:
            # a whole answer to items that have the numbers they had, in fewer steps
            self._learn(play, self._reader.read_whole(weights, play.items[0]), None)
            return
        numbering = self._numbering(decision, play)
        if said.closes:
            positions, values, labels = read_said(self._reader, self._answers, weights, said, numbering)
        else:
            positions, values, labels = self._reader.read(weights, *numbering)
        self._check_once(play, positions)
        if is_trial:
            return
        closes |= said.closes
        if self._record is not None:
            if self._loop.may_refuse:
                self._check_taken(play, values, positions)
            if labels is None and not self._is_replaying:  # a log that has no labels is written as it is
                labels = play.note.names
            self._record(_events.told(play.request.episode, labels, values, closes))
        self._learn(play, values, positions)
        if closes and play.request.episode in self._loop.open:
            self._close([play], None, were_unseen=True)

    def _is_nothing(self, decision: Decision | int, weights: Any, said: Said = WEIGHTS_ALONE) -> bool:
        """Whether nothing is told of a decision that waits for nothing, such as one without items."""
        id = decision._id if isinstance(decision, Decision) and decision._learner == self._id else decision
        is_past = type(id) is int and 1 <= id <= self._episode and id not in self._agent.open
        if said.closes:
            return is_past and isinstance(decision, Decision) and not decision._items.size
        return is_past and isinstance(weights, (Sized, Mapping)) and len(weights) == 0

    def _numbering(self, decision: Decision | int, play: Play) -> tuple[Play, Decision | None, bool, bool]:
        """How an answer is read: a play, and whose numbers may be used besides labels, see `Reader.read`."""
        own = decision if self._n_changes and isinstance(decision, Decision) else None
        return play, own, play.request.episode <= self._changed_at, self._is_replaying

    def _default(self, default: Any) -> float | None:
        """The weight that stands for those that were not told; None to leave them unknown."""
        if isinstance(default, str) and default == "answers":
            return KINDS[self._answers or "all"].rest
        return read_rest(self._answers, self._reader.default(default))

    def _choose(
        self,
        asked: Wanted | None,
        tags: dict[str, Any] | None = None,
        taken: Logged | None = None,
    ) -> tuple[Request, IntArray, IntArray, bool]:
        """The next request, the set chosen for it with its size, and whether it was drawn at random."""
        t, constraint = self._episode + 1, self._constraint
        check_number(t)
        request = self._request_of(asked)
        if taken is not None:
            items = constraint.as_items([constraint.item(label) for label in taken.items])[None]
            return request, items, np.array([items.shape[1]]), taken.is_held_out
        if self._holdout.draws(self._stream, t, tags):
            if self._control is not None:
                return request, *_control.choose(self._control, asked), True
            u = self._stream.with_purpose(HOLDOUT).uniform(t, np.arange(constraint.n_items))
            u = u - 1.0 if constraint.cost_reason else u  # gains above 0 would all be alike
            mask = None if asked is None else asked.mask(constraint.n_items)
            items, sizes = constraint.solve(u, available=mask, pinned=request.pinned)
            return request, items[:, : sizes[0]], sizes, True
        return request, *self._agent.choose(request), False

    def _check_once(self, play: Play, positions: IntArray | None) -> None:
        """Raise when one of some positions of a play, or of all for None, was told before."""
        told = play.told
        if told is not None and (told.any() if positions is None else told[positions].any()):
            again = np.flatnonzero(told)[0] if positions is None else positions[told[positions]][0]
            raise DecisionClosedError(
                f"expected a weight once per item; item {self._reader.name_in(play, again)} of decision "
                f"{play.request.episode} was told before"
            )

    def _check_taken(self, play: Play, values: Any, positions: IntArray | None) -> None:
        """Raise what a policy that may refuse answers raises, before anything is recorded."""
        told = np.arange(play.items.size) if positions is None else positions
        is_here = play.items[0, told] >= 0
        if is_here.any() and play.is_counted:
            self._loop.check_learn(play, values[is_here], told[is_here])

    def _learn(self, play: Play, values: Any, positions: IntArray | None) -> None:
        """Count weights, those of items that have left where they are kept."""
        items = play.items[0]
        self._n_steps += 1
        self._reader.count(values)
        if self._control is not None and (of_control := _control.play_of(self, play)) is not None:
            self._control._learn(of_control, values, positions)
        if not play.is_counted:
            self._loop.dismiss(play, np.arange(items.size) if positions is None else positions)
            return
        if self._n_changes:  # before the first change no item can have left
            told = np.arange(items.size) if positions is None else positions
            is_here = items[told] >= 0
            if not is_here.all():
                self._learn_departed(play, values[~is_here], told[~is_here])
                positions, values = told[is_here], values[is_here]
        if positions is None or positions.size:
            self._loop.learn(play, values, positions)

    def _learn_departed(self, play: Play, values: Any, positions: IntArray) -> None:
        sign = -1.0 if self.minimize else 1.0
        state, episode, one = self._loop.state, play.request.episode, np.zeros(1, np.int64)
        self._loop.dismiss(play, positions)
        for position, value in zip(positions.tolist(), values.tolist(), strict=True):
            code = int(play.items[0, position])
            if self._departed.knows(code):
                features = None if play.features is None else play.features[position : position + 1]
                # no number addresses its random numbers: it has those of a run of its own, as run 0 is all others'
                stream = Stream(self._stream.seed, [1 + position], POLICY)
                kept = None if play.kept is None else play.kept[position : position + 1]
                if kept is None and self._policy.n_kept:
                    kept = self._loop.nothing_kept(1)
                places = None if play.places is None else play.places[position : position + 1]
                gain = np.array([sign * value])
                told = Feedback(one, one, gain, episode, stream, features, kept=kept, places=places)
                self._departed.answer(code, told, state, self._policy)

    def _close(self, plays: list[Play], default: float | None, were_unseen: bool = False) -> None:
        """Stop waiting for the rest of some plays, which counts as `default`, is lost, or was not looked at."""
        dropped = []
        self._n_steps += 1
        for play in plays:
            positions = play.untold()
            if default is not None:
                self._learn(play, np.full(positions.size, default), positions)
                continue
            if (of_control := _control.play_of(self, play)) is not None:
                self._control._close([of_control], None, were_unseen)  # type: ignore[union-attr]
            if not play.is_counted:
                self._loop.dismiss(play, positions)
                continue
            items = play.items[0, positions]
            is_here = items >= 0
            for code in items[~is_here].tolist():
                if self._departed.knows(code):
                    self._departed.drop(code, play.request.episode, self._loop.state, self._policy, were_unseen)
            if is_here.all():
                dropped.append((play, positions))
            else:
                self._loop.dismiss(play, positions[~is_here])
                dropped.append((play, positions[is_here]))
        self._loop.close(dropped, were_unseen)
        for play in plays:
            self._loop.open.pop(play.request.episode, None)

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
        raise DecisionClosedError(f"decision {number} was told all its weights already, or closed, or has no items")

    def _decision(self, id: int, play: Play) -> Decision:
        """An open play as a decision, of items that are still there."""
        asked: Asked = play.note
        pinned = None
        if asked.wanted is not None and asked.wanted.pinned.size:
            pinned = asked.now(asked.wanted.pinned, self._constraint)
        items, places = play.items[0], play.places
        if self._n_changes:
            kept = np.argsort(items)[np.count_nonzero(items < 0) :]
            items, places = items[kept], None if places is None else places[kept]
        return Decision(id, items, self._constraint, self._id, pinned, asked.is_held_out, asked.tags, places)

    def _read_wanted(self, wanted: Mapping[str, Any], features: Any) -> Wanted | None:
        unknown = wanted.get("unknown", RAISE)
        if unknown == IGNORE:
            wanted, _ = without_unknown(self._constraint, wanted)
        elif unknown != RAISE:
            raise ItemError(f'expected unknown to be "raise" or "ignore", got {shown(unknown)}')
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
        code, key = self._departed.code(key), plain(key)
        is_number = code is not None and type(key) is int and 0 <= key < self._constraint.n_items
        if is_number and not self._is_replaying:
            raise ItemError(
                f"expected one item, got {key}, which is the label of an item that has left and the number of item "
                f"{self._constraint.labels[key]!r}"
            )
        return code

    def __copy__(self) -> Learner:
        """A learner of its own: two that share what they know would both be wrong."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        if self._plain is not None:
            self._plain.settle()
        state = self.__dict__ | {"_record": None, "_plain": None}
        del state["_lock"], state["_changes"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        give_locks(self)
        self._bind()

    def __repr__(self) -> str:
        return (
            f"Learner({self.constraint!r}, {self.policy!r}, {self.n_decisions} decisions, "
            f"{self.n_outstanding} outstanding)"
        )
