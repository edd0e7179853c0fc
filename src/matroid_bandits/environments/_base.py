"""The interface of an environment, and the checks its families share."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray, ItemValues
from matroid_bandits._util.arrays import Immutable, frozen
from matroid_bandits._util.checks import MOST_WEIGHT, as_integer, as_number
from matroid_bandits.environments._labels import Labels, in_order, labelled
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream

if TYPE_CHECKING:
    from matroid_bandits.environments._lists import ListEnvironment


class _Made(NamedTuple):
    """The attributes that a constructor has set, and what it set those to that were None or empty."""

    names: frozenset[str]
    blank: dict[str, Any]


class _Recorded(ABCMeta):
    """Records which attributes the constructor of a user's class has set: others are caches."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        made = super().__call__(*args, **options)
        if not cls.__module__.startswith("matroid_bandits."):
            own = vars(made)
            blank: dict[str, Any] = {}
            for name, value in own.items():
                if value is None or (isinstance(value, (dict, list)) and not value):
                    blank[name] = None if value is None else {} if isinstance(value, dict) else []
            names = {name for name, value in own.items() if not isinstance(value, set) or value}
            own["_made"] = _Made(frozenset(names), blank)
        return made


class Environment(Immutable, metaclass=_Recorded):
    """Base class of environments: a distribution over weights, the paper's P, drawn independently in each episode.

    A subclass passes its means to this constructor and implements `draw`. Environments are immutable. A simulation
    reads `mean_weights` and `support` once. It calls `draw` for every item with a stream of purpose `START` if every
    item is observed before the first episode, then once an episode for the chosen items of all runs.

    An environment whose means change passes `n_items` instead of `mean_weights` and returns the means of every
    episode in `means`. If it does not override `means`, its means are unknown: simulations run, and their regret is
    NaN. `PiecewiseEnvironment` and `DriftingEnvironment` build such environments from others.

    An environment with unavailable items or delayed feedback overrides `availability` and `delays`;
    `AvailabilityEnvironment` and `DelayedEnvironment` add them to any environment. An environment with features of
    the items sets `n_features` and overrides `features`.

    Parameters
    ----------
    mean_weights : array_like of float, shape (L,), or mapping of label to float, optional
        The expected weights, when they are the same in every episode; at most 1e100 in size, as weights must be, so
        that sums of them stay finite. By label they need not be in the order of items: `Problem` puts them into the
        order of its constraint.
    support : (float, float), default (-inf, inf)
        Lower and upper bound of the weights. Policies for weights in [0, 1] rely on them.
    n_items : int, optional
        The number of items, required without `mean_weights`.

    Attributes
    ----------
    mean_weights : ndarray of float64, shape (L,)
        The expected weight of every item, read-only. If the means change or are not known, reading it raises
        `InvalidEnvironmentError`.
    is_stationary : bool
        Whether the means are known and the same in every episode and run.
    n_items : int
        The number of items L.
    n_features : int, or None
        Number d of features per item; None, the default, without features.
    support : (float, float)
        Lower and upper bound of the weights, infinite without bounds.
    is_independent : bool
        Whether the weights of an episode's items are independent, given their means. Worths that multiply, such as
        the chance of a click on a list, need that for regret. False for a class of the user's, unless it says
        ``is_independent = True``.
    lists : Environment, or None
        The `CascadeEnvironment` or `PositionEnvironment` whose lists are shown; None, the default, where the weight
        of every chosen item is seen.
    kind : str, or None
        The name of a user's class in the store of a sweep (see `matroid_bandits.sweep`), a class attribute; change it
        when the weights that the class draws change. None, the default, for a class that is not stored.

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
    >>> class Trend(Environment):
    ...     '''The first item gets better, the second worse.'''
    ...
    ...     def means(self, t, stream):
    ...         return np.array([0.001 * t, -0.001 * t])
    ...
    ...     def draw(self, stream, t, items):
    ...         return self.means(t, stream)[items] + stream.normal(t, items)
    >>> Trend(n_items=2).is_stationary
    False
    """

    n_features: int | None = None
    kind: ClassVar[str | None] = None
    _labels: Labels | None = None
    #: Attributes of the classes of the package that hold a row for each item.
    _by_item: ClassVar[frozenset[str]] = frozenset(
        ("_mean_weights", "_noise", "_floor", "_alpha", "_beta", "_amplitude", "_period", "_over", "_phase", "_to")
        + ("_low", "_high", "_step", "_deviation", "_correlation", "_usual", "_spread", "_chances", "_fixed", "_mean")
        + ("_never",)
    )

    def __init__(
        self,
        mean_weights: ItemValues | None = None,
        support: tuple[float, float] = (-np.inf, np.inf),
        *,
        n_items: int | None = None,
        labels: Labels | None = None,
    ) -> None:
        self._mean_weights: FloatArray | None = None
        if labels is None:
            labels, mean_weights = labelled(mean_weights)
        if labels is not None:
            self._labels = labels
        if mean_weights is not None:
            self._mean_weights = as_vector("mean weights", mean_weights)
            if n_items not in (None, self._mean_weights.size):
                raise InvalidEnvironmentError(
                    f"expected n_items to be {self._mean_weights.size}, the number of mean weights; got {n_items!r}"
                )
            n_items = self._mean_weights.size
        elif n_items is None:
            raise InvalidEnvironmentError("expected mean_weights, or n_items where means change; got neither")
        self._n_items = as_integer("n_items", n_items, error=InvalidEnvironmentError)
        self._support = _as_support(support)

    @abstractmethod
    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """Draw the weights of `items` in episode t of each run.

        A weight depends on the stream's (seed, run, purpose), on t and on the item alone: not on the other items
        asked for, nor on which policy asks.

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

    def means(self, t: int, stream: Stream) -> FloatArray | None:
        """Return the expected weights of every item in episode t; by default `mean_weights` in every episode.

        Regret is against the best set for these. Means depend on the stream's (seed, run) and on t alone, or on t
        alone; where they depend on `features`, they are the means given those. Simulations ask only where means
        change, about once an episode, and sometimes some episodes ahead. An array that is read-only and returned
        again is not looked at again.

        Parameters
        ----------
        t : int
            The episode, from 1.
        stream : Stream
            Random numbers by address, of purpose `FEATURES`.

        Returns
        -------
        ndarray of float64, shape (L,) or (R, L), or None
            One row for all runs, or a row for each. None where the means are not known, which is so in every episode
            or in none.
        """
        return self._mean_weights

    def features(self, stream: Stream, t: int) -> FloatArray | None:
        """Return the features of every item in episode t, known before the decision; None by default.

        A simulation passes it on to policies that ask for features, in `Request.features`, and asks for episode 0
        where runs begin with a look at everything. Features depend on the stream's (seed, run), on t and on the item
        alone, or on t and the item alone. A class that writes this sets `n_features` too.

        Parameters
        ----------
        stream : Stream
            Random numbers by address, of purpose `FEATURES`.
        t : int
            The episode, from 1.

        Returns
        -------
        ndarray of float64, shape (L, d) or (R, L, d), or None
            The same for all runs, or for each its own; None where `n_features` is.
        """
        return None

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        """Return the mask of items that may be chosen in episode t of each run; None, the default, for all.

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
        """Return after how many episodes the weights of `items`, chosen in episode t, are observed; None: at once.

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

    def compiled(self) -> forms.EnvironmentForm | None:
        """Return the environment's form for compiled episodes (see `kernels.forms`); None, the default, if it has
        none.

        A class that overrides a hook of the class that declared it loses it by that.
        """
        return None

    def content(self) -> dict[str, Any]:
        """Return the arrays, plain values and environments that determine whether two environments are equal.

        By default all attributes that the constructor has set. The store of a sweep knows a problem by it, so what is
        computed later and kept on the instance must not be in it: attributes that are added later are left out, and
        those that the constructor has set to None or to an empty container count as such.
        """
        cached = {name for base in type(self).__mro__ for name, value in vars(base).items() if _is_cached(value)}
        cached |= {"_labels", "_made"}
        made: _Made | None = vars(self).get("_made")
        own = {name: value for name, value in vars(self).items() if name not in cached}
        if made is None:
            return own
        return {name: made.blank.get(name, value) for name, value in own.items() if name in made.names}

    @property
    def labels(self) -> Labels | None:
        """Labels of the items, where means were given by label; otherwise None."""
        return self._labels

    def reordered(self, order: IntArray) -> Environment:
        """Return the environment with its items in another order: item e of it is item ``order[e]`` of this one.

        `Problem` calls it where means were given by label. A class of the user's that takes means by label overrides
        it, or means have to be given in the order of the constraint's labels.

        Raises
        ------
        InvalidEnvironmentError
            The class is not one of the package, so its attributes are not known.
        """
        if not type(self).__module__.startswith("matroid_bandits."):
            raise InvalidEnvironmentError(
                f"expected means in the order of the constraint's labels, since {type(self).__name__} has no method "
                "reordered(order); got another order"
            )
        other = copy.copy(self)
        cached = {name for base in type(self).__mro__ for name, value in vars(base).items() if _is_cached(value)}
        for name, value in vars(self).items():
            if name in cached:
                del vars(other)[name]
            elif name == "_labels":
                vars(other)[name] = tuple(value[e] for e in order)
            elif isinstance(value, Environment):
                vars(other)[name] = value.reordered(order)
            elif isinstance(value, tuple) and value and isinstance(value[0], Environment):
                once = {id(each): each.reordered(order) for each in value}
                vars(other)[name] = tuple(once[id(each)] for each in value)
            elif name in self._by_item and isinstance(value, np.ndarray):
                vars(other)[name] = frozen(value[order])
        return other

    @property
    def mean_weights(self) -> FloatArray:
        """Expected weights, shape (L,), read-only."""
        if self._mean_weights is None:
            raise InvalidEnvironmentError(
                f"expected an environment with the same means in every episode; got {self!r}: means(t, stream) has "
                "those of an episode, if they are known"
            )
        return self._mean_weights

    @property
    def is_stationary(self) -> bool:
        """Whether the means are known and the same in every episode and run."""
        return self._mean_weights is not None and type(self).means is Environment.means

    @property
    def is_independent(self) -> bool:
        """Whether the weights of an episode's items are independent, given their means."""
        inner: tuple[Environment, ...] = getattr(self, "inner", ())
        return bool(inner) and all(each.is_independent for each in inner)

    @property
    def lists(self) -> ListEnvironment | None:
        """The environment whose lists are shown, itself or the wrapped one; None without lists."""
        for each in getattr(self, "inner", ()):
            if each.lists is not None:
                raise InvalidEnvironmentError(
                    f"expected {type(self).__name__} inside of {type(each.lists).__name__}, got it around it"
                )
        return None

    @property
    def n_items(self) -> int:
        """Number of items L."""
        return self._n_items

    @property
    def support(self) -> tuple[float, float]:
        """Lower and upper bound of the weights, infinite where there is none."""
        return self._support

    def __repr__(self) -> str:
        means = self._mean_weights
        about = "" if means is None or not means.size else f", means {means.min():.4g} to {means.max():.4g}"
        return f"<{type(self).__name__}: {self.n_items} items{about}>"


