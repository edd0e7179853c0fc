"""Time per episode as the ground set grows: the kinetic engine against full scans, one run, whole episodes.

Everybody starts from the same state, reached by playing and restored before each sample: episode 1,000 of a fresh
problem, or episode 10^9 with the counts that OMM has by then. Ours is timed over all of the phase. A full scan costs
the same in every episode, so a few tell its time.
"""

import copy
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from matroid_bandits.engines import Engine, make_engine
from matroid_bandits.policies import State
from matroid_bandits.stream import POLICY, START, Stream

_RANK = 100
_FROM, _TO = 1_000, 10_000
_CONVERGED = 10**9
_NOISE = 0.25
_SMALL = "ours, L = 10,000"

#: Begins the names of the cases that the figure shows; the number of items follows.
FIGURE_PREFIX = f"uniform, K = {_RANK}, L = "


def engines() -> Iterator[Case]:
    """Uniform and partition matroids while they learn, a thousand items to a million, and once they have learnt."""
    for n_items in (1_000, 10_000, 100_000):
        yield _against_scans(f"{FIGURE_PREFIX}{n_items:,}", _learning(_uniform(n_items)))
    expected = {"plain engine": 10.0, "NumPy loop": 50.0, _SMALL: 1 / 8}
    for name, family in (("uniform", _uniform), ("partition", _partition)):
        label = f"{name}, K = {_RANK}, L = 1,000,000"
        for suffix, is_coin in (("", False), (", weights 0 or 1", True)):
            case = _against_scans(label + suffix, _learning(family(1_000_000, is_coin)), expected)
            case.others[_SMALL] = _ours(_learning(family(10_000, is_coin)))
            yield case
        yield _against_scans(f"{label}, converged", _converged(family(1_000_000)), {"plain engine": 300.0})


def first_simulate() -> tuple[float, float]:
    """Seconds from the start of a fresh process to the end of its first small `simulate`, and of these to import.

    The compiled kernels come from Numba's cache.
    """
    code = (
        "import time; began = time.perf_counter(); import matroid_bandits as mb; print(time.perf_counter() - began);"
        "problem = mb.Problem(mb.UniformMatroid(100, 10), mb.BernoulliEnvironment([0.5] * 100));"
        "mb.simulate(problem, [mb.OMM()], n_episodes=10, n_runs=10, seed=0)"
    )
    best, imports = math.inf, math.inf
    for _ in range(4):  # the first fills the cache
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        best, imports = min(best, time.perf_counter() - start), min(imports, float(done.stdout))
    return best, imports


@dataclass(frozen=True)
class _Stage:
    """A problem and what OMM has seen of it before episode `first`."""

    problem: mb.Problem
    first: int
    state: State


def _uniform(n_items: int, is_coin: bool = False) -> mb.Problem:
    return _on(mb.UniformMatroid(n_items, _RANK), is_coin)


