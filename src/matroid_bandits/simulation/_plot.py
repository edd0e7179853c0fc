"""What a simulation found as curves: panels as data, and figures of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray
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
    log_scale_y,
    matplotlib_parts,
    new_figure,
)
from matroid_bandits._util.student import t_quantile
from matroid_bandits._util.styles import bound_styles, by_family, curve_styles
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SimulationError

if TYPE_CHECKING:
    from matroid_bandits.simulation._result import SimulationResult

#: What the level of the optimum is called beside policies, one of which may be called "optimal".
_OPTIMUM = "optimum"

#: What bands around curves are: confidence intervals of the mean, or the middle 90% of runs around their median.
Bands = Literal["mean", "quantiles"]

#: The ends of a band of quantiles.
_ENDS = (0.05, 0.95)


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
    bands: Bands = "mean",
) -> Panel:
    """Return the panel of cumulative regret over episodes; without curves where regret is not known.

    With ``bands="quantiles"`` the median over runs, and the band from the 5% to the 95% quantile.

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
    if bands == "quantiles":
        curves, what = _quantile_curves(result, rows, result.run_regret), "\n(median, 90% of runs)"
    else:
        curves, what = _curves(result, rows, result.regret, result.regret_se), ""
    return Panel(
        title=title,
        x=result.checkpoints,
        curves=curves,
        y_label=f"cumulative regret{_in(unit)}{what}",
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
    log_y: bool | None,
    measure: str | None,
    bands: Bands,
    width: Width | None,
    height: float | None,
) -> Any:
    """The figure of `SimulationResult.plot`, or what it drew on."""
    _, rc_context = matplotlib_parts()
    levels = check_bounds(result, bounds)
    inches = figure_size(width, height, SimulationError)
    chosen = names_of("policies", result.policies, policies)
    panels = _panels(result, chosen, unit, check_measure(measure), check_bands(result, bands))
    if not result.is_regret_known and (ax is None or hasattr(ax, "plot")):
        panels = panels[-1:]
    styles = curve_styles(by_family(result.policies))  # of all policies: those of a part look as in the whole
    is_small = inches != (None, None)
    if is_small and len(panels) == 1:  # the axis says it
        panels = [replace(panels[0], title="")]
    with rc_context(SMALL if is_small else SETTINGS):
        if ax is None:
            labels = _listed(styles, chosen, levels)
            n_entries = [*labels, *([_OPTIMUM] if any(panel.optimum is not None for panel in panels) else [])]
            figure, grid, n_columns = new_figure(len(panels), n_entries, *inches)
        else:
            if is_small:
                raise SimulationError("expected a width or a height without ax, whose figure has a size; got both")
            grid = [ax] if hasattr(ax, "plot") else list(np.asarray(ax, object).flat)
            if not 1 <= len(grid) <= 2:
                raise SimulationError(f"expected ax to be one or two matplotlib axes, got {len(grid)}")
        for axes, panel in zip(grid, panels, strict=False):
            is_regret = panel.optimum is None and panel.from_zero
            panel = replace(panel, is_log=log_x, log_y=bool(log_y) and is_regret)
            draw_panel(axes, panel, styles, optimum=_OPTIMUM, is_small=is_small)
        draw_bounds(grid[0], result, levels, log_y)
        if ax is not None:
            for axes in grid:
                add_legend(axes, in_order([axes], _listed(styles, chosen, levels)))
            return ax
        add_legend(figure, in_order(grid, labels), loc="outside lower center", ncols=n_columns)
    return figure


def _panels(
    result: SimulationResult, policies: Sequence[str], unit: str, measure: str | None, bands: Bands
) -> list[Panel]:
    """Regret and return, or one of them."""
    panels = []
    if measure != "returns":
        panels.append(regret_panel(result, "Cumulative regret", policies=policies, unit=unit, bands=bands))
    if measure != "regret" or not result.is_regret_known:
        panels.append(curve_panel(result, f"Per-step {result.measure}", policies=policies, unit=unit))
    return panels


def _listed(styles: Mapping[str, Any], policies: Sequence[str], levels: Mapping[str, Any]) -> list[str]:
    """The labels of a legend: policies of a family together, and then bounds."""
    groups = by_family(policies)
    return [label for group in groups.values() for label in group if label in styles] + list(levels)


def draw_bounds(axes: Any, result: SimulationResult, levels: Mapping[str, FloatArray], log_y: bool | None) -> None:
    """Draw bounds beside regret, on a log axis unless `log_y` is False."""
    styles = bound_styles(levels)
    for label, values in levels.items():
        color, linestyle = styles[label].color, styles[label].linestyle
        axes.plot(result.checkpoints, values, color=color, linestyle=linestyle, linewidth=1, label=label)
    if levels and log_y is not False:
        log_scale_y(axes)


def check_measure(measure: str | None) -> str | None:
    """The measure to draw, checked; None for both."""
    if measure not in (None, "regret", "returns"):
        raise SimulationError(f'expected measure to be "regret" or "returns", got {shown(measure)}')
    return measure


def check_bands(result: SimulationResult, bands: str) -> Bands:
    """What bands are, checked; quantiles need the curves of runs."""
    if bands not in ("mean", "quantiles"):
        raise SimulationError(f'expected bands to be "mean" or "quantiles", got {shown(bands)}')
    if bands == "quantiles" and result.run_regret is None:
        raise SimulationError(
            'expected bands to be "mean", since the curves of runs were not kept; simulate(..., keep_runs=True) does'
        )
    return cast(Bands, bands)


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
    return [result.index(policy) for policy in names_of("policies", result.policies, policies)]


def names_of(what: str, known: Sequence[str], given: Sequence[str] | None) -> list[str]:
    """The names that were given, all where none were; a single name is no list of them."""
    if isinstance(given, str):
        raise SimulationError(f"expected {what} to be a list of names, got {given!r} alone")
    return list(known if given is None else given)


def _curves(
    result: SimulationResult, rows: Sequence[int], means: FloatArray, errors: FloatArray
) -> tuple[Curve, ...]:
    """Curves with 95% confidence bands by Student's t distribution; a single run has none."""
    if result.n_runs == 1:
        return tuple(Curve(result.policies[p], means[p]) for p in rows)
    factor = t_quantile(0.975, result.n_runs - 1)
    return tuple(Curve(result.policies[p], means[p], factor * errors[p]) for p in rows)


def _quantile_curves(result: SimulationResult, rows: Sequence[int], curves: FloatArray | None) -> tuple[Curve, ...]:
    """Medians over runs, with bands from a low quantile to a high one."""
    assert curves is not None
    low, median, high = np.quantile(curves, (_ENDS[0], 0.5, _ENDS[1]), axis=1)
    return tuple(Curve(result.policies[p], median[p], np.stack((low[p], high[p]))) for p in rows)


def _in(unit: str) -> str:
    return f", {unit}" if unit else ""
