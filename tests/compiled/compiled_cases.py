"""Simulations that have a compiled form, and how what they find is compared with what an `Agent` finds."""

import fcntl
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from episode_cases import DELAYS, FAMILIES, WORLDS
from matroid_bandits import compiled
from matroid_bandits.compiled import Settings, Slice, _ready
from matroid_bandits.compiled._families import kernel_of
from matroid_bandits.simulation._play import play as play_slice


def problem_of(case, n_items, seed=0):
    """The problem of a case, with so many items; a sixth value of a case says how late answers are."""
    family, _, world, _, minimize, *delay = case
    rng = np.random.default_rng([n_items, seed])
    matroid, environment = FAMILIES[family](n_items, rng), WORLDS[world](n_items, rng)
    for name in delay:
        environment = DELAYS[name](environment, rng)
    return mb.Problem(matroid, environment, minimize=minimize)


def settings_of(case, n_items, n_episodes, n_runs, seed=1, checkpoints=(), by_run=False):
    """The settings of a case."""
    points = np.unique([*checkpoints, n_episodes])
    return Settings(problem_of(case, n_items), n_episodes, n_runs, seed, case[3], points, by_run=by_run)


def play_compiled(policy, settings, first=0, last=None):
    """Some runs in compiled episodes."""
    runs = Slice("it", policy, first, settings.n_runs if last is None else last)
    with _alone(kernel_of(settings.forms, policy)):
        return compiled.play(runs, settings, lambda n: False)


def play_agent(policy, settings, first=0, last=None):
    """Some runs by an `Agent` with the engine that is the reference of all others."""
    runs = Slice("it", policy, first, settings.n_runs if last is None else last)
    return play_slice(runs, replace(settings, engine="greedy"), lambda n: False)


def differences(ours, theirs):
    """The names of what differs in any bit between two parts, engines and times apart."""
    assert (ours.engine, theirs.engine) == ("compiled", "agent")
    names = vars(theirs).keys() - {"engine", "seconds"}
    return [name for name in sorted(names) if not _is_same(getattr(ours, name), getattr(theirs, name))]


def _is_same(ours, theirs):
    if not isinstance(theirs, np.ndarray):
        return ours == theirs
    return isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


@contextmanager
def _alone(kernel):
    """While one process of a run of the tests compiles a kernel, the others wait, and then load it."""
    if _ready.is_interpreted() or _ready.is_loaded(kernel):
        yield
        return
    with open(Path(tempfile.gettempdir()) / f"matroid-bandits-{kernel}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels():
    """Load the kernels that short simulations use where they are loaded."""
    for family in ("uniform", "graph"):
        play_compiled(mb.OMM(), settings_of((family, "OMM", "bernoulli", "observe", False), 9, 2, 1))
