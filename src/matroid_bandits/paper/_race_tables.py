"""Results of the race: which policy is ahead where weights change, by how much, and what it costs where they stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matroid_bandits.paper._part import PartOutcome
from matroid_bandits.paper._part_tables import at_its_best, best_plot, best_table, final_regret, full_table
from matroid_bandits.reporting import Block, Cell, Claim, Column, Curve, Estimate, Panel, Plot, Table, Text
from matroid_bandits.simulation import Difference, Sweep, parameter_panels

#: Policies for weights that stay, with which those for weights that change are compared.
STEADY = ("OMM", "Thompson")


def write(outcome: PartOutcome) -> Sequence[Block]:
    """Text, tables, plots and claims on the race."""
    sweep = outcome.sweep
    moving = [name for name, problem in sweep.problems.items() if not problem.environment.is_stationary]
    staying = [name for name in sweep if name not in moving]
    return (
        Text(
            "Changes at once. Three problems whose means, uniform in [0, 1], are all drawn anew five times: one item"
            " from each of four blocks of six (partition), six of thirty (uniform), a spanning tree of nine nodes and"
            " 36 links (graphic); weights are 0 or 1. Regret is dynamic: against the best set of each episode. Every"
            " policy with a radius plays with the scales 1, 0.5, 0.25 and 0.1 and is shown at its best; the horizon"
            " of the discounted policies is a fiftieth of the episodes and the window twice as long."
        ),
        best_table(outcome, moving, "race", "Dynamic regret with five changes, each policy at its best scale"),
        best_plot(outcome, moving, "beyond-race", "Dynamic regret with five changes, each policy at its best scale"),
        margin_table(sweep, moving),
        *(_claim(outcome, moving, family) for family in sweep.groups if family not in STEADY),
        price_table(sweep, moving, staying),
        _scale_plot(sweep, moving),
        full_table(outcome, "race-scales", "Regret at every scale, with five changes and without"),
    )


def margins(sweep: Sweep, problem: str, family: str) -> dict[str, Difference]:
    """How much more regret a family has than each steady policy on a problem, all at their best, run by run."""
    best = at_its_best(sweep, problem)
    found = {}
    for steady in STEADY:
        for difference in sweep.differences(best[steady]):
            if (difference.problem, difference.policy) == (problem, best[family]):
                found[steady] = difference
    return found


def margin_table(sweep: Sweep, problems: Sequence[str]) -> Table:
    """The paired differences from OMM and Thompson sampling, all at their best scales."""
    rows: list[tuple[Cell, ...]] = []
    for family in sweep.groups:
        if family not in STEADY:
            found = (margins(sweep, problem, family)[steady] for problem in problems for steady in STEADY)
            rows.append((family, *(Estimate(each.mean, (each.high - each.low) / 2.0) for each in found)))
    return Table(
        name="race-margins",
        title="Dynamic regret less that of the policies that do not forget",
        columns=(
            Column("policy", is_text=True),
            *(Column(f"less {steady}", ",.0f", problem) for problem in problems for steady in STEADY),
        ),
        rows=tuple(rows),
        note="All at their best scales, run by run in the same worlds; ± is half of a 95% confidence interval.",
    )


def price_table(sweep: Sweep, moving: Sequence[str], staying: Sequence[str]) -> Table:
    """What each family loses where nothing changes: as it was best with changes, and at its best."""
    rows: list[tuple[Cell, ...]] = []
    for family in sweep.groups:
        row: list[Cell] = [family]
        for changing, problem in zip(moving, staying, strict=True):
            prepared, best = at_its_best(sweep, changing)[family], at_its_best(sweep, problem)[family]
            row += [final_regret(sweep, problem, prepared), final_regret(sweep, problem, best)]
        rows.append(tuple(row))
    return Table(
        name="race-price",
        title="The price where nothing changes: regret on the first piece for ever",
        columns=(
            Column("policy", is_text=True),
            *(Column(name, ",.0f", problem) for problem in staying for name in ("as above", "best scale")),
        ),
        rows=tuple(rows),
        note="'as above': at the scale that was best with five changes. 'best scale': at the best without.",
    )


def _claim(outcome: PartOutcome, problems: Sequence[str], family: str) -> Claim:
    """Check that a policy has less dynamic regret than both steady ones, with all 95% intervals below 0."""
    found = [margins(outcome.sweep, problem, family) for problem in problems]
    is_clear = all(each.high < 0.0 for differences in found for each in differences.values())
    evidence = "; ".join(
        f"{problem}: " + ", ".join(f"{each.mean:+,.0f} against {steady}" for steady, each in differences.items())
        for problem, differences in zip(problems, found, strict=True)
    )
    return Claim(
        f"With five changes {family} has clearly less dynamic regret than OMM and Thompson sampling.",
        "undecided" if not outcome.is_full else "holds" if is_clear else "does not hold",
        f"{evidence[0].upper()}{evidence[1:]}.",
    )


def _scale_plot(sweep: Sweep, problems: Sequence[str]) -> Plot:
    """Regret over the scale, all policies of a problem in one panel; one without a scale is a level."""
    panels = []
    for problem in problems:
        own = {
            name: parameter_panels(sweep, family, problems=[problem])[0] for name, family in sweep.families.items()
        }
        any_panel = next(iter(own.values()))
        curves = [
            own[name].curves[0] if name in own else _level(sweep, problem, name, any_panel.x.size)
            for name in sweep.groups
        ]
        panels.append(Panel(problem, any_panel.x, tuple(curves), any_panel.y_label, x_label="scale"))
    return Plot(
        "beyond-race-scales",
        "Dynamic regret with five changes over the scale",
        tuple(panels),
        "Bands are 95% confidence intervals. Thompson sampling has no scale.",
    )


def _level(sweep: Sweep, problem: str, policy: str, n: int) -> Curve:
    return Curve(policy, np.full(n, final_regret(sweep, problem, policy).mean))
