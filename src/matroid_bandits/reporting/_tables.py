"""Tables and plots that any experiment can show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matroid_bandits.experiments._blocks import Cell, Column, Curve, Estimate, Panel, Plot, Table
from matroid_bandits.experiments._spec import Outcome, Trial

#: What stands behind a label whose data is made up, where real data may stand beside it.
MARK = "†"


def measure(trial: Trial) -> str:
    """What is counted: costs or returns."""
    return "cost" if trial.result.minimize else "return"


def label(trial: Trial, text: str) -> str:
    """A row's label, marked where the data is made up."""
    return text + MARK if trial.is_standin else text


def is_standin(trials: Sequence[Trial]) -> bool:
    """Whether any of the data is made up."""
    return any(trial.is_standin for trial in trials)


def per_step(trial: Trial, policy: str) -> Estimate:
    """Expected return per step after the last episode."""
    return Estimate(float(trial.per_step(policy)[-1]), float(trial.per_step_error(policy)[-1]))


def regret_per_step(trial: Trial, policy: str) -> float:
    """Regret per step after the last episode."""
    result = trial.result
    return float(result.regret[result.index(policy), -1] / result.n_episodes)


def policy_table(trial: Trial, name: str, title: str) -> Table:
    """Each policy's return per step, its share of the optimum, and its regret."""
    result = trial.result
    rows: list[tuple[Cell, ...]] = [
        ("optimal (exact)", result.optimal_value, 1.0 if result.optimal_value else None, 0.0)
    ]
    for p, policy in enumerate(result.policies):
        value = per_step(trial, policy)
        share = value.mean / result.optimal_value if result.optimal_value else None
        rows.append((policy, value, share, Estimate(float(result.regret[p, -1]), float(result.regret_se[p, -1]))))
    return Table(
        name=name,
        title=title,
        columns=(
            Column("policy", is_text=True),
            Column(f"{measure(trial)} per step", ".3f"),
            Column("of the optimum", ".1%"),
            Column("regret", ",.1f"),
        ),
        rows=tuple(rows),
        note=sizes(trial),
        is_standin=trial.is_standin,
    )


def basis_table(trial: Trial, name: str, title: str, n_rows: int = 30) -> Table:
    """The optimal basis, best first, and how often each policy chose its items."""
    problem, result = trial.dataset.problem, trial.result
    n_chances = result.n_runs * result.n_episodes
    shown = problem.optimal_order[:n_rows]
    left = problem.optimal_order.size - shown.size
    return Table(
        name=name,
        title=title,
        columns=(
            Column("item", is_text=True),
            Column("mean weight", ".4g"),
            *(Column(policy, ".0%", group="chosen in") for policy in result.policies),
        ),
        rows=tuple(
            (
                item_text(problem.matroid.labels[e]),
                float(problem.environment.mean_weights[e]),
                *(float(share) for share in result.choices[:, e] / n_chances),
            )
            for e in shown
        ),
        note=f"and {left} more items" if left else "",
        is_standin=trial.is_standin,
    )


def item_text(name: object) -> str:
    """A label for people: the two ends of a link, or the label itself."""
    return " – ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def sizes(trial: Trial) -> str:
    """How often and how long, for a note under a table."""
    result = trial.result
    errors = "; ± is one standard error" if result.n_runs > 1 else ""
    return f"{counted(result.n_runs, 'run')} of {counted(result.n_episodes, 'episode')}{errors}."


def counted(n: int, noun: str) -> str:
    """'1 run', '2,000 runs'."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def curve_panel(trial: Trial, title: str, policies: tuple[str, ...] | None = None) -> Panel:
    """Expected return per step over episodes, with the optimum as a level."""
    return Panel(
        title=title,
        x=trial.result.checkpoints,
        curves=tuple(
            Curve(policy, trial.per_step(policy), trial.per_step_error(policy))
            for policy in policies or trial.result.policies
        ),
        y_label=f"expected per-step {measure(trial)}",
        optimum=trial.result.optimal_value,
        is_standin=trial.is_standin,
    )


def regret_panel(trial: Trial, title: str) -> Panel:
    """Cumulative regret over episodes."""
    result = trial.result
    return Panel(
        title=title,
        x=result.checkpoints,
        curves=tuple(
            Curve(policy, result.regret[p], result.regret_se[p])
            for p, policy in enumerate(result.policies)
            if np.any(result.regret[p])
        ),
        y_label="cumulative regret",
        is_log=False,
        is_standin=trial.is_standin,
    )


def curve_plot(outcome: Outcome, title: str, caption: str = "") -> Plot:
    """Return and regret of the one data set of an experiment."""
    trial = outcome.trials[0]
    word = measure(trial).capitalize()
    panels = (curve_panel(trial, f"{word} per step"), regret_panel(trial, "Regret"))
    return Plot(outcome.experiment.name, title, panels, caption)
