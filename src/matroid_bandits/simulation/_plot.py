"""What a simulation found as curves: panels as data, and figures of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray
from matroid_bandits._util.plots import (
    SETTINGS,
    Curve,
    Panel,
    add_legend,
    draw_panel,
    line_styles,
    matplotlib_parts,
    new_figure,
    to_png,
)
from matroid_bandits._util.student import t_quantile
from matroid_bandits.exceptions import SimulationError

if TYPE_CHECKING:
    from matroid_bandits.simulation._result import SimulationResult

#: What the level of the optimum is called beside policies, one of which may be called "optimal".
_OPTIMUM = "optimum"

#: Bounds are grey; their dashes tell them apart.
_DASHES: list[Any] = [(0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (10, 3))]


def curve_panel(
    result: SimulationResult,
    title: str,
    *,
    policies: Sequence[str] | None = None,
    unit: str = "",
    is_standin: bool = False,
) -> Panel:
    """Return the panel of expected return (or cost) per step, averaged over the episodes so far, and the optimum.

    The realised one, without an optimum, where the environment does not know its means.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> panel = curve_panel(result, "Ads", unit="clicks")
    >>> panel.y_label, panel.optimum
    ('expected per-step return, clicks\\n(running average)', 0.9)
    """
    rows = _rows(result, policies)
    is_known, word = result.is_regret_known, "cost" if result.minimize else "return"
    per_step, errors = result.shown_per_step()
    level = result.optimal_value if result.optimum is None else result.optimum
    return Panel(
        title=title,
        x=result.checkpoints,
        curves=_curves(result, rows, per_step, errors),
        y_label=f"{'expected' if is_known else 'realised'} per-step {word}{_in(unit)}\n(running average)",
        optimum=level if is_known else None,
        from_zero=False,
        is_standin=is_standin,
    )


def regret_panel(
    result: SimulationResult,
    title: str,
    *,
    policies: Sequence[str] | None = None,
    unit: str = "",
    is_standin: bool = False,
) -> Panel:
    """Return the panel of cumulative regret over episodes; without curves where regret is not known.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> [curve.label for curve in regret_panel(result, "Regret").curves]
    ['OMM']
    """
    rows = [p for p in _rows(result, policies) if policies is not None or np.any(result.regret[p])]
    if not result.is_regret_known:
        title, rows = f"{title} (not known)", []
    return Panel(
        title=title,
        x=result.checkpoints,
        curves=_curves(result, rows, result.regret, result.regret_se),
        y_label=f"cumulative regret{_in(unit)}",
        is_log=False,
        is_standin=is_standin,
    )


def draw(
    result: SimulationResult,
    ax: Any,
    policies: Sequence[str] | None,
    unit: str,
    bounds: Mapping[str, ArrayLike] | None,
    log_x: bool,
) -> Any:
    """The figure of `SimulationResult.plot`, or what it drew on."""
    _, rc_context = matplotlib_parts()
    levels = check_bounds(result, bounds)
    chosen = list(result.policies) if policies is None else list(policies)
    panels = [
        regret_panel(result, "Cumulative regret", policies=chosen, unit=unit),
        curve_panel(result, f"Per-step {result.measure}", policies=chosen, unit=unit),
    ]
    if not result.is_regret_known and (ax is None or hasattr(ax, "plot")):
        panels = panels[1:]
    styles = line_styles([*chosen, *levels])
    with rc_context(SETTINGS):
        if ax is None:
            optimum = [_OPTIMUM] if result.is_regret_known else []
            figure, grid, n_columns = new_figure(1 + len(optimum), [*chosen, *levels, *optimum])
        else:
            grid = [ax] if hasattr(ax, "plot") else list(np.asarray(ax, object).flat)
            if not 1 <= len(grid) <= 2:
                raise SimulationError(f"expected ax to be one or two matplotlib axes, got {len(grid)}")
        for axes, panel in zip(grid, panels, strict=False):
            draw_panel(axes, replace(panel, is_log=log_x), styles, optimum=_OPTIMUM)
        draw_bounds(grid[0], result, levels)
        if ax is not None:
            for axes in grid:
                add_legend(axes, axes.lines)
            return ax
        lines = {line.get_label(): line for axes in grid for line in axes.lines}
        add_legend(figure, list(lines.values()), loc="outside lower center", ncols=n_columns)
    figure._repr_png_ = partial(to_png, figure)  # notebooks show what has this method, with or without pyplot
    return figure


def draw_bounds(axes: Any, result: SimulationResult, levels: Mapping[str, FloatArray]) -> None:
    for (label, values), dash in zip(levels.items(), cycle(_DASHES), strict=False):
        axes.plot(result.checkpoints, values, color="#888888", linestyle=dash, linewidth=1, label=label)
    if levels and any((np.asarray(line.get_ydata()) > 0.0).any() for line in axes.lines):
        axes.set_yscale("log")
        axes.autoscale(axis="y")


def check_bounds(result: SimulationResult, bounds: Mapping[str, ArrayLike] | None) -> dict[str, FloatArray]:
    levels = {label: np.asarray(values, float) for label, values in (bounds or {}).items()}
    if levels and (result.optimum is not None or not result.is_regret_known):
        which = "change" if result.is_regret_known else "are not known"
        raise SimulationError(f"expected no bounds, which are for means that stay; this environment's means {which}")
    if levels and result.no_bounds:
        raise SimulationError(f"expected no bounds, since the paper's do not hold here: {result.no_bounds}")
    for label, level in levels.items():
        if level.shape != result.checkpoints.shape:
            raise SimulationError(
                f"expected bound {label!r} at the {result.checkpoints.size} checkpoints, got shape {level.shape}"
            )
    return levels


def _rows(result: SimulationResult, policies: Sequence[str] | None) -> list[int]:
    return [result.index(policy) for policy in (result.policies if policies is None else policies)]


def _curves(
    result: SimulationResult, rows: Sequence[int], means: FloatArray, errors: FloatArray
) -> tuple[Curve, ...]:
    """Curves with 95% confidence bands by Student's t distribution; a single run has none."""
    if result.n_runs == 1:
        return tuple(Curve(result.policies[p], means[p]) for p in rows)
    factor = t_quantile(0.975, result.n_runs - 1)
    return tuple(Curve(result.policies[p], means[p], factor * errors[p]) for p in rows)


def _in(unit: str) -> str:
    return f", {unit}" if unit else ""
