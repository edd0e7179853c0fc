"""Time per episode with discounting: tournaments against what one would write by hand, one run, whole episodes.

Everybody starts from the same state: episode 1,000 of a fresh problem ("learning"), or the round in which items are
chosen, fade and come up again once that has settled ("converged"). The loops by hand do what the textbook says: in
every episode all plays and sums are multiplied by gamma. Everything runs in one thread, and the time is the
processor's, so that others on the machine do not count.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from matroid_bandits.agent import Agent
from matroid_bandits.kernels.discount import PLAYS, SUMS
from matroid_bandits.stream import POLICY, START, Stream

_RANK, _SCALE, _NOISE = 100, 0.1, 0.25
_FROM, _EPISODES = 1_000, 500
_GAMMAS = {"0.999": 0.999, "0.9999": 0.9999, "1 - 1e-6": 1.0 - 1e-6}
_EXPECTED = {"NumPy loop": 20.0, "compiled scan": 3.0}


def discount() -> Iterator[Case]:
    """Uniform and partition matroids, while they learn and once they have learnt; then gammas that forget at once."""
    for name, family in (("uniform", _uniform), ("partition", _partition)):
        for n_items in (100_000, 1_000_000):
            problem = family(n_items)
            for shown, gamma in _GAMMAS.items():
                expected = _EXPECTED if n_items == 1_000_000 and shown == "0.9999" else None
                for label, stage in (("learning", _learning), ("converged", _converged)):
                    title = f"{name}, K = {_RANK}, L = {n_items:,}, gamma = {shown}, {label}"
                    yield _case(title, stage(problem, gamma), expected)
    for n_items in (100_000, 1_000_000):
        for gamma in (0.99, 0.9):
            title = f"uniform, K = {_RANK}, L = {n_items:,}, gamma = {gamma}, learning"
            stage = _learning(_uniform(n_items), gamma)
            case = _case(title, stage, None)
            for name, engine in (("plain engine", "greedy"), ("tournaments only", "kinetic")):
                case.others[name] = _task(stage, _EPISODES, engine)  # whose work changes from episode to episode
            yield case


@dataclass(frozen=True)
class _Stage:
    """A problem, the next episode, and what discounted OMM knows by then."""

    problem: mb.Problem
    policy: mb.DiscountedOMM
    first: int
    clock: np.ndarray
    cells: np.ndarray

    def agent(self, engine: str) -> Agent:
        """An agent that knows all this."""
        agent = Agent(self.problem.constraint, self.policy, engine=engine, waits=False)
        agent.state.extra["clock"][:], agent.state.extra["cells"][:] = self.clock, self.cells
        self.policy.rearranged(agent.state, np.empty(0, np.int64))  # lines follow from cells
        return agent

    def textbook(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Plays, sums of gains and time, all of them discounted."""
        g, tau = self.clock[0, :2]
        return g * self.cells[0, :, PLAYS], g * self.cells[0, :, SUMS], float(tau)


def _uniform(n_items: int) -> mb.Problem:
    return _on(mb.UniformMatroid(n_items, _RANK))


