"""A policy around another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._evaluate import counted
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Plays, Request, Spending
from matroid_bandits.policies._state import State


class PolicyWrapper(Policy):
    """Base class of policies that wrap another policy and delegate to it whatever they do not override.

    A subclass whose constructor takes more than the other policy keeps its arguments as every policy does, with the
    other as ``base``.

    Parameters
    ----------
    base : Policy
        The other policy.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class Curious(mb.PolicyWrapper):
    ...     '''Another policy, with a bonus for items that wait for no answer.'''
    ...     affine = None  # the bonus is in no line
    ...     def indices(self, state, request):
    ...         return super().indices(state, request) + 0.1 * (state.waiting == 0)
    >>> mb.testing.check_policy(Curious(mb.KLOSM()))
    """

    def __init__(self, base: Policy) -> None:
        if not isinstance(base, Policy):
            raise PolicyError(f"expected base to be a Policy, got {shown(base)}")
        self._base = base
        self.alternative = base.alternative
        self.support, self.tries_unseen, self.takes_priors = base.support, base.tries_unseen, base.takes_priors
        self.takes_all, self.is_clairvoyant = base.takes_all, base.is_clairvoyant
        self.n_features, self.item_features = base.n_features, base.item_features
        self.takes = base.takes
        self.samples, self.forgets, self.n_kept = base.samples, base.forgets, base.n_kept
        self.chooses_sets = base.chooses_sets or type(self).sets is not PolicyWrapper.sets

    @property
    def base(self) -> Policy:
        """The wrapped policy."""
        return self._base

    @property
    def memory(self) -> Sequence[Memory]:
        return self._base.memory

    @property
    def affine(self) -> AffinePolicy | None:
        return self._base.affine

    def counted(self, minimize: bool) -> forms.CountForm | None:
        return counted(self._base, minimize)

    def indices(self, state: State, request: Request) -> FloatArray:
        return self._base.indices(state, request)

    def sets(self, state: State, request: Request) -> tuple[IntArray, IntArray]:
        return self._base.sets(state, request)

    def keep(self, state: State, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        return self._base.keep(state, request, runs, items)

    def prepare(self, constraint: Constraint) -> Any:
        return self._base.prepare(constraint)

    def advance(self, state: State, request: Request) -> tuple[IntArray, IntArray] | None:
        return self._base.advance(state, request)

    def observe(self, state: State, feedback: Feedback) -> None:
        self._base.observe(state, feedback)

    def wait(self, state: State, plays: Plays) -> None:
        self._base.wait(state, plays)

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        self._base.drop(state, dropped)

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        self._base.rearranged(state, newcomers)

    def begin(self, state: State) -> None:
        self._base.begin(state)

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        self._base.forget(state, runs, items)

    def beliefs(self, state: State) -> tuple[FloatArray, AnyArray, AnyArray]:
        return self._base.beliefs(state)

    def spreads(self, state: State, request: Request) -> FloatArray:
        return self._base.spreads(state, request)

    def gaps(self, state: State, request: Request) -> FloatArray | None:
        return self._base.gaps(state, request)

    def spending(self, state: State) -> Spending | None:
        return self._base.spending(state)

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        return type(self)(**self.params() | {"base": self._base.change(before, sources, features)})

    def check_extra(self, state: State) -> None:
        self._base.check_extra(state)


class _HearingWrapper(PolicyWrapper):
    """Wrapper that hears of every set that its policy chose, hold-outs apart."""

    def __init__(self, base: Policy) -> None:
        super().__init__(base)
        self.n_kept = max(base.n_kept, 1)  # `keep` is called for sets of the policy's own

    def _hear(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Take note of the sets of all runs, as cells."""
        raise NotImplementedError

    def keep(self, state: State, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        """Hear of the sets; the numbers kept with their items are those of the wrapped policy."""
        self._hear(state, runs, items)
        return self._base.keep(state, request, runs, items) if self._base.n_kept else np.zeros((items.size, 1))

    def observe(self, state: State, feedback: Feedback) -> None:
        self._base.observe(state, feedback if self._base.n_kept else feedback._replace(kept=None))
