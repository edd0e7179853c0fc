"""Tables and plots that any problem and its simulation can show."""

from __future__ import annotations

from matroid_bandits._util.tables import Cell, Column, Estimate, Table
from matroid_bandits.problem import Problem
from matroid_bandits.reporting._blocks import Plot
from matroid_bandits.reporting._measures import final_per_step, size_note
from matroid_bandits.simulation import SimulationResult, best_rows, curve_panel, regret_panel

#: What is marked.
_BOLD = "Bold: the best policy and those not clearly worse (paired differences, 95%)."

#: Why a table or a plot shows no regret.
_UNKNOWN = "Regret is not known, since the environment does not say its means."


def policy_table(result: SimulationResult, name: str, title: str, *, is_standin: bool = False) -> Table:
    """Return a table of each policy's return per step, its share of the optimum, and its regret.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> table = policy_table(result, "policies", "Policies")
    >>> [row[0] for row in table.rows], [column.name for column in table.columns]
    (['optimal (exact)', 'OMM'], ['policy', 'return per step', 'of the optimum', 'regret'])
    """
    best = result.optimal_value
    best_policies = best_rows(result.final_regret) if result.is_regret_known else set()
    rows: list[tuple[Cell, ...]] = []
    if result.is_regret_known:
        label = "optimal (exact)" if result.optimum is None else "optimal (each episode's)"
        rows.append((label, best, 1.0 if best > 0.0 else None, 0.0))
    for p, policy in enumerate(result.policies):
        value = final_per_step(result, policy)
        share = value.mean / best if best > 0.0 else None  # of nothing, or of a loss, there are no shares
        regret = Estimate(float(result.regret[p, -1]), float(result.regret_se[p, -1]))
        rows.append((policy, value, share, regret if result.is_regret_known else None))
    return Table(
        name=name,
        title=title,
        columns=(
            Column("policy", is_text=True),
            Column(f"{result.measure} per step", ".3f"),
            Column("of the optimum", ".1%"),
            Column("regret", ",.1f"),
        ),
        rows=tuple(rows),
        note=size_note(result)
        + (f" {_BOLD}" if best_policies else "")
        + ("" if result.is_regret_known else f" {_UNKNOWN}"),
        is_standin=is_standin,
        best=frozenset((row + 1, column) for row in best_policies for column in (1, 3)),  # after the optimum
    )


def basis_table(problem: Problem, result: SimulationResult, name: str, title: str, n_rows: int = 30) -> Table:
    """Return a table of the optimal basis, best item first, and how often each policy chose its items.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> matroid = mb.UniformMatroid(2, 1, labels=["hats", "boots"])
    >>> problem = mb.Problem(matroid, mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> basis_table(problem, result, "basis", "The optimal basis").texts()[0][:2]
    ['hats', '0.9']
    """
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
                _item_text(problem.constraint.labels[e]),
                float(problem.environment.mean_weights[e]),
                *(float(share) for share in result.choices[:, e] / n_chances),
            )
            for e in shown
        ),
        note=f"and {left} more items" if left else "",
    )


def curve_plot(
    result: SimulationResult, name: str, title: str, caption: str = "", *, is_standin: bool = False
) -> Plot:
    """Return a plot of return per step and regret of one problem; without regret where it is not known.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> result = mb.simulate(problem, [mb.OMM()], n_episodes=100, n_runs=5, seed=0)
    >>> [panel.title for panel in curve_plot(result, "ads", "Ads").panels]
    ['Return per step', 'Regret']
    """
    word = result.measure.capitalize()
    panels = [curve_panel(result, f"{word} per step", is_standin=is_standin)]
    if result.is_regret_known:
        panels.append(regret_panel(result, "Regret", is_standin=is_standin))
    return Plot(name, title, tuple(panels), caption)


def _item_text(name: object) -> str:
    """A label for people: the two ends of a link, or the label itself."""
    return " – ".join(map(str, name)) if isinstance(name, tuple) else str(name)
