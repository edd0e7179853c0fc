"""Answers of a simulated world that come late."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.environments import Environment, delays_of
from matroid_bandits.stream import Stream


class Answers:
    """The answers that an agent waits for, each learnt when it arrives.

    An answer with delay d to a play of episode t is learnt after the decision of episode t + d; those that arrive
    together in the order of their decisions, then of their items. What will not arrive before the end is not kept:
    the state counts it as waiting, and that is all.

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
        self._due: dict[int, list[tuple[Play, IntArray, FloatArray]]] = {}

    def expect(self, play: Play, weights: FloatArray) -> None:
        """Take the weights (n,) of a play's choices, for later or for now, and learn what is due by now."""
        t = play.request.episode
        play.request = play.request._replace(available=None, features=None)  # else they would be most of the memory
        delays = self._delays(play)
        is_lost = (delays < 0) | (delays > self._n_episodes - t)
        if is_lost.any() or not delays.size:
            self._agent.dismiss(play, np.flatnonzero(is_lost))
        places = np.argsort(np.where(is_lost, -1, delays), kind="stable")[np.count_nonzero(is_lost) :]
        arrivals = t + delays[places]
        cuts = np.flatnonzero(np.diff(arrivals, prepend=-1))
        for lo, hi in pairwise([*cuts.tolist(), places.size]):
            due = self._due.setdefault(int(arrivals[lo]), [])
            due.append((play, places[lo:hi], weights[places[lo:hi]]))
        for asked, places, gains in self._due.pop(t, ()):
            self._agent.learn(asked, gains, places)

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
