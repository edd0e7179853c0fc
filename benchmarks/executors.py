"""What executors cost: one simulation on threads, processes, a local Dask cluster and a local Ray, in one run."""

from __future__ import annotations

import importlib.util
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import matroid_bandits as mb
from benchmarks._harness import format_time
from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import Settings
from matroid_bandits.simulation import _execute, _workers
from matroid_bandits.simulation._jobs import Job

#: Of the time that threads take, for a job that takes them a minute.
MOST_OVERHEAD = 0.10

_SECONDS = 60.0
_N_RUNS = 200
_POLICIES = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling("normal")}


@dataclass(frozen=True)
class Cost:
    """What one executor took; bytes are what is pickled, a problem once for each worker."""

    executor: str
    seconds: float
    first_part_s: float
    n_slices: int
    problem_bytes: int
    sent_bytes: int
    received_bytes: int
    overhead: float = 0.0


def run(console: Console) -> dict[str, Any]:
    """Time the simulation everywhere, threads first and last, print a table, and give it as data."""
    n_episodes = _episodes_of_a_minute()
    first = _cost("threads", None, n_episodes)
    others = []
    for name, opened in _EXECUTORS.items():
        package = {"Dask": "distributed", "Ray": "ray"}.get(name, "joblib")
        if importlib.util.find_spec(package) is None:
            console.print(f"{name}: {package} is not installed, left out")
            continue
        with opened() as executor:
            for _ in range(2):  # workers import, and load what is compiled
                _cost(name, executor, n_episodes // 200)
            others.append(_cost(name, executor, n_episodes))
    last = _cost("threads, again", None, n_episodes)
    base = (first.seconds + last.seconds) / 2
    is_steady = abs(first.seconds - last.seconds) <= MOST_OVERHEAD * min(first.seconds, last.seconds)
    rows = [
        asdict(cost) | {"overhead": cost.seconds / base - 1.0, "is_steady": is_steady}
        for cost in (first, last, *others)
    ]
    _show(console, rows, n_episodes)
    return {"costs": rows, "expected": [{"executor": row["executor"], "reached": not is_missed(row)} for row in rows]}


def is_missed(row: dict[str, Any]) -> bool:
    """Whether an executor was not shown to take as little as expected.

    Threads are what it is measured against: where their own two times differ by more than what is to be seen,
    nothing is shown.
    """
    return not row["executor"].startswith("threads") and (row["overhead"] > MOST_OVERHEAD or not row["is_steady"])


def _problem() -> mb.Problem:
    rng = np.random.default_rng(0)
    edges = [(int(i), int(rng.integers(i))) for i in range(1, 80)]
    edges += [(int(i), int(j)) for i, j in rng.integers(80, size=(80, 2)) if i != j]
    return mb.Problem(mb.GraphicMatroid(edges), mb.ExponentialEnvironment(1.0 + 9.0 * rng.random(len(edges))))


def _jobs(n_episodes: int) -> list[Job]:
    settings = Settings(_problem(), n_episodes, _N_RUNS, 0, "observe", np.arange(1, n_episodes + 1, 100), "auto")
    points = np.unique(np.append(settings.checkpoints, n_episodes))
    settings = Settings(settings.problem, n_episodes, _N_RUNS, 0, "observe", points, "auto")
    return [Job(name, settings, name, policy, 0, _N_RUNS) for name, policy in _POLICIES.items()]


def _episodes_of_a_minute() -> int:
    for n in (50, 400):  # the first compiles
        began = time.perf_counter()
        list(_execute.run_jobs(_jobs(n)))
        seconds = time.perf_counter() - began
    return max(1000, int(400 * _SECONDS / seconds))


def _cost(name: str, executor: Any, n_episodes: int) -> Cost:
    jobs = _jobs(n_episodes)
    first, n_slices, n_received = 0.0, 0, 0
    with _counted() as sent:
        began = time.perf_counter()
        for _, part in _execute.run_jobs(jobs, executor):
            first = first or time.perf_counter() - began
            n_slices += 1
            n_received += 0 if executor is None else len(pickle.dumps(part))
        seconds = time.perf_counter() - began
    return Cost(name, seconds, first, n_slices, sent["problem"] * n_threads(), sent["slices"], n_received)


@contextmanager
def _counted() -> Iterator[dict[str, int]]:
    """Count the bytes of problems and of slices that are sent."""
    sent = {"problem": 0, "slices": 0}
    pickled, source = _workers.pickled, _workers.Remote._source

    def count_problem(group: Any) -> bytes:
        raw = pickled(group)
        sent["problem"] += len(raw)
        return raw

    def count_slice(self: Any, job: Any) -> tuple[str, str]:
        found = source(self, job)
        sent["slices"] += len(pickle.dumps((mb.__version__, *found, 0, job.first, job.last, 3.0)))
        return found

    _workers.pickled, _workers.Remote._source = count_problem, count_slice
    try:
        yield sent
    finally:
        _workers.pickled, _workers.Remote._source = pickled, source


@contextmanager
def _processes() -> Iterator[int]:
    yield n_threads()


@contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(n_threads(), mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def _dask() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    options = {"n_workers": n_threads(), "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def _ray() -> Iterator[str]:
    import ray

    ray.init(num_cpus=n_threads(), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield "ray"
    ray.shutdown()


_EXECUTORS = {"processes": _processes, "ProcessPoolExecutor": _pool, "Dask": _dask, "Ray": _ray}


def _show(console: Console, rows: list[dict[str, Any]], n_episodes: int) -> None:
    title = f"Executors, {n_threads()} workers each, {_N_RUNS} runs of {n_episodes:,} episodes of two policies"
    table = Table("executor", "time", "over threads", "first part", "slices", "problem, kB", "out, kB", "in, kB",
                  title=title, title_justify="left")  # fmt: skip
    for row in rows:
        verdict = "[red]missed[/]" if is_missed(row) else "[green]reached[/]"
        if row["executor"].startswith("threads"):
            verdict = ""
        elif not row["is_steady"]:
            verdict = "[yellow]undecided: threads vary more[/]"
        kilobytes = (f"{row[name] / 1e3:,.1f}" for name in ("problem_bytes", "sent_bytes", "received_bytes"))
        table.add_row(
            row["executor"],
            format_time(row["seconds"]),
            f"{row['overhead']:+.1%} {verdict}",
            format_time(row["first_part_s"]),
            str(row["n_slices"]),
            *kilobytes,
        )
    console.print(table)
