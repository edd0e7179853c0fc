"""Detectors of change: they watch the gains of one item each, for many items at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray
from matroid_bandits._util.checks import as_integer, as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import detection
from matroid_bandits.policies._described import Described

#: Detectors by name, put here by being defined; specs and stored learners find them so.
DETECTORS: dict[str, type[Detector]] = {}


class Detector(Described, ABC):
    """Base class of change detectors: raises an alarm when an item's gains have changed; used by `Restarting`.

    A new detector has two methods: `prepare` makes the arrays kept for each item, `observe` updates them with gains.
    Like a policy it keeps its constructor's arguments in attributes of the same names (an underscore before them is
    allowed), so that it can be stored, and can be found by the name of its class.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> class Surprise(mb.Detector):
    ...     '''An alarm when a gain is far from the last one.'''
    ...     def __init__(self, jump=0.5):
    ...         self.jump = jump
    ...     def prepare(self, shape):
    ...         return {"last": np.full(shape, np.nan)}
    ...     def observe(self, kept, gains):
    ...         is_alarm = np.abs(gains - kept["last"]) > self.jump  # NaN is far from nothing
    ...         kept["last"][:] = gains
    ...         return is_alarm
    >>> learner = mb.Learner(mb.UniformMatroid(1, 1, labels="a"), mb.Restarting(mb.OMM(), Surprise()))
    >>> for weight in (0.5, 0.6, 0.0):
    ...     learner.tell(learner.ask(), [weight])
    >>> learner.estimates().alarms
    array([1])
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not (cls.__name__ in DETECTORS and not cls.__module__.startswith("matroid_bandits.")):
            DETECTORS[cls.__name__] = cls

    @abstractmethod
    def prepare(self, shape: tuple[int, ...]) -> dict[str, AnyArray]:
        """Return the arrays that the detector keeps, by name, in their initial state for items without
        observations."""

    @abstractmethod
    def observe(self, kept: Mapping[str, AnyArray], gains: FloatArray) -> BoolArray:
        """Update the detector's arrays with one gain for each of n items, and return the mask of items with an alarm.

        Parameters
        ----------
        kept : mapping of name to array (n,)
            What is kept of the items, to be written to in place. After an alarm an item starts anew.
        gains : float64 array (n,)
            Weights, or minus the weights when they are costs.

        Returns
        -------
        bool array (n,)
        """


class CUSUM(Detector):
    r"""Change detector by cumulative sums of deviations from an initial mean (Liu, Lee and Shroff, AAAI 2018).

    With u the mean of an item's first M gains, every later gain x makes
    :math:`g^+ = \max(0, g^+ + x - u - \epsilon)` and :math:`g^- = \max(0, g^- + u - x - \epsilon)`. There is an alarm
    when either exceeds h.

    Parameters
    ----------
    n_first : int, default 200
        M, the number of gains in the initial mean.
    tolerance : float, default 0.1
        :math:`\epsilon`, the largest change to ignore, as a share of `width`.
    threshold : float, default 20.0
        h, in units of `width`. A larger threshold gives fewer false alarms and later detection.
    width : float, default 1.0
        Width of the weights' range.

    Notes
    -----
    With the defaults, Bernoulli gains of mean 0.5 raise about 0.05 false alarms per 10,000 plays (with a threshold of
    9.2 it is 1.5), and a jump from 0.2 to 0.8 is found within 100 plays.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.CUSUM(threshold=10.0)
    CUSUM(n_first=200, tolerance=0.1, threshold=10.0, width=1.0)
    """

    def __init__(
        self, n_first: int = 200, tolerance: float = 0.1, threshold: float = 20.0, width: float = 1.0
    ) -> None:
        self._n_first = as_integer("n_first", n_first, 1, 2**47, error=PolicyError)
        self._tolerance = as_number("tolerance", tolerance, 0.0, 1e100, error=PolicyError)
        self._threshold = as_number("threshold", threshold, 0.0, 1e100, error=PolicyError)
        self._width = as_number("width", width, 1e-100, 1e100, error=PolicyError)

    def prepare(self, shape: tuple[int, ...]) -> dict[str, AnyArray]:
        return {"counts": np.zeros(shape, np.int64)} | {name: np.zeros(shape) for name in ("means", "above", "below")}

    def observe(self, kept: Mapping[str, AnyArray], gains: FloatArray) -> BoolArray:
        is_alarm = np.empty(gains.size, bool)
        detection.cusum(
            gains, kept["counts"], kept["means"], kept["above"], kept["below"], self._n_first,
            self._tolerance * self._width, self._threshold * self._width, is_alarm,
        )  # fmt: skip
        return is_alarm
