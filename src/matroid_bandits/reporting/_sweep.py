"""The chapter on a sweep: every policy on every problem, the best of each family, and paired differences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from matroid_bandits._util.tables import Cell, Column, Estimate, Table
from matroid_bandits._util.text import printable
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.problem import Problem
from matroid_bandits.reporting._blocks import Block, Plot, Text
from matroid_bandits.reporting._chapter import Chapter, DataSource, RunFacts
from matroid_bandits.reporting._measures import size_note
from matroid_bandits.reporting._results_file import simulation_record
from matroid_bandits.simulation import (
    SimulationResult,
    Sweep,
    best_table,
    difference_table,
    parameter_panels,
    regret_panels,
    regret_table,
)


def sweep_chapter(
    sweep: Sweep, *, name: str, title: str, description: str, lead: str = "", baseline: str | None = None
) -> Chapter:
    """Return the report chapter on a sweep.

    Parameters
    ----------
    sweep : Sweep
        What was found.
    name, title : str
        Short name, fit for files and links, and the heading.
    description : str
        What the problems are and where they come from, in a sentence.
    lead : str, optional
        The first paragraph; by default the description.
    baseline : str, optional
        The policy that others are compared with; by default the first.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.5, 1.0)], "KLOSM": mb.KLOSM()}
    >>> sweep = mb.sweep(problems, policies, n_episodes=100, n_runs=5, seed=0)
    >>> chapter = sweep_chapter(sweep, name="gaps", title="Gaps", description="Two problems.", baseline="KLOSM")
    >>> [table.name for table in chapter.tables], [plot.name for plot in chapter.plots]
    (['regret', 'best', 'differences'], ['gaps', 'gaps-OMM'])
    """
    any_result = next(iter(sweep.results.values()))
    baseline = sweep.policies[0] if baseline is None else baseline
    blocks: list[Block] = [regret_table(sweep, ",.1f"), *map(Text, sweep.tail_warnings()), _regret_plot(sweep, name)]
    if sweep.worlds:
        blocks.append(parts_table(sweep))
    for number, family in enumerate(sweep.families, 1):
        slug = re.sub(r"[^\w.-]+", "-", family).strip("-.") or f"family-{number}"
        blocks += _parameter_plot(sweep, family, f"{name}-{slug}")
    if sweep.families:
        blocks += [best_table(sweep), *map(Text, sweep.edge_warnings())]
    if len(sweep.policies) > 1:
        blocks.append(difference_table(sweep.differences(baseline), baseline))
    return Chapter(
        name=name,
        title=title,
        lead=lead or description,
        run=RunFacts(
            n_episodes=any_result.n_episodes,
            n_runs=any_result.n_runs,
            seed=any_result.seed,
            start=any_result.start,
            policies={key: repr(policy) for key, policy in next(iter(sweep.players.values())).items()},
            data=tuple(DataSource(key, _about(sweep, key)) for key in sweep),
            wall_time=sweep.wall_time,
        ),
        blocks=tuple(blocks),
        records={
            "trials": [
                simulation_record(
                    problem, result, name=key, title=key, facts={"items": problem.n_items, "rank": problem.rank}
                )
                for key, problem, result in _played(sweep)
            ]
        },
    )


def _played(sweep: Sweep) -> Iterator[tuple[str, Problem, SimulationResult]]:
    """Every problem with its result, of a law each of the worlds."""
    for name, problem in sweep.problems.items():
        if name not in sweep.worlds:
            yield name, problem, sweep[name]
        for i, world in enumerate(sweep.worlds.get(name, ())):
            yield f"{name}, world {i}", world.problem, world.result


def _about(sweep: Sweep, problem: str) -> str:
    """What a problem is, in a line."""
    drawn = sweep.worlds.get(problem)
    return repr(sweep.problems[problem]) if drawn is None else f"{len(drawn)} worlds such as {drawn[0].problem!r}"


def parts_table(sweep: Sweep, policies: Sequence[str] | None = None) -> Table:
    """Return a table of the variance of regret between random problems and between runs, by distribution.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> law = mb.Worlds(lambda rng: mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment(rng.random(4))), 3)
    >>> sweep = mb.sweep({"drawn": law}, mb.OMM(), n_episodes=50, n_runs=2, seed=0)
    >>> [column.name for column in parts_table(sweep).columns]
    ['problem', 'policy', 'regret', 'worlds', 'runs', 'share of the worlds']
    """
    rows: list[tuple[Cell, ...]] = [
        (part.problem, part.policy, Estimate(part.mean, part.se), part.worlds, part.runs, part.share)
        for part in sweep.variance_parts()
        if policies is None or part.policy in policies
    ]
    return Table(
        name="worlds",
        title="What regret varies with: the world, and the run in a world",
        columns=(
            Column("problem", is_text=True),
            Column("policy", is_text=True),
            Column("regret", ",.1f"),
            Column("worlds", ",.1f", "standard deviation"),
            Column("runs", ",.1f", "standard deviation"),
            Column("share of the worlds", ".0%"),
        ),
        rows=tuple(rows),
        note=size_note(sweep[next(iter(sweep.worlds))]),
    )


def _regret_plot(sweep: Sweep, name: str) -> Plot:
    return Plot(
        name, "Regret over episodes", tuple(regret_panels(sweep)), "Bands are 95% confidence intervals.", sweep.groups
    )


def _parameter_plot(sweep: Sweep, family: str, name: str) -> list[Block]:
    """Regret against a family's parameter, where it is a number."""
    try:
        panels = parameter_panels(sweep, sweep.families[family])
    except SimulationError:
        return []
    title = f"{printable(family)} by {sweep.families[family].parameter}"
    return [Plot(name, title, tuple(panels), "Bands are 95% confidence intervals.", {family: [family]})]
