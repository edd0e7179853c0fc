"""Matroids as the kernels of the CPU take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._kernels import (
    BITS,
    COMMON,
    COMMON_POLICIES,
    COMMON_WORLDS,
    EVERY,
    FLOATS,
    FOREST,
    MATCHING,
    NESTED,
    QUOTAS,
    RESIDUES,
    name_of,
)
from matroid_bandits.engines import CountClassesEngine, KineticEngine, WarmEngine
from matroid_bandits.kernels import graphic, kinetic, laminar
from matroid_bandits.kernels.forms import DISCOUNTED, FADING, WINDOW, GraphForm, MatchingForm, QuotaForm, ResidueForm
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy

#: How many episodes plays are faded over, and how many plays of a window, or that wait, a run may keep.
_MOST_POWERS, _MOST_RING = 2**22, 2**22

#: How many numbers a SIMD register holds.
_LANES = 8


@dataclass(frozen=True)
class Family:
    """A matroid for the kernels of a family: their first argument, and how many classes a run keeps in order.

    Of quotas side by side the argument has where the items of each cell start in the members of all, these, how many
    of each cell are chosen, whether item i is member i, the rank, and of tournaments the place of each item in its
    cell, where each tree and each reserve starts. Of other families: how many items may be chosen or not, the pool;
    these, and after them those in every basis, all of which are known by their place there; the places of the latter;
    the classes of the pool of which at most one item can be chosen, by members and by item; whether orders of classes
    are repaired rather than sorted; the rank; and the family's own arrays, by place.
    """

    name: str
    n_items: int
    rank: int
    arguments: tuple[Any, ...]
    n_classes: int = 0


def family_of(forms: ProblemForms) -> Family:
    """The matroid as arrays, made once; `Misfit` for one that the CPU's kernels do not know."""
    family: Family = forms.once("cpu family", lambda: _family_of(forms))
    return family


def kernel_of(forms: ProblemForms, policy: Policy) -> str:
    """The name of the kernel that plays a policy on the problem, the small one of its family where that can."""
    name, kinds = _name_of(forms), {stretch.form.kind for stretch in forms.stretches}
    is_common = forms.schedule(policy).form.kind in COMMON_POLICIES and kinds <= set(COMMON_WORLDS)
    is_many = forms.problem.n_items >= KineticEngine.LEAST_ITEMS or uses_heaps(forms, policy)
    return name_of(name, COMMON if is_common and not (name == QUOTAS and is_many) and not forms.is_late else EVERY)


def _name_of(forms: ProblemForms) -> str:
    """The family of the matroid."""
    form = forms.matroid
    if isinstance(form, QuotaForm):
        return QUOTAS if (form.parent < 0).all() else NESTED
    if isinstance(form, MatchingForm):
        return MATCHING if form.n_rights > 64 else BITS
    return FOREST if isinstance(form, GraphForm) else RESIDUES if isinstance(form, ResidueForm) else FLOATS


def check_cpu(forms: ProblemForms, policy: Policy, n_episodes: int) -> Family:
    """The matroid as arrays; `Misfit` for what does not fit, or is sooner played by an `Agent`."""
    forms.check(policy, n_episodes)
    family, form = family_of(forms), forms.schedule(policy).form
    problem = forms.problem
    is_large = problem.n_items >= KineticEngine.LEAST_ITEMS and KineticEngine.fits(problem.constraint, policy)
    if is_large and (family.name != QUOTAS or form.kind == WINDOW):
        raise Misfit(f"{problem.n_items:,} items of nested quotas or of a window are followed by the kinetic engine")
    if is_large and forms.is_late:
        raise Misfit(f"{problem.n_items:,} items with answers that come late are followed by the kinetic engine")
    is_apart = forms.is_late or family.name != QUOTAS
    is_many = problem.n_items >= CountClassesEngine.LEAST_ITEMS
    if is_apart and is_many and CountClassesEngine.fits(problem.constraint, policy):
        what = "with answers that come late" if forms.is_late else "of nested quotas"
        raise Misfit(f"{problem.n_items:,} items {what} are followed by the engine of count classes")
    is_fading = form.kind == FADING or (form.kind == DISCOUNTED and forms.is_late)
    if is_fading and n_episodes > _MOST_POWERS:
        raise Misfit(f"plays fade over more episodes than are tabulated, {_MOST_POWERS:,}")
    if form.kind == WINDOW and min(form.window, n_episodes) * problem.rank > _MOST_RING:
        raise Misfit(f"a window of {form.window:,} episodes has more plays than are kept in memory, {_MOST_RING:,}")
    if forms.is_late and forms.longest_delay(n_episodes) >= _MOST_RING // problem.rank:
        raise Misfit(
            f"answers that come up to {forms.longest_delay(n_episodes):,} episodes late have more plays waiting than "
            f"are kept in memory, {_MOST_RING:,}"
        )
    return family


