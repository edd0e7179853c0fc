"""Sets whose worth is a product of rates: the chance of a click on a list, or that all items work."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.matroids import Matroid

Until = Literal["click", "failure"]


class ProductConstraint(Constraint):
    r"""Sets of another constraint, the best of which has the largest chance of a click, or of no failure.

    Weights are rates U. The best set has the largest :math:`1 - \prod_e (1 - U_e)` with ``until="click"``, or the
    largest :math:`\prod_e U_e` with ``until="failure"``: the set of largest total :math:`\log(1 / (1 - U_e))`, or
    :math:`\log U_e`, so the other constraint finds it exactly. On a matroid that is the set of largest total rate,
    and this class is not needed: `list_constraint` leaves matroids as they are.

    Parameters
    ----------
    base : Constraint
        Which sets are allowed.
    until : "click" or "failure"
        Which product counts.

    Raises
    ------
    InvalidConstraintError
        The best set cannot be found: the constraint takes costs alone and ``until="click"``; or its best set for
        ``until="failure"`` would be empty, since fewer items fail less often.

    Notes
    -----
    For clicks an index of 1 or more counts as that of an item never seen. For failures an index above 1 counts as 1,
    and one of 0 or less as impossible: such an item is chosen only where no set is without one.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.constraints import ProductConstraint
    >>> roads = mb.PathConstraint([("a", "b"), ("b", "c"), ("a", "c")], "a", "c")
    >>> reliable = ProductConstraint(roads, "failure")
    >>> reliable.solve(np.array([[0.9, 0.9, 0.8], [0.9, 0.9, 0.85]]))[0]  # 0.81 is more than 0.8, less than 0.85
    array([[0, 1],
           [2, 0]])
    """

    is_hereditary = False  # set for each instance, as that of the base
    fills_up = False

    def __init__(self, base: Constraint, until: Until) -> None:
        super().__init__(base.n_items, base.labels if base.has_labels else None)
        self._base, self._until = base, until
        if until == "click" and base.cost_reason:
            raise InvalidConstraintError(
                f"expected a constraint that takes gains for lists that are read until a click: {base.cost_reason}"
            )
        if until == "failure" and not base.fills_up and base.allows(np.empty(0, np.int64)):
            raise InvalidConstraintError(
                f"expected sets that must have items for lists that are read until a failure; in {base!r} the empty "
                "set never fails"
            )
        vars(self)["is_hereditary"], vars(self)["fills_up"] = base.is_hereditary, base.fills_up

    @property
    def base(self) -> Constraint:
        """The other constraint."""
        return self._base

    @property
    def work(self) -> int:
        return self._base.work

    def allows(self, items: IntArray) -> bool:
        return self._base.allows(items)

    def solve(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return self._base.solve(self.logarithms(weights), available=available, pinned=pinned)

    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        return self.solve(weights, available=available, pinned=pinned)

    def logarithms(self, rates: FloatArray) -> FloatArray:
        """Return the weights (R, L) whose largest total is the largest product for some rates (R, L).

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> from matroid_bandits.constraints import ProductConstraint
        >>> sets = mb.ExplicitSets([(0,), (1, 2)])
        >>> ProductConstraint(sets, "click").logarithms(np.array([[0.0, 0.5, 1.0]])).round(2)
        array([[0.  , 0.69,  inf]])
        """
        if self._until == "click":
            with np.errstate(divide="ignore"):
                surprises: FloatArray = -np.log1p(-np.minimum(rates, 1.0))
            return surprises + 0.0  # no minus 0
        is_possible, is_unseen = rates > 0.0, np.isposinf(rates)
        logs = np.log(np.where(is_possible, np.minimum(rates, 1.0), 1.0))
        # worse than all others together
        impossible = np.where(is_unseen, 0.0, logs).sum(axis=1, keepdims=True) - 1.0
        return np.where(is_unseen, np.inf, np.where(is_possible, logs, impossible))

    def max_size(self, *, available: BoolArray | None = None, pinned: IntArray | None = None) -> int:
        return self._base.max_size(available=available, pinned=pinned)

    def can_pin(self, pinned: IntArray, available: BoolArray | None = None) -> bool:
        return self._base.can_pin(pinned, available)

    def conflict(self, items: IntArray) -> str:
        return self._base.conflict(items)

    def about(self, item: int) -> str:
        return self._base.about(item)

    def in_words(self) -> str:
        return self._base.in_words()

    def fields(self) -> dict[str, Any]:
        return {"base": self._base.to_dict(), "until": self._until}

    def content(self) -> tuple[Any, ...]:
        return type(self._base).__name__, *self._base.content(), self._until

    def __repr__(self) -> str:
        return f"ProductConstraint({self._base!r}, until={self._until!r})"


def list_constraint(constraint: Constraint, until: Until | None) -> Constraint:
    """Return the constraint whose best sets are those of largest worth as lists; a matroid is that itself.

    Parameters
    ----------
    constraint : Constraint
        Which sets are allowed.
    until : "click", "failure" or None
        What ends the reading of a list; None for clicks by place.

    Raises
    ------
    InvalidConstraintError
        Such a set cannot be found for the constraint; see `ProductConstraint`. Clicks by place need a matroid.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.constraints import list_constraint
    >>> list_constraint(mb.UniformMatroid(3, 2), "click")
    UniformMatroid(n_items=3, rank=2)
    """
    if isinstance(constraint, Matroid):
        return constraint
    if until is None:
        raise InvalidConstraintError(
            "expected a matroid for lists whose places are looked at less and less often: on other constraints the "
            "best set depends on the attention of its places, and is not known to be found in time; got "
            f"{constraint!r}"
        )
    return ProductConstraint(constraint, until)
