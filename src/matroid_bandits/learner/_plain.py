"""What nearly all calls are: a set and nothing else is asked for, and all its weights are told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.engines import Engine
from matroid_bandits.exceptions import DecisionClosedError
from matroid_bandits.kernels import statistics
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._decision import Decision, Named
from matroid_bandits.learner._feedback import FLOAT
from matroid_bandits.learner._validate import MOST_DECISIONS
from matroid_bandits.policies import Request

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

#: Makes a tuple; a named one of all its fields in a third of the time of a call of its class.
_new = tuple.__new__

#: Stands for the last decision where there is none; its id is no decision's.
_NONE: Final = Decision(cast(int, None), np.empty(0, np.int64), Named({}), "")


def check_number(episode: int) -> None:
    """Raise where a learner would make more decisions than its random numbers have addresses for."""
    if episode >= MOST_DECISIONS:
        raise DecisionClosedError(f"expected fewer than {MOST_DECISIONS} decisions of one learner")


class Plain:
    """`ask` and `tell` of a learner in a few steps, with the decisions and the state that `Agent`'s own steps make.

    Where the policy leaves all counting to the state, the agent is told of a decision when anything else happens to
    the learner, or looks at it. If the whole answer comes before that, one kernel checks and counts it, and the agent
    need not know that the decision was open.

    Parameters
    ----------
    learner : Learner
        Its requests need no features, and none is held out or recorded. What is bound here must stay what it is: a
        learner makes another object whenever its agent, its reader or its settings change.

    Attributes
    ----------
    last : Decision
        The decision that the agent has not been told of; another object where there is none.
    """

    def __init__(self, learner: Learner) -> None:
        agent, engine = learner._loop, learner._loop.engine
        self._learner, self._agent, self._state = learner, agent, agent.state
        self._reader, self._stream, self._minimize = learner._reader, learner._stream, agent.state.minimize
        self._is_deferred = agent.counts_alone and not agent.state.has_priors
        # what takes the time: all that is called in the plain case besides Python itself
        self._decide, self._count, self._arrays = engine.decide_open, statistics.answer_at_once, agent.state.answered
        self._refresh = None if type(engine).refresh is Engine.refresh else engine.refresh
        # the last set, as the engine gave it, and what goes with its size, -1 where the agent is told of sets at once
        self._items, self._sizes, self._n = np.zeros((1, 0), np.int64), np.zeros(1, np.int64), -1
        self._runs, self._shape = np.zeros(0, np.int64), (0,)
        self.last = _NONE

    @property
    def is_waiting(self) -> bool:
        """Whether there is a decision that the agent has not been told of."""
        return self.last is not _NONE

    def ask(self) -> Decision:
        """Choose a set."""
        if self.last is not _NONE:
            self.settle()
        learner, agent = self._learner, self._agent
        t, constraint = learner._episode + 1, learner._constraint
        if t >= MOST_DECISIONS:
            check_number(t)
        learner._n_steps += 1
        if agent.fresh is not None:
            agent.settle()
        request = _new(Request, (t, self._stream, None, None, None, None))
        items, sizes = self._decide(request)
        if sizes is not self._sizes:
            self._resize(sizes)
        chosen = items[0]
        if len(chosen) != self._n:  # or where the agent is to be told at once
            play = agent.play(request, items, sizes)
            chosen = play.items[0]
            play.note = Asked(constraint.labels, chosen, None)
            learner._episode = t
            return Decision(t, chosen, constraint, learner._id)
        self._items = items
        learner._episode = self._state.episode = t
        self.last = decision = Decision(t, chosen, constraint, learner._id)
        return decision

    def _resize(self, sizes: IntArray) -> None:
        """Get ready for sets of another size."""
        n, self._sizes = int(sizes[0]), sizes
        if n != len(self._runs):
            self._runs, self._shape = np.zeros(n, np.int64), (n,)
        self._n = n if self._is_deferred and n else -1

    def tell(self, weights: Any) -> bool:
        """Count the whole answer to the last decision; False, and nothing is changed, where it is to be looked at."""
        decision = self.last
        if type(weights) is not np.ndarray:
            if type(weights) is not list:
                return False
            try:
                weights = np.array(weights)
            except (TypeError, ValueError):
                return False
        if weights.dtype is not FLOAT or not weights.flags.carray:
            if weights.dtype.kind not in "fiub":
                return False
            weights = weights.astype(np.float64)
        items = decision._items
        if weights.shape != self._shape:
            return False
        low, high = self._reader.usual
        if self._minimize:
            weights, low, high = -weights, -high, -low
        counts, waiting, sums, means, radii, n_waiting, totals = self._arrays
        if self._count.call(items, weights, low, high, counts, waiting, sums, means, radii, n_waiting, totals) >= 0:
            return False
        self._learner._n_steps += 1
        self.last = _NONE
        if self._refresh is not None:
            self._refresh(self._runs, items)
        return True

    def settle(self) -> None:
        """Tell the agent of the last decision, if it has not been told."""
        decision = self.last
        if decision is _NONE:
            return
        self.last = _NONE
        play = self._agent.play(Request(decision._id, self._stream), self._items, self._sizes)
        play.note = Asked(self._learner._constraint.labels, decision._items, None)
