"""Weights from the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.environments._base import Environment, as_numbers, bounds_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.kernels import sparse as kernels
from matroid_bandits.stream import Stream


class RowEnvironment(Environment):
    """Weights resampled from a data set: each episode draws one row uniformly, e.g. one person's ratings.

    Weights are dependent across items, as they are in the data, and independent across episodes and runs.

    Parameters
    ----------
    matrix : array_like of shape (n_rows, L), or a SciPy sparse matrix or array
        Numbers of any type, at most 1e100 in size. Neither a dense array nor a sparse one in canonical CSR form is
        copied; it must not be changed afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> world = RowEnvironment([[0, 1, 1], [1, 0, 0]])
    >>> world.mean_weights
    array([0.5, 0.5, 0.5])
    >>> weights = world.draw(Stream(seed=0, runs=range(100)), t=1, items=np.array([0, 1, 2]))
    >>> bool((weights[:, 1] == weights[:, 2]).all() and (weights[:, 0] != weights[:, 1]).all())
    True
    """

    _dense: AnyArray | None = None

    def __init__(self, matrix: ArrayLike | Any) -> None:
        if hasattr(matrix, "tocsr"):
            csr = matrix.tocsr()
            _check_csr(csr)
            if not csr.has_canonical_format:
                csr = csr.copy()
                csr.sum_duplicates()
            n_rows, n_items = csr.shape
            entries = as_numbers("weights", csr.data, ndim=1)
            self._indptr, self._indices, self._data = frozen(csr.indptr), frozen(csr.indices), frozen(entries)
            has_zeros = entries.size < n_rows * n_items
        else:
            entries = as_numbers("rows of weights", matrix, ndim=2)
            n_rows, n_items = entries.shape
            self._dense = frozen(entries)
            has_zeros = False
        if n_rows == 0:
            raise InvalidEnvironmentError("expected at least one row; got none")
        with np.errstate(over="ignore", invalid="ignore"):
            if self._dense is None:
                means = np.bincount(self._indices, weights=entries, minlength=n_items) / n_rows
            else:
                means = entries.mean(axis=0, dtype=np.float64)
        if not np.isfinite(means).all():  # what is not finite shows in the mean: no need for a mask of the matrix
            item = int(np.isfinite(means).argmin())
            raise InvalidEnvironmentError(f"expected finite weights; got NaN or infinity for item {item}")
        low, high = bounds_of("weights", entries)
        super().__init__(means, support=(min(low, 0.0), max(high, 0.0)) if has_zeros else (low, high))
        self._n_rows = int(n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows of the data set."""
        return self._n_rows

    @property
    def rows(self) -> AnyArray | tuple[AnyArray, AnyArray, AnyArray]:
        """The data set: an array (n_rows, L), or the indptr, indices and data of a sparse one."""
        return (self._indptr, self._indices, self._data) if self._dense is None else self._dense

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        rows = (stream.run_uniform(t) * self._n_rows).astype(np.int64)
        if self._dense is not None:
            return self._dense[rows[:, np.newaxis], items].astype(np.float64, copy=False)
        weights = np.empty((stream.n_runs, items.shape[-1]))
        kernels.lookup(self._indptr, self._indices, self._data, rows, np.atleast_2d(items), weights)
        return weights

    def compiled(self) -> forms.WorldForm:
        means, n_rows = self.mean_weights, self._n_rows
        if self._dense is not None:
            return forms.WorldForm(forms.DENSE, means, means, n_rows, self._dense)
        return forms.WorldForm(forms.SPARSE, means, means, n_rows, self._data, self._indptr, self._indices)

    def content(self) -> dict[str, Any]:
        """Return the data alone, since the rounding of means depends on the NumPy version."""
        return {name: value for name, value in super().content().items() if name != "_mean_weights"}


def _check_csr(csr: Any) -> None:
    """SciPy trusts the arrays it is given; compiled lookups must not."""
    if len(csr.shape) != 2:
        raise InvalidEnvironmentError(f"expected rows of weights in a 2-D array; got shape {csr.shape}")
    n_rows, n_items = csr.shape
    indptr, indices = csr.indptr, csr.indices
    is_sound = indptr.size == n_rows + 1 and indptr[0] == 0 and indptr[-1] == indices.size == csr.data.size
    if not is_sound or (np.diff(indptr) < 0).any():
        raise InvalidEnvironmentError(
            f"expected a sparse matrix whose indptr ascends from 0 to {indices.size}, its number of entries, in "
            f"{n_rows} steps, one per row; got other bounds"
        )
    if indices.size and not (indices.min() >= 0 and indices.max() < n_items):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise InvalidEnvironmentError(
            f"expected column indices in 0..{n_items - 1}, as the sparse matrix is of shape {csr.shape}; got {wrong}"
        )
