"""Race policies on a problem: many runs, common random numbers, regret with standard errors."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, IntArray
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import counted
from matroid_bandits.compiled import Settings, Start
from matroid_bandits.engines import EngineChoice
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import PolicyError, ScaleWarning, SimulationError
from matroid_bandits.identification import StoppingRule
from matroid_bandits.policies import Policy, check_takes, scale_problem
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._digests import keys_of
from matroid_bandits.simulation._ending import check_until
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._on_gpu import DeviceChoice, choose_device, run_anywhere
from matroid_bandits.simulation._progress import Progress, Reporter
from matroid_bandits.simulation._randomness import check_randomness
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._tally import Tally
from matroid_bandits.stream import as_seed


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Iterable[Policy] | Policy,
    *,
    n_episodes: int,
    n_runs: int,
    seed: int | None = None,
    start: Start = "observe",
    checkpoints: ArrayLike | None = None,
    executor: ExecutorChoice = None,
    progress: bool | Progress = False,
    engine: EngineChoice = "auto",
    keep_runs: bool = False,
    device: DeviceChoice = "cpu",
    until: StoppingRule | None = None,
    first_run: int = 0,
) -> SimulationResult:
    """Simulate every policy on a problem for `n_episodes` episodes in each of `n_runs` independent runs.

    All policies get the same weights (common random numbers), and the results of a run are a function of (seed, run)
    alone: they do not depend on the number of runs, threads, processes or other policies. Regret is measured against
    the best set of each episode: among available items (see `AvailabilityEnvironment`), and for the means of that
    episode if they change (see `PiecewiseEnvironment` and `DriftingEnvironment`). If an environment does not know its
    means, regret is NaN. Delayed feedback (see `DelayedEnvironment`) is learnt when it arrives, and counts in the
    episode of its decision; features of the items (see `ContextualEnvironment`) are passed to policies that use them.

    Parameters
    ----------
    problem : Problem
        The problem.
    policies : mapping of name to Policy, policies, or one Policy
        The policies to simulate. Without names, a policy gets the name of its class, or its repr if several have the
        same class.
    n_episodes, n_runs : int
        Number of episodes, and number of independent runs.
    seed : int, optional
        By default a fresh one, which the result carries.
    start : "observe" or "explore", default "observe"
        "observe": every item is observed once before episode 1 (the paper's w_0), available or not. "explore": no
        item is; unseen items come first in the greedy order.
    checkpoints : array_like of int, optional
        Episodes at which to record the curves; by default about 100, evenly spaced in the logarithm.
    executor : int, Executor, Dask Client or "ray", optional
        Where the runs are played. By default on threads of this process: all cores for compiled episodes; episodes
        that enter Python use as many threads as an estimate of their time allows, often one, and processes may be
        faster for them. An integer is a number of processes (through joblib). Also any
        `concurrent.futures.Executor`, a `dask.distributed.Client`, or "ray", the Ray cluster that this process is
        connected to. The results are the same everywhere. Workers need the same version of the package.
    progress : bool or callable, default False
        True shows a bar with the time left on stderr, or a line every ten seconds where stderr is a file. A callable
        gets (done, total) now and then: on threads while episodes are played, elsewhere after each slice of runs.
    engine : str, or class, default "auto"
        The algorithm that finds decisions; all engines make the same ones. "auto" plays whole episodes in compiled
        code if the policy, the constraint and the environment have a compiled form and the kernel is loaded or worth
        loading, and otherwise uses the fastest engine that fits, while a child process compiles a kernel that is
        worth it; `compiled.explain` returns which and why, and `engine` of the result has what was used. Other values
        name an engine.
    keep_runs : bool, default False
        Keep the curves of every run too, in `run_returns` and `run_regret` of the result.
    device : "cpu", "gpu" or "auto", default "cpu"
        The device that plays the runs, with the same results. "auto" uses a GPU if there is one, the simulation fits
        and is long enough to be faster; `gpu.explain` returns the reason, and `device` of the result has the device
        that was used.
    until : StoppingRule, optional
        Each run ends when this rule stops, or after `n_episodes`; `endings` of the result has the rounds and the
        errors. A run that has ended adds nothing to the curves. Such runs are played one episode at a time, on the
        CPU.
    first_run : int, default 0
        The number of the first run. Run i of a seed is the same whenever it is played, so further runs may be played
        later, from where a result ends, and joined to it (see `SimulationResult.join`).

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
    >>> policies = {"OMM": mb.OMM(), "chance": mb.UniformRandom()}
    >>> result = mb.simulate(problem, policies, n_episodes=1000, n_runs=20, seed=1)
    >>> bool(result.regret[0, -1] < result.regret[1, -1])
    True
    """
    named = check_policies(problem, policies)
    for policy in named.values():
        check_until(until, problem, policy)
        _warn_of_scale(policy, problem.environment)
    settings = check_settings(problem, n_episodes, n_runs, as_seed(seed), start, checkpoints, engine)
    if until is not None:
        settings = replace(settings, until=until)
    n_episodes, n_runs = settings.n_episodes, settings.n_runs
    first = as_integer("first_run", first_run, 0, 2**32 - n_runs, error=SimulationError)
    where = choose_device(device, named, settings, executor)
    check_randomness(settings, named, first)
    began = time.perf_counter()
    report = Reporter(progress, n_episodes * n_runs * len(named))
    jobs = [Job(name, settings, name, policy, first, first + n_runs) for name, policy in named.items()]
    tally = Tally(tuple(named), settings, first)
    on_gpu = set(named) if where == "gpu" else set()
    try:
        with closing(run_anywhere(jobs, on_gpu, executor, report=report)) as parts:
            for job, part in parts:
                tally.add(job.name, part)
    finally:
        report.close()
    return tally.result(time.perf_counter() - began, keep_runs, where, keys_of(problem, named))


def check_settings(
    problem: Problem,
    n_episodes: int,
    n_runs: int,
    seed: int,
    start: Start,
    checkpoints: ArrayLike | None,
    engine: EngineChoice = "auto",
) -> Settings:
    """The settings of a simulation of one problem, checked."""
    n_episodes = as_integer("n_episodes", n_episodes, 1, 2**47, error=SimulationError)
    n_runs = as_integer("n_runs", n_runs, 1, 2**32, error=SimulationError)
    if start not in ("observe", "explore"):
        raise SimulationError(f'expected start to be "observe" or "explore", got {start!r}')
    return Settings(problem, n_episodes, n_runs, seed, start, _check_checkpoints(checkpoints, n_episodes), engine)


def check_policies(problem: Problem, policies: Mapping[str, Policy] | Iterable[Policy] | Policy) -> dict[str, Policy]:
    if not isinstance(problem, Problem):
        raise SimulationError(f"expected a Problem, got {type(problem).__name__}")
    if isinstance(policies, Mapping):
        named = dict(policies)
    elif isinstance(policies, (str, type)) or not isinstance(policies, (Policy, Iterable)):
        raise SimulationError(f"expected policies by name in a dict, or a list of them, got {policies!r}")
    else:
        listed: list[Any] = [policies] if isinstance(policies, Policy) else list(policies)
        n_alike = Counter(type(policy).__name__ for policy in listed)
        names = [repr(policy) if n_alike[type(policy).__name__] > 1 else type(policy).__name__ for policy in listed]
        named = dict(zip(names, listed, strict=True))
        if len(named) != len(listed):
            again = next(name for name, n in Counter(names).items() if n > 1)
            why = _why_alike(next(policy for policy in listed if repr(policy) == again))
            raise SimulationError(
                f"expected policies that differ, got {again} more than once; name them in a dict{why}"
            )
    if not named:
        raise SimulationError("expected at least one policy, got none")
    for name, policy in named.items():
        if not isinstance(name, str):
            raise SimulationError(f"expected a policy's name to be a string, got {name!r}")
        if not isinstance(policy, Policy):
            hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
            raise SimulationError(f"expected {name!r} to be a Policy, got {policy!r}{hint}")
        policy.prepare(problem.solver)
        check_fit(policy, problem.environment)
        if policy.chooses_sets and problem.solver is not problem.constraint:
            raise PolicyError(
                f"{policy!r} chooses sets by their total, and the best list of {problem.constraint!r} is that of the "
                "largest product; OMM, KLOSM and ThompsonSampling find it"
            )
    return named


def _why_alike(policy: Policy) -> str:
    """Why policies with other arguments look the same, where they do."""
    try:
        policy.params()
    except PolicyError as error:
        return f" ({error})"
    return ""


def check_fit(policy: Policy, environment: Environment) -> None:
    """Raise `PolicyError` unless the policy accepts the environment's range of weights, features and feedback.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.simulation import check_fit
    >>> check_fit(mb.KLOSM(), mb.BernoulliEnvironment([0.2, 0.5]))
    >>> check_fit(mb.KLOSM(), mb.GaussianEnvironment([0.2, 0.5]))
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: KLOSM(c=0.0) needs weights in [0, 1]; this environment's lie in...
    """
    (low, high), (least, most) = policy.support, environment.support
    if least < low or most > high:
        raise PolicyError(
            f"{policy!r} needs weights in [{low:g}, {high:g}]; this environment's lie in [{least:g}, {most:g}]; "
            f"{policy.alternative} takes any"
        )
    if environment.lists is not None:
        check_takes(policy, environment.lists.feedback)
    if policy.n_features is not None and policy.n_features != environment.n_features:
        given = "none" if environment.n_features is None else environment.n_features
        raise PolicyError(
            f"{policy!r} needs {counted(policy.n_features, 'feature')} of every item in each episode; this "
            f"environment has {given}"
        )


def _warn_of_scale(policy: Policy, environment: Environment) -> None:
    """Warn where a policy's scale is too small for the environment's weights, whose range is known to be finite."""
    low, high = environment.support
    if math.isfinite(high - low) and (problem := scale_problem(policy, low, high)):
        warnings.warn(problem, ScaleWarning, stacklevel=3)


def _check_checkpoints(checkpoints: ArrayLike | None, n_episodes: int) -> IntArray:
    if checkpoints is None:
        grid = np.geomspace(1, n_episodes, num=min(100, n_episodes))
        return np.unique(np.append(np.round(grid).astype(np.int64), n_episodes))
    try:
        points = np.asarray(checkpoints)
    except ValueError:  # ragged
        points = np.empty(0)
    if points.ndim != 1 or points.size == 0 or points.dtype.kind not in "iu":
        raise SimulationError("expected checkpoints to be a row of episode numbers")
    if points.min() < 1 or points.max() > n_episodes:
        wrong = points[(points < 1) | (points > n_episodes)][0]
        raise SimulationError(f"expected checkpoints in 1..{n_episodes}, got {wrong}")
    return np.unique(np.append(points.astype(np.int64), n_episodes))
