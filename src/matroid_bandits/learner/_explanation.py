"""What a learner believes, and why it chooses what it chooses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray, Label
from matroid_bandits._util.extras import pandas_for
from matroid_bandits._util.names import decode, encode
from matroid_bandits.identification import Confidence
from matroid_bandits.policies import Spending

if TYPE_CHECKING:
    import pandas

#: Where an item stands: in the set by its index or by a pin, out of it, not available, or unable ever to be in.
Standing = Literal["chosen", "pinned", "out", "unavailable", "loop"]

_COLUMNS, _ALARMS = ("counts", "waiting", "means", "indices", "radii"), ("alarms", "last_alarms")


@dataclass(frozen=True)
class Estimates:
    """A learner's estimates for each item, in the units of the weights: mean, interval, index and plays.

    Attributes
    ----------
    labels : sequence
        Labels of the items.
    counts : int64 array (L,)
        Number of observed weights of each item.
    waiting : int64 array (L,)
        Number of pending plays of each item.
    means : float64 array (L,)
        Mean weight; that of the prior before any observation, and NaN without a prior.
    indices : float64 array (L,)
        The index (optimistic or sampled weight) of the next decision; infinite for unseen items that are explored
        first.
    radii : float64 array (L,)
        Half the width of the interval around each mean: the confidence radius, or, for a policy that samples, the
        standard deviation of the sampling distribution. NaN for unseen items and for policies without intervals.
    alarms : int64 array (L,), or None
        Number of resets of each item by a change detector; None if the policy has no detector.
    last_alarms : int64 array (L,), or None
        The decision whose feedback raised each item's last alarm; 0 for none.
    minimize : bool
        Whether weights are costs, of which the smaller index is better.
    spending : Spending, or None
        What decisions have cost beside a `Budget`; None for policies without one.
    attention : float64 array, or None
        The chance that each place of a list is looked at, from the top, as `PositionBias` has learnt it or was told;
        None for other policies.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    >>> learner.tell(learner.ask(), [0.5])
    >>> learner.estimates().means
    array([0.5, nan, nan])
    >>> learner.estimates().to_frame().loc["a", "counts"]
    np.int64(1)
    """

    labels: Sequence[Label]
    counts: IntArray
    waiting: IntArray
    means: FloatArray
    indices: FloatArray
    radii: FloatArray
    alarms: IntArray | None = None
    last_alarms: IntArray | None = None
    minimize: bool = False
    spending: Spending | None = None
    attention: FloatArray | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes equal estimates; null is an infinite index."""
        return {
            "labels": [encode(label, "label") for label in self.labels],
            "counts": self.counts.tolist(),
            "waiting": self.waiting.tolist(),
            "means": _numbers(self.means, math.nan),
            "indices": _numbers(self.indices, _first(self.minimize)),
            "radii": _numbers(self.radii, math.nan),
            "alarms": None if self.alarms is None else self.alarms.tolist(),
            "last_alarms": None if self.last_alarms is None else self.last_alarms.tolist(),
            "minimize": self.minimize,
            "spending": None if self.spending is None else self.spending._asdict(),
            "attention": None if self.attention is None else self.attention.tolist(),
        }

    def of(self, items: Sequence[int]) -> Estimates:
        """Return the estimates of some items, given by number.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
        >>> learner.estimates().of([2, 0]).labels
        ('c', 'a')
        """
        picked = np.asarray(items, np.int64)
        columns = {name: getattr(self, name) for name in (*_COLUMNS, *_ALARMS)}
        parts: dict[str, Any] = {name: array if array is None else array[picked] for name, array in columns.items()}
        return replace(self, labels=tuple(self.labels[e] for e in picked.tolist()), **parts)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Estimates:
        """Make the estimates described by the output of `to_dict`."""
        labels = decode(form["labels"])
        is_numbered = all(type(label) is int and label == e for e, label in enumerate(labels))
        alarms, last = (None if form[key] is None else np.array(form[key], np.int64) for key in _ALARMS)
        return cls(
            range(len(labels)) if is_numbered else labels,
            np.array(form["counts"], np.int64),
            np.array(form["waiting"], np.int64),
            _floats(form["means"], math.nan),
            _floats(form["indices"], _first(form["minimize"])),
            _floats(form["radii"], math.nan),
            alarms,
            last,
            form["minimize"],
            Spending(**form["spending"]) if form.get("spending") else None,
            None if form.get("attention") is None else np.array(form["attention"], np.float64),
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return a table with a row per item, by label."""
        names = _COLUMNS if self.alarms is None else (*_COLUMNS, *_ALARMS)
        return _frame(self.labels, {name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class BestSet:
    """The set of largest mean weights so far, without exploration.

    Attributes
    ----------
    items : int64 array (K,)
        Its items, ascending.
    labels : tuple
        Their labels.
    means : float64 array (K,)
        Their mean weights; NaN where none was told.
    counts : int64 array (K,)
        How many weights each mean is of.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    >>> learner.observe([0.1, 0.4, 0.2])
    >>> best = learner.best_basis()
    >>> best.labels, best.value
    (('b',), 0.4)
    """

    items: IntArray
    labels: tuple[Label, ...]
    means: FloatArray
    counts: IntArray

    @property
    def value(self) -> float:
        """Sum of the mean weights."""
        return float(self.means.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes an equal set."""
        return {
            "items": [encode(label, "label") for label in self.labels],
            "numbers": self.items.tolist(),
            "means": _numbers(self.means, math.nan),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> BestSet:
        """Make the set described by the output of `to_dict`."""
        means, counts = _floats(form["means"], math.nan), np.array(form["counts"], np.int64)
        return cls(np.array(form["numbers"], np.int64), decode(form["items"]), means, counts)

    def to_frame(self) -> pandas.DataFrame:
        """Return a table with a row per item of the set, by label."""
        return _frame(self.labels, {"means": self.means, "counts": self.counts})


@dataclass(frozen=True)
class Forced:
    """Counterfactual explanation for any constraint: the best set if an item were forced in or out, and its cost.

    Attributes
    ----------
    cost : float
        By how much the indices of the set add up to less, in the units of the weights (to more, when they are costs);
        negative where an open decision would be made otherwise today. NaN where it is NP-hard to find.
        Infinite where items to be tried first would be left out, where the set would be smaller than it must
        be, or where there is no other set.
    enters, leaves : tuple
        The labels of the items that would come into the set, and of those that they would replace.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Forced(cost=0.25, enters=("c",), leaves=("a", "b")).cost
    0.25
    """

    cost: float
    enters: tuple[Label, ...] = ()
    leaves: tuple[Label, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes an equal object; null is an infinite cost."""
        enters, leaves = ([encode(label, "label") for label in part] for part in (self.enters, self.leaves))
        return {"cost": _number(self.cost, math.inf), "enters": enters, "leaves": leaves}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Forced:
        """Make the object described by the output of `to_dict`."""
        return cls(_float(form["cost"], math.inf), decode(form["enters"]), decode(form["leaves"]))

    def in_words(self, item: Label = None, takes: str = "") -> str:
        """Return a sentence with the cost, and which items would replace which.

        With `takes`, what the constraint says that the `item` which is forced in takes of its limits.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.Forced(0.25, ("c",), ("a", "b")).in_words()
        'it would cost 0.25: c for a, b'
        >>> mb.Forced(0.25, ("c",), ("a", "b")).in_words("c", "cost 40 of 100 tokens")
        'it would cost 40 of 100 tokens and push out a, b: the set would be worth 0.25 less'
        """
        if takes and self.enters:
            return self._pushing(item, takes)
        if math.isnan(self.cost):
            return "a best set is NP-hard to find, so what it would cost cannot be said"
        if not self.enters and not self.leaves:
            return "there is no other set"
        names = (", ".join(map(_name, part)) or "nothing" for part in (self.enters, self.leaves))
        who = " for ".join(names)
        if math.isinf(self.cost) and len(self.enters) < len(self.leaves):
            return f"the set would be smaller: {who}"
        if math.isinf(self.cost):
            return f"items to be tried first would be left out: {who}"
        if self.cost == 0.0:
            return f"it would cost nothing, since the other set is as good: {who}"
        return f"it would {'cost' if self.cost > 0.0 else 'gain'} {abs(self.cost):.4g}: {who}"

    def _pushing(self, item: Label, takes: str) -> str:
        """What an item takes, pushes out and brings along, and what the set would be worth."""
        out = ", ".join(map(_name, self.leaves)) or "nothing"
        along = ", ".join(_name(label) for label in self.enters if label != item)
        moved = f"it would {takes}, push out {out} and bring in {along}" if along else ""
        moved = moved or f"it would {takes} and push out {out}"
        if math.isinf(self.cost):
            return f"{moved}: items to be tried first would be left out"
        if self.cost == 0.0:
            return f"{moved}: the set would be as good"
        return f"{moved}: the set would be worth {abs(self.cost):.4g} {'less' if self.cost > 0.0 else 'more'}"


@dataclass(frozen=True)
class Explanation:
    """Explanation of why an item is in or out of a chosen set.

    Attributes
    ----------
    item, label
        The item asked about.
    standing : {"chosen", "pinned", "out", "unavailable", "loop"}
        The status of the item; a "loop" is in no allowed set.
    is_chosen : bool
        Whether the set contains it.
    mean : float
        Its mean weight, NaN before any observation.
    plays : float
        Number of plays behind the mean, including pending ones and those of a prior.
    index : float
        The index (optimistic or sampled weight) in the decision.
    rivals : int64 array
        The chosen items that it could replace, or that could be replaced by it; the closest first. Empty for a chosen
        item.
    rival_labels : tuple
        Their labels.
    margins : float64 array
        Difference between each rival's index and the item's, in the units of the weights; the item enters when one is
        negative.
    is_held_out : bool
        Whether the decision asked about was drawn at random.
    minimize : bool
        Whether weights are costs, of which the smaller index is better.
    last_alarm : int
        The decision whose feedback raised the item's last change alarm; 0 for none.
    forced : Forced, or None
        For constraints that are not matroids, whose items do not replace each other one by one: the best set with the
        item forced in, or, for a chosen item, without it.
    missing : str
        Facts about an open decision that are no longer known, and why; empty if nothing is missing.
    confidence : Confidence, or None
        Confidence in the best set, with the margins of this item's exchanges, if a stopping rule was given.
    about : str
        What the constraint says that the item takes of its limits, such as "cost 40 of 100 tokens"; empty where that
        is nothing.
    attention : float64 array, or None
        With `PositionBias`, the chance that each place of a list is looked at; the mean is of looks.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    >>> learner.observe([0.1, 0.4, 0.2])
    >>> print(learner.explain("c"))
    c is out: it could only replace b, which leads by 0.2 (0.4 against 0.2)
    """

    item: int
    label: Label
    standing: Standing
    mean: float
    plays: float
    index: float
    rivals: IntArray
    rival_labels: tuple[Label, ...]
    margins: FloatArray
    is_held_out: bool = False
    minimize: bool = False
    last_alarm: int = 0
    missing: str = ""
    forced: Forced | None = None
    confidence: Confidence | None = None
    about: str = ""
    attention: FloatArray | None = None

    @property
    def is_chosen(self) -> bool:
        """Whether the set contains the item."""
        return self.standing in ("chosen", "pinned")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes an equal explanation.

        Null is a mean that is not known, an index to be tried first and the margin of one; other numbers that JSON
        does not know are the words NaN, Infinity and -Infinity.
        """
        return {
            "item": self.item,
            "label": encode(self.label, "label"),
            "standing": self.standing,
            "mean": _number(self.mean, math.nan),
            "plays": self.plays,
            "index": _number(self.index, _first(self.minimize)),
            "rivals": [encode(label, "label") for label in self.rival_labels],
            "rival_numbers": self.rivals.tolist(),
            "margins": _numbers(self.margins, math.inf),
            "held_out": self.is_held_out,
            "minimize": self.minimize,
            "last_alarm": self.last_alarm,
            "missing": self.missing,
            "forced": None if self.forced is None else self.forced.to_dict(),
            "about": self.about,
            "attention": None if self.attention is None else self.attention.tolist(),
        } | ({} if self.confidence is None else {"confidence": self.confidence.to_dict()})

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Explanation:
        """Make the explanation described by the output of `to_dict`."""
        return cls(
            form["item"],
            decode(form["label"]),
            form["standing"],
            _float(form["mean"], math.nan),
            float(form["plays"]),
            _float(form["index"], _first(form["minimize"])),
            np.array(form["rival_numbers"], np.int64),
            decode(form["rivals"]),
            _floats(form["margins"], math.inf),
            form["held_out"],
            form["minimize"],
            form["last_alarm"],
            form["missing"],
            None if form["forced"] is None else Forced.from_dict(form["forced"]),
            Confidence.from_dict(form["confidence"]) if "confidence" in form else None,
            form.get("about", ""),
            None if form.get("attention") is None else np.array(form["attention"], np.float64),
        )

    def __str__(self) -> str:
        return self._why() if self.confidence is None else f"{self._why()}; {self._how_sure(self.confidence)}"

    def _how_sure(self, confidence: Confidence) -> str:
        """How sure the best set is, and the closest call of this item."""
        if not confidence.margins:
            return f"{confidence}; nothing could replace it, or be replaced by it"
        own = confidence.margins[0]
        plays = "an unknown number of" if own.plays is None else own.plays
        return (
            f"{confidence}; its own closest call is {_name(own.inside)} over {_name(own.outside)}, statistic "
            f"{own.statistic:.3g} against {own.threshold:.3g} at delta {confidence.at:g}, {plays} more plays of both"
        )

    def _why(self) -> str:
        name = _name(self.label)
        known = f"mean {self.mean:.4g} over {self.plays:g} plays"
        if self.index == self.index:
            known += f", index {self.index:.4g}"
        if self.mean != self.mean:
            known = f"asked for {self.plays:g} times, never told a weight" if self.plays else "never asked for"
        is_said = self.forced is not None and bool(self.forced.enters) and self.standing == "out" and not self.missing
        if self.about and (not is_said or self.is_held_out):
            known += f", {self.about}"
        if self.attention is not None:
            known += f", attention by place {', '.join(f'{chance:.3g}' for chance in self.attention)}"
        if self.last_alarm:
            known += f", started anew after decision {self.last_alarm}"
        if self.is_held_out and not (self.missing and self.standing == "unavailable"):
            return f"{name} is {'in' if self.is_chosen else 'out'}: the set was drawn at random ({known})"
        if self.missing:
            return f"{name} is {'in' if self.is_chosen else 'out'}: {self.missing} ({known})"
        if self.standing == "chosen":
            if self.forced is not None and self.forced == Forced(math.inf):
                return f"{name} is chosen ({known}): without it there is no allowed set"
            if self.forced is not None:
                return f"{name} is chosen ({known}): forced out, {self.forced.in_words()}"
            return f"{name} is chosen ({known})"
        if self.standing == "pinned":
            return f"{name} is pinned, so it is in whatever its index ({known})"
        if self.standing == "unavailable":
            return f"{name} is not available for this request ({known})"
        if self.forced is not None:
            return f"{name} is out ({known}): forced in, {self.forced.in_words(self.label, self.about)}"
        if self.standing == "loop" or self.rivals.size == 0:
            why = f": it would {self.about}" if self.about else ""
            return f"{name} cannot be chosen with what is pinned, or by itself{why}"
        leader, margin = _name(self.rival_labels[0]), float(self.margins[0])
        lead = f"{leader}, which leads by {margin:.4g} ({self._other():.4g} against {self.index:.4g})"
        if margin < 0.0:  # of an open decision, since which more is known
            by = "as it is to be tried first" if margin == -math.inf else f"by {-margin:.4g}"
            lead = f"{leader}, which it would beat today {by}"
        if margin == 0.0:
            lead = f"{leader}, which is as good and comes first"
        others = ", ".join(
            f"{_name(label)} (by {lead_of:.4g})"
            for label, lead_of in zip(self.rival_labels[1:6], self.margins[1:6].tolist(), strict=True)
        )
        more = f" and {self.rivals.size - 6} more" if self.rivals.size > 6 else ""
        also = f", or {others}{more}" if others else ""
        return f"{name} is out: it could only replace {lead}{also}"

    def _other(self) -> float:
        """The index of the closest rival."""
        return self.index + (-1.0 if self.minimize else 1.0) * float(self.margins[0])


def _first(minimize: bool) -> float:
    """The index of an item to be tried first."""
    return -math.inf if minimize else math.inf


def _number(value: float, null: float) -> float | str | None:
    """A number as JSON: null for one value that JSON does not know, a word for the others."""
    if math.isfinite(value):
        return value
    if value == null or (math.isnan(value) and math.isnan(null)):
        return None
    return "NaN" if math.isnan(value) else "Infinity" if value > 0.0 else "-Infinity"


def _numbers(values: FloatArray, null: float) -> list[float | str | None]:
    return [_number(value, null) for value in values.tolist()]


def _float(form: float | str | None, null: float) -> float:
    return null if form is None else float(form)


def _floats(forms: Iterable[float | str | None], null: float) -> FloatArray:
    return np.array([_float(form, null) for form in forms], np.float64)


def _name(label: Label) -> str:
    """A label in a sentence: the two ends of a link, or the label itself."""
    return "-".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _frame(labels: Sequence[Label], columns: dict[str, AnyArray]) -> pandas.DataFrame:
    pd = pandas_for("to_frame")
    index = pd.Index(list(labels), name="item", tupleize_cols=False)
    return pd.DataFrame(columns, index=index)
