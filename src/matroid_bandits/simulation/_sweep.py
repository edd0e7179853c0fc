"""Every policy on every problem, with a store: what is done is not done again."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from matroid_bandits._typing import ArrayLike
from matroid_bandits._util.text import shown
from matroid_bandits.compiled import Settings, Start
from matroid_bandits.exceptions import MatroidBanditsError, SimulationError, SweepWarning
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._digests import keys_of, problem_digest
from matroid_bandits.simulation._execute import SLICE_S
from matroid_bandits.simulation._executors import ExecutorChoice
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._on_gpu import DeviceChoice, jobs_for_gpu, run_anywhere
from matroid_bandits.simulation._progress import Progress, Reporter
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.simulation._simulate import check_settings
from matroid_bandits.simulation._sweep_families import Family, expand
from matroid_bandits.simulation._sweep_result import Sweep
from matroid_bandits.simulation._sweep_store import Cell, Interval, Store, covered, missing
from matroid_bandits.simulation._tally import Keys, Tally
from matroid_bandits.simulation._worlds import World, Worlds, pooled, run_seed, world_name
from matroid_bandits.stream import as_seed

#: Policies by name, a family as a list. The values are checked when they are used: a type checker takes a dictionary
#: of policies and lists, made before the call, for one of objects.
Policies = Mapping[str, Any] | Iterable[Policy] | Policy

#: How many policies on problems a process claims at a time.
_MOST_CLAIMED = 256

#: Seconds between two looks at what another process plays.
_PATIENCE = 0.2


def sweep(
    problems: Mapping[str, Any] | Iterable[Problem | Worlds] | Problem | Worlds,
    policies: Policies | Callable[[Problem], Policies],
    *,
    n_episodes: int,
    n_runs: int,
    seed: int | None = None,
    store: str | PathLike[str] | None = None,
    executor: ExecutorChoice = None,
    checkpoints: ArrayLike | None = None,
    start: Start = "observe",
    progress: bool | Progress = False,
    device: DeviceChoice = "cpu",
    keep_runs: bool = False,
) -> Sweep:
    """Simulate every policy on every problem, and reuse stored results.

    The result of a problem equals that of `simulate` with the same settings, bit for bit, for any executor. All
    policies get the same weights in a run of a problem.

    Parameters
    ----------
    problems : mapping of name to Problem or Worlds, problems, or one Problem
        The problems; without names they are called "problem 1", "problem 2" and so on. `Worlds` are several problems
        drawn from a distribution; `n_runs` runs are then played in each of them, with independent random numbers.
    policies : mapping of name to Policy or to a list of policies, policies, one Policy, or a callable
        The policies to simulate. A list under a name is a family: policies of one class with several values of a
        parameter, such as ``{"OMM": [OMM(s) for s in (0.5, 1, 2)]}``; members are named by their values, "OMM,
        scale=0.5". A function of the problem returns any of these, with the same names for every problem.
    n_episodes, n_runs : int
        Number of episodes, and number of independent runs.
    seed : int, optional
        By default a fresh one, which the results carry; a store needs one that is given.
    store : path, optional
        A folder that stores finished runs. A sweep that was interrupted, or whose process died, resumes from it; one
        with more runs, problems or policies plays only the missing ones. The key of a result has everything that
        determines it (problem, policy, seed, episodes, checkpoints, start, and the package where a version computes
        other numbers), so results of other settings are kept apart: a `SweepWarning` names what has changed. A user's
        class needs a class attribute ``kind``, and a function in a problem an attribute of that name. Several
        processes may use one store at the same time: each plays runs that no other process is playing, and waits for
        the rest.
    executor : optional
        Where to play, as in `simulate`.
    checkpoints, start, progress
        As in `simulate`.
    device : "cpu", "gpu" or "auto", default "cpu"
        The device that plays the runs, with the same results. "gpu" plays everything on a GPU, several problems in
        parallel. "auto" plays each pair of policy and problem that fits on a GPU, if that is faster in all, and the
        rest on the CPU. `device` of a result is "gpu" if this call played all of its runs on a GPU.
    keep_runs : bool, default False
        Keep the curves of every run too, in `run_returns` and `run_regret` of the results; over drawn worlds, the
        curves of every world.

    Returns
    -------
    Sweep

    Raises
    ------
    SimulationError
        The settings are invalid, or the store folder holds other files; the message names the problem it is about.
    DeviceError
        A GPU was requested and there is none, or a policy or a problem does not fit; the message names it.
    SerializationError
        A class or function has no `kind` and cannot be stored, or a stored file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import matroid_bandits as mb
    >>> problems = {f"gap {gap}": mb.lower_bound_problem(6, 2, gap) for gap in (0.1, 0.2)}
    >>> policies = {"OMM": [mb.OMM(s) for s in (0.2, 0.5, 1.0)], "KLOSM": mb.KLOSM()}
    >>> store = tempfile.mkdtemp()
    >>> sweep = mb.sweep(problems, policies, n_episodes=200, n_runs=5, seed=0, store=store)
    >>> sweep.n_played, sweep.n_stored
    (40, 0)
    >>> larger = mb.sweep(problems, policies, n_episodes=200, n_runs=8, seed=0, store=store)
    >>> larger.n_played, larger.n_stored
    (24, 40)
    """
    began = time.perf_counter()
    named = _check_problems(problems)
    if store is not None and seed is None:
        raise SimulationError("expected a seed with a store, since a fresh one finds nothing there; got None")
    seed, policies = as_seed(seed), _kept(policies)
    drawn = {name: law.drawn(seed) for name, law in named.items() if isinstance(law, Worlds)}
    worlds: list[tuple[str, Problem, int]] = []  # what is played: under which name, what, and with which seed
    for name, given in named.items():
        if isinstance(given, Worlds):
            worlds += [(world_name(name, i), each, run_seed(seed, i)) for i, each in enumerate(drawn[name])]
        else:
            worlds.append((name, given, seed))
    if len({name for name, _, _ in worlds}) < len(worlds):
        raise SimulationError("expected problems whose names differ from those of drawn worlds, got some twice")
    plans: list[_Plan] = []
    for name, problem, own_seed in worlds:
        settings = check_settings(problem, n_episodes, n_runs, own_seed, start, checkpoints)
        with _about(name):
            plans.append(_Plan(name, settings, *expand(problem, _given(policies, problem))))
        if plans[-1].families != plans[0].families or list(plans[-1].policies) != list(plans[0].policies):
            raise SimulationError(f"expected policies of the same names for every problem, got others for {name!r}")
    if store is None:
        results, n_played, n_stored = _play(plans, executor, progress, device, keep_runs)
    else:
        results, n_played, n_stored = _play_stored(plans, Store(store), executor, progress, device, keep_runs)
    wall_time = time.perf_counter() - began
    found = {plan.name: replace(results[plan.name], wall_time=wall_time) for plan in plans}
    players = {plan.name: plan.policies for plan in plans}
    laws = {
        name: tuple(World(each, found.pop(world_name(name, i))) for i, each in enumerate(own))
        for name, own in drawn.items()
    }
    return Sweep(
        {name: pooled([w.result for w in laws[name]], seed) if name in laws else found[name] for name in named},
        {name: given if isinstance(given, Problem) else drawn[name][0] for name, given in named.items()},
        {name: players[world_name(name, 0) if name in laws else name] for name in named},
        plans[0].families,
        wall_time,
        n_played,
        n_stored,
        laws,
    )


@dataclass(frozen=True)
class _Plan:
    """One problem of a sweep, with its settings and policies."""

    name: str
    settings: Settings
    policies: dict[str, Policy]
    families: dict[str, Family]

    @property
    def keys(self) -> Keys:
        """The digests of the problem and of the policies."""
        return keys_of(self.settings.problem, self.policies)


@dataclass(eq=False)
class _CellState:
    """One policy on one problem, whose missing runs are to be played and stored."""

    cell: Cell
    settings: Settings
    name: str
    policy: Policy
    n_left: int = 0
    n_on_gpu: int = 0
    give_back: Callable[[], None] = lambda: None

    def job(self, first: int, last: int) -> Job:
        """Some of the runs, to be played."""
        return Job(self.cell.digest, self.settings, self.name, self.policy, first, last)


@dataclass(frozen=True)
class _Where:
    """Where the jobs of a sweep are played: those of some keys on a GPU, others on an executor."""

    on_gpu: Collection[Hashable]
    executor: ExecutorChoice


def _play(
    plans: Sequence[_Plan],
    executor: ExecutorChoice,
    progress: bool | Progress,
    device: DeviceChoice,
    keep_runs: bool,
) -> tuple[dict[str, SimulationResult], int, int]:
    """Play everything; the curves of a problem's runs are let go of when its last run is done."""
    places: dict[Job, tuple[_Plan, str]] = {}
    tallies: dict[str, Tally] = {}
    left: dict[str, int] = {}
    for plan in plans:
        left[plan.name] = len(plan.policies) * plan.settings.n_runs
        for name, policy in plan.policies.items():
            job = Job((plan.name, name), plan.settings, f"{name} on {plan.name}", policy, 0, plan.settings.n_runs)
            places[job] = plan, name
    results: dict[str, SimulationResult] = {}
    n_runs = sum(left.values())
    on_gpu = jobs_for_gpu(device, list(places), executor)
    with (
        _reporting(progress, plans[0].settings.n_episodes * n_runs) as report,
        contextlib.closing(run_anywhere(list(places), on_gpu, executor, report=report)) as parts,
    ):
        for job, part in parts:
            plan, name = places[job]
            if plan.name not in tallies:
                tallies[plan.name] = Tally(tuple(plan.policies), plan.settings)
            tallies[plan.name].add(name, part)
            left[plan.name] -= part.last - part.first
            if not left[plan.name]:
                where = "gpu" if all((plan.name, each) in on_gpu for each in plan.policies) else "cpu"
                results[plan.name] = tallies.pop(plan.name).result(0.0, keep_runs, where, plan.keys)
    return results, n_runs, 0


