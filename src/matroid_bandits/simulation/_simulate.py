"""Race policies on a problem: many runs, common random numbers, regret with standard errors."""

from __future__ import annotations

import time
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
from matroid_bandits.exceptions import PolicyError, SimulationError
from matroid_bandits.identification import StoppingRule
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._cutting import Job
from matroid_bandits.simulation._digests import keys_of
from matroid_bandits.simulation._ending import check_until
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._on_gpu import DeviceChoice, choose_device, run_anywhere
from matroid_bandits.simulation._progress import Progress, Reporter
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

    All policies meet the same weights (common random numbers), and a run's numbers are a function of (seed, run)
    alone: they do not change with the number of runs, threads, processes or policies beside it. Regret is against
    the best set of each episode: of what is available (see `AvailabilityEnvironment`), and for the means of that
    episode where they change (see `PiecewiseEnvironment` and `DriftingEnvironment`). An environment that does not
    know its means runs all the same, and regret is NaN. Answers that come late (see `DelayedEnvironment`) are
    learnt when they come, and count when the set is chosen; features of the items (see `ContextualEnvironment`) are
    shown to policies that ask for some.

    Parameters
    ----------
    problem : Problem
        What to learn.
    policies : mapping of name to Policy, policies, or one Policy
        Who plays. Without names, a policy is called after its class, and by its repr where several are of one class.
    n_episodes, n_runs : int
        How long and how often.
    seed : int, optional
        By default a fresh one, which the result carries.
    start : "observe" or "explore", default "observe"
        "observe": every item is seen once before episode 1 (the paper's w_0), available or not. "explore": nothing
        is; an item never seen comes first in the greedy order.
    checkpoints : array_like of int, optional
        Episodes at which to record the curves; by default about 100, evenly spaced in the logarithm.
    executor : int, Executor, Dask Client or "ray", optional
        Where the runs are played. By default on threads of this process, as many as pay: all cores for compiled
        episodes, and else as many as gain more than they wait for the interpreter, which is measured; or, where that
        saves much of a long simulation and joblib is installed, on as many processes. A number is that many processes
        (through joblib); or any `concurrent.futures.Executor`, such as one of processes that are warm;
        a `dask.distributed.Client`; or "ray", the Ray cluster that this process is connected to. The numbers are
        the same everywhere. Workers need the same version of the package.
    progress : bool or callable, default False
        True shows a bar with the time left on stderr; a callable gets (done, total) now and then: on threads
        while episodes are played, elsewhere after each slice of runs.
    engine : str, or class, default "auto"
        How decisions are found; all ways make the same ones. "auto" plays whole episodes in compiled code where all
        of a policy, the problem and the environment has a compiled form and the kernel is on disk or worth
        compiling, and otherwise picks the fastest engine that fits; `compiled.explain` says which and why, and
        `engine` of the result what it was. Anything else names an engine.
    keep_runs : bool, default False
        Keep the curves of every run too, in `run_returns` and `run_regret` of the result.
    device : "cpu", "gpu" or "auto", default "cpu"
        Where to play; the numbers are the same. "auto" takes a GPU where one is there, the simulation fits on it and
        is long enough to pay; `gpu.explain` says why it does or does not, and `device` of the result where it was.
    until : StoppingRule, optional
        Each run ends when this rule is sure of its best set, or after `n_episodes`; `endings` of the result has the
        rounds and the errors. A run that has ended adds nothing to the curves. Such runs are played one episode at a
        time, on the CPU.
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
    settings = check_settings(problem, n_episodes, n_runs, as_seed(seed), start, checkpoints, engine)
    if until is not None:
        settings = replace(settings, until=until)
    n_episodes, n_runs = settings.n_episodes, settings.n_runs
    where = choose_device(device, named, settings, executor)
    began = time.perf_counter()
    report = Reporter(progress, n_episodes * n_runs * len(named))
    first = as_integer("first_run", first_run, 0, 2**32 - n_runs, error=SimulationError)
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
            raise SimulationError(f"expected policies that differ, got {again} more than once; name them in a dict")
    if not named:
        raise SimulationError("expected at least one policy, got none")
    for name, policy in named.items():
        if not isinstance(name, str):
            raise SimulationError(f"expected a policy's name to be a string, got {name!r}")
        if not isinstance(policy, Policy):
            hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
            raise SimulationError(f"expected {name!r} to be a Policy, got {policy!r}{hint}")
        policy.prepare(problem.constraint)
        check_fit(policy, problem.environment)
    return named


def check_fit(policy: Policy, environment: Environment) -> None:
    """Raise `PolicyError` unless the policy accepts the environment's range of weights and its features.

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
    if policy.n_features is not None and policy.n_features != environment.n_features:
        given = "none" if environment.n_features is None else environment.n_features
        raise PolicyError(
            f"{policy!r} needs {counted(policy.n_features, 'feature')} of every item in each episode; this "
            f"environment has {given}"
        )


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
