"""Results as tables, which `summary`, notebooks, reports and LaTeX show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.tables import P_VALUE, Cell, Column, Estimate, Table
from matroid_bandits.simulation._join import seeds_of
from matroid_bandits.simulation._statistics import Difference, difference

if TYPE_CHECKING:
    from matroid_bandits.simulation._result import SimulationResult
    from matroid_bandits.simulation._sweep_result import Sweep

_BOLD = "bold: the best policy and those not clearly worse (paired differences, 95%)"


def policy_table(result: SimulationResult, quantiles: Sequence[float] = ()) -> Table:
    """Return per-step return and regret of each policy after the last episode, and quantiles of regret over runs."""
    per_step, errors = result.shown_per_step()
    measure = "regret" if result.is_regret_known else "returns"
    among = result.quantiles(quantiles, measure=measure) if quantiles else np.empty((len(result.policies), 0))
    columns = [Column("policy", is_text=True), Column(f"{result.measure} per step", ".4f"), Column("regret", ".2f")]
    columns += [Column(f"{100 * p:g}%", ".2f", f"quantiles of {measure}") for p in quantiles]
    rows: list[list[Cell]] = [
        [
            policy,
            Estimate(float(per_step[p, -1]), float(errors[p, -1])),
            _regret(result, p) if result.is_regret_known else "not known",
            *map(float, among[p]),
        ]
        for p, policy in enumerate(result.policies)
    ]
    if result.endings is not None:
        columns += [Column("rounds", ".1f"), Column("errors")]
        for p, row in enumerate(rows):
            own = result.endings[p]
            low, high = own.error_interval()
            n_unsure = own.n_runs - int(own.is_sure.sum())
            wrong = f"{own.n_errors}/{own.n_runs} ({low:.1%} to {high:.1%})"
            row += [Estimate(own.mean_rounds, own.rounds_se), wrong + (f", {n_unsure} not sure" if n_unsure else "")]
    if result.alarms is not None:
        columns.append(Column("alarms per run", ".2f"))
        for p, row in enumerate(rows):
            row.append(float(result.alarms[p, -1]))
    best = best_rows(result.final_regret if result.is_regret_known else _losses(result))
    return Table(
        "policies",
        f"{result.measure.capitalize()} per step and regret",
        tuple(columns),
        tuple(map(tuple, rows)),
        note(result, bool(best)),
        best=frozenset((row, column) for row in best for column in ((1, 2) if result.is_regret_known else (1,))),
    )


def timed(table: Table, seconds: FloatArray | None) -> Table:
    """Return a table of policies with the seconds of each, where they are known."""
    if seconds is None or np.isnan(seconds).all():
        return table
    rows = tuple((*row, text) for row, text in zip(table.rows, second_texts(seconds), strict=True))
    return replace(table, columns=(*table.columns, Column("seconds")), rows=rows)


def second_texts(seconds: FloatArray) -> list[str]:
    """Seconds with as many digits as the least of them needs to show two, up to four; a dash for unknown ones."""
    least = float(np.min(seconds[seconds > 0.0], initial=1.0))
    n_digits = min(4, max(1, 1 - math.floor(math.log10(least))))
    return ["-" if math.isnan(each) else f"{each:.{n_digits}f}" for each in seconds.tolist()]


def regret_table(sweep: Sweep, spec: str = ".2f") -> Table:
    """Return a table of the regret of every policy on every problem, with the best of each problem marked.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.1, 0.2, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, policies, n_episodes=100, n_runs=5, seed=0)
    >>> [row[0] for row in regret_table(sweep).rows]
    ['OMM, scale=0.1', 'OMM, scale=0.2', 'OMM, scale=1', 'KLOSM']
    """
    results = list(sweep.results.values())
    best = {
        (row, place)
        for place, result in enumerate(results, 1)
        for row in (best_rows(result.final_regret) if result.is_regret_known else ())
    }
    return Table(
        "regret",
        "Regret",
        (Column("policy", is_text=True), *(Column(problem, spec) for problem in sweep)),
        tuple((policy, *(_regret(result, p) for result in results)) for p, policy in enumerate(sweep.policies)),
        note(results[0], bool(best)),
        best=frozenset(best),
    )


def best_table(sweep: Sweep) -> Table:
    """Return a table of the best policy of each family on each problem, with its regret and the values not clearly
    worse.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.1, 0.2, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, policies, n_episodes=100, n_runs=5, seed=0)
    >>> best_table(sweep).rows[0][:3]
    ('OMM', 'blocks', 'OMM, scale=0.1 (the least tried)')
    """
    rows: list[tuple[Cell, ...]] = []
    for family in sweep.families:
        for best in sweep.best(family):
            edge = f"{best.policy} (the {best.edge} tried)" if best.edge else best.policy
            rivals = ", ".join(best.rivals) or "none"
            rows.append((family, best.problem, edge, Estimate(best.regret, best.regret_se), rivals))
    return Table(
        "best",
        "The best of each family",
        (
            Column("family", is_text=True),
            Column("problem", is_text=True),
            Column("best", is_text=True),
            Column("regret", ",.1f"),
            Column("may be as good", is_text=True),
        ),
        tuple(rows),
        "One half of the runs (or worlds) chose the best; the other half gave its regret and the policies that may be"
        " as good: those whose paired difference from it has a 95% confidence interval that includes 0.",
    )


def difference_table(differences: Sequence[Difference], baseline: str) -> Table:
    """Return a table of paired differences from a baseline: a row for each policy, two columns for each problem.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.1, 0.2, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, policies, n_episodes=100, n_runs=5, seed=0)
    >>> [column.key for column in difference_table(sweep.differences("KLOSM"), "KLOSM").columns]
    ['policy', 'blocks difference', 'blocks p']
    """
    rows: dict[str, list[Cell]] = {}
    for each in differences:
        rows.setdefault(each.policy, [each.policy]).extend((Estimate(each.mean, each.se), each.p_holm))
    problems = dict.fromkeys(each.problem for each in differences)
    return Table(
        "differences",
        f"Regret minus that of {baseline}",
        (
            Column("policy", is_text=True),
            *(
                c
                for problem in problems
                for c in (Column("difference", ",.1f", problem), Column("p", P_VALUE, problem))
            ),
        ),
        tuple(map(tuple, rows.values())),
        "Differences are paired by run; p values are of paired t tests, adjusted for all comparisons of the table"
        " (Holm).",
    )


def note(result: SimulationResult, has_best: bool = False) -> str:
    """Return what stands under a table: how much was played, what ± means, and what is in bold."""
    return f"{result.size}, {seeds_of(result.run_ranges)}{result.about_errors}{f'; {_BOLD}' if has_best else ''}."


def best_rows(values: FloatArray) -> set[int]:
    """Return the row (of policies by runs) with the least mean, and the rows that are not significantly larger.

    Examples
    --------
    >>> best_rows(np.array([[1.0, 2.0, 3.0], [1.1, 1.9, 3.1], [7.0, 8.0, 9.5]])) == {0, 1}
    True
    """
    means = values.mean(axis=1)
    if len(values) < 2 or np.isnan(means).any():
        return set()
    best = int(means.argmin())
    near = (p for p in range(len(values)) if values.shape[1] > 1 and not _is_behind(values[p] - values[best]))
    return {best, *near}


def _is_behind(differences: FloatArray) -> bool:
    return difference("", "", "", differences, 0.95).low > 0.0


def _losses(result: SimulationResult) -> FloatArray:
    return result.final_returns if result.minimize else -result.final_returns


def _regret(result: SimulationResult, p: int) -> Estimate:
    return Estimate(float(result.regret[p, -1]), float(result.regret_se[p, -1]))
