"""MOSS for sets: bounds that go by an item's share of the plays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import classes, forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class MOSS(Policy):
    r"""MOSS for semi-bandits, without a known horizon (after Audibert and Bubeck, COLT 2009; Degenne and Perchet,
    ICML 2016).

    The index of item e is :math:`\hat w_e + \sqrt{c \max(0, \log(K t / (L T_e))) / T_e}`, where sets have K of L
    items: an item is explored while it has had less than its share :math:`K t / L` of the plays.

    Parameters
    ----------
    c : float, default 0.5
        Width of the bound, for weights in a range of width 1. The analysis of single items has 1; 0.5 does better.

    Notes
    -----
    K is the size of the largest set. Weights in a range of width s take ``c`` times :math:`s^2`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.lower_bound_problem(24, 4, 0.1)
    >>> result = mb.simulate(problem, [mb.OMM(), mb.MOSS()], n_episodes=1_000, n_runs=10, seed=1)
    >>> bool(result["MOSS"].final_regret.mean() < result["OMM"].final_regret.mean())
    True
    """

    def __init__(self, c: float = 0.5) -> None:
        self._c = as_number("c", c, 0.0, 1e100, error=PolicyError)

    def prepare(self, constraint: Constraint) -> int:
        """Return the size K of the largest allowed set."""
        return constraint.max_size()

    def indices(self, state: State, request: Request) -> FloatArray:
        xs = np.full(state.n_runs, share(state, request.episode))
        U: FloatArray = np.empty(state.means.shape)
        classes.indices(forms.SHARE, self._c, xs, state.means, state.plays, U)
        return U

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.SHARE, self._c, episodes=lambda state, stream: shares(state))

    def counted(self, minimize: bool) -> forms.CountForm:
        return forms.CountForm(forms.SHARE, self._c, lambda state, request: share(state, request.episode))


def share(state: State, t: int) -> float:
    """The plays K t / L that each item would have had by episode t if all had had equally many."""
    K: int = state.constraint.max_size() if state.prepared is None else state.prepared
    return K * t / max(state.n_items, 1)


def shares(state: State) -> Iterator[tuple[float]]:
    """The `share` of episode 1, 2, ..., of a state that knows the problem alone."""
    K = state.constraint.max_size()
    return ((K * t / max(state.n_items, 1),) for t in count(1))
