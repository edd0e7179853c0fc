"""What a sweep found as panels, one for each problem, and figures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._util.plots import (
    SETTINGS,
    Curve,
    Panel,
    add_legend,
    draw_panel,
    family_styles,
    matplotlib_parts,
    new_figure,
    to_png,
)
from matroid_bandits._util.student import t_quantile
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation._plot import check_bounds, draw_bounds, regret_panel

if TYPE_CHECKING:
    from matroid_bandits.simulation._sweep_families import Family
    from matroid_bandits.simulation._sweep_result import Sweep

#: A parameter is shown on a log axis where its largest value is at least this multiple of the least.
_WIDE = 5.0


def regret_panels(
    sweep: Sweep,
    *,
    problems: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    unit: str = "",
) -> list[Panel]:
    """Return plot panels of cumulative regret against episodes, one for each problem.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> sweep = mb.sweep({"blocks": mb.lower_bound_problem(6, 2, 0.2)}, mb.OMM(), n_episodes=100, n_runs=5, seed=0)
    >>> [panel.title for panel in regret_panels(sweep)]
    ['blocks']
    """
    chosen = _chosen(sweep, policies)
    return [regret_panel(sweep[name], name, policies=chosen, unit=unit) for name in _names(sweep, problems)]


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
    if family.parameter is None or not _are_numbers(family.values):
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
) -> Any:
    """The figure of `Sweep.plot`."""
    panels = [replace(p, is_log=log_x) for p in regret_panels(sweep, problems=problems, policies=policies, unit=unit)]
    labels = list(bounds or {})
    for label in labels:
        if not callable((bounds or {})[label]):
            raise SimulationError(f"expected bound {label!r} to be a function of (problem, episodes), got another")

    def add(axes: Any, panel: Panel) -> None:
        result, problem = sweep[panel.title], sweep.problems[panel.title]
        values = {label: bound(problem, result.checkpoints) for label, bound in (bounds or {}).items()}
        draw_bounds(axes, result, check_bounds(result, values))

    return _draw(sweep, panels, [*_chosen(sweep, policies), *labels], add)


def draw_parameter(
    sweep: Sweep, family: Family, problems: Sequence[str] | None, unit: str, log_x: bool | None
) -> Any:
    """The figure of `Sweep.plot_parameter`."""
    panels = parameter_panels(sweep, family, problems=problems, unit=unit, log_x=log_x)
    return _draw(sweep, panels, [], lambda axes, panel: None)


def _draw(sweep: Sweep, panels: Sequence[Panel], labels: Sequence[str], add: Callable[[Any, Panel], None]) -> Any:
    """Panels side by side, with a legend where there are labels."""
    _, rc_context = matplotlib_parts()
    styles = family_styles(sweep.groups)
    styles |= {name: styles[policies[-1]] for name, policies in sweep.groups.items()}
    with rc_context(SETTINGS):
        figure, grid, n_columns = new_figure(len(panels), list(labels))
        for axes, panel in zip(grid, panels, strict=True):
            draw_panel(axes, panel, styles)
            add(axes, panel)
        lines = {line.get_label(): line for axes in grid for line in axes.lines}
        if labels:
            add_legend(figure, list(lines.values()), loc="outside lower center", ncols=n_columns)
    figure._repr_png_ = partial(to_png, figure)  # notebooks show what has this method, with or without pyplot
    return figure


def _names(sweep: Sweep, problems: Sequence[str] | None) -> list[str]:
    chosen = list(sweep.results) if problems is None else list(problems)
    for name in chosen:
        sweep[name]  # raises for one that is not there
    if not chosen:
        raise SimulationError("expected a problem or more to draw, got none")
    return chosen


def _chosen(sweep: Sweep, policies: Sequence[str] | None) -> list[str]:
    """The policies of some names, among which a family's stands for all of its own."""
    groups = sweep.groups
    chosen = sweep.policies if policies is None else policies
    return [
        policy for name in chosen for policy in ((name,) if name in sweep.policies else groups.get(name, (name,)))
    ]


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
