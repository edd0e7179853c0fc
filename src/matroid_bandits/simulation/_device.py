"""Simulations on a GPU: whether one is used, and its outcomes as parts of a result."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from matroid_bandits import gpu
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import DeviceError, SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._cutting import Job
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._play import Part, Settings
from matroid_bandits.simulation._progress import Reporter

DeviceChoice = Literal["cpu", "gpu", "auto"]


def choose_device(device: Any, named: Mapping[str, Policy], settings: Settings, executor: ExecutorChoice) -> str:
    """Where to play, "cpu" or "gpu".

    Raises
    ------
    SimulationError
        `device` is none of the words, or settings of the CPU are given for a GPU.
    DeviceError
        A GPU was asked for, and a policy or the problem does not fit on it.
    """
    if device not in ("cpu", "gpu", "auto"):
        raise SimulationError(f'expected device to be "cpu", "gpu" or "auto", got {shown(device)}')
    if device == "cpu":
        return "cpu"
    cpu_only = "executor" if executor is not None else "engine" if settings.engine != "auto" else None
    if device == "auto":
        if cpu_only is not None:
            return "cpu"
        n_episodes, n_runs = settings.n_episodes, settings.n_runs
        return gpu.explain(settings.problem, named, n_episodes=n_episodes, n_runs=n_runs)[0]
    if cpu_only is not None:
        raise SimulationError(f'expected no {cpu_only} with device="gpu": it is for the CPU')
    for name, policy in named.items():
        reason = gpu.obstacle(settings.problem, policy, settings.n_episodes)
        if reason is not None:
            raise DeviceError(f"{name!r} cannot be simulated on a GPU: {reason}")
    return "gpu"


def run_gpu(jobs: Sequence[Job], report: Reporter) -> Generator[tuple[Job, Part], None, None]:
    """Play jobs on the GPU, and yield each with what it found; as `run_jobs` does elsewhere."""
    tasks = [_task(job, job.settings) for job in jobs]
    for job, found in zip(jobs, gpu.play(tasks, report.add), strict=True):
        surplus = np.zeros(job.last - job.first)
        yield job, Part(job.first, job.last, found.returns, found.regret, found.choices, surplus)


def _task(job: Job, settings: Settings) -> gpu.Task:
    return gpu.Task(
        settings.problem,
        job.policy,
        settings.n_episodes,
        job.first,
        job.last,
        settings.seed,
        settings.start,
        settings.checkpoints,
    )
