"""The hooks of a policy that answers late, items that come and go, and files need; most policies override none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._described import Described
from matroid_bandits.policies._evaluate import evaluate
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Plays, Request, Spending
from matroid_bandits.policies._state import State

if TYPE_CHECKING:
    from matroid_bandits.policies._base import Policy


class LiveHooks(Described):
    """What every `Policy` does in a live learner, from its declared memory; overridden where that is not enough."""

    if TYPE_CHECKING:

        @property
        def memory(self) -> Sequence[Memory]: ...

    # Answers that are late or never come

    def wait(self, state: State, plays: Plays) -> None:
        """Update the policy's arrays when plays become pending; `state` has counted them."""

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        """Update the policy's arrays when some pending plays are closed without feedback.

        The plays of ``state.pending()`` still wait.
        """

    # Items that start anew, come and go

    def begin(self, state: State) -> None:
        """Initialise the policy's arrays from the statistics of a learner that had another policy.

        The plays, gains and priors of `state` are those of that learner, and so are the plays that wait; the memory
        is as it is at first. By default it stays so, and the policy takes note of the plays that wait.

        Raises
        ------
        PolicyError
            What the policy goes by cannot be made from plays and gains; the learner has to start anew.
        """
        has_prior = state.prior_counts[0] > 0.0 if state.has_priors else np.zeros(state.n_items, bool)
        self.rearranged(state, np.flatnonzero(has_prior))

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Reset `items` (n,), each in its run (n,), after `state` has done so; called by `Restarting`.

        By default what the memory has of them becomes as it was at first.
        """
        state.renew(self.memory, runs, items)

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        """Return the policy to continue with when a learner's items change.

        Parameters
        ----------
        before : Constraint
            The old items.
        sources : int64 array (L,)
            For each new item the number it had before, or -1 for a newcomer.
        features : float64 array (L, d), or None
            What is known of the new items, for policies made with features.

        Raises
        ------
        PolicyError
            Features were given to a policy made without, or the other way round.
        """
        if features is not None:
            raise PolicyError(f"expected no features of the new items, since {self!r} has none of the old; got some")
        return cast("Policy", self)

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        """Update the policy's arrays after items were added, removed, renumbered or reset, with their plays.

        The memory of every item has been moved, or is as it was at first; the plays of ``state.pending()`` wait now.
        `newcomers` (n,) have just been given the priors that `state` has of them.
        """

    # What a live learner reports, saves and loads

    def beliefs(self, state: State) -> tuple[FloatArray, AnyArray, AnyArray]:
        """Return what a live learner reports for its items: mean gains, answered plays, and plays behind the index.

        Each has shape (R, L). A mean is NaN where nothing was answered and there is no prior. By default they are the
        state's; a policy that forgets says what it still goes by.
        """
        is_known = state.counts > 0
        if state.has_priors:
            is_known = is_known | (state.prior_counts > 0.0)
        return np.where(is_known, state.means, np.nan), state.counts, state.plays

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return half the width of the interval that a live learner reports around each mean, shape (R, L).

        By default what the index adds to the mean. A policy that samples gives the standard deviation of what it
        samples from, which no draw changes; one whose index says nothing of the mean gives NaN.
        """
        return np.abs(evaluate(cast("Policy", self), state, request) - self.beliefs(state)[0])

    def gaps(self, state: State, request: Request) -> FloatArray | None:
        """Return an upper bound (R,) on how much a better set's index could exceed that of the chosen set.

        For policies that find a good set and can say how good; None, the default, for those that find the best.
        """
        return None

    def spending(self, state: State) -> Spending | None:
        """Return what decisions have cost beside a budget; None, the default, for policies without one."""
        return None

    def check_extra(self, state: State) -> None:
        """Raise `PolicyError` when loaded arrays hold values that the policy's hooks cannot have produced.

        Called when a learner is saved and when it is loaded; their types and shapes are known to be right.
        """
