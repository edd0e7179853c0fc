"""``matroid-bandits identify``: when exploring can stop, for a problem, a saved learner or a log."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matroid_bandits._util.text import did_you_mean, listed, shown
from matroid_bandits.cli._app import app
from matroid_bandits.cli._options import SeedOption
from matroid_bandits.cli._running import typed_command
from matroid_bandits.exceptions import DataError, StoppingError

if TYPE_CHECKING:
    from matroid_bandits.learner import Learner
    from matroid_bandits.policies import Policy
    from matroid_bandits.reporting import Chapter
    from matroid_bandits.specs import SimulationPlan

_LEAD = "When exploring can stop: the best set, how many rounds it took to be sure of it, and the closest calls."


class ThresholdName(StrEnum):
    """A threshold."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    CLUCB = "CLUCB"


@app.command(epilog="Example: matroid-bandits identify examples/partition.toml --delta 0.1 --runs 20")
def identify(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A problem (TOML or JSON), a saved learner, or a log of events (JSONL)."),
    ],
    delta: Annotated[float, typer.Option(metavar="P", help="Bound on the probability of error.")] = 0.05,
    weights: Annotated[str | None, typer.Option(metavar="unit", help="unit: the weights are in [0, 1].")] = None,
    deviation: Annotated[
        float | None,
        typer.Option(metavar="S", help="Standard deviation of weights that are normal or have lighter tails."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="Tolerated gap between an item of the set and its best replacement.")
    ] = 0.0,
    dependent: Annotated[
        bool, typer.Option("--dependent", metavar="", help="Allow dependent weights within a set.")
    ] = False,
    threshold: Annotated[
        ThresholdName, typer.Option(help="Stopping threshold: proven, a smaller one without proof, or CLUCB's.")
    ] = ThresholdName.PROVEN,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="A policy of the problem's file; by default SoftMinimum.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Play a fixed number of rounds, and return the best set.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Number of independent runs.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of rounds of a run.")] = 1_000_000,
    seed: SeedOption = None,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON instead of tables.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Write an HTML report to this folder.")
    ] = None,
) -> None:
    """Find when exploration can stop: play a problem until its best set is known, or test what a learner has
    observed.

    Prints the least certain exchanges: which item of the set could still be replaced by which, the test statistic,
    the threshold, and how many more plays are needed. The distribution of the weights is given by --weights unit or
    --deviation S; for a problem file it is known.
    """
    law: dict[str, Any] = {
        "weights": weights,
        "deviation": deviation,
        "tolerance": tolerance,
        "independent": not dependent,
        "threshold": threshold.value,
    }
    page = None if report is None else _report(report)
    learner = _learner(file)
    if learner is not None:
        found = learner.confidence(**law, delta=delta)
        record, chapter = found.to_dict(), None
        if page is not None:
            raise StoppingError("expected --report with a problem, got one with a learner")
    else:
        from matroid_bandits.reporting import identification_chapter, identification_record
        from matroid_bandits.simulation import identify as found_by
        from matroid_bandits.specs import read_simulation

        spec = read_simulation(file)
        player = None if policy is None else _policy(spec, policy)
        identified = found_by(
            spec.problem,
            delta,
            policy=player,
            budget=budget,
            n_runs=runs,
            max_rounds=rounds,
            seed=spec.seed if seed is None else seed,
            **law,
        )
        record = identification_record(identified)
        chapter = identification_chapter(identified, name=spec.name, title=spec.title, description=spec.description)
    if as_json:
        typer.echo(json.dumps(record, indent=1))
    else:
        _print(chapter, None if learner is None else found)
    if page is not None and chapter is not None:
        page.add(chapter)
        typer.echo(f"The report is {page.folder / 'index.html'}.", err=as_json)


def _report(folder: Path) -> Any:
    from matroid_bandits.reporting import Report

    return Report(folder, "When to stop", _LEAD, typed_command())


def _print(chapter: Chapter | None, confidence: Any) -> None:
    from matroid_bandits.reporting import margins_table, open_console, print_chapter, print_table

    console = open_console()
    if chapter is not None:
        print_chapter(console, chapter)
        return
    typer.echo(f"best set: {', '.join(map(str, confidence.items))}")
    print_table(console, margins_table(confidence))


def _learner(file: Path) -> Learner | None:
    """The learner that a file or a log holds; None of a problem."""
    from matroid_bandits.learner import Learner

    if not file.exists():
        raise DataError(f"{file}: expected a file, got none")
    with file.open("rb") as opened:
        start = opened.read(4)
    if start[:2] == b"PK":
        return Learner.load(file)
    if file.suffix == ".jsonl":
        from matroid_bandits.evaluation import read_log

        return read_log(file).learner()
    return None


def _policy(spec: SimulationPlan, name: str) -> Policy:
    """A policy of a problem's file."""
    if name not in spec.policies:
        raise StoppingError(
            f"expected --policy to be one of {listed(spec.policies)}; got {shown(name)}"
            f"{did_you_mean(name, spec.policies)}"
        )
    return spec.policies[name]
