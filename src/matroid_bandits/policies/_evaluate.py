"""What a policy declares and what its hooks return, checked: indices, sets, the coefficient of an affine one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import check_rows
from matroid_bandits._util.declared import override
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies._promises import check_unchanged, copies_of, is_ours
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State

if TYPE_CHECKING:
    from matroid_bandits.policies._base import AffinePolicy, Policy


#: What may be overridden without a declaration being lost: it asks for it, or nothing of an episode depends on it.
FREE = (
    "coefficient", "params", "beliefs", "spreads", "change", "rearranged", "forget", "begin", "item_features",
    "check_extra", "gaps", "support", "takes_priors", "takes_all", "samples", "tunable", "compiled", "counted",
)  # fmt: skip


#: The first episodes, in which the indices of a class from outside the package are watched: that costs little.
_WATCHED = 3


def counted(policy: Policy, minimize: bool) -> forms.CountForm | None:
    """Return a policy's index as a function of mean and plays alone, checked; None where it has no such form.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import counted
    >>> counted(mb.OMM(), minimize=False).kind, counted(mb.DiscountedOMM(0.9), minimize=False)
    (0, None)
    """
    form = policy.counted(minimize)
    if form is None or override(policy, "counted", FREE) is not None:
        return None
    is_drawn = form.kind in (forms.ONE_NORMAL, forms.ONE_QUANTILE)
    return None if is_drawn and policy.tries_unseen else form


def coefficient(policy: AffinePolicy, state: State, request: Request) -> float:
    """Return the coefficient :math:`c_t` of an affine policy, checked to be finite and not negative.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import coefficient
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> coefficient(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0])))
    0.0
    """
    c = float(policy.coefficient(state, request))
    if not 0.0 <= c < np.inf:
        raise PolicyError(f"expected {type(policy).__name__}.coefficient to be finite and not negative, got {c}")
    return c


def evaluate(policy: Policy, state: State, request: Request) -> FloatArray:
    """Return a policy's indices, checked, with +inf for unseen items where the policy explores them first.

    Raises
    ------
    PolicyError
        They are not numbers, one per run and item, or computing them has changed the state. What the policy itself
        raises comes through as it is.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import evaluate
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> evaluate(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0])))
    array([[inf, inf, inf]])
    """
    affine = policy.affine
    if affine is not None:
        return affine.indices(state, request)
    has_unseen = policy.tries_unseen and not state.is_seen
    has_unanswered = state.n_waiting.any() or state.lost.any()
    is_watched = request.episode <= _WATCHED and not is_ours(type(policy))
    before = copies_of(state) if is_watched else {}
    if has_unseen or has_unanswered:
        with np.errstate(divide="ignore", invalid="ignore"):  # of items never seen, whatever the formula
            given = policy.indices(state, request)
    else:
        given = policy.indices(state, request)
    who = f"{type(policy).__name__}.indices"
    if is_watched:
        check_unchanged(who, before, state, request.episode)
    try:
        given = np.asarray(given)
    except ValueError:
        raise PolicyError(f"expected {who} to return rows of equal length, got a ragged sequence") from None
    if given.dtype.kind not in "fiub":
        raise PolicyError(f"expected {who} to return real numbers, got an array of {given.dtype}")
    U = np.asarray(given, np.float64, order="C")
    if U.shape != state.counts.shape:
        raise PolicyError(f"expected {who} to return shape {state.counts.shape}, got {U.shape}")
    if has_unseen:
        U = np.where(state.is_unseen, np.inf, U)
    if policy.tries_unseen and has_unanswered:
        U = np.where(np.isnan(U) & (state.counts == 0), state.means, U)  # asked for, and not answered
    bad = order_kernels.first_nan(U.reshape(-1))
    if bad >= 0:
        run, item = request.stream.runs[bad // state.n_items], bad % state.n_items
        raise PolicyError(f"{who} gave NaN for item {item} of run {run} in episode {request.episode}")
    return U


def solve(state: State, request: Request, weights: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the best sets for weights (R, L) among a request's available items, with its pinned items, and their
    sizes.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import solve
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> solve(state, mb.Request(1, mb.Stream(0, [0]), excluded=np.array([1])), np.array([[0.2, 0.9, 0.5]]))
    (array([[2]]), array([1]))
    """
    if request.is_open:
        return state.constraint.solve(weights)
    items, sizes = state.constraint.solve(weights, available=available_of(state, request), pinned=request.pinned)
    return items[:, : sizes.max(initial=0)], sizes


