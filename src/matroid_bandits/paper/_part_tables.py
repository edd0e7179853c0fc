"""Tables and plots that the parts of the chapter beyond the paper share: every family of policies at its best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matroid_bandits.paper._part import PartOutcome
from matroid_bandits.reporting import Cell, Column, Estimate, Plot, Table, size_note
from matroid_bandits.simulation import Sweep, regret_panels


def final_regret(sweep: Sweep, problem: str, policy: str) -> Estimate:
    """A policy's regret on a problem after the last episode, with its standard error."""
    own = sweep[problem][policy]
    return Estimate(float(own.regret[-1]), float(own.regret_se[-1]))


def best_table(outcome: PartOutcome, problems: Sequence[str], name: str, title: str, note: str = "") -> Table:
    """The regret of each family of policies at its best scale: one half of the runs chose it, the other tells."""
    sweep = outcome.sweep
    best = {(family, each.problem): each for family in sweep.families for each in sweep.best(family)}
    rows: list[tuple[Cell, ...]] = []
    for family in sweep.groups:
        row: list[Cell] = [family]
        for problem in problems:
            own = best.get((family, problem))
            regret = final_regret(sweep, problem, family) if own is None else Estimate(own.regret, own.regret_se)
            row += [regret, None if own is None else own.value]
        rows.append(tuple(row))
    return Table(
        name=name,
        title=title,
        columns=(
            Column("policy", is_text=True),
            *(
                column
                for problem in problems
                for column in (Column("regret", ",.0f", problem), Column("scale", "g", problem))
            ),
        ),
        rows=tuple(rows),
        note=f"{size_note(sweep[problems[0]])} Scales were chosen on one half of the runs, and the other half tells"
        f" their regret. {' '.join([*sweep.edge_warnings(), note])}".strip(),
        is_standin=outcome.is_standin,
    )


def full_table(outcome: PartOutcome, name: str, title: str, note: str = "") -> Table:
    """The regret of every policy on every problem of a part."""
    sweep = outcome.sweep
    return Table(
        name=name,
        title=title,
        columns=(Column("policy", is_text=True), *(Column(problem, ",.0f") for problem in sweep)),
        rows=tuple(
            (policy, *(final_regret(sweep, problem, policy) for problem in sweep)) for policy in sweep.policies
        ),
        note=f"{size_note(next(iter(sweep.results.values())))} {note}".strip(),
        is_standin=outcome.is_standin,
    )


def best_plot(
    outcome: PartOutcome, problems: Sequence[str], name: str, title: str, caption: str = "", unit: str = ""
) -> Plot:
    """Cumulative regret of each family of policies at its best scale, a panel for each problem."""
    panels = regret_panels(outcome.sweep, problems=problems, unit=unit, best=True)
    return Plot(
        name,
        title,
        tuple(replace(panel, is_standin=outcome.is_standin) for panel in panels),
        f"{caption} Bands are 95% confidence intervals.".strip(),
    )
