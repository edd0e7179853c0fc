"""Worlds that change slowly."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits._util.declared import override
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, Family, as_vector, per_item, sized
from matroid_bandits.environments._labels import in_order
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import FEATURES, Stream

#: What a family may override without its compiled form being another.
_FREE = ("content", "mean_range", "support_of", "parameters")


class DriftingEnvironment(Environment):
    r"""Environment whose means move smoothly: linearly to other means, periodically, or both.

    In episode t the mean of item e is :math:`m_e + (m'_e - m_e) \min(t / n_e, 1) + a_e \sin(2 \pi (t / p_e +
    \varphi_e))`. Regret is dynamic: against the best set of each episode.

    Parameters
    ----------
    environment : Family
        The environment that draws weights around the means, and gives the initial means :math:`m`: a Bernoulli,
        exponential, Gaussian, linear or beta environment. A beta environment keeps alpha + beta of each item.
    amplitude : float, or array_like of float, shape (L,), default 0
        Amplitude of the oscillation of each mean, :math:`a`; 0 or more.
    period : float, or array_like of float, shape (L,), default 1000
        Period in episodes, :math:`p`; 1 or more.
    phase : float, or array_like of float, shape (L,), default 0
        Initial phase of each mean as a share of the period, :math:`\varphi`: 0.25 is the maximum, 0.75 the minimum.
    to : array_like of float, shape (L,), optional
        The final means :math:`m'`, such as ``other.mean_weights``; by default the initial ones.
    over : float, or array_like of float, shape (L,), default 1000
        Number of episodes to reach the final means, :math:`n`; 1 or more.

    Notes
    ----- `AvailabilityEnvironment` and `DelayedEnvironment` can wrap a drifting environment, not the reverse. For
    other kinds of drift, write a subclass of `Environment` that defines `means`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> coins = mb.BernoulliEnvironment([0.5, 0.5])
    >>> seasons = mb.DriftingEnvironment(coins, amplitude=0.25, period=400, phase=[0.0, 0.5])
    >>> seasons.means(100, mb.Stream(seed=0, runs=[0]))
    array([0.75, 0.25])
    >>> trend = mb.DriftingEnvironment(coins, to=[0.75, 0.25], over=100)
    >>> trend.means(50, mb.Stream(seed=0, runs=[0]))
    array([0.625, 0.375])
    """

    is_independent = True

    def __init__(
        self,
        environment: Family,
        *,
        amplitude: float | ItemValues = 0.0,
        period: float | ItemValues = 1000.0,
        phase: float | ItemValues = 0.0,
        to: ItemValues | None = None,
        over: float | ItemValues = 1000.0,
    ) -> None:
        if not isinstance(environment, Family) or not environment.is_stationary:
            hint = " (the class; an instance is needed)" if isinstance(environment, type) else ""
            raise InvalidEnvironmentError(
                "expected a family of weights around means, such as a BernoulliEnvironment or a GaussianEnvironment; "
                f"got {shown(environment)}{hint}"
            )
        means, n, labels = environment.mean_weights, environment.n_items, environment.labels
        self._amplitude = per_item("amplitude", amplitude, n, 0.0, labels=labels)
        self._period = per_item("period", period, n, 1.0, labels=labels)
        self._over = per_item("over", over, n, 1.0, labels=labels)
        self._phase = per_item("phase", phase, n, labels=labels)
        self._to = means if to is None else sized("to", as_vector("to", in_order("to", to, labels)), n)
        self._low = np.minimum(means, self._to) - self._amplitude
        self._high = np.maximum(means, self._to) + self._amplitude
        self._check_range(environment)
        for array in (self._low, self._high):
            array.flags.writeable = False
        low, high = min(self._low, default=0.0), max(self._high, default=0.0)
        super().__init__(None, environment.support_of(low, high), n_items=n, labels=labels)
        self._environment = environment

    @property
    def environment(self) -> Family:
        """The environment that draws weights around the means, and gives the initial means."""
        return self._environment

    def means(self, t: int, stream: Stream) -> FloatArray:
        """Return the means (L,) of episode t, the same in all runs."""
        start = self._environment.mean_weights
        path = start + (self._to - start) * np.minimum(t / self._over, 1.0)
        path += self._amplitude * np.sin(2.0 * np.pi * ((t / self._period + self._phase) % 1.0))
        found: FloatArray = np.clip(path, self._low, self._high)  # where rounding leads out
        return found

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._environment.draw_around(stream, t, items, self.means(t, stream)[items])

    def compiled(self) -> forms.MovingForm | None:
        inner, stream = self._environment.compiled(), Stream(0, [0], FEATURES)
        if not isinstance(inner, forms.WorldForm) or override(self._environment, "compiled", _FREE) is not None:
            return None
        return forms.MovingForm(inner.kind, self._environment.parameters, lambda t: self.means(t, stream))

    def _check_range(self, environment: Family) -> None:
        low, high = environment.mean_range
        is_out = ~((self._low >= low) & (self._high <= high))
        if is_out.any():
            e = int(is_out.argmax())
            raise InvalidEnvironmentError(
                f"expected the means of {type(environment).__name__} to stay in [{low:g}, {high:g}]; got item {e}, "
                f"whose mean moves between {self._low[e]:g} and {self._high[e]:g}"
            )

    def __repr__(self) -> str:
        about = f", means {self._low.min():.4g} to {self._high.max():.4g}" if self.n_items else ""
        return f"<{type(self).__name__} of {type(self._environment).__name__}: {self.n_items} items{about}>"