def uses_trees(forms: ProblemForms, policy: Policy) -> bool:
    """Whether items of quotas side by side play tournaments: many, of an affine index."""
    return policy.affine is not None and forms.problem.n_items >= KineticEngine.LEAST_ITEMS


def uses_heaps(forms: ProblemForms, policy: Policy) -> bool:
    """Whether items of quotas side by side lie in heaps: of an index that goes by plays, and is not affine."""
    return policy.affine is None and not forms.is_late and CountClassesEngine.pays(policy, forms.problem.n_items)


def _family_of(forms: ProblemForms) -> Family:
    form, matroid, name = forms.matroid, forms.problem.constraint, _name_of(forms)
    assert isinstance(matroid, Matroid)
    if isinstance(form, QuotaForm) and name == QUOTAS:
        return _quotas(form, matroid.rank)
    always, pool = matroid.reduction()
    # items by their place: those that may be chosen or not, then those in every basis
    ground: IntArray = np.append(pool, always)
    if isinstance(form, QuotaForm):
        room = np.empty(form.capacities.size, np.int64)
        laminar.room_beside(np.array(always), form.group, form.parent, form.capacities, room)
        return _ordered(name, matroid, form.group[ground], np.array(form.parent), room)
    if isinstance(form, GraphForm):
        tails, heads = np.empty(matroid.n_items, np.int64), np.empty(matroid.n_items, np.int64)
        graphic.contract(np.array(always), form.tails, form.heads, form.n_vertices, tails, heads)
        ends = tails[ground].view(np.uint64), heads[ground].view(np.uint64)
        return _ordered(name, matroid, *ends, form.n_vertices)
    if isinstance(form, MatchingForm):
        n_rights = np.diff(form.starts)[ground]
        starts, places = offsets(n_rights), np.repeat(np.arange(ground.size), n_rights)
        rights = form.rights[np.arange(places.size) + (form.starts[ground] - starts[:-1])[places]]
        if name == MATCHING:
            return _ordered(name, matroid, starts, rights, form.n_rights)
        masks = np.zeros(ground.size, np.uint64)
        np.bitwise_or.at(masks, places, np.uint64(1) << rights.astype(np.uint64))
        entries = np.where(np.arange(ground.size) < pool.size, masks, np.uint64(0))
        return _ordered(name, matroid, masks, entries, form.n_rights)
    if isinstance(form, ResidueForm):
        n_columns = form.residues.shape[2]  # more of them, of zeros, fill SIMD registers
        more = -n_columns % _LANES if n_columns > _LANES else 0
        residues = np.pad(form.residues[:, ground], ((0, 0), (0, 0), (0, more))).view(np.int64)
        return _ordered(name, matroid, residues, np.array(form.primes))
    return _ordered(name, matroid, np.array(form.vectors[ground], order="C"), form.tolerance)


def _quotas(form: QuotaForm, rank: int) -> Family:
    """Quotas side by side; the items in no group, numbered -1, are a cell that is chosen whole."""
    sizes: IntArray = np.bincount(form.group + 1, minlength=form.parent.size + 1)
    capacities, is_used = np.minimum(np.append(sizes[0], form.capacities), sizes), sizes > 0
    sizes, capacities = sizes[is_used], capacities[is_used]
    members, starts = np.argsort(form.group, kind="stable"), offsets(sizes)
    places = np.empty(members.size, np.int64)
    places[members] = np.arange(members.size) - np.repeat(starts[:-1], sizes)
    is_sorted = bool((members == np.arange(members.size)).all())
    trees = (places, offsets(kinetic.tree_size(sizes)), offsets(capacities))
    return Family(QUOTAS, members.size, rank, (starts, members, capacities, is_sorted, rank, *trees))


