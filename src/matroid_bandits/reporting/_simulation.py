"""The chapter on a user's problem; nothing in it is about the paper."""

from __future__ import annotations

from collections.abc import Mapping

from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.reporting._blocks import Block, Text
from matroid_bandits.reporting._chapter import Chapter, DataSource, RunFacts
from matroid_bandits.reporting._results_file import simulation_record
from matroid_bandits.reporting._simulation_blocks import basis_table, curve_plot, policy_table
from matroid_bandits.simulation import SimulationResult


def simulation_chapter(
    problem: Problem,
    policies: Mapping[str, Policy],
    result: SimulationResult,
    *,
    name: str,
    title: str,
    description: str,
    lead: str = "",
) -> Chapter:
    """Return the report chapter on one simulated problem: policies, curves, and its optimal basis if known.

    Parameters
    ----------
    problem, policies, result
        What was given to :func:`matroid_bandits.simulate`, and what it found.
    name, title : str
        Short name, fit for files and links, and the heading.
    description : str
        What the problem is and where it comes from, in a sentence.
    lead : str, optional
        The first paragraph; by default the description.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.1]))
    >>> policies = {"OMM": mb.OMM()}
    >>> result = mb.simulate(problem, policies, n_episodes=100, n_runs=5, seed=0)
    >>> chapter = simulation_chapter(problem, policies, result, name="ads", title="Ads", description="Two ads.")
    >>> [table.name for table in chapter.tables], chapter.run.size
    (['policies', 'basis'], '5 runs of 100 episodes, seed 0')
    """
    blocks: list[Block] = [
        policy_table(result, "policies", "Policies"),
        *map(Text, result.tail_warnings("regret" if result.is_regret_known else "returns")),
        curve_plot(result, name, title, "Bands are 95% confidence intervals."),
    ]
    if problem.environment.is_stationary and not problem.no_regret:
        blocks.append(basis_table(problem, result, "basis", "The optimal basis"))
    facts = {"items": problem.n_items, "rank": problem.rank}
    return Chapter(
        name=name,
        title=title,
        lead=lead or description,
        run=RunFacts(
            n_episodes=result.n_episodes,
            n_runs=result.n_runs,
            seed=result.seed,
            start=result.start,
            policies={key: repr(policy) for key, policy in policies.items()},
            data=(DataSource(title, description),),
            wall_time=result.wall_time,
        ),
        blocks=tuple(blocks),
        records={"trials": [simulation_record(problem, result, name=name, title=title, facts=facts)]},
    )