def _partition(n_items: int, is_coin: bool = False) -> mb.Problem:
    """Blocks of equal size, one item of each."""
    return _on(mb.PartitionMatroid(np.arange(n_items) * _RANK // n_items), is_coin)


def _on(matroid: mb.Matroid, is_coin: bool) -> mb.Problem:
    """K good items, one in each K-th of the items, and the rest worse by 0.1, as in the paper's lower bound."""
    means = np.full(matroid.n_items, 0.4)
    means[np.arange(_RANK) * matroid.n_items // _RANK] = 0.5
    world = mb.BernoulliEnvironment(means) if is_coin else mb.GaussianEnvironment(means, _NOISE)
    return mb.Problem(matroid, world)


def _learning(problem: mb.Problem) -> _Stage:
    """At episode 1,000, every item having been seen once before the first."""
    state = State(1, problem.n_items)
    items = np.arange(problem.n_items)[None]
    state.absorb(items, problem.environment.draw(Stream(0, range(1)), 0, items, START))
    _play(problem, state, make_engine("auto", problem.matroid, mb.OMM(), state), 1, _FROM)
    return _Stage(problem, _FROM, state)


def _converged(problem: mb.Problem) -> _Stage:
    """At episode 10^9: whatever is not good has been chosen until its index fell below that of what is.

    Means are as seen, with noise. A good item has been chosen nearly always; from its index, or the least of theirs
    where all compete, follow the counts of the others. A few thousand episodes then smooth the edges.
    """
    rng = np.random.default_rng(20)
    state, means = State(1, problem.n_items), problem.environment.mean_weights.copy()
    good, c = problem.optimal_basis, mb.OMM().coefficient(_CONVERGED)
    counts = (c / 0.1) ** 2 * np.ones(means.size)
    counts[good] = _CONVERGED - (counts.sum() - counts[good].sum()) / _RANK
    means += rng.normal(size=means.size) * _NOISE / np.sqrt(counts)
    goal = means[good] + c / np.sqrt(counts[good])
    if isinstance(problem.matroid, mb.UniformMatroid):
        goal = np.full(_RANK, goal.min())
    is_good = np.isin(np.arange(means.size), good)
    short = np.repeat(goal, means.size // _RANK) - means
    state.counts[0] = np.where(is_good, counts, np.ceil((c / short) ** 2))
    state.sums[0] = means * state.counts[0]
    state.means[0] = state.sums[0] / state.counts[0]
    state.radii[0] = 1.0 / np.sqrt(state.counts[0].astype(np.float64))
    first = _CONVERGED + 3_000
    _play(problem, state, make_engine("auto", problem.matroid, mb.OMM(), state), _CONVERGED, first)
    return _Stage(problem, first, state)


def _play(problem: mb.Problem, state: State, engine: Engine, first: int, last: int) -> None:
    """Episodes first to last - 1 of one run, as `simulate` plays them."""
    environment, policy, stream = problem.environment, mb.OMM(), Stream(0, range(1))
    own = stream.with_purpose(POLICY)
    for t in range(first, last):
        bases = engine.decide(t, own)
        weights = environment.draw(stream, t, bases)
        state.absorb(bases, weights)
        policy.observe(state, t, bases, weights, own)
        engine.refresh(bases)


def _against_scans(name: str, stage: _Stage, expected: dict[str, float] | None = None) -> Case:
    n_scans = max(10, min(500, 20_000_000 // stage.problem.n_items))
    others = {
        "plain engine": _task(stage, n_scans, "greedy"),
        "NumPy loop": _numpy_loop(stage, max(5, n_scans // 4)),
    }
    _assert_same(stage)
    return Case(name, _ours(stage), others, expected)


def _ours(stage: _Stage) -> Task:
    return _task(stage, _TO - _FROM, "auto")


def _task(stage: _Stage, n: int, engine_name: str) -> Task:
    def setup() -> tuple[State, Engine]:
        state = copy.deepcopy(stage.state)
        engine = make_engine(engine_name, stage.problem.matroid, mb.OMM(), state)
        _play(stage.problem, state, engine, stage.first, stage.first + 2)  # an engine that remembers starts here
        return state, engine

    def call(ready: tuple[State, Engine]) -> None:
        _play(stage.problem, *ready, stage.first + 2, stage.first + 2 + n)

    return Task(call, n, setup)


def _numpy_loop(stage: _Stage, n: int) -> Task:
    """As a user would write it, every array at hand."""
    problem, state = stage.problem, stage.state
    means, n_items = problem.environment.mean_weights, problem.n_items
    is_uniform = isinstance(problem.matroid, mb.UniformMatroid)
    is_coin = isinstance(problem.environment, mb.BernoulliEnvironment)
    starts = np.arange(_RANK) * (n_items // _RANK)

    def setup() -> tuple[np.ndarray, np.ndarray]:
        return state.sums[0].copy(), state.counts[0].astype(np.float64)

    def call(arrays: tuple[np.ndarray, np.ndarray]) -> None:
        sums, counts = arrays
        rng = np.random.default_rng(0)
        for t in range(stage.first, stage.first + n):
            U = sums / counts + np.sqrt(2.0 * math.log(t - 1) / counts)
            if is_uniform:
                basis = np.argpartition(U, -_RANK)[-_RANK:]
            else:
                basis = starts + U.reshape(_RANK, -1).argmax(axis=1)
            weights = rng.random(_RANK) < means[basis] if is_coin else rng.normal(means[basis], _NOISE)
            sums[basis] += weights
            counts[basis] += 1.0

    if not is_uniform and n_items % _RANK:
        raise ValueError(f"expected blocks of equal size, got {n_items} items")
    return Task(call, n, setup)


def _assert_same(stage: _Stage) -> None:
    """Engines agree on where ten episodes lead."""
    ends = []
    for name in ("greedy", "kinetic"):
        state = copy.deepcopy(stage.state)
        engine = make_engine(name, stage.problem.matroid, mb.OMM(), state)
        _play(stage.problem, state, engine, stage.first, stage.first + 10)
        ends.append(state)
    assert np.array_equal(ends[0].counts, ends[1].counts)
    assert np.array_equal(ends[0].sums, ends[1].sums)
