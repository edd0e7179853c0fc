"""How much better than its control a campaign's learner is, kept up decision by decision as the log is followed."""

from __future__ import annotations

import base64
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict
from math import isnan
from typing import Any, Final

import numpy as np
from pydantic_core import to_json

from matroid_bandits.evaluation import (
    UpliftSequence,
    UpliftSummary,
    UpliftSums,
    control_key,
    holdout_notes,
    shown_words,
    unit_hash,
)
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.learner import KINDS, Learner
from matroid_bandits.policies import OMM

#: Values of the hold-out's tag that are remembered, by a hash of 8 bytes. Where there are more, every second new one
#: counts, by its hash; then every fourth, and so on.
MOST_UNITS = 65_536

#: The version of what is summed. Version 1, which had none, knew the sequence alone, without a gate.
VERSION: Final = 2

_DAY_S: Final = 86_400


# A decision is settled when it is answered whole or closed, and, where answers are clicks, its window has ended; it
# counts with what was told and with defaults, and one without either is lost. The sums have every decision on the day
# on which it was asked. The sequence has them in the order in which they are settled, and with a hold-out that is
# sticky by a tag the first one of each value. A change of the control or of that tag begins anew. In the sequence
# values are gains, in a range that is that of the policy's scale, and is widened by values beyond it.


