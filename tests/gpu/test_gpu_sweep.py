"""Sweeps on a GPU, or in Numba's simulator of one: what the CPU finds and stores, to the last bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from gpu_cases import IS_LARGE, NEEDS_GPU
from matroid_bandits import gpu
from matroid_bandits.compiled import Settings, Slice
from matroid_bandits.gpu import _play

pytestmark = NEEDS_GPU
N_RUNS = 3000 if IS_LARGE else 2
COINS = mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.3, 0.1])
ROWS = mb.RowEnvironment([[1.0, 0.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.5, 0.25, 0.0]])
PROBLEMS = {
    "coins": mb.Problem(mb.UniformMatroid(5, 2), COINS),
    "cables": mb.Problem(mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]), ROWS, minimize=True),
    "turns": mb.Problem(mb.PartitionMatroid([0, 0, 0, 1, 1]), mb.PiecewiseEnvironment([COINS, ROWS], [2])),
}
POLICIES = {"OMM": mb.OMM(0.2), "epsilon": mb.EpsilonGreedy(0.5)}
SETTINGS = {"n_episodes": 3, "seed": 6, "checkpoints": [1]}
#: How many runs a sweep plays: on every problem, by every policy.
N_EACH = 3 * 2


def _sweep(device, n_runs=N_RUNS, policies=POLICIES, **settings):
    return mb.sweep(PROBLEMS, policies, n_runs=n_runs, device=device, **(SETTINGS | settings))


def _stored(folder):
    """The arrays of all runs that a store holds, a cell after another, however they were cut."""
    found = {}
    for cell in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        files = [np.load(path) for path in sorted(cell.glob("*.npz"))]
        for name in ("returns", "regret", "choices", "surplus", "optimum"):
            arrays = [file[name] for file in files if name in file.files]
            if arrays:
                found[cell.name, name] = np.concatenate(arrays)
    return found


def test_a_sweep_is_that_of_the_cpu():
    seen = []
    theirs = _sweep("gpu", progress=lambda done, total: seen.append((done, total)))
    assert theirs == _sweep("cpu")
    assert {name: result.device for name, result in theirs.results.items()} == dict.fromkeys(PROBLEMS, "gpu")
    assert seen[-1] == (N_EACH * N_RUNS * 3,) * 2


@pytest.mark.parametrize("start", ["observe", "explore"])
def test_a_store_filled_by_a_gpu_is_that_of_the_cpu(tmp_path, start):
    ours, theirs = (_sweep(device, store=tmp_path / device, start=start) for device in ("cpu", "gpu"))
    assert ours == theirs
    assert {result.device for result in theirs.results.values()} == {"gpu"}
    stored = {device: _stored(tmp_path / device) for device in ("cpu", "gpu")}
    assert list(stored["cpu"]) == list(stored["gpu"])
    for name, array in stored["cpu"].items():
        assert array.dtype == stored["gpu"][name].dtype
        assert np.array_equal(array, stored["gpu"][name]), name


def test_a_gpu_goes_on_from_what_a_cpu_has_stored_and_the_other_way_round(tmp_path):
    _sweep("cpu", 1, store=tmp_path)
    larger = _sweep("gpu", 2, store=tmp_path)  # which plays the run number 1
    assert (larger.n_played, larger.n_stored) == (N_EACH, N_EACH)
    assert {result.device for result in larger.results.values()} == {"cpu"}  # in part
    assert larger == _sweep("cpu", 2)
    assert _sweep("cpu", 3, store=tmp_path) == _sweep("cpu", 3)


def test_what_was_played_is_stored_wave_by_wave(tmp_path, monkeypatch):
    monkeypatch.setattr(_play.Plan, "most_runs", lambda self, budget: 1)

    def interrupt(done, total):
        if done > total // 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_play, "_ENOUGH_RUNS", 0)  # one wave at a time
    with pytest.raises(KeyboardInterrupt):
        _sweep("gpu", 2, store=tmp_path, progress=interrupt)
    again = _sweep("cpu", 2, store=tmp_path)
    assert 0 < again.n_played < N_EACH * 2
    assert again == _sweep("cpu", 2)


def test_runs_of_a_store_are_no_more_at_a_time_than_fill_a_gpu():
    device = gpu.Device("a GPU", n_processors=2, free_bytes=2**33, block_bytes=2**16)
    settings = Settings(PROBLEMS["coins"], 9, 10**6, seed=1, start="observe", checkpoints=np.array([9]))
    runs = Slice("OMM", mb.OMM(), 0, 10**6)
    assert _play.Plan.of(runs, settings, device).most_runs(2**40) > 10**6
    assert _play.Plan.of(runs, replace(settings, by_run=True), device).most_runs(2**40) == 128


def test_auto_plays_what_fits_on_the_gpu_and_the_rest_on_the_cpu(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "LEAST_EPISODES", 1)
    problems = {name: problem for name, problem in PROBLEMS.items() if name != "turns"}
    coins = mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4, 0.5])
    problems["late"] = mb.Problem(mb.UniformMatroid(5, 2), mb.DelayedEnvironment(coins, 2))
    policies = {"OMM": mb.OMM()}
    for store in (None, tmp_path / "store"):
        ours, theirs = (
            mb.sweep(problems, policies, n_runs=2, store=where, device=device, **SETTINGS)
            for device, where in (("cpu", None), ("auto", store))
        )
        assert ours == theirs
        devices = {name: result.device for name, result in theirs.results.items()}
        assert devices == {"coins": "gpu", "cables": "gpu", "late": "cpu"}
    mixed = mb.sweep(PROBLEMS["coins"], {"OMM": mb.OMM(), "KLOSM": mb.KLOSM()}, n_runs=2, device="auto", **SETTINGS)
    assert mixed["problem 1"].device == "cpu"  # half of it
