"""Visitors of whom something is known: a data set with a row per person, and what each person's group likes."""

from __future__ import annotations

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits.environments import Environment
from matroid_bandits.stream import FEATURES, Stream


class VisitorEnvironment(Environment):
    """Each episode one person, chosen uniformly, whose group is known before the decision and decides the features.

    The weights are the person's row. Given the group, the person is any of it, so the mean of an item is the mean of
    the group's rows. Regret is against the best set for these means: without knowing the person none is better.

    Parameters
    ----------
    rows : array of shape (n_people, L)
        What each person likes.
    groups : int array (n_people,)
        The group of each person, from 0; no group is empty.
    features : float array (n_groups, L, d)
        The features of the items when a person of the group comes.
    """

    n_features: int

    def __init__(self, rows: AnyArray, groups: IntArray, features: FloatArray) -> None:
        super().__init__(support=(float(rows.min()), float(rows.max())), n_items=rows.shape[1])
        self._rows, self._groups, self._features = (frozen(array) for array in (rows, groups, features))
        self._means = frozen(np.stack([rows[groups == g].mean(axis=0) for g in range(len(features))]))
        self.n_features = features.shape[2]

    @property
    def group_means(self) -> FloatArray:
        """What each group likes, a row per group."""
        return self._means

    @property
    def overall_means(self) -> FloatArray:
        """What people of all groups like on average."""
        means: FloatArray = self._rows.mean(axis=0)
        return means

    def features(self, stream: Stream, t: int) -> FloatArray:
        return self._features[self._groups[self._people(stream, t)]]

    def means(self, t: int, stream: Stream) -> FloatArray:
        return self._means[self._groups[self._people(stream, t)]]

    def draw(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        return self._rows[self._people(stream, t)[:, None], items].astype(np.float64)

    def _people(self, stream: Stream, t: int) -> IntArray:
        """Who comes in each run: the same person, whatever is asked about them."""
        u = stream.with_purpose(FEATURES).run_uniform(t)
        return (u * len(self._rows)).astype(np.int64)
