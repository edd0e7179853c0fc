"""HYBRID: as good against chance as against an adversary."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import offsets
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import hybrid
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies._evaluate import as_rows, available_of
from matroid_bandits.policies._losses import LossPolicy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State


class Quotas(NamedTuple):
    """Quotas side by side: where each begins in `members`, how many items it takes, and the weight gamma of its rule.

    The first is that of the items in no quota, all of which are chosen.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Hybrid().prepare(mb.PartitionMatroid("aab")).capacities
    array([0, 1, 1])
    """

    starts: IntArray
    members: IntArray
    capacities: IntArray
    gammas: FloatArray


class Hybrid(LossPolicy):
    r"""HYBRID (Zimmert, Luo and Wei, ICML 2019): near-optimal for stochastic and for adversarial weights, on quotas.

    Follows the regularised leader: in episode t items are chosen with the chances x that minimise :math:`\langle
    \hat L, x \rangle + \sqrt t \sum_e (-\sqrt{x_e} + \gamma (1 - x_e) \log(1 - x_e))` among those that add up to K,
    and :math:`\hat L_e` adds up the losses seen of e, one minus the weight, each over the chance that e was chosen
    with. :math:`\gamma` is 1 for at most half of the items, and at most :math:`1 / \sqrt{\log(L / (L - K))}`
    otherwise. Regret is logarithmic where weights are drawn and at most of order :math:`\sqrt{K L T}` where an
    adversary chooses them. Weights must lie in [0, 1].

    Notes
    -----
    For uniform and partition matroids and others of quotas side by side, of which each has its own chances. Sets
    with these chances are drawn by systematic sampling. What is pinned, what a learner holds out and what is seen
    before the first episode was not drawn, and nothing is learnt from it.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), mb.Hybrid(), seed=0)
    >>> learner.estimates().indices  # the chance of each item
    array([0.5, 0.5, 0.5, 0.5])
    >>> learner.tell(learner.ask(), [1.0, 0.0])
    >>> bool(learner.estimates().indices.sum().round(6) == 2.0)
    True
    """

    support = (0.0, 1.0)
    samples = True
    tries_unseen = takes_priors = False
    memory = (Memory("losses"), Memory("chances", initial=0.5))
    n_kept = 1

    def prepare(self, constraint: Constraint) -> Quotas:
        """Return the constraint's quotas.

        Raises
        ------
        PolicyError
            The constraint is not made of quotas side by side.
        """
        quotas = constraint.quotas() if isinstance(constraint, Matroid) else None
        if quotas is None or (quotas[1] >= 0).any():
            raise PolicyError(
                "expected a uniform or a partition matroid, or another of quotas side by side, for Hybrid, which "
                f"must know the chances of sets; got {constraint!r}"
            )
        group, _, capacities = quotas
        # the items in no quota are one that takes all of them
        sizes: IntArray = np.bincount(group + 1, minlength=capacities.size + 1)
        room = np.minimum(np.append(sizes[:1], capacities), sizes)
        return Quotas(offsets(sizes), np.argsort(group, kind="stable"), room, _gammas(sizes, room))

    def indices(self, state: State, request: Request) -> FloatArray:
        """Return each item's probability of being chosen."""
        return self._chances(state, request)

    def sets(self, state: State, request: Request) -> tuple[IntArray, IntArray]:
        quotas: Quotas = state.prepared
        is_open, room = self._open(state, request)
        u = request.stream.uniform(request.episode, np.arange(room.size))
        chances, is_chosen = self._chances(state, request), np.zeros(state.counts.shape, bool)
        hybrid.draw(chances, is_open, quotas.starts, quotas.members, room, u, is_chosen)
        if request.pinned is not None:
            is_chosen[:, request.pinned] = True
        return as_rows(is_chosen)

    def advance(self, state: State, request: Request) -> None:
        """Store the probabilities, from which the next episode's search starts."""
        is_open, _ = self._open(state, request)
        chances = self._chances(state, request)
        np.copyto(state.extra["chances"], chances, where=np.broadcast_to(is_open, chances.shape))

    def keep(self, state: State, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        """Return the probability with which each item was chosen; 0 for pinned items."""
        chances: FloatArray = state.extra["chances"][runs, items]
        if request.pinned is not None:
            chances[np.isin(items, request.pinned)] = 0.0
        return chances[:, None]

    def observe(self, state: State, feedback: Feedback) -> None:
        assert feedback.kept is not None
        chances = feedback.kept[:, 0]
        losses = (0.0 if state.minimize else 1.0) - feedback.gains
        weighed = np.divide(losses, chances, out=np.zeros(losses.size), where=chances > 0.0)
        state.extra["losses"][feedback.runs, feedback.items] += weighed

    def check_extra(self, state: State) -> None:
        super().check_extra(state)
        chances = state.extra["chances"]
        is_wrong = ~((chances >= 0.0) & (chances <= 1.0))
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(f"expected a chance of item {e} from 0 to 1, got {chances[0, e]}")

    def _open(self, state: State, request: Request) -> tuple[BoolArray, IntArray]:
        """Which items are drawn from, (1, L) or (R, L), and how many of each quota."""
        quotas: Quotas = state.prepared
        available = available_of(state, request)
        is_open = np.ones((1, state.n_items), bool) if available is None else np.atleast_2d(available).copy()
        room = quotas.capacities
        if request.pinned is not None:
            is_open[:, request.pinned] = False
            of = np.searchsorted(quotas.starts, np.argsort(quotas.members)[request.pinned], side="right") - 1
            room = np.maximum(room - np.bincount(of, minlength=room.size), 0)
        return is_open, room

    def _chances(self, state: State, request: Request) -> FloatArray:
        """The chances of all items in the request's episode, (R, L); 1 of what is pinned, 0 of what is not there."""
        quotas: Quotas = state.prepared
        is_open, room = self._open(state, request)
        chances = state.extra["chances"].copy()
        rate = 1.0 / math.sqrt(request.episode)
        hybrid.chances(
            state.extra["losses"], is_open, quotas.starts, quotas.members, room, quotas.gammas, rate, chances
        )
        if request.pinned is not None:
            chances[:, request.pinned] = 1.0
        return chances


def _gammas(sizes: IntArray, room: IntArray) -> FloatArray:
    """The weight of the rule's second part for sets of `room` of `sizes` items, each."""
    gammas = np.ones(sizes.size)
    for b, (L, K) in enumerate(zip(sizes.tolist(), room.tolist(), strict=True)):
        if L / 2 < K < L:
            gammas[b] = min(1.0, 1.0 / math.sqrt(math.log(L / (L - K))))
    return gammas
