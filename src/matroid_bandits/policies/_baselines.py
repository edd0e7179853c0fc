"""Policies to compare with: the paper's epsilon-greedy, one set for ever, pure chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.names import decode, plain
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import ItemError, PolicyError
from matroid_bandits.kernels import forms
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State
from matroid_bandits.stream import Stream


class EpsilonGreedy(Policy):
    """Epsilon-greedy: a random basis with probability `epsilon`, otherwise the basis of largest mean weights.

    Parameters
    ----------
    epsilon : float, default 0.1
        Probability of a random basis, which is the best one for independent uniform weights.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.EpsilonGreedy(0.05)
    EpsilonGreedy(epsilon=0.05)
    """

    samples = True

    def __init__(self, epsilon: float = 0.1) -> None:
        self._epsilon = as_number("epsilon", epsilon, 0.0, 1.0, error=PolicyError)

    def indices(self, state: State, request: Request) -> FloatArray:
        t, stream = request.episode, request.stream
        is_random = stream.run_uniform(t) < self._epsilon
        if not is_random.any():
            return state.means
        U = state.means.copy()
        U[is_random] = _keys(state, stream.take(is_random), t)
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.EPSILON, self._epsilon)


class UniformRandom(Policy):
    """Baseline that plays a random basis in every episode: the optimum of independent uniform weights.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_policy(mb.UniformRandom())
    """

    samples = True

    takes = frozenset(("cascade", "positions"))  # it learns nothing
    tries_unseen = False

    def indices(self, state: State, request: Request) -> FloatArray:
        return _keys(state, request.stream, request.episode)

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.CHANCE)


class FixedSet(Policy):
    """Baseline that plays the same set in every episode, such as an editor's choice or the known optimum.

    Parameters
    ----------
    items : iterable of labels and numbers, or integer array
        The items. If they are not a basis, the smallest items that fit complete them, and items that do not fit are
        left out.
    away : iterable of labels
        Items of the set that the learner does not have at present; they are played again when they return.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> best = mb.FixedSet(problem.optimal_basis)
    >>> float(mb.simulate(problem, [best], n_episodes=10, n_runs=1, seed=0).regret[0, -1])
    0.0
    """

    takes = frozenset(("cascade", "positions"))  # it learns nothing
    tries_unseen = False

    def __init__(self, items: Iterable[Label] | IntArray, away: Iterable[Label] = ()) -> None:
        try:
            self._away: tuple[Label, ...] = tuple(dict.fromkeys(decode(plain(label)) for label in away))
            if isinstance(items, np.ndarray) and items.dtype.kind in "iu":
                self._items: IntArray | tuple[Label, ...] = frozen(np.unique(items))
            else:
                self._items = tuple(dict.fromkeys(decode(plain(item)) for item in items))
        except TypeError:
            raise PolicyError(f"expected the items of a set, got {items!r}") from None

    @property
    def away(self) -> tuple[Label, ...]:
        """Labels of items of the set that the learner's current constraint does not have."""
        return self._away

    @property
    def items(self) -> IntArray | tuple[Label, ...]:
        """The set: an ascending array where all entries are integers, otherwise labels and numbers as given."""
        if isinstance(self._items, tuple) and all(type(item) is int for item in self._items):
            return np.array(sorted(self._items), np.int64)
        return self._items

    def params(self) -> dict[str, Any]:
        items = self._items if isinstance(self._items, np.ndarray) else list(self._items)
        return {"items": items} | ({"away": list(self._away)} if self._away else {})

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        super().change(before, sources, features)
        labels, own = before.labels, self._numbers(before)
        still = [label for label in self._away if label not in labels]
        left = [labels[e] for e in np.setdiff1d(own, sources).tolist()]
        return FixedSet(np.flatnonzero(np.isin(sources, own)), [*still, *left])

    def indices(self, state: State, request: Request) -> FloatArray:
        U: FloatArray = np.zeros(state.counts.shape)
        U[:, state.prepared] = 1.0
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)

    def prepare(self, constraint: Constraint) -> IntArray:
        """Return the item numbers of the set."""
        try:
            return self._numbers(constraint)
        except ItemError as error:
            raise PolicyError(str(error)) from None

    def _numbers(self, constraint: Constraint) -> IntArray:
        """The items of the set that are there."""
        items = constraint.as_items(self._items)
        if not self._away:
            return items
        places = {label: e for e, label in enumerate(constraint.labels)}
        back = [places[label] for label in self._away if label in places]
        return np.union1d(items, np.array(back, np.int64))


def _keys(state: State, stream: Stream, t: int) -> FloatArray:
    """Random gains, a row per run; below 0 where a constraint takes costs only, since others are all alike there."""
    keys = stream.uniform(t, np.arange(state.n_items))
    return keys - 1.0 if state.constraint.cost_reason else keys
