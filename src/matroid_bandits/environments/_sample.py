"""Weights from each item's own records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.environments._base import Environment, as_numbers, bounds_of
from matroid_bandits.environments._labels import labelled
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class SampleEnvironment(Environment):
    """Independent weights, each drawn uniformly from its item's own past weights, e.g. one of a partner's loans.

    Parameters
    ----------
    samples_per_item : sequence of L array_like of float, or mapping of label to array_like
        The records of each item, one or more; items may have different numbers of them. At most 1e100 in size.

    Examples
    --------
    >>> import numpy as np
    >>> world = SampleEnvironment([[1, 1, 4], [7]])
    >>> world.mean_weights
    array([2., 7.])
    >>> world.draw(Stream(seed=0, runs=[0]), t=1, items=np.array([1]))
    array([[7.]])
    """

    is_independent = True

    def __init__(self, samples_per_item: Sequence[ArrayLike] | Mapping[Any, ArrayLike]) -> None:
        labels, samples_per_item = labelled(samples_per_item)
        try:
            records = list(samples_per_item)
        except TypeError:
            raise InvalidEnvironmentError(
                f"expected a sequence of samples, one array per item; got {samples_per_item!r}"
            ) from None
        samples = [as_numbers(f"samples of item {e}", s, ndim=1) for e, s in enumerate(records)]
        sizes = np.array([s.size for s in samples], dtype=np.int64)
        if not sizes.all():
            raise InvalidEnvironmentError(f"expected a sample or more per item; got none for item {sizes.argmin()}")
        self._sizes = frozen(sizes.astype(np.float64))
        self._starts = frozen(np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)[: sizes.size])
        self._values = frozen(np.concatenate([np.empty(0), *samples]))
        if not np.isfinite(self._values).all():
            where = int(np.isfinite(self._values).argmin())
            item = int(np.searchsorted(self._starts, where, side="right")) - 1
            raise InvalidEnvironmentError(f"expected finite samples; got {self._values[where]} for item {item}")
        bounds = bounds_of("samples", self._values)
        means = np.add.reduceat(self._values, self._starts) / sizes if sizes.size else np.empty(0)
        super().__init__(means, support=bounds, labels=labels)

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        places = (stream.uniform(t, items) * self._sizes[items]).astype(np.int64)
        places += self._starts[items]
        return self._values[places]

    def compiled(self) -> forms.WorldForm:
        return forms.WorldForm(forms.RECORDS, self._sizes, self._sizes, 0, self._values, self._starts)

    def reordered(self, order: IntArray) -> SampleEnvironment:
        records = np.split(self._values, self._starts[1:])
        return SampleEnvironment(
            {self.labels[e]: records[e] for e in order.tolist()} if self.labels else [records[e] for e in order]
        )

    def content(self) -> dict[str, Any]:
        """Return the records alone, since the rounding of means depends on the NumPy version."""
        return {"sizes": self._sizes, "values": self._values}
