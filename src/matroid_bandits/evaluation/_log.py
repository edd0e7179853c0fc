"""Logs of learners as tables: what was decided, by which law, and what came of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.extras import missing, pandas_for
from matroid_bandits._util.names import decode, encode
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.evaluation._sources import read_forms
from matroid_bandits.evaluation._windows import control_key
from matroid_bandits.exceptions import EvaluationError, LogWarning, MatroidBanditsError
from matroid_bandits.learner import KINDS, Answers, Holdout, Learner
from matroid_bandits.policies import Policy, policy_from_dict

if TYPE_CHECKING:
    import pandas


#: Events that happen to a learner; others are the service's own.
LEARNERS_OWN = frozenset(("observed", "asked", "told", "closed", "changed", "configured", "restarted"))


class Event(NamedTuple):
    """One event of a log.

    Attributes
    ----------
    number : int
        Its place in the log, from 1 on.
    at : float
        When it happened, in seconds since 1970; NaN in the log of a learner, which has no clock.
    kind : str
        "created", "asked", "told", "closed", "changed" and so on.
    form : mapping
        The event itself, as it was logged.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), record=events.append)
    >>> mb.read_log(events).events[0].kind
    'created'
    """

    number: int
    at: float
    kind: str
    form: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class LoggedDecision:
    """A logged decision: the request, the chosen items, and their feedback.

    Attributes
    ----------
    id : int
        Its number.
    asked_at : float
        When it was made; NaN where the log has no clock.
    constraint : Constraint
        Which sets were allowed at that time; all numbers of items are this constraint's.
    items : int64 array (K,)
        The set that was played.
    learner_items : int64 array, or None
        The set that the learner would have played, or did; None of a held-out decision of an early log.
    is_held_out : bool
        Whether the set was drawn at random.
    share : float
        The share of decisions held out that was in force.
    control : Policy, or None
        What answered decisions that were held out; None for random sets.
    available : bool array (L,), or None
        The items that might be chosen; None for all.
    pinned : int64 array
        The items that had to be.
    features : nested list, or None
        What was known of every item.
    tags : mapping
        What the caller said about the request.
    weights : float64 array (K,)
        What each item was worth; NaN while it is not known.
    told_at : float64 array (K,)
        When that was said.
    is_default : bool array (K,)
        Whether it is the default of a decision that was closed.
    is_closed : bool
        Whether no more answers will come.
    settled_by : int
        The number of the event that answered the last item or closed the decision, or, where answers are clicks and
        windows end, that ended its window; 0 while it waits.
    places : int64 array (K,), or None
        The place at which each item was shown, 0 for the top; None where the set was not shown as a list.
    answers : str
        What answers told of; see `Learner`.
    has_stopped : bool
        Whether the last answer said what people looked at, so that items without a weight were not.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM(), record=events.append)
    >>> learner.close(learner.ask(), default=0.0)
    >>> decision = mb.read_log(events).decisions[0]
    >>> decision.labels, decision.weights, decision.is_settled
    (['a'], array([0.]), True)
    """

    id: int
    asked_at: float
    constraint: Constraint
    items: IntArray
    learner_items: IntArray | None
    is_held_out: bool
    share: float
    control: Policy | None
    available: BoolArray | None
    pinned: IntArray
    features: Any
    tags: Mapping[str, Any]
    weights: FloatArray
    told_at: FloatArray
    is_default: BoolArray
    is_closed: bool = False
    settled_by: int = 0
    places: IntArray | None = None
    answers: Answers = "all"
    has_stopped: bool = False

    @property
    def labels(self) -> list[Label]:
        """Labels of the played items."""
        labels = self.constraint.labels
        return [labels[e] for e in self.items.tolist()]

    @property
    def is_answered(self) -> bool:
        """Whether the weight of every item is known."""
        return not np.isnan(self.weights).any()

    @property
    def order(self) -> list[Label] | None:
        """Labels of the played items from the top of the list to its end; None where the set was not shown as one."""
        if self.places is None:
            return None
        labels = self.labels
        return [labels[k] for k in np.argsort(self.places).tolist()]

    @property
    def is_settled(self) -> bool:
        """Whether no more feedback can arrive, and its window has ended where answers are clicks.

        Clicks come early: without the windows, decisions with clicks on all items would count before the others.
        """
        return self.settled_by > 0

    @property
    def is_counted(self) -> bool:
        """Whether it is settled with an answer that says what it was worth: whole, or closed with a part of it."""
        return self.is_settled and not isnan(self.value)

    @property
    def value(self) -> float:
        """Worth of the decision, as far as it is known: the sum of its weights, with "first-click" 1 for a click.

        With "first-failure" it is 1 where all items have worked, 0 where one has failed. NaN where it is not known.
        """
        n_told = self.weights.size - int(np.isnan(self.weights).sum())
        return KINDS[self.answers].worth(float(np.nansum(self.weights)), n_told, self.weights.size)


@dataclass(eq=False)
class Log:
    """Log of a learner or a campaign as a table of decisions and their feedback; made by `read_log`.

    Attributes
    ----------
    events : list of Event
        All entries, in order.
    decisions : list of LoggedDecision
        The decisions, in order.
    policy, holdout : Policy, Holdout
        The settings at the end.
    minimize : bool
        Whether weights are costs.
    steps : list of (int, LoggedDecision, int array or None)
        Decisions (None) and answers to the given places of one, in the order in which they happened, each with the
        number of its event.
    settings : list of (Event, Holdout, str or None)
        The events that gave settings, the hold-out from then on, and what tells its control from another.
    may_sample : bool
        Whether a policy of the log draws random numbers.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), record=events.append)
    >>> mb.read_log(events)
    Log(n_events=1, n_decisions=0, n_held_out=0)
    """

    events: list[Event] = field(default_factory=list)
    decisions: list[LoggedDecision] = field(default_factory=list)
    steps: list[tuple[int, LoggedDecision, IntArray | None]] = field(default_factory=list)
    minimize: bool = False
    settings: list[tuple[Event, Holdout, str | None]] = field(default_factory=list)
    may_sample: bool = False
    holdout: Holdout = field(default_factory=Holdout)
    _open: dict[int, LoggedDecision] = field(default_factory=dict)
    _early: dict[int, LoggedDecision] = field(default_factory=dict)  # told whole, before their windows have ended
    _has_windows: bool = False
    _answers: Answers | None = None  # None where the log does not say
    _forgotten: list[tuple[int, set[Label]]] = field(default_factory=list)
    _constraint: Constraint | None = None
    _policy: Policy | None = None

    @property
    def constraint(self) -> Constraint:
        """The constraint after the last event."""
        if self._constraint is None:
            raise EvaluationError("expected a log that begins with a created event, got an empty one")
        return self._constraint

    @property
    def policy(self) -> Policy:
        """The policy after the last event."""
        if self._policy is None:
            raise EvaluationError("expected a log that begins with a created event, got an empty one")
        return self._policy

    def __repr__(self) -> str:
        n_held_out = sum(each.is_held_out for each in self.decisions)
        return f"Log(n_events={len(self.events)}, n_decisions={len(self.decisions)}, n_held_out={n_held_out})"

    def frame(self, *, propensity: bool = True) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row per decision and item.

        Columns are decision, item, asked_at, told_at, weight, source ("told", "default", "waiting", "unseen" where
        people did not look at it, or "lost" where the decision was closed without it), place (from 0 at the top on;
        no column where no set was shown as a list), held_out, control (what answers decisions that are held out),
        share (of those, in force at that time), tags and propensity, the chance that the played set contained the
        item; False leaves that one out, which takes draws where a policy samples and under some constraints. Times
        are UTC.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> events = []
        >>> learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(), seed=0, record=events.append)
        >>> learner.tell(learner.ask(), {"a": 1.0})
        >>> mb.read_log(events).frame()[["decision", "item", "weight", "source"]].values.tolist()
        [[1, 'a', 1.0, 'told'], [1, 'b', nan, 'waiting']]
        """
        pd = pandas_for("frame")

        sizes = [each.items.size for each in self.decisions]

        def column(values: Iterable[Any]) -> Any:
            return np.repeat(np.array([*values]), sizes) if self.decisions else np.empty(0)

        def joined(name: str) -> Any:
            return np.concatenate([getattr(each, name) for each in self.decisions]) if self.decisions else np.empty(0)

        weights, is_default = joined("weights"), joined("is_default").astype(bool)
        tags = np.empty(len(self.decisions), object)
        tags[:] = [dict(each.tags) or None for each in self.decisions]
        is_closed, is_unseen = (
            column(getattr(each, name) for each in self.decisions).astype(bool)
            for name in ("is_closed", "has_stopped")
        )
        frame = pd.DataFrame(
            {
                "decision": column(each.id for each in self.decisions).astype(np.int64),
                "item": pd.Series([label for each in self.decisions for label in each.labels], dtype=object),
                "asked_at": pd.to_datetime(column(each.asked_at for each in self.decisions), unit="s", utc=True),
                "told_at": pd.to_datetime(joined("told_at"), unit="s", utc=True),
                "weight": weights.astype(np.float64),
                "source": np.select(
                    [is_default, ~np.isnan(weights), is_unseen, is_closed],
                    ["default", "told", "unseen", "lost"],
                    "waiting",
                ),
                "held_out": column(each.is_held_out for each in self.decisions).astype(bool),
                "control": column(
                    "random" if each.control is None else repr(each.control) for each in self.decisions
                ).astype(object),
                "share": column(each.share for each in self.decisions).astype(np.float64),
                "tags": np.repeat(tags, sizes),
            }
        )
        if any(each.places is not None for each in self.decisions):
            none = (np.full(size, -1) for size in sizes)
            places = [
                own if each.places is None else each.places for each, own in zip(self.decisions, none, strict=True)
            ]
            place = pd.Series(np.concatenate(places), dtype="Int64")
            frame.insert(6, "place", place.mask(place < 0))
        if propensity:
            from matroid_bandits.evaluation._laws import propensities  # which know logs

            frame["propensity"] = np.concatenate([np.empty(0), *propensities(self)])
        return frame

    def to_parquet(self, file: Any, *, propensity: bool = True) -> None:
        """Write `frame` as a Parquet file, to a path or a binary file; needs the extra ``parquet``.

        Labels that are not all text or all numbers are written as JSON, and so are tags.

        Raises
        ------
        MissingDependencyError
            pyarrow is not installed.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise missing("Parquet needs pyarrow", "parquet") from error
        frame = self.frame(propensity=propensity)
        kinds = {type(label) for label in frame["item"]}
        if kinds not in ({str}, {int}):
            frame["item"] = [json.dumps(encode(label, "label")) for label in frame["item"]]
        frame["tags"] = [None if tags is None else json.dumps(tags) for tags in frame["tags"]]
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), file)

    def learner(self, until: int | None = None) -> Learner:
        """Return the learner as it was after an event, by default the last; logged decisions are trusted.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> events = []
        >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), seed=0, record=events.append)
        >>> learner.tell(learner.ask(), [1.0])
        >>> log = mb.read_log(events)
        >>> log.learner().n_decisions, log.learner(until=1).n_decisions
        (1, 0)
        """
        last = len(self.events)
        until = last if until is None else as_integer("event", until, 1, last, error=EvaluationError)
        learner = Learner.replay([self.events[0].form])
        for event in self.events[1:until]:
            if event.kind in LEARNERS_OWN:
                learner.apply(event.form, trust=True)
        return learner

    def append(self, event: Event) -> None:
        """Add the next event."""
        self.events.append(event)
        form = event.form
        if event.kind != "created" and self._constraint is None:
            hint = "; earlier ones may be in an archive, to be given with archive=" if form.get("seq", 1) > 1 else ""
            raise EvaluationError(f"expected a created event first, got {event.kind!r}{hint}")
        if event.kind == "created":
            self._constraint = constraint_from_dict(form["constraint"])
            self.minimize = form["minimize"]
            self._configure(event)
        elif event.kind == "changed":
            before, self._constraint = self.constraint, constraint_from_dict(form["constraint"])
            left = {*before.labels}.difference(self._constraint.labels)  # which may be forgotten later
            self._forgotten.append((len(self.decisions), left.union(map(decode, form["forget"]))))
        elif event.kind == "configured":
            self._configure(event)
            if form["restart"]:
                self._forgotten.append((len(self.decisions), {*self.constraint.labels}))
        elif event.kind == "restarted":
            items = self.constraint.labels if form["items"] is None else map(decode, form["items"])
            self._forgotten.append((len(self.decisions), {*items}))
        elif event.kind == "asked":
            self._ask(event)
        elif event.kind == "told":
            self._tell(event)
        elif event.kind == "closed":
            self._close(event)

    def _configure(self, event: Event) -> None:
        form = event.form
        self._policy, self.holdout = policy_from_dict(form["policy"]), Holdout.of(form["holdout"])
        self.settings.append((event, self.holdout, control_key(self.holdout.control, self.constraint)))
        self.may_sample |= self._policy.samples
        self._answers = form.get("answers")

    def _ask(self, event: Event) -> None:
        form, constraint = event.form, self.constraint

        def numbers(key: str) -> IntArray:
            return np.array([constraint.item(decode(label)) for label in form.get(key, ())], np.int64)

        mask = None
        if "available" in form or "exclude" in form:
            mask = np.full(constraint.n_items, "available" not in form)
            mask[numbers("available")] = True
            mask[numbers("exclude")] = False
            mask[numbers("pinned")] = True
        items, is_held_out = numbers("items"), bool(form.get("held_out"))
        learner_items: IntArray | None = items
        if is_held_out:
            learner_items = numbers("instead") if "instead" in form else None
        decision = LoggedDecision(
            form["decision"],
            event.at,
            constraint,
            items,
            learner_items,
            is_held_out,
            self.holdout.share,
            self.holdout.control,
            mask,
            numbers("pinned"),
            form.get("features"),
            form.get("tags") or {},
            np.full(items.size, np.nan),
            np.full(items.size, np.nan),
            np.zeros(items.size, bool),
            answers=self._answers or "all",
        )
        if "order" in form:
            rank = {e: place for place, e in enumerate(numbers("order").tolist())}
            decision.places = np.array([rank[e] for e in items.tolist()], np.int64)
        self.decisions.append(decision)
        if items.size:
            self._open[decision.id] = decision
        else:  # settled at once, worth 0
            decision.settled_by = event.number
        self.steps.append((event.number, decision, None))

    def _tell(self, event: Event) -> None:
        if self._is_empty(event.form["decision"]):
            return
        decision, weights = self._open[event.form["decision"]], event.form["weights"]
        if not weights or isinstance(weights[0], list):
            position_of = {label: k for k, label in enumerate(decision.labels)}
            told = [(position_of.get(decode(label)), weight) for label, weight in weights]
            if any(position is None for position, _ in told):  # of version 0.2.0, which took them after a restart
                named = next(label for label, (position, _) in zip(weights, told, strict=True) if position is None)[0]
                warnings.warn(
                    f"event {event.number} of the log tells {named!r}, which is no item of decision {decision.id}: "
                    "that answer is left out",
                    LogWarning,
                    stacklevel=4,
                )
                told = [(position, weight) for position, weight in told if position is not None]
            positions = np.array([position for position, _ in told], np.int64)
            values = np.array([weight for _, weight in told], np.float64)
        else:
            positions, values = np.arange(len(weights)), np.array(weights, np.float64)
            if not self._is_in_order(decision, values):
                warnings.warn(
                    f"event {event.number} of the log has the weights of decision {decision.id} without labels, as "
                    "version 0.2.0 wrote some of them after a restart: they are read in the order of the decision's "
                    "items, and that of those which were forgotten may be another",
                    LogWarning,
                    stacklevel=4,
                )
        self._answer(event, decision, positions, values, is_default=False)
        decision.has_stopped = event.form.get("closes", False)
        if decision.is_answered or decision.has_stopped:
            decision.is_closed = decision.has_stopped
            del self._open[decision.id]
            if self._may_have_windows:
                self._early[decision.id] = decision
            if not (self._may_have_windows and self._has_windows):
                decision.settled_by = event.number

    @property
    def _may_have_windows(self) -> bool:
        """Whether a decision may count only when its window ends, which gives the rest its weight."""
        return self._answers is None or KINDS[self._answers].rest is not None

    def _is_empty(self, id: int) -> bool:
        """Whether a decision has no items, so that nothing waits for it; logs of version 0.2.0 answer such ones."""
        return id not in self._open and 0 < id <= len(self.decisions) and not self.decisions[id - 1].items.size

    def _is_in_order(self, decision: LoggedDecision, values: FloatArray) -> bool:
        """Whether a list of weights is that of the decision's items; of forgotten ones the order is not known."""
        lost = set[Label]().union(*(labels for last, labels in self._forgotten if last >= decision.id))
        unsure = {value for label, value in zip(decision.labels, values.tolist(), strict=True) if label in lost}
        return len(unsure) < 2

    def _close(self, event: Event) -> None:
        form = event.form
        if "before" not in form and self._is_empty(form["decision"]):
            return
        ids = [form["decision"]] if "before" not in form else [id for id in self._open if id < form["before"]]
        if "before" in form:
            self._end_windows(event)
        for id in ids:
            decision = self._open.pop(id)
            decision.is_closed, decision.settled_by = True, event.number
            missing = np.flatnonzero(np.isnan(decision.weights))
            if form["default"] is not None and missing.size:
                self._answer(event, decision, missing, form["default"], is_default=True)

    def _end_windows(self, event: Event) -> None:
        """Let decisions count that were told whole and whose windows have ended; others wait for theirs."""
        if not self._has_windows and self._may_have_windows and event.form["default"] == 0.0:
            self._has_windows = True
            for early in self._early.values():
                early.settled_by = 0
        for id in [id for id in self._early if id < event.form["before"]]:
            early = self._early.pop(id)
            early.settled_by = early.settled_by or event.number

    def _answer(
        self,
        event: Event,
        decision: LoggedDecision,
        positions: IntArray,
        values: FloatArray | float,
        *,
        is_default: bool,
    ) -> None:
        decision.answers = self._answers or "all"
        decision.weights[positions] = values
        decision.told_at[positions] = event.at
        decision.is_default[positions] = is_default
        self.steps.append((event.number, decision, positions))


