"""What a sweep found as panels, one for each problem, and figures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._util.plots import (
    SETTINGS,
    SMALL,
    Curve,
    Panel,
    Width,
    add_legend,
    draw_panel,
    figure_size,
    in_order,
    matplotlib_parts,
    new_figure,
)
from matroid_bandits._util.student import t_quantile
from matroid_bandits._util.styles import curve_styles
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._plot import check_bounds, draw_bounds, names_of, regret_panel
from matroid_bandits.simulation._sweep_families import Family, is_numeric

if TYPE_CHECKING:
    from matroid_bandits.simulation._sweep_result import Sweep

#: A parameter is shown on a log axis where its largest value is at least this multiple of the least.
_WIDE = 5.0


def regret_panels(
    sweep: Sweep,
    *,
    problems: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    unit: str = "",
    best: bool = False,
) -> list[Panel]:
    """Return plot panels of cumulative regret against episodes, one for each problem.

    With `best` there is one curve for each family, under its name: that of the policy that `Sweep.best` chose on the
    problem.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, mb.OMM(), n_episodes=100, n_runs=5, seed=0)
    >>> [panel.title for panel in regret_panels(sweep)]
    ['blocks']
    """
    chosen = _chosen(sweep, policies)
    if best:
        return [_best_panel(sweep, name, chosen, unit) for name in _names(sweep, problems)]
    return [regret_panel(sweep[name], name, policies=chosen, unit=unit) for name in _names(sweep, problems)]


def _best_panel(sweep: Sweep, problem: str, policies: Sequence[str], unit: str) -> Panel:
    families = {family: own for family, own in sweep.groups.items() if not set(own).isdisjoint(policies)}
    at_best = at_their_best(sweep, problem)
    panel = regret_panel(sweep[problem], problem, policies=[at_best[family] for family in families], unit=unit)
    curves = (replace(curve, label=family) for curve, family in zip(panel.curves, families, strict=True))
    return replace(panel, curves=tuple(curves))


def at_their_best(sweep: Sweep, problem: str) -> dict[str, str]:
    """For each family the policy that `Sweep.best` chose on a problem; a policy of no family stands for itself."""
    best = {family: {each.problem: each.policy for each in sweep.best(family)} for family in sweep.families}
    return {family: best[family][problem] if family in best else family for family in sweep.groups}


def parameter_panels(
    sweep: Sweep,
    family: Family,
    *,
    problems: Sequence[str] | None = None,
    unit: str = "",
    log_x: bool | None = None,
) -> list[Panel]:
    """Return plot panels of regret after the last episode against a family's parameter, one for each problem.

    Raises
    ------
    SimulationError
        The family has no parameter that is a number.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.1, 1.0)]}
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, policies, n_episodes=100, n_runs=5, seed=0)
    >>> [panel.x for panel in parameter_panels(sweep, sweep.families["OMM"])]
    [array([0.1, 1. ])]
    """
    if family.parameter is None or not is_numeric(family.values):
        got = f"{family.parameter} of {shown(list(family.values))}" if family.parameter else "none of that kind"
        raise SimulationError(
            f"expected {family.name!r} to be a family with one parameter that is a number; got {got}"
        )
    order = np.argsort(np.array(family.values, float), kind="stable")
    x = np.array(family.values, float)[order]
    if log_x is None:
        log_x = bool(x[0] > 0.0 and x[-1] >= _WIDE * x[0])
    elif log_x and x[0] <= 0.0:
        raise SimulationError(f"expected positive values of {family.parameter} for a log axis, got {x[0]:g}")
    panels = []
    for name in _names(sweep, problems):
        result = sweep[name]
        rows = [result.index(family.policies[i]) for i in order]
        band = None
        if result.n_runs > 1:
            band = t_quantile(0.975, result.n_runs - 1) * result.regret_se[rows, -1]
        panels.append(
            Panel(
                title=name,
                x=x,
                curves=(Curve(family.name, result.regret[rows, -1], band),),
                y_label=f"regret after {result.n_episodes:,} episodes" + (f", {unit}" if unit else ""),
                is_log=log_x,
                x_label=family.parameter,
            )
        )
    return panels


def draw_regret(
    sweep: Sweep,
    problems: Sequence[str] | None,
    policies: Sequence[str] | None,
    unit: str,
    bounds: Mapping[str, Any] | None,
    log_x: bool,
    log_y: bool | None,
    best: bool,
    width: Width | None,
    height: float | None,
) -> Any:
    """The figure of `Sweep.plot`."""
    panels = [
        replace(panel, is_log=log_x, log_y=bool(log_y))
        for panel in regret_panels(sweep, problems=problems, policies=policies, unit=unit, best=best)
    ]
    for label in bounds or {}:
        if not callable((bounds or {})[label]):
            raise SimulationError(f"expected bound {label!r} to be a function of (problem, episodes), got another")

    def add(axes: Any, panel: Panel) -> None:
        result, problem = sweep[panel.title], sweep.problems[panel.title]
        values = {label: bound(problem, result.checkpoints) for label, bound in (bounds or {}).items()}
        draw_bounds(axes, result, check_bounds(result, values), log_y)

    drawn = {curve.label for panel in panels for curve in panel.curves}
    listed = list(sweep.groups) if best else [policy for own in sweep.groups.values() for policy in own]
    labels = [label for label in listed if label in drawn]
    return _draw(sweep, panels, [*labels, *(bounds or {})], add, width, height)


def draw_parameter(
    sweep: Sweep,
    family: Family,
    problems: Sequence[str] | None,
    unit: str,
    log_x: bool | None,
    log_y: bool,
    width: Width | None,
    height: float | None,
) -> Any:
    """The figure of `Sweep.plot_parameter`."""
    panels = parameter_panels(sweep, family, problems=problems, unit=unit, log_x=log_x)
    panels = [replace(panel, log_y=log_y) for panel in panels]
    return _draw(sweep, panels, [], lambda axes, panel: None, width, height)


def _draw(
    sweep: Sweep,
    panels: Sequence[Panel],
    labels: Sequence[str],
    add: Callable[[Any, Panel], None],
    width: Width | None,
    height: float | None,
) -> Any:
    """Panels side by side, with a legend where there are labels."""
    _, rc_context = matplotlib_parts()
    inches = figure_size(width, height, SimulationError)
    is_small, styles = inches != (None, None), curve_styles(sweep.groups)  # the same in all figures of a sweep
    with rc_context(SMALL if is_small else SETTINGS):
        figure, grid, n_columns = new_figure(len(panels), list(labels), *inches)
        for axes, panel in zip(grid, panels, strict=True):
            draw_panel(axes, panel, styles, is_small=is_small)
            add(axes, panel)
        if labels:
            add_legend(figure, in_order(grid, labels), loc="outside lower center", ncols=n_columns)
    return figure


def _names(sweep: Sweep, problems: Sequence[str] | None) -> list[str]:
    chosen = names_of("problems", list(sweep.results), problems)
    for name in chosen:
        sweep[name]  # raises for one that is not there
    if not chosen:
        raise SimulationError("expected a problem or more to draw, got none")
    return chosen


def _chosen(sweep: Sweep, policies: Sequence[str] | None) -> list[str]:
    """The policies of some names, among which a family's stands for all of its own."""
    groups = sweep.groups
    chosen = names_of("policies", sweep.policies, policies)
    return [
        policy for name in chosen for policy in ((name,) if name in sweep.policies else groups.get(name, (name,)))
    ]
