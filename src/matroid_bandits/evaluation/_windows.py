"""How much better than its control a learner was in a window: averages per decision, and the sentence on them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from math import ceil, floor, isfinite, log10, nan, sqrt
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.evaluation._uplift import ENOUGH
from matroid_bandits.learner import Holdout
from matroid_bandits.policies import FixedSet, Policy

#: Groups that units are hashed into, and how many of them need a decision of either arm.
BUCKETS: Final = 256
_ENOUGH_BUCKETS: Final = 30

#: Days that are kept apart: a point on each of 28 days, of the 7 days up to it. Earlier ones are summed.
_KEPT: Final = 35
_POINTS: Final = 28

#: Windows that are a number of days, today included.
_LENGTHS: Final = {"7d": 7, "28d": 28}

#: All windows, from which the first with an interval makes the headline.
WINDOWS: Final = (*_LENGTHS, "start", "policy")

_DAY_S: Final = 86_400
_LEVEL: Final = 0.95
_Z: Final = NormalDist().inv_cdf((1.0 + _LEVEL) / 2.0)

LEARNER, CONTROL = range(2)

# What is summed of an arm, by place: decisions, values, second, third and fourth powers of their distance from the
# mean, items, decisions without an answer
N, S, SECOND, THIRD, FOURTH, ITEMS, LOST = range(7)


def unit_hash(tag: str, value: Any) -> int:
    """Return the hash by which the decisions of one value of a tag are kept together.

    It has nothing to do with the hash that decides whether the value is held out.

    Examples
    --------
    >>> unit_hash("visitor", "ann") == unit_hash("visitor", "ann"), unit_hash("visitor", "bob") % 256
    (True, 238)
    """
    text = json.dumps([tag, value], sort_keys=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=b"uplift").digest())


@dataclass(frozen=True)
class UpliftWindow:
    """The learner against its control over the decisions asked within a window, each counted once it is settled.

    A value needs 30 decisions per unit of the kurtosis of each arm's values, with clicks about 30 clicks; and with
    units that are kept together, 30 of 256 groups of them with a decision of each arm.

    Attributes
    ----------
    name : str
        "7d" and "28d" for the last 7 and 28 days, today included; "start" for all decisions; "policy" for those from
        the first full day after the last change of policy on. Days are UTC.
    since : float, or None
        When its first day began; None where the log has no clock, or no decision.
    n_learner, n_control : int
        Settled decisions of either arm.
    n_lost : int
        Decisions that were closed without an answer, which are not counted.
    learner, control : float, or None
        Average value per decision of either arm, in the weights' own units; None without decisions.
    value, low, high : float, or None
        The difference of the averages, in gains (positive is better, also where weights are costs), and its 95%
        interval; None where too little is known.
    relative, relative_low, relative_high : float, or None
        The same as a share of the control's average; None where an average is not positive.
    missing : int
        How many more clicks or decisions a value needs; 0 where it is known.
    sentence : str
        All of this in words.

    Examples
    --------
    >>> UpliftSums().summary().windows["start"].sentence
    'Not known yet since the start: 30 more decisions of the control are missing.'
    """

    name: str
    since: float | None
    n_learner: int
    n_control: int
    n_lost: int
    learner: float | None
    control: float | None
    value: float | None
    low: float | None
    high: float | None
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    missing: int
    sentence: str = ""


@dataclass(frozen=True)
class UpliftSummary:
    """Comparison of a learner with its control: one interval and one sentence, and the windows they are taken from.

    Attributes
    ----------
    headline : str
        The window of the sentence: 7 days, or the first of 28 days and since the start that has an interval.
    sentence : str
        The uplift in words.
    notes : tuple of str
        What a reader of the sentence should know besides: lost decisions, sets of another size.
    shown : str
        Since when it is shown at any look that the learner is better, or worse; empty where it is not.
    unit : str, or None
        The tag whose values are kept together; None where each decision stands alone.
    windows : dict of str to UpliftWindow
        By name; without a clock "start" alone, and "policy" only after a change of it.
    earned, cost : float, or None
        The difference since the start times the learner's decisions, and times those of the control: what was earned
        beyond the control's sets, and what the hold-out cost.
    points : tuple of dict of str to float
        The window of 7 days at each of the last 28 days on which it was known, with at, value, low and high.

    Examples
    --------
    >>> UpliftSums().summary().headline
    'start'
    """

    headline: str
    sentence: str
    notes: tuple[str, ...]
    shown: str
    unit: str | None
    windows: dict[str, UpliftWindow]
    earned: float | None
    cost: float | None
    points: tuple[dict[str, float], ...] = ()

    @property
    def window(self) -> UpliftWindow:
        """The window of the sentence."""
        return self.windows[self.headline]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON.

        Examples
        --------
        >>> UpliftSums().summary().to_dict()["windows"]["start"]["n_control"]
        0
        """
        form = asdict(self)
        return form | {"notes": [*self.notes], "points": [*self.points]}


