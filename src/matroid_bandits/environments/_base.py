"""The interface of an environment, and the checks its families share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import Immutable, frozen
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream


class Environment(Immutable, ABC):
    """The paper's P: a distribution over weights, from which each episode's w_t is drawn independently.

    A family passes its means to this constructor and writes `draw`. Environments are immutable. A simulation reads
    `mean_weights` and `support` once, and calls `draw` for every item with a stream whose purpose is `START` where
    runs begin with a look at everything, then once an episode for the chosen items of all runs.

    A world that does not offer everything in every episode, or does not answer at once, says so in `availability` and
    `delays`; `AvailabilityEnvironment` and `DelayedEnvironment` say it for any other environment.

    Parameters
    ----------
    mean_weights : array_like of float, shape (L,)
        At most 1e100 in size, as weights must be, so that sums of them stay finite.
    support : (float, float), default (-inf, inf)
        Bounds that no weight leaves. Policies for weights in [0, 1] rely on them.

    Attributes
    ----------
    mean_weights : ndarray of float64, shape (L,)
        The expected weight of every item, read-only.
    n_items : int
        The number of items L.
    support : (float, float)
        Bounds that no weight leaves, infinite where there are none.
    kind : str, or None
        The name of a class of one's own in the store of a sweep (see `matroid_bandits.sweep`), a class attribute; to
        be changed when what the class draws changes. None, the default, for a class that is not stored.

    Examples
    --------
    >>> import numpy as np
    >>> class Coin(Environment):
    ...     '''A weight is its mean plus or minus 1.'''
    ...
    ...     def draw(self, stream, t, items):
    ...         sign = np.where(stream.uniform(t, items) < 0.5, -1.0, 1.0)
    ...         return self.mean_weights[items] + sign
    >>> world = Coin([10, 20, 30])
    >>> world
    <Coin: 3 items, means 10 to 30>
    >>> world.draw(Stream(seed=0, runs=range(2)), t=1, items=np.array([0, 2])).shape
    (2, 2)
    """

    kind: ClassVar[str | None] = None

    def __init__(self, mean_weights: ArrayLike, support: tuple[float, float] = (-np.inf, np.inf)) -> None:
        self._mean_weights = as_vector("mean weights", mean_weights)
        self._support = _as_support(support)

    @abstractmethod
    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """The weights of `items` in episode t of each run.

        A weight depends on the stream's (seed, run, purpose), on t and on the item alone: not on the other items
        asked for, nor on who asks.

        Parameters
        ----------
        stream : Stream
            Random numbers by address. Its purpose says which world is meant: `WEIGHTS` for the episodes, `START` for
            the weights seen before the first.
        t : int
            The episode.
        items : ndarray of int64, shape (R, K) or (K,)
            A row per run, or one row for all of them.

        Returns
        -------
        ndarray of float64, shape (R, K)
        """

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        """Which items may be chosen in episode t of each run; by default everything.

        A simulation asks once an episode, before the decision. Whether an item is there depends on the stream's
        (seed, run), on t and on the item alone, so every policy meets the same items.

        Parameters
        ----------
        stream : Stream
            Random numbers by address, of purpose `AVAILABILITY`.
        t : int
            The episode, from 1.

        Returns
        -------
        ndarray of bool, shape (R, L), or None
            None for everything.
        """
        return None

    def delays(self, stream: Stream, t: int, items: IntArray) -> IntArray | None:
        """How many episodes after episode t the weights of `items`, chosen in t, become known; by default at once.

        The answer to a play of episode t with delay d comes after the decision of episode t + d and before the next:
        0 is an answer at once, and a negative delay one that never comes. A delay depends on the stream's (seed,
        run), on t and on the item alone, as a weight does.

        Parameters
        ----------
        stream : Stream
            Random numbers by address, of purpose `DELAY`.
        t : int
            The episode of the decision, from 1.
        items : ndarray of int64, shape (R, K) or (K,)
            A row per run, or one row for all of them.

        Returns
        -------
        ndarray of int64, shape (R, K), or None
            None for an environment that always answers at once. Where it is not None in one episode it is in none: a
            simulation asks before the first, with K = 0, whether it has to keep plays that wait.
        """
        return None

    def content(self) -> dict[str, Any]:
        """What tells this environment from others of its class: arrays, plain values and other environments.

        By default all attributes of the instance. The store of a sweep knows a problem by it.
        """
        cached = {name for base in type(self).__mro__ for name, value in vars(base).items() if _is_cached(value)}
        return {name: value for name, value in vars(self).items() if name not in cached}

    @property
    def mean_weights(self) -> FloatArray:
        """Expected weights, shape (L,), read-only."""
        return self._mean_weights

    @property
    def n_items(self) -> int:
        """The number of items L."""
        return self.mean_weights.size

    @property
    def support(self) -> tuple[float, float]:
        """Bounds that no weight leaves, infinite where there are none."""
        return self._support

    def __repr__(self) -> str:
        means = f", means {self.mean_weights.min():.4g} to {self.mean_weights.max():.4g}" if self.n_items else ""
        return f"<{type(self).__name__}: {self.n_items} items{means}>"


def _is_cached(value: object) -> bool:
    return isinstance(value, cached_property)


def availability_of(environment: Environment, stream: Stream, t: int) -> BoolArray | None:
    """What `Environment.availability` says, checked: a mask of shape (R, L), or None for everything.

    Raises
    ------
    InvalidEnvironmentError
        It says something else.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import availability_of
    >>> world = mb.AvailabilityEnvironment(mb.BernoulliEnvironment([0.5, 0.5]), [True, False])
    >>> availability_of(world, mb.Stream(seed=0, runs=[0]), t=1)
    array([[ True, False]])
    """
    mask = environment.availability(stream, t)
    if mask is not None:
        _expect(f"{type(environment).__name__}.availability", mask, np.bool_, (stream.n_runs, environment.n_items))
    return mask


def delays_of(environment: Environment, stream: Stream, t: int, items: IntArray) -> IntArray | None:
    """What `Environment.delays` says, checked: whole numbers of shape (R, K), or None where nothing is ever late.

    Raises
    ------
    InvalidEnvironmentError
        It says something else.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import delays_of
    >>> world = mb.DelayedEnvironment(mb.BernoulliEnvironment([0.5, 0.5]), [0, 7])
    >>> delays_of(world, mb.Stream(seed=0, runs=[0]), t=1, items=np.array([1]))
    array([[7]])
    """
    delays = environment.delays(stream, t, items)
    if delays is not None:
        _expect(f"{type(environment).__name__}.delays", delays, np.int64, (stream.n_runs, items.shape[-1]))
    return delays


def _expect(who: str, given: object, dtype: type, shape: tuple[int, ...]) -> None:
    if not (isinstance(given, np.ndarray) and given.shape == shape and given.dtype == dtype):
        got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise InvalidEnvironmentError(
            f"expected {who} to give {np.dtype(dtype)} of shape {shape}, or None; got {got}"
        )


def as_numbers(name: str, values: ArrayLike, ndim: int) -> AnyArray:
    """`values` as an array of real numbers with `ndim` dimensions, not copied if it is one."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidEnvironmentError(f"expected {name} in a {ndim}-D array; got a ragged sequence") from None
    if array.ndim != ndim:
        raise InvalidEnvironmentError(f"expected {name} in a {ndim}-D array; got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InvalidEnvironmentError(f"expected {name} to be real numbers; got type {array.dtype}")
    return array


def as_vector(name: str, values: ArrayLike, low: float = -MOST_WEIGHT, high: float = MOST_WEIGHT) -> FloatArray:
    """A read-only float64 copy of a 1-D array whose entries are in [low, high]."""
    vector = as_numbers(name, values, ndim=1).astype(np.float64)
    is_wrong = ~(np.isfinite(vector) & (vector >= low) & (vector <= high))
    if is_wrong.any():
        item = int(is_wrong.argmax())
        if high != MOST_WEIGHT or MOST_WEIGHT < abs(vector[item]) < np.inf:
            allowed = f"in [{low:g}, {high:g}]"
        else:
            allowed = "finite" if low == -MOST_WEIGHT else f"finite and at least {low:g}"
        raise InvalidEnvironmentError(f"expected {name} {allowed}; got {vector[item]} for item {item}")
    return frozen(vector)


def bounds_of(name: str, entries: AnyArray) -> tuple[float, float]:
    """The smallest and the largest weight of a data set, (0, 0) of none; those that sums cannot bear are refused."""
    low, high = (float(entries.min()), float(entries.max())) if entries.size else (0.0, 0.0)
    if max(-low, high) > MOST_WEIGHT:
        wrong = low if -low > high else high
        raise InvalidEnvironmentError(f"expected {name} of at most {MOST_WEIGHT:g} in size; got {wrong}")
    return low, high


def _as_support(support: tuple[float, float]) -> tuple[float, float]:
    try:
        bounds = np.asarray(support)
    except ValueError:  # a ragged sequence
        bounds = np.empty(0)
    if bounds.shape != (2,) or bounds.dtype.kind not in "biuf" or not bounds[0] <= bounds[1]:
        raise InvalidEnvironmentError(f"expected support to be a lower and an upper bound; got {support!r}")
    return float(bounds[0]), float(bounds[1])
