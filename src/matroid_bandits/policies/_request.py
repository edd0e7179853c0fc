"""What a policy is told: of an episode before it chooses, and of what its choices were worth."""

from __future__ import annotations

from typing import Any, NamedTuple

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
        Items that may not be chosen, in addition to `available`; None for none. A short list costs less than a mask.
    pinned : int64 array (P,), or None
        Items that are chosen regardless of their index; None for none.
    features : float64 array (L, d) or (R, L, d), or None
        Features of every item in this episode.

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
    places : int64 array (n,), or None
        The place in its list, 0 for the top, at which each item was shown; None where no order was made.

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
    places: IntArray | None = None


class Feedback(NamedTuple):
    """Observed weights of one decision, as an entry for each item whose weight is now known.

    Feedback may be late and in parts, so a policy may get several pieces of feedback for one episode, and those of a
    later episode first. Every item of a decision gets feedback at most once.

    Attributes
    ----------
    runs : int64 array (n,)
        The row of the batch of each entry.
    items : int64 array (n,)
        The item of each entry.
    gains : float64 array (n,)
        The gain of each item: its weight, or minus its weight when weights are costs.
    episode : int
        The episode of the decision.
    stream : Stream
        The policy's own random numbers, as in `Request`; ``stream.take(runs)`` has a row for each answer.
    features : float64 array (n, d), or None
        The features that the answered items had in the decision's request.
    kept : float64 array (n, m), or None
        The numbers that `Policy.keep` returned for these choices, 0 for choices that the policy did not make; None
        for a policy without `keep`.
    is_early : bool
        Whether the weights were observed before the first decision. The episode is then only an address of random
        numbers.
    places : int64 array (n,), or None
        The place in its list, 0 for the top, at which each answered item was shown; None where no order was made.

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
    places: IntArray | None = None


class Spending(NamedTuple):
    """The cost of all decisions so far, and what they may cost on average.

    Attributes
    ----------
    total : float64 array (R,), or float
        What they cost together; an array for the runs of a state, a number for a learner.
    n_decisions : int64 array (R,), or int
        How many they are.
    per_decision : float
        The budget per decision.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> policy = mb.Budget(mb.OMM(), [4.0, 2.0], per_decision=2.0)
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1), policy, seed=0)
    >>> _ = learner.ask()
    >>> learner.estimates().spending
    Spending(total=4.0, n_decisions=1, per_decision=2.0)
    """

    total: Any
    n_decisions: Any
    per_decision: float
