"""A bandit problem: a constraint, and the distribution of its items' weights; the paper's matroid bandit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import Immutable, frozen
from matroid_bandits._util.checks import as_flag
from matroid_bandits._util.text import counted, shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.constraints import list_constraint
from matroid_bandits.environments import (
    BernoulliEnvironment,
    Environment,
    ListEnvironment,
    check_labels,
    has_hook,
    means_of,
)
from matroid_bandits.exceptions import InvalidConstraintError, ProblemError
from matroid_bandits.kernels import statistics
from matroid_bandits.matroids import Matroid, PartitionMatroid
from matroid_bandits.stream import FEATURES, Stream


class Problem(Immutable):
    r"""Bandit problem: a constraint and an environment, with its optimum and gaps; the paper's matroid bandit
    :math:`(M, P)`.

    Parameters
    ----------
    constraint : Constraint
        The constraint, usually a matroid.
    environment : Environment
        The distribution of the weights. Means that were given by label are put into the order of the
        constraint's labels, and must be there for every item.
    minimize : bool, default False
        Whether weights are costs, so that the best basis is the one of least expected weight.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
    >>> problem.optimal_basis, problem.optimal_value
    (array([0, 1]), 1.4)
    >>> problem.gaps().round(1)  # a row per suboptimal item, a column per optimal one, best first
    array([[0.7, 0.3]])

    Notes
    -----
    Where the environment's means change, so does what is best, with the episode and perhaps with the run: `optimum`
    gives it for an episode, and everything that is about one best set, such as `optimal_basis` and `gaps`, raises
    `ProblemError`.
    """

    def __init__(self, constraint: Constraint, environment: Environment, minimize: bool = False) -> None:
        if not isinstance(constraint, Constraint):
            raise ProblemError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
        if not isinstance(environment, Environment):
            raise ProblemError(f"expected an Environment, got {type(environment).__name__}")
        environment = _in_order(constraint, environment)
        if constraint.n_items != environment.n_items:
            raise ProblemError(
                f"expected as many weights as items, got a constraint on {constraint.n_items} items "
                f"and an environment of {environment.n_items}"
            )
        self._constraint, self._environment = constraint, environment
        self._minimize = as_flag("minimize", minimize, error=ProblemError)
        if environment.lists is not None:
            self._check_lists(environment.lists)
        if constraint.gain_reason and minimize:
            raise ProblemError(f"expected weights that are gains: {constraint.gain_reason}")
        if self.solver.cost_reason:
            self._check_costs()

    @property
    def constraint(self) -> Constraint:
        """The constraint, which says which sets may be chosen."""
        return self._constraint

    @property
    def environment(self) -> Environment:
        """The environment, which draws the weights."""
        return self._environment

    @property
    def minimize(self) -> bool:
        """Whether weights are costs."""
        return self._minimize

    @cached_property
    def solver(self) -> Constraint:
        """The constraint whose best set for some weights is the one of largest worth.

        It is `constraint`, unless sets are lists and that is no matroid; see `constraints.ProductConstraint`.

        Raises
        ------
        ProblemError
            Such a set cannot be found.
        """
        lists = self._environment.lists
        if lists is None:
            return self._constraint
        try:
            return list_constraint(self._constraint, getattr(lists, "until", None))
        except InvalidConstraintError as error:
            raise ProblemError(str(error)) from None

    @property
    def adds_up(self) -> bool:
        """Whether sets are worth the total weight of their items."""
        return self._environment.lists is None and type(self._constraint).worth is Constraint.worth

    def worth(self, order: Iterable[Label] | IntArray, weights: ArrayLike) -> float:
        """Return what a set is worth whose items, in the order in which they are shown, have some weights.

        Parameters
        ----------
        order : iterable of labels and numbers, or integer array
            The items of the set, first to last.
        weights : array_like of float, shape (L,), or mapping of label to float
            The weights of all items: expected ones, or those of an episode. Of expected ones it is the expected
            worth, unless `no_regret` says why it is not.

        Returns
        -------
        float
            By the environment's lists (see `CascadeEnvironment`, `PositionEnvironment`), else by the constraint (see
            `Constraint.worth`), by default their total.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> clicks = mb.CascadeEnvironment(mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
        >>> mb.Problem(mb.UniformMatroid(3, 2), clicks).worth([1, 0], clicks.mean_weights)
        0.95
        """
        items = self._constraint.as_items(order, keep_order=True)
        w = self._constraint.as_weights(weights)
        if w.ndim != 1:
            raise ProblemError(f"expected weights of shape ({self.n_items},), got {w.shape}")
        if items.size > self.rank:
            raise ProblemError(f"expected a set of at most {counted(self.rank, 'item')}, got {items.size}")
        if self._environment.lists is None:
            return self._constraint.worth(items, w)
        by_item = np.argsort(items)  # as simulations add and multiply
        return float(self._environment.lists.worth(w[items[by_item]][None], by_item[None])[0])

    def worths(self, items: IntArray, sizes: IntArray, places: IntArray, weights: FloatArray) -> FloatArray:
        """Return the worths (R,) of the sets of a batch, whose items have some weights.

        Simulations call this every episode, so nothing is checked.

        Parameters
        ----------
        items, sizes : int64 array (R, W), int64 array (R,)
            The first ``sizes[r]`` entries of row r are its set, ascending.
        places : int64 array (R, W)
            The place of each item in its list, -1 where a set has ended.
        weights : float64 array (R, W)
            The weight of each item.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> clicks = mb.CascadeEnvironment(mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
        >>> problem = mb.Problem(mb.UniformMatroid(3, 2), clicks)
        >>> pair = np.array([[0, 1]])
        >>> problem.worths(pair, np.array([2]), np.array([[1, 0]]), np.array([[0.5, 0.9]]))
        array([0.95])
        """
        if self._environment.lists is not None:
            return self._environment.lists.worth(weights, places)
        worths, row = np.empty(sizes.size), np.zeros(self.n_items)
        for run, size in enumerate(sizes.tolist()):
            chosen, order = items[run, :size], np.empty(size, np.int64)
            row[chosen], order[places[run, :size]] = weights[run, :size], chosen
            worths[run] = self._constraint.worth(order, row)
        return worths

    @cached_property
    def no_regret(self) -> str:
        """The reason why regret is NaN although means may be known, as text; empty where it is not.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> past = mb.CascadeEnvironment(mb.RowEnvironment([[0, 1], [1, 1]]))
        >>> mb.Problem(mb.UniformMatroid(2, 1), past).no_regret[:60]
        'the worth of a list multiplies the means of its items, which'
        """
        environment = self._environment
        if environment.lists is None or not environment.lists.multiplies or environment.is_independent:
            return ""
        return (
            "the worth of a list multiplies the means of its items, which is the expected worth only of independent "
            "items; this environment does not say that its items are (is_independent)"
        )

    @property
    def n_items(self) -> int:
        """Number of items, the paper's L."""
        return self._constraint.n_items

    @property
    def rank(self) -> int:
        """Size of the largest allowed set, the paper's K; in a matroid the size of every basis."""
        return self._constraint.largest_size

    def optimum(
        self, t: int, stream: Stream, available: BoolArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the best sets of episode t and their expected values, a row for each run of the stream.

        Parameters
        ----------
        t : int
            The episode, from 1.
        stream : Stream
            The runs, and the random numbers that their means may depend on.
        available : bool array (R, L), optional
            Which items may be chosen; all by default.

        Returns
        -------
        items, sizes, values : int64 array (R, K), int64 array (R,), float64 array (R,)
            The first ``sizes[r]`` entries of row r are its set, ascending; its expected worth is
            ``values[r]``; see `worth`.

        Raises
        ------
        ProblemError
            The environment does not know its means.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> coins = mb.BernoulliEnvironment([0.5, 0.25])
        >>> world = mb.DriftingEnvironment(coins, to=[0.5, 0.75], over=100)
        >>> problem = mb.Problem(mb.UniformMatroid(2, 1), world)
        >>> for t in (1, 100):
        ...     items, sizes, values = problem.optimum(t, mb.Stream(seed=0, runs=[0]))
        ...     print(items, values)
        [[0]] [0.5]
        [[1]] [0.75]
        """
        means = means_of(self._environment, t, stream.with_purpose(FEATURES))
        if means is None:
            raise ProblemError(f"expected an environment that knows its means; got {self._environment!r}")
        rows = np.ascontiguousarray(np.broadcast_to(means, (stream.n_runs, self.n_items)))
        return self.best_sets(rows, available)

    def best_sets(
        self, means: FloatArray, available: BoolArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the best sets for rows of expected weights, their sizes and their expected values.

        Simulations call this once an episode where what is best changes, so nothing is checked.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> problem = mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.2]))
        >>> problem.best_sets(np.array([[0.25, 0.5, 1.0]]))
        (array([[1, 2]]), array([2]), array([1.5]))
        """
        items, sizes = self.solver.solve(-means if self._minimize else means, available=available)
        first = np.arange(means.shape[0])[:, None] * self.n_items
        if not self.adds_up:
            is_chosen = np.arange(items.shape[1]) < sizes[:, None]
            weights = means.reshape(-1)[np.where(is_chosen, items, 0) + first]
            places = _places(-weights if self._minimize else weights, sizes)
            return items, sizes, self.worths(items, sizes, places, weights)
        values = np.empty(means.shape[0])
        statistics.total_means(items + first, sizes, means.reshape(-1), values)
        return items, sizes, values

    @cached_property
    def optimal_basis(self) -> IntArray:
        """The optimal basis, the paper's A*, ascending; among ties the first in the greedy order."""
        # a copy that can be written, as rows of indices can: kernels are compiled for one type of rows
        items, sizes = self.solver.solve(self.gains[None].copy())
        return frozen(items[0, : sizes[0]].copy())

    @cached_property
    def optimal_value(self) -> float:
        """Expected worth of the optimal basis: of lists in decreasing order of expected gain; see `worth`."""
        if not self.adds_up:
            return self.worth(self.optimal_order, self._environment.mean_weights)
        basis = self.optimal_basis
        return float(self._environment.mean_weights[basis].sum())

    @cached_property
    def suboptimal_items(self) -> IntArray:
        """The items outside the optimal basis, ascending."""
        return frozen(np.setdiff1d(np.arange(self.n_items), self.optimal_basis))

    @cached_property
    def gains(self) -> FloatArray:
        """Expected weights, negated when they are costs, so that larger is better."""
        if not self._environment.is_stationary:
            raise ProblemError(
                "expected a problem with one optimum, of an environment with the same means in every episode; got "
                f"{self._environment!r}: optimum(t, stream) has that of an episode"
            )
        means = self._environment.mean_weights
        return frozen(-means) if self._minimize else means

    @cached_property
    def optimal_order(self) -> IntArray:
        """The optimal basis in decreasing order of expected gain, the paper's a*_1, a*_2, ...; ties by item
        number."""
        basis = self.optimal_basis
        return frozen(basis[np.argsort(-self.gains[basis], kind="stable")])

    def gaps(self) -> FloatArray:
        r"""Gaps between optimal and suboptimal items, the paper's :math:`\Delta_{e,k}`, shape (L - K, K).

        Row i is for ``suboptimal_items[i]``, columns follow `optimal_order`.

        Rows descend: the first K_e entries of a row are positive, see `n_better`.

        Raises
        ------
        ProblemError
            The constraint is no matroid, so that items do not replace each other one by one.
        """
        self._check_matroid()
        return self.gains[self.optimal_order][None, :] - self.gains[self.suboptimal_items][:, None]

    def n_better(self) -> IntArray:
        """Number of optimal items with a strictly larger mean, for each suboptimal item; the paper's K_e."""
        self._check_matroid()
        best = -self.gains[self.optimal_order]
        return np.searchsorted(best, -self.gains[self.suboptimal_items], side="left").astype(np.int64)

    @cached_property
    def no_bounds(self) -> str:
        """The reason why the paper's regret bounds do not hold for this problem, as text; empty where they hold.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> world = mb.DelayedEnvironment(mb.BernoulliEnvironment([0.5, 0.9, 0.2]), 10)
        >>> mb.Problem(mb.UniformMatroid(3, 2), world).no_bounds
        'they are for answers that come at once; those of this environment may be late'
        """
        if not isinstance(self._constraint, Matroid):
            return f"they are for matroids; got {self._constraint!r}"
        return self.no_stationary_bounds

    @cached_property
    def no_stationary_bounds(self) -> str:
        """The reason why bounds for stationary weights do not hold, as text; empty where they hold.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.Problem(mb.UniformMatroid(3, 2), mb.BernoulliEnvironment([0.5, 0.9, 0.2])).no_stationary_bounds
        ''
        """
        if not self._environment.is_stationary:
            return "they are for means that stay; this environment's means change or are not known"
        if has_hook(self._environment, "availability"):
            return "they are for items that can always be chosen; in this environment some may not be available"
        if not self.adds_up:
            return "they are for sets that are worth the total weight of their items, all of which are seen"
        if has_hook(self._environment, "delays"):
            return "they are for answers that come at once; those of this environment may be late"
        return ""

    def _check_lists(self, lists: ListEnvironment) -> None:
        """Raise where the constraint's sets cannot be shown as these lists."""
        if self._minimize:
            raise ProblemError("expected gains, since lists are worth their clicks or successes; got minimize=True")
        n_places = getattr(lists, "attention", np.empty(self.rank)).size
        if self.rank > n_places:
            raise ProblemError(
                f"expected the attention of each of {self.rank} places, as many as sets have items; got {n_places}"
            )

    def _check_costs(self) -> None:
        """Raise where weights must be costs and are not, or where one has a mean below 0."""
        constraint, environment = self._constraint, self._environment
        if not self._minimize:
            raise ProblemError(f"expected weights that are costs: {constraint.cost_reason}")
        if environment.is_stationary and (environment.mean_weights < 0.0).any():
            e = int((environment.mean_weights < 0.0).argmax())
            raise ProblemError(
                f"expected costs of at least 0, since {constraint.cost_reason}; got a mean of "
                f"{environment.mean_weights[e]:g} for {constraint.labels[e]!r}"
            )

    def _check_matroid(self) -> None:
        if not isinstance(self._constraint, Matroid):
            raise ProblemError(
                "expected a matroid, whose items replace each other one by one, for gaps between items; got "
                f"{self._constraint!r}"
            )

    def __repr__(self) -> str:
        direction = ", minimize=True" if self._minimize else ""
        return f"Problem({self._constraint!r}, {self._environment!r}{direction})"


def _places(gains: FloatArray, sizes: IntArray) -> IntArray:
    """The places (R, W) of the items of sets in decreasing order of gain (R, W), -1 where a set has ended."""
    is_chosen = np.arange(gains.shape[1]) < sizes[:, None]
    order = np.argsort(np.where(is_chosen, -gains, np.inf), axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(gains.shape[1]), gains.shape), axis=1)
    return np.where(is_chosen, places, -1)


def _in_order(constraint: Constraint, environment: Environment) -> Environment:
    """An environment whose items are those of the constraint, in its order, where means were given by label."""
    labels = environment.labels
    if labels is None:
        return environment
    if not constraint.has_labels:
        raise ProblemError(
            f"expected a constraint with labels, since means are given by label, such as {shown(labels[0])}; got "
            f"{constraint!r}: give it labels=, or the means as an array in the order of items"
        )
    check_labels("means", labels, constraint.labels, ProblemError)
    place = {label: e for e, label in enumerate(labels)}
    order = np.array([place[label] for label in constraint.labels], np.int64)
    return environment if (order == np.arange(order.size)).all() else environment.reordered(order)


def lower_bound_problem(n_items: int, rank: int, gap: float) -> Problem:
    r"""Make the partition matroid bandit of the paper's lower bound (Theorem 4).

    `rank` blocks of items with Bernoulli weights; in each the first item has mean 0.5, the others 0.5 - `gap`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.lower_bound_problem(6, 2, gap=0.1).optimal_basis
    array([0, 3])
    """
    if not all(isinstance(value, (int, np.integer)) for value in (n_items, rank)):
        raise ProblemError(f"expected n_items and rank to be integers, got {n_items!r} and {rank!r}")
    if not 0 < rank <= n_items:
        raise ProblemError(f"expected 0 < rank <= n_items, got rank {rank} of {n_items} items")
    if not (isinstance(gap, (float, np.floating)) and 0.0 < gap < 0.5):
        raise ProblemError(f"expected a gap between 0 and 0.5, got {gap!r}")
    blocks = np.arange(n_items) * rank // n_items
    is_first = np.diff(blocks, prepend=-1) > 0
    return Problem(PartitionMatroid(blocks), BernoulliEnvironment(np.where(is_first, 0.5, 0.5 - gap)))