def available_of(state: State, request: Request) -> BoolArray | None:
    """Return the mask (L,) or (R, L) of the items that a request allows; None where it allows all of them.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import available_of
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> available_of(state, mb.Request(1, mb.Stream(0, [0]), excluded=np.array([1])))
    array([ True, False,  True])
    """
    available = request.available
    if request.excluded is not None:
        available = np.ones(state.n_items, bool) if available is None else available.copy()
        available[..., request.excluded] = False
    return available


def choose_sets(policy: Policy, state: State, request: Request) -> tuple[IntArray, IntArray]:
    """Return the sets that a policy chooses for a request and their sizes, checked: by its `sets` or its indices.

    Raises
    ------
    PolicyError
        `Policy.sets` returned something else than one allowed, complete set for each run.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import choose_sets
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> choose_sets(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0])))
    (array([[0]]), array([1]))
    """
    if not policy.chooses_sets:
        return solve(state, request, evaluate(policy, state, request))
    found = policy.sets(state, request)
    who = f"{type(policy).__name__}.sets"
    if not (isinstance(found, tuple) and len(found) == 2):
        raise PolicyError(f"expected {who} to return items and sizes, got {type(found).__name__}")
    items, sizes = found
    check_rows(who, items, sizes, state.n_runs, error=PolicyError)
    items = items[:, : sizes.max(initial=0)]
    is_wrong = wrong_sets(state, request, items, sizes)
    if is_wrong.any():
        run = int(is_wrong.argmax())
        raise PolicyError(
            f"expected {who} to return sets that are allowed, complete, ascending, of what is available and with "
            f"what is pinned; got {items[run, : sizes[run]].tolist()} for run {request.stream.runs[run]} in episode "
            f"{request.episode}"
        )
    return items, sizes


def as_rows(is_chosen: BoolArray) -> tuple[IntArray, IntArray]:
    """Convert sets given as a mask (R, L) to the form that `Policy.sets` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from matroid_bandits.policies import as_rows
    >>> as_rows(np.array([[True, False, True], [False, True, False]]))
    (array([[0, 2],
           [1, 0]]), array([2, 1]))
    """
    sizes = is_chosen.sum(axis=1)
    items = np.zeros((sizes.size, sizes.max(initial=0)), np.int64)
    items[np.arange(items.shape[1]) < sizes[:, None]] = np.nonzero(is_chosen)[1]
    return items, sizes


def wrong_sets(state: State, request: Request, items: IntArray, sizes: IntArray) -> BoolArray:
    """Return the mask (R,) of runs whose set is not allowed for a request.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import wrong_sets
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> request = mb.Request(1, mb.Stream(0, [0]), excluded=np.array([1]))
    >>> wrong_sets(state, request, np.array([[1]]), np.array([1]))
    array([ True])
    """
    constraint, n_items = state.constraint, state.n_items
    is_chosen = np.arange(items.shape[1]) < sizes[:, None]
    is_wrong: BoolArray = np.any(((items < 0) | (items >= n_items)) & is_chosen, axis=1)
    is_wrong |= ((np.diff(items, axis=1) <= 0) & is_chosen[:, 1:]).any(axis=1)
    if is_wrong.any():  # what follows relies on the order
        return is_wrong
    available, pinned = available_of(state, request), request.pinned
    if available is not None or pinned is not None:
        member = np.zeros((sizes.size, n_items), bool)
        member[np.nonzero(is_chosen)[0], items[is_chosen]] = True
        is_free = member.copy()
        if pinned is not None:
            is_wrong |= ~member[:, pinned].all(axis=1)
            is_free[:, pinned] = False
        if available is not None:
            is_wrong |= (is_free & ~available).any(axis=1)
    is_wrong |= sizes != _full_sizes(constraint, sizes, available, pinned)
    if isinstance(constraint, Matroid):
        is_wrong |= constraint.greedy(np.where(is_chosen, items, 0), sizes)[1] != sizes
    else:
        for run in np.flatnonzero(~is_wrong & (sizes > 0)).tolist():
            is_wrong[run] = not constraint.allows(items[run, : sizes[run]])
    return is_wrong


def _full_sizes(
    constraint: Constraint, sizes: IntArray, available: BoolArray | None, pinned: IntArray | None
) -> IntArray:
    """How many items complete sets have; where that differs from set to set, as of paths, any number but none."""
    if not constraint.fills_up and ((sizes > 0).all() or constraint.allows(np.empty(0, np.int64))):
        return sizes
    if constraint.fills_up and available is None and pinned is None:
        return np.full(sizes.size, constraint.largest_size)
    full = constraint.solve(np.zeros((sizes.size, constraint.n_items)), available=available, pinned=pinned)[1]
    return full if constraint.fills_up else np.where(sizes > 0, sizes, full)
