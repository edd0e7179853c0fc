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
from matroid_bandits.gpu._cuda import Device
from matroid_bandits.kernels import discount
from matroid_bandits.kernels import forms as codes
from matroid_bandits.kernels.forms import FloatForm, GraphForm, MatchingForm, PolicyForm, QuotaForm, ResidueForm
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

# What the kernels that need fewer registers know.
_PLAIN_POLICIES = (codes.AFFINE, codes.EPSILON, codes.CHANCE, codes.BETA, codes.NORMAL)
_PLAIN_WORLDS = (codes.BERNOULLI, codes.EXPONENTIAL, codes.DENSE, codes.SPARSE)

#: The most primes modulo which vectors are looked at: a bit of a word for each.
_MOST_PRIMES = 62

#: The share of the free memory that may be used.
_MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Family:
    """A matroid as a kernel takes it: the kernel's name, its first argument, and what a block of it needs.

    `own_bytes` gives the shared memory that a number of threads needs beside that of the frame, `least_threads` is
    how many there must be, and `items_per_thread` what measurements favour.
    """

    name: str
    arguments: tuple[Any, ...]
    n_items: int
    rank: int
    own_bytes: Callable[[int], int]
    items_per_thread: int = 8
    least_threads: int = 1

    def shared_bytes(self, n_threads: int) -> int:
        """The shared memory that a number of threads needs, that of the frame first."""
        words = 5 * self.rank + -(-self.n_items // 32) + n_threads
        return 8 * -(-words // 2) + self.own_bytes(n_threads)


def check_fit(forms: ProblemForms, policy: Policy, n_episodes: int) -> Family:
    """The matroid as the GPU's kernels take it; `Misfit` where it, the policy or the environment does not fit."""
    forms.check(policy, n_episodes)
    if forms.is_late:
        raise Misfit("answers that come late are played on the CPU alone")
    kind, name = forms.schedule(policy).form.kind, type(policy).__name__
    if kind in (codes.KL, codes.KL_SHARE, codes.ONE_QUANTILE):
        raise Misfit(f"{name} takes logarithms, which have other last digits on a GPU")
    if kind in (codes.SHARE, codes.ONE_NORMAL):
        raise Misfit(f"{name} has no kernel for a GPU")
    family: Family = forms.once("gpu family", lambda: _family_of(forms))
    return family


def is_general(forms: ProblemForms, policy: Policy) -> bool:
    """Whether it takes a kernel that knows more than the simple policies and worlds."""
    return forms.schedule(policy).form.kind not in _PLAIN_POLICIES or any(
        form.kind not in _PLAIN_WORLDS or not hasattr(form, "table") for _, _, form, _ in forms.stretches
    )


def check_room(
    family: Family, problem: Problem, form: PolicyForm, n_episodes: int, device: Device, more: int = 0
) -> int:
    """Threads per run, from a warp for small problems to eight; `Misfit` where the device lacks memory for a run.

    `more` are the bytes that all runs share.
    """
    wanted = max(2 * family.least_threads, problem.n_items // family.items_per_thread)
    n_threads = next((n for n in (32, 64, 128) if n >= wanted), 256)
    if device.is_simulated:
        n_threads = max(4, family.least_threads)
    needed = family.shared_bytes(n_threads)
    if needed > device.block_bytes:
        raise Misfit(
            f"a run needs {needed:,} bytes of fast memory, and {device.name} has {device.block_bytes:,} for a block "
            "of threads"
        )
    needed = more + bytes_per_run(problem, form, n_episodes)
    if needed > budget_of(device):
        raise Misfit(
            f"{device.name} has too little free memory: a run needs {needed >> 20:,} MiB, and "
            f"{budget_of(device) >> 20:,} MiB may be used"
        )
    return n_threads


def budget_of(device: Device) -> int:
    """The memory that may be used."""
    return int(_MEMORY_SHARE * device.free_bytes)


def bytes_per_run(problem: Problem, form: PolicyForm, n_episodes: int, n_checkpoints: int = 0) -> int:
    """The memory that each run takes."""
    per_item = 28 + 8 * cells_per_item(form) + (4 if form.kind in (codes.BETA, codes.WINDOW) else 0)
    return per_item * problem.n_items + 12 * rows_of(form, n_episodes) * problem.rank + 16 * n_checkpoints + 64


def cells_per_item(form: PolicyForm) -> int:
    """How many numbers a policy whose plays fade keeps of an item."""
    return {codes.DISCOUNTED: discount.WIDTH, codes.FADING: 3}.get(form.kind, 0)


def rows_of(form: PolicyForm, n_episodes: int) -> int:
    """How many episodes a window keeps; 0 where there is none."""
    return min(form.window, n_episodes + 1) if form.kind == codes.WINDOW else 0


def _family_of(forms: ProblemForms) -> Family:
    """The matroid as arrays; `Misfit` for one that the kernels do not know."""
    form, matroid = forms.matroid, forms.problem.constraint
    assert isinstance(matroid, Matroid)
    if isinstance(form, GraphForm):
        return _forest(form, matroid)
    if isinstance(form, QuotaForm):
        if (form.parent >= 0).any() or (form.group < 0).any():
            raise Misfit(f"the quotas of this {type(matroid).__name__} are nested; a GPU takes them side by side")
        return _quotas(form.group, form.capacities, matroid.rank)
    return _ordered(form, matroid)


def _quotas(cells: IntArray, capacities: IntArray, rank: int) -> Family:
    sizes: IntArray = np.bincount(cells, minlength=capacities.size)
    n_items, n_cells, is_few = cells.size, capacities.size, capacities.size == 1 and rank <= _codes.MOST_FEW
    method = _codes.FEW if is_few else _codes.ONE_EACH if (capacities <= 1).all() else _codes.MANY

    def own_bytes(n_threads: int) -> int:
        return 8 * (n_items + 3 * n_cells + n_threads) + 4 * (3 * n_cells + _codes.ZONE + 5)

    arguments = (
        rank,
        method,
        cells.astype(np.uint32),
        offsets(sizes).astype(np.int32),
        np.argsort(cells, kind="stable").astype(np.uint32),
        np.minimum(capacities, sizes).astype(np.int32),
    )
    return Family("quotas", arguments, n_items, rank, own_bytes, 16 if is_few else 8, rank if is_few else 1)


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
    n_vertices, rank = names.size, matroid.rank

    def own_bytes(n_threads: int) -> int:
        return 8 * (pool.size + n_vertices) + 4 * (3 * n_vertices + pool.size + 2)

    arguments = (
        rank,
        pool.astype(np.uint32),
        (label[tails[pool]] | (label[heads[pool]] << 16)).astype(np.uint32),
        n_vertices,
        rank - bridges.size,
        always,
    )
    return Family("forest", arguments, matroid.n_items, rank, own_bytes)


def _ordered(form: MatchingForm | ResidueForm | FloatForm, matroid: Matroid) -> Family:
    """A family whose greedy algorithm runs along an order of the items that may be chosen or not."""
    always, pool = matroid.reduction()
    n_items, rank = matroid.n_items, matroid.rank
    n = 1 << max(pool.size - 1, 0).bit_length()  # as many are sorted
    own: tuple[Any, ...]
    if isinstance(form, MatchingForm) and form.n_rights <= 64:
        masks = np.zeros(n_items, np.uint64)
        owners = np.repeat(np.arange(n_items), np.diff(form.starts))
        np.bitwise_or.at(masks, owners, np.uint64(1) << form.rights.astype(np.uint64))
        name, own, n_bytes = "masks", (masks, form.n_rights), 4 * 129
    elif isinstance(form, MatchingForm):
        name, own = "lists", (form.starts.astype(np.int32), form.rights.astype(np.int32), form.n_rights)
        n_bytes = 4 * (4 * form.n_rights + n_items + 2)
    elif isinstance(form, ResidueForm):
        n_primes, _, n_columns = form.residues.shape
        if n_primes > _MOST_PRIMES:
            raise Misfit(f"the vectors are too long for a GPU: they take {n_primes} primes, of {_MOST_PRIMES}")
        primes = form.primes.astype(np.int64)
        batches = np.minimum(2**30, (2**63 - 1) // primes**2 - 1)  # of products that fit in a word with what is left
        name, own = "residues", (form.residues.astype(np.uint32), primes, batches)
        n_bytes = 4 * (n_primes * (rank * n_columns + rank + n_columns) + rank + 2)
    else:
        name, own = "floats", (np.array(form.vectors, np.float64), float(form.tolerance))
        n_columns = form.vectors.shape[1]
        n_bytes = 8 * (rank * n_columns + n_columns + 3) + 4 * (rank + 1)
    items = np.concatenate([always, pool]).astype(np.uint32)
    arguments = (rank, items, int(always.size), n, *own)
    return Family(name, arguments, n_items, rank, lambda n_threads: 12 * n + n_bytes)
