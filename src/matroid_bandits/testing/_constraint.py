"""Does a constraint find the best of the sets that it allows, whatever a request leaves of them?"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.exceptions import ContractError, SerializationError
from matroid_bandits.testing._suite import Suite

#: Up to this many items every subset is looked at.
EXHAUSTIVE_ITEMS = 12


def check_constraint(constraint: Constraint, *, n_trials: int = 50, seed: int = 0) -> None:
    """Run all tests of `ConstraintSuite` on a constraint.

    Parameters
    ----------
    constraint : Constraint
        Typically an instance of a user's class; small, since up to 12 items every subset is looked at.
    n_trials : int, default 50
        How many random requests to try in each test.
    seed : int, default 0
        Which ones.

    Raises
    ------
    ContractError
        What was expected, what was found, for which request.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> class FirstTwo(mb.Constraint):
    ...     def allows(self, items):
    ...         return items.size <= 2
    ...     def best_sets(self, weights, *, available=None, pinned=None):
    ...         return np.tile([0, 1], (len(weights), 1)), np.full(len(weights), 2)
    ...     def fields(self):
    ...         return {"n_items": self.n_items}
    >>> mb.testing.check_constraint(FirstTwo(3))
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: expected best_sets([2.0, 1.0, 2.0]) to be {0, 2} of total 4.0, got \
{0, 1} of 3.0
    """
    ConstraintSuite.check(constraint=constraint, n_trials=n_trials, seed=seed)


class ConstraintSuite(Suite):
    """Conformance tests of a `Constraint`: exhaustive up to 12 items, sampled beyond.

    Attributes
    ----------
    constraint : Constraint
        What is tested.
    n_trials : int
        How many random requests each test tries, 50 by default.
    seed : int
        Which ones, 0 by default.
    weights : (int, int)
        The smallest and the largest weight to try, -2 and 2 by default; they are integers, so that ties are many and
        totals exact.
    is_canonical : bool
        Whether of equally good sets the one with the smallest item in which two differ must be chosen; False by
        default. Any is good enough for a learner, as long as it is always the same.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestForests(mb.testing.ConstraintSuite):
    ...     constraint = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)])
    ...     is_canonical = True
    >>> TestForests().run()
    """

    constraint: Constraint
    n_trials: int = 50
    seed: int = 0
    weights: tuple[int, int] = (-2, 2)
    is_canonical: bool = False

    def test_it_is_a_constraint(self) -> None:
        if not isinstance(self.constraint, Constraint):
            hint = " (the class; an instance is needed)" if isinstance(self.constraint, type) else ""
            raise ContractError(f"expected a Constraint, got {self.constraint!r}{hint}")

    def test_parts_of_allowed_sets_are_allowed(self) -> None:
        """A hereditary constraint allows the empty set and every subset of an allowed set."""
        if not self.constraint.is_hereditary:
            return
        if not self._allows(np.empty(0, np.int64)):
            raise ContractError("expected the empty set to be allowed where every part of an allowed set is")
        for items in self._some_sets():
            for e in items:
                if not self._allows(items[items != e]):
                    raise ContractError(
                        f"{_show(items)} is allowed, but its part {_show(items[items != e])} is not: set "
                        "is_hereditary to False where only whole sets count"
                    )

    def test_best_sets_are_the_best(self) -> None:
        self._compare(with_mask=False, with_pins=False)

    def test_best_sets_of_what_is_available(self) -> None:
        self._compare(with_mask=True, with_pins=False)

    def test_best_sets_around_what_is_pinned(self) -> None:
        self._compare(with_mask=False, with_pins=True)
        self._compare(with_mask=True, with_pins=True)

    def test_real_weights(self) -> None:
        """Best sets are right for small and large non-integer weights; totals are compared up to rounding."""
        rng = np.random.default_rng(self.seed)
        low, high = self.weights
        for _ in range(self.n_trials):
            weights = rng.uniform(low, high, (2, self.constraint.n_items)) * 10.0 ** rng.integers(-6, 7)
            self._expect_best(weights, None, None)

    def test_largest_sizes(self) -> None:
        """`max_size` is the size of the largest allowed set for a request, and -1 where its pins cannot be
        combined."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_trials):
            available = self._mask(rng)
            pinned = np.sort(rng.permutation(self.constraint.n_items)[: rng.integers(0, 4)])
            if self._sets is None:
                pinned = self._pins(rng)
            asked: dict[str, Any] = {"available": available, "pinned": pinned if pinned.size else None}
            given = self.constraint.max_size(**asked)
            if self._sets is not None:
                left = self._left(available, pinned)
                expected = int(left.sum(axis=1).max()) if left.shape[0] else -1
                if given != expected:
                    raise ContractError(f"expected max_size({_asked(**asked)}) to be {expected}, got {given}")
            elif self.constraint.fills_up:
                size = int(self._best(self._weights(rng, 1), available, asked["pinned"])[1][0])
                if given != size:
                    raise ContractError(
                        f"expected max_size({_asked(**asked)}) to be {size}, which a best set has; got {given}"
                    )

    def test_a_row_does_not_depend_on_the_others(self) -> None:
        """Results are the same for each row alone, and for one mask shared by all rows or repeated for each."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_trials):
            weights, pinned = self._weights(rng, 4), self._pins(rng)
            pins = pinned if pinned.size else None
            mask = np.stack([self._mask(rng, pinned) for _ in range(4)])
            for available in (None, mask, mask[0]):
                found = self._best(weights, available, pins)
                again = self._best(weights.copy(), available, pins)
                for run in range(4):
                    own = available[run : run + 1] if available is mask else available
                    alone = self._best(weights[run : run + 1], own, pins)
                    sets = [_row(found, run), _row(again, run), _row(alone, 0)]
                    if sets.count(sets[0]) != 3:
                        what = self._what(weights[run], None if own is None else own.reshape(-1), pins)
                        raise ContractError(
                            f"expected {what} to be the same again and for each row alone; got "
                            f"{', '.join(map(_show, sets))}"
                        )

    def test_arguments_are_left_alone(self) -> None:
        """`best_sets` and `allows` do not modify the arrays they are given."""
        rng = np.random.default_rng(self.seed)
        pinned = self._pins(rng)
        available, weights = self._mask(rng, pinned)[None], self._weights(rng, 1)
        given: dict[str, Any] = {"weights": weights, "available": available, "pinned": pinned}
        before = {name: array.copy() for name, array in given.items()}
        self.constraint.best_sets(weights, available=available, pinned=pinned)
        self.constraint.allows(pinned)
        for name, array in given.items():
            if not np.array_equal(array, before[name]):
                raise ContractError(f"expected best_sets and allows to leave the {name} that they are given")

    def test_unseen_items_come_first(self) -> None:
        """`with_unseen` keeps seen weights, is finite for unseen items, and by default favours as many of them as
        possible."""
        rng = np.random.default_rng(self.seed)
        is_default = type(self.constraint).with_unseen is Constraint.with_unseen
        for _ in range(self.n_trials):
            weights = self._weights(rng, 2)
            unseen = rng.random(weights.shape) < 0.3
            filled = self.constraint.with_unseen(np.where(unseen, 0.0, weights), unseen)
            if not isinstance(filled, np.ndarray) or filled.shape != weights.shape or not np.isfinite(filled).all():
                raise ContractError("expected with_unseen to return finite numbers, one for each weight")
            if is_default and not np.array_equal(filled[~unseen], weights[~unseen]):
                raise ContractError("expected with_unseen to leave the weights of items that were seen")
            if self._sets is None or not self._sets.size or not is_default:
                continue
            items, sizes = self.constraint.solve(np.where(unseen, np.inf, weights))
            left = self._left(None, np.empty(0, np.int64))
            if self.constraint.fills_up:
                left = left[left.sum(axis=1) == left.sum(axis=1).max()]
            for run in range(2):
                most = int((left & unseen[run]).sum(axis=1).max())
                n = int(unseen[run][items[run, : sizes[run]]].sum())
                if n != most:
                    raise ContractError(
                        f"expected {most} of the unseen items {_show(np.flatnonzero(unseen[run]))} in the set, got "
                        f"{n} in {_show(items[run, : sizes[run]])}"
                    )

    def test_stored_form(self) -> None:
        """A class with a `kind` can be restored from its stored form, equal and with the same results."""
        try:
            form = self.constraint.to_dict()
        except SerializationError:  # code, or a class without a kind
            return
        again = constraint_from_dict(form)
        if again != self.constraint or again.to_dict() != form:
            raise ContractError(f"expected constraint_from_dict to make an equal one of to_dict, got {again!r}")
        weights = self._weights(np.random.default_rng(self.seed), 4)
        own, theirs = self._best(weights, None, None), again.best_sets(weights)
        if any(_row(own, run) != _row(theirs, run) for run in range(4)):
            raise ContractError("expected the constraint of the stored form to choose the same sets")

    # What the tests are made of

    @cached_property
    def _sets(self) -> BoolArray | None:
        """All allowed sets as rows of a mask, those with smaller items first; None where items are too many."""
        n = self.constraint.n_items
        if n > EXHAUSTIVE_ITEMS:
            return None
        every = (np.arange(2**n)[::-1, None] >> np.arange(n)[::-1]) & 1 == 1
        allowed: BoolArray = every[[self._allows(np.flatnonzero(row)) for row in every]]
        return allowed

    def _allows(self, items: IntArray) -> bool:
        answer = self.constraint.allows(items)
        if not isinstance(answer, (bool, np.bool_)):
            raise ContractError(f"expected allows({_show(items)}) to be true or false, got {type(answer).__name__}")
        return bool(answer)

    def _some_sets(self) -> list[IntArray]:
        """All allowed sets, or best sets for random weights and random parts of them."""
        if self._sets is not None:
            return [np.flatnonzero(row) for row in self._sets]
        rng, found = np.random.default_rng(self.seed), []
        for _ in range(self.n_trials):
            items = np.array(_row(self._best(self._weights(rng, 1), None, None), 0), np.int64)
            found += [items, items[rng.random(items.size) < 0.5]]
        return found

    def _weights(self, rng: np.random.Generator, n_runs: int) -> FloatArray:
        low, high = self.weights
        return rng.integers(low, high + 1, (n_runs, self.constraint.n_items)).astype(np.float64)

    def _mask(self, rng: np.random.Generator, pinned: IntArray | None = None) -> BoolArray:
        """A random mask, now and then with nothing; of a constraint of whole sets one that leaves a set with pins."""
        mask: BoolArray = rng.random(self.constraint.n_items) < rng.choice([0.0, 0.4, 0.7, 0.9])
        if pinned is not None and not self.constraint.is_hereditary:
            mask[self._around(rng, pinned)] = True
        return mask

    def _pins(self, rng: np.random.Generator) -> IntArray:
        """Items that can be chosen together."""
        items = self._around(rng, np.empty(0, np.int64))
        return np.sort(rng.permutation(items)[: rng.integers(0, items.size + 1)]).astype(np.int64)

    def _around(self, rng: np.random.Generator, pinned: IntArray) -> IntArray:
        """An allowed set with these items in it."""
        if self._sets is None:
            pins = pinned if pinned.size else None
            return np.array(_row(self._best(self._weights(rng, 1), None, pins), 0), np.int64)
        fitting = self._left(None, pinned)
        if not fitting.shape[0]:
            raise ContractError("expected a constraint that allows some set, got none")
        return np.flatnonzero(fitting[rng.integers(fitting.shape[0])])

    def _left(self, available: BoolArray | None, pinned: IntArray) -> BoolArray:
        """The allowed sets that a request leaves."""
        assert self._sets is not None
        is_open = np.ones(self.constraint.n_items, bool) if available is None else available.copy()
        is_open[pinned] = True
        left: BoolArray = self._sets[~(self._sets & ~is_open).any(axis=1) & self._sets[:, pinned].all(axis=1)]
        return left

    def _best(
        self, weights: FloatArray, available: BoolArray | None, pinned: IntArray | None
    ) -> tuple[IntArray, IntArray]:
        """What `best_sets` answers, in a form that can be read, of sets that fit the request and are all allowed."""
        # as it is checked for all constraints: a matroid's own `solve` checks nothing
        items, sizes = Constraint.solve(self.constraint, weights, available=available, pinned=pinned)
        for run in range(weights.shape[0]):
            chosen = items[run, : sizes[run]]
            if chosen.size and not self._allows(chosen):
                raise ContractError(f"expected best_sets to choose sets that are allowed, got {_show(chosen)}")
        return items, sizes

    def _compare(self, *, with_mask: bool, with_pins: bool) -> None:
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_trials):
            pinned = self._pins(rng) if with_pins else np.empty(0, np.int64)
            available = np.stack([self._mask(rng, pinned) for _ in range(2)]) if with_mask else None
            self._expect_best(self._weights(rng, 2), available, pinned if pinned.size else None)

    def _expect_best(self, weights: FloatArray, available: BoolArray | None, pinned: IntArray | None) -> None:
        """See that the answer for each row is as good as any set that the request leaves."""
        found = self._best(weights, available, pinned)
        for run, row in enumerate(weights):
            chosen = np.array(_row(found, run), np.int64)
            mask = None if available is None else available[run]
            what = self._what(row, mask, pinned)
            if self._sets is None:
                self._expect_no_better(what, row, chosen, mask, pinned)
                continue
            allowed = left = self._left(mask, np.empty(0, np.int64) if pinned is None else pinned)
            if self.constraint.fills_up and left.shape[0]:
                left = left[left.sum(axis=1) == left.sum(axis=1).max()]
            if not left.shape[0]:
                if chosen.size:
                    raise ContractError(f"expected {what} to be empty, since no set is left; got {_show(chosen)}")
                continue
            totals = left @ row
            best = np.flatnonzero(left[totals.argmax()])  # the first of equal ones has the smallest items
            rounding = 1e-12 * np.abs(row).sum()
            is_same = np.array_equal(chosen, best) or not (self.is_canonical and np.equal(row, np.rint(row)).all())
            is_large = not self.constraint.fills_up or chosen.size == best.size
            if not is_large or row[chosen].sum() < totals.max() - rounding or not is_same:
                raise ContractError(
                    f"expected {what} to be {_show(best)} of total {row[best].sum()}, got {_show(chosen)} of "
                    f"{row[chosen].sum()}{self._other_promise(allowed @ row, allowed.sum(axis=1), row, chosen)}"
                )

    def _other_promise(self, totals: FloatArray, sizes: IntArray, row: FloatArray, chosen: IntArray) -> str:
        """What to declare, where the answer is right under the other promise about the size of best sets."""
        rounding = 1e-12 * np.abs(row).sum()
        if self.constraint.fills_up and chosen.size < sizes.max() and row[chosen].sum() >= totals.max() - rounding:
            return (
                ": with fills_up = True, the default, a best set has as many items as possible; set fills_up = False "
                "where it is the one of largest total, of any size"
            )
        most = totals[sizes == sizes.max()].max()
        if not self.constraint.fills_up and chosen.size == sizes.max() and row[chosen].sum() >= most - rounding:
            return (
                ": with fills_up = False a best set is the one of largest total, of any size; set fills_up = True "
                "where as many items as possible come first"
            )
        return ""

    def _expect_no_better(
        self, what: str, row: FloatArray, chosen: IntArray, mask: BoolArray | None, pinned: IntArray | None
    ) -> None:
        """See that what is best for other weights is no better for these."""
        rng = np.random.default_rng(self.seed)
        low, high = self.weights
        others = np.clip(np.rint(row + rng.normal(0.0, 1.0, (8, row.size))), low, high)
        items, sizes = self._best(others, mask, pinned)
        for run in range(8):
            other = items[run, : sizes[run]]
            is_whole = not self.constraint.fills_up or other.size == chosen.size
            if not is_whole or row[other].sum() > row[chosen].sum() + 1e-12 * np.abs(row).sum():
                raise ContractError(f"expected {what} to be as good as {_show(other)}, got {_show(chosen)}")

    def _what(self, row: FloatArray, mask: BoolArray | None, pinned: IntArray | None) -> str:
        shown = row.tolist() if row.size <= EXHAUSTIVE_ITEMS else "..."
        return f"best_sets({', '.join(filter(None, [str(shown), _asked(mask, pinned)]))})"


def _row(found: tuple[IntArray, IntArray], run: int) -> list[int]:
    items: list[int] = found[0][run, : found[1][run]].tolist()
    return items


def _asked(available: BoolArray | None, pinned: IntArray | None) -> str:
    """A request in words."""
    parts = [] if available is None else [f"available {_show(np.flatnonzero(available))}"]
    return ", ".join([*parts, *([] if pinned is None else [f"pinned {_show(pinned)}"])])


def _show(items: Any) -> str:
    return "{" + ", ".join(map(str, sorted(np.asarray(items).tolist()))) + "}"
