"""Lists that are read from the top: what is seen of them, and what they are worth."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.text import shown
from matroid_bandits.environments._base import Environment, as_vector
from matroid_bandits.environments._wrapper import Wrapper
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.stream import Stream


class ListEnvironment(Wrapper):
    """Base class of wrappers that show the chosen sets as lists, and in which not every chosen weight is seen.

    Weights are those of the wrapped environment, in [0, 1]. A simulation shows each set in the policy's order (see
    `Agent.order`); `look` says what is seen of it, `worth` what it is worth.

    Attributes
    ----------
    feedback : "cascade" or "positions"
        The kind of feedback that a policy must take (`Policy.takes`), a class attribute.
    multiplies : bool
        Whether the worth is a product, which is the expected one only where the items are independent.
    worst_first : bool
        Whether lists are shown in reverse.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.environments import ListEnvironment
    >>> isinstance(mb.CascadeEnvironment(mb.BernoulliEnvironment([0.5, 0.5])), ListEnvironment)
    True
    """

    feedback: ClassVar[Literal["cascade", "positions"]]
    multiplies: bool = True
    worst_first: bool = False

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        if environment.lists is not None:
            raise InvalidEnvironmentError(
                f"expected an environment whose weights are seen as they are; got {environment!r}"
            )
        low, high = environment.support
        if low < 0.0 or high > 1.0:
            raise InvalidEnvironmentError(
                f"expected weights in [0, 1], chances of a click or a success; this environment's lie in [{low:g}, "
                f"{high:g}]"
            )
        self._support = 0.0, high  # an item that was not looked at is not clicked

    @property
    def lists(self) -> ListEnvironment:
        """The environment itself."""
        return self

    @abstractmethod
    def look(
        self, stream: Stream, t: int, items: IntArray, weights: FloatArray, places: IntArray
    ) -> tuple[FloatArray, BoolArray | None]:
        """Return what is seen of the lists of episode t.

        Parameters
        ----------
        stream : Stream
            Random numbers by address, of purpose `ATTENTION`.
        t : int
            The episode.
        items, weights, places : arrays (R, W)
            The items of each run, their weights and the places at which they are shown; where a list is shorter, the
            place is -1 in the last columns.

        Returns
        -------
        weights : float64 array (R, W)
            What is observed of each item.
        is_seen : bool array (R, W), or None
            Which items were looked at, so that something is learnt of them; None for all.
        """

    @abstractmethod
    def worth(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """Return the worth (R,) of lists whose items have some weights (R, W) at some places (R, W), -1 for none.

        Of mean weights it is the expected worth, where `multiplies` only if the items are independent.
        """

    def earned(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """Return what lists have earned (R,) of which the given weights (R, W) were observed; by default `worth`."""
        return self.worth(weights, places)


class CascadeEnvironment(ListEnvironment):
    r"""Wrapper that shows lists which are read from the top until something happens.

    With ``until="click"`` a visitor reads until the first item of weight 1, a click, and the list is worth 1 if there
    is one: :math:`1 - \prod_e (1 - \bar w_e)` on average (cascading bandits: Kveton, Szepesvari, Wen and Ashkan, ICML
    2015). With ``until="failure"`` items are tried until the first of weight 0, and the list is worth 1 if all work:
    :math:`\prod_e \bar w_e` (Kveton, Wen, Ashkan and Szepesvari, NIPS 2015), such as a route whose links must all be
    up. Items behind that one are not seen: nothing is learnt of them.

    Parameters
    ----------
    environment : Environment
        The distribution of the weights, which are 0 or 1.
    until : "click" or "failure", default "click"
        What ends the reading.
    order : "best" or "explore", default "best"
        Lists begin with the item of largest index, or of smallest: the worth is the same, and more is seen of the
        items that are known least.

    Notes
    -----
    Regret is of the worth, and needs independent items (`Environment.is_independent`): it is NaN elsewhere. Any
    non-empty set has an order; the best set of a matroid is that of largest sum.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.CascadeEnvironment(mb.BernoulliEnvironment([0.5, 0.5, 0.2, 0.1]))
    >>> problem = mb.Problem(mb.UniformMatroid(4, 2), world)
    >>> problem.optimal_value, problem.worth([0, 2], world.mean_weights)
    (0.75, 0.6)
    >>> result = mb.simulate(problem, mb.OMM(0.2), n_episodes=1000, n_runs=4, seed=0)
    >>> bool(0 < result.regret[0, -1] < 100)
    True
    """

    feedback = "cascade"

    def __init__(
        self,
        environment: Environment,
        until: Literal["click", "failure"] = "click",
        order: Literal["best", "explore"] = "best",
    ) -> None:
        super().__init__(environment)
        if until not in ("click", "failure"):
            raise InvalidEnvironmentError(f'expected until to be "click" or "failure", got {shown(until)}')
        if order not in ("best", "explore"):
            raise InvalidEnvironmentError(f'expected order to be "best" or "explore", got {shown(order)}')
        self._until, self._order = until, order
        self.worst_first = order == "explore"

    @property
    def until(self) -> str:
        """The event that ends the reading of a list, "click" or "failure"."""
        return self._until

    def look(
        self, stream: Stream, t: int, items: IntArray, weights: FloatArray, places: IntArray
    ) -> tuple[FloatArray, BoolArray | None]:
        """Return the weights, and which items come no later than the first click, or failure."""
        if not ((weights == 0.0) | (weights == 1.0)).all():
            wrong = weights[(weights != 0.0) & (weights != 1.0)][0]
            raise InvalidEnvironmentError(
                f"expected weights 0 or 1 in a list that is read until a {self._until}; got {wrong:g}"
            )
        ends = (weights == (1.0 if self._until == "click" else 0.0)) & (places >= 0)
        last = np.where(ends, places, items.shape[1]).min(axis=1, initial=items.shape[1])
        return weights, places <= last[:, None]

    def worth(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """Return the chance (R,) of a click, or that all items work; 0 for empty lists."""
        if not places.shape[1]:
            return np.zeros(places.shape[0])
        is_click, is_shown = self._until == "click", places >= 0
        chances = np.where(is_shown, 1.0 - weights if is_click else weights, 1.0)
        every: FloatArray = chances.cumprod(axis=1, dtype=np.float64)[:, -1]  # one by one, whatever the width
        return 1.0 - every if is_click else np.where(is_shown.any(axis=1), every, 0.0)


class PositionEnvironment(ListEnvironment):
    r"""Wrapper that shows lists whose places are looked at less often the further down they are.

    Place l is looked at with chance :math:`\kappa_l`, independently in each episode, and an item that is not looked
    at has an observed weight of 0: a click on it has chance :math:`\kappa_l \bar w_e`. A list is worth its clicks,
    :math:`\sum_l \kappa_l \bar w_{(l)}` on average (Lagree, Vernade and Cappe, NIPS 2016).

    Parameters
    ----------
    environment : Environment
        The distribution of the weights, in [0, 1]; a weight is what is observed of an item that is looked at.
    attention : array_like of float, shape (K,)
        The chance of each place from the top: 1 first, never rising. There must be one for each place of a list.

    Notes
    -----
    Only a policy that knows of places learns the right means: `PositionBias`. Its set is found by a matroid's greedy
    algorithm for any attention that never rises; on other constraints lists by place are refused, since choosing a
    set and its order together is no longer one best set for some weights.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> world = mb.PositionEnvironment(mb.BernoulliEnvironment([0.5, 0.8, 0.1]), attention=[1.0, 0.5])
    >>> problem = mb.Problem(mb.UniformMatroid(3, 2), world)
    >>> problem.optimal_value, problem.worth([0, 1], world.mean_weights)
    (1.05, 0.9)
    """

    feedback = "positions"
    multiplies = False

    def __init__(self, environment: Environment, attention: ArrayLike) -> None:
        super().__init__(environment)
        self._attention = as_vector("attention", attention, 0.0, 1.0)
        if not self._attention.size or self._attention[0] != 1.0 or (np.diff(self._attention) > 0.0).any():
            raise InvalidEnvironmentError(
                f"expected the attention of each place, 1 at the top and never rising; got {shown(attention)}"
            )

    @property
    def attention(self) -> FloatArray:
        """The chance that each place is looked at, read-only."""
        return self._attention

    def look(
        self, stream: Stream, t: int, items: IntArray, weights: FloatArray, places: IntArray
    ) -> tuple[FloatArray, BoolArray | None]:
        """Return the weights of the items that are looked at, 0 for others."""
        return np.where(stream.uniform(t, items) < self._attention[places], weights, 0.0), None

    def worth(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """Return the expected clicks (R,)."""
        return self.earned(self._attention[places] * weights, places)

    def earned(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """Return the sum (R,) of the observed weights."""
        if not places.shape[1]:
            return np.zeros(places.shape[0])
        clicks: FloatArray = np.where(places >= 0, weights, 0.0).cumsum(axis=1, dtype=np.float64)[:, -1]
        return clicks
