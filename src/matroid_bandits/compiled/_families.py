"""Matroids as the kernels of the CPU take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._orders import FOREST
from matroid_bandits.engines import WarmEngine
from matroid_bandits.kernels import graphic
from matroid_bandits.kernels.forms import GraphForm, QuotaForm
from matroid_bandits.matroids import Matroid


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


def _family_of(forms: ProblemForms) -> Family:
    form, matroid = forms.matroid, forms.problem.constraint
    assert isinstance(matroid, Matroid)
    if isinstance(form, QuotaForm) and (form.parent < 0).all():
        return _quotas(form, matroid.rank)
    if isinstance(form, GraphForm):
        return _forest(form, matroid)
    raise Misfit(f"{type(matroid).__name__} has no compiled form for the CPU")


def _quotas(form: QuotaForm, rank: int) -> Family:
    """Quotas side by side; the items in no group, numbered -1, are a cell that is chosen whole."""
    sizes: IntArray = np.bincount(form.group + 1, minlength=form.parent.size + 1)
    capacities = np.minimum(np.append(sizes[0], form.capacities), sizes)
    members = np.argsort(form.group, kind="stable")
    return Family("play_quotas", (offsets(sizes), members, capacities, rank))


def _forest(form: GraphForm, matroid: Matroid) -> Family:
    always, _ = matroid.reduction()
    tails, heads = np.empty(matroid.n_items, np.int64), np.empty(matroid.n_items, np.int64)
    graphic.contract(np.array(always), form.tails, form.heads, form.n_vertices, tails, heads)
    return _ordered(FOREST, matroid, xs=tails, ys=heads, size=form.n_vertices)


def _ordered(
    number: int,
    matroid: Matroid,
    *,
    xs: AnyArray | None = None,
    ys: AnyArray | None = None,
    zs: AnyArray | None = None,
    size: int = 0,
) -> Family:
    """A family whose greedy algorithm runs along an order, with the classes of which at most one item is chosen."""
    always, pool = matroid.reduction()
    is_repaired = 0 < pool.size <= WarmEngine.MOST_ITEMS
    # loops, which have no class, are left out of the pool only where they are looked for
    has_classes = is_repaired and matroid.has_quick_coloops
    classes = matroid.parallel_classes(pool) if has_classes else np.arange(pool.size)
    sizes: IntArray = np.bincount(classes, minlength=1)
    members = np.argsort(classes, kind="stable")
    whole = [np.zeros(1, np.int64) if each is None else np.array(each, np.int64) for each in (xs, ys, zs)]
    arguments = (
        number,
        np.array(pool, np.int64),
        np.array(always, np.int64),
        offsets(sizes),
        members,
        np.array(classes, np.int64),
        is_repaired,
        *whole,
        size,
        matroid.rank,
    )
    return Family("play_orders", arguments, sizes.size if is_repaired else 1)
