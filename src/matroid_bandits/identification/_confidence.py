"""How sure a best set is: the least delta at which a rule would stop, and what each exchange still lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.extras import pandas_for
from matroid_bandits._util.names import decode, encode
from matroid_bandits._util.text import counted
from matroid_bandits.identification._rule import RHO, Watch, as_delta
from matroid_bandits.kernels import exchange

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Margin:
    """Test statistic and threshold of one exchange of the best basis, and whether the exchange is ruled out.

    Attributes
    ----------
    inside, outside : label
        The item of the set, and the one that could replace it.
    statistic, threshold : float
        The test passes where the first exceeds the second, which is infinite while an item has no answer.
    plays : int, or None
        Number of further observations of both items needed at the present means; 0 if the test passes, None if no
        number is enough or an item has no observation.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Margin("a", "b", 3.0, 2.5, 0).passes
    True
    """

    inside: Label
    outside: Label
    statistic: float
    threshold: float
    plays: int | None

    @property
    def passes(self) -> bool:
        """Whether the test rules the exchange out."""
        return self.statistic > self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, with null for an infinite threshold."""
        return {
            "inside": encode(self.inside, "label"),
            "outside": encode(self.outside, "label"),
            "statistic": self.statistic,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "plays": self.plays,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Margin:
        """Make the margin described by the output of `to_dict`."""
        threshold = math.inf if form["threshold"] is None else float(form["threshold"])
        return cls(decode(form["inside"]), decode(form["outside"]), form["statistic"], threshold, form["plays"])


@dataclass(frozen=True)
class Confidence:
    """How certain a stopping rule is that the basis of largest means is optimal; not a posterior probability.

    Attributes
    ----------
    delta : float
        The least delta at which the rule would stop now; 1 where there is none below.
    items : tuple of labels
        The set of best means.
    n_exchanges, n_passed : int
        How many exchanges there are, and how many of them pass at `at`.
    margins : tuple of Margin
        The exchanges that are farthest from passing at `at`, these first; all of them, some, or those of one item.
    closest : Margin, or None
        The exchange that is farthest from passing of all; None where there is none.
    at : float
        The delta that the margins are for.
    unanswered : tuple of labels
        Items without observations; while there are any, no rule stops.
    catalogue : int
        The order of arrival of the learner's items: 1, and one more after each change or restart. The n-th spends
        6 / (pi^2 n^2) of delta; 0 for an experiment, which spends all on one.
    is_proven : bool
        Whether errors are proven to stay below delta.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.UniformRandom(), seed=0)
    >>> for _ in range(60):
    ...     decision = learner.ask()
    ...     learner.tell(decision, [1.0 if "a" in decision.labels else 0.0])
    >>> print(learner.confidence(weights="unit"))
    at delta 4.5e-16 it would stop; the closest call is a over b
    """

    delta: float
    items: tuple[Label, ...]
    n_exchanges: int
    n_passed: int
    margins: tuple[Margin, ...]
    closest: Margin | None
    at: float
    unanswered: tuple[Label, ...] = ()
    catalogue: int = 0
    is_proven: bool = True

    def is_sure(self, delta: float) -> bool:
        """Return whether the rule would stop now at this delta."""
        return self.delta < as_delta(delta)

    def __str__(self) -> str:
        if self.n_exchanges == 0:
            return "there is no other set"
        if self.unanswered:
            names = ", ".join(map(_name, self.unanswered[:3])) + (", ..." if len(self.unanswered) > 3 else "")
            return (
                f"it would not stop at any delta: {counted(len(self.unanswered), 'item')} without an answer, {names}"
            )
        assert self.closest is not None
        call = f"the closest call is {_name(self.closest.inside)} over {_name(self.closest.outside)}"
        if self.delta >= 1.0:
            return f"it would not stop at any delta yet; {call}"
        proof = "" if self.is_proven else ", which is not proven,"
        return f"at delta {_rounded_up(self.delta)}{proof} it would stop; {call}"

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `from_dict` makes an equal object."""
        return {
            "delta": self.delta,
            "items": [encode(label, "label") for label in self.items],
            "n_exchanges": self.n_exchanges,
            "n_passed": self.n_passed,
            "margins": [margin.to_dict() for margin in self.margins],
            "closest": None if self.closest is None else self.closest.to_dict(),
            "at": self.at,
            "unanswered": [encode(label, "label") for label in self.unanswered],
            "catalogue": self.catalogue,
            "is_proven": self.is_proven,
            "words": str(self),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Confidence:
        """Make the object described by the output of `to_dict`."""
        fields = {name: form[name] for name in ("delta", "n_exchanges", "n_passed", "at", "catalogue", "is_proven")}
        return cls(
            items=tuple(decode(form["items"])),
            margins=tuple(Margin.from_dict(each) for each in form["margins"]),
            closest=None if form["closest"] is None else Margin.from_dict(form["closest"]),
            unanswered=tuple(decode(form["unanswered"])),
            **fields,
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return the margins as a table with a row for each."""
        pd = pandas_for("to_frame")
        columns = ("inside", "outside", "statistic", "threshold", "plays")
        return pd.DataFrame([[getattr(margin, name) for name in columns] for margin in self.margins], columns=columns)


@dataclass
class Tested:
    """All exchanges of one run with their tests at one delta; what a `Confidence` is made of."""

    watch: Watch
    counts: FloatArray
    means: FloatArray
    basis: IntArray
    leaves: IntArray
    enters: IntArray
    t: int
    delta: float
    statistics: FloatArray = field(init=False)
    thresholds: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.statistics, self.thresholds = self._test(self._level(self.delta))

    def _level(self, delta: float) -> float:
        return float(self.watch.levels(delta, self.counts[None], self.t)[0])

    @property
    def _law(self) -> tuple[int, int, float, float, float]:
        watch = self.watch
        return watch.law, watch.test, watch.deviation, RHO, watch.rule.tolerance

    def _test(self, level: float) -> tuple[FloatArray, FloatArray]:
        statistics, thresholds = np.empty(self.leaves.size), np.empty(self.leaves.size)
        exchange.tested(self.counts, self.means, self.leaves, self.enters, *self._law, level, statistics, thresholds)
        return statistics, thresholds

    def least_delta(self) -> float:
        """The least delta at which all tests pass, 1 where there is none below."""
        if not self.leaves.size:
            return 0.0
        shortfall = self.thresholds - self.statistics
        if np.isinf(shortfall).any():
            return 1.0
        if self.watch.is_level_log:  # thresholds are a level plus what does not depend on delta
            log_delta = math.log(self.delta) + float(shortfall.max())
            return min(1.0, math.exp(min(log_delta, 0.0)))
        low, high = -800.0, 0.0  # logs of a delta that is too small, and of one that is large enough
        if not self._all_pass(high):
            return 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._all_pass(middle) else (middle, high)
        return math.exp(high)

    def _all_pass(self, log_delta: float) -> bool:
        statistics, thresholds = self._test(self._level(1.0) - log_delta)
        return bool((statistics > thresholds).all())

    def needed(self, chosen: IntArray) -> IntArray:
        """How many more plays the exchanges at some places need, -1 where no number is enough."""
        found = np.empty(chosen.size, np.int64)
        leaves, enters = self.leaves[chosen], self.enters[chosen]
        level = self._level(self.delta)
        exchange.plays_needed(self.counts, self.means, leaves, enters, *self._law, level, found)
        return found


def confidence(
    watch: Watch,
    counts: IntArray,
    sums: FloatArray,
    t: int,
    *,
    delta: float = 0.05,
    n_margins: int | None = 20,
    of: int | None = None,
    catalogue: int = 0,
) -> Confidence:
    """Return how certain a stopping rule is of the best basis of one run.

    Parameters
    ----------
    watch : Watch
        The rule on its matroid.
    counts, sums : arrays (L,)
        Answered plays of each item, and their gains.
    t : int
        How many rounds there were.
    delta : float, default 0.05
        Of the margins.
    n_margins : int or None, default 20
        How many margins to list, the farthest first; None for all.
    of : int, optional
        The item whose margins are listed; by default all items'.
    catalogue : int, default 0
        See `Confidence`.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.identification import Watch, confidence
    >>> watch = Watch(mb.StoppingRule(deviation=1.0), mb.UniformMatroid(2, 1, labels="ab"))
    >>> found = confidence(watch, np.array([50, 50]), np.array([40.0, 10.0]), t=50)
    >>> found.margins[0].plays
    15
    """
    n, means = watch.evidence(counts[None], sums[None])
    basis = watch.bases(n, means)[0]
    leaves, enters = watch.matroid.exchanges(basis)
    tested = Tested(watch, n[0], means[0], basis, leaves, enters, t, as_delta(delta))
    shortfall = tested.thresholds - tested.statistics
    order = np.argsort(-shortfall, kind="stable")
    first = order[:1]
    if of is not None:
        order = order[(leaves[order] == of) | (enters[order] == of)]
    shown = order[:n_margins]
    labels = watch.matroid.labels

    def margins(chosen: IntArray) -> tuple[Margin, ...]:
        return tuple(
            Margin(
                labels[leaves[j]],
                labels[enters[j]],
                float(tested.statistics[j]),
                float(tested.thresholds[j]),
                None if plays < 0 else plays,
            )
            for j, plays in zip(chosen.tolist(), tested.needed(chosen).tolist(), strict=True)
        )

    can_matter = np.zeros(n.shape[1], bool)
    can_matter[leaves], can_matter[enters] = True, True
    return Confidence(
        delta=tested.least_delta(),
        items=tuple(labels[e] for e in basis.tolist()),
        n_exchanges=int(leaves.size),
        n_passed=int((tested.statistics > tested.thresholds).sum()),
        margins=margins(shown),
        closest=margins(first)[0] if first.size else None,
        at=tested.delta,
        unanswered=tuple(labels[e] for e in np.flatnonzero(can_matter & (n[0] == 0.0)).tolist()),
        catalogue=catalogue,
        is_proven=watch.rule.threshold != "unproven",
    )


def _rounded_up(delta: float) -> str:
    """A delta with two digits, at which the rule would still stop."""
    for _ in range(3):
        text = f"{delta:.2g}"
        if float(text) >= delta:
            return text
        delta *= 1.0 + 10.0 ** (-2.0)
    return text


def _name(label: Label) -> str:
    return "-".join(map(str, label)) if isinstance(label, tuple) else str(label)