@dataclass
class _Sums:
    """Sums of a stretch of time: by arm, and by arm and group of units."""

    arms: list[list[float]] = field(default_factory=lambda: [[0.0] * 7, [0.0] * 7])
    buckets: FloatArray | None = None  # (2, 2, BUCKETS): number and value by arm and group

    def add(self, arm: int, value: float, n_items: int, bucket: int | None) -> None:
        one = [1.0, value, 0.0, 0.0, 0.0, float(n_items), 0.0]
        self.arms[arm] = _joined(self.arms[arm], one)
        if bucket is not None:
            self.buckets = np.zeros((2, 2, BUCKETS)) if self.buckets is None else self.buckets
            self.buckets[arm, N, bucket] += 1.0
            self.buckets[arm, S, bucket] += value

    def join(self, other: _Sums) -> None:
        self.arms = [_joined(own, its) for own, its in zip(self.arms, other.arms, strict=True)]
        if other.buckets is not None:
            self.buckets = other.buckets.copy() if self.buckets is None else self.buckets + other.buckets

    def copy(self) -> _Sums:
        return _Sums([[*arm] for arm in self.arms], None if self.buckets is None else self.buckets.copy())

    def to_list(self) -> list[Any]:
        packed = None if self.buckets is None else self.buckets.astype("<f8").tobytes()
        return [*self.arms, None if packed is None else base64.b64encode(packed).decode()]

    @classmethod
    def from_list(cls, form: list[Any]) -> _Sums:
        learner, control, packed = form
        if packed is None:
            return cls([learner, control])
        buckets = np.frombuffer(base64.b64decode(packed), "<f8").astype(np.float64)
        return cls([learner, control], buckets.reshape(2, 2, BUCKETS))


def _joined(one: list[float], other: list[float]) -> list[float]:
    """The sums of an arm over two stretches (Pebay 2008)."""
    a, b = one[N], other[N]
    n = a + b
    if not a or not b:
        return [x + y for x, y in zip(one, other, strict=True)]
    apart = other[S] / b - one[S] / a
    step = apart / n
    return [
        n,
        one[S] + other[S],
        one[SECOND] + other[SECOND] + apart * step * a * b,
        one[THIRD]
        + other[THIRD]
        + apart * step * step * a * b * (a - b)
        + 3.0 * step * (a * other[SECOND] - b * one[SECOND]),
        one[FOURTH]
        + other[FOURTH]
        + apart * step**3 * a * b * (a * a - a * b + b * b)
        + 6.0 * step * step * (a * a * other[SECOND] + b * b * one[SECOND])
        + 4.0 * step * (a * other[THIRD] - b * one[THIRD]),
        one[ITEMS] + other[ITEMS],
        one[LOST] + other[LOST],
    ]


