"""Race policies on a problem: many runs, common random numbers, regret with standard errors."""

from __future__ import annotations

import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util import files as _files
from matroid_bandits._util.threads import n_threads
from matroid_bandits._version import __version__
from matroid_bandits.engines import make_engine
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import (
    InvalidEnvironmentError,
    MissingDependencyError,
    PolicyError,
    SerializationError,
    SimulationError,
)
from matroid_bandits.kernels import statistics
from matroid_bandits.policies import Optimal, Policy, State
from matroid_bandits.problem import Problem
from matroid_bandits.stream import POLICY, START, WEIGHTS, Stream, as_seed

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: Called with the number of episodes done so far, over all policies and runs, and the number in all.
Progress = Callable[[int, int], None]

#: State a batch may hold, in items times runs; larger problems are simulated a few runs at a time.
_MAX_BATCH_CELLS = 2**24

_FORMAT = "matroid-bandits/simulation"
_VERSION = 1


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What `simulate` found: for each policy and checkpoint the mean over runs and its standard error.

    Attributes
    ----------
    policies : tuple of str
        Names, in the order given; the first axis of every array.
    checkpoints : int64 array (C,)
        Episodes at which the curves are known; the last is `n_episodes`.
    returns, returns_se : float64 arrays (P, C)
        Cumulative realised return (total weight, cost when `minimize`), its mean over runs and standard error.
    regret, regret_se : float64 arrays (P, C)
        Cumulative regret of expected weights.
    final_returns, final_regret : float64 arrays (P, R)
        The same for every run, after the last episode.
    choices : int64 array (P, L)
        How often each item was chosen, over all runs.
    """

    policies: tuple[str, ...]
    checkpoints: IntArray
    returns: FloatArray
    returns_se: FloatArray
    regret: FloatArray
    regret_se: FloatArray
    final_returns: FloatArray
    final_regret: FloatArray
    choices: IntArray
    n_episodes: int
    n_runs: int
    seed: int
    start: str
    minimize: bool
    optimal_value: float
    wall_time: float
    versions: dict[str, str]

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def per_step_return(self) -> FloatArray:
        """Cumulative return divided by the number of episodes, shape (P, C): the paper's measure."""
        per_step: FloatArray = self.returns / self.checkpoints
        return per_step

    @property
    def per_step_return_se(self) -> FloatArray:
        """Standard error of `per_step_return`."""
        error: FloatArray = self.returns_se / self.checkpoints
        return error

    def index(self, policy: str) -> int:
        """The row of a policy in the arrays."""
        try:
            return self.policies.index(policy)
        except ValueError:
            raise SimulationError(f"expected one of {', '.join(self.policies)}; got {policy!r}") from None

    def summary(self) -> str:
        """A table: per-step return and cumulative regret of each policy after the last episode."""
        measure = "cost per step" if self.minimize else "return per step"
        rows = [("policy", measure, "regret")]
        for p, name in enumerate(self.policies):
            rows.append(
                (
                    name,
                    _with_error(self.per_step_return[p, -1], self.per_step_return_se[p, -1], 4),
                    _with_error(self.regret[p, -1], self.regret_se[p, -1], 2),
                )
            )
        widths = [max(len(row[c]) for row in rows) for c in range(3)]
        lines = [
            "  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]))) for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        head = f"{self.n_runs} runs of {self.n_episodes:,} episodes, seed {self.seed}, {self.wall_time:.1f} s"
        return "\n".join([head, f"optimum {self.optimal_value:.4f} per step", "", *lines])

    def to_frame(self) -> pandas.DataFrame:
        """A long table: one row per policy and checkpoint."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_frame needs pandas: pip install 'matroid-bandits[frame]'") from None
        n_policies, n_points = self.returns.shape
        return pd.DataFrame(
            {
                "policy": np.repeat(np.array(self.policies, object), n_points),
                "episode": np.tile(self.checkpoints, n_policies),
                **{
                    name: getattr(self, name).reshape(-1)
                    for name in (
                        "returns",
                        "returns_se",
                        "per_step_return",
                        "per_step_return_se",
                        "regret",
                        "regret_se",
                    )
                },
            }
        )

    def plot(self, *, bounds: Mapping[str, ArrayLike] | None = None, log_x: bool = True) -> Figure:
        """Regret and per-step return against episodes, with 95% confidence bands, as a matplotlib figure.

        Parameters
        ----------
        bounds : mapping of label to array, optional
            Regret bounds at `checkpoints` to draw beside the curves.
        log_x : bool, default True
            Whether episodes are on a log axis.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingDependencyError("plot needs matplotlib: pip install 'matroid-bandits[plot]'") from None
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        measure = "cost" if self.minimize else "return"
        for axes, mean, error, title in (
            (left, self.regret, self.regret_se, "Cumulative regret"),
            (right, self.per_step_return, self.per_step_return_se, f"Per-step {measure}"),
        ):
            for p, name in enumerate(self.policies):
                (line,) = axes.plot(self.checkpoints, mean[p], label=name)
                if self.n_runs > 1:
                    low, high = mean[p] - 1.96 * error[p], mean[p] + 1.96 * error[p]
                    axes.fill_between(self.checkpoints, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
            axes.set(title=title, xlabel="episode", xscale="log" if log_x else "linear")
            axes.grid(alpha=0.3)
        right.axhline(self.optimal_value, color="black", linewidth=0.8, linestyle=":", label="optimum")
        for label, values in (bounds or {}).items():
            bound = np.asarray(values, float)
            if bound.shape != self.checkpoints.shape:
                raise SimulationError(
                    f"expected bound {label!r} at the {self.checkpoints.size} checkpoints, got shape {bound.shape}"
                )
            left.plot(self.checkpoints, bound, linestyle="--", linewidth=1, label=label)
        if bounds and any((np.asarray(line.get_ydata()) > 0.0).any() for line in left.lines):
            left.set_yscale("log")
        left.legend(frameon=False)
        right.legend(frameon=False)
        return figure

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one NPZ file with a JSON header, atomically."""
        arrays: dict[str, Any] = {}
        header: dict[str, Any] = {}
        for name, value in vars(self).items():
            (arrays if isinstance(value, np.ndarray) else header)[name] = value
        _files.save(path, _FORMAT, _VERSION, header, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SimulationResult:
        """What `save` wrote."""
        header, arrays = _files.load(path, _FORMAT, _VERSION)
        try:
            header["policies"] = tuple(header["policies"])
            return cls(**{**header, **arrays})
        except (TypeError, KeyError) as error:
            raise SerializationError(f"{path}: malformed simulation: {error}") from None

    def __eq__(self, other: object) -> bool:
        """Equal results; wall time and versions may differ."""
        if not isinstance(other, SimulationResult):
            return NotImplemented
        return all(
            np.array_equal(value, getattr(other, name), equal_nan=value.dtype.kind == "f")
            if isinstance(value, np.ndarray)
            else value == getattr(other, name)
            for name, value in vars(self).items()
            if name not in ("wall_time", "versions")
        )

    __hash__ = None  # type: ignore[assignment]


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy],
    *,
    n_episodes: int,
    n_runs: int,
    seed: int | None = None,
    start: Literal["observe", "explore"] = "observe",
    checkpoints: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
    engine: str = "auto",
) -> SimulationResult:
    """Play every policy for `n_episodes` in each of `n_runs` independent runs of the problem.

    All policies meet the same weights (common random numbers), and a run's numbers are a function of (seed, run)
    alone: they do not change with the number of runs, threads, processes or policies beside it.

    Parameters
    ----------
    problem : Problem
        What to learn.
    policies : mapping of name to Policy, or sequence of Policy
        Who plays; a sequence is named after the classes.
    n_episodes, n_runs : int
        How long and how often.
    seed : int, optional
        By default a fresh one, which the result carries.
    start : "observe" or "explore", default "observe"
        "observe": every item is seen once before episode 1 (the paper's w_0). "explore": nothing is; an item never
        seen comes first in the greedy order.
    checkpoints : array_like of int, optional
        Episodes at which to record the curves; by default about 100, evenly spaced in the logarithm.
    n_jobs : int, optional
        Spread the runs over so many processes, through joblib; -1 for one per core. By default one process
        with a thread per core.
    progress : bool or callable, default False
        True shows a bar with the time left on stderr; a callable gets (done, total) now and then.
    engine : str, default "auto"
        How decisions are found; "auto" picks the fastest that fits. All make the same decisions.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
    >>> policies = {"OMM": mb.OMM(), "chance": mb.UniformRandom()}
    >>> result = mb.simulate(problem, policies, n_episodes=1000, n_runs=20, seed=1)
    >>> bool(result.regret[0, -1] < result.regret[1, -1])
    True
    """
    named = _check_policies(problem, policies)
    n_episodes = _as_positive("n_episodes", n_episodes, most=2**47)
    n_runs = _as_positive("n_runs", n_runs, most=2**32)
    if start not in ("observe", "explore"):
        raise SimulationError(f'expected start to be "observe" or "explore", got {start!r}')
    points = _check_checkpoints(checkpoints, n_episodes)
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or (n_jobs < 1 and n_jobs != -1)
    ):
        raise SimulationError(f"expected n_jobs to be a positive integer or -1, got {n_jobs!r}")
    seed = as_seed(seed)
    began = time.perf_counter()
    report = _Reporter(progress, n_episodes * n_runs * len(named))
    tasks = _split(named, problem.n_items, n_runs, n_jobs)
    settings = (problem, n_episodes, seed, start, points, engine)
    try:
        if n_jobs is None or n_jobs == 1:
            parts = _run_threads(tasks, settings, report)
        else:
            parts = _run_processes(tasks, settings, report, n_jobs)
    finally:
        report.close()
    return _collect(problem, tuple(named), parts, settings, n_runs, time.perf_counter() - began)


@dataclass(frozen=True)
class _Task:
    """One policy on a slice of the runs."""

    policy: str
    player: Policy
    first: int
    last: int


@dataclass(frozen=True)
class _Part:
    """What one task found, a row per run."""

    task: _Task
    returns: FloatArray
    regret: FloatArray
    choices: IntArray


class _Stopped(Exception):
    """Another task failed or the user interrupted; this one need not go on."""


def _run_batch(task: _Task, settings: Any, tick: Callable[[int], bool]) -> _Part:
    """Play one policy in a batch of runs, all of them one array operation at a time."""
    problem, n_episodes, seed, start, points, engine_name = settings
    environment, policy = problem.environment, task.player
    n_batch = task.last - task.first
    stream = Stream(seed, np.arange(task.first, task.last))
    own = stream.with_purpose(POLICY)
    state = State(n_batch, problem.n_items, problem.minimize)
    policy.prepare(state)
    everything = np.tile(np.arange(problem.n_items), (n_batch, 1)) if start == "observe" else None
    if everything is not None:
        w = _draw(environment, stream, 0, everything, START)
        state.absorb(everything, w)
        policy.observe(state, 0, everything, w, own)
        del everything, w
    seen_before = state.counts.sum(axis=0)
    fixed = np.tile(problem.optimal_basis, (n_batch, 1)) if isinstance(policy, Optimal) else None
    engine = make_engine("greedy" if fixed is not None else engine_name, problem.matroid, policy, state)
    # added up as the bases played are, so that the optimum has regret 0 exactly
    best = statistics.total_mean(problem.optimal_basis, environment.mean_weights)
    total, regret = np.zeros(n_batch), np.zeros(n_batch)
    returns_at = np.empty((n_batch, points.size))
    regret_at = np.empty((n_batch, points.size))
    sign = -1.0 if problem.minimize else 1.0
    point, since = 0, 0
    for t in range(1, n_episodes + 1):
        bases = engine.decide(t, own) if fixed is None else fixed
        weights = _draw(environment, stream, t, bases, WEIGHTS)
        statistics.add_totals(bases, weights, environment.mean_weights, best, sign, total, regret)
        state.absorb(bases, weights)
        policy.observe(state, t, bases, weights, own)
        engine.refresh(bases)
        if t == points[point]:
            if not np.isfinite(total).all():
                raise InvalidEnvironmentError(f"{environment!r}: expected finite weights; got others by episode {t}")
            returns_at[:, point], regret_at[:, point] = total, regret
            point += 1
        since += n_batch
        if since >= 512 or t == n_episodes:
            if tick(since):
                raise _Stopped
            since = 0
    return _Part(task, returns_at, regret_at, state.counts.sum(axis=0) - seen_before)


def _draw(environment: Environment, stream: Stream, t: int, items: IntArray, purpose: int) -> FloatArray:
    """The environment's weights, of the shape and type that compiled code relies on."""
    w = environment.draw(stream, t, items, purpose)
    if not (isinstance(w, np.ndarray) and w.shape == items.shape and w.dtype == np.float64):
        given = f"{w.dtype} of shape {w.shape}" if isinstance(w, np.ndarray) else type(w).__name__
        name = type(environment).__name__
        raise InvalidEnvironmentError(f"expected {name}.draw to give float64 of shape {items.shape}, got {given}")
    return w


def _run_threads(tasks: list[_Task], settings: Any, report: _Reporter) -> list[_Part]:
    """Tasks over threads: kernels and NumPy release the GIL."""
    stop = threading.Event()

    def tick(n: int) -> bool:
        report.add(n)
        return stop.is_set()

    if len(tasks) == 1 or n_threads() == 1:
        return [_run_batch(task, settings, tick) for task in tasks]
    futures: list[Future[_Part]] = []
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="matroid-bandits") as pool:
        try:
            futures.extend(pool.submit(_run_batch, task, settings, tick) for task in tasks)
            pending = set(futures)
            while pending:  # awake now and then: not every system lets Ctrl-C end a wait
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                if any(future.exception() is not None for future in done):
                    break
        finally:  # also when the user interrupts: those under way stop at their next tick, the others do not start
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    errors = [future.exception() for future in futures if not future.cancelled()]
    for error in errors:
        if error is not None and not isinstance(error, _Stopped):
            raise error
    return [future.result() for future in futures]


def _run_task_alone(task: _Task, settings: Any) -> _Part:
    """For worker processes, which cannot report."""
    return _run_batch(task, settings, lambda n: False)


def _run_processes(tasks: list[_Task], settings: Any, report: _Reporter, n_jobs: int) -> list[_Part]:
    try:
        import joblib
    except ImportError:
        raise MissingDependencyError("n_jobs needs joblib: pip install 'matroid-bandits[parallel]'") from None
    parts = []
    jobs = (joblib.delayed(_run_task_alone)(task, settings) for task in tasks)
    for part in joblib.Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        parts.append(part)
        report.add((part.task.last - part.task.first) * settings[1])
    return parts


def _split(named: Mapping[str, Policy], n_items: int, n_runs: int, n_jobs: int | None) -> list[_Task]:
    """Slices of runs: as many as there are workers, more where memory asks for it."""
    n_workers = n_threads() if n_jobs is None or n_jobs < 0 else max(n_jobs, n_threads() if n_jobs == 1 else 1)
    largest = max(1, min(-(-n_runs // n_workers), _MAX_BATCH_CELLS // max(n_items, 1)))
    edges = [*range(0, n_runs, largest), n_runs]
    return [_Task(name, player, first, last) for name, player in named.items() for first, last in pairwise(edges)]


def _collect(
    problem: Problem,
    names: tuple[str, ...],
    parts: list[_Part],
    settings: Any,
    n_runs: int,
    wall_time: float,
) -> SimulationResult:
    _, n_episodes, seed, start, points, _ = settings
    curves = np.empty((2, len(names), n_runs, points.size))
    choices = np.zeros((len(names), problem.n_items), np.int64)
    for part in parts:
        p, rows = names.index(part.task.policy), slice(part.task.first, part.task.last)
        curves[0, p, rows], curves[1, p, rows] = part.returns, part.regret
        choices[p] += part.choices
    means = curves.mean(axis=2)
    errors = curves.std(axis=2, ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.full(means.shape, np.nan)
    return SimulationResult(
        policies=names,
        checkpoints=points,
        returns=means[0],
        returns_se=errors[0],
        regret=means[1],
        regret_se=errors[1],
        final_returns=curves[0, :, :, -1].copy(),
        final_regret=curves[1, :, :, -1].copy(),
        choices=choices,
        n_episodes=n_episodes,
        n_runs=n_runs,
        seed=seed,
        start=start,
        minimize=problem.minimize,
        optimal_value=problem.optimal_value,
        wall_time=wall_time,
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    import numba

    return {
        "matroid-bandits": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def _check_policies(problem: Problem, policies: Mapping[str, Policy] | Sequence[Policy]) -> dict[str, Policy]:
    if not isinstance(problem, Problem):
        raise SimulationError(f"expected a Problem, got {type(problem).__name__}")
    if isinstance(policies, Mapping):
        named = dict(policies)
    elif isinstance(policies, (str, type)) or not isinstance(policies, (Policy, Iterable)):
        raise SimulationError(f"expected policies by name in a dict, or a list of them, got {policies!r}")
    else:
        listed: list[Any] = [policies] if isinstance(policies, Policy) else list(policies)
        named = {type(policy).__name__: policy for policy in listed}
        if len(named) != len(listed):
            raise SimulationError("expected one policy of each class in a list; give them names in a dict")
    if not named:
        raise SimulationError("expected at least one policy, got none")
    for name, policy in named.items():
        if not isinstance(name, str):
            raise SimulationError(f"expected a policy's name to be a string, got {name!r}")
        if not isinstance(policy, Policy):
            hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
            raise SimulationError(f"expected {name!r} to be a Policy, got {policy!r}{hint}")
        policy.check(problem.n_items)
        check_support(policy, problem.environment.support)
    return named


def check_support(policy: Policy, support: tuple[float, float]) -> None:
    """Whether the policy can take all weights in `support`."""
    low, high = policy.support
    if support[0] < low or support[1] > high:
        raise PolicyError(
            f"{policy!r} needs weights in [{low:g}, {high:g}]; "
            f"this environment's lie in [{support[0]:g}, {support[1]:g}]"
        )


def _as_positive(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise SimulationError(f"expected {name} to be a positive integer, got {value!r}")
    if value > most:
        raise SimulationError(f"expected {name} to be at most {most}, got {value}")
    return int(value)


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


class _Reporter:
    """Counts episodes from all threads and passes them on, at most ten times a second."""

    def __init__(self, progress: bool | Progress, total: int) -> None:
        self._call: Progress | None = progress if callable(progress) else _Bar() if progress else None
        self._lock = threading.Lock()
        self._done, self._total, self._next = 0, total, 0.0

    def add(self, n: int) -> None:
        if self._call is None:
            return
        with self._lock:
            self._done += n
            now = time.monotonic()
            if now >= self._next or self._done == self._total:
                self._next = now + 0.1
                self._call(self._done, self._total)

    def close(self) -> None:
        if isinstance(self._call, _Bar):
            self._call.close()


class _Bar:
    """A line on stderr: bar, share done, time left."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        share = done / total
        left = (time.monotonic() - self._began) * (1.0 - share) / share
        bar = ("█" * int(30 * share)).ljust(30, "░")
        sys.stderr.write(f"\r{bar} {share:4.0%}  {_clock(left)} left ")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


def _with_error(mean: float, error: float, digits: int) -> str:
    """A mean and its standard error, which one run does not have."""
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
