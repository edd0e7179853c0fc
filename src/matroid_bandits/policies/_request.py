"""What a policy is told: of an episode before it chooses, and of what its choices were worth."""

from __future__ import annotations

from typing import NamedTuple

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.stream import Stream


class Request(NamedTuple):
    """The context of one episode's choice: episode, availability, pins, features; the same for all runs of a batch.

    Attributes
    ----------
    episode : int
        The episode, from 1.
    stream : Stream
        Random numbers by address, ``stream.uniform(request.episode, items)``. The stream is the policy's own, so
        they are independent of the weights.
    available : bool array (L,) or (R, L), or None
        Which items may be chosen; None for all of them.
    excluded : int64 array (E,), or None
        Items that may not be chosen, whatever `available` says; None for none. A few names cost less than a mask.
    pinned : int64 array (P,), or None
        Items that are chosen whatever their index; None for none.
    features : float64 array (L, d) or (R, L, d), or None
        What is known of every item in this episode.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> request = mb.Request(episode=7, stream=mb.Stream(seed=0, runs=range(2)))
    >>> request.stream.uniform(request.episode, [0, 1, 2]).shape
    (2, 3)
    """

    episode: int
    stream: Stream
    available: BoolArray | None = None
    excluded: IntArray | None = None
    pinned: IntArray | None = None
    features: FloatArray | None = None

    @property
    def is_open(self) -> bool:
        """Whether every item may be chosen and none is pinned."""
        return self.available is None and self.excluded is None and self.pinned is None


class Plays(NamedTuple):
    """Chosen items whose weights are not known yet, as an entry for each run and item.

    Attributes
    ----------
    runs : int64 array (n,)
        The row of the batch that each play belongs to.
    items : int64 array (n,)
        The item that was chosen.
    episode : int
        The episode of the decision.
    features : float64 array (n, d), or None
        The features that the items had in the decision's request.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> mb.Plays(runs=np.array([0, 0]), items=np.array([2, 5]), episode=3).items
    array([2, 5])
    """

    runs: IntArray
    items: IntArray
    episode: int
    features: FloatArray | None = None


class Feedback(NamedTuple):
    """Observed weights of one decision, as an entry for each item whose weight is now known.

    A decision may be answered late and in parts, so a policy may see several pieces of feedback for one episode, and
    those of a later episode first. No item of a decision is answered twice.

    Attributes
    ----------
    runs : int64 array (n,)
        The row of the batch that each answer belongs to.
    items : int64 array (n,)
        The item that each answer is about.
    gains : float64 array (n,)
        What each item was worth: its weight, or minus its weight when weights are costs.
    episode : int
        The episode of the decision.
    stream : Stream
        The policy's own random numbers, as in `Request`; ``stream.take(runs)`` has a row for each answer.
    features : float64 array (n, d), or None
        The features that the answered items had in the decision's request.
    kept : float64 array (n, m), or None
        What `Policy.keep` gave for the answered choices, 0 where they were not the policy's; None for a policy that
        keeps nothing.
    is_early : bool
        Whether this was seen before the first decision. The episode is an address of random numbers then, and tells
        no time.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> runs, items, gains = np.array([0, 0, 1]), np.array([2, 5, 2]), np.array([0.0, 1.0, 1.0])
    >>> answers = mb.Feedback(runs, items, gains, episode=3, stream=mb.Stream(0, [0, 1]))
    >>> totals = np.zeros((2, 6))
    >>> np.add.at(totals, (answers.runs, answers.items), answers.gains)
    >>> totals[1, 2]
    np.float64(1.0)
    """

    runs: IntArray
    items: IntArray
    gains: FloatArray
    episode: int
    stream: Stream
    features: FloatArray | None = None
    is_early: bool = False
    kept: FloatArray | None = None