class UpliftSums:
    """Settled decisions of a learner and of its control, summed by the day on which they were asked.

    Memory is bounded: 35 days are kept apart, and earlier ones are one sum. Decisions may be added by one thread and
    summaries be made by others.

    Parameters
    ----------
    unit : str, optional
        The tag whose values are kept together in the interval, since their decisions resemble each other. Without it
        each decision stands alone.
    minimize : bool, default False
        Whether weights are costs.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> rng = np.random.default_rng(0)
    >>> sums = mb.evaluation.UpliftSums()
    >>> for k in range(4000):
    ...     is_control = bool(rng.random() < 0.1)
    ...     sums.add(k // 500, float(rng.random() < (0.2 if is_control else 0.4)), is_control)
    >>> sums.summary(today=7).sentence.split("; ")[0]
    '+106% (95%: +68% to +152%) in the last 7 days: 0.209 more per decision'
    """

    def __init__(self, unit: str | None = None, minimize: bool = False) -> None:
        self.unit, self.minimize = unit, minimize
        self.are_clicks = True  # whether every weight so far was 0 or 1
        self._days: dict[int, _Sums] = {}
        self._older, self._older_of_policy = _Sums(), _Sums()
        self._changed: int | None = None
        self._lock = threading.Lock()

    def add(self, day: int | None, value: float, is_control: bool, n_items: int = 1, unit: int | None = None) -> None:
        """Add a settled decision.

        Parameters
        ----------
        day : int, or None
            The day on which it was asked, counted from 1970 in UTC; None without a clock.
        value : float
            What it was worth, in the weights' own units.
        is_control : bool
            Whether its set was the control's.
        n_items : int
            The number of items in its set.
        unit : int, optional
            A hash of its unit, which is needed where units are kept together.

        Examples
        --------
        >>> sums = UpliftSums()
        >>> sums.add(20_000, 1.0, False)
        >>> sums.summary().windows["start"].n_learner
        1
        """
        bucket = None if self.unit is None else (unit or 0) % BUCKETS
        with self._lock:
            for sums in self._of(day or 0):
                sums.add(CONTROL if is_control else LEARNER, value, n_items, bucket)

    def lose(self, day: int | None, is_control: bool) -> None:
        """Count a decision that was closed without an answer.

        Examples
        --------
        >>> sums = UpliftSums()
        >>> sums.lose(20_000, False)
        >>> sums.summary().notes
        ('1 decision was closed without an answer and is not counted (0 of the control).',)
        """
        with self._lock:
            for sums in self._of(day or 0):
                sums.arms[CONTROL if is_control else LEARNER][LOST] += 1.0

    def change_policy(self, day: int) -> None:
        """Let the window "policy" begin after a day, on which the policy was changed.

        Examples
        --------
        >>> sums = UpliftSums()
        >>> sums.change_policy(20_000)
        >>> sums.summary(today=20_001).windows["policy"].since
        1728086400.0
        """
        with self._lock:
            self._changed, self._older_of_policy = day + 1, _Sums()

    def _of(self, day: int) -> Iterable[_Sums]:
        """The sums in which a day counts."""
        if (found := self._days.get(day)) is not None:
            return [found]
        newest = max(self._days, default=day)
        if day <= newest - _KEPT:
            return self._before(day)
        for old in [each for each in self._days if each <= day - _KEPT]:
            sums = self._days.pop(old)
            for each in self._before(old):
                each.join(sums)
        self._days[day] = _Sums()
        return [self._days[day]]

    def _before(self, day: int) -> list[_Sums]:
        is_of_policy = self._changed is not None and day >= self._changed
        return [self._older, self._older_of_policy] if is_of_policy else [self._older]

    def summary(
        self, today: int | None = None, notes: Iterable[str] = (), shown: str = "", with_points: bool = False
    ) -> UpliftSummary:
        """Return what is known on a day, counted from 1970 in UTC; without one, of all decisions alone.

        `notes` and `shown` are taken over; points are made only where they are asked for.
        """
        with self._lock:
            kept = {day: self._days[day].copy() for day in sorted(self._days)}
            older, of_policy = self._older.copy(), self._older_of_policy.copy()
        windows: dict[str, UpliftWindow] = {}
        if today is not None:
            for name, length in _LENGTHS.items():
                windows[name] = self._window(name, kept, today - length + 1, today)
        windows["start"] = self._window("start", kept, None, None, older)
        if today is not None and self._changed is not None:
            windows["policy"] = self._window("policy", kept, self._changed, None, of_policy)
        start = windows["start"]
        known = start.value
        earned, cost = (None, None) if known is None else (known * start.n_learner, known * start.n_control)
        for name, window in windows.items():
            said = self._sentence(window, earned, cost)
            windows[name] = UpliftWindow(**{**vars(window), "sentence": said})
        first = next(iter(windows))
        headline = next(
            (name for name in (*_LENGTHS, "start") if name in windows and windows[name].value is not None), first
        )
        points = []
        if with_points and today is not None:
            for day in range(today - _POINTS + 1, today + 1):
                point = self._window("7d", kept, day - 6, day)
                if point.value is not None:
                    ends = {name: getattr(point, name) for name in ("value", "low", "high")}
                    points.append({"at": float(day * _DAY_S), **ends})
        return UpliftSummary(
            headline=headline,
            sentence=windows[headline].sentence,
            notes=(*self._notes(older, kept), *notes),
            shown=shown,
            unit=self.unit,
            windows=windows,
            earned=earned,
            cost=cost,
            points=tuple(points),
        )

    def _window(
        self, name: str, kept: Mapping[int, _Sums], first: int | None, last: int | None, older: _Sums | None = None
    ) -> UpliftWindow:
        """The comparison over the days from `first` to `last`."""
        total = _Sums()
        if older is not None:
            total.join(older)
        for day, sums in kept.items():
            if (first is None or day >= first) and (last is None or day <= last):
                total.join(sums)
        (n1, s1, *_), (n0, s0, *_) = learner, control = total.arms
        missing, what = self._missing(total)
        value = low = high = relative = relative_low = relative_high = None
        if not what:
            value, half, ratio = self._difference(total)
            low, high = value - half, value + half
            if ratio is not None:
                relative, relative_low, relative_high = ratio
        return UpliftWindow(
            name=name,
            since=None if first is None else float(first * _DAY_S),
            n_learner=int(n1),
            n_control=int(n0),
            n_lost=int(learner[LOST] + control[LOST]),
            learner=s1 / n1 if n1 else None,
            control=s0 / n0 if n0 else None,
            value=value,
            low=low,
            high=high,
            relative=relative,
            relative_low=relative_low,
            relative_high=relative_high,
            missing=missing,
            sentence=what,
        )

    def _missing(self, sums: _Sums) -> tuple[int, str]:
        """How many clicks, decisions or groups an interval lacks, and words on them; 0 and "" where it is known."""
        for arm, whose in ((CONTROL, "control"), (LEARNER, "learner")):
            n, s, second, _, fourth, *_ = sums.arms[arm]
            if second * second >= ENOUGH * fourth > 0.0:
                continue
            in_clicks = self.are_clicks and n > 0 and s <= n / 2
            if second > 0.0:
                more = ENOUGH * n * fourth / second**2 - n
                found = ceil(more * s / n) if in_clicks else ceil(more)
            elif in_clicks or n < ENOUGH:
                found = ceil(ENOUGH) if in_clicks else ceil(ENOUGH - n)
            else:
                return 1, f"all {n:,.0f} decisions of the {whose} so far have the same value"
            return max(found, 1), _more(max(found, 1), "click" if in_clicks else "decision", whose)
        if sums.buckets is not None:
            for arm, whose in ((CONTROL, "control"), (LEARNER, "learner")):
                few = _ENOUGH_BUCKETS - np.count_nonzero(sums.buckets[arm, N])
                if few > 0:
                    group = f"group of values of {self.unit}"
                    return int(few), _more(int(few), group, whose, f"groups of values of {self.unit}")
        return 0, ""

    def _difference(self, sums: _Sums) -> tuple[float, float, tuple[float, float, float] | None]:
        """The difference in gains, half its interval, and the relative difference with its interval."""
        learner, control = sums.arms
        means = np.array([learner[S] / learner[N], control[S] / control[N]])
        is_positive = bool((means > 0.0).all())
        log_error = nan
        if sums.buckets is None:
            errors = np.array([sqrt(arm[SECOND] / (arm[N] - 1.0) / arm[N]) for arm in sums.arms])
            error = sqrt(float(np.sum(errors**2)))
            if is_positive:
                log_error = sqrt(float(np.sum((errors / means) ** 2)))
        else:
            n, s = sums.buckets[:, N], sums.buckets[:, S]
            without = (s.sum(axis=1, keepdims=True) - s) / (n.sum(axis=1, keepdims=True) - n)
            error = _jackknife(without[LEARNER] - without[CONTROL])
            if is_positive and (without > 0.0).all():
                log_error = _jackknife(np.log(without[LEARNER] / without[CONTROL]))
        sign = -1.0 if self.minimize else 1.0
        value = sign * float(means[LEARNER] - means[CONTROL])
        if not isfinite(log_error):
            return value, _Z * error, None
        ratio = float(means[LEARNER] / means[CONTROL])
        ends = sorted(sign * (ratio * float(np.exp(side * _Z * log_error)) - 1.0) for side in (-1.0, 1.0))
        return value, _Z * error, (sign * (ratio - 1.0), ends[0], ends[1])

    def _notes(self, older: _Sums, kept: Mapping[int, _Sums]) -> list[str]:
        """Notes on all decisions: how many were lost, and sets of another size."""
        total = _Sums()
        for sums in (older, *kept.values()):
            total.join(_Sums(sums.arms))
        learner, control = total.arms
        found = []
        if lost := int(learner[LOST] + control[LOST]):
            was, is_not = ("decision was", "is") if lost == 1 else ("decisions were", "are")
            of_it = f"{control[LOST]:,.0f} of the control"
            found.append(f"{lost:,} {was} closed without an answer and {is_not} not counted ({of_it}).")
        if learner[N] and control[N]:
            sizes = [arm[ITEMS] / arm[N] for arm in (control, learner)]
            if not 0.75 <= sizes[0] / max(sizes[1], 1e-9) <= 4.0 / 3.0:
                found.append(
                    f"On average the control's sets have {_items(sizes[0])} and the learner's {sizes[1]:.3g}: the "
                    "difference is that of the number of items, too."
                )
        return found

    def _sentence(self, window: UpliftWindow, earned: float | None, cost: float | None) -> str:
        """The uplift in words: what the page, the API, the client, commands and reports show."""
        span = {"7d": "in the last 7 days", "28d": "in the last 28 days", "start": "since the start"}.get(window.name)
        if span is None:
            assert window.since is not None
            day = datetime.fromtimestamp(window.since, UTC)
            span = f"since {day:%Y-%m-%d}, the first full day after the last change of policy"
        if window.value is None or window.low is None or window.high is None:
            return f"Not known yet {span}: {window.sentence}."
        if self.minimize:
            tail = f"costs {_figure(abs(window.value))} {'less' if window.value >= 0 else 'more'} per decision"
        else:
            tail = f"{_figure(abs(window.value))} {'more' if window.value >= 0 else 'less'} per decision"
        if window.relative is None or window.relative_low is None or window.relative_high is None:
            signed = (f"{'-' if x < 0 else '+'}{_figure(abs(x))}" for x in (window.value, window.low, window.high))
            parts = ["{} (95%: {} to {})".format(*signed) + f" per decision {span}"]
        else:
            ends = window.relative, window.relative_low, window.relative_high
            digits = _digits(100.0 * (ends[2] - ends[1]))
            parts = ["{} (95%: {} to {})".format(*(f"{100.0 * x:+,.{digits}f}%" for x in ends)) + f" {span}: {tail}"]
        if earned is not None and cost is not None:
            verb = ("saved" if self.minimize else "earned") if earned >= 0 else "lost"
            parts.append(f"about {_about(abs(earned))} {verb} so far")
            parts.append(f"the hold-out {'cost' if cost >= 0 else 'earned'} about {_about(abs(cost))}")
        return "; ".join(parts) + "."

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain JSON, from which `from_dict` continues."""
        return {
            "unit": self.unit,
            "minimize": self.minimize,
            "are_clicks": self.are_clicks,
            "changed": self._changed,
            "older": self._older.to_list(),
            "older_of_policy": self._older_of_policy.to_list(),
            "days": [[day, *self._days[day].to_list()] for day in sorted(self._days)],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> UpliftSums:
        """Make the sums described by the output of `to_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is something else.

        Examples
        --------
        >>> sums = UpliftSums("visitor")
        >>> sums.add(20_000, 1.0, True, unit=7)
        >>> UpliftSums.from_dict(sums.to_dict()).summary(20_000) == sums.summary(20_000)
        True
        """
        found = cls(form["unit"], form["minimize"])
        found.are_clicks, found._changed = form["are_clicks"], form["changed"]
        found._older = _Sums.from_list(form["older"])
        found._older_of_policy = _Sums.from_list(form["older_of_policy"])
        found._days = {int(day): _Sums.from_list(rest) for day, *rest in form["days"]}
        return found


def holdout_notes(holdout: Holdout, constraint: Constraint) -> list[str]:
    """Return warnings on a hold-out: that there is none, or that a fixed set names fewer items than are played.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> holdout_notes(mb.Holdout(0.1, control=mb.FixedSet(["a"])), mb.UniformMatroid(4, 2, labels="abcd"))
    ['The control names 1 item and its sets have 2: the others are the first that fit.']
    >>> holdout_notes(mb.Holdout(), mb.UniformMatroid(4, 2))
    ['There is no hold-out now: new decisions are not compared with a control.']
    """
    if not 0.0 < holdout.share < 1.0:
        return ["There is no hold-out now: new decisions are not compared with a control."]
    control = holdout.control
    if not isinstance(control, FixedSet):
        return []
    named, played = control.prepare(constraint), fixed_set(control, constraint)
    if not np.setdiff1d(played, named).size:
        return []
    items = f"{named.size:,} item{'' if named.size == 1 else 's'}"
    return [f"The control names {items} and its sets have {played.size:,}: the others are the first that fit."]


def control_key(control: Policy | None, constraint: Constraint) -> str | None:
    """Return a text that tells controls apart; a fixed set stays the same while other items come and go.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> control_key(mb.FixedSet([2]), mb.UniformMatroid(4, 2, labels="abcd"))
    "FixedSet ['c']"
    """
    if not isinstance(control, FixedSet):
        return None if control is None else repr(control)
    labels = {constraint.labels[e] for e in control.prepare(constraint).tolist()}
    return f"FixedSet {sorted(labels.union(control.away), key=repr)}"


def fixed_set(control: FixedSet, constraint: Constraint) -> IntArray:
    """Return the items that a fixed set is played as where all are available.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> fixed_set(mb.FixedSet(["c"]), mb.UniformMatroid(4, 2, labels="abcd"))
    array([0, 2])
    """
    wanted = np.isin(np.arange(constraint.n_items), control.prepare(constraint))
    items, sizes = constraint.solve(wanted[None].astype(np.float64))
    found: IntArray = items[0][: sizes[0]]
    return found


def shown_words(is_better: bool, since: float) -> str:
    """Return in words since when a learner is shown to be better or worse; NaN where there is no clock.

    Examples
    --------
    >>> shown_words(True, 0.0)
    'Shown to be better since 1970-01-01.'
    """
    verdict = f"Shown to be {'better' if is_better else 'worse'}"
    return f"{verdict} since {datetime.fromtimestamp(since, UTC):%Y-%m-%d}." if isfinite(since) else f"{verdict}."


def _jackknife(without: FloatArray) -> float:
    """The standard error of a figure, from what it is without each of the groups."""
    n = without.size
    return sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))


def _more(n: int, noun: str, whose: str, plural: str = "") -> str:
    return f"{n:,} more {noun if n == 1 else plural or noun + 's'} of the {whose} {'is' if n == 1 else 'are'} missing"


def _items(mean: float) -> str:
    return f"{mean:.3g} item{'' if mean == 1.0 else 's'}"


def _digits(width: float) -> int:
    """The decimals with which an interval of this width has two significant digits."""
    return min(max(1 - floor(log10(width)), 0), 6) if width > 0.0 else 0


def _figure(x: float) -> str:
    """A number with three significant digits, or without decimals from 1,000 on: 1.05, 0.0234, 1,234."""
    return f"{x:,.0f}" if x >= 1000.0 else f"{x:.3g}"


def _about(x: float) -> str:
    """A number with three significant digits, two below 10: 4,450, 31, 0.25."""
    return f"{float(f'{x:.3g}'):,.0f}" if x >= 10.0 else f"{x:.2g}"
