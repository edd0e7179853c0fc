"""Experiments that are not in the paper, which `matroid-bandits reproduce` plays: its problems changed, and the race.

`networks`, `delays`, `visitors` and `constraints` each say in their file what is played, how long and how often, and
what is written of it; `race` has rivals on drawn worlds.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import matroid_bandits as mb
from matroid_bandits._util.pickling import pickler
from matroid_bandits.reporting import Chapter, sweep_chapter

from .blocks import source_of

if hasattr(pickler(), "register_pickle_by_value"):  # what is sent to workers comes with its code, as from a script
    pickler().register_pickle_by_value(sys.modules[__name__])

#: The problems of the paper, changed; each is a file, and a chapter of the report.
PARTS = ("networks", "delays", "visitors", "constraints")

#: Runs of a short version.
N_QUICK_RUNS = 3

#: How many episodes curves are kept at, evenly spaced, since a world that changes is not read on a log axis.
N_CHECKPOINTS = 60


def prepare(
    name: str, data: Any = None, *, n_episodes=None, n_runs=None, seed=None, length="usual", executor=None, store=None
) -> tuple[str, Callable[[Any], Any], Callable[[Any], Chapter]]:
    """Load the data of an experiment; return its title, what plays it, and what writes its chapter."""
    own = import_module(f"{__name__}.{name}")
    seed = 2014 if seed is None else seed
    where = {"executor": executor, "store": store}
    if name == "race":
        heats = [(heat, heat.size(length, n_episodes, n_runs), heat.load(data)) for heat in own.HEATS]
        return own.TITLE, partial(own.play, heats, seed, **where), partial(own.write, seed)
    n_usual, n_often = (own.N_QUICK, N_QUICK_RUNS) if length == "quick" else (own.N_EPISODES, own.N_RUNS)
    n_episodes, n_runs = n_episodes or n_usual, n_runs or n_often
    datasets = own.load(data)

    def play(progress: Callable[[str, int, int], None]) -> mb.simulation.Sweep:
        return mb.sweep(
            own.problems(datasets, n_episodes),
            partial(own.policies, n_episodes=n_episodes),
            n_episodes=n_episodes,
            n_runs=n_runs,
            seed=seed,
            checkpoints=np.unique(np.linspace(1, n_episodes, N_CHECKPOINTS).round().astype(np.int64)),
            progress=partial(progress, name),
            **where,
        )

    def write(sweep: mb.simulation.Sweep) -> Chapter:
        usual = sweep_chapter(sweep, name=name, title=own.TITLE, description="")
        sources = tuple(map(source_of, datasets)) or usual.run.data
        lead, *blocks = own.write(sweep, datasets)
        return replace(usual, lead=lead, blocks=tuple(blocks), run=replace(usual.run, data=sources))

    return own.TITLE, play, write