def _is_cached(value: object) -> bool:
    return isinstance(value, cached_property)


class Family(Environment):
    """Base class of environments whose weights are drawn independently around one mean per item, for any means.

    A family writes `draw_around`; it can then be played as it is, and with means that move (`DriftingEnvironment`).

    Attributes
    ----------
    mean_range : (float, float)
        The least and the largest mean that an item may have, a class attribute.

    Examples
    --------
    >>> import numpy as np
    >>> class Spread(Family):
    ...     def draw_around(self, stream, t, items, means):
    ...         return means + stream.uniform(t, items) - 0.5
    >>> Spread([1.0, 2.0]).draw(Stream(seed=0, runs=[0]), t=1, items=np.array([1])).shape
    (1, 1)
    """

    mean_range: ClassVar[tuple[float, float]] = (-MOST_WEIGHT, MOST_WEIGHT)
    is_independent = True
    _mean_weights: FloatArray

    @abstractmethod
    def draw_around(self, stream: Stream, t: int, items: IntArray, means: FloatArray) -> FloatArray:
        """Draw the weights (R, K) of `items`, as `draw` does, around the given means, of the shape of `items`."""

    def parameters(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values and spread of `kernels.forms.WorldForm` for means of shape (L,) or (n, L)."""
        return means, means

    def support_of(self, low: float, high: float) -> tuple[float, float]:
        """Return bounds of the weights when all means are in [low, high]; by default the environment's support."""
        return self.support

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self.draw_around(stream, t, items, self._mean_weights[items])


def as_numbers(name: str, values: Any, ndim: int) -> AnyArray:
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


def as_vector(name: str, values: Any, low: float = -MOST_WEIGHT, high: float = MOST_WEIGHT) -> FloatArray:
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


def as_table(name: str, values: Any) -> FloatArray:
    """A read-only float64 copy of finite numbers, a row per item."""
    table: FloatArray = as_numbers(name, values, ndim=2).astype(np.float64)
    is_finite = np.isfinite(table).all(axis=1)
    if not is_finite.all():
        raise InvalidEnvironmentError(
            f"expected finite {name}; got NaN or infinity for item {int(is_finite.argmin())}"
        )
    return frozen(table)


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


def per_item(
    name: str,
    values: float | ItemValues,
    n_items: int,
    low: float = -MOST_WEIGHT,
    high: float = MOST_WEIGHT,
    labels: Labels | None = None,
) -> FloatArray:
    """A number in [low, high] for each item, of one for all, of a row, or by label; read-only."""
    if isinstance(values, (int, float, np.generic)):
        limit = np.inf if high == MOST_WEIGHT else high
        values = np.full(n_items, as_number(name, values, low, limit, error=InvalidEnvironmentError))
    return sized(name, as_vector(name, in_order(name, values, labels), low, high), n_items)


def sized(name: str, values: AnyArray, n_items: int) -> AnyArray:
    """`values`, read-only, when there is one for each item."""
    if values.size != n_items:
        raise InvalidEnvironmentError(f"expected {name} of {n_items} items, one each; got {values.size}")
    return frozen(values)
