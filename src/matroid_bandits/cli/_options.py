"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _check_number(param: typer.CallbackParam, value: int | None) -> int | None:
    """Refuse a number that is out of range, as a mistake in the command line."""
    if value is not None:
        from matroid_bandits.specs import out_of_range

        if message := out_of_range(str(param.name), value):
            raise typer.BadParameter(message)
    return value


def number_option(option: str, help: str) -> Any:
    """An option for a number of episodes, of runs, or a seed, checked against its limits."""
    return typer.Option(option, callback=_check_number, metavar="N", help=help)


#: Sizes of a simulation, instead of those that a file gives.
RunsOption = Annotated[int | None, number_option("--runs", "Number of runs of each policy, instead of the file's.")]
EpisodesOption = Annotated[
    int | None, number_option("--episodes", "Number of episodes of each run, instead of the file's.")
]
SeedOption = Annotated[int | None, number_option("--seed", "Seed of all random numbers, instead of the file's.")]

#: Where the runs are played.
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="WHERE",
        help="Where runs are played: a number of processes, ray, or dask://HOST:PORT; by default threads.",
    ),
]

#: Which kind of processor plays the runs.
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="cpu|gpu|auto",
        help="Device that plays the runs, with the same results: cpu, gpu, or auto for a GPU where that is possible.",
    ),
]

#: The folder in which data is looked for.
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Data folder; by default the one in MATROID_BANDITS_DATA, then the user's cache.",
    ),
]
