"""A policy that changes its set only where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State
from matroid_bandits.policies._wrapper import _HearingWrapper


class Steady(_HearingWrapper):
    """Wrapper that keeps the last set unless a change gains enough: for pages and routes that should not flicker.

    The items of the last set that the policy chose have `gain` added to their index, so that another item replaces
    one of them only if its index is larger by more than that.

    Parameters
    ----------
    base : Policy
        How to choose.
    gain : float
        What a change of one item must gain, in the units of the weights; 0 or more.

    Notes
    -----
    Sets drawn at random for the hold-out are not kept. Items that are not available, or never seen, are exchanged
    as without this wrapper. Around a `Budget` the gain would be in the units of that policy's index; put this policy
    inside: ``Budget(Steady(policy, gain), costs, per_decision)``. A larger `gain` explores less: with a gain above
    the differences between items the policy may stay with a set that is worse by up to `gain` per item.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.Steady(mb.OMM(0.0), 0.2))
    >>> learner.observe([0.5, 0.4])
    >>> for weight in (0.5, 0.1, 0.1):
    ...     decision = learner.ask()
    ...     learner.tell(decision, [weight])
    >>> decision.labels, learner.estimates().means.round(2).tolist()
    (('a',), [0.3, 0.4])
    """

    tunable = ("gain",)

    def __init__(self, base: Policy, gain: float) -> None:
        super().__init__(base)
        if base.chooses_sets:
            raise PolicyError(f"expected base to be a policy with an index for every item, got {shown(base)}")
        self._gain = as_number("gain", gain, 0.0, error=PolicyError)
        for each in base.memory:
            if each.name in ("chosen_at", "last_own"):
                raise PolicyError(f"expected {base!r} to keep nothing called {each.name!r}, which is that of Steady")

    @property
    def memory(self) -> Sequence[Memory]:
        # by its number, so that an item that left and returns is not taken for one of a later set
        return *self._base.memory, Memory("chosen_at", dtype=np.int64), Memory("last_own", "time", dtype=np.int64)

    @property
    def affine(self) -> AffinePolicy | None:
        """None: the items of the last set are ahead of their lines."""
        return None

    def indices(self, state: State, request: Request) -> FloatArray:
        last = state.extra["last_own"][:, None]
        is_held = (state.extra["chosen_at"] == last) & (last > 0)
        U: FloatArray = self._base.indices(state, request) + self._gain * is_held
        return U

    def _hear(self, state: State, runs: IntArray, items: IntArray) -> None:
        state.extra["last_own"][:] = state.episode
        state.extra["chosen_at"][runs, items] = state.episode

    def params(self) -> dict[str, Any]:
        return {"base": self._base, "gain": self._gain}
