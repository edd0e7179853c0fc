"""``matroid-bandits reproduce``: the paper's experiments."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matroid_bandits.cli._app import app
from matroid_bandits.cli._options import DataOption, ExecutorOption, number_option
from matroid_bandits.cli._running import Job, run_jobs, typed_command

if TYPE_CHECKING:
    from matroid_bandits.paper import Beyond, Experiment
    from matroid_bandits.simulation import ExecutorChoice

_TITLE = "Matroid Bandits, run again"
_LEAD = (
    "The three experiments of Kveton, Wen, Ashkan, Eydgahi and Eriksson,"
    ' <a href="https://arxiv.org/abs/1403.5045">Matroid Bandits: Fast Combinatorial Optimization with Learning</a>'
    " (UAI 2014): ours beside the paper's."
)


@app.command(epilog="Example: matroid-bandits reproduce graphic --runs 50 --out my-report")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="graphic|transversal|linear|beyond", help="Which; by default the paper's three, without beyond."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        number_option(
            "--runs", "Runs of each policy; by default 100 (graphic), 20 (transversal), 20 (linear), 10 (beyond)."
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        number_option(
            "--episodes",
            "Episodes of a run; by default 1,000 (graphic), 15,000 (transversal), 50,000 (linear), as many as each"
            " part needs (beyond).",
        ),
    ] = None,
    seed: Annotated[int | None, number_option("--seed", "Seed of all random numbers; by default 2014.")] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the report.")] = Path("report"),
    data: DataOption = None,
    executor: ExecutorOption = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            metavar="",
            help="A taste in seconds: 10 runs of 1,000 episodes (graphic), 4 of 3,000 (transversal), 4 of 5,000"
            " (linear), 3 of at most 2,000 (beyond); --runs and --episodes override it.",
        ),
    ] = False,
) -> None:
    """Run the paper's experiments (Sections 5.1 to 5.3) and report ours beside its figures; or what goes beyond it.

    Prints the tables and writes index.html, results.json and figures/ to the report folder. Where the paper's
    data is not found, stand-ins take its place and are marked as such. A report that is there already keeps its
    other experiments. "beyond" is a chapter on weights that change, answers that come late, and visitors of whom
    something is known, on the paper's own problems too.
    """
    from matroid_bandits.paper import BEYOND, EXPERIMENTS
    from matroid_bandits.reporting import Report
    from matroid_bandits.simulation import named_executor

    known: dict[str, Experiment | Beyond] = {**EXPERIMENTS, BEYOND.name: BEYOND}
    for name in names or []:
        if name not in known:
            raise typer.BadParameter(f"expected graphic, transversal, linear or beyond; got {name!r}")
    chosen = [experiment for name, experiment in known.items() if name in (names or EXPERIMENTS)]
    sized = [experiment.resized(n_episodes=episodes, n_runs=runs, seed=seed, quick=quick) for experiment in chosen]
    report = Report(out, _TITLE, _LEAD, typed_command())
    with named_executor(executor) as where:
        run_jobs(
            [experiment.name for experiment in sized],
            lambda: [_job(experiment.loaded(data), where) for experiment in sized],
            report,
        )


def _job(experiment: Experiment | Beyond, executor: ExecutorChoice) -> Job:
    from matroid_bandits.paper import Beyond, run, run_beyond

    if isinstance(experiment, Beyond):
        later = partial(run_beyond, experiment, None, executor=executor)
        return Job(experiment.name, experiment.title, later, experiment.write)
    play = partial(run, experiment, None, executor=executor)
    return Job(experiment.name, experiment.title, play, experiment.write)
