"""Answers of a simulated world that come late, or say that nothing was seen."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.environments import Environment, delays_of
from matroid_bandits.stream import Stream


def learn(agent: Agent, play: Play, weights: FloatArray, positions: IntArray, is_seen: BoolArray | None) -> None:
    """Let an agent learn the weights (n,) of the choices at some positions (n,) that are seen, and close the others.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.agent import Agent
    >>> from matroid_bandits.simulation._answers import learn
    >>> agent = Agent(mb.UniformMatroid(2, 2), mb.OMM())
    >>> play = agent.decide(mb.Request(1, mb.Stream(0, [0])))
    >>> learn(agent, play, np.array([1.0, 1.0]), np.arange(2), np.array([True, False]))
    >>> agent.state.counts, agent.state.asked, agent.open
    (array([[1, 0]]), array([[1, 1]]), {})
    """
    if is_seen is None:
        agent.learn(play, weights, positions)
        return
    if is_seen.any():
        agent.learn(play, weights[is_seen], positions[is_seen])
    if not is_seen.all():
        agent.close([(play, positions[~is_seen])], were_unseen=True)


class Answers:
    """The answers that an agent waits for, each learnt when it arrives.

    An answer with delay d to a play of episode t is learnt after the decision of episode t + d; those that arrive
    together in the order of their decisions, then of their items. What will not arrive before the end is not kept:
    the state counts it as waiting, and that is all. An item of a list that was not looked at is closed when its
    answer would have come.

    Parameters
    ----------
    agent : Agent
        Who learns; one that waits.
    environment : Environment
        Who says how late each answer is.
    stream : Stream
        Random numbers for that.
    n_episodes : int
        The last episode.
    """

    def __init__(self, agent: Agent, environment: Environment, stream: Stream, n_episodes: int) -> None:
        self._agent, self._environment, self._stream, self._n_episodes = agent, environment, stream, n_episodes
        self._due: dict[int, list[tuple[Play, IntArray, FloatArray, BoolArray | None]]] = {}

    def expect(self, play: Play, weights: FloatArray, is_seen: BoolArray | None = None) -> None:
        """Take the weights (n,) of a play's choices, for later or for now, and learn what is due by now.

        Of the choices that are not seen, by the mask (n,), nothing is learnt.
        """
        t = play.request.episode
        play.request = play.request._replace(available=None, features=None)  # else they would be most of the memory
        delays = self._delays(play)
        is_lost = (delays < 0) | (delays > self._n_episodes - t)
        if is_lost.any() or not delays.size:
            self._agent.dismiss(play, np.flatnonzero(is_lost))
        positions = np.argsort(np.where(is_lost, -1, delays), kind="stable")[np.count_nonzero(is_lost) :]
        arrivals = t + delays[positions]
        cuts = np.flatnonzero(np.diff(arrivals, prepend=-1))
        for lo, hi in pairwise([*cuts.tolist(), positions.size]):
            due = self._due.setdefault(int(arrivals[lo]), [])
            some = positions[lo:hi]
            due.append((play, some, weights[some], None if is_seen is None else is_seen[some]))
        for asked, some, gains, is_known in self._due.pop(t, ()):
            learn(self._agent, asked, gains, some, is_known)

    def _delays(self, play: Play) -> IntArray:
        """The delay (n,) of every choice, in the order of `Play.cells`."""
        t, (runs, items) = play.request.episode, play.cells()
        if items.size == play.items.size:
            delays = delays_of(self._environment, self._stream, t, play.items)
        else:
            delays = delays_of(self._environment, self._stream.take(runs), t, items[:, None])
        if delays is None:
            return np.zeros(items.size, np.int64)
        return delays.reshape(-1)
