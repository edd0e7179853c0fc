"""``matroid-bandits simulate``: a problem from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits.cli._app import app
from matroid_bandits.cli._options import DeviceOption, EpisodesOption, ExecutorOption, RunsOption, SeedOption
from matroid_bandits.cli._running import Job, run_jobs, typed_command, warnings_told

if TYPE_CHECKING:
    from matroid_bandits.cli._progress import Update
    from matroid_bandits.reporting import Chapter
    from matroid_bandits.simulation import ExecutorChoice, SimulationResult
    from matroid_bandits.specs import SimulationPlan

_LEAD = "A problem from a file: policies that learn the best basis of a matroid, raced."


@app.command(epilog="Example: matroid-bandits simulate examples/graph.toml --runs 100")
def simulate(
    problem: Annotated[
        Path,
        typer.Argument(metavar="PROBLEM.toml", help="Problem file, TOML or JSON; see the examples folder."),
    ],
    runs: RunsOption = None,
    episodes: EpisodesOption = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the report; by default report/PROBLEM.")
    ] = None,
    executor: ExecutorOption = None,
    device: DeviceOption = "cpu",
) -> None:
    """Simulate policies on a problem file (TOML or JSON) that gives a matroid, weights and policies.

    Items are in the file itself, or in a CSV file beside it: a graph's edges, items with categories, pairs, feature
    vectors, or plain items. A policy of your own is module:Class. Prints a table and writes a report like reproduce
    does.
    """
    from matroid_bandits.reporting import Report
    from matroid_bandits.simulation import named_executor
    from matroid_bandits.specs import read_simulation

    spec = read_simulation(problem).resized(n_episodes=episodes, n_runs=runs, seed=seed)
    folder = Path("report") / spec.name if out is None else out
    report = Report(folder, spec.title, _LEAD, typed_command())
    with named_executor(executor) as where, warnings_told():
        run_jobs([spec.name], lambda: [_job(spec, where, device)], report)


def _job(spec: SimulationPlan, executor: ExecutorChoice, device: Any) -> Job:
    from matroid_bandits.reporting import report_checkpoints, simulation_chapter
    from matroid_bandits.simulation import simulate as race

    def play(progress: Update) -> SimulationResult:
        return race(
            spec.problem,
            spec.policies,
            n_episodes=spec.n_episodes,
            n_runs=spec.n_runs,
            seed=spec.seed,
            start=spec.start,
            checkpoints=report_checkpoints(spec.n_episodes),
            executor=executor,
            device=device,
            progress=lambda done, total: progress(spec.title, done, total),
        )

    def write(result: SimulationResult) -> Chapter:
        return simulation_chapter(
            spec.problem,
            spec.policies,
            result,
            name=spec.name,
            title=spec.title,
            description=spec.description,
            lead=spec.about,
        )

    return Job(spec.name, spec.title, play, write)
