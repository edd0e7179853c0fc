"""Matroids as the kernels of the CPU take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._orders import BITS, FLOATS, FOREST, MATCHING, NESTED, RESIDUES
from matroid_bandits.engines import CountClassesEngine, KineticEngine, WarmEngine
from matroid_bandits.kernels import graphic, kinetic, laminar
from matroid_bandits.kernels.forms import DISCOUNTED, FADING, WINDOW, GraphForm, MatchingForm, QuotaForm, ResidueForm
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy

#: How many episodes plays are faded over, and how many plays of a window, or that wait, a run may keep.
_MOST_POWERS, _MOST_RING = 2**22, 2**22

#: Stand for arrays that a family has not.
_NONE = np.zeros(1)
_NO_ROWS, _NO_RESIDUES = np.zeros((1, 1)), np.zeros((1, 1, 1))

#: How many numbers a SIMD register holds.
_LANES = 8


@dataclass(frozen=True)
class Family:
    """A matroid for the kernel of this name: its first argument, and how many classes a run keeps in order."""

    kernel: str
    arguments: tuple[Any, ...]
    n_classes: int = 0


def family_of(forms: ProblemForms) -> Family:
    """The matroid as arrays, made once; `Misfit` for one that the CPU's kernels do not know."""
    family: Family = forms.once("cpu family", lambda: _family_of(forms))
    return family


def kernel_of(forms: ProblemForms) -> str:
    """The name of the kernel that plays on the matroid; nothing is made of it yet."""
    form = forms.matroid
    return "play_quotas" if isinstance(form, QuotaForm) and (form.parent < 0).all() else "play_orders"


def check_cpu(forms: ProblemForms, policy: Policy, n_episodes: int) -> Family:
    """The matroid as arrays; `Misfit` for what does not fit, or is sooner played by an `Agent`."""
    forms.check(policy, n_episodes)
    family, form = family_of(forms), forms.schedule(policy).form
    problem = forms.problem
    is_large = problem.n_items >= KineticEngine.LEAST_ITEMS and KineticEngine.fits(problem.constraint, policy)
    if is_large and (family.kernel != "play_quotas" or form.kind == WINDOW):
        raise Misfit(f"{problem.n_items:,} items of nested quotas or of a window are followed by the kinetic engine")
    if is_large and forms.is_late:
        raise Misfit(f"{problem.n_items:,} items with answers that come late are followed by the kinetic engine")
    is_apart = forms.is_late or family.kernel != "play_quotas"
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


def uses_heaps(forms: ProblemForms, policy: Policy) -> bool:
    """Whether items of quotas side by side lie in heaps: of an index that goes by plays, and is not affine."""
    return policy.affine is None and not forms.is_late and CountClassesEngine.pays(policy, forms.problem.n_items)


def _family_of(forms: ProblemForms) -> Family:
    form, matroid = forms.matroid, forms.problem.constraint
    assert isinstance(matroid, Matroid)
    if isinstance(form, QuotaForm) and kernel_of(forms) == "play_quotas":
        return _quotas(form, matroid.rank)
    always, pool = matroid.reduction()
    # items by their place: those that may be chosen or not, then those in every basis
    ground: IntArray = np.append(pool, always)
    if isinstance(form, QuotaForm):
        room = np.empty(form.capacities.size, np.int64)
        laminar.room_beside(np.array(always), form.group, form.parent, form.capacities, room)
        return _ordered(NESTED, matroid, xs=form.group[ground], ys=form.parent, zs=room)
    if isinstance(form, GraphForm):
        tails, heads = np.empty(matroid.n_items, np.int64), np.empty(matroid.n_items, np.int64)
        graphic.contract(np.array(always), form.tails, form.heads, form.n_vertices, tails, heads)
        return _ordered(FOREST, matroid, xs=tails[ground], ys=heads[ground], size=form.n_vertices)
    if isinstance(form, MatchingForm):
        n_rights = np.diff(form.starts)[ground]
        starts, places = offsets(n_rights), np.repeat(np.arange(ground.size), n_rights)
        rights = form.rights[np.arange(places.size) + (form.starts[ground] - starts[:-1])[places]]
        if form.n_rights > 64:
            return _ordered(MATCHING, matroid, xs=starts, ys=rights, size=form.n_rights)
        masks = np.zeros(ground.size, np.uint64)
        np.bitwise_or.at(masks, places, np.uint64(1) << rights.astype(np.uint64))
        entries = np.where(np.arange(ground.size) < pool.size, masks, np.uint64(0))
        return _ordered(BITS, matroid, size=form.n_rights, masks=masks, entries=entries)
    if isinstance(form, ResidueForm):
        n_columns = form.residues.shape[2]  # more of them, of zeros, fill SIMD registers
        more = -n_columns % _LANES if n_columns > _LANES else 0
        residues = np.pad(form.residues[:, ground], ((0, 0), (0, 0), (0, more)))
        return _ordered(RESIDUES, matroid, residues=residues, primes=form.primes)
    return _ordered(FLOATS, matroid, vectors=form.vectors[ground], tolerance=form.tolerance)


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
    return Family("play_quotas", (starts, members, capacities, is_sorted, rank, *trees))


def _ordered(
    number: int,
    matroid: Matroid,
    *,
    xs: AnyArray = _NONE,
    ys: AnyArray = _NONE,
    zs: AnyArray = _NONE,
    size: int = 0,
    masks: AnyArray = _NONE,
    entries: AnyArray = _NONE,
    residues: AnyArray = _NO_RESIDUES,
    primes: AnyArray = _NONE,
    vectors: AnyArray = _NO_ROWS,
    tolerance: float = 0.0,
) -> Family:
    """A family whose greedy algorithm runs along an order, with the classes of which at most one item is chosen."""
    always, pool = matroid.reduction()
    is_repaired = 0 < pool.size <= WarmEngine.MOST_ITEMS
    # loops, which have no class, are left out of the pool only where they are looked for
    has_classes = is_repaired and matroid.has_quick_coloops
    classes = matroid.parallel_classes(pool) if has_classes else np.arange(pool.size)
    sizes: IntArray = np.bincount(classes, minlength=1)
    # copies that can be written, of one type each: kernels are compiled for these
    whole = [np.array(each, np.int64) for each in (xs, ys, zs)]
    words = [np.array(each, np.uint64, order="C") for each in (masks, entries, residues, primes)]
    arguments = (
        number,
        pool.size,
        np.append(pool, always),
        offsets(sizes),
        np.argsort(classes, kind="stable"),
        np.array(classes, np.int64),
        is_repaired,
        matroid.rank,
        (*whole, size, *words, np.array(vectors, np.float64, order="C"), tolerance),
    )
    return Family("play_orders", arguments, sizes.size if is_repaired else 1)