class Uplift:
    """The decisions of a campaign that are settled: summed by day, and weighed by a confidence sequence."""

    def __init__(self) -> None:
        self.sums: UpliftSums | None = None
        self.sequence: UpliftSequence | None = None
        self.since: float | None = None
        self.excludes_zero_since: float | None = None
        self.is_complete = True
        self._control: list[str | None] | None = None  # what decisions are compared with, and the tag of the hold-out
        self._policy: str | None = None  # as JSON
        self._changed: int | None = None  # the day of its last change
        self._units: set[int] = set()
        self._bits = 0  # how many of the lowest bits of a hash must be 0 for its value to count
        # Share, hash or None, whether the tag was given, whether held out, day, items, items to be told, sum so far
        self._open: dict[int, list[Any]] = {}

    @property
    def counted(self) -> float:
        """The share of the tag's values that count in the sequence."""
        return 0.5**self._bits

    def configure(self, event: Mapping[str, Any], at: float, learner: Learner) -> None:
        """Take the first settings, other settings or other items into account."""
        if event["event"] in ("created", "configured"):
            holdout = learner.holdout
            now = [control_key(holdout.control, learner.constraint), holdout.by]
            if now != self._control:
                self._control, self.sums, self.sequence = now, None, None
                self.since = self.excludes_zero_since = None
                self._units, self._bits, self._open, self._changed = set(), 0, {}, None
            policy = to_json(event["policy"]).decode()
            if self._policy is not None and policy != self._policy:
                self._changed = int(at // _DAY_S)
                if self.sums is not None:
                    self.sums.change_policy(self._changed)
            self._policy = policy
        if self.sequence is not None:
            self.sequence.widen(*_range(learner))

    def ask(self, event: Mapping[str, Any], at: float, learner: Learner) -> None:
        """Take a decision into account that was just made."""
        holdout, n_items = learner.holdout, len(event["items"])
        if not 0.0 < holdout.share < 1.0:
            return
        if self.sums is None:
            self.sums, self.sequence = UpliftSums(holdout.by, learner.minimize), UpliftSequence(*_range(learner))
            if self._changed is not None:
                self.sums.change_policy(self._changed)
        value = (event.get("tags") or {}).get(holdout.by) if holdout.by is not None else None
        unit = None
        if holdout.by is not None:
            unit = unit_hash(holdout.by, event["decision"] if value is None else value)
        is_held_out, day = "held_out" in event, int(at // _DAY_S)
        found = [holdout.share, unit, value is not None, is_held_out, day, n_items, n_items, 0.0]
        if n_items:
            self._open[event["decision"]] = found
        else:  # settled at once, worth 0
            self._count(found, at, learner)

    def tell(
        self,
        decision: int,
        weights: Iterable[float],
        at: float,
        learner: Learner,
        unsettled: Container[int] = (),
        closes: bool = False,
    ) -> None:
        """Take answers into account; the decision counts where they are the last, and it is not `unsettled`.

        With `closes` they are the last, and what was not told was not looked at.
        """
        found = self._open.get(decision)
        if found is None:
            return
        for weight in weights:
            found[-2] -= 1
            found[-1] += weight
            self._look_at(weight)
        if found[-2] <= 0 or closes:
            self.settle([decision] if decision not in unsettled else (), at, learner)
        elif decision not in learner.book:
            del self._open[decision]

    def settle(self, ids: Iterable[int], at: float, learner: Learner) -> None:
        """Let decisions count that were answered whole."""
        for id in ids:
            if (found := self._open.pop(id, None)) is not None:
                self._count(found, at, learner)

    def close(self, event: Mapping[str, Any], at: float, learner: Learner) -> None:
        """Take decisions into account that were closed: with what was told and defaults; without either, as lost."""
        until, default = event.get("before"), event.get("default")
        ids = [event["decision"]] if until is None else [id for id in self._open if id < until]
        for id in ids:
            found = self._open.pop(id, None)
            if found is None:
                continue
            if default is not None:
                found[-1] += default * found[-2]
                found[-2] = 0
                self._look_at(default)
            self._count(found, at, learner)

    def _look_at(self, weight: float) -> None:
        if self.sums is not None and weight not in (0.0, 1.0):
            self.sums.are_clicks = False

    def _count(self, decision: list[Any], at: float, learner: Learner) -> None:
        """Let a settled decision count with what it was worth; it is lost where that is not known."""
        share, unit, has_tag, is_held_out, day, n_items, n_untold, total = decision
        if self.sums is None or self.sequence is None:
            return
        kind = KINDS[learner.answers or "all"]
        value = kind.worth(total, n_items - n_untold, n_items)
        if isnan(value):
            self.sums.lose(day, is_held_out)
            return
        self.sums.are_clicks &= kind.stop != "failed"
        self.sums.add(day, value, is_held_out, n_items, unit)
        if has_tag and not self._is_new(unit):
            return
        sequence, gain = self.sequence, -value if learner.minimize else value
        if not sequence.low <= gain <= sequence.high:
            sequence.widen(gain, gain)
        sequence.add([gain], [is_held_out], share)
        low, high = sequence.band()
        self.since = at if self.since is None else self.since
        is_out = low > 0.0 or high < 0.0
        self.excludes_zero_since = (self.excludes_zero_since or at) if is_out else None

    def _is_new(self, unit: int) -> bool:
        """Whether a value of the tag counts: it is met for the first time, and its hash is among those that count."""
        if unit & ((1 << self._bits) - 1) or unit in self._units:
            return False
        self._units.add(unit)
        while len(self._units) > MOST_UNITS:
            self._bits += 1
            self._units = {each for each in self._units if not each & ((1 << self._bits) - 1)}
        return True

    def _summary(self, now: float, learner: Learner | None = None) -> UpliftSummary:
        """The headline and its windows at a time; with a learner also what is shown beside it."""
        sums = UpliftSums() if self.sums is None else self.sums
        if learner is None:
            return sums.summary(int(now // _DAY_S))
        shown, since = "", self.excludes_zero_since
        if self.sequence is not None and since is not None:
            shown = shown_words(self.sequence.band()[0] > 0.0, since)
        notes = holdout_notes(learner.holdout, learner.constraint)
        return sums.summary(int(now // _DAY_S), notes, shown, with_points=True)

    def gauges(self, now: float) -> dict[str, float]:
        """Metrics by name, with the window behind a slash; may be called by any thread."""
        if self.sums is None:
            return {}
        summary = self._summary(now)
        found: dict[str, float | None] = {"uplift_earned": summary.earned, "uplift_holdout_cost": summary.cost}
        for name, window in (*summary.windows.items(), ("headline", summary.window)):
            found |= {
                f"uplift_learner_decisions/{name}": window.n_learner,
                f"uplift_control_decisions/{name}": window.n_control,
                f"uplift_lost_decisions/{name}": window.n_lost,
                f"uplift_per_decision/{name}": window.value,
                f"uplift_per_decision_low/{name}": window.low,
                f"uplift_per_decision_high/{name}": window.high,
                f"uplift_ratio/{name}": window.relative,
                f"uplift_ratio_low/{name}": window.relative_low,
                f"uplift_ratio_high/{name}": window.relative_high,
            }
        return {name: value for name, value in found.items() if value is not None}

    def form(self, learner: Learner, now: float) -> dict[str, Any]:
        """What is known at a time, as plain JSON."""
        look = None if self.sequence is None else asdict(self.sequence.look())
        if look is not None:
            for name in ("sequence", "exact", "single"):
                look[name] = [*look[name]] if np.isfinite(look[name]).all() else None
        return self._summary(now, learner).to_dict() | {
            "level": 0.95,
            "sequence": look,
            "counted": self.counted,
            "since": self.since,
            "excludes_zero_since": self.excludes_zero_since,
            "complete": self.is_complete,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON, for a snapshot."""
        units = np.array(sorted(self._units), np.uint64)
        return {
            "version": VERSION,
            "sums": None if self.sums is None else self.sums.to_dict(),
            "sequence": None if self.sequence is None else self.sequence.to_dict(),
            "since": self.since,
            "excludes_zero_since": self.excludes_zero_since,
            "complete": self.is_complete,
            "control": self._control,
            "policy": self._policy,
            "changed": self._changed,
            "units": base64.b64encode(units.tobytes()).decode(),
            "bits": self._bits,
            "open": [[id, *decision] for id, decision in self._open.items()],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any] | None) -> Uplift:
        """Make what `to_dict` described; of what an earlier version wrote, one to be made again from the log."""
        found = cls()
        if form is None or form.get("version") != VERSION:
            found.is_complete = False
            return found
        try:
            found.sequence = None if form["sequence"] is None else UpliftSequence.from_dict(form["sequence"])
        except EvaluationError as error:
            raise ValueError(str(error)) from error
        found.sums = None if form["sums"] is None else UpliftSums.from_dict(form["sums"])
        found.since, found.excludes_zero_since = form["since"], form["excludes_zero_since"]
        found.is_complete, found._control = form["complete"], form["control"]
        found._policy, found._changed, found._bits = form["policy"], form["changed"], form["bits"]
        found._units = {*np.frombuffer(base64.b64decode(form["units"]), np.uint64).tolist()}
        found._open = {id: decision for id, *decision in form["open"]}
        return found


def _range(learner: Learner) -> tuple[float, float]:
    """The range of the gain of a set, each of whose items has a weight from 0 to the scale of the policy."""
    policy = learner.policy
    scale = policy.scale if isinstance(policy, OMM) and policy.scale > 0.0 else 1.0
    low, high = KINDS[learner.answers or "all"].range(0.0, scale, learner.constraint.largest_size)
    return (-high, -low) if learner.minimize else (low, high)
