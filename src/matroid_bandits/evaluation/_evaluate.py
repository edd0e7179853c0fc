"""`evaluate`: what targets would have earned, and what the learner earned beyond its hold-out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.extras import pandas_for
from matroid_bandits.constraint import Constraint
from matroid_bandits.evaluation._estimators import Decisions, Estimate, Method, Target, estimate
from matroid_bandits.evaluation._laws import FrozenTarget, Propensities, RandomSets, labels_of
from matroid_bandits.evaluation._log import Log, LoggedDecision, read_log
from matroid_bandits.evaluation._parts import Categories, by_value, of_decisions
from matroid_bandits.evaluation._uplift import Look, UpliftSequence
from matroid_bandits.evaluation._windows import UpliftSummary, UpliftSums, holdout_notes, shown_words, unit_hash
from matroid_bandits.exceptions import EvaluationError, MatroidBanditsError
from matroid_bandits.learner import KINDS

if TYPE_CHECKING:
    import pandas

#: Below this effective size an interval is not to be trusted.
_ENOUGH = 100.0

#: What the sets that were played are called among targets.
PLAYED = "as played"

#: How often the uplift is looked at along the log.
_LOOKS = 200


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`: estimated values of target policies from a log.

    Attributes
    ----------
    estimates : dict of str to Estimate
        The value per decision of each target, in the units of the weights.
    played : Estimate
        The same of the sets that were played, held-out decisions included.
    learner : Estimate
        The same of the sets that the learner chose as it learnt, or would have chosen where others were played.
    uplift : UpliftSummary, or None
        The learner against its control: averages per decision, in windows up to the last event of the log. Decisions
        count since the control, or the tag of the hold-out, was last changed. None where nothing was held out.
    looks : tuple of Look
        The same, valid at any time: in gains, of decisions in the order in which they were settled, of each unit the
        first; at about 200 decisions evenly apart.
    parts : dict of str to dict of str to dict of str to Estimate
        Estimates, those of the sets that were played among them as "as played", by the values of each tag that was
        asked for, and by "category".
    n_open, n_lost : int
        Decisions that were left out: those that still wait for answers, and those that were closed without any. One
        that was closed after an answer counts with what was told.
    method : str
        The estimator.
    minimize : bool
        Whether weights are costs.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0, holdout=0.5, record=events.append)
    >>> for _ in range(20):
    ...     learner.tell(learner.ask(), [0.5])
    >>> mb.evaluation.evaluate(events, {"first": [0]}).played.value
    0.5
    """

    estimates: dict[str, Estimate]
    played: Estimate
    learner: Estimate
    uplift: UpliftSummary | None
    n_open: int
    n_lost: int
    method: str
    minimize: bool
    looks: tuple[Look, ...] = ()
    parts: dict[str, dict[str, dict[str, Estimate]]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON."""
        return {
            "method": self.method,
            "minimize": self.minimize,
            "n_open": self.n_open,
            "n_lost": self.n_lost,
            "played": _form(self.played),
            "learner": _form(self.learner),
            "uplift": None if self.uplift is None else _plain(self.uplift.to_dict()),
            "sequence": _plain(asdict(self.looks[-1])) if self.looks else None,
            "estimates": {name: _form(found) for name, found in self.estimates.items()},
            "parts": {
                by: {part: {name: _form(found) for name, found in row.items()} for part, row in table.items()}
                for by, table in self.parts.items()
            },
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row per target, the logged sets first."""
        pd = pandas_for("to_frame")

        rows = {PLAYED: self.played} | self.estimates
        frame = pd.DataFrame([asdict(found) for found in rows.values()], index=pd.Index(rows, name="target"))
        frame.insert(2, "low", [found.low for found in rows.values()])
        frame.insert(3, "high", [found.high for found in rows.values()])
        return frame.drop(columns="method")


def evaluate(
    log: Any,
    targets: Mapping[str, Any] | Iterable[Any],
    *,
    method: Method = "dr",
    unit: str | None = None,
    by: Iterable[str] = (),
    categories: bool = False,
    weights: tuple[float, float] | None = None,
    n_redraws: int | None = None,
    n_draws: int = 100_000,
    seed: int = 0,
    strict: bool = True,
) -> Evaluation:
    """Estimate the value of other policies from a log with a hold-out.

    A target is a set of items; `FixedSet`; `UniformRandom`, for random sets; or a frozen `Learner`. A policy that
    keeps learning is refused, since its choices would depend on feedback that was not observed. Estimates are
    unbiased if the weight of an item does not depend on the other items of its set.

    Parameters
    ----------
    log : Log, or anything that `read_log` takes
        The log of decisions and feedback.
    targets : mapping of name to target, or iterable of targets
        The policies to evaluate.
    method : {"dr", "snips", "iips"}, default "dr"
        Doubly robust; self-normalised; or plain inverse propensities per item.
    unit : str, optional
        The tag of the units of randomisation, such as a visitor: decisions of one unit depend on each other. By
        default the tag of a sticky hold-out; otherwise each decision is a unit.
    by : iterable of str
        Tags: values are also estimated over the decisions with each value of these, the 20 most frequent.
    categories : bool, default False
        Whether values are also estimated by category of items: the block of a partition matroid, else what a label
        has before ``/``, ``:`` or ``|``. These add up to the value of the whole set.
    weights : (float, float), optional
        The range of the weights; by default 0 to 1, or that of the log where it is wider.
    n_redraws : int, optional
        How often the set of a policy that samples is drawn again for each decision; by default as often as keeps the
        bias of a weight below 1%, at most 10,000 times.
    n_draws : int, default 100_000
        See `inclusion_probabilities`.
    seed : int, default 0
        Of those draws.
    strict : bool, default True
        Whether a target that the log cannot value is an error. Otherwise its value is NaN, and the `warnings` of its
        estimate say why.

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        The log has no settled decision; an item of a target has propensity 0; or a target keeps learning.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> events, rng = [], np.random.default_rng(0)
    >>> matroid = mb.UniformMatroid(4, 1, labels=["a", "b", "c", "d"])
    >>> learner = mb.Learner(matroid, mb.OMM(), seed=0, holdout=0.2, record=events.append)
    >>> chance = {"a": 0.2, "b": 0.4, "c": 0.6, "d": 0.8}
    >>> for _ in range(2000):
    ...     decision = learner.ask()
    ...     learner.tell(decision, [float(rng.random() < chance[label]) for label in decision.labels])
    >>> found = mb.evaluation.evaluate(events, {"editor": ["b"], "random": mb.UniformRandom()})
    >>> [(name, round(each.value, 2), round(each.error, 2)) for name, each in found.estimates.items()]
    [('editor', 0.36, 0.04), ('random', 0.5, 0.02)]
    """
    log = log if isinstance(log, Log) else read_log(log)
    unit = log.holdout.by if unit is None else unit
    n_draws = as_integer("n_draws", n_draws, 1, error=EvaluationError)
    if n_redraws is not None:
        n_redraws = as_integer("n_redraws", n_redraws, 1, error=EvaluationError)
    named = _named(targets)
    random = RandomSets(n_draws, seed)
    parts = Categories() if categories else None
    frozen = {name: FrozenTarget(target, random) for name, target in named.items()}
    table = _Table(log, frozen, random, n_redraws, parts, strict)
    settled = table.decisions(_units(table.kept, unit))
    estimates, cautions = {}, _cautions(table.kept)
    for name in named:
        if name in table.refused:
            estimates[name] = table.nothing(settled, table.refused[name], method)
            continue
        found = estimate(settled, table.target(name), method)
        found = replace(found, warnings=(*found.warnings, *cautions))
        if found.warnings and (share := table.needed_share(name)) is not None:
            said = f"a hold-out of {share:.1%} over as many decisions would be enough for any of its items"
            found = replace(found, warnings=(*found.warnings, said))
        estimates[name] = found
    uplift, looks = _uplift(log, unit, weights)
    return Evaluation(
        estimates=estimates,
        played=table.played(settled),
        learner=table.own(settled, method),
        uplift=uplift,
        n_open=sum(not each.is_settled for each in log.decisions),
        n_lost=sum(each.is_settled and not each.is_counted for each in log.decisions),
        method=method,
        minimize=log.minimize,
        looks=looks,
        parts=table.parts(settled, method, [by] if isinstance(by, str) else [*by]),
    )


def _named(targets: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    if isinstance(targets, Mapping):
        return dict(targets)
    try:
        listed = [*targets]
    except TypeError:
        raise EvaluationError(f"expected targets by name, or a list of them; got {type(targets).__name__}") from None
    return {str(target): target for target in listed}


#: The name of what the learner itself would have done among targets; no user's is called so.
_OWN = "\0learner"


#: Why estimators by item say nothing of some logs.
_NOT_ADDED = 'with answers="first-failure" the value of a set is not the sum of its items\' values'


def _counted(decision: LoggedDecision) -> FloatArray:
    """Weights that add up to what a decision was worth; what was never told counts nothing."""
    if decision.answers == "first-failure":
        return np.full(decision.weights.size, decision.value / max(decision.weights.size, 1))
    return np.nan_to_num(decision.weights)


def _cautions(kept: list[LoggedDecision]) -> tuple[str, ...]:
    """Warnings on estimates by item where people see less of what is further down."""
    if not any(KINDS[each.answers].is_list for each in kept):
        return ()
    return (
        "what an item gets depends on its place in the list and on the items above it, which estimates by item leave "
        "out; compare with the learner's control instead",
    )


class _Table:
    """Rows of played items with their propensities, and what each target would have done, in one pass."""

    def __init__(
        self,
        log: Log,
        targets: dict[str, FrozenTarget],
        random: RandomSets,
        n_redraws: int | None,
        categories: Categories | None,
        is_strict: bool,
    ) -> None:
        self.kept: list[LoggedDecision] = []
        self.refused: dict[str, str] = {}  # why targets cannot be valued
        self._is_strict = is_strict
        self._targets, self._categories = targets, categories
        self._p: list[FloatArray] = []
        self._f: list[FloatArray] = []
        self._codes: list[IntArray] = []
        self._columns = {name: _Column([], [], []) for name in (*targets, _OWN)}
        self._least_q = dict.fromkeys(targets, 1.0)
        propensities, known = Propensities(log, random, n_redraws), _Means()
        n_followed = 0
        for number, decision, places in log.steps:
            for event in log.events[n_followed : number - 1]:  # what came before this step
                propensities.follow(event)
            n_followed = max(n_followed, number - 1)
            if places is not None:
                known.add(decision, places)
            elif decision.is_counted:
                p, q = propensities.of(decision)
                self._add(decision, p, propensities.own, known.of(decision.constraint), q)
        self._n_redraws = propensities.n_redraws

    def _add(self, decision: LoggedDecision, p: FloatArray, own: FloatArray, f: FloatArray, q: FloatArray) -> None:
        items = decision.items
        codes = (
            np.zeros(f.size, np.int64) if self._categories is None else self._categories.codes(decision.constraint)
        )
        self.kept.append(decision)
        self._p.append(p[items])
        self._f.append(f[items])
        self._codes.append(codes[items])
        self._columns[_OWN].add(own, items, f, codes)
        for name, target in self._targets.items():
            if name in self.refused:
                continue
            try:
                if decision.answers == "first-failure":
                    raise EvaluationError(f"the log cannot value {name}: {_NOT_ADDED}")
                e = target.of(decision)
                missing = np.flatnonzero((e > 0.0) & (p <= 0.0))
                if missing.size:
                    raise EvaluationError(
                        f"the log cannot value {name}: {labels_of(decision.constraint, missing)} could not have been "
                        f"chosen at decision {decision.id}; a hold-out of random sets would have shown every item at "
                        "times"
                    )
            except MatroidBanditsError as error:
                if self._is_strict:
                    raise
                self.refused[name] = str(error)
                continue
            self._columns[name].add(e, items, f, codes)
            self._least_q[name] = min(self._least_q[name], float(q[(e > 0.0) & (q > 0.0)].min(initial=1.0)))

    def decisions(self, units: IntArray | None) -> Decisions:
        if not self.kept:
            raise EvaluationError(
                "expected at least one decision that is answered, or closed with an answer; got a log without any"
            )
        return Decisions(
            np.repeat(np.arange(len(self.kept)), [each.items.size for each in self.kept]),
            np.concatenate([_counted(each) for each in self.kept]),
            np.concatenate(self._p),
            np.concatenate(self._f),
            np.array([each.is_held_out for each in self.kept], bool),
            units,
            self._n_redraws,
        )

    def target(self, name: str, category: int | None = None) -> Target:
        """What a target would have done; of the items of one category where that is said."""
        column = self._columns[name]
        inclusions = np.concatenate(column.inclusions)
        if category is None:
            return Target(inclusions, _sums(column.sizes), _sums(column.predicted))
        inclusions = inclusions * (np.concatenate(self._codes) == category)
        return Target(inclusions, _sums(column.sizes, category), _sums(column.predicted, category))

    def own(self, settled: Decisions, method: Method) -> Estimate:
        """The value of the sets that the learner itself would have played."""
        if any(each.answers == "first-failure" for each in self.kept):
            return self.nothing(settled, _NOT_ADDED, method)
        return estimate(settled, self.target(_OWN), method)

    def nothing(self, settled: Decisions, reason: str, method: Method) -> Estimate:
        """The row of a target that cannot be valued, and why."""
        nan, n_held_out = float("nan"), int(settled.is_held_out.sum())
        n_units = len(settled) if settled.units is None else np.unique(settled.units).size
        return Estimate(nan, nan, len(settled), n_held_out, n_units, 0.0, nan, nan, nan, nan, method, (reason,), 0.0)

    def played(self, settled: Decisions, chosen: FloatArray | None = None) -> Estimate:
        """The value of the sets that were played, or of some of their items: weights of 1."""
        ones = np.ones(settled.weights.size)
        is_in = ones if chosen is None else chosen
        as_it_was = replace(settled, propensities=ones, n_redraws=0)
        target = Target(is_in, settled.total(is_in), settled.total(is_in))
        return replace(estimate(as_it_was, target, "iips"), warnings=())

    def parts(self, settled: Decisions, method: Method, tags: list[str]) -> dict[str, dict[str, dict[str, Estimate]]]:
        """Estimates by the values of tags and by category."""
        found: dict[str, dict[str, dict[str, Estimate]]] = {}
        names = [name for name in self._targets if name not in self.refused]
        for tag in tags:
            if not any(tag in each.tags for each in self.kept):
                raise EvaluationError(f"expected decisions with the tag {tag!r}, got none")
            found[tag] = {}
            for value, chosen in by_value(self.kept, tag).items():
                row = {PLAYED: self.played(of_decisions(settled, self.target(_OWN), chosen)[0])}
                for name in names:
                    row[name] = estimate(*of_decisions(settled, self.target(name), chosen), method)
                found[tag][value] = row
        if self._categories is not None:
            codes = np.concatenate(self._codes)
            found["category"] = {
                category: {PLAYED: self.played(settled, (codes == code) * 1.0)}
                | {name: estimate(settled, self.target(name, code), method) for name in names}
                for category, code in self._categories.names.items()
            }
        return found

    def needed_share(self, name: str) -> float | None:
        """The hold-out share at which the target's least likely item would be played often enough; None for none."""
        share = _ENOUGH / (len(self.kept) * self._least_q[name])
        return share if share <= 1.0 else None


@dataclass
class _Column:
    """What a target would have done, decision by decision: of the played items, and in sums by category."""

    inclusions: list[FloatArray]
    sizes: list[FloatArray]
    predicted: list[FloatArray]

    def add(self, e: FloatArray, items: IntArray, f: FloatArray, codes: IntArray) -> None:
        self.inclusions.append(e[items])
        self.sizes.append(np.bincount(codes, e).astype(np.float64))
        self.predicted.append(np.bincount(codes, e * f).astype(np.float64))


def _sums(rows: list[FloatArray], place: int | None = None) -> FloatArray:
    """The sum of each row, or what each has at a place; rows may end before it."""
    if place is None:
        return np.array([row.sum() for row in rows])
    return np.array([row[place] if place < row.size else 0.0 for row in rows])


class _Means:
    """Mean weights of items by label, from the answers so far; the mean of all for an item without any."""

    def __init__(self) -> None:
        self._counts: dict[Label, float] = {}
        self._sums: dict[Label, float] = {}
        self._n, self._sum = 0, 0.0
        self._constraint: Constraint | None = None
        self._values: FloatArray = np.empty(0)  # of the items of that constraint, NaN without answers

    def add(self, decision: LoggedDecision, places: IntArray) -> None:
        labels, counts, sums = decision.constraint.labels, self._counts, self._sums
        if decision.constraint is not self._constraint:
            self._constraint = None  # items by other numbers: `of` reads them anew
        for e, weight in zip(decision.items[places].tolist(), decision.weights[places].tolist(), strict=True):
            label = labels[e]
            counts[label] = counts.get(label, 0) + 1
            sums[label] = sums.get(label, 0.0) + weight
            self._n += 1
            self._sum += weight
            if self._constraint is not None:
                self._values[e] = sums[label] / counts[label]

    def of(self, constraint: Constraint) -> FloatArray:
        if constraint is not self._constraint:
            counts, sums = self._counts, self._sums
            means = (sums[label] / counts[label] if label in counts else np.nan for label in constraint.labels)
            self._constraint, self._values = constraint, np.array([*means], np.float64)
        typical = self._sum / self._n if self._n else 0.5
        return np.where(np.isnan(self._values), typical, self._values)


def _units(kept: list[LoggedDecision], unit: str | None) -> IntArray | None:
    """The number of each decision's unit; a decision without the tag is a unit of its own."""
    if unit is None:
        return None
    numbers: dict[Any, int] = {}
    found = [numbers.setdefault(repr(each.tags[unit]) if unit in each.tags else each, len(numbers)) for each in kept]
    if not any(unit in each.tags for each in kept):
        raise EvaluationError(f"expected decisions with the tag {unit!r}, got none")
    return np.array(found, np.int64)


def _uplift(
    log: Log, unit: str | None, weights: tuple[float, float] | None
) -> tuple[UpliftSummary | None, tuple[Look, ...]]:
    """The learner against its control as at the end of the log: the headline, and looks at the sequence."""
    since, policy_days = _stretch(log)
    asked = {id(each): number for number, each, places in log.steps if places is None}
    chosen = [each for each in log.decisions if asked[id(each)] > since and 0.0 < each.share < 1.0]
    settled = sorted((each for each in chosen if each.settled_by), key=lambda each: each.settled_by)
    if not settled:
        return None, ()
    sums = UpliftSums(unit, log.minimize)
    for changed in policy_days:
        sums.change_policy(changed)
    for each in settled:
        day = _day(each.asked_at)
        if not each.is_counted:
            sums.lose(day, each.is_held_out)
            continue
        known = each.weights[~np.isnan(each.weights)]
        sums.are_clicks &= each.answers != "first-failure" and bool(np.isin(known, (0.0, 1.0)).all())
        value = each.tags.get(unit) if unit is not None else None
        hashed = None if unit is None else unit_hash(unit, each.id if value is None else value)
        sums.add(day, each.value, each.is_held_out, each.items.size, hashed)
    counted = [each for each in settled if each.is_counted]
    looks, shown = _sequence(log, _first_of_units(counted, unit), weights)
    today = _day(log.events[-1].at)
    notes = holdout_notes(log.holdout, log.constraint)
    return sums.summary(today, notes, shown, with_points=True), looks


def _day(at: float) -> int | None:
    """The day of a time, counted from 1970 in UTC; None of a log without a clock."""
    return int(at // 86_400) if np.isfinite(at) else None


def _stretch(log: Log) -> tuple[int, list[int]]:
    """The last event that changed what decisions are compared with, and the days of changes of the policy since."""
    since, days = 0, list[int]()  # of events from 1 on
    for (before, was, earlier), (event, holdout, control) in pairwise(log.settings):
        if (earlier, was.by) != (control, holdout.by):
            since, days = event.number, []
        if before.form["policy"] != event.form["policy"] and (day := _day(event.at)) is not None:
            days.append(day)
    return since, days


def _first_of_units(counted: list[LoggedDecision], unit: str | None) -> list[LoggedDecision]:
    """The first decision of each unit; all where each is a unit of its own."""
    met: set[str] = set()
    first = []
    for each in counted:
        if unit is not None and unit in each.tags:
            value = repr(each.tags[unit])
            if value in met:
                continue
            met.add(value)
        first.append(each)
    return first


def _sequence(
    log: Log, first: list[LoggedDecision], weights: tuple[float, float] | None
) -> tuple[tuple[Look, ...], str]:
    """Looks at the confidence sequence along the log, and since when it has excluded zero, in words."""
    if not first:
        return (), ""
    low, high = weights if weights is not None else (0.0, 1.0)
    kinds = [KINDS[answers] for answers in {each.answers for each in first}]
    largest = max(each.items.size for each in first)
    if weights is None:
        low = min(low, *(float(np.nanmin(each.weights, initial=0.0)) for each in first))
        high = max(high, *(float(np.nanmax(each.weights, initial=0.0)) for each in first))
    sign = -1.0 if log.minimize else 1.0
    ends = [sign * end for kind in kinds for end in kind.range(low, high, largest)]
    sequence = UpliftSequence(min(ends), max(ends))
    values: FloatArray = np.array([sign * each.value for each in first])
    arms: BoolArray = np.array([each.is_held_out for each in first], bool)
    shares, looks = np.array([each.share for each in first]), []
    since: int | None = None  # the place of the first decision after which the sequence excluded zero
    for part in np.array_split(np.arange(len(first)), min(_LOOKS, len(first))):
        found = sequence.trace(values[part], arms[part], shares[part]).sequence
        holds_zero = np.flatnonzero((found[:, 0] <= 0.0) & (found[:, 1] >= 0.0))
        if holds_zero.size:
            since = None
            part, found = part[holds_zero[-1] + 1 :], found[holds_zero[-1] + 1 :]
        if since is None and part.size:
            since = int(part[0])
        looks.append(sequence.look())
    if since is None:
        return tuple(looks), ""
    return tuple(looks), shown_words(looks[-1].sequence[0] > 0.0, log.events[first[since].settled_by - 1].at)


def _form(found: Estimate) -> dict[str, Any]:
    form: dict[str, Any] = _plain(asdict(found) | {"low": found.low, "high": found.high})
    return form


def _plain(value: Any) -> Any:
    """Numbers that JSON has no word for as None."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