def _ordered(name: str, matroid: Matroid, *arrays: Any) -> Family:
    """A family whose greedy algorithm runs along an order, with the classes of which at most one item is chosen."""
    always, pool = matroid.reduction()
    is_repaired = 0 < pool.size <= WarmEngine.MOST_ITEMS
    # loops, which have no class, are left out of the pool only where they are looked for
    has_classes = is_repaired and matroid.has_quick_coloops
    classes = matroid.parallel_classes(pool) if has_classes else np.arange(pool.size)
    sizes: IntArray = np.bincount(classes, minlength=1)
    ground = np.append(pool, always)
    arguments = (
        pool.size,
        ground,
        np.arange(pool.size, ground.size),
        offsets(sizes),
        np.argsort(classes, kind="stable"),
        np.array(classes, np.int64),
        is_repaired,
        matroid.rank,
        arrays,
    )
    return Family(name, matroid.n_items, matroid.rank, arguments, sizes.size if is_repaired else 1)


def room_of(family: Family) -> tuple[Any, ...]:
    """Work space for the kernels of a family."""
    n_items, rank = family.n_items, family.rank
    n_pool, own = (n_items, _quota_room(family)) if family.name == QUOTAS else _order_room(family)
    return (
        np.arange(n_items),
        np.empty((2, n_items)),
        np.empty(n_pool),
        np.zeros(n_items, bool),
        np.empty(rank, np.int64),
        np.empty(rank),
        own,
    )


def _quota_room(family: Family) -> tuple[Any, ...]:
    """Room to choose among the items."""
    starts, members, *_ = family.arguments
    n = members.size
    cell_of = np.empty(n, np.int64)
    cell_of[members] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    cells = np.empty(n + 1), np.empty(n + 1), np.empty(2 * n + 1026), np.empty((2, n + 1), np.int64)
    return (*cells, np.empty(n, np.int64), np.empty(family.rank), cell_of)


def _order_room(family: Family) -> tuple[int, tuple[Any, ...]]:
    """For how many items an index is needed, and room to order these and to choose among them."""
    n, ground, _, class_starts, *_, rank, arrays = family.arguments
    scratch, order, chosen = np.empty(n), np.empty(n, np.int64), np.empty(rank, np.int64)
    chosen[: ground.size - n] = np.arange(n, ground.size)  # where the greedy algorithm goes on from there
    orders = (
        scratch,
        scratch.view(np.uint64),
        *np.empty((2, n), np.uint64),
        np.empty(2 * n, np.uint64),
        np.empty(3 * 2048, np.uint32),
        order,
        order.view(np.uint64),
        np.empty(class_starts.size - 1, bool),
        chosen,
    )
    return n, (orders, _greedy_room(family.name, n, ground.size, rank, arrays))


def _greedy_room(name: str, n_pool: int, n_items: int, rank: int, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Room for the greedy algorithm of a family along an order."""
    if name == FOREST:
        v = arrays[2]
        vertices, numbers = np.empty((4, v), np.int64), np.empty((3, v + 1), np.int64)
        reference = (*vertices[:3], np.empty(v), np.empty(v, np.uint32), vertices[3], np.empty(n_pool, bool), numbers)
        left = np.empty(n_pool, np.int64), *np.empty((2, n_pool), np.uint64)
        return (*np.empty((3, v), np.uint32), (*reference, np.empty(2 * v, np.int64)), *left)
    if name == NESTED:
        return (np.empty(arrays[2].size, np.int64),)
    if name == BITS:
        return tuple(np.empty((2, 64), np.int64))
    if name == MATCHING:
        return (*np.empty((4, arrays[2] + 1), np.int64), np.empty(n_items, np.int64))
    if name == RESIDUES:
        n_primes, _, n_columns = arrays[0].shape
        echelons, pivots = np.empty((n_primes, rank, n_columns), np.int64), np.empty((n_primes, rank), np.int64)
        remainders, found = np.empty((n_primes, n_columns), np.int64), np.empty(n_primes, np.int64)
        return echelons, pivots, remainders, found, np.empty(n_primes, bool)
    n_columns = arrays[0].shape[1]
    is_taken = np.arange(n_items) >= n_pool
    return is_taken, np.empty((rank, n_columns)), np.empty(rank, np.int64), np.empty(n_columns)
