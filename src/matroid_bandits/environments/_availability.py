"""Items that are not there in every episode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, ItemValues
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, per_item
from matroid_bandits.environments._wrapper import Wrapper
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream

#: Which items may be chosen in an episode, of shape (R, L) or for all runs (L,); None for all of them.
Timetable = Callable[[Stream, int], BoolArray | None]


class AvailabilityEnvironment(Wrapper):
    """Wrapper that makes some items of another environment unavailable in some episodes.

    Examples are failing links, articles for some visitors, and closed shops. A policy chooses among the available
    items, and regret is measured against the best available set of each episode (sleeping bandits: Kleinberg,
    Niculescu-Mizil and Sharma, 2010).

    Parameters
    ----------
    environment : Environment
        The distribution of the weights.
    availability : array_like of float, shape (L,), float, or callable
        The probability that each item is available, drawn independently for each item, episode and run; a mask, or
        one number for all items. Or a function of (stream, t) that returns a mask of shape (R, L), a row per run, or
        (L,) for all runs, or None for all items; it takes its random numbers from the stream.

    Notes
    ----- Wrappers nest. An item is available if it is in every one of them, and their draws are independent. With
    ``start="observe"`` every item is observed before episode 1.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> world = mb.BernoulliEnvironment([0.9, 0.5, 0.1])
    >>> flaky = mb.AvailabilityEnvironment(world, [0.5, 1.0, 1.0])
    >>> flaky.availability(mb.Stream(seed=0, runs=range(3)), t=1)
    array([[ True,  True,  True],
           [ True,  True,  True],
           [False,  True,  True]])
    >>> nights = mb.AvailabilityEnvironment(world, lambda stream, t: np.array([t % 2 == 0, True, True]))
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), nights)
    >>> best = mb.FixedSet([0])  # and the next best where it is not there
    >>> result = mb.simulate(problem, [best], n_episodes=100, n_runs=1, seed=0)
    >>> result.choices, result.regret[0, -1]
    (array([[50, 50,  0]]), np.float64(0.0))
    """

    def __init__(self, environment: Environment, availability: ItemValues | Timetable) -> None:
        super().__init__(environment)
        self._timetable = availability if callable(availability) else None
        self._chances: FloatArray | None = None
        if not callable(availability):
            self._chances = per_item("availability", availability, self.n_items, 0.0, 1.0, self.labels)
        self._is_certain = self._chances is not None and bool((self._chances == 1.0).all())

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        """Return the wrapped environment's availability without the items that are away."""
        mine, inner = self._mine(stream, t), super().availability(stream, t)
        return mine if inner is None else inner if mine is None else mine & inner

    def _mine(self, stream: Stream, t: int) -> BoolArray | None:
        if self._is_certain:
            return None
        if self._chances is not None:
            places = np.arange(self._first, self._first + self.n_items)
            mask: BoolArray = stream.uniform(t, places) < self._chances
            return mask
        assert self._timetable is not None
        given, shape = self._timetable(stream, t), (stream.n_runs, self.n_items)
        if given is None:
            return None
        if not (isinstance(given, np.ndarray) and given.dtype == np.bool_ and given.shape in (shape, shape[1:])):
            got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else shown(given)
            raise InvalidEnvironmentError(
                f"expected availability(stream, {t}) to give bool of shape {shape} or {shape[1:]}, or None; got {got}"
            )
        return np.ascontiguousarray(np.broadcast_to(given, shape))
