"""What of a simulation's compiled form a GPU can play: the numbers that its kernels take, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.compiled import Misfit, ProblemForms
from matroid_bandits.gpu import _codes
from matroid_bandits.kernels import forms as codes
from matroid_bandits.kernels.forms import GraphForm, QuotaForm
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy

_POLICIES = (codes.AFFINE, codes.EPSILON, codes.CHANCE, codes.BETA, codes.NORMAL)
_WORLDS = (codes.BERNOULLI, codes.EXPONENTIAL, codes.DENSE, codes.SPARSE)


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


def check_fit(forms: ProblemForms, policy: Policy, n_episodes: int) -> Family:
    """The matroid as the GPU's kernels take it; `Misfit` where it, the policy or the environment does not fit."""
    forms.check(policy, n_episodes)
    if forms.schedule(policy).form.kind not in _POLICIES:
        raise Misfit(
            f"{type(policy).__name__} is not among the policies for a GPU: affine ones such as OMM, EpsilonGreedy, "
            "UniformRandom, ThompsonSampling"
        )
    for _, environment, form in forms.stretches:
        if form.kind not in _WORLDS or not hasattr(form, "table"):
            raise Misfit(
                f"{type(environment).__name__} is not among the environments for a GPU: BernoulliEnvironment, "
                "ExponentialEnvironment, RowEnvironment, and PiecewiseEnvironment of these"
            )
    family: Family = forms.once("gpu family", lambda: _family_of(forms))
    return family


def _family_of(forms: ProblemForms) -> Family:
    """The matroid as arrays; `Misfit` for one that is neither made of quotas side by side nor a graph's."""
    form, matroid = forms.matroid, forms.problem.constraint
    assert isinstance(matroid, Matroid)
    name = type(matroid).__name__
    if isinstance(form, GraphForm):
        return _forest(form, matroid)
    if not isinstance(form, QuotaForm):
        raise Misfit(f"{name} is not among the matroids for a GPU: uniform, partition, graphic")
    if (form.parent >= 0).any() or (form.group < 0).any():
        raise Misfit(f"the quotas of this {name} are nested; a GPU takes them side by side")
    return _quotas(form.group, form.capacities, matroid.rank)


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


def _forest(form: GraphForm, matroid: Matroid) -> Family:
    """The edges that are neither bridges nor loops, between the vertices that bridges leave apart."""
    tails, heads = form.tails, form.heads
    bridges = matroid.coloops()
    label = np.arange(form.n_vertices)
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
