"""A campaign's learner in memory, as far as its log has been read, and what the log says besides."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json, to_json

from matroid_bandits._typing import Label
from matroid_bandits._util.names import decode
from matroid_bandits._util.text import printable, shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import MatroidBanditsError, ReplayError
from matroid_bandits.learner import KINDS, Answers, Learner, Untold
from matroid_bandits.policies import Spending, scale_problem
from matroid_bandits.service._history import ASKED, CLOSED, EXPIRED, HELD_OUT, TOLD, History
from matroid_bandits.service._store import EventRow, chained
from matroid_bandits.service._uplift import Uplift
from matroid_bandits.service._words import Rule, rule_of
from matroid_bandits.specs import read_answers

log = logging.getLogger("matroid_bandits.service")

#: Events of the service itself, which do not happen to the learner.
OWN_EVENTS = frozenset(("paused", "resumed", "archived", "stopped", "trusted", "alarm", "acknowledged", "adjusted"))

#: Alarms that are not acknowledged, of which the oldest make room.
_MOST_ALARMS = 1000

#: The number of items that the text of an alarm names.
_MOST_NAMED = 5

#: How the text of an alarm of a detector begins.
CHANGED = "weights have changed"

#: Decisions of which it is counted how often each item was in, and items of all of them together.
_MOST_RECENT, _MOST_KEPT = 1000, 50_000

#: Seconds that an operation may take while other campaigns wait.
_SHARE_S = 0.02

#: The status of a campaign after an event that changes it.
STATUS_AFTER = {"paused": "paused", "resumed": "active", "archived": "archived", "stopped": "stopped"}

_MARKED = OWN_EVENTS | {"created", "changed", "configured", "restarted"}


class Replica:
    """A learner that follows the log of one campaign."""

    def __init__(self, id: int, name: str, spec: dict[str, Any], learner: Learner | None = None) -> None:
        self.id, self.name, self.spec = id, name, spec
        self.seq, self.digest, self.saved = 0, "", 0
        self.history, self.uplift = History(), Uplift()
        self.mismatch = ""  # why the learner does not decide as the log says it did
        self.difference = ""  # the same of what another build wrote: told by an alarm, and the campaign goes on
        self.spent, self.excess = 0.0, 0.0  # seconds of operations: since the last snapshot, and beyond their share
        self.build, self.is_unsaved = "", False  # of the snapshot that it began with; whether one is wanted soon
        self.status, self.created = "active", 0.0
        self.reason: str | None = None
        self.is_told, self.trusted = False, 0  # whether the log says the terms; the last event of trusted decisions
        self._row: tuple[Any, ...] = ()  # what the row of the campaign said when it was compared last
        self.weights = math.inf, -math.inf
        self.alarms: dict[int, dict[str, Any]] = {}
        self.is_wide, self.n_alarms = False, 0
        self.recent: deque[list[Any]] = deque(maxlen=_MOST_RECENT)
        self._rule: tuple[Constraint | None, Rule] = None, Rule("")
        self._emitted: list[tuple[dict[str, Any], list[Untold]]] = []
        self._learner = learner
        self._n_unknown = 0
        if learner is not None:
            learner.record = self.record

    @property
    def learner(self) -> Learner:
        """The learner after the last event."""
        if self._learner is None:
            raise ReplayError(f"expected a created event first in the log of {self.name}")
        return self._learner

    def record(self, event: dict[str, Any]) -> None:
        """Keep an event that the learner records before it happens, until `take`."""
        self._emitted.append((event, self._before(event)))

    def _before(self, event: dict[str, Any]) -> list[Untold]:
        """What `note` must know from before an event: what the decisions that it tells or closes wait for."""
        if event["event"] not in ("told", "closed"):
            return []
        until = event.get("before")
        if until is not None:
            return self.learner.book.untold_before(until)
        found = self.learner.book.untold(event["decision"])
        return [] if found is None else [found]

    def follow(self, seq: int, at: float, payload: str, trusted: int) -> None:
        """Let the next event of the log happen; up to event `trusted` the log's word is taken for decisions."""
        if seq != self.seq + 1:
            raise ReplayError(f"expected event {self.seq + 1} of {self.name} next, got {seq}")
        try:
            event = from_json(payload)
            kind, before = event["event"], self._before(event)
            if kind == "created":
                self._learner = Learner.replay([event])
            elif kind not in OWN_EVENTS:
                self.learner.record = None  # what is in the log need not be written again
                self._apply(event, seq <= trusted or bool(self.mismatch))
            self.note(event, at, seq, before)
            self.digest = chained(self.digest, seq, at, payload)
        except MatroidBanditsError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ReplayError(f"event {seq} of {self.name} is malformed: {error!r}") from error
        finally:
            if self._learner is not None:
                self._learner.record = self.record

    def _apply(self, event: dict[str, Any], trust: bool) -> None:
        try:
            if not self._tell_whole(event):
                self.learner.apply(event, trust=trust)
        except ReplayError as error:
            if trust or event["event"] != "asked":
                raise
            self.learner.apply(event, trust=True)
            self.mismatch = str(error)
        except MatroidBanditsError as error:
            raise ReplayError(str(error)) from error

    def _tell_whole(self, event: dict[str, Any]) -> bool:
        """Let an answer happen that is of a whole decision, in its order: most are, and a list takes less time."""
        if event["event"] != "told" or "closes" in event:
            return False
        weights, items = event["weights"], self.learner.book.untouched(event["decision"])
        if items is None or [label for label, _ in weights] != items:
            return False
        self.learner.tell(event["decision"], [weight for _, weight in weights])
        return True

    def note(self, event: dict[str, Any], at: float, seq: int, before: Sequence[Untold] = ()) -> None:
        """Take note of an event that has happened to the learner, and of what was `before` it."""
        self.seq = seq
        kind, history, learner = event["event"], self.history, self.learner
        if kind == "asked":
            history.add(at, ASKED, 1)
            self.remember(event["items"])
            self.uplift.ask(event, at, learner)
            if "held_out" in event:
                history.add(at, HELD_OUT, 1)
            if not event["items"]:  # settled at once, worth 0
                history.settle_empty(at, "held_out" in event, self.rest() is not None)
                return
            learner.book.date(event["decision"], at)
            if self.rest() is not None:
                history.wait(event["decision"], at, "held_out" in event)
        elif kind == "told" and not before:  # of nothing, in a log of version 0.2.0
            return
        elif kind == "told":
            told, closes = self._widen(event), "closes" in event
            history.add(at, TOLD, len(told))
            self._note_told(at, before[0], told, closes)
            self.uplift.tell(event["decision"], told, at, learner, history.unsettled, closes)
        elif kind == "observed":
            self._widen(event)
        elif kind == "closed":
            self._note_closed(event, at, before)
            self.uplift.close(event, at, learner)
        elif kind in _MARKED:
            self._note_status(event, seq)
            if kind == "alarm":
                self._note_alarm(event, at, seq)
            elif kind == "acknowledged":
                self.alarms = {id: alarm for id, alarm in self.alarms.items() if id > event["until"]}
            elif kind == "created":
                self.created = at
                self.spec, self.is_told = event.get("terms", self.spec), "terms" in event
                self.uplift.configure(event, at, learner)
            elif kind == "adjusted":
                self.spec = event["terms"]
                if not self._has_window:
                    over = [id for id in history.unsettled if id not in learner.book]
                    history.settle(at, over)
                    self.uplift.settle(over, at, learner)
            elif kind in ("changed", "configured", "restarted"):
                self.is_wide &= kind != "configured"  # another policy may have another scale
                self.n_alarms = _n_alarms(learner)
                self.uplift.configure(event, at, learner)
            history.mark(at, seq, kind, _words(event), event.get("by"))
        history.waiting = learner.n_outstanding

    def _note_status(self, event: dict[str, Any], seq: int) -> None:
        """The status of the campaign after an event of the service, and the reason where it is stopped."""
        kind = event["event"]
        if kind == "trusted":
            self.mismatch, self.trusted = "", seq
            kind = "resumed" if self.status == "stopped" else kind
        if kind in STATUS_AFTER:
            self.status, self.reason = STATUS_AFTER[kind], event.get("reason")

    def row(self) -> dict[str, Any]:
        """What the row of the campaign is to say after the last event."""
        return {
            "seq": self.seq,
            "digest": self.digest,
            "spec": self.spec,
            "status": self.status,
            "reason": self.reason,
            "trusted": self.trusted,
            "decisions": self.learner.n_decisions,
            "waiting": self.learner.n_outstanding,
            "alarms": len(self.alarms),
            "created": self.created,
        }

    def differs_from(self, saved: Replica) -> str:
        """What is other in a snapshot at the same event; empty where nothing is."""
        if saved.digest != self.digest:
            return "the events in the log are not those that were written"
        if not saved.learner.has_state_of(self.learner):
            return "decisions are the same, and what was learnt is not"
        return ""

    def compare(self, row: Any, names: Sequence[str] = ("spec", "status", "reason", "trusted")) -> None:
        """Compare what the row of the campaign says with the log; where that is of an early version, take the row."""
        said = row.spec, row.status, row.reason, row.trusted
        if said == self._row:
            return
        terms = read_terms(row.spec, self.name)
        if not self.is_told:
            self.spec, self.status, self.reason, self.trusted = terms, row.status, row.reason, row.trusted
        expected = self.row()
        for name in names if self.is_told else ():
            if expected[name] != (terms if name == "spec" else getattr(row, name)):
                raise ReplayError(f"the row of {self.name} has another {name} than its log leads to")
        self._row = said

    def _note_closed(self, event: dict[str, Any], at: float, before: Sequence[Untold]) -> None:
        """Count decisions that are closed, and the default that their items were learnt with, where there was one."""
        history, default = self.history, event.get("default")
        if event.get("expired"):
            n_expired = sum(each.id not in history.unsettled for each in before)  # the others are settled
            history.expired += n_expired
            history.add(at, EXPIRED, n_expired)
        else:
            history.add(at, CLOSED, len(before))
        for each in before:
            if default is not None:
                self._learn(at, each, default * each.n_untold, each.n_untold)
            elif (dropped := history.unsettled.pop(each.id, None)) is not None:  # what was told of it counts alone
                n_told = each.n_items - each.n_untold
                history.learn(at, dropped[1], n_told / max(each.n_items, 1), each.is_held_out)
        if "before" in event:
            history.settle_before(at, event["before"])

    def _note_told(self, at: float, of: Untold, told: list[float], closes: bool) -> None:
        """Count what was told of a decision; where it `closes`, what the decision was worth, if that is known."""
        total, kind = math.fsum(told), KINDS[self.answers]
        if not closes or kind.stop is None:
            self._learn(at, of, total, of.n_untold if closes else len(told))
        elif not math.isnan(value := kind.worth(total, len(told), of.n_untold)):
            self.history.learn(at, value, 1.0, of.is_held_out)

    def _learn(self, at: float, of: Untold, weight: float, n_items: int) -> None:
        """Count the weights of some items of a decision: at once, or, with answers of clicks, when it is settled."""
        history = self.history  # settled when the window has ended: averages of what comes early are too high
        if not history.weigh(of.id, weight):
            history.learn(at, weight, n_items / max(of.n_items, 1), of.is_held_out)
        elif n_items == of.n_untold and not self._has_window:
            history.settle(at, [of.id])

    def _note_alarm(self, event: dict[str, Any], at: float, seq: int) -> None:
        kind = alarm_kind(event)
        if kind == "replay":  # known, as for every other replay of this log
            self.mismatch = self.difference = ""
        self.is_wide |= kind == "scale"
        self.n_alarms = event.get("n_alarms", self.n_alarms)
        self.alarms[seq] = {"seq": seq, "at": at, "kind": kind, "text": event["text"]}
        if len(self.alarms) > _MOST_ALARMS:
            del self.alarms[next(iter(self.alarms))]

    def n_alarms_of(self, kind: str) -> int:
        """How many alarms of a kind were not acknowledged."""
        return sum(alarm["kind"] == kind for alarm in [*self.alarms.values()])

    def _widen(self, event: dict[str, Any]) -> list[float]:
        """The weights of an event, which count to the least and the largest so far."""
        told = [entry[1] if isinstance(entry, list) else entry for entry in event["weights"]]
        self.weights = min(self.weights[0], *told, math.inf), max(self.weights[1], *told, -math.inf)
        return told

    def take(self, at: float, rows: list[EventRow], **extra: Any) -> list[dict[str, Any]]:
        """Number the events that just happened to the learner, and add them to `rows` for the log."""
        taken = self._emitted[:]
        self._emitted.clear()
        for event, before in taken:
            event |= extra
            self.put(event, at, rows, before)
        if taken and taken[-1][0]["event"] in ("told", "observed", "closed"):
            self._watch(taken[-1][0], at, rows)
        return [event for event, _ in taken]

    def happen(self, event: dict[str, Any], at: float, rows: list[EventRow]) -> None:
        """Let an event happen as a replay will: what is read back from its JSON is applied, and nothing else."""
        learner = self.learner
        learner.record = None
        try:
            learner.apply(event := from_json(to_json(event)))
        finally:
            learner.record = self.record
        self.put(event, at, rows)

    def put(self, event: dict[str, Any], at: float, rows: list[EventRow], before: Sequence[Untold] = ()) -> None:
        """Add an event that has happened to `rows` for the log."""
        self.note(event, at, self.seq + 1, before)
        payload = to_json(event).decode()
        self.digest = chained(self.digest, self.seq, at, payload)
        rows.append((self.id, self.seq, at, payload))

    def _watch(self, event: dict[str, Any], at: float, rows: list[EventRow]) -> None:
        """Raise an alarm when a detector found a change, and once when the policy's scale is too small."""
        if not self.is_wide and (text := scale_problem(self.learner.policy, *self.weights)):
            self.put({"event": "alarm", "kind": "scale", "text": text}, at, rows)
        n_alarms = _n_alarms(self.learner)
        if n_alarms > self.n_alarms:
            named = _changed_items(self.learner, event.get("decision"))
            text = f"{CHANGED}, and items start anew: {', '.join(named) or n_alarms - self.n_alarms}"
            self.put({"event": "alarm", "kind": "drift", "text": text, "n_alarms": n_alarms}, at, rows)

    def remember(self, items: list[Any]) -> None:
        """Count the items of a decision among the recent ones; large sets are fewer, since each is kept."""
        recent = self.recent
        if len(items) * len(recent) > _MOST_KEPT and recent:
            recent.popleft()
        recent.append(items)

    def recent_counts(self) -> Counter[Label]:
        """How many of the recent decisions have each item, by label."""
        found: Counter[Label] = Counter()
        for items in self.recent:
            found.update(items if all(type(label) is str for label in items) else map(decode, items))
        return found

    @property
    def rule(self) -> Rule:
        """Description of the allowed sets."""
        constraint, rule = self._rule
        if constraint is not self.learner.constraint:
            constraint = self.learner.constraint
            rule = rule_of(constraint)
            self._rule = constraint, rule
        return rule

    def unknown_items(self) -> int:
        """How many names of items that are not there requests have had since this was last called."""
        n_before, self._n_unknown = self._n_unknown, 0 if self._learner is None else self._learner.n_unknown
        return self._n_unknown - n_before

    def spending(self) -> Spending | None:
        """What decisions have cost beside a budget; None without one, and before there is a learner."""
        return None if self._learner is None else self._learner.spending

    def spend(self, seconds: float) -> None:
        """Take note of the time that an operation took: since the last snapshot, and what was more than its share."""
        self.spent += seconds
        if seconds > _SHARE_S:
            self.excess += seconds - _SHARE_S

    @property
    def is_complete(self) -> bool:
        """Whether what is summed along the log covers all of it; False after a snapshot of an earlier version."""
        return self.history.is_complete and self.uplift.is_complete

    @property
    def n_steps(self) -> tuple[int, int]:
        """The last event, and how often the learner has begun to change."""
        return self.seq, self.learner.n_steps

    def has_moved(self, before: tuple[int, int], error: Exception) -> bool:
        """Whether an operation that failed may have changed something since `n_steps` was read."""
        if self.seq != before[0] or not self.is_clean:
            return True
        return not isinstance(error, MatroidBanditsError) and self.learner.n_steps != before[1]

    @property
    def is_clean(self) -> bool:
        """Whether every event that happened to the learner has been taken."""
        return not self._emitted

    def in_order(self, decision: int, weights: Any) -> Any:
        """Weights by label as a list in the order of the decision's items, where they are of all of them."""
        items = self.learner.book.untouched(decision) if isinstance(weights, dict) else None
        if items is None or len(weights) != len(items):
            return weights
        try:
            values = [weights[label] for label in items]
        except (KeyError, TypeError):  # another item, or a label that is a list
            return weights
        return values if all(type(value) in (float, int) for value in values) else weights

    @property
    def answers(self) -> Answers:
        """What answers tell of."""
        return read_answers(self.learner, self.spec)

    @property
    def _has_window(self) -> bool:
        return self.spec.get("answer_window") is not None

    def rest(self, default: float | None = None) -> float | None:
        """The weight of what was not told when a decision is closed: what answers of its kind say, or a default."""
        rest = KINDS[self.answers].rest
        return default if rest is None else rest

    def expired(self, now: float) -> int | None:
        """The first decision that may still wait, where the windows of older ones have ended."""
        window = self.spec.get("answer_window")
        if window is None:
            return None
        last = 0
        unsettled = ((id, at) for id, (at, *_) in self.history.unsettled.items())
        for times in (self.learner.book.times(), unsettled):
            for id, at in times:
                if at is None or at + window > now:
                    break
                last = max(last, id)
        return last + 1 if last else None


