"""The chapter on a log: what targets would have earned, and whether the learner was worth it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import floor, isnan, log10

import numpy as np

from matroid_bandits._util.plots import Curve, Panel
from matroid_bandits._util.tables import Cell, Column, Estimate, Table
from matroid_bandits.evaluation import Estimate as Valued
from matroid_bandits.evaluation import Evaluation
from matroid_bandits.reporting._blocks import Block, Plot, Text
from matroid_bandits.reporting._chapter import Chapter, DataSource, LogFacts

_METHODS = {
    "dr": "Doubly robust estimates",
    "snips": "Self-normalised estimates by inverse propensities",
    "iips": "Estimates by inverse propensities per item",
}
_ASSUMPTION = "They are right if the weight of an item does not depend on the items chosen beside it."


def evaluation_chapter(
    found: Evaluation,
    policies: Mapping[str, str],
    *,
    name: str,
    title: str,
    source: str,
    best: str | None = None,
    details: bool = False,
    wall_time: float = 0.0,
) -> Chapter:
    """Return the report chapter on a log: values of targets, uplift, the cost of exploration, and values by segment.

    Parameters
    ----------
    found : Evaluation
        What `evaluate` found.
    policies : mapping of name to str
        Each target in words.
    name, title, source : str
        Short name, fit for files and links; the heading; where the log comes from.
    best : str, optional
        The target that is the best set by what is known today: what learning cost is told beside it.
    details : bool, default False
        Whether all windows of the uplift are shown, other intervals of it and p values.
    wall_time : float
        Seconds spent.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0, holdout=0.5, record=events.append)
    >>> for _ in range(20):
    ...     learner.tell(learner.ask(), [0.5])
    >>> found = mb.evaluation.evaluate(events, {"random": mb.UniformRandom()})
    >>> chapter = evaluation_chapter(found, {}, name="ads", title="Ads", source="A log.", details=True)
    >>> [table.name for table in chapter.tables]
    ['targets', 'uplift', 'exploring']
    """
    rows = {"as played": found.played, "the learner": found.learner} | found.estimates
    blocks: list[Block] = [_targets(rows, found)]
    said = [(target, warning) for target, each in rows.items() for warning in each.warnings]
    blocks += [Text(f"{target}: {warning}.") for target, warning in said]
    blocks += _uplift(found, name, details)
    blocks.append(_exploring(found, best))
    blocks += _parts(found)
    return Chapter(
        name=name,
        title=title,
        lead=f"What other sets would have earned at the decisions of this log. {_METHODS[found.method]}, with 95% "
        f"intervals. {_ASSUMPTION}",
        run=LogFacts(
            n_decisions=found.played.n_decisions,
            n_held_out=found.played.n_held_out,
            n_units=found.played.n_units,
            n_open=found.n_open,
            n_lost=found.n_lost,
            method=found.method,
            policies=dict(policies),
            data=(DataSource(title, source),),
            wall_time=wall_time,
        ),
        blocks=tuple(blocks),
        records={"evaluation": found.to_dict()},
    )


def _targets(rows: Mapping[str, Valued], found: Evaluation) -> Table:
    word, spec = "cost" if found.minimize else "value", _spec(each.error for each in rows.values())
    return Table(
        name="targets",
        title=f"{word.capitalize()} per decision",
        columns=(
            Column("target", is_text=True),
            Column(word, spec),
            Column("low", spec, group="95% interval"),
            Column("high", spec, group="95% interval"),
            Column("plays that count", ",.0f"),
            Column("largest weight", ".3g"),
            Column("least propensity", ".2g"),
        ),
        rows=tuple(
            (
                target,
                *((None,) * 6 if isnan(each.value) else _valued(each)),
            )
            for target, each in rows.items()
        ),
        note="Plays that count: the effective sample size, how many unweighted plays carry the same information."
        " There is no interval where they are too few.",
    )


def _valued(each: Valued) -> tuple[Cell, ...]:
    ends = _finite((each.low, each.high))
    return Estimate(each.value, each.error), *ends, each.effective_size, each.largest_weight, each.least_propensity


def _spec(errors: Iterable[float]) -> str:
    """How numbers are written whose least standard error shall have two digits."""
    least = min((error for error in errors if 0.0 < error < np.inf), default=0.01)
    return f",.{min(max(1 - floor(log10(least)), 0), 9)}f"


def _uplift(found: Evaluation, name: str, with_details: bool) -> Iterator[Block]:
    """What the learner earned beyond its control: one sentence; with details other intervals and p values."""
    uplift = found.uplift
    if uplift is None:
        yield Text("Nothing was held out, so the learner cannot be compared with a control.")
        return
    yield Text(f"The learner against its control: {uplift.sentence}")
    for said in (*uplift.notes, uplift.shown):
        if said:
            yield Text(said)
    if not (with_details and found.looks):
        return
    look = found.looks[-1]
    rows: list[tuple[Cell, ...]] = [
        (_WINDOWS[each.name], each.n_learner, each.n_control, each.value, each.low, each.high)
        for each in uplift.windows.values()
    ]
    n_learner = look.n_decisions - look.n_control
    for words, ends in (
        ("sequence: valid at any time", look.sequence),
        ("sequence: valid at any time, without asymptotics", look.exact),
        ("sequence: of a single look that was planned", look.single),
    ):
        rows.append((words, n_learner, look.n_control, look.value, *_finite(ends)))
    yield Table(
        name="uplift",
        title="The learner against its control",
        columns=(
            Column("decisions of", is_text=True),
            Column("learner", ","),
            Column("control", ","),
            Column("gain per decision", ".4g"),
            Column("low", ".4g", group="95% interval"),
            Column("high", ".4g", group="95% interval"),
        ),
        rows=tuple(rows),
        note="A sequence has each unit's first decision alone, and is valid at every look. A bet against no "
        f"difference would be lost at the level {look.p_better:.2g} for better, {look.p_worse:.2g} for worse.",
    )
    looks = [(each, each.value) for each in found.looks if each.value is not None]
    if len(looks) > 1:
        x = np.array([each.n_decisions for each, _ in looks])
        half = np.array([value - each.sequence[0] for each, value in looks])
        curve = Curve("uplift", np.array([value for _, value in looks]), half)
        panel = Panel(
            "Learner less control",
            x,
            (curve, Curve("no difference", np.zeros(x.size))),
            "gain per decision",
            is_log=False,
            from_zero=False,
            x_label="decisions or units",
        )
        yield Plot(f"{name}-uplift", "Sequence", (panel,), "The band is valid at every look.")


#: Windows in words.
_WINDOWS = {
    "7d": "the last 7 days",
    "28d": "the last 28 days",
    "start": "all days",
    "policy": "days since the last change of policy",
}


def _finite(ends: tuple[float, float]) -> tuple[Cell, Cell]:
    low, high = (end if np.isfinite(end) else None for end in ends)
    return low, high


def _exploring(found: Evaluation, best: str | None) -> Table:
    sign = -1.0 if found.minimize else 1.0
    rows: list[tuple[Cell, ...]] = [
        ("the hold-out: what the learner's sets would have earned beyond those that were played",
         sign * (found.learner.value - found.played.value)),
    ]  # fmt: skip
    if best is not None and best in found.estimates and not isnan(found.estimates[best].value):
        beyond = sign * (found.estimates[best].value - found.learner.value)
        rows.append((f"learning: what {best} would have earned beyond the learner's sets", beyond))
    return Table(
        name="exploring",
        title="What exploring cost",
        columns=(Column("per decision", is_text=True), Column("cost", ".4g")),
        rows=tuple(rows),
        note="The best set at the end is known by the answers of the same log, so its lead is too large by a little."
        if len(rows) > 1
        else "",
    )


def _parts(found: Evaluation) -> Iterator[Block]:
    for by, table in found.parts.items():
        names = [*next(iter(table.values()))] if table else []
        spec = _spec(each.error for row in table.values() for each in row.values())
        yield Table(
            name=f"by-{by}",
            title=f"By {by}",
            columns=(Column(by, is_text=True), *(Column(name, spec) for name in names), Column("decisions", ",")),
            rows=tuple(
                (
                    part,
                    *(Estimate(row[name].value, row[name].error) for name in names),
                    row[names[0]].n_decisions,
                )
                for part, row in table.items()
            ),
            note="Categories add up to the value of the whole set." if by == "category" else "",
        )
