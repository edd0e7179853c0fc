"""Answers that come late or never."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, as_numbers, per_item, sized
from matroid_bandits.environments._labels import in_order
from matroid_bandits.environments._wrapper import Wrapper
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms, random
from matroid_bandits.stream import Stream

#: Delays of items chosen in an episode, int64 (R, K); negative for an answer that never comes.
Schedule = Callable[[Stream, int, IntArray], IntArray]

#: The longest delay, and the largest mean of one: later than the last episode of any simulation.
_MOST = 2**47


class DelayedEnvironment(Wrapper):
    r"""Wrapper that delays the feedback of another environment; some weights may never be observed.

    Feedback on a play of episode t with delay d is learnt after the decision of episode t + d, before that of the
    next: with delay 0 at once. Until then the play is pending (see `State`); without feedback it stays pending
    forever. Returns and regret count in the episode of the decision.

    Parameters
    ----------
    environment : Environment
        The distribution of the weights.
    delays : int, array_like of int, shape (L,), or callable, default 0
        The delay of each item's feedback in episodes, or one number for all. Or a function of (stream, t, items) that
        returns an int64 array (R, K) for items of shape (R, K) or (K,), negative for never, as `Environment.delays`
        does; it takes its random numbers from the stream.
    mean : float, or array_like of float, shape (L,), default 0
        The mean of a geometric number of episodes, drawn for each answer, that is added to `delays`: it is k or more
        with probability :math:`(m / (1 + m))^k`.
    never : float, or array_like of float, shape (L,), default 0
        The probability that the feedback never arrives.

    Notes
    ----- Wrappers nest. Delays add up, their draws are independent, and feedback arrives unless one of them is
    "never".

    Simulations play whole episodes in compiled code around any environment that has a compiled form, with the same
    bits, unless the delays are a function or may be too long for the plays that wait to be kept in memory;
    `compiled.explain` says so.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> world = mb.BernoulliEnvironment([0.9, 0.5, 0.1])
    >>> late = mb.DelayedEnvironment(world, [0, 5, 20], never=[0.0, 0.0, 1.0])
    >>> late.delays(mb.Stream(seed=0, runs=range(2)), t=1, items=np.array([1, 2]))
    array([[ 5, -1],
           [ 5, -1]])
    >>> clicks = mb.Problem(mb.UniformMatroid(3, 1), mb.DelayedEnvironment(world, mean=50, never=0.1))
    >>> result = mb.simulate(clicks, [mb.OMM()], n_episodes=300, n_runs=10, seed=0, start="explore")
    >>> bool((result.choices > 0).all())
    True
    """

    def __init__(
        self,
        environment: Environment,
        delays: int | ItemValues | Schedule = 0,
        *,
        mean: float | ItemValues = 0.0,
        never: float | ItemValues = 0.0,
    ) -> None:
        super().__init__(environment)
        self._schedule = delays if callable(delays) else None
        self._fixed = np.zeros(self.n_items, np.int64) if callable(delays) else self._as_delays(delays)
        self._fixed.flags.writeable = False
        self._mean = per_item("mean", mean, self.n_items, 0.0, float(_MOST), self.labels)
        self._never = per_item("never", never, self.n_items, 0.0, 1.0, self.labels)
        self._is_random = bool(self._mean.any() or self._never.any())
        self._is_late = self._is_random or self._schedule is not None or bool(self._fixed.any())

    def delays(self, stream: Stream, t: int, items: IntArray) -> IntArray | None:
        """Return the delays of the wrapped environment plus those of this one."""
        inner = super().delays(stream, t, items)
        if not self._is_late:
            return inner
        shape = (stream.n_runs, items.shape[-1])
        mine = self._scheduled(stream, t, items, shape)
        if self._is_random:
            drawn = self._drawn(stream.uniform(t, items + self._first), items)
            mine = np.where((mine < 0) | (drawn < 0), -1, mine + drawn)
        return mine if inner is None else np.where((mine < 0) | (inner < 0), -1, mine + inner)

    def compiled(self) -> forms.DelayedForm:
        fixed = self._fixed if self._schedule is None else None
        rate = self._rate if self._is_random else None
        return forms.DelayedForm(self._environment, fixed, self._never, rate, self._first)

    @cached_property
    def _rate(self) -> FloatArray:
        """The rate (L,) at which probabilities of longer delays fall, infinite for a mean of 0."""
        with np.errstate(divide="ignore"):
            return frozen(np.log1p(1.0 / self._mean))

    def _drawn(self, u: FloatArray, items: IntArray) -> IntArray:
        """Geometric numbers of uniform ones; the least of those, a share `never`, become -1 for never."""
        drawn = np.empty(u.shape, np.int64)
        rows = np.ascontiguousarray(np.atleast_2d(items))
        random.geometrics(u, rows, self._never, self._rate, drawn)
        return drawn

    def _scheduled(self, stream: Stream, t: int, items: IntArray, shape: tuple[int, int]) -> IntArray:
        if self._schedule is None:
            return np.ascontiguousarray(np.broadcast_to(self._fixed[items], shape))
        given = self._schedule(stream, t, items)
        if not (isinstance(given, np.ndarray) and given.dtype == np.int64 and given.shape == shape):
            got = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else shown(given)
            raise InvalidEnvironmentError(
                f"expected delays(stream, {t}, items) to give int64 of shape {shape}; got {got}"
            )
        return np.minimum(given, _MOST)

    def _as_delays(self, delays: int | ItemValues) -> IntArray:
        """A fixed delay for each item, of one for all or of a row."""
        if isinstance(delays, (int, float, np.generic)):
            one = as_integer("delays", delays, 0, _MOST, error=InvalidEnvironmentError)
            return np.full(self.n_items, one)
        row = as_numbers("delays", in_order("delays", delays, self.labels), ndim=1)
        if row.dtype.kind not in "iu" and row.size:
            raise InvalidEnvironmentError(f"expected delays to be whole numbers of episodes; got type {row.dtype}")
        is_wrong = (row < 0) | (row > _MOST)
        if is_wrong.any():
            e = int(is_wrong.argmax())
            raise InvalidEnvironmentError(
                f"expected delays from 0 to {_MOST}; got {row[e]} for item {e} (never=1 is for what never comes)"
            )
        fixed: IntArray = sized("delays", row, self.n_items).astype(np.int64)
        return fixed
