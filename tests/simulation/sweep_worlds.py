"""A small sweep that several processes run on one store, and what a store holds."""

import multiprocessing
import os
import re
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

import matroid_bandits as mb

PROBLEMS = {f"gap {gap}": mb.lower_bound_problem(12, 3, gap) for gap in (0.1, 0.2, 0.4)}
POLICIES = {"OMM": [mb.OMM(scale) for scale in (0.1, 0.2, 0.5, 1.0)], "KLOSM": mb.KLOSM(), "eps": mb.EpsilonGreedy()}
SIZE = {"n_episodes": 60, "seed": 3, "checkpoints": [10, 30]}


def play(store, n_runs, problems=PROBLEMS, policies=POLICIES, **options):
    """The sweep of this file."""
    return mb.sweep(problems, policies, n_runs=n_runs, store=store, **(SIZE | options))


def play_long(store, n_runs):
    """The same with more episodes, for whoever wants to interrupt it."""
    return play(store, n_runs, n_episodes=300)


def files(store):
    """The stored intervals of runs with their files' identities, by cell."""
    found = {}
    for path in Path(store).glob("*/*.npz"):
        if match := re.fullmatch(r"(\d+)-(\d+)\.npz", path.name):
            found.setdefault(path.parent.name, {})[int(match[1]), int(match[2])] = path.stat().st_ino
    return found


def overlaps(store):
    """Runs of a cell that are stored more than once: those that were played again after they had been stored."""
    return [
        (cell, one, two)
        for cell, intervals in files(store).items()
        for one in intervals
        for two in intervals
        if one < two and two[0] < one[1]
    ]


def starter():
    """How to start processes that have this file, and all that it needs, loaded and compiled."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    paths = [str(Path(__file__).parent), str(Path(mb.__file__).parent.parent)]
    with mock.patch.dict(os.environ, {_WARM: "1", "PYTHONPATH": os.pathsep.join(paths)}):
        forkserver.ensure_running()
    return context


_WARM = "MATROID_BANDITS_TESTS_WARM"

if os.environ.get(_WARM) == "1":  # in the server that others are forked from; one run needs no threads
    mb.sweep(PROBLEMS, POLICIES, n_episodes=2, n_runs=1, seed=0)
