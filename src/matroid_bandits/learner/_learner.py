"""A live learner: ask for a set, tell what its items were worth, never lose what was learnt."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Literal, Self

from matroid_bandits._typing import ArrayLike, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT, as_integer, as_number
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import PolicyError, StoppingError
from matroid_bandits.identification import Confidence, StoppingRule, Threshold, as_delta
from matroid_bandits.learner import _beliefs, _confidence, _events, _snapshot
from matroid_bandits.learner._book import Book
from matroid_bandits.learner._core import Core, Record
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._explanation import BestSet, Estimates, Explanation
from matroid_bandits.learner._holdout import Holdout, read_tags
from matroid_bandits.learner._validate import MOST_DECISIONS
from matroid_bandits.learner._wanted import RAISE
from matroid_bandits.learner._warm import warm_up
from matroid_bandits.policies import Policy

#: What `ask` is given where nothing is asked for besides a set.
_NOTHING: tuple[Any, ...] = ()
_PLAIN: dict[str, Any] = {}


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
        max_departed: int = 100_000,
        engine: EngineChoice = "auto",
        record: Record | None = None,
    ) -> None:
        self._core = Core(
            constraint,
            policy,
            minimize=minimize,
            seed=seed,
            id=id,
            priors=priors,
            features=features,
            holdout=holdout,
            max_departed=max_departed,
            engine=engine,
            record=record,
        )
        self._lock = threading.RLock()

    @property
    def constraint(self) -> Constraint:
        """The constraint, which says which sets may be chosen."""
        return self._core.constraint

    @property
    def policy(self) -> Policy:
        """The policy that chooses sets."""
        return self._core.policy

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._core.minimize

    @property
    def seed(self) -> int:
        """The seed of the policy's random choices."""
        return self._core.seed

    @property
    def id(self) -> str:
        """Identifier of the learner, which its decisions carry."""
        return self._core.id

    @property
    def holdout(self) -> Holdout:
        """Settings of the hold-out: the share of requests answered by a random set."""
        return self._core.holdout

    @property
    def max_departed(self) -> int:
        """Maximum number of removed items whose statistics are kept."""
        return self._core.max_departed

    @property
    def n_decisions(self) -> int:
        """Number of decisions made."""
        return self._core.episode

    @property
    def n_outstanding(self) -> int:
        """Number of decisions that still wait for weights."""
        return len(self._core.agent.open)

    @property
    def n_steps(self) -> int:
        """Counter of state changes; a call that failed and left it the same changed nothing."""
        return self._core.n_steps

    @property
    def n_unknown(self) -> int:
        """Number of unknown item labels that `ask` has ignored since the learner was made or loaded."""
        return self._core.n_unknown

    @property
    def record(self) -> Record | None:
        """Callback that receives every event before it is applied; None for none."""
        return self._core.record

    @record.setter
    def record(self, record: Record | None) -> None:
        with self._lock:
            self._core.record = record

    @property
    def alarms(self) -> tuple[IntArray, IntArray] | None:
        """Number of resets of each item by a change detector, and the decision after which the last one happened.

        Both are of shape (L,); the decision is 0 for none. None where the policy has no detector, see `Restarting`.
        """
        with self._lock:
            return self._core.alarms()

    @property
    def outstanding(self) -> tuple[Decision, ...]:
        """Decisions that still wait for weights of current items, oldest first."""
        with self._lock:
            return self._core.outstanding()

    @property
    def book(self) -> Book:
        """The pending decisions by number, and the time each was asked for."""
        return Book(self._core, self._lock)

    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
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

        Raises
        ------
        MalformedRequestError
            The tags are not a small JSON object.
        ItemError
            An item is unknown or named twice, is both pinned and excluded, or the pinned items cannot be chosen
            together.
        PolicyError
            The policy takes no features, or needs them.
        """
        is_plain = available is None and exclude is _NOTHING and pinned is _NOTHING
        wanted = _PLAIN
        if not is_plain or unknown != RAISE:
            wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
        with self._lock:
            return self._core.ask(wanted, features, tags)

    def preview(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
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
        with self._lock:
            wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
            return self._core.preview(wanted, features, tags)

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
        with self._lock:
            wanted = {"available": available, "exclude": exclude, "pinned": pinned}
            return self._core.redraws(wanted, features, as_integer("n", n, 1, error=PolicyError), is_control)

    def tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Record the observed weights of a decision's items.

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
            The weight of an item was already told, or the decision was closed.
        FeedbackError
            The weights do not fit the items, or the policy does not accept them.
        """
        with self._lock:
            self._core.tell(decision, weights)

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

    def check_ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        exclude: Iterable[Any] = (),
        pinned: Iterable[Any] = (),
        features: ArrayLike | Mapping[Any, ArrayLike] | None = None,
        tags: Mapping[str, Any] | None = None,
        unknown: Literal["raise", "ignore"] = "raise",
    ) -> None:
        """Raise the error that `ask` would raise for the same request, without changing the learner."""
        read_tags(tags)
        with self._lock:
            wanted = {"available": available, "exclude": exclude, "pinned": pinned, "unknown": unknown}
            self._core.read_wanted(wanted, features)

    def check_tell(self, decision: Decision | int, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Raise the error that `tell` would raise for the same arguments, without changing the learner."""
        with self._lock:
            self._core.check_tell(decision, weights)

    def close(self, decision: Decision | int, default: float | None = None) -> None:
        """Stop waiting for the missing weights of a decision.

        Parameters
        ----------
        decision : Decision or int
            The decision or its id.
        default : float, optional
            The weight that counts for every item without feedback; without a default, these plays are dropped.

        Raises
        ------
        UnknownDecisionError
            No such decision was made by this learner.
        DecisionClosedError
            All weights of the decision were already told, or it was closed.
        FeedbackError
            The policy does not accept the default as a weight.
        """
        with self._lock:
            self._core.close(decision, default)

    def close_before(self, episode: int, default: float | None = None) -> int:
        """Close every outstanding decision made before an episode, in one event.

        Parameters
        ----------
        episode : int
            The first episode whose decision stays open.
        default : float, optional
            The weight that counts for every item without feedback; without a default, these plays are dropped.

        Returns
        -------
        int
            How many decisions were closed.
        """
        with self._lock:
            return self._core.close_before(episode, default)

    def observe(self, weights: ArrayLike | Mapping[Any, float]) -> None:
        """Record weights observed before the first decision, for every item or for those in a mapping."""
        with self._lock:
            self._core.observe(weights)

    def change(
        self,
        constraint: Constraint,
        *,
        priors: Mapping[Any, tuple[float, float]] | str | None = None,
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
        priors : mapping of newcomer to (mean weight, plays), or "typical", optional
            Priors of new items. "typical" gives each the median of the known items' means and plays, so that many new
            items do not fill whole sets. Without a prior, new items are played first.
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
        with self._lock:
            self._core.change(constraint, priors=priors, features=features, forget=forget)

    def change_form(self, constraint: Constraint, *, priors: Any, features: Any, forget: Any) -> dict[str, Any]:
        """Return the event that `change` would record for the same arguments, without changing the learner.

        A service applies it as it will be read from a log, so that what was written can be read.
        """
        with self._lock:
            return self._core.change_form(constraint, priors=priors, features=features, forget=forget)

    def configure(
        self,
        *,
        policy: Policy | None = None,
        holdout: float | Holdout | None = None,
        restart: bool = False,
    ) -> None:
        """Change the policy or the hold-out; settings that are not given and past observations stay.

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
        with self._lock:
            self._core.configure(policy, holdout, restart)

    def configure_form(self, *, policy: Any = None, holdout: Any = None, restart: bool = False) -> dict[str, Any]:
        """Return the event that `configure` would record for the same arguments, without changing the learner."""
        with self._lock:
            return self._core.configure_form(policy, holdout, restart)

    def restart(self, items: Iterable[Any] | None = None) -> None:
        """Discard the statistics of some items (numbers or labels), or of all; the episode count continues.

        Answers to what was asked before are still taken, and not counted. All items are those that have left, too.
        """
        with self._lock:
            self._core.restart(items)

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
        with self._lock:
            return self._core.apply(event, trust)

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
        core = _events.from_created(Core, next(iterator, {}), engine, record)
        for event in iterator:
            core.apply(event, trust)
        return cls._of(core)

    def estimates(self, *, features: ArrayLike | Mapping[Any, ArrayLike] | None = None) -> Estimates:
        """Return the current estimates of each item, in the units of the weights."""
        with self._lock:
            return _beliefs.estimates(self._core, self._core.next_request(features))

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
        with self._lock:
            core = self._core
            wanted = core.read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
            core.agent.settle()
            gaps = core.policy.gaps(core.agent.state, core.request_of(wanted))
            return 0.0 if gaps is None else float(gaps[0])

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
        with self._lock:
            return _beliefs.best_basis(self._core, pessimism, deviation)

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
        with self._lock:
            return _confidence.confidence(self._core, rule, as_delta(delta), n_margins)

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
        found = self.confidence(
            weights=weights,
            deviation=deviation,
            tolerance=tolerance,
            independent=independent,
            threshold=threshold,
            n_margins=1,
        )
        return found.is_sure(delta)

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
        with self._lock:
            core = self._core
            e = core.item(item)
            if decision is not None:
                found = _beliefs.explain_decision(core, e, core.find(decision), features)
            else:
                wanted = core.read_wanted({"available": available, "exclude": exclude, "pinned": pinned}, features)
                found = _beliefs.explain(core, e, core.next_request(features), wanted)
            if sure is None:
                return found
            delta = 0.05 if sure.delta is None else sure.delta
            return replace(found, confidence=_confidence.confidence(core, sure, delta, None, of=e))

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
            _snapshot.save(self._core, path)

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
        with self._lock, other._lock:
            return _snapshot.is_same_state(self._core, other._core)

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
        core = _snapshot.load(path, constraint, policy, engine)
        core.record = record
        return cls._of(core)

    @classmethod
    def _of(cls, core: Core) -> Self:
        """The face of a state."""
        learner = cls.__new__(cls)
        learner._core, learner._lock = core, threading.RLock()
        return learner

    def __copy__(self) -> Learner:
        """A learner of its own: two that share what they know would both be wrong."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"_core": self._core}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._core, self._lock = state["_core"], threading.RLock()

    def __repr__(self) -> str:
        return (
            f"Learner({self.constraint!r}, {self.policy!r}, {self.n_decisions} decisions, "
            f"{self.n_outstanding} outstanding)"
        )