def stored_terms(row: Any) -> dict[str, Any]:
    """A campaign's terms as its row has them, for lists; empty where they cannot be read."""
    try:
        return read_terms(row.spec, row.name)
    except ReplayError:
        return {}


def read_terms(text: str, name: str) -> dict[str, Any]:
    """A campaign's terms from its row."""
    try:
        terms = json.loads(text)
    except ValueError:
        terms = None
    if not isinstance(terms, dict):
        raise ReplayError(f"expected the terms of {name} in its row as a JSON object, got {shown(text)}")
    for key in ("answer_window", "default"):
        value = terms.get(key)
        if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
            raise ReplayError(f"expected {key} in the row of {name} to be a number or null, got {shown(value)}")
    return terms


def _words(event: dict[str, Any]) -> str:
    """What the time line says of an event."""
    kind = event["event"]
    if kind == "changed" and (event.get("came") or event.get("went")):
        moved = (f"{few(event[key])} {key}" for key in ("came", "went") if event[key])
        return f"the items were changed: {', '.join(moved)}"
    if kind == "changed":
        return "the items were changed"
    if kind == "configured":
        return _settings_in_words(event)
    if kind == "adjusted":
        changed = [key for key, value in event["terms"].items() if event["was"].get(key) != value]
        return f"changed: {', '.join(changed)}".replace("_", " ")
    if kind == "restarted":
        n = "all items" if event["items"] is None else f"{len(event['items'])} items"
        return f"{n} were restarted"
    if kind == "acknowledged":
        return f"alarms up to event {event['until']} were acknowledged"
    return str(event.get("text") or event.get("reason") or kind)


