"""Whole episodes on a GPU beside those of the CPU of the same machine, and the figure of ``docs/gpu.md``.

Figures are episodes a second over all runs, of simulations from episode 1 on, after a first one that compiled the
kernels. Without a GPU there is nothing to measure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import matroid_bandits as mb
from benchmarks._harness import Case, Task, measure, show
from matroid_bandits.exceptions import DeviceError

_N_EPISODES = 1_000
_MOST_FIRST_S = 30.0
_FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "gpu.svg"

_FIRST = """
import time
began = time.perf_counter()
import numpy as np
import matroid_bandits as mb
edges = np.array([(i, j) for i in range(30) for j in range(i)])
problem = mb.Problem(mb.GraphicMatroid(edges), mb.ExponentialEnvironment(np.full(len(edges), 2.0)), minimize=True)
mb.simulate(problem, mb.OMM(), n_episodes=10, n_runs=100, seed=0, device="gpu")
print(time.perf_counter() - began)
"""


@dataclass(frozen=True)
class Setting:
    """A problem and a policy, how many runs fill an H200, and how many episodes a second are aimed at there."""

    name: str
    problem: mb.Problem
    policy: mb.Policy
    n_runs: int
    n_cpu_runs: int
    aim: float | None = None


def settings() -> list[Setting]:
    """Two graphs as large as providers' networks, and a thousand items; what else fits on a GPU, without aims."""
    rng = np.random.default_rng(10)
    coins = mb.BernoulliEnvironment(rng.random(1_000))
    large, small = (
        mb.Problem(
            mb.GraphicMatroid(_connected_graph(rng, n_vertices, n_edges)),
            mb.ExponentialEnvironment(np.clip(np.rint(rng.lognormal(1.0, 0.9, n_edges)), 1.0, 64.0)),
            minimize=True,
        )
        for n_vertices, n_edges in ((315, 972), (108, 153))
    )
    uniform = mb.Problem(mb.UniformMatroid(1_000, 10), coins)
    partition = mb.Problem(mb.PartitionMatroid(np.arange(1_000) // 100), coins)
    return [
        Setting("graph 315/972, OMM", large, mb.OMM(), 20_000, 3_000, 25e6),
        Setting("graph 108/153, OMM", small, mb.OMM(), 100_000, 10_000, 100e6),
        Setting("uniform 1,000/10, OMM", uniform, mb.OMM(), 40_000, 10_000, 60e6),
        Setting("partition 1,000/10, OMM", partition, mb.OMM(), 40_000, 10_000, 60e6),
        Setting("uniform 1,000/10, beta Thompson", uniform, mb.ThompsonSampling(), 10_000, 2_000, 5e6),
        Setting("transversal 232/51, OMM", _matchings(), mb.OMM(), 20_000, 2_000),
        Setting("linear 100 x 18, OMM", _vectors(), mb.OMM(), 20_000, 2_000),
        Setting("linear floats 200 x 20, OMM", _floats(), mb.OMM(), 20_000, 1_000),
        Setting("uniform 1,000/10, window of 200", uniform, mb.SlidingWindowOMM(200, 0.25), 20_000, 2_000),
        Setting("uniform 1,000/10, discounted", uniform, mb.DiscountedOMM(0.995, scale=0.25), 20_000, 2_000),
        Setting("uniform 1,000/10, discounted Thompson", uniform, mb.DiscountedThompson(0.995), 10_000, 200),
        Setting("uniform 1,000/10, normal weights, OMM", _noise(), mb.OMM(), 20_000, 2_000),
        Setting("uniform 1,000/10, drift, OMM", _drift(coins), mb.OMM(), 20_000, 2_000),
        Setting("graph 315/972, window of 200", large, mb.SlidingWindowOMM(200, 0.25), 10_000, 500),
    ]


def _matchings() -> mb.Problem:
    allowed = np.random.default_rng(12).random((232, 51)) < 0.42
    return _coins(mb.TransversalMatroid([np.flatnonzero(row).tolist() for row in allowed]))


def _vectors() -> mb.Problem:
    rng = np.random.default_rng(11)
    vectors = (rng.random((100, 18)) < 1 / 18).astype(np.int64)
    vectors[np.arange(100), rng.integers(18, size=100)] = 1
    return _coins(mb.LinearMatroid(vectors))


def _floats() -> mb.Problem:
    return _coins(mb.LinearMatroid(np.random.default_rng(13).normal(size=(200, 20))))


def _noise() -> mb.Problem:
    means = np.random.default_rng(3).random(1_000)
    return mb.Problem(mb.UniformMatroid(1_000, 10), mb.GaussianEnvironment(means))


def _drift(coins: mb.BernoulliEnvironment) -> mb.Problem:
    moving = mb.DriftingEnvironment(coins, to=np.random.default_rng(4).random(1_000), over=1_000)
    return mb.Problem(mb.UniformMatroid(1_000, 10), moving)


def _coins(matroid: mb.Matroid) -> mb.Problem:
    return mb.Problem(
        matroid, mb.BernoulliEnvironment(np.random.default_rng(matroid.n_items).random(matroid.n_items))
    )


def run(console: Console) -> dict[str, Any]:
    """Time every setting on the GPU and on all cores of the CPU, show it, draw the figure, and give it as data."""
    try:
        device = mb.gpu.find_device()
    except DeviceError as error:
        console.print(f"no figures of a GPU: {error}")
        return {"expected": []}
    console.print(f"{device.name}, {os.cpu_count()} CPU cores")
    results = [measure(case) for case in _cases()]
    show(console, "Whole episodes on a GPU, time per episode of one run", results)
    expected = []
    for setting, result in zip(settings(), results, strict=True):
        rate = 1.0 / result.ours
        if setting.aim is None:
            console.print(f"{setting.name}: {rate / 1e6:.1f} million episodes a second")
            continue
        expected.append({"name": setting.name, "rate": rate, "aim": setting.aim, "reached": rate >= setting.aim})
        verdict = "[green]reached[/]" if rate >= setting.aim else "[red]missed[/]"
        millions = f"{rate / 1e6:.1f} million episodes a second, aim {setting.aim / 1e6:g}"
        console.print(f"{setting.name}: {millions} {verdict}")
    first = _first_simulation()
    expected.append({"name": "first simulation", "seconds": first, "reached": first <= _MOST_FIRST_S})
    console.print(f"first simulation of a fresh process, compilation included: {first:.1f} s")
    _draw(_rates(), mb.gpu.find_device().name, _FIGURE)
    return {"results": [result.to_dict() for result in results], "expected": expected}


def _cases() -> Iterator[Case]:
    for each in settings():
        yield Case(
            f"{each.name}, {each.n_runs:,} runs x {_N_EPISODES:,}",
            Task(lambda each=each: simulate(each, each.n_runs, "gpu"), each.n_runs * _N_EPISODES),
            {"CPU": Task(lambda each=each: simulate(each, each.n_cpu_runs, "cpu"), each.n_cpu_runs * _N_EPISODES)},
            budget_s=0.0,
        )


def simulate(setting: Setting, n_runs: int, device: str) -> float:
    """The seconds that a simulation takes."""
    began = time.perf_counter()
    mb.simulate(
        setting.problem,
        setting.policy,
        n_episodes=_N_EPISODES,
        n_runs=n_runs,
        seed=0,
        checkpoints=[_N_EPISODES],
        device=device,
    )
    return time.perf_counter() - began


def _first_simulation() -> float:
    """The seconds that a fresh process takes for a first simulation, imports and compilation included."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(mb.__file__).parent.parent
        settings = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(source)}
        done = subprocess.run(
            [sys.executable, "-c", _FIRST], env=settings, capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def _rates() -> dict[str, dict[int, float]]:
    """Episodes a second by number of runs, for each setting with an aim."""
    return {
        setting.name: {
            n: n * _N_EPISODES / simulate(setting, n, "gpu")
            for n in (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
            if n <= setting.n_runs
        }
        for setting in settings()
        if setting.aim is not None
    }


def _draw(rates: Mapping[str, Mapping[int, float]], device: str, path: Path) -> None:
    """Episodes a second against the number of runs, a line per setting."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.fonttype": "path", "svg.hashsalt": "matroid-bandits", "font.size": 10}):
        figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
        for marker, (name, found) in zip("os^Dv", rates.items(), strict=True):
            axes.plot(list(found), list(found.values()), marker=marker, markersize=5, linewidth=1.8, label=name)
        axes.set(xscale="log", yscale="log", xlabel="runs", ylabel="episodes a second")
        axes.legend(frameon=False, loc="lower right")
        axes.set_title(f"Whole episodes a second, {device}", loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def _connected_graph(rng: np.random.Generator, n_vertices: int, n_edges: int) -> np.ndarray:
    """A random tree, and edges between random vertices beside it, none twice."""
    ends = {(int(rng.integers(v)), v) for v in range(1, n_vertices)}
    while len(ends) < n_edges:
        u, v = sorted(rng.integers(0, n_vertices, 2).tolist())
        if u != v:
            ends.add((u, v))
    return np.array(sorted(ends))
