"""Sets whose costs fit into a budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, IntArray, Label
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_index, as_integer
from matroid_bandits._util.names import codes_of, decode, encode, pairs_of
from matroid_bandits._util.text import counted, did_you_mean, shown
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.kernels import knapsack

#: Items times (budget + 1) times (at_most + 1), the budget in units of the costs' greatest common divisor.
MOST_CELLS = 10**8

#: Additions that take as long as an item takes elsewhere.
_CELLS_PER_ITEM = 10


class KnapsackConstraint(ExactConstraint):
    """Sets within a budget: "passages of at most 4,000 tokens", "ads for 100 cents, one per brand, five in all".

    Parameters
    ----------
    costs : sequence or mapping of label to int
        What each item costs, a whole number of 0 or more; a mapping gives the items their labels.
    budget : int
        The most that a set may cost.
    groups : sequence or mapping of hashable, optional
        The group of each item, None for an item without one; a set has at most one item of a group. A mapping may
        leave out items without a group.
    at_most : int, optional
        The most items of a set; by default as many as the budget allows.
    unit : str, default ""
        What costs are counted in, for display: "tokens".
    labels : iterable of hashable, optional
        Labels of the items.

    Notes
    -----
    The best set has the largest total weight, of any size; items of weight 0 or less stay out, unless they are
    pinned. It is found by dynamic programming over what is left of the budget, which takes items x (budget + 1)
    additions, times `at_most` + 1 where that is given, and an eighth of a byte for each. Costs are divided by their
    greatest common divisor, and a budget above the cost of all items counts as that. Above 10**8 additions the
    constraint is refused. Weights are snapped as `ExactConstraint` says. Of equally good sets the one is chosen that
    holds the first item in which they differ, in the order of the items with those of a group counted at its first
    item.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> passages = mb.KnapsackConstraint({"intro": 30, "faq": 50, "table": 60, "quote": 20}, 100, unit="tokens")
    >>> passages.in_words()
    'items that cost at most 100 tokens'
    >>> items, sizes = passages.best_sets(np.array([[0.5, 0.7, 0.8, 0.2]]))
    >>> [passages.labels[e] for e in items[0]]
    ['intro', 'faq', 'quote']
    """

    kind = "knapsack"
    per_item = "costs"
    fills_up = False
    gain_reason = "of costs the best set within a budget is the empty one; tell what a set is worth instead"

    def __init__(
        self,
        costs: Sequence[int] | IntArray | Mapping[Label, int],
        budget: int,
        groups: Sequence[Hashable] | Mapping[Label, Hashable] | None = None,
        at_most: int | None = None,
        *,
        unit: str = "",
        labels: Iterable[Label] | None = None,
    ) -> None:
        named = pairs_of(costs)
        if named is None and (isinstance(costs, (str, bytes)) or not isinstance(costs, Iterable)):
            raise InvalidConstraintError(f"expected the cost of each item, got {shown(costs)}")
        given = list(costs if named is None else named[1])
        names = labels if named is None or labels is not None else named[0]
        super().__init__(len(given), names)
        if not isinstance(unit, str):
            raise InvalidConstraintError(f"expected unit to be a word, got {shown(unit)}")
        self._unit = unit
        self._costs = frozen(np.array([self._as_cost(e, cost) for e, cost in enumerate(given)], np.int64))
        if sum(self._costs.tolist()) > 2**62:
            raise InvalidConstraintError("expected costs that add up to at most 2**62, got more: use a larger unit")
        self._budget = self._as_whole("the budget", budget)
        self._at_most = None
        if at_most is not None:
            self._at_most = as_integer("at_most", at_most, 0, error=InvalidConstraintError)
        self._group_codes, self._group_names = self._read_groups(groups)
        self._prepare()

    @property
    def costs(self) -> dict[Label, int]:
        """Cost of each item."""
        return dict(zip(self.labels, self._costs.tolist(), strict=True))

    @property
    def budget(self) -> int:
        """The most that a set may cost."""
        return self._budget

    @property
    def at_most(self) -> int | None:
        """The most items of a set; None where only the budget limits them."""
        return self._at_most

    @property
    def work(self) -> int:
        return max(self._n_items, self._n_cells // _CELLS_PER_ITEM)

    @property
    def unit(self) -> str:
        """Unit of the costs, for display; empty where none was given."""
        return self._unit

    @property
    def groups(self) -> dict[Label, Hashable] | None:
        """The group of each item, None for an item without one; None where there are no groups."""
        if not self._group_names:
            return None
        codes = self._group_codes.tolist()
        return {label: self._group_of(code) for label, code in zip(self.labels, codes, strict=True)}

    def cost(self, items: IntArray) -> int:
        """Return what items cost together; input is not checked.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.KnapsackConstraint([3, 5, 2], 8).cost(np.array([0, 2]))
        5
        """
        return int(self._costs[items].sum())

    def categories(self) -> list[Sequence[Hashable]]:
        return [list(self.groups.values())] if self.groups else []

    def in_words(self) -> str:
        most = "items" if self._at_most is None else f"at most {counted(self._at_most, 'item')}"
        each = ", at most one of a group" if self._group_names else ""
        return f"{most} that cost at most {self._priced(self._budget)}{each}"

    def allows(self, items: IntArray) -> bool:
        return not self.conflict(items)

    def conflict(self, items: IntArray) -> str:
        cost = self.cost(items)
        if cost > self._budget:
            return f"they cost {self._priced(cost)}, the budget is {self._budget:,}"
        if self._at_most is not None and items.size > self._at_most:
            return f"they are {items.size}, and a set has at most {self._at_most}"
        codes = self._group_codes[items]
        groups, sizes = np.unique(codes[codes >= 0], return_counts=True)
        if (sizes > 1).any():
            group = self._group_of(int(groups[sizes.argmax()]))
            return f"{sizes.max()} of them are of the group {group!r}, of which a set has at most one"
        return ""

    def about(self, item: int) -> str:
        return f"cost {int(self._costs[item]):,} of {self._priced(self._budget)}"

    @property
    def _most(self) -> int:
        return self._largest

    def _choose(self, gains: IntArray, is_open: BoolArray, pinned: IntArray | None) -> BoolArray:
        budget, most = self._budget, self._n_items if self._at_most is None else self._at_most
        if pinned is not None:
            is_open[:, pinned] = False
            codes = self._group_codes[pinned]
            is_open[:, np.isin(self._group_codes, codes[codes >= 0])] = False
            budget, most = budget - self.cost(pinned), min(most, self._n_items) - pinned.size
        in_order = np.empty(gains.shape, bool)
        is_there = np.ascontiguousarray(is_open[:, self._order])
        values = np.ascontiguousarray(gains[:, self._order])
        if budget >= 0 and most >= 0:
            room = min(budget // self._unit_cost, self._most_room)
            knapsack.best_sets(values, is_there, self._scaled, self._ends, room, most, in_order)
        else:  # what is pinned does not fit
            in_order[:] = False
        chosen = np.empty_like(in_order)
        chosen[:, self._order] = in_order
        if pinned is not None and budget >= 0 and most >= 0:
            chosen[:, pinned] = True
        return chosen

    def content(self) -> tuple[Any, ...]:
        return (self._costs, self._budget, self._group_codes, self._group_names, self._at_most, self._unit)

    def fields(self) -> dict[str, Any]:
        form: dict[str, Any] = {"costs": self._costs.tolist(), "budget": self._budget}
        if self._group_names:
            codes = self._group_codes.tolist()
            form["groups"] = [None if code < 0 else encode(self._group_of(code), "group") for code in codes]
        if self._at_most is not None:
            form["at_most"] = self._at_most
        return form | ({"unit": self._unit} if self._unit else {})

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> KnapsackConstraint:
        groups = fields.pop("groups", None)
        return cls(**fields, groups=None if groups is None else decode(groups), labels=labels)

    def __repr__(self) -> str:
        return f"KnapsackConstraint(n_items={self._n_items}, budget={self._budget})"

    # What a budget is made of

    def _prepare(self) -> None:
        """The order of the items, groups together; costs in units of their greatest common divisor."""
        first = np.arange(self._n_items)
        for code in range(len(self._group_names)):
            members = np.flatnonzero(self._group_codes == code)
            first[members] = members[0]
        self._order = frozen(np.argsort(first, kind="stable"))
        places = np.arange(self._n_items)
        ordered = self._group_codes[self._order]
        is_last = np.append((ordered[1:] != ordered[:-1]) | (ordered[1:] < 0), True)[: self._n_items]
        # the end of the group of each place: the next place at or after it that is a last one
        ends = np.minimum.accumulate(np.where(is_last, places + 1, self._n_items)[::-1])[::-1]
        self._ends = frozen(np.ascontiguousarray(ends))
        affordable = np.sort(self._costs[self._costs <= self._budget])
        self._unit_cost = max(math.gcd(*affordable.tolist()), 1)
        self._scaled = frozen(-(-self._costs[self._order] // self._unit_cost))  # rounded up where not affordable
        self._most_room = min(self._budget, int(affordable.sum())) // self._unit_cost
        n_fitting = int((np.cumsum(affordable) <= self._budget).sum())
        n_groups = int((self._group_codes < 0).sum()) + len(self._group_names)
        self._largest = min(n_fitting, n_groups, self._n_items if self._at_most is None else self._at_most)
        n_counts = 1 if self._at_most is None or self._at_most >= self._n_items else self._at_most + 1
        self._n_cells = n_cells = self._n_items * n_counts * (self._most_room + 1)
        if n_cells > MOST_CELLS:
            most = max((MOST_CELLS // (self._n_items * n_counts) - 1) * self._unit_cost, 0)
            factor = -(-self._budget // max(most, 1))
            raise InvalidConstraintError(
                f"expected at most {MOST_CELLS:,} items x (budget + 1){' x (at_most + 1)' if n_counts > 1 else ''}, "
                f"got {n_cells:,}: a budget of {most:,} would do, with costs in units of {factor:,}, rounded up"
            )

    def _read_groups(self, groups: Any) -> tuple[IntArray, tuple[Hashable, ...]]:
        """The group of each item by number, -1 for none, and the names of groups."""
        codes = np.full(self._n_items, -1, np.int64)
        if groups is None:
            return frozen(codes), ()
        named = pairs_of(groups)
        if named is None:
            try:
                given = list(groups)
            except TypeError:
                raise InvalidConstraintError(f"expected the group of each item, got {shown(groups)}") from None
            if len(given) != self._n_items:
                raise InvalidConstraintError(f"expected {self._n_items} groups, one per item, got {len(given)}")
            items = list(range(self._n_items))
        else:
            given = list(named[1])
            places = {label: e for e, label in enumerate(self.labels)}
            for label in named[0]:
                if label not in places:
                    raise InvalidConstraintError(
                        f"expected groups of items, got {label!r}{did_you_mean(label, list(places))}"
                    )
            items = [places[label] for label in named[0]]
        has_group = [place for place, group in enumerate(given) if group is not None]
        if not has_group:
            return frozen(codes), ()
        found, names = codes_of([given[place] for place in has_group], "group", InvalidConstraintError)
        codes[[items[place] for place in has_group]] = found
        # numbered by first appearance among the items, however they were given
        is_grouped = codes >= 0
        order = list(dict.fromkeys(codes[is_grouped].tolist()))
        codes[is_grouped] = np.argsort(order)[codes[is_grouped]]
        return frozen(codes), tuple(names[code] for code in order)

    def _as_cost(self, e: int, cost: Any) -> int:
        return self._as_whole(f"the cost of item {self.labels[e]!r}", cost)

    def _as_whole(self, what: str, value: Any) -> int:
        try:
            whole = as_index(value)
        except TypeError:
            is_fraction = isinstance(value, (float, np.floating)) and math.isfinite(value)
            if not is_fraction or value != int(value):
                hint = ": scale costs and budget, to cents for example, and round costs up" if is_fraction else ""
                raise InvalidConstraintError(
                    f"expected {what} to be a whole number, got {shown(value)}{hint}"
                ) from None
            whole = int(value)
        if not 0 <= whole <= 2**53:
            raise InvalidConstraintError(f"expected {what} to be 0 or more, and at most 2**53; got {whole}")
        return whole

    def _group_of(self, code: int) -> Hashable:
        return None if code < 0 else self._group_names[code]

    def _priced(self, cost: int) -> str:
        return f"{cost:,} {self._unit}" if self._unit else f"{cost:,}"
