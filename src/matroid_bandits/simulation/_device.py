"""Simulations on a GPU: whether one is used, and its outcomes as parts of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from matroid_bandits import gpu
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import DeviceError, SimulationError
from matroid_bandits.policies import Policy
from matroid_bandits.simulation._play import Part, Settings, Slice
from matroid_bandits.simulation._progress import Reporter

DeviceChoice = Literal["cpu", "gpu", "auto"]


def choose_device(device: Any, named: Mapping[str, Policy], settings: Settings, is_spread: bool) -> str:
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
    cpu_only = "n_jobs" if is_spread else "engine" if settings.engine != "auto" else None
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


def run_gpu(named: Mapping[str, Policy], settings: Settings, report: Reporter) -> list[Part]:
    """Play every policy on the GPU."""
    n_runs = settings.n_runs
    tasks = [
        gpu.Task(
            settings.problem,
            policy,
            settings.n_episodes,
            0,
            n_runs,
            settings.seed,
            settings.start,
            settings.checkpoints,
        )
        for policy in named.values()
    ]
    return [
        Part(Slice(name, policy, 0, n_runs), found.returns, found.regret, found.choices, np.zeros(n_runs))
        for (name, policy), found in zip(named.items(), gpu.play(tasks, report.add), strict=True)
    ]
