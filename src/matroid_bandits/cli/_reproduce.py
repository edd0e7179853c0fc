"""``matroid-bandits reproduce``: the paper's experiments, and in a checkout those beyond it."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import matroid_bandits
from matroid_bandits.cli._app import app
from matroid_bandits.cli._options import DataOption, ExecutorOption, number_option
from matroid_bandits.cli._running import Job, run_jobs, typed_command
from matroid_bandits.exceptions import DataError

if TYPE_CHECKING:
    from matroid_bandits.paper import Experiment
    from matroid_bandits.simulation import ExecutorChoice

#: Experiments that science/beyond plays, and what "beyond" stands for.
_PARTS = ("networks", "delays", "visitors", "constraints")
_BEYOND = (*_PARTS, "race")

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
            metavar="graphic|transversal|linear|networks|delays|visitors|constraints|beyond|race",
            help="Experiments to run; by default the paper's three. The others need a clone of the repository; beyond"
            " is networks, delays, visitors and constraints.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        number_option(
            "--runs",
            "Runs of each policy; by default 100 (graphic), 20 (transversal), 20 (linear), 20 (beyond),"
            " 100 (delays), set by each problem (race).",
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        number_option(
            "--episodes",
            "Episodes of a run; by default 1,000 (graphic), 15,000 (transversal), 50,000 (linear), 6,000"
            " (networks), 4,000 (visitors), 3,000 (delays, constraints), set by each problem (race).",
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
    experiments. "beyond" runs the paper's problems with drifting weights, delayed feedback, visitors' features, and
    constraints that are not matroids. "race" compares many policies on random problems and on the paper's; it takes
    half an hour on two cores.
    """
    from matroid_bandits.paper import EXPERIMENTS
    from matroid_bandits.reporting import Report
    from matroid_bandits.simulation import named_executor

    wanted = {each for name in names or EXPERIMENTS for each in (_PARTS if name == "beyond" else (name,))}
    for name in wanted:
        if name not in EXPERIMENTS and name not in _BEYOND:
            known = ", ".join((*EXPERIMENTS, *_PARTS, "beyond"))
            raise typer.BadParameter(f"expected {known} or race; got {name!r}")
    if full and "race" not in wanted:
        raise typer.BadParameter("expected race among what to reproduce, since --full is about it")
    if store is not None and wanted.isdisjoint(_BEYOND):
        raise typer.BadParameter("expected beyond or race among what to reproduce, since --store is about them")
    if full and quick:
        raise typer.BadParameter("expected --quick or --full, got both")
    if full and store is None:
        store = out.parent / "race-store"
    sizes: dict[str, Any] = {"n_episodes": episodes, "n_runs": runs, "seed": seed}
    chosen = [name for name in (*EXPERIMENTS, *_BEYOND) if name in wanted]
    beyond: Any = None if wanted.isdisjoint(_BEYOND) else _science()
    report = Report(out, _TITLE, _LEAD, typed_command())
    with named_executor(executor) as where:

        def job(name: str) -> Job:
            if name in EXPERIMENTS:
                return _job(EXPERIMENTS[name].resized(**sizes, quick=quick).loaded(data), where)
            length = "quick" if quick else "full" if full else "usual"
            return Job(name, *beyond.prepare(name, data, **sizes, length=length, executor=where, store=store))

        run_jobs(chosen, lambda: [job(name) for name in chosen], report)


def _job(experiment: Experiment, executor: ExecutorChoice) -> Job:
    """One of the paper's experiments, with its data loaded."""
    from matroid_bandits.paper import run

    return Job(experiment.name, experiment.title, partial(run, experiment, None, executor=executor), experiment.write)


def _science() -> Any:
    """What plays the experiments that are not in the paper: science/beyond, in a checkout."""
    root = Path(matroid_bandits.__file__).resolve().parents[2]
    if not (root / "science" / "beyond").is_dir():
        raise DataError(
            "experiments beyond the paper are played from a clone of the repository, by its folder science/beyond:"
            " expected an installation of the clone, got the package alone"
        )
    sys.path.append(str(root))
    try:
        return importlib.import_module("science.beyond")
    finally:
        sys.path.remove(str(root))
