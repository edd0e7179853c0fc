"""``matroid-bandits sweep``: every policy on every problem, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits.cli._app import EXIT_INTERRUPTED, app, complain
from matroid_bandits.cli._options import DeviceOption, EpisodesOption, ExecutorOption, RunsOption, SeedOption
from matroid_bandits.cli._running import Job, run_jobs, typed_command, warnings_told

if TYPE_CHECKING:
    from matroid_bandits.cli._progress import Update
    from matroid_bandits.reporting import Chapter
    from matroid_bandits.simulation import Sweep
    from matroid_bandits.specs import SweepPlan

_LEAD = "A sweep: every policy on every problem, in the same worlds."


@app.command(epilog="Example: matroid-bandits sweep examples/sweep.toml --store my-store")
def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="SWEEP.toml", help="Sweep file, TOML or JSON; see examples/sweep.toml."),
    ],
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="DIR", help="Folder that stores runs, to resume from; by default nothing is stored."
        ),
    ] = None,
    executor: ExecutorOption = None,
    device: DeviceOption = "cpu",
    runs: RunsOption = None,
    episodes: EpisodesOption = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the report; by default report/SWEEP.")
    ] = None,
) -> None:
    """Simulate every policy on every problem of a sweep file, including families of parameters.

    With --store, finished runs are stored: the same command resumes after an interruption or a crash, and a sweep
    with more runs, problems or policies plays only the missing ones. Prints tables and writes a report like simulate
    does.
    """
    from matroid_bandits.reporting import Report
    from matroid_bandits.simulation import named_executor
    from matroid_bandits.specs import read_sweep

    plan = read_sweep(file).resized(n_episodes=episodes, n_runs=runs, seed=seed)
    folder = Path("report") / plan.name if out is None else out
    report = Report(folder, plan.title, _LEAD, typed_command())
    with named_executor(executor) as where, warnings_told():
        run_jobs([plan.name], lambda: [_job(plan, store, where, device)], report)


def _job(plan: SweepPlan, store: Path | None, executor: Any, device: Any) -> Job:
    from matroid_bandits.reporting import report_checkpoints, sweep_chapter
    from matroid_bandits.simulation import sweep as play_all

    def play(progress: Update) -> Sweep:
        try:
            return play_all(
                plan.problems,
                plan.policies,
                n_episodes=plan.n_episodes,
                n_runs=plan.n_runs,
                seed=plan.seed,
                start=plan.start,
                checkpoints=report_checkpoints(plan.n_episodes),
                store=store,
                executor=executor,
                device=device,
                progress=lambda done, total: progress(plan.title, done, total),
            )
        except KeyboardInterrupt:
            if store is None:
                raise
            complain(f"interrupted: what was played is in {store}, and the same command goes on from there.")
            raise typer.Exit(EXIT_INTERRUPTED) from None

    def write(found: Sweep) -> Chapter:
        return sweep_chapter(
            found,
            name=plan.name,
            title=plan.title,
            description=plan.description,
            lead=plan.about,
            baseline=plan.baseline,
        )

    return Job(plan.name, plan.title, play, write)
