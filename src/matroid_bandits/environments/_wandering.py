"""Worlds whose means wander at random: random walks and autoregressive processes, at any episode at once."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, ItemValues
from matroid_bandits._util.checks import MOST_WEIGHT, as_number
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, Family, per_item
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import PATH, Stream


class Wandering(Environment):
    """A family of weights whose means follow a random path, one in each run.

    The path is a Gaussian Markov process: a class says how to continue it and how to fill in the middle between two
    values. Every episode has one normal of its own: that of a power of two continues the path from the power before,
    any other fills in the middle between two episodes that are settled before it. So the value in episode t needs at
    most 2 log2(t) + 3 normals, and is the same in whatever order episodes are asked for.

    Parameters
    ----------
    environment : Family
        How weights are drawn around their means, and the means around which, or from which, they wander.
    low, high : float, optional
        Bounds of the means; by default those that the family needs.
    """

    is_independent = True

    def __init__(self, environment: Family, low: float | None, high: float | None) -> None:
        if not isinstance(environment, Family) or not environment.is_stationary:
            hint = " (the class; an instance is needed)" if isinstance(environment, type) else ""
            raise InvalidEnvironmentError(
                "expected a family of weights around means, such as a BernoulliEnvironment or a GaussianEnvironment; "
                f"got {shown(environment)}{hint}"
            )
        least, most = environment.mean_range
        self._low = least if low is None else as_number("low", low, least, most, error=InvalidEnvironmentError)
        self._high = most if high is None else as_number("high", high, least, most, error=InvalidEnvironmentError)
        if not self._low < self._high:
            raise InvalidEnvironmentError(f"expected low below high; got {self._low:g} and {self._high:g}")
        means = environment.mean_weights
        is_out = (means < self._low) | (means > self._high)
        if is_out.any():
            e = int(is_out.argmax())
            raise InvalidEnvironmentError(
                f"expected means in [{self._low:g}, {self._high:g}] to begin with; got {means[e]:g} for item {e}"
            )
        n_items, labels = environment.n_items, environment.labels
        super().__init__(None, environment.support_of(self._low, self._high), n_items=n_items, labels=labels)
        self._environment = environment
        self._items = np.arange(self.n_items)
        self._items.flags.writeable = False

    @property
    def environment(self) -> Family:
        """The environment that draws weights around the means, and gives the initial means."""
        return self._environment

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the means."""
        return self._low, self._high

    @abstractmethod
    def _first(self, items: IntArray, z: FloatArray) -> FloatArray:
        """The path of some items in episode 0, of standard normals."""

    @abstractmethod
    def _later(self, items: IntArray, start: FloatArray, n: int, z: FloatArray) -> FloatArray:
        """The path n episodes after one in which it is `start`."""

    @abstractmethod
    def _between(self, items: IntArray, start: FloatArray, end: FloatArray, n: int, z: FloatArray) -> FloatArray:
        """The path in the middle between two episodes, n from each."""

    @abstractmethod
    def _bounded(self, means: FloatArray) -> FloatArray:
        """Means that were free to go anywhere, brought into the bounds."""

    def path(self, t: int, stream: Stream, items: IntArray | None = None) -> FloatArray:
        """Return the distance of items (by default all) from their initial means in episode t of each run, without
        bounds."""
        own, items = stream.with_purpose(PATH), self._items if items is None else items
        before = self._first(items, own.normal(0, items))
        if t == 0:
            return before
        b, after = 1, self._later(items, before, 1, own.normal(1, items))
        while b < t:
            b, before = 2 * b, after
            after = self._later(items, before, b // 2, own.normal(b, items))
        a = b // 2
        while b != t:
            middle = (a + b) // 2
            value = self._between(items, before, after, middle - a, own.normal(middle, items))
            a, b, before, after = (a, middle, before, value) if t <= middle else (middle, b, value, after)
        return after

    def means(self, t: int, stream: Stream) -> FloatArray:
        """Return the means (R, L) of episode t, different in each run."""
        return self._means(t, stream, self._items)

    def _means(self, t: int, stream: Stream, items: IntArray) -> FloatArray:
        found = self._bounded(self._environment.mean_weights[items] + self.path(t, stream, items))
        return np.clip(found, self._low, self._high, out=found)  # where rounding leads out

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        means = self._means(t, stream, items)
        return self._environment.draw_around(stream, t, np.broadcast_to(items, means.shape), means)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {type(self._environment).__name__}: {self.n_items} items{self._about()}>"

    def _about(self) -> str:
        if not self.n_items or max(-self._low, self._high) >= MOST_WEIGHT:
            return ""
        return f", means in [{self._low:.4g}, {self._high:.4g}]"


class RandomWalkEnvironment(Wandering):
    r"""Environment with drifting means: each item's mean is a random walk, reflected at bounds.

    The mean of item e is :math:`m_e` before episode 1 and moves by a normal step of standard deviation
    :math:`\sigma_e` in every episode, independently of other items and runs. At `low` and `high` it is
    **reflected**: a step that would end at high + x ends at high - x. Regret is dynamic: against the best set of
    each episode.

    Parameters
    ----------
    environment : Family
        The environment that draws weights around the means, and gives the initial means :math:`m`: a Bernoulli,
        exponential, Gaussian, linear or beta environment. A beta environment keeps alpha + beta of each item.
    step : float, or array_like of float, shape (L,), default 0.01
        The standard deviation of a step, :math:`\sigma`; 0 or more. After t episodes a walk is
        :math:`\sigma_e \sqrt t` from where it began, bounds aside.
    low, high : float, optional
        Where walks are reflected; by default at the ends of what the family allows, for Bernoulli weights 0 and 1.

    Notes
    -----
    The walk is exact at any episode: its value in episode t is a function of (seed, run, item, t) that takes about
    2 log2(t) random numbers, whatever was asked for before. Reflecting the free walk at the end is the same process
    as reflecting every step, since steps are symmetric.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.RandomWalkEnvironment(mb.BernoulliEnvironment([0.5, 0.5]), step=0.02)
    >>> world
    <RandomWalkEnvironment of BernoulliEnvironment: 2 items, means in [0, 1]>
    >>> stream = mb.Stream(seed=0, runs=range(3))
    >>> far = world.means(10**12, stream)
    >>> far.shape, bool(((far >= 0) & (far <= 1)).all())
    ((3, 2), True)
    >>> bool((world.means(10**12, stream.take([2])) == far[2]).all())
    True
    """

    def __init__(
        self,
        environment: Family,
        step: float | ItemValues = 0.01,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__(environment, low, high)
        self._step = per_item("step", step, self.n_items, 0.0, labels=self.labels)

    def _first(self, items: IntArray, z: FloatArray) -> FloatArray:
        return np.zeros_like(z)

    def _later(self, items: IntArray, start: FloatArray, n: int, z: FloatArray) -> FloatArray:
        later: FloatArray = start + self._step[items] * np.sqrt(n) * z
        return later

    def _between(self, items: IntArray, start: FloatArray, end: FloatArray, n: int, z: FloatArray) -> FloatArray:
        between: FloatArray = 0.5 * (start + end) + self._step[items] * np.sqrt(0.5 * n) * z
        return between

    def _bounded(self, means: FloatArray) -> FloatArray:
        means = np.where(means < self._low, 2.0 * self._low - means, means)
        width = self._high - self._low
        beyond = means > self._high
        folded = np.mod(means[beyond] - self._low, 2.0 * width)
        means[beyond] = self._low + np.minimum(folded, 2.0 * width - folded)
        return means


class AutoregressiveEnvironment(Wandering):
    r"""Environment with drifting means: each item's mean is a stationary AR(1) process around a usual mean.

    The mean of item e in episode t is :math:`m_e + x_{e,t}`, **clipped** to [low, high], where
    :math:`x_{e,t} = \rho_e x_{e,t-1} + \sqrt{1 - \rho_e^2}\, s_e z_{e,t}` with standard normals z, independent
    over items, episodes and runs, and :math:`x_{e,0}` of the same law :math:`N(0, s_e^2)` as any other. Regret is
    dynamic.

    Parameters
    ----------
    environment : Family
        How weights are drawn around their means, and the usual means :math:`m`.
    deviation : float, or array_like of float, shape (L,), default 0.1
        How far means are from usual, a standard deviation :math:`s`; 0 or more.
    correlation : float, or array_like of float, shape (L,), default 0.99
        Of the deviations of two episodes that follow each other, :math:`\rho`, from 0 to 1; after
        :math:`1 / (1 - \rho)` episodes about a third of it is left.
    low, high : float, optional
        Where means are clipped; by default at the ends of what the family allows, for Bernoulli weights 0 and 1.

    Notes
    -----
    Exact at any episode, as `RandomWalkEnvironment` is. What is clipped is the mean that is shown, not the process.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.AutoregressiveEnvironment(mb.GaussianEnvironment([1.0, 2.0]), deviation=0.3, correlation=0.9)
    >>> world
    <AutoregressiveEnvironment of GaussianEnvironment: 2 items>
    >>> means = world.means(5000, mb.Stream(seed=0, runs=range(1000)))
    >>> means.mean(axis=0).round(1), means.std(axis=0).round(1)
    (array([1., 2.]), array([0.3, 0.3]))
    """

    def __init__(
        self,
        environment: Family,
        deviation: float | ItemValues = 0.1,
        correlation: float | ItemValues = 0.99,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__(environment, low, high)
        self._deviation = per_item("deviation", deviation, self.n_items, 0.0, labels=self.labels)
        self._correlation = per_item("correlation", correlation, self.n_items, 0.0, 1.0, self.labels)

    def _first(self, items: IntArray, z: FloatArray) -> FloatArray:
        first: FloatArray = self._deviation[items] * z
        return first

    def _later(self, items: IntArray, start: FloatArray, n: int, z: FloatArray) -> FloatArray:
        q, rest = self._powers(items, n)
        later: FloatArray = q * start + self._deviation[items] * np.sqrt(rest) * z
        return later

    def _between(self, items: IntArray, start: FloatArray, end: FloatArray, n: int, z: FloatArray) -> FloatArray:
        q, rest = self._powers(items, n)
        between: FloatArray = q * (start + end) / (1.0 + q * q)
        between += self._deviation[items] * np.sqrt(rest / (1.0 + q * q)) * z
        return between

    def _powers(self, items: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """What is left of a deviation after n episodes, and 1 less its square, without cancellation."""
        with np.errstate(divide="ignore"):
            logs = n * np.log(self._correlation[items])
        return np.exp(logs), -np.expm1(2.0 * logs)

    def _bounded(self, means: FloatArray) -> FloatArray:
        return means  # clipped by `means`
