"""What the hooks of an environment say, checked: users write them, and compiled code relies on them."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import MOST_FEATURE, MOST_WEIGHT
from matroid_bandits.environments._base import Environment
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream


def means_of(environment: Environment, t: int, stream: Stream) -> FloatArray | None:
    """Return the result of `Environment.means`, checked: an array (L,) or (R, L), or None where means are not known.

    Raises
    ------
    InvalidEnvironmentError
        It says something else.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import means_of
    >>> early, late = mb.BernoulliEnvironment([0.9, 0.1]), mb.BernoulliEnvironment([0.1, 0.9])
    >>> means_of(mb.PiecewiseEnvironment([early, late], [100]), 100, mb.Stream(seed=0, runs=range(3)))
    array([0.1, 0.9])
    """
    means = environment.means(t, stream)
    if means is not None:
        row = (environment.n_items,)
        _expect(f"{type(environment).__name__}.means", means, np.float64, row, (stream.n_runs, *row))
        is_wrong = ~(np.abs(means) <= MOST_WEIGHT)
        if is_wrong.any():
            raise InvalidEnvironmentError(
                f"expected {type(environment).__name__}.means to be finite and at most {MOST_WEIGHT:g} in size; got "
                f"{means[is_wrong][0]} for item {int(np.argwhere(is_wrong)[0, -1])} in episode {t}"
            )
    return means


def features_of(environment: Environment, stream: Stream, t: int) -> FloatArray | None:
    """Return the result of `Environment.features`, checked: an array (L, d) or (R, L, d), or None without features.

    Raises
    ------
    InvalidEnvironmentError
        It says something else.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import features_of
    >>> world = mb.ContextualEnvironment([[0.0, 1.0], [1.0, 0.0]], theta=[0.5, 2.0])
    >>> features_of(world, mb.Stream(seed=0, runs=range(3)), t=1).shape
    (3, 2, 2)
    """
    features, d, who = environment.features(stream, t), environment.n_features, type(environment).__name__
    if d is None and features is None:
        return None
    if d is None or features is None:
        given = "n_features = None and features" if d is None else f"n_features = {d!r} and no features"
        raise InvalidEnvironmentError(f"expected {who} to have n_features and features, or neither; got {given}")
    rows = (environment.n_items, d)
    _expect(f"{who}.features", features, np.float64, rows, (stream.n_runs, *rows))
    is_wrong = ~(np.abs(features) <= MOST_FEATURE)
    if is_wrong.any():
        item = int(np.argwhere(is_wrong)[0, -2])
        given = "NaN or infinity" if not np.isfinite(features[is_wrong][0]) else f"{features[is_wrong][0]:g}"
        raise InvalidEnvironmentError(
            f"expected {who}.features to be finite and at most {MOST_FEATURE:g} in size; got {given} for item {item} "
            f"in episode {t}"
        )
    return features


def availability_of(environment: Environment, stream: Stream, t: int) -> BoolArray | None:
    """Return the result of `Environment.availability`, checked: a mask of shape (R, L), or None for all items.

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
    """Return the result of `Environment.delays`, checked: integers of shape (R, K), or None without delays.

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


def _expect(who: str, given: object, dtype: type, *shapes: tuple[int, ...]) -> None:
    if not (isinstance(given, np.ndarray) and given.shape in shapes and given.dtype == dtype):
        got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        shape = " or ".join(map(str, shapes))
        raise InvalidEnvironmentError(
            f"expected {who} to give {np.dtype(dtype)} of shape {shape}, or None; got {got}"
        )
