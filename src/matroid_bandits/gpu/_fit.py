"""What of a problem and a policy a GPU can play: the numbers that kernels take, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits._util.text import counted
from matroid_bandits.constraint import Constraint
from matroid_bandits.environments import (
    BernoulliEnvironment,
    Environment,
    ExponentialEnvironment,
    PiecewiseEnvironment,
    RowEnvironment,
)
from matroid_bandits.gpu import _codes
from matroid_bandits.matroids import GraphicMatroid, Matroid
from matroid_bandits.policies import (
    AffinePolicy,
    EpsilonGreedy,
    Policy,
    Request,
    ThompsonSampling,
    UniformRandom,
    coefficient,
)
from matroid_bandits.problem import Problem

#: Kernels count episodes in 32 bits.
MOST_EPISODES = 2**31 - 1

_ENVIRONMENTS = (BernoulliEnvironment, ExponentialEnvironment, RowEnvironment)

#: What an affine policy must leave as it is; a GPU computes a + c_t b with the state's means and radii.
_HOOKS = ("lines", "exponent", "affine", "prepare", "advance", "observe", "wait", "drop")

#: Episodes whose worth is added up at once, for the sake of memory.
_CHUNK = 2**20


class Misfit(Exception):
    """Something is not in the set that kernels know; the message is a sentence that names it."""


@dataclass(frozen=True)
class Family:
    """A matroid as a kernel takes it: the kernel's name, its first arguments, and what a block of it needs.

    `shared_bytes` is how much shared memory so many threads need, `least_threads` how many there must be, and
    `items_per_thread` what measurements favour.
    """

    kernel: str
    arguments: tuple[Any, ...]
    shared_bytes: Callable[[int], int]
    items_per_thread: int = 8
    least_threads: int = 1


@dataclass(frozen=True)
class Form:
    """A policy as kernels take it: a number for its kind, one for its parameter, and c_t of some episodes."""

    kind: int
    number: float
    coefficients: Callable[[int, int], FloatArray]


@dataclass(frozen=True)
class World:
    """An environment as kernels take it, from one episode on, and what its best set is expected to be worth."""

    first: int
    best: float
    mean_weights: FloatArray
    kind: int
    values: FloatArray
    n_rows: int
    table: FloatArray
    indptr: IntArray
    indices: IntArray


def family_of(constraint: Constraint) -> Family:
    """The matroid as arrays; `Misfit` for one that is neither made of quotas side by side nor a graph's."""
    if not isinstance(constraint, Matroid):
        raise Misfit(f"{type(constraint).__name__} is no matroid")
    if constraint.rank == 0:
        raise Misfit("a matroid of rank 0 leaves nothing to choose")
    if type(constraint) is GraphicMatroid:
        return _forest(constraint)
    quotas = constraint.quotas()
    if quotas is None:
        raise Misfit(f"{type(constraint).__name__} is not among the matroids for a GPU: uniform, partition, graphic")
    cells, parent, capacities = quotas
    if (parent >= 0).any() or (cells < 0).any():
        raise Misfit(f"the quotas of this {type(constraint).__name__} are nested; a GPU takes them side by side")
    return _quotas(cells, capacities, constraint.rank)


