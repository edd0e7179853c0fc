"""Weights that are not drawn: the rows of a table, one after the other."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer
from matroid_bandits.environments._base import Environment, as_numbers, bounds_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import Stream


class TraceEnvironment(Environment):
    """Weights replayed from the rows of a table in order, one row per episode: a recording or an adversary's
    sequence.

    Nothing is drawn: all runs meet the same weights, and only the policies differ from run to run. After the last
    row the first comes again.

    Parameters
    ----------
    rows : array_like of float, shape (n_rows, L)
        The weights of every item in episode 1, 2, ...; at most 1e100 in size.

    Notes
    -----
    The weights of an episode are their own means, so regret in a simulation is against the best set of each row,
    which no policy could know. Adversarial regret is against the best set in hindsight: play that beside the others,
    as ``FixedSet(constraint.max_weight_basis(world.totals(n_episodes)))``, and look at the differences. What is seen
    before episode 1 with ``start="observe"`` is the first row.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.TraceEnvironment([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
    >>> world.draw(mb.Stream(seed=0, runs=range(2)), t=3, items=np.array([0, 2]))
    array([[0., 1.],
           [0., 1.]])
    >>> world.totals(4)  # the first row twice
    array([2., 2., 1.])
    """

    def __init__(self, rows: ArrayLike) -> None:
        table = frozen(as_numbers("rows of weights", rows, ndim=2).astype(np.float64))
        if not table.shape[0]:
            raise InvalidEnvironmentError("expected at least one row; got none")
        if not np.isfinite(table).all():
            row, item = np.argwhere(~np.isfinite(table))[0]
            raise InvalidEnvironmentError(
                f"expected finite weights; got {table[row, item]} for item {item} in row {row}"
            )
        super().__init__(None, bounds_of("weights", table), n_items=table.shape[1])
        self._rows = table

    @property
    def n_rows(self) -> int:
        """Number of rows, after which the first row is played again."""
        return int(self._rows.shape[0])

    @property
    def rows(self) -> FloatArray:
        """The weights, (n_rows, L), read-only."""
        return self._rows

    def totals(self, n_episodes: int) -> FloatArray:
        """Return the sum (L,) of each item's weights over the first `n_episodes` episodes."""
        n = as_integer("n_episodes", n_episodes, error=InvalidEnvironmentError)
        n_whole, rest = divmod(n, self.n_rows)
        totals: FloatArray = n_whole * self._rows.sum(axis=0) + self._rows[:rest].sum(axis=0)
        return totals

    def means(self, t: int, stream: Stream) -> FloatArray:
        """Return the weights (L,) of episode t, which are their own means."""
        row: FloatArray = self._rows[max(t - 1, 0) % self.n_rows]
        return row

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """Return the weights of episode t; the stream is not used."""
        return np.ascontiguousarray(np.broadcast_to(self.means(t, stream)[items], (stream.n_runs, items.shape[-1])))

    def compiled(self) -> forms.MovingForm:
        """Return the form for compiled episodes: normal weights without noise."""
        stream, silent = Stream(0, [0]), frozen(np.zeros(self.n_items))
        return forms.MovingForm(forms.GAUSSIAN, lambda means: (means, silent), lambda t: self.means(t, stream))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_items} items, {self.n_rows} rows>"
