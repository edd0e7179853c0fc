"""Simulations of six sizes in fresh processes, on an empty and on a warm cache: by default, by agents, by kernels.

    python -m benchmarks sizes

By default it is chosen who plays; that should take at most 1.1 times an agent's wall time on an empty cache, and at
most 1.1 times the better of the two on a warm one. Every time is the least of some processes. The processor time of
a child that compiles meanwhile stands apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import matroid_bandits as mb
from benchmarks._harness import format_time
from matroid_bandits.engines import Engine, make_engine

#: Episodes of a run, and runs.
SIZES = ((100, 10), (1_000, 10), (1_000, 100), (10_000, 100), (40_000, 100), (100_000, 100))

#: Of the agent's wall time, or of the better of the two; times are too short to tell below these seconds.
MOST_RATIO, _SHORT_S = 1.1, 0.1

_PLAYERS = ("default", "agent", "compiled")

#: Processes on a warm cache; on an empty one, which takes long, a single one.
_ROUNDS = 3


def run(console: Console) -> dict[str, Any]:
    """Measure, show and judge."""
    rows = []
    with tempfile.TemporaryDirectory() as warm:
        for what in ("quotas", "graph"):
            _measure(what, SIZES[0], "compiled", warm)  # compiles all there is
            _measure(what, SIZES[0], "agent", warm)
            rows += list(_rows(what, warm))
    _show(console, rows)
    kept = [
        {"problem": row["problem"], "n_episodes": row["n"], "cache": row["cache"], **_judged(row)} for row in rows
    ]
    return {"sizes": rows, "expected": kept}


def _rows(what: str, warm: str) -> Iterator[dict[str, Any]]:
    for size in SIZES:
        for cache in ("empty", "warm"):
            row: dict[str, Any] = {"problem": what, "n": size[0] * size[1], "cache": cache}
            for player in _PLAYERS if cache == "warm" else _PLAYERS[:2]:
                found = [_cold(what, size, player)] if cache == "empty" else []
                found += [_measure(what, size, player, warm) for _ in range(_ROUNDS if cache == "warm" else 0)]
                row[player] = min(found, key=lambda each: float(each["wall_s"]))
            yield row


def _cold(what: str, size: tuple[int, int], player: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as empty:
        return _measure(what, size, player, empty)


def _measure(what: str, size: tuple[int, int], player: str, folder: str) -> dict[str, Any]:
    """Wall and processor time of one simulation in a fresh process."""
    background = "1" if player == "default" else "0"
    environment = os.environ | {"NUMBA_CACHE_DIR": folder, "MATROID_BANDITS_BACKGROUND": background}
    command = [sys.executable, "-m", "benchmarks.sizes", what, *map(str, size), player]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(said)
    return found


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    others = [row[player]["wall_s"] for player in _PLAYERS[1:] if player in row]
    ratio = row["default"]["wall_s"] / min(others)
    return {"ratio": ratio, "reached": ratio <= MOST_RATIO or row["default"]["wall_s"] - min(others) < _SHORT_S}


def _show(console: Console, rows: list[dict[str, Any]]) -> None:
    title = "Simulations in fresh processes, wall time / processor time"
    table = Table("problem", "episodes", "cache", *_PLAYERS, "played by", "child", "ratio", title=title)
    for row in rows:
        times = (row.get(player) for player in _PLAYERS)
        cells = [
            "" if each is None else f"{format_time(each['wall_s'])} / {format_time(each['cpu_s'])}" for each in times
        ]
        child = row["default"]["child_s"]
        judged = _judged(row)
        verdict = "[green]reached[/]" if judged["reached"] else "[red]missed[/]"
        table.add_row(
            row["problem"],
            f"{row['n']:,}",
            row["cache"],
            *cells,
            row["default"]["engine"],
            "" if child is None else format_time(child),
            f"{judged['ratio']:.2f} {verdict}",
        )
    console.print(table)


def _problem(what: str) -> mb.Problem:
    rng = np.random.default_rng(5)
    if what == "quotas":
        return mb.Problem(mb.UniformMatroid(100, 10), mb.BernoulliEnvironment(rng.uniform(0.1, 0.9, 100)))
    edges = {(int(rng.integers(i)), i) for i in range(1, 108)}
    while len(edges) < 153:
        u, v = sorted(rng.choice(108, 2, replace=False).tolist())
        edges.add((u, v))
    weights = mb.ExponentialEnvironment(1.0 + rng.exponential(3.0, len(edges)))
    return mb.Problem(mb.GraphicMatroid(sorted(edges)), weights, minimize=True)


def _any_engine(constraint: mb.Constraint, policy: mb.Policy, state: mb.State) -> Engine:
    """The engine of an agent; one that is named keeps whole episodes from being compiled."""
    return make_engine("auto", constraint, policy, state)


def _work(what: str, n_episodes: int, n_runs: int, player: str) -> None:
    """Play one simulation, and print its times."""
    problem = _problem(what)
    began, spent = time.perf_counter(), time.process_time()
    if player == "compiled":
        mb.compiled.prepare(problem, mb.OMM())
    engine: Any = _any_engine if player == "agent" else "auto"
    result = mb.simulate(problem, mb.OMM(), n_episodes=n_episodes, n_runs=n_runs, seed=1, engine=engine)
    wall, cpu = time.perf_counter() - began, time.process_time() - spent
    child = [seconds for seconds in mb.compiled.compiling().values() if seconds is not None]
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "engine": result.engine[0], "child_s": sum(child) or None}))


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
