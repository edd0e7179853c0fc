"""What a policy promises of a state: choosing leaves it as it is, and its memory stays as it is declared."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import AnyArray
from matroid_bandits.exceptions import MatroidBanditsError, PolicyError
from matroid_bandits.policies._state import State

if TYPE_CHECKING:
    from matroid_bandits.policies._base import Policy

#: Statistics that `State` keeps, and that policies read.
_READ = ("counts", "waiting", "sums", "means", "radii")


def is_ours(kind: type) -> bool:
    """Return whether a class is of this package, whose promises its own tests keep.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> is_ours(mb.OMM), is_ours(int)
    (True, False)
    """
    return kind.__module__.startswith("matroid_bandits.")


def copies_of(state: State, *, with_memory: bool = True) -> dict[str, AnyArray]:
    """Return copies of the arrays of a state by name, with or without those of the policy.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> copies_of(mb.State(mb.UniformMatroid(3, 1), n_runs=1))["sums"]
    array([[0., 0., 0.]])
    """
    found = {name: getattr(state, name) for name in _READ}
    if with_memory:
        found |= {f"extra[{name!r}]": array for name, array in state.extra.items()}
    return {name: copy.copy(array) for name, array in found.items()}


def check_unchanged(
    who: str,
    before: Mapping[str, AnyArray],
    state: State,
    episode: int,
    *,
    with_memory: bool = True,
    error: type[MatroidBanditsError] = PolicyError,
) -> None:
    """Raise unless the arrays of a state are those of `copies_of` before.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> before = copies_of(state)
    >>> state.sums[0, 1] = 3.0
    >>> check_unchanged("Mine.indices", before, state, 5)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: expected Mine.indices to leave the state as it is; it changed state.sums \
in episode 5
    """
    after = copies_of(state, with_memory=with_memory)
    for name in before.keys() | after.keys():
        is_same = (
            name in before
            and name in after
            and np.array_equal(before[name], after[name], equal_nan=np.asarray(after[name]).dtype.kind == "f")
        )
        if not is_same:
            raise error(f"expected {who} to leave the state as it is; it changed state.{name} in episode {episode}")


def check_memory(state: State, policy: Policy, *, error: type[MatroidBanditsError] = PolicyError) -> None:
    """Raise unless what a policy keeps is what it declares.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> policy = mb.DiscountedOMM(0.9)
    >>> state = mb.State(mb.UniformMatroid(3, 1), 1, policy=policy)
    >>> check_memory(state, policy)
    >>> state.extra["other"] = np.zeros(3)
    >>> check_memory(state, policy)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: expected state.extra to hold what memory declares, got 'other', which it \
does not
    """
    declared = {each.name: each for each in policy.memory}
    for name, array in state.extra.items():
        if name not in declared:
            raise error(f"expected state.extra to hold what memory declares, got {name!r}, which it does not")
        each, is_array = declared[name], isinstance(array, np.ndarray)
        shape = (state.n_runs, *each.axes(state.n_items))
        fits = is_array and array.dtype == each.dtype and array.ndim == len(shape)
        if not fits or (array.shape != shape if each.kind != "growing" else array.shape[0] != shape[0]):
            given = f"shape {array.shape} of {array.dtype}" if is_array else type(array).__name__
            raise error(
                f"expected state.extra[{name!r}] to be an array of shape {shape} of {np.dtype(each.dtype)}, as "
                f"memory declares it; got {given}"
            )
    for name in declared:
        if name not in state.extra:
            raise error(f"expected state.extra to hold {name!r}, which memory declares")