def _play_stored(
    plans: Sequence[_Plan],
    store: Store,
    executor: ExecutorChoice,
    progress: bool | Progress,
    device: DeviceChoice,
    keep_runs: bool,
) -> tuple[dict[str, SimulationResult], int, int]:
    """Play what is not stored, store it, and read everything."""
    cells: dict[tuple[str, str], Cell] = {}
    states: dict[str, _CellState] = {}  # equal policies under several names are played once
    for plan in plans:
        settings = replace(plan.settings, by_run=True)
        with _about(plan.name):
            digest = problem_digest(settings.problem)
            for name, policy in plan.policies.items():
                cell = cells[plan.name, name] = Cell.of(plan.name, digest, name, policy, settings)
                states.setdefault(cell.digest, _CellState(cell, settings, f"{name} on {plan.name}", policy))
    changes = store.changes(cells.values())
    if changes:
        warnings.warn(
            f"{store} holds results under these names with other settings, kept apart: {'; '.join(changes)}",
            SweepWarning,
            stacklevel=3,
        )
    for state in states.values():
        state.n_left = _n_runs(missing(store.intervals(state.cell), state.settings.n_runs))
    on_gpu = jobs_for_gpu(device, [state.job(0, state.n_left) for state in states.values()], executor)
    todo = [state for state in states.values() if state.n_left]
    with _reporting(progress, plans[0].settings.n_episodes * sum(state.n_left for state in todo)) as report:
        n_played = _fill(todo, store, _Where(on_gpu, executor), report)
    results = {}
    for plan in plans:
        tally = Tally(tuple(plan.policies), plan.settings)
        for name in plan.policies:
            cell = cells[plan.name, name]
            for interval, taken in covered(store.intervals(cell), plan.settings.n_runs):
                tally.add(name, store.read(cell, interval, taken, plan.settings))
        are_on_gpu = (
            states[cells[plan.name, name].digest].n_on_gpu == plan.settings.n_runs for name in plan.policies
        )
        results[plan.name] = tally.result(0.0, keep_runs, "gpu" if all(are_on_gpu) else "cpu", plan.keys)
    return results, n_played, plans[0].settings.n_runs * len(states) - n_played


