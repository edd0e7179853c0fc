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
    holdout : float or Holdout, default 0.0
        Probability with which a request is answered by a random set instead; the decision says so, and its event has
        the set that would have been chosen. Later evaluation rests on such decisions. A `Holdout` may be sticky by
        the value of a tag.
    max_departed : int, default 100000
        How many items that have left are remembered, in case they return or are told of late.
    engine : str or class, default "auto"
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

        The set is the best of what is available given what is pinned, and smaller than others only where the request
        leaves less.

        Parameters
        ----------
        available : items, labels or a mask, optional
            Which items may be chosen; by default all.
        exclude : items or labels
            Who may not be chosen.
        pinned : items or labels
            Who must be chosen. They count as available, and are observed like the others.
        features : array_like (L, d), or mapping of item or label to row, optional
            What is known of every item in this request, for policies that use it.
        tags : mapping of str to JSON, optional
            What the request says of itself (visitor, page, segment), at most 1,024 characters; the decision and its
            event carry it. No choice depends on it, but a `Holdout` may.
        unknown : "raise" or "ignore", default "raise"
            What to do about labels in `available` and `exclude` of items that are not there, as where a list is older
            than the last `change`. Those that are ignored are counted, see `n_unknown`. Pins must be there.

        Raises
        ------
        MalformedRequestError
            The tags are no small JSON object.
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
            An item of it has been told already, or the decision was closed.
        FeedbackError
            The weights do not fit the items, or are not numbers the policy can take.
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
            self._core.close(decision, default)

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
            For policies made with features: those of the newcomers; items that are known keep theirs, so that a row
            given for one must be the row that it has.
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

        Plays, gains, priors, decisions that wait and items that have left carry over. A policy that keeps more than
        those makes it from them: Thompson sampling takes the total of the gains for successes, a policy that fades
        counts all that was seen as if it were seen now, a detector begins anew. Where only arguments differ on which
        nothing that is kept depends, such as the ``scale`` of `SlidingWindowOMM`, everything carries over.

        Parameters
        ----------
        policy : Policy, optional
            How to choose from now on.
        holdout : float or Holdout, optional
            Which share of the requests is answered by a random set from now on.
        restart : bool, default False
            Forget what was learnt. Decisions that wait can still be told, and are not counted.

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
        """Return an upper bound on how much a better set could beat the one `ask` would choose, by the policy's
        measure.

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
            Take the set of best lower confidence bounds instead, which hold together but for a chance of this: means
            of few plays may be lucky. (CLCB: Liu et al., ICML 2025; on 50 items with 1 to 1,000 plays each it lost
            0.33 where the best means lost 0.79.) Priors do not count.
        deviation : float, default 0.5
            The standard deviation of a weight, or what bounds its tails as one; 0.5 for weights in [0, 1].

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

        Whole answered plays count, those before the first decision included, and a default that closed a decision
        counts as if it were told; priors and plays that wait do not. `restart` starts the evidence anew. Every
        catalogue of items, the first and one more after each `change` or `restart`, spends 6 / (pi^2 n^2) of delta,
        the n-th of them, so that the chance of an error in any of them is at most delta: for items that do not arrive
        because of what was told; which items leave, and when one looks, may depend on it.

        Parameters
        ----------
        weights, deviation, tolerance, independent, threshold
            As of a `StoppingRule`; the law of the weights is given by one of the first two.
        delta : float, default 0.05
            Of the margins that are listed.
        n_margins : int or None, default 20
            How many of them, the closest calls first; None for all.

        Raises
        ------
        StoppingError
            The constraint is no matroid; the policy forgets, or one that did was at work; weights depend on features
            of requests; or a weight was told that is outside the law.

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
            An outstanding decision: its set, its request and its own features, with what is believed today. The
            explanation says what is no longer known of it, as after a `change` of the items.
        sure : StoppingRule, optional
            The explanation also says how sure the best set is, with the margins of the exchanges of this item.
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
            Needed when they could not be stored: an `OracleMatroid`, a policy whose arguments are not known. They
            must be those that the learner was saved with.
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
