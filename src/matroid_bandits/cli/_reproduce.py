"""``matroid-bandits reproduce``: the paper's experiments."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits.cli._app import app
from matroid_bandits.cli._options import DataOption, ExecutorOption, number_option
from matroid_bandits.cli._running import Job, run_jobs, typed_command

if TYPE_CHECKING:
    from matroid_bandits.paper import Beyond, Experiment, Race
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
            metavar="graphic|transversal|linear|beyond|race",
            help="Experiments to run; by default the paper's three, without beyond and race.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        number_option(
            "--runs",
            "Runs of each policy; by default 100 (graphic), 20 (transversal), 20 (linear), set by each part"
            " (beyond, race: per problem).",
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        number_option(
            "--episodes",
            "Episodes of a run; by default 1,000 (graphic), 15,000 (transversal), 50,000 (linear), set by each"
            " part (beyond, race).",
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
            help="Small sizes that take seconds: 10 runs of 1,000 episodes (graphic), 4 of 3,000 (transversal), 4 of"
            " 5,000 (linear), 3 of at most 1,200 (beyond), 3 or 4 problems with 3 or 4 runs of at most 600 each"
            " (race, two minutes); --runs and --episodes override them.",
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            metavar="",
            help="Run the race at full size, 20 problems with 100 runs of 20,000 episodes each; it takes hours, and"
            " resumes from its store.",
        ),
    ] = False,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Folder that stores the runs of beyond and race and from which they resume; by default none, with"
            " --full race-store beside the report.",
        ),
    ] = None,
) -> None:
    """Run the paper's experiments (Sections 5.1 to 5.3) and compare with its results; or experiments beyond it.

    Prints the tables and writes index.html, results.json and figures/ to the report folder. Where the paper's
    data is not found, synthetic stand-ins are used and marked as such. An existing report keeps its other
    experiments. "beyond" adds experiments on the paper's problems with drifting weights, delayed feedback and
    visitors' features. "race" compares many policies on random problems and on the paper's; it takes half an hour on
    two cores.
    """
    from matroid_bandits.paper import BEYOND, EXPERIMENTS, RACE, Race
    from matroid_bandits.reporting import Report
    from matroid_bandits.simulation import named_executor

    known: dict[str, Experiment | Beyond | Race] = {**EXPERIMENTS, BEYOND.name: BEYOND, RACE.name: RACE}
    for name in names or []:
        if name not in known:
            raise typer.BadParameter(f"expected graphic, transversal, linear, beyond or race; got {name!r}")
    chosen = [experiment for name, experiment in known.items() if name in (names or EXPERIMENTS)]
    if full and RACE not in chosen:
        raise typer.BadParameter("expected race among what to reproduce, since --full is about it")
    if store is not None and RACE not in chosen and BEYOND not in chosen:
        raise typer.BadParameter("expected beyond or race among what to reproduce, since --store is about them")
    if full and quick:
        raise typer.BadParameter("expected --quick or --full, got both")
    sizes = {"n_episodes": episodes, "n_runs": runs, "seed": seed}
    length: Any = "quick" if quick else "full" if full else "usual"
    sized = [
        each.resized(**sizes, length=length) if isinstance(each, Race) else each.resized(**sizes, quick=quick)
        for each in chosen
    ]
    if full and store is None:
        store = out.parent / "race-store"
    report = Report(out, _TITLE, _LEAD, typed_command())
    with named_executor(executor) as where:
        run_jobs(
            [experiment.name for experiment in sized],
            lambda: [_job(experiment.loaded(data), where, store) for experiment in sized],
            report,
        )


def _job(experiment: Experiment | Beyond | Race, executor: ExecutorChoice, store: Path | None) -> Job:
    from matroid_bandits.paper import Beyond, Race, run, run_beyond, run_race, write_race

    if isinstance(experiment, Race):
        racing = partial(run_race, experiment, None, executor=executor, store=store)
        return Job(experiment.name, experiment.title, racing, partial(write_race, experiment))
    if isinstance(experiment, Beyond):
        later = partial(run_beyond, experiment, None, executor=executor, store=store)
        return Job(experiment.name, experiment.title, later, experiment.write)
    play = partial(run, experiment, None, executor=executor)
    return Job(experiment.name, experiment.title, play, experiment.write)