def _fill(states: list[_CellState], store: Store, where: _Where, report: Reporter) -> int:
    """Play and store what is missing, and wait for what other processes play; how many runs were played here.

    Some cells are claimed at a time, so that another process finds some to do, and none is held while waiting.
    """
    n_played = 0
    while states:
        jobs: dict[Job, _CellState] = {}
        claimed: list[_CellState] = []
        try:
            for state in list(states):
                if len(claimed) == _MOST_CLAIMED:
                    break
                give_back = store.claim(state.cell)
                if give_back is None:
                    continue
                state.give_back = give_back
                states.remove(state)
                claimed.append(state)
                gaps = missing(store.intervals(state.cell), state.settings.n_runs)  # others may have played some
                report.add((state.n_left - _n_runs(gaps)) * state.settings.n_episodes)
                state.n_left = _n_runs(gaps)
                for first, last in gaps:
                    jobs[state.job(first, last)] = state
            if jobs:
                n_played += _store_parts(jobs, store, where, report)
        finally:
            for state in claimed:
                state.give_back()
        if states and not claimed:
            time.sleep(_PATIENCE)
    return n_played


def _n_runs(intervals: Iterable[Interval]) -> int:
    return sum(last - first for first, last in intervals)


def _store_parts(jobs: Mapping[Job, _CellState], store: Store, where: _Where, report: Reporter) -> int:
    """Play jobs and store their parts as they come, in short slices, since a crash costs those; how many runs."""
    n_played = 0
    playing = run_anywhere(list(jobs), where.on_gpu, where.executor, report=report, seconds=SLICE_S)
    with contextlib.closing(playing) as parts:
        for job, part in parts:
            state, n_runs = jobs[job], part.last - part.first
            store.write(state.cell, part)
            n_played += n_runs
            state.n_on_gpu += n_runs if job.key in where.on_gpu else 0
            state.n_left -= n_runs
            if not state.n_left:
                state.give_back()
    return n_played


