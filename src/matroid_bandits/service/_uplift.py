"""How much better than its control a campaign's learner is, kept up decision by decision as the log is followed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.exceptions import EvaluationError
from matroid_bandits.learner import Learner
from matroid_bandits.policies import OMM

#: Values of the hold-out's tag that are remembered, by a hash of 8 bytes. Where there are more, every second new one
#: counts, by its hash; then every fourth, and so on.
MOST_UNITS = 65_536

#: Points of the band over time, and how many seconds each stands for at first; twice as many when there are too many.
MOST_POINTS, _WIDTH = 500, 1


class Uplift:
    """The decisions of a campaign that are settled, in that order, weighed by a confidence sequence.

    A decision is settled when it is answered whole or closed with a default. With a hold-out that is sticky by a tag,
    the first one of each value counts. Values are gains: positive is better, also where weights are costs. The range
    of a set's value is that of its policy's scale, and is widened by values beyond it.

    Attributes
    ----------
    sequence : UpliftSequence, or None
        The sequence; None before a decision could have been held out.
    since : float, or None
        When the first decision counted.
    excludes_zero_since : float, or None
        Since when the band has not held zero; None where it does.
    points : list of [at, decisions, value, low, high]
        The band over time; low and high are None where they are infinite.
    is_complete : bool
        False of a snapshot that an earlier version wrote, until it is made again from the log.
    """

    def __init__(self) -> None:
        self.sequence: UpliftSequence | None = None
        self.since: float | None = None
        self.excludes_zero_since: float | None = None
        self.points: list[list[Any]] = []
        self.is_complete = True
        self._width = _WIDTH
        self._control: Any = None
        self._units: set[int] = set()
        self._bits = 0  # how many of the lowest bits of a hash must be 0 for its value to count
        self._open: dict[int, list[Any]] = {}  # share, hash or None, whether held out, items to be told, sum so far

    @property
    def counted(self) -> float:
        """The share of the tag's values that count."""
        return 0.5**self._bits

    def configure(self, learner: Learner) -> None:
        """Take other settings, or other items, into account: another control begins a new sequence."""
        control = learner.holdout.control
        form = None if control is None else repr(control)
        if form != self._control:
            self._control, self.sequence, self.since, self.excludes_zero_since = form, None, None, None
            self.points, self._units, self._bits, self._width = [], set(), 0, _WIDTH
            self._open = {}
        if self.sequence is not None:
            self.sequence.widen(*_range(learner))

    def ask(self, event: Mapping[str, Any], learner: Learner) -> None:
        """Take a decision into account that was just made."""
        holdout = learner.holdout
        if not 0.0 < holdout.share < 1.0:
            return
        if self.sequence is None:
            self.sequence = UpliftSequence(*_range(learner))
            self._control = None if holdout.control is None else repr(holdout.control)
        value = (event.get("tags") or {}).get(holdout.by) if holdout.by is not None else None
        unit = None if value is None else _hash(holdout.by, value)
        self._open[event["decision"]] = [holdout.share, unit, "held_out" in event, len(event["items"]), 0.0]

    def tell(self, decision: int, weights: Iterable[float], at: float, learner: Learner) -> None:
        """Take answers into account; the decision counts where they are the last."""
        found = self._open.get(decision)
        if found is None:
            return
        for weight in weights:
            found[3] -= 1
            found[4] += weight
        if found[3] <= 0:
            del self._open[decision]
            self._count(found, at, learner)
        elif decision not in learner.book:
            del self._open[decision]

    def close(self, event: Mapping[str, Any], at: float, learner: Learner) -> None:
        """Take decisions into account that were closed; without a default they are lost."""
        until, default = event.get("before"), event.get("default")
        ids = [event["decision"]] if until is None else [id for id in self._open if id < until]
        for id in ids:
            found = self._open.pop(id, None)
            if found is not None and default is not None:
                found[4] += default * found[3]
                self._count(found, at, learner)

    def _count(self, decision: list[Any], at: float, learner: Learner) -> None:
        share, unit, is_held_out, _, total = decision
        if self.sequence is None or (unit is not None and not self._is_new(unit)):
            return
        sequence, gain = self.sequence, -total if learner.minimize else total
        if not sequence.low <= gain <= sequence.high:
            sequence.widen(gain, gain)
        sequence.add([gain], [is_held_out], share)
        value, low, high = sequence.band()
        self.since = at if self.since is None else self.since
        is_out = low > 0.0 or high < 0.0
        self.excludes_zero_since = (self.excludes_zero_since or at) if is_out else None
        self._point(at, value, low, high)

    def _is_new(self, unit: int) -> bool:
        """Whether a value of the tag counts: it is met for the first time, and its hash is among those that count."""
        if unit & ((1 << self._bits) - 1) or unit in self._units:
            return False
        self._units.add(unit)
        while len(self._units) > MOST_UNITS:
            self._bits += 1
            self._units = {each for each in self._units if not each & ((1 << self._bits) - 1)}
        return True

    def _point(self, at: float, value: float, low: float, high: float) -> None:
        assert self.sequence is not None
        points, n = self.points, self.sequence.n_decisions
        point = [at, n, value, low, high] if low > -np.inf else [at, n, value, None, None]
        if points and points[-1][0] // self._width == at // self._width:
            points[-1] = point
            return
        points.append(point)
        while len(points) > MOST_POINTS:
            self._width *= 2
            last = {point[0] // self._width: point for point in points}
            points[:] = last.values()

    def gauges(self) -> dict[str, float]:
        """The latest point as metrics; may be called by any thread."""
        points = self.points
        if not points:
            return {}
        _, n, value, low, high = points[-1]
        found: dict[str, float] = {"uplift": value, "uplift_decisions": n}
        return found if low is None else found | {"uplift_low": low, "uplift_high": high}

    def form(self, learner: Learner) -> dict[str, Any]:
        """What is known, as plain JSON."""
        sequence = self.sequence
        look = None if sequence is None else sequence.look()
        ends = {"sequence": (), "exact": (), "single": ()} if look is None else vars(look)
        return {
            "decisions": 0 if look is None else look.n_decisions,
            "control": 0 if look is None else look.n_control,
            "value": None if look is None or not look.n_decisions else look.value,
            **{
                name: [float(end) for end in ends[name]]
                if len(ends[name]) and np.isfinite(ends[name]).all()
                else None
                for name in ("sequence", "exact", "single")
            },
            "p_better": None if look is None else look.p_better,
            "p_worse": None if look is None else look.p_worse,
            "level": 0.95 if sequence is None else 1.0 - sequence.alpha,
            "unit": learner.holdout.by,
            "counted": self.counted,
            "since": self.since,
            "excludes_zero_since": self.excludes_zero_since,
            "points": [dict(zip(("at", "decisions", "value", "low", "high"), p, strict=True)) for p in self.points],
            "complete": self.is_complete,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON, for a snapshot."""
        units = np.array(sorted(self._units), np.uint64)
        return {
            "sequence": None if self.sequence is None else self.sequence.to_dict(),
            "since": self.since,
            "excludes_zero_since": self.excludes_zero_since,
            "points": self.points,
            "complete": self.is_complete,
            "width": self._width,
            "control": self._control,
            "units": base64.b64encode(units.tobytes()).decode(),
            "bits": self._bits,
            "open": [[id, *decision] for id, decision in self._open.items()],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any] | None) -> Uplift:
        """What `to_dict` described; one to be made from the log where an earlier version wrote none.

        Raises
        ------
        ValueError, KeyError, TypeError
            It is something else.
        """
        found = cls()
        if form is None:
            found.is_complete = False
            return found
        try:
            found.sequence = None if form["sequence"] is None else UpliftSequence.from_dict(form["sequence"])
        except EvaluationError as error:
            raise ValueError(str(error)) from error
        found.since, found.excludes_zero_since = form["since"], form["excludes_zero_since"]
        found.points, found.is_complete = form["points"], form["complete"]
        found._width, found._control, found._bits = form["width"], form["control"], form["bits"]
        found._units = {*np.frombuffer(base64.b64decode(form["units"]), np.uint64).tolist()}
        found._open = {id: decision for id, *decision in form["open"]}
        return found


def _range(learner: Learner) -> tuple[float, float]:
    """The range of the gain of a set: as many items as it may have, each from 0 to the scale of the policy."""
    policy = learner.policy
    scale = policy.scale if isinstance(policy, OMM) and policy.scale > 0.0 else 1.0
    most = learner.constraint.largest_size * scale
    return (-most, 0.0) if learner.minimize else (0.0, most)


def _hash(tag: str | None, value: Any) -> int:
    """A hash of a tag's value that has nothing to do with the one that decides whether it is held out."""
    text = json.dumps([tag, value], sort_keys=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=b"uplift").digest())