def _settings_in_words(event: dict[str, Any]) -> str:
    holdout = event["holdout"]
    share, by = (holdout["share"], holdout.get("by")) if isinstance(holdout, dict) else (holdout, None)
    held = f"{share:.4g} held out" + (f" by {printable(by)}" if by else "")
    if isinstance(holdout, dict) and holdout.get("control") is not None:
        held += f" for {holdout['control']['policy']}"
    return f"the settings are {event['policy']['policy']}, {held}{', from nothing' if event['restart'] else ''}"


def few(labels: Sequence[Any], most: int = _MOST_NAMED) -> str:
    """Items in words: the first few by name, and how many are left."""
    named = ", ".join(printable(str(decode(label))) for label in labels[:most])
    return named if len(labels) <= most else f"{named} and {len(labels) - most} more"


def alarm_kind(event: dict[str, Any]) -> str:
    """What an alarm is about; early ones do not say it."""
    return str(event.get("kind") or ("drift" if "n_alarms" in event else "scale"))


def _n_alarms(learner: Learner) -> int:
    alarms = learner.alarms
    return 0 if alarms is None else int(alarms[0].sum())


def _changed_items(learner: Learner, decision: int | None) -> list[str]:
    """The items that started anew when a decision was answered, in words; a few of them where they are many."""
    alarms, labels = learner.alarms, learner.constraint.labels
    if decision is None or alarms is None:
        return []
    named = [printable(str(labels[e])) for e in (alarms[1] == decision).nonzero()[0].tolist()]
    return named if len(named) <= _MOST_NAMED else [*named[:_MOST_NAMED], f"and {len(named) - _MOST_NAMED} more"]
