"""Counter-based random numbers: every draw is a function of (seed, run, t, item, purpose) and of nothing else.

A seed enters once. Run i has the same numbers alone or in a batch, on one thread or many, here or elsewhere;
only what is looked at is drawn; and every policy meets the same weights.
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.exceptions import InvalidEnvironmentError, SeedError
from matroid_bandits.kernels import random as kernels

#: What a draw is for, so that no two uses share a number: 0 to 255, a policy's own from `USER` on.
WEIGHTS: Final = 0  # the world's weights w_t
START: Final = 1  # the paper's w_0, seen before episode 1
POLICY: Final = 2  # a policy's choices
ROUNDING: Final = 3  # a policy's randomised rounding of what it saw
HOLDOUT: Final = 4  # which decisions a learner draws at random, and what it draws
AVAILABILITY: Final = 5  # which items a simulated world offers
DELAY: Final = 6  # when a simulated world answers
FEATURES: Final = 7  # what is known of the items of a simulated world in an episode
INCLUSION: Final = 8  # sets drawn to estimate how often an item is in one
UNIT: Final = 9  # which values of a tag a learner holds out, by a hash of the value in place of an episode
RESAMPLING: Final = 11  # sets that a policy draws again to learn how likely its choices were
ATTENTION: Final = 12  # which places of a list a simulated visitor looks at
PATH: Final = 10  # where the means of a simulated world wander
USER: Final = 16

__all__ = [
    "ATTENTION",
    "AVAILABILITY",
    "DELAY",
    "FEATURES",
    "HOLDOUT",
    "INCLUSION",
    "PATH",
    "POLICY",
    "RESAMPLING",
    "ROUNDING",
    "START",
    "UNIT",
    "USER",
    "WEIGHTS",
    "Stream",
    "as_seed",
]

_N_SEEDS, _N_RUNS, _N_EPISODES, _N_PURPOSES = 2**64, 2**32, 2**48, 2**8
_RUN_ITEM = np.array([[2**32 - 1]], dtype=np.int64)


def as_seed(seed: int | None) -> int:
    """Return a seed as a Python integer in [0, 2**64); None gives a fresh one from the system's entropy.

    Raises
    ------
    SeedError
        When `seed` is anything else.

    Examples
    --------
    >>> as_seed(7)
    7
    >>> as_seed(None) == as_seed(None)
    False
    """
    if seed is None:
        return secrets.randbits(64)
    if not isinstance(seed, bool | np.bool_):
        try:
            value = operator.index(seed)
        except TypeError:
            value = -1
        if 0 <= value < _N_SEEDS:
            return value
    raise SeedError(f"expected a seed that is None or an integer in [0, 2**64); got {seed!r}")


class Stream:
    """Counter-based random number generator: a draw is a function of (seed, run, episode, item, purpose).

    The generator has no state: repeating a draw gives the same number, and the order of draws does not matter.
    `uniform`, `normal`, `exponential` and `beta` take an episode and the items, as an (R, K) array with a row per run
    or as a (K,) array for all runs, and return (R, K); `run_uniform` gives a number per run. The generator is
    Philox-4x32-10, keyed by (seed, run) and counting (t, item, purpose).

    Parameters
    ----------
    seed : int
        In [0, 2**64).
    runs : iterable of int
        The ids of the R runs, in [0, 2**32); a batch may hold any of them in any order.
    purpose : int, default WEIGHTS
        What the draws are for, in [0, 256): `WEIGHTS`, `START`, `POLICY`, `ROUNDING`, or a user's own from `USER` on.

    Attributes
    ----------
    seed : int
        The seed, from which everything follows.
    runs : ndarray of int64, shape (R,)
        The ids of the runs, in the order of the rows of every draw; read-only.
    n_runs : int
        The number of runs R.
    purpose : int
        What the draws are for.

    Raises
    ------
    SeedError
        By the constructor and by every draw, when something cannot be part of an address.

    Notes
    -----
    Episodes t are in [0, 2**48). Items are in [0, 2**32 - 1), the number above them standing for the run as a
    whole; they are not checked. Variates of two kinds at one address come from the same random bits, so
    code that draws both must give them different purposes.

    Examples
    --------
    >>> import numpy as np
    >>> batch, alone = Stream(seed=0, runs=range(100)), Stream(seed=0, runs=[42])
    >>> items = np.arange(5)
    >>> bool((batch.uniform(3, items)[42] == alone.uniform(3, items[::-1])[0, ::-1]).all())
    True
    """

    def __init__(self, seed: int, runs: Iterable[int] | IntArray, purpose: int = WEIGHTS) -> None:
        if seed is None:
            raise SeedError("expected a seed in [0, 2**64); got None (as_seed(None) makes a fresh one)")
        self.seed = as_seed(seed)
        self.runs = _as_runs(runs)
        self.n_runs = self.runs.size
        self.purpose = self._check_purpose(purpose)
        self._seed = np.uint64(self.seed)  # one type for the kernels, whatever its size

    def __repr__(self) -> str:
        return f"Stream(seed={self.seed}, n_runs={self.n_runs}, purpose={self.purpose})"

    def with_purpose(self, purpose: int) -> Stream:
        """Return the stream of the same runs for another purpose, e.g. `POLICY` for a policy's draws.

        Examples
        --------
        >>> Stream(seed=0, runs=[3]).with_purpose(POLICY)
        Stream(seed=0, n_runs=1, purpose=2)
        """
        return self._derived(self.runs, self._check_purpose(purpose))

    def take(self, rows: Sequence[int] | IntArray | BoolArray) -> Stream:
        """Return the stream of some rows of the batch, in the given order, with repetitions.

        Parameters
        ----------
        rows : array_like of int, shape (n,), or of bool, shape (R,)
            Places in the batch, not ids of runs.

        Examples
        --------
        >>> Stream(seed=0, runs=[3, 8]).take([1, 1, 0]).runs
        array([8, 8, 3])
        """
        return self._derived(frozen(self.runs[rows]), self.purpose)

    def uniform(self, t: int, items: ArrayLike) -> FloatArray:
        """Return uniforms in [0, 1), multiples of 2**-53, shape (R, K)."""
        return self._draw(kernels.uniforms, t, items)

    def exponential(self, t: int, items: ArrayLike) -> FloatArray:
        """Return exponentials of mean 1, shape (R, K): -log(1 - u) of `uniform` at the same address."""
        return self._draw(kernels.exponentials, t, items)

    def normal(self, t: int, items: ArrayLike) -> FloatArray:
        """Return standard normals, shape (R, K)."""
        return self._draw(kernels.normals, t, items)

    def beta(self, t: int, items: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
        """Return beta variates, shape (R, K).

        Parameters
        ----------
        t : int
            The episode.
        items : array_like of int, shape (R, K) or (K,)
            A row per run, or one row for all of them.
        alpha, beta : array_like of float, shape (R, K) or (K,)
            In [1e-300, 1e300]; from 1 up is several times as fast as below.
        """
        items = self._rows(items, np.int64, "items")
        alpha, beta = self._rows(alpha, np.float64, "alpha"), self._rows(beta, np.float64, "beta")
        n_columns = items.shape[1]
        if alpha.shape[1] != n_columns or beta.shape[1] != n_columns:
            raise SeedError(
                f"expected items, alpha and beta with as many columns each; got {n_columns}, "
                f"{alpha.shape[1]} and {beta.shape[1]}"
            )
        out = np.empty((self.n_runs, n_columns))
        where = kernels.betas(self._seed, self.runs, _episode(t), items, self.purpose, alpha, beta, out)
        if where >= 0:
            r, k = divmod(where, n_columns)
            given = (float(array[r % len(array), k]) for array in (alpha, beta))
            raise InvalidEnvironmentError(
                "expected beta parameters in [1e-300, 1e300]; got alpha = {}, beta = {} ".format(*given)
                + f"for item {items[r % len(items), k]} of run {self.runs[r]}"
            )
        return out

    def run_uniform(self, t: int) -> FloatArray:
        """Return one uniform in [0, 1) per run, shape (R,), drawn at the unused item number 2**32 - 1."""
        return self._draw(kernels.uniforms, t, _RUN_ITEM[0])[:, 0]

    def run_normal(self, t: int) -> FloatArray:
        """Return one standard normal per run, shape (R,), drawn at the unused item number 2**32 - 1."""
        return self._draw(kernels.normals, t, _RUN_ITEM[0])[:, 0]

    def _derived(self, runs: IntArray, purpose: int) -> Stream:
        """A stream of the same seed whose runs and purpose have been checked."""
        other = object.__new__(Stream)
        other.seed, other._seed = self.seed, self._seed
        other.runs, other.n_runs, other.purpose = runs, runs.size, purpose
        return other

    def _draw(self, kernel: Callable[..., Any], t: int, items: ArrayLike) -> FloatArray:
        rows = self._rows(items, np.int64, "items")
        out = np.empty((self.n_runs, rows.shape[1]))
        kernel(self._seed, self.runs, _episode(t), rows, self.purpose, out)
        return out

    def _rows(self, values: ArrayLike, dtype: type[Any], name: str) -> AnyArray:
        """`values` as a contiguous (R, K) or, for all runs, (1, K) array; a copy only where it has to be."""
        try:
            array = np.asarray(values)
        except ValueError:
            raise SeedError(f"expected {name} with rows of one length; got a ragged sequence") from None
        if array.dtype != dtype:
            if not np.can_cast(array.dtype, dtype, "same_kind") and array.size:
                raise SeedError(f"expected {name} of type {dtype.__name__}; got {array.dtype}")
            array = array.astype(dtype)
        if array.ndim == 1:
            array = array[np.newaxis]
        elif array.ndim != 2 or array.shape[0] != self.n_runs:
            raise SeedError(f"expected {name} of shape ({self.n_runs}, K), a row per run, or (K,); got {array.shape}")
        return np.ascontiguousarray(array)

    @staticmethod
    def _check_purpose(purpose: int) -> int:
        if not (isinstance(purpose, int | np.integer) and 0 <= purpose < _N_PURPOSES):
            raise SeedError(f"expected a purpose in [0, 256); got {purpose!r}")
        return int(purpose)


def _episode(t: int) -> int:
    try:
        episode = operator.index(t)
    except TypeError:
        episode = -1
    if not 0 <= episode < _N_EPISODES:
        raise SeedError(f"expected an episode t in [0, 2**48); got {t!r}")
    return episode


def _as_runs(runs: Iterable[int] | IntArray) -> IntArray:
    """Run ids as a read-only int64 array of its own."""
    expected = "expected an iterable of run ids in [0, 2**32)"
    try:
        array = np.array(runs if isinstance(runs, np.ndarray) else list(runs))
    except (TypeError, ValueError):
        raise SeedError(f"{expected}, e.g. range(100); got {runs!r}") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise SeedError(f"{expected}; got an array of shape {array.shape} and type {array.dtype}")
    is_wrong = (array < 0) | (array >= _N_RUNS)
    if is_wrong.any():
        raise SeedError(f"{expected}; got {array[is_wrong][0]}")
    return frozen(array.astype(np.int64))
