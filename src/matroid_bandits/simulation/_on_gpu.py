"""Simulations on a GPU: whether one is used, and its outcomes as parts of a result."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from matroid_bandits import gpu
from matroid_bandits._util.text import shown
from matroid_bandits.compiled import Part, Settings, Slice
from matroid_bandits.exceptions import DeviceError, SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._execute import run_jobs
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._progress import Reporter

DeviceChoice = Literal["cpu", "gpu", "auto"]


def choose_device(device: Any, named: Mapping[str, Policy], settings: Settings, executor: ExecutorChoice) -> str:
    """Where to play a simulation, "cpu" or "gpu"."""
    cpu_only = "executor" if executor is not None else "engine" if settings.engine != "auto" else None
    if settings.until is not None:
        cpu_only = "until"
    if not _may_use_gpu(device, cpu_only):
        return "cpu"
    if device == "auto":
        n_episodes, n_runs = settings.n_episodes, settings.n_runs
        return gpu.explain(settings.problem, named, n_episodes=n_episodes, n_runs=n_runs)[0]
    for name, policy in named.items():
        _check_fit(name, settings, policy)
    return "gpu"


def jobs_for_gpu(device: Any, jobs: Sequence[Job], executor: ExecutorChoice) -> set[Hashable]:
    """The keys of those jobs of a sweep that are played on a GPU."""
    if not _may_use_gpu(device, None if executor is None else "executor"):
        return set()
    if device == "gpu":
        for job in jobs:
            _check_fit(job.name, job.settings, job.policy)
        return {job.key for job in jobs}
    if sum((job.last - job.first) * job.settings.n_episodes for job in jobs) < gpu.LEAST_EPISODES:
        return set()
    try:
        found = gpu.find_device()
    except DeviceError:
        return set()
    fitting = [
        job for job in jobs if gpu.obstacle(job.settings.problem, job.policy, job.settings.n_episodes, found) is None
    ]
    n_episodes = sum((job.last - job.first) * job.settings.n_episodes for job in fitting)
    return {job.key for job in fitting} if n_episodes >= gpu.LEAST_EPISODES else set()


def _may_use_gpu(device: Any, cpu_only: str | None) -> bool:
    """Whether a GPU comes into question; `cpu_only` is a setting that was given and is for the CPU."""
    if device not in ("cpu", "gpu", "auto"):
        raise SimulationError(f'expected device to be "cpu", "gpu" or "auto", got {shown(device)}')
    if device == "gpu" and cpu_only is not None:
        raise SimulationError(f'expected no {cpu_only} with device="gpu": it is for the CPU')
    return device != "cpu" and cpu_only is None


def _check_fit(name: str, settings: Settings, policy: Policy) -> None:
    reason = gpu.obstacle(settings.problem, policy, settings.n_episodes)
    if reason is not None:
        raise DeviceError(f"{name!r} cannot be simulated on a GPU: {reason}")


def run_anywhere(
    jobs: Sequence[Job],
    on_gpu: Collection[Hashable],
    executor: ExecutorChoice,
    *,
    report: Reporter,
    seconds: float | None = None,
) -> Generator[tuple[Job, Part], None, None]:
    """Play the jobs whose keys are in `on_gpu` on the GPU, then the others as `run_jobs` does."""
    there = [job for job in jobs if job.key in on_gpu]
    others = [job for job in jobs if job.key not in on_gpu]
    yield from _run_gpu(there, report)
    if others:
        yield from run_jobs(others, executor, report=report, seconds=seconds)


def _run_gpu(jobs: Sequence[Job], report: Reporter) -> Generator[tuple[Job, Part], None, None]:
    """Play jobs on the GPU, and yield parts of them as soon as they are known."""
    tasks = [(Slice(job.name, job.policy, job.first, job.last), job.settings) for job in jobs]
    is_alone, began = len({id(policy) for policy in (job.policy for job in jobs)}) == 1, time.perf_counter()
    for number, part in gpu.play(tasks, report.add):
        now = time.perf_counter()
        # several policies are played at once, and their times cannot be told apart
        yield jobs[number], replace(part, seconds=now - began) if is_alone else part
        began = time.perf_counter()