def read_log(source: Any, archive: str | PathLike[str] | None = None) -> Log:
    """Read a log of events (a file, an archive folder, an iterable or a client) as a table of decisions.

    Parameters
    ----------
    source : path, iterable or Client
        A file of JSON Lines, as ``campaign export`` and ``campaign backup`` write it (one campaign), or a log that
        ``Learner(record=...)`` wrote, a line per event; ``.gz`` is unpacked. A folder of archives, as
        ``serve --archive`` writes them, of one campaign. An iterable of events or lines, such as what
        `service.export_campaign` gives of a database. Or a `Client`, which fetches the log from its server.
    archive : path, optional
        The folder of archives with the events before those of the source.

    Returns
    -------
    Log

    Raises
    ------
    EvaluationError
        The source is no log, its first events are missing, or an event in it is malformed.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> matroid = mb.UniformMatroid(3, 2, labels="abc")
    >>> learner = mb.Learner(matroid, mb.OMM(), seed=0, holdout=0.5, record=events.append)
    >>> for _ in range(4):
    ...     learner.tell(learner.ask(), [1.0, 0.0])
    >>> mb.read_log(events)
    Log(n_events=9, n_decisions=4, n_held_out=3)
    """
    log = Log()
    number = 0
    for number, form in enumerate(read_forms(source, archive), 1):
        try:
            at = form.get("at")
            log.append(Event(number, float("nan") if at is None else float(at), form["event"], form))
        except MatroidBanditsError as error:
            raise EvaluationError(f"event {number} of the log: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EvaluationError(f"event {number} of the log is malformed: {error!r}") from error
    if number == 0:
        raise EvaluationError("expected a log that begins with a created event, got an empty one")
    return log
