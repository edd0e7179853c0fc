"""What environments around another environment share."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_number
from matroid_bandits.environments._base import Environment, as_vector, availability_of, delays_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream


class Wrapper(Environment):
    """Another environment as it is; a subclass changes what it is about.

    Parameters
    ----------
    environment : Environment
        The other one.
    """

    def __init__(self, environment: Environment) -> None:
        if not isinstance(environment, Environment):
            hint = " (the class; an instance is needed)" if isinstance(environment, type) else ""
            raise InvalidEnvironmentError(f"expected an Environment to wrap; got {environment!r}{hint}")
        super().__init__(environment.mean_weights, environment.support)
        self._environment = environment
        # where the draws of the item numbers begin: wrappers of one kind inside each other share no random number
        depth, inner = 0, environment
        while isinstance(inner, Wrapper):
            depth, inner = depth + (type(inner) is type(self)), inner.environment
        self._first = depth * self.n_items

    @property
    def environment(self) -> Environment:
        """The environment that is wrapped."""
        return self._environment

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._environment.draw(stream, t, items)

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        return availability_of(self._environment, stream, t)

    def delays(self, stream: Stream, t: int, items: IntArray) -> IntArray | None:
        return delays_of(self._environment, stream, t, items)

    def _per_item(self, name: str, values: Any, high: float) -> FloatArray:
        """A number in [0, high] for each item, of one for all or of a row."""
        if isinstance(values, (int, float, np.generic)):
            values = np.full(self.n_items, as_number(name, values, 0.0, high, error=InvalidEnvironmentError))
        return self._sized(name, as_vector(name, values, 0.0, high))

    def _sized(self, name: str, values: AnyArray) -> AnyArray:
        if values.size != self.n_items:
            raise InvalidEnvironmentError(f"expected {name} of {self.n_items} items, one each; got {values.size}")
        return frozen(values)