def _quotas(cells: IntArray, capacities: IntArray, rank: int) -> Family:
    sizes: IntArray = np.bincount(cells, minlength=capacities.size)
    n_items, n_cells, is_few = cells.size, capacities.size, capacities.size == 1 and rank <= _codes.MOST_FEW
    method = _codes.FEW if is_few else _codes.ONE_EACH if (capacities <= 1).all() else _codes.MANY

    def shared_bytes(n_threads: int) -> int:
        words = n_items + 3 * n_cells + n_threads + 2 * rank
        return 8 * words + 4 * (3 * n_cells + rank + -(-n_items // 32) + n_threads + _codes.ZONE + 5)

    arguments = (
        method,
        cells.astype(np.uint32),
        offsets(sizes).astype(np.int32),
        np.argsort(cells, kind="stable").astype(np.uint32),
        np.minimum(capacities, sizes).astype(np.int32),
        rank,
    )
    return Family("play_quotas", arguments, shared_bytes, 16 if is_few else 8, rank if is_few else 1)


def _forest(matroid: GraphicMatroid) -> Family:
    """The edges that are neither bridges nor loops, between the vertices that bridges leave apart."""
    fields = matroid.fields()
    tails, heads = (np.array(fields[name], np.int64) for name in ("tails", "heads"))
    bridges = matroid.coloops()
    label = np.arange(matroid.n_vertices)
    for e in bridges:  # few, and once a simulation
        u, v = label[tails[e]], label[heads[e]]
        label[label == v] = u
    names, label = np.unique(label, return_inverse=True)
    is_open = tails != heads
    is_open[bridges] = False
    pool = np.flatnonzero(is_open)
    always = np.zeros(-(-matroid.n_items // 32), np.uint32)
    np.bitwise_or.at(always, bridges >> 5, np.uint32(1) << (bridges & 31).astype(np.uint32))
    if names.size >= 2**16:
        raise Misfit(
            f"a graph of {names.size:,} vertices that no bridges join has too many for a GPU, of {2**16 - 1:,}"
        )
    n_vertices, rank, n_words = names.size, matroid.rank, always.size

    def shared_bytes(n_threads: int) -> int:
        words = pool.size + n_vertices + 2 * rank
        return 8 * words + 4 * (3 * n_vertices + pool.size + rank + n_words + n_threads + 2)

    arguments = (
        pool.astype(np.uint32),
        (label[tails[pool]] | (label[heads[pool]] << 16)).astype(np.uint32),
        n_vertices,
        rank - bridges.size,
        always,
        rank,
    )
    return Family("play_forest", arguments, shared_bytes)


def form_of(policy: Policy, problem: Problem) -> Form:
    """The policy as numbers; `Misfit` for one that kernels do not know."""
    if type(policy).alarms is not Policy.alarms:
        raise Misfit(f"{type(policy).__name__} makes items start anew by itself; on a GPU no policy does")
    if isinstance(policy, AffinePolicy):
        return Form(_codes.AFFINE, 0.0, _coefficients_of(policy, problem))
    kind = type(policy)
    if kind is EpsilonGreedy:
        return Form(_codes.EPSILON, policy.params()["epsilon"], _zeros)
    if kind is UniformRandom:
        return Form(_codes.CHANCE, 0.0, _zeros)
    if kind is ThompsonSampling:
        params = policy.params()
        is_beta = params["prior"] == "beta"
        return Form(_codes.BETA if is_beta else _codes.NORMAL, params["noise"], _zeros)
    raise Misfit(
        f"{kind.__name__} is not among the policies for a GPU: affine ones such as OMM, EpsilonGreedy, "
        "UniformRandom, ThompsonSampling"
    )


def _coefficients_of(policy: AffinePolicy, problem: Problem) -> Callable[[int, int], FloatArray]:
    """c_t of episodes ahead, for an affine policy with the state's own lines whose c_t depends on t alone."""
    name = type(policy).__name__
    for hook in _HOOKS:
        if getattr(type(policy), hook) is not getattr(AffinePolicy, hook):
            raise Misfit(f"{name} has {hook}() of its own; a GPU plays affine ones with the state's means and radii")
    state: Any = _Blank(name, constraint=problem.constraint, minimize=problem.minimize, n_items=problem.n_items)
    stream: Any = _Blank(name)

    def coefficients(first: int, n: int) -> FloatArray:
        return np.array([coefficient(policy, state, Request(t, stream)) for t in range(first, first + n)])

    coefficients(1, 1)
    return coefficients


class _Blank:
    """Stands in for the state and the stream while c_t is computed ahead: whoever looks at them does not fit."""

    def __init__(self, policy: str, **known: Any) -> None:
        self.__dict__.update(known, _policy=policy)

    def __getattr__(self, name: str) -> Any:
        raise Misfit(
            f"{self.__dict__['_policy']}.coefficient looks at {name!r}; a GPU needs one that depends on the "
            "episode alone"
        )


def _zeros(first: int, n: int) -> FloatArray:
    return np.zeros(n)


def check_world(problem: Problem) -> None:
    """Raise `Misfit` for an environment that kernels do not know, or one with such a piece."""
    for _, environment in _pieces(problem.environment):
        if type(environment) not in _ENVIRONMENTS:
            known = ", ".join(kind.__name__ for kind in _ENVIRONMENTS)
            raise Misfit(
                f"{type(environment).__name__} is not among the environments for a GPU: {known}, and "
                "PiecewiseEnvironment of these"
            )


def worlds_of(problem: Problem) -> list[World]:
    """The environment as arrays, one entry for each stretch of episodes in which it stays the same."""
    check_world(problem)
    made: dict[int, World] = {}  # pieces that come back are made once
    worlds = []
    for first, environment in _pieces(problem.environment):
        if id(environment) not in made:
            made[id(environment)] = _world(problem, environment)
        worlds.append(replace(made[id(environment)], first=first))
    return worlds


def _pieces(environment: Environment, first: int = 1, end: float = np.inf) -> list[tuple[int, Environment]]:
    """The environments that hold from some episode on, in the episodes from `first` up to `end`."""
    if type(environment) is not PiecewiseEnvironment:
        return [(first, environment)]
    begins = (1, *environment.changes)
    stretches = zip(environment.pieces, begins, (*environment.changes, np.inf), strict=True)
    return [
        found
        for piece, begin, stop in stretches
        if max(begin, first) < min(stop, end)
        for found in _pieces(piece, max(begin, first), min(stop, end))
    ]


def _world(problem: Problem, environment: Environment) -> World:
    means = environment.mean_weights
    nothing, no_table = np.zeros(1, np.int64), np.zeros(1)
    arrays: tuple[int, FloatArray, int, AnyArray, IntArray, IntArray]
    if isinstance(environment, RowEnvironment):
        rows = environment.rows
        if isinstance(rows, tuple):
            indptr, indices, data = rows
            table = np.append(data.astype(np.float64), 0.0)  # so that nothing is empty
            arrays = (_codes.SPARSE, means, environment.n_rows, table, indptr.astype(np.int64),
                      np.append(indices.astype(np.int64), 0))  # fmt: skip
        else:
            arrays = (_codes.DENSE, means, environment.n_rows, rows.astype(np.float64).reshape(-1), nothing, nothing)
    elif isinstance(environment, ExponentialEnvironment):
        arrays = (_codes.EXPONENTIAL, means - 1.0, 0, no_table, nothing, nothing)
    else:
        arrays = (_codes.BERNOULLI, means, 0, no_table, nothing, nothing)
    best = problem.best_sets(np.array(means[None]))[2]
    return World(1, float(best[0]), means, *arrays)


def optimum_of(worlds: list[World], checkpoints: IntArray) -> FloatArray:
    """What the best sets were worth in all by each checkpoint.

    Added up episode by episode, as the CPU does where means change, so that the last digits are the same.
    """
    starts = np.array([world.first for world in worlds])
    best = np.array([world.best for world in worlds])
    found, total, t = np.empty(checkpoints.size), 0.0, 1
    for place, point in enumerate(checkpoints):
        while t <= point:
            episodes = np.arange(t, min(point + 1, t + _CHUNK))
            worth = best[np.searchsorted(starts, episodes, side="right") - 1]
            total = float(np.add.accumulate(np.append(total, worth))[-1])
            t += episodes.size
        found[place] = total
    return found


def check_length(n_episodes: int) -> None:
    """Raise `Misfit` for more episodes than kernels can count."""
    if n_episodes > MOST_EPISODES:
        raise Misfit(f"{counted(n_episodes, 'episode')} are more than a GPU counts, {MOST_EPISODES:,}")
