"""Worlds that change at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment
from matroid_bandits.environments._hooks import availability_of, delays_of, features_of, means_of
from matroid_bandits.environments._labels import check_labels
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels import forms
from matroid_bandits.stream import DELAY, FEATURES, Stream


class PiecewiseEnvironment(Environment):
    """Piecewise-stationary weights: a sequence of environments over the same items, switched at given episodes.

    Regret is dynamic: against the best set of each episode.

    Parameters
    ----------
    pieces : sequence of Environment
        One or more environments of any kind, including wrappers, drifting and piecewise ones. They share the episode
        count: in episode t the active piece draws the weights of its episode t.
    changes : sequence of int
        The first episode of each piece but the first, from 2, ascending.

    Notes
    ----- Weights observed before episode 1 with ``start="observe"`` come from the first piece. If the means of one of
    the pieces are unknown, regret is NaN.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> day, night = mb.BernoulliEnvironment([0.9, 0.1]), mb.BernoulliEnvironment([0.1, 0.9])
    >>> world = mb.PiecewiseEnvironment([day, night, day], changes=[201, 401])
    >>> world
    <PiecewiseEnvironment: 2 items, 3 pieces>
    >>> problem = mb.Problem(mb.UniformMatroid(2, 1), world)
    >>> result = mb.simulate(problem, [mb.FixedSet([0])], n_episodes=600, n_runs=2, seed=0)
    >>> result.regret[0, -1].round(6), round(result.optimal_value, 6)  # 200 episodes that cost 0.8 each
    (np.float64(160.0), 0.9)
    """

    def __init__(self, pieces: Sequence[Environment], changes: Sequence[int] | IntArray) -> None:
        self._pieces = _as_pieces(pieces)
        self._changes = _as_changes(changes, len(self._pieces))
        first = self._pieces[0]
        for number, piece in enumerate(self._pieces[1:], 1):
            for what in ("n_items", "n_features"):
                mine, theirs = getattr(first, what), getattr(piece, what)
                if mine != theirs:
                    raise InvalidEnvironmentError(
                        f"expected every piece to have {what} = {mine}, as the first; got {theirs} of piece {number}"
                    )
        self._pieces = tuple(_as_first(piece, first, number) for number, piece in enumerate(self._pieces))
        lows, highs = zip(*(piece.support for piece in self._pieces), strict=True)
        only = first.mean_weights if len(self._pieces) == 1 and first.is_stationary else None
        super().__init__(only, (min(lows), max(highs)), n_items=first.n_items, labels=first.labels)
        self.n_features = first.n_features
        # what must be so in every episode or in none is asked of every piece now
        times = list(zip(self._pieces, (1, *self._changes), strict=True))
        self._is_known = all(means_of(piece, t, Stream(0, [0], FEATURES)) is not None for piece, t in times)
        none, late = np.empty((1, 0), np.int64), Stream(0, [0], DELAY)
        self._is_late = any(delays_of(piece, late, t, none) is not None for piece, t in times)

    @property
    def pieces(self) -> tuple[Environment, ...]:
        """The environments, in the order of time."""
        return self._pieces

    @property
    def inner(self) -> tuple[Environment, ...]:
        """The environments that this one is made of."""
        return self._pieces

    @property
    def changes(self) -> tuple[int, ...]:
        """The first episode of each piece but the first."""
        return self._changes

    @property
    def is_stationary(self) -> bool:
        return self._mean_weights is not None

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._piece(t).draw(stream, t, items)

    def means(self, t: int, stream: Stream) -> FloatArray | None:
        return self._piece(t).means(t, stream) if self._is_known else None

    def features(self, stream: Stream, t: int) -> FloatArray | None:
        return features_of(self._piece(t), stream, t)

    def availability(self, stream: Stream, t: int) -> BoolArray | None:
        return availability_of(self._piece(t), stream, t)

    def delays(self, stream: Stream, t: int, items: IntArray) -> IntArray | None:
        delays = delays_of(self._piece(t), stream, t, items)
        if delays is None and self._is_late:
            return np.zeros((stream.n_runs, items.shape[-1]), np.int64)
        return delays

    def compiled(self) -> forms.PiecesForm:
        return forms.PiecesForm(self._pieces, (1, *self._changes))

    def _piece(self, t: int) -> Environment:
        return self._pieces[bisect_right(self._changes, t)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_items} items, {len(self._pieces)} pieces>"


def _as_first(piece: Environment, first: Environment, number: int) -> Environment:
    """A piece with its items in the order of the first, where their means have labels."""
    if piece.labels == first.labels:
        return piece
    if piece.labels is None or first.labels is None:
        raise InvalidEnvironmentError(f"expected labels in every piece or in none; got others in piece {number}")
    check_labels(f"means of piece {number}", piece.labels, first.labels, InvalidEnvironmentError)
    place = {label: e for e, label in enumerate(piece.labels)}
    return piece.reordered(np.array([place[label] for label in first.labels], np.int64))


def _as_pieces(pieces: Sequence[Environment]) -> tuple[Environment, ...]:
    try:
        found = tuple(pieces)
    except TypeError:
        found = ()
    for piece in found:
        if not isinstance(piece, Environment):
            hint = " (the class; an instance is needed)" if isinstance(piece, type) else ""
            raise InvalidEnvironmentError(f"expected every piece to be an Environment; got {shown(piece)}{hint}")
    if not found:
        raise InvalidEnvironmentError(f"expected a sequence of environments, one or more; got {shown(pieces)}")
    return found


def _as_changes(changes: Sequence[int] | IntArray, n_pieces: int) -> tuple[int, ...]:
    try:
        given = None if isinstance(changes, (str, bytes)) else list(changes)
    except TypeError:
        given = None
    if given is None:
        raise InvalidEnvironmentError(f"expected changes to be a row of episodes; got {shown(changes)}")
    found = [as_integer("a change", each, 2, 2**47, error=InvalidEnvironmentError) for each in given]
    if len(found) != n_pieces - 1:
        raise InvalidEnvironmentError(
            f"expected {n_pieces - 1} changes, one for each piece but the first; got {len(found)}"
        )
    for before, after in pairwise(found):
        if after <= before:
            raise InvalidEnvironmentError(f"expected changes that ascend; got {after} after {before}")
    return tuple(found)
