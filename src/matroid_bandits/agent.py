"""The one loop: ask a policy, let an engine choose, count what comes back, tell the policy and the engine.

Simulations, live learners, tests and benchmarks all go through `Agent.decide` and `Agent.learn`; nobody else knows in
which order an episode's steps are taken.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice, make_engine
from matroid_bandits.policies import Feedback, Policy, Request, State


class Play:
    """The sets that an agent chose in one episode, until all their weights are known.

    Attributes
    ----------
    request : Request
        What was asked.
    items : int64 array (R, K)
        The chosen items of each run, ascending: the first ``sizes[run]`` of its row.
    sizes : int64 array (R,)
        How many items each run has chosen.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> agent = Agent(mb.UniformMatroid(4, 2), mb.OMM(), n_runs=2)
    >>> runs, items = agent.decide(mb.Request(1, mb.Stream(seed=0, runs=range(2)))).cells()
    >>> runs.tolist(), items.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """

    __slots__ = ("items", "request", "sizes")

    def __init__(self, request: Request, items: IntArray, sizes: IntArray) -> None:
        self.request, self.items, self.sizes = request, items, sizes

    def cells(self) -> tuple[IntArray, IntArray]:
        """The run and the item of every choice, one after the other, run by run."""
        n_runs, width = self.items.shape
        if n_runs == 1 or (self.sizes == width).all():  # a single row is as wide as its set
            return _runs(n_runs, width), self.items.reshape(-1)
        is_chosen = np.arange(width) < self.sizes[:, None]
        return np.repeat(np.arange(n_runs), self.sizes), self.items[is_chosen]


class Agent:
    """A policy that plays under a constraint, in a batch of runs; the paper's Algorithm 2.

    Parameters
    ----------
    constraint : Constraint
        Which sets may be chosen.
    policy : Policy
        How to choose.
    n_runs : int, default 1
        The number of independent runs R that advance together.
    minimize : bool, default False
        Weights are costs. They are negated here and nowhere else: a policy sees gains.
    engine : str, default "auto"
        How decisions are found; all engines make the same ones.

    Attributes
    ----------
    state : State
        What has been seen.

    Raises
    ------
    PolicyError
        The policy or the engine does not fit the constraint.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> agent, stream = Agent(mb.UniformMatroid(3, 1), mb.OMM(), n_runs=2), mb.Stream(seed=0, runs=range(2))
    >>> play = agent.decide(mb.Request(1, stream))
    >>> play.items
    array([[0],
           [0]])
    >>> agent.learn(play, np.array([[1.0], [0.0]]))
    >>> agent.state.counts
    array([[1, 0, 0],
           [1, 0, 0]])
    """

    def __init__(
        self,
        constraint: Constraint,
        policy: Policy,
        *,
        n_runs: int = 1,
        minimize: bool = False,
        engine: EngineChoice = "auto",
    ) -> None:
        policy.check(constraint)
        self._policy = policy
        self.state = State(constraint, n_runs, minimize)
        policy.prepare(self.state)
        self._engine = make_engine(engine, constraint, policy, self.state)
        # where a policy does not listen, nothing can fail after the state has changed
        self._can_fail = type(policy).observe is not Policy.observe

    def decide(self, request: Request) -> Play:
        """Choose a set in every run, and let an episode pass."""
        items, sizes = self._engine.decide(request)
        self._policy.advance(self.state, request)
        return Play(request, items, sizes)

    def learn(self, play: Play, weights: FloatArray, places: IntArray | None = None) -> None:
        """Count what the chosen items were worth.

        Parameters
        ----------
        play : Play
            The decision that is answered.
        weights : float64 array (R, K), or (n,) where rows differ in size or `places` are given
            A weight for each choice, in the order of `Play.cells`.
        places : int64 array (n,), optional
            Which of the choices are answered; the others may be answered later.
        """
        runs, items = play.cells()
        gains = weights.reshape(-1)
        if self.state.minimize:
            gains = -gains
        if places is not None:
            runs, items = runs[places], items[places]
        features = play.request.features
        if features is not None:
            features = features[items] if features.ndim == 2 else features[runs, items]
        feedback = Feedback(runs, items, gains, play.request.episode, play.request.stream, features)
        if self._can_fail:
            self._absorb_or_revert(feedback)
        else:
            self.state.absorb(feedback)
        self._engine.refresh(runs, items)

    def observe(self, request: Request, items: IntArray, weights: FloatArray) -> None:
        """Count weights that were seen without a decision; the paper's w_0 with a request for episode 0.

        Parameters
        ----------
        request : Request
            Its episode and stream are told to the policy.
        items : int64 array (R, k)
            Distinct items for each run.
        weights : float64 array (R, k)
            Their weights.
        """
        n_runs, width = items.shape
        self.learn(Play(request, items, np.full(n_runs, width)), weights)

    def _absorb_or_revert(self, feedback: Feedback) -> None:
        """Count an answer only when the policy can take it."""
        remembered = self.state.remember(feedback)
        self.state.absorb(feedback)
        try:
            self._policy.observe(self.state, feedback)
        except BaseException:
            self.state.revert(feedback, remembered)
            raise


@lru_cache(maxsize=64)
def _runs(n_runs: int, width: int) -> IntArray:
    """The run of every cell of a full batch, row by row."""
    return frozen(np.repeat(np.arange(n_runs), width))
