"""The indices of a policy, and the coefficient of an affine one, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State

if TYPE_CHECKING:
    from matroid_bandits.policies._base import AffinePolicy, Policy


def coefficient(policy: AffinePolicy, state: State, request: Request) -> float:
    """The policy's c_t, checked, since engines rely on it.

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
    """The policy's indices, checked, with +inf for items never seen where the policy tries them.

    Raises
    ------
    PolicyError
        They are not numbers, one per run and item. What the policy itself raises comes through as it is.

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
    if has_unseen or has_unanswered:
        with np.errstate(divide="ignore", invalid="ignore"):  # of items never seen, whatever the formula
            given = policy.indices(state, request)
    else:
        given = policy.indices(state, request)
    try:
        U = np.asarray(given, np.float64, order="C")
    except (TypeError, ValueError):
        raise PolicyError(f"expected {type(policy).__name__}.indices to return numbers, got {given!r}") from None
    if U.shape != state.counts.shape:
        raise PolicyError(
            f"expected {type(policy).__name__}.indices to return shape {state.counts.shape}, got {U.shape}"
        )
    if has_unseen:
        U = np.where(state.is_unseen, np.inf, U)
    if policy.tries_unseen and has_unanswered:
        U = np.where(np.isnan(U) & (state.counts == 0), state.means, U)  # asked for, and not answered
    bad = order_kernels.first_nan(U.reshape(-1))
    if bad >= 0:
        run, item = request.stream.runs[bad // state.n_items], bad % state.n_items
        raise PolicyError(
            f"{type(policy).__name__}.indices gave NaN for item {item} of run {run} in episode {request.episode}"
        )
    return U
