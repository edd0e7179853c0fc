"""Time per episode as the ground set grows: the kinetic engine and count classes against full scans, one run.

Everybody starts from the same state, reached by playing and restored before each sample: episode 1,000 of a fresh
problem, or episode 10^9 with the counts that OMM has by then. Ours is timed over all of the phase. A full scan costs
the same in every episode, so a few tell its time.
"""

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from matroid_bandits.agent import Agent
from matroid_bandits.stream import POLICY, START, Stream

_RANK = 100
_FROM, _TO = 1_000, 10_000
_CONVERGED = 10**9
_NOISE = 0.25
_SMALL = "ours, L = 10,000"
_OMM = mb.OMM()

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
    for policy, n_items, expected in (
        (mb.KLOSM(), 100_000, {"compiled scan": 100.0}),
        (mb.CLSG(), 100_000, {"compiled scan": 3.0}),
        (mb.CLSG(), 1_000_000, {"compiled scan": 20.0}),
        (mb.MOSS(), 1_000_000, None),
        (mb.KLUCBPlusPlus(), 100_000, None),
        (mb.SingleSeedThompson(), 100_000, None),
    ):
        yield _count_classes(policy, n_items, expected)


def first_simulate() -> tuple[float, float]:
    """Seconds from the start of a fresh process to the end of its first small `simulate`, and of these to import.

    The compiled kernels come from Numba's cache.
    """
    code = (
        "import time; began = time.perf_counter(); import matroid_bandits as mb; mb.simulate;"  # imported when used
        "print(time.perf_counter() - began);"
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
    """A problem and what a policy has seen of it before episode `first`."""

    problem: mb.Problem
    first: int
    counts: np.ndarray
    sums: np.ndarray
    policy: mb.Policy = _OMM

    def agent(self, engine: str) -> Agent:
        """An agent that has seen all this."""
        agent = Agent(self.problem.constraint, self.policy, engine=engine)
        agent.state.restore(self.counts, self.sums)
        return agent


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


def _learning(problem: mb.Problem, policy: mb.Policy = _OMM) -> _Stage:
    """At episode 1,000, every item having been seen once before the first."""
    agent, items = Agent(problem.constraint, policy), np.arange(problem.n_items)[None]
    stream = Stream(0, range(1), START)
    agent.observe(mb.Request(0, stream), items, problem.environment.draw(stream, 0, items))
    _play(problem, agent, 1, _FROM)
    return _Stage(problem, _FROM, agent.state.counts, agent.state.sums, policy)


def _converged(problem: mb.Problem) -> _Stage:
    """At episode 10^9: whatever is not good has been chosen until its index fell below that of what is.

    Means are as seen, with noise. A good item has been chosen nearly always; from its index, or the least of theirs
    where all compete, follow the counts of the others. A few thousand episodes then smooth the edges.
    """
    rng = np.random.default_rng(20)
    means = problem.environment.mean_weights.copy()
    good, c = problem.optimal_basis, mb.OMM().confidence_radius(_CONVERGED - 1, 1)
    counts = (c / 0.1) ** 2 * np.ones(means.size)
    counts[good] = _CONVERGED - (counts.sum() - counts[good].sum()) / _RANK
    means += rng.normal(size=means.size) * _NOISE / np.sqrt(counts)
    goal = means[good] + c / np.sqrt(counts[good])
    if isinstance(problem.constraint, mb.UniformMatroid):
        goal = np.full(_RANK, goal.min())
    is_good = np.isin(np.arange(means.size), good)
    short = np.repeat(goal, means.size // _RANK) - means
    counts = np.where(is_good, counts, np.ceil((c / short) ** 2)).astype(np.int64)
    agent = _Stage(problem, _CONVERGED, counts[None], (means * counts)[None]).agent("auto")
    first = _CONVERGED + 3_000
    _play(problem, agent, _CONVERGED, first)
    return _Stage(problem, first, agent.state.counts, agent.state.sums)


def _play(problem: mb.Problem, agent: Agent, first: int, last: int) -> None:
    """Episodes first to last - 1 of one run, as `simulate` plays them."""
    environment, stream = problem.environment, Stream(0, range(1))
    own = stream.with_purpose(POLICY)
    for t in range(first, last):
        chosen = agent.decide(mb.Request(t, own))
        agent.learn(chosen, environment.draw(stream, t, chosen.items))


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
    def setup() -> Agent:
        agent = stage.agent(engine_name)
        _play(stage.problem, agent, stage.first, stage.first + 2)  # an engine that remembers starts here
        return agent

    def call(agent: Agent) -> None:
        _play(stage.problem, agent, stage.first + 2, stage.first + 2 + n)

    return Task(call, n, setup)


def _numpy_loop(stage: _Stage, n: int) -> Task:
    """As a user would write it, every array at hand."""
    problem = stage.problem
    means, n_items = problem.environment.mean_weights, problem.n_items
    is_uniform = isinstance(problem.constraint, mb.UniformMatroid)
    is_coin = isinstance(problem.environment, mb.BernoulliEnvironment)
    starts = np.arange(_RANK) * (n_items // _RANK)

    def setup() -> tuple[np.ndarray, np.ndarray]:
        return stage.sums[0].copy(), stage.counts[0].astype(np.float64)

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


def _count_classes(policy: mb.Policy, n_items: int, expected: dict[str, float] | None) -> Case:
    """Weights 0 or 1; the compiled scan is what one would write with Numba: bisection for KL, argpartition."""
    stage = _learning(_uniform(n_items, is_coin=True), policy)
    _assert_same(stage, "classes")
    name = type(policy).__name__
    n_scans = max(3, 1_000_000 // n_items)
    others = {"plain engine": _task(stage, n_scans, "greedy")}
    if name in _SCANS:
        means, is_kl = stage.problem.environment.mean_weights, _SCANS[name]

        def call(arrays: tuple[np.ndarray, np.ndarray]) -> None:
            _scan(np.random.default_rng(0), is_kl, stage.first, stage.first + n_scans, *arrays, means, _RANK)

        def setup() -> tuple[np.ndarray, np.ndarray]:
            return stage.sums[0].copy(), stage.counts[0].astype(np.float64)

        few = np.zeros(200), np.ones(200), means[:200].copy()
        _scan(np.random.default_rng(0), is_kl, 2, 3, *few, _RANK)  # compiled here
        others["compiled scan"] = Task(call, n_scans, setup)
    return Case(f"{name}, uniform, K = {_RANK}, L = {n_items:,}, weights 0 or 1", _ours(stage), others, expected)


#: Policies whose index is written out in `_scan`, and whether it is that of Kullback-Leibler bounds.
_SCANS = {"KLOSM": True, "CLSG": False}


@njit
def _scan(rng, is_kl, first, last, sums, counts, means, rank):
    """Episodes of one run that look at every item."""
    U = np.empty(sums.size)
    for t in range(first, last):
        budget = math.log(t)
        x = rng.normal() * math.sqrt(0.1 * budget)
        for e in range(sums.size):
            n, p = counts[e], sums[e] / counts[e]
            if is_kl:
                low, high = p, 1.0
                for _ in range(40):
                    q, divergence = 0.5 * (low + high), 0.0
                    if p > 0.0:
                        divergence += p * math.log(p / q)
                    if p < 1.0:
                        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
                    if n * divergence <= budget:
                        low = q
                    else:
                        high = q
                U[e] = low
            else:
                U[e] = p + x / math.sqrt(n + 1.0)
        for e in np.argpartition(-U, rank)[:rank]:
            sums[e] += 1.0 if rng.random() < means[e] else 0.0
            counts[e] += 1.0


def _assert_same(stage: _Stage, engine: str = "kinetic") -> None:
    """Engines agree on where ten episodes lead."""
    ends = []
    for name in ("greedy", engine):
        agent = stage.agent(name)
        _play(stage.problem, agent, stage.first, stage.first + 10)
        ends.append(agent.state)
    assert np.array_equal(ends[0].counts, ends[1].counts)
    assert np.array_equal(ends[0].sums, ends[1].sums)
