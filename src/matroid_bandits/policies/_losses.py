"""What policies share that add up losses, each weighed by the chance of its choice."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class LossPolicy(Policy):
    """A policy with the memory "losses": estimates that rest on the chances of its own choices."""

    takes = frozenset()  # the chance that a choice is looked at is not known

    def begin(self, state: State) -> None:
        """Raise where weights were observed before the policy was set, since the choices' probabilities are not
        known."""
        if state.counts.any():
            raise PolicyError(f"{self!r} cannot start from plays and gains, since it must know how they were chosen")

    def spreads(self, state: State, request: Request) -> FloatArray:
        return np.full(state.means.shape, np.nan)

    def check_extra(self, state: State) -> None:
        losses = state.extra["losses"]
        is_wrong = ~((losses >= 0.0) & np.isfinite(losses))
        if is_wrong.any():
            e = int(is_wrong[0].argmax())
            raise PolicyError(f"expected a loss of item {e} that is finite and not negative, got {losses[0, e]}")