def _partition(n_items: int) -> mb.Problem:
    """Blocks of equal size, one item of each."""
    return _on(mb.PartitionMatroid(np.arange(n_items) * _RANK // n_items))


def _on(matroid: mb.Matroid) -> mb.Problem:
    """K good items, one in each K-th of the items, and the rest worse by 0.1."""
    means = np.full(matroid.n_items, 0.4)
    means[np.arange(_RANK) * matroid.n_items // _RANK] = 0.5
    return mb.Problem(matroid, mb.GaussianEnvironment(means, _NOISE))


def _learning(problem: mb.Problem, gamma: float) -> _Stage:
    """At episode 1,000, every item having been seen once before the first."""
    policy = mb.DiscountedOMM(gamma, _SCALE)
    agent, items = Agent(problem.constraint, policy, waits=False), np.arange(problem.n_items)[None]
    stream = Stream(0, range(1), START)
    agent.observe(mb.Request(0, stream), items, problem.environment.draw(stream, 0, items))
    return _after(problem, policy, agent, 1, _FROM)


def _converged(problem: mb.Problem, gamma: float) -> _Stage:
    """Where every item comes up again once its plays have faded enough, K in every episode.

    An item of mean m comes up when its plays n bring its index m + c / sqrt(n) to a level that all share; then it has
    n + 1 plays, which fade to n again in log(1 + 1/n) horizons. The level is such that K come up in an episode. Each
    item starts somewhere on its way; a thousand episodes smooth the edges.
    """
    rng, horizon = np.random.default_rng(20), 1.0 / (1.0 - gamma)
    c = _SCALE * math.sqrt(2.0 * math.log(horizon))
    true = problem.environment.mean_weights
    low, high = float(true.max()), float(true.max()) + 10.0 * c * math.sqrt(problem.n_items)
    for _ in range(100):
        level = (low + high) / 2.0
        n = (c / (level - true)) ** 2
        is_too_low = np.minimum(1.0 / (horizon * np.log1p(1.0 / n)), 1.0).sum() > _RANK
        low, high = (level, high) if is_too_low else (low, level)
    plays = np.minimum((n + 1.0) * (1.0 + 1.0 / n) ** -rng.random(n.size), horizon)
    means = true + rng.normal(size=n.size) * _NOISE / np.sqrt(np.maximum(plays, 1.0))
    policy = mb.DiscountedOMM(gamma, _SCALE)
    agent = Agent(problem.constraint, policy, waits=False)
    cells, first = agent.state.extra["cells"], 1_000_000
    cells[0, :, PLAYS], cells[0, :, SUMS] = plays, plays * means
    agent.state.extra["clock"][:] = 1.0, horizon, first, 0.0
    policy.rearranged(agent.state, np.empty(0, np.int64))
    return _after(problem, policy, agent, first + 1, first + 1_001)


def _after(problem: mb.Problem, policy: mb.DiscountedOMM, agent: Agent, first: int, last: int) -> _Stage:
    _play(problem, agent, first, last)
    return _Stage(problem, policy, last, agent.state.extra["clock"], agent.state.extra["cells"])


def _play(problem: mb.Problem, agent: Agent, first: int, last: int) -> None:
    """Episodes first to last - 1 of one run, as `simulate` plays them."""
    environment, stream = problem.environment, Stream(0, range(1))
    own = stream.with_purpose(POLICY)
    for t in range(first, last):
        chosen = agent.decide(mb.Request(t, own))
        agent.learn(chosen, environment.draw(stream, t, chosen.items))


def _case(name: str, stage: _Stage, expected: dict[str, float] | None) -> Case:
    _assert_same(stage)
    n = max(10, 10_000_000 // stage.problem.n_items)
    others = {
        "plain engine": _task(stage, n, "greedy"),
        "compiled scan": _by_hand(stage, n, _scan_loop(stage.problem)),
        "NumPy loop": _by_hand(stage, max(5, n // 2), _numpy_loop(stage.problem)),
    }
    return Case(name, _task(stage, _EPISODES, "auto"), others, expected)


def _task(stage: _Stage, n: int, engine: str) -> Task:
    def setup() -> Agent:
        agent = stage.agent(engine)
        _play(stage.problem, agent, stage.first, stage.first + 2)  # an engine that remembers starts here
        return agent

    def call(agent: Agent) -> float:
        start = time.process_time()
        _play(stage.problem, agent, stage.first + 2, stage.first + 2 + n)
        return time.process_time() - start

    return Task(call, n, setup, is_clocked=True)


#: Fades plays and sums (L,), fills in the K items of largest index and returns them.
_Chooser = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]


def _by_hand(stage: _Stage, n: int, choose: _Chooser) -> Task:
    """A loop by hand around a way to choose."""
    gamma, means = stage.policy.gamma, stage.problem.environment.mean_weights

    def call(arrays: tuple[np.ndarray, np.ndarray, float]) -> float:
        plays, sums, tau = arrays
        rng = np.random.default_rng(0)
        start = time.process_time()
        for _ in range(n):
            basis = choose(plays, sums, _SCALE * math.sqrt(2.0 * math.log(tau)), gamma)
            plays[basis] += 1.0
            sums[basis] += rng.normal(means[basis], _NOISE)
            tau = gamma * tau + 1.0
        return time.process_time() - start

    return Task(call, n, stage.textbook, is_clocked=True)


def _numpy_loop(problem: mb.Problem) -> _Chooser:
    """As a user would write it, every array at hand."""
    is_uniform = isinstance(problem.constraint, mb.UniformMatroid)
    starts = np.arange(_RANK) * (problem.n_items // _RANK)

    def choose(plays: np.ndarray, sums: np.ndarray, c: float, gamma: float) -> np.ndarray:
        U = sums / plays + c / np.sqrt(plays)
        plays *= gamma
        sums *= gamma
        return np.argpartition(U, -_RANK)[-_RANK:] if is_uniform else starts + U.reshape(_RANK, -1).argmax(axis=1)

    return choose


def _scan_loop(problem: mb.Problem) -> _Chooser:
    """As a user would compile it: one pass that fades and weighs all items, one that picks the best."""
    U, basis = np.empty(problem.n_items), np.empty(_RANK, np.int64)
    pick = _best if isinstance(problem.constraint, mb.UniformMatroid) else _best_of_blocks

    def choose(plays: np.ndarray, sums: np.ndarray, c: float, gamma: float) -> np.ndarray:
        _weigh(plays, sums, c, gamma, U)
        pick(U, basis)
        return basis

    return choose


@njit(error_model="numpy")
def _weigh(plays, sums, c, gamma, U):
    for e in range(U.shape[0]):
        U[e] = sums[e] / plays[e] + c / np.sqrt(plays[e])
        plays[e] *= gamma
        sums[e] *= gamma


@njit
def _best(U, basis):
    """The K largest, kept in a heap whose root is the least."""
    K = basis.shape[0]
    values = np.full(K, -np.inf)
    for e in range(U.shape[0]):
        x = U[e]
        if x <= values[0]:
            continue
        i = 0
        while True:
            child = 2 * i + 1
            if child >= K:
                break
            if child + 1 < K and values[child + 1] < values[child]:
                child += 1
            if values[child] >= x:
                break
            values[i], basis[i] = values[child], basis[child]
            i = child
        values[i], basis[i] = x, e


@njit
def _best_of_blocks(U, basis):
    size = U.shape[0] // basis.shape[0]
    for b in range(basis.shape[0]):
        best = b * size
        for e in range(best + 1, (b + 1) * size):
            if U[e] > U[best]:
                best = e
        basis[b] = best


def _assert_same(stage: _Stage) -> None:
    """Engines agree on where ten episodes lead."""
    ends = []
    for name in ("greedy", "kinetic"):
        agent = stage.agent(name)
        _play(stage.problem, agent, stage.first, stage.first + 10)
        ends.append(agent.state.extra["cells"])
    assert np.array_equal(*ends)