@contextlib.contextmanager
def _reporting(progress: bool | Progress, total: int) -> Iterator[Reporter]:
    report = Reporter(progress, total)
    try:
        yield report
    finally:
        report.close()


@contextlib.contextmanager
def _about(problem: str) -> Iterator[None]:
    """Say which problem an error is about."""
    try:
        yield
    except MatroidBanditsError as error:
        raise type(error)(f"{problem}: {error}") from error


def _kept(policies: Any) -> Any:
    """What was given as policies, with lists for what can be gone through but once."""
    if isinstance(policies, Mapping):
        return {name: list(given) if isinstance(given, Iterator) else given for name, given in policies.items()}
    return list(policies) if isinstance(policies, Iterator) else policies


def _given(policies: Any, problem: Problem) -> Any:
    """What was given as policies, or what a function of the user's own gives for a problem."""
    return policies(problem) if callable(policies) and not isinstance(policies, (Policy, type)) else policies


def _check_problems(problems: Any) -> dict[str, Problem | Worlds]:
    if isinstance(problems, (Problem, Worlds)):
        problems = [problems]
    if isinstance(problems, (str, type)) or not isinstance(problems, Iterable):
        raise SimulationError(f"expected problems by name in a dict, or a list of them, got {shown(problems)}")
    if isinstance(problems, Mapping):
        named = dict(problems)
    else:
        named = {f"problem {number}": problem for number, problem in enumerate(problems, 1)}
    if not named:
        raise SimulationError("expected at least one problem, got none")
    for name, problem in named.items():
        if not isinstance(name, str):
            raise SimulationError(f"expected a problem's name to be a string, got {shown(name)}")
        if not isinstance(problem, (Problem, Worlds)):
            raise SimulationError(f"expected {name!r} to be a Problem, got {shown(problem)}")
    return named
