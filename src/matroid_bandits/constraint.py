"""The base class of constraints: items, their labels, and the best allowed set for given weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray, Label
from matroid_bandits._util.arrays import Immutable
from matroid_bandits._util.checks import as_index, as_integer, check_rows
from matroid_bandits._util.literature import other_word
from matroid_bandits._util.names import decode, encode, pairs_of, plain
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.exceptions import (
    ContractError,
    InvalidConstraintError,
    ItemError,
    MatroidBanditsError,
    SerializationError,
    WeightsError,
)
from matroid_bandits.kernels import order as order_kernels

FORMAT = "matroid-bandits/constraint"
VERSION = 1

#: Formats that are read; the second was written when every constraint was a matroid.
FORMATS = (FORMAT, "matroid-bandits/matroid")

_FLOAT64 = np.dtype(np.float64)
_BOOLEANS = frozenset((bool, np.bool_))

#: Classes by their `kind`, filled as they are defined.
_KINDS: dict[str, type[Constraint]] = {}


#: Types of labels that need no look for NaN.
_NEVER_NAN = frozenset((str, int))


class FormSize(NamedTuple):
    """Size of a stored form: items, items of all constraints that it is made of, itself included, and its parts.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.Constraint.form_size(mb.ExplicitSets([(0, 1), (1, 2), (0, 2)]).to_dict())
    FormSize(n_items=3, n_items_in_all=3, n_parts=1)
    """

    n_items: int
    n_items_in_all: int
    n_parts: int


class Constraint(Immutable, ABC):
    """Base class of constraints: a ground set of items ``0..n_items-1`` and the allowed sets of items.

    Simulations and learners use only the methods of this class: items and their labels, checks of the user's input,
    and the best sets. Matroids are constraints, and so is any class that can compute its best sets exactly. Instances
    are immutable.

    A subclass implements `allows`, `best_sets` and `fields`, and may override `max_size`, `with_unseen`, `force`,
    `conflict`, `about`, `categories`, `in_words`, `content` and `from_fields`. Simulations, learners and the service
    call `solve`, which checks the result of `best_sets`. A class with a unique `kind` is registered with
    `constraint_from_dict` when it is defined; defining it again, as in a notebook, replaces it.
    `matroid_bandits.testing.ConstraintSuite` tests all required properties.

    Parameters
    ----------
    n_items : int
        Number of items, the paper's L.
    labels : iterable of hashable, optional
        Labels of the items; by default their numbers.

    Attributes
    ----------
    kind : str, or None
        The name of the class in stored forms, a class attribute.
    is_hereditary : bool
        Whether every part of an allowed set is allowed too, a class attribute; True by default. False for paths.
    fills_up : bool
        Whether a best set has as many items as possible, whatever their weights, a class attribute; True by default.
        False for paths and budgets, whose best set is the one of largest total, of any size.
    per_item : str
        The key of `fields` that is the number of items or a list with an entry per item, for `form_size`; a class
        attribute, "n_items" by default.
    cost_reason, gain_reason : str
        Why weights must be costs, or gains, as text; empty, the default, if they need not be.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> class Neighbours(mb.Constraint):
    ...     '''Two neighbours in a row of items.'''
    ...     is_hereditary = False
    ...     def allows(self, items):
    ...         return items.size == 2 and items[1] == items[0] + 1
    ...     def best_sets(self, weights, *, available=None, pinned=None):
    ...         first = np.arange(self.n_items - 1)
    ...         may = np.ones(weights.shape, bool) & (True if available is None else available)
    ...         if pinned is not None:
    ...             may[:, pinned] = True
    ...             first = first[[np.isin(pinned, [e, e + 1]).all() for e in first]]
    ...         is_open = may[:, first] & may[:, first + 1]
    ...         totals = np.where(is_open, weights[:, first] + weights[:, first + 1], -np.inf)
    ...         best = first[totals.argmax(axis=1)]
    ...         return np.stack([best, best + 1], axis=1), np.where(is_open.any(axis=1), 2, 0)
    ...     def fields(self):
    ...         return {"n_items": self.n_items}
    >>> row = Neighbours(4, labels="abcd")
    >>> row.best_sets(np.array([[0.1, 0.5, 0.6, 0.2]]))
    (array([[1, 2]]), array([2]))
    >>> mb.Learner(row, mb.OMM(), seed=0).ask(pinned=["d"]).labels
    ('c', 'd')
    """

    #: The name of the class in stored forms; None, or inherited, for a class that is not stored.
    kind: ClassVar[str | None] = None

    #: Whether every part of an allowed set is allowed too.
    is_hereditary: ClassVar[bool] = True

    #: Whether a best set has as many items as possible, whatever their weights.
    fills_up: ClassVar[bool] = True

    #: The key of a stored form that is the number of items, or has an entry for each.
    per_item: ClassVar[str] = "n_items"

    #: Why the weights of the items must be costs, in words; empty where they need not be.
    cost_reason: str = ""

    #: Why they must be gains, likewise.
    gain_reason: str = ""

    #: What is raised where a description is wrong.
    _error: ClassVar[type[InvalidConstraintError]] = InvalidConstraintError

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kind = cls.__dict__.get("kind")
        if kind is None:
            return
        if not isinstance(kind, str) or not kind:
            raise cls._error(f"expected the kind of {cls.__qualname__} to be a word, got {kind!r}")
        known = _KINDS.get(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise cls._error(
                f"expected {cls.__qualname__} to have a kind of its own, got {kind!r}, which is the kind of "
                f"{known.__module__}.{known.__qualname__}"
            )
        _KINDS[kind] = cls

    def __init__(self, n_items: int, labels: Iterable[Label] | None = None) -> None:
        self._n_items = n_items = as_integer("n_items", n_items, error=self._error)
        self._labels = None if labels is None else _check_labels(labels, n_items, self._error)

    # What a class settles

    @abstractmethod
    def allows(self, items: IntArray) -> bool:
        """Return whether a set is allowed or, for a hereditary constraint, part of an allowed set; input is not
        checked.

        Parameters
        ----------
        items : int64 array of shape (n,)
            Distinct items, ascending.
        """

    @abstractmethod
    def best_sets(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the allowed set of largest total weight for each row of weights.

        Nothing is checked, neither what it is given nor what it answers; `solve` is the checked call, and
        `Matroid.max_weight_basis` that of a matroid for weights of a user.

        Parameters
        ----------
        weights : float64 array of shape (R, L)
            One row per run; larger is better. They are finite, but that matroids take infinite ones too.
        available : bool array of shape (L,) or (R, L), optional
            The items that may be chosen, for all runs alike or for each; None means all.
        pinned : int64 array of shape (P,), optional
            Items that are in every set, whether `available` names them or not; ascending. Callers make sure that some
            set has them all: by `allows` where `is_hereditary`, else by `max_size`.

        Returns
        -------
        items : int64 array of shape (R, W)
            The first ``sizes[r]`` entries of row r are its set, ascending; what follows means nothing.
        sizes : int64 array of shape (R,)
            How many items each set has. 0 is the empty set; where that is not allowed, it says that no set is left.
            With nothing masked all sets of a matroid have W = `rank` items.

        Notes
        -----
        Of equally good sets the answer is always the same one. It should be the set that has the smallest item in
        which the two differ: that is the one which a matroid's greedy finds.
        """

    def max_size(self, *, available: BoolArray | None = None, pinned: IntArray | None = None) -> int:
        """Return the size of the largest allowed set among the `available` items (L,) that contains the `pinned`
        ones.

        -1 where no allowed set has all that is pinned. Nothing is checked. By default the best set of equal weights
        tells; where `is_hereditary` is False, `best_sets` is asked about pins that no set may have together, and this
        checks its answer.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> hats = mb.PartitionMatroid(["red", "red", "blue"])
        >>> hats.max_size(), hats.max_size(pinned=np.array([0, 1]))
        (2, -1)
        """
        some = np.empty(0, np.int64) if pinned is None else pinned
        equal = np.ones((1, self._n_items))
        if self.is_hereditary:
            return int(self.solve(equal, available=available, pinned=pinned)[1][0]) if self.allows(some) else -1
        items, sizes = self.solve(equal, available=available, pinned=pinned)
        found = items[0, : sizes[0]]
        return found.size if found.size or (not some.size and self.allows(found)) else -1

    def can_pin(self, pinned: IntArray, available: BoolArray | None = None) -> bool:
        """Return whether some allowed set of available items (L,) contains all pinned items; input is not checked.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> hats = mb.PartitionMatroid(["red", "red", "blue"])
        >>> hats.can_pin(np.array([0, 2])), hats.can_pin(np.array([0, 1]))
        (True, False)
        """
        if self.is_hereditary:
            return self.allows(pinned)
        return self.max_size(available=available, pinned=pinned) >= 0

    def with_unseen(self, weights: FloatArray, unseen: BoolArray) -> FloatArray:
        """Return the weights (R, L) with finite large numbers for unseen items, so that these are chosen first.

        By default one number for each row that is above what any set of other items can make up for, so that as many
        unseen items as possible are chosen. A constraint that can say better what comes first overrides this.

        Parameters
        ----------
        weights : float64 array of shape (R, L)
            Finite; 0 for items never seen.
        unseen : bool array of shape (R, L)
            Which were never seen.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(3, 1).with_unseen(np.array([[0.5, 0.0, -2.0]]), np.array([[False, True, False]]))
        array([[ 0.5,  8. , -2. ]])
        """
        # n items, each at most m in size: 2 n m is the most by which the totals of two sets can differ
        largest = np.abs(weights).max(axis=1, keepdims=True, initial=0.0)
        above = 2.0 * (self.largest_size + 1) * np.where(largest > 0.0, largest, 1.0)
        return np.where(unseen, above, weights)

    def force(
        self,
        weights: FloatArray,
        item: int,
        is_in: bool,
        *,
        available: BoolArray | None = None,
        pinned: IntArray | None = None,
    ) -> IntArray | None:
        """Return the best set that contains an item, or does not; explanations compare it with the chosen set.

        Nothing is checked. By default the request is solved with one more pin, or without the item.

        Parameters
        ----------
        weights : float64 array of shape (L,)
            Larger is better; +inf for items never seen.
        item : int
            The item, which is available.
        is_in : bool
            Whether the set is to have it.
        available, pinned : optional
            As in `best_sets`, for one run.

        Returns
        -------
        int64 array, or None
            The set, ascending; empty where there is none, and None where it cannot be found in reasonable time.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(3, 2).force(np.array([0.5, 0.25, 0.75]), 1, True)
        array([1, 2])
        """
        if is_in:
            pinned = np.array([item]) if pinned is None else np.union1d(pinned, item)
            if not self.can_pin(pinned, available):
                return np.empty(0, np.int64)
        else:
            available = np.ones(self._n_items, bool) if available is None else available.copy()
            available[item] = False
        items, sizes = self.solve(weights[None], available=available, pinned=pinned)
        return items[0, : sizes[0]]

    def worth(self, order: IntArray, weights: FloatArray) -> float:
        """Return what a set is worth whose items, in the order in which they are shown, have some weights.

        The total of their weights, unless a class says otherwise; `best_sets` finds the set of largest worth. Input
        is not checked.

        Parameters
        ----------
        order : int64 array of shape (n,)
            The items of the set, first to last.
        weights : float64 array of shape (L,)
            The weights of all items: expected ones, or those of an episode.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(3, 2).worth(np.array([2, 0]), np.array([0.5, 0.25, 1.0]))
        1.5
        """
        return float(weights[order].sum())

    def conflict(self, items: IntArray) -> str:
        """Return why items cannot be chosen together, for messages; empty, the default, where that is not known.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.KnapsackConstraint([60, 50, 20], 100).conflict(np.array([0, 1]))
        'they cost 110, the budget is 100'
        """
        return ""

    def about(self, item: int) -> str:
        """Return what an item takes of the constraint's limits, as explanations go on after "it would"; empty by
        default.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.KnapsackConstraint([60, 50, 20], 100, unit="tokens").about(2)
        'cost 20 of 100 tokens'
        """
        return ""

    def categories(self) -> list[Sequence[Hashable]]:
        """Return the category of each item, a list for each kind of categories; empty, the default, without any.

        Items of a category count as alike where something must be guessed of a new one. None is the category of an
        item without one.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.PartitionMatroid(["red", "red", "blue"]).truncate(2).categories()
        [['red', 'red', 'blue']]
        """
        return []

    def in_words(self) -> str:
        """Return a short description of the allowed sets for display.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(5, 2).in_words()
        'at most 2 items'
        """
        n = self.largest_size
        return f"at most {n} item{'' if n == 1 else 's'}"

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return the arguments of `from_fields` other than the labels as plain JSON values, for `to_dict`."""

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> Constraint:
        """Make an instance from the output of `fields`; by default by calling the constructor.

        Whatever error it raises, `constraint_from_dict` reports as a malformed form.
        """
        return cls(**fields, labels=labels)

    def content(self) -> tuple[Any, ...]:
        """Return the arrays and plain values that, with the labels, determine whether two instances are equal."""
        return (self.fields(),)

    # What callers use

    def solve(
        self, weights: FloatArray, *, available: BoolArray | None = None, pinned: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the best sets, as `best_sets` does, for weights that are +inf for unseen items.

        What stands for those is settled by `with_unseen`. The answer is checked before it is used: its type
        and shape; that sets are of what is available, with what is pinned, of distinct items; and of the first of
        them that it is allowed. A row of a constraint that is not hereditary may be empty, where no set is left.

        Raises
        ------
        WeightsError
            A weight is NaN or -inf.
        ContractError
            The answer of `best_sets` cannot be right.

        Examples
        --------
        >>> import numpy as np
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(3, 2).solve(np.array([[0.5, np.inf, 0.75]]))
        (array([[1, 2]]), array([2]))
        """
        if not np.isfinite(weights).all():
            unseen = np.isposinf(weights)
            wrong = ~(unseen | np.isfinite(weights))
            if wrong.any():
                run, e = np.argwhere(wrong)[0]
                raise WeightsError(
                    f"expected finite weights, or +inf for items never seen; got {weights[run, e]} for item {e} of "
                    f"run {run}"
                )
            weights = self.with_unseen(np.where(unseen, 0.0, weights), unseen)
        found = self.best_sets(weights, available=available, pinned=pinned)
        if not (isinstance(found, tuple) and len(found) == 2):
            raise ContractError(
                f"expected {type(self).__name__}.best_sets to return items and sizes, got {type(found).__name__}"
            )
        items, sizes = found
        self._check_rows(items, sizes, weights.shape[0])
        self._check_sets(items, sizes, available, pinned)
        return items, sizes

    def _check_rows(self, items: Any, sizes: Any, n_runs: int) -> None:
        """Raise where an answer of `best_sets` is no row of distinct items, ascending, for each run."""
        who = f"{type(self).__name__}.best_sets"
        check_rows(who, items, sizes, n_runs, error=ContractError)
        is_chosen = np.arange(items.shape[1]) < sizes[:, None]
        if (((items < 0) | (items >= self._n_items)) & is_chosen).any():
            raise ContractError(f"expected {who} to return items in 0..{self._n_items - 1}, got {items.tolist()}")
        is_wrong = (np.diff(items, axis=1) <= 0) & is_chosen[:, 1:]
        if is_wrong.any():
            run = int(is_wrong.any(axis=1).argmax())
            raise ContractError(
                f"expected {who} to return distinct items, ascending; got {items[run, : sizes[run]].tolist()}"
            )

    def _check_sets(
        self, items: IntArray, sizes: IntArray, available: BoolArray | None, pinned: IntArray | None
    ) -> None:
        """Raise where rows are not sets of what is available, with what is pinned, or the first is not allowed."""
        who = f"{type(self).__name__}.best_sets"
        if available is not None or pinned is not None:
            is_chosen = np.arange(items.shape[1]) < sizes[:, None]
            sets = np.zeros((sizes.size, self._n_items), bool)
            sets[np.nonzero(is_chosen)[0], items[is_chosen]] = True
            if pinned is not None:
                is_missing = ~sets[:, pinned]
                if not self.is_hereditary:
                    is_missing[sizes == 0] = False  # there is no set with what is pinned
                if is_missing.any():
                    e = pinned[int(is_missing.any(axis=0).argmax())]
                    raise ContractError(
                        f"expected {who} to choose what is pinned, got a set without {self.labels[e]!r}"
                    )
            is_wrong = np.zeros_like(sets) if available is None else sets & ~available
            if pinned is not None:
                is_wrong[:, pinned] = False
            if is_wrong.any():
                e = int(is_wrong.any(axis=0).argmax())
                raise ContractError(
                    f"expected {who} to choose of what is available, got a set with {self.labels[e]!r}"
                )
        if sizes.size and sizes[0] and not self.allows(items[0, : sizes[0]]):
            raise ContractError(
                f"expected {who} to choose a set that is allowed, got {items[0, : sizes[0]].tolist()}"
            )

    @cached_property
    def largest_size(self) -> int:
        """Size of the largest allowed set, computed once."""
        return self.max_size()

    @property
    def n_items(self) -> int:
        """Number of items, the paper's L."""
        return self._n_items

    @property
    def work(self) -> int:
        """The steps that a best set takes, in items looked at; the number of items unless a class says otherwise."""
        return self._n_items

    @property
    def labels(self) -> Sequence[Label]:
        """Label of each item; the item numbers unless labels were given."""
        return self._all_labels

    @cached_property
    def _all_labels(self) -> Sequence[Label]:
        return range(self._n_items) if self._labels is None else self._labels

    @property
    def has_labels(self) -> bool:
        """Whether labels were given."""
        return self._labels is not None

    def item(self, label: Label) -> int:
        """Return the item number of `label`; numbers are labels only where no labels were given.

        Raises
        ------
        ItemError
            No item is called so.
        """
        e = self._number(label) if self._labels is None else self._find(label)
        if e is None:
            raise ItemError(f"expected the label of one of {self._n_items} items, got {shown(label)}")
        return e

    # Checks of what a user names

    def as_item(self, item: Any) -> int:
        """Return the number of an item given by its label or number, an integer of any type.

        Raises
        ------
        ItemError
            It is neither, or it is an integer that is the label of one item and the number of another.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> matroid = mb.UniformMatroid(3, 2, labels="abc")
        >>> matroid.as_item("b"), matroid.as_item(1)
        (1, 1)
        """
        by_label, by_number = self._find(item), self._number(item)
        if by_label is None and by_number is None:
            if self._labels is not None:
                raise ItemError(f"expected an item or its label, got {shown(item)}{did_you_mean(item, self._labels)}")
            what = f"item in 0..{self._n_items - 1}" if _as_integer(item) is not None else "item number"
            raise ItemError(f"expected an {what}, got {shown(item)}")
        if by_label is None or by_number is None or by_label == by_number:
            return by_number if by_label is None else by_label  # type: ignore[return-value]
        raise ItemError(
            f"expected one item, got {shown(item)}, which is the label of item {by_label} and the number of item "
            f"{by_number}, whose label is {self.labels[by_number]!r}: integers in an array are "
            "numbers; labels that are no integers are never ambiguous"
        )

    def as_items(self, items: Iterable[Label] | IntArray, *, keep_order: bool = False) -> IntArray:
        """Return distinct items, given by labels or numbers, as a new int64 array.

        Parameters
        ----------
        items : iterable of labels and numbers, or integer array
            The integers of a NumPy array are item numbers. Elsewhere an integer that is the label of one item and the
            number of another is an error, not a guess.
        keep_order : bool, default False
            Leave the items in the order given; otherwise they ascend.

        Raises
        ------
        ItemError
            One is unknown, ambiguous or repeated, or they are not in one row.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(5, 2, labels="abcde").as_items({"d", 1})
        array([1, 3])
        """
        X = self._numbers(items)
        ordered = np.sort(X)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size:
            raise ItemError(f"expected distinct items, got {repeated[0]} more than once")
        return X if keep_order else ordered

    def _numbers(self, items: Any) -> IntArray:
        """The numbers of items, in the order given and in an array of its own."""
        if isinstance(items, Mapping):  # whose values would be ignored
            raise ItemError(f"expected items or labels in one row, got the mapping {shown(items)}")
        is_numeric = isinstance(items, np.ndarray) and items.dtype.kind not in "OSUMm"
        try:
            given = items if isinstance(items, np.ndarray) else list(items)
            if self._labels is not None and not is_numeric:
                return np.array([self._listed(item) for item in given], np.int64)
            X = np.asarray(given)
        except (TypeError, ValueError) as error:
            if isinstance(error, ItemError):
                raise
            raise ItemError(f"expected item numbers in one row, got {shown(items)}") from None
        if X.ndim == 1 and X.dtype.kind in "Of":  # integers of different types, perhaps
            with suppress(TypeError, OverflowError):
                X = np.array([as_index(e) for e in given], np.int64)
        if X.size == 0:
            return np.empty(0, np.int64)
        if X.ndim != 1 or X.dtype.kind not in "iu":
            raise ItemError(f"expected item numbers in one row, got {X.ndim}-d {X.dtype} values")
        if not is_numeric and not _BOOLEANS.isdisjoint(map(type, given)):  # which NumPy makes integers beside others
            raise ItemError(f"expected item numbers in one row, got {shown(given)}")
        out = X[(X < 0) | (self._n_items <= X)]
        if out.size:
            raise ItemError(f"expected items in 0..{self._n_items - 1}, got {out[0]}")
        return X.astype(np.int64)

    def _listed(self, item: Any) -> int:
        """The number of one of several items."""
        if self._find(item) is None and self._number(item) is None:
            if _as_integer(item) is not None:
                raise ItemError(f"expected items in 0..{self._n_items - 1}, got {shown(item)}")
            if isinstance(item, (float, list, np.ndarray)):
                raise ItemError(f"expected item numbers or labels in one row, got {shown(item)}")
        return self.as_item(item)

    def _find(self, label: Any) -> int | None:
        """The item that carries a label, None where no item does; a family may know its items by other names too."""
        if self._positions is None:
            return None
        try:
            e = self._positions.get(label)
            if e is None and isinstance(label, (np.datetime64, np.timedelta64, tuple)):  # unlike other scalars, no
                e = self._positions.get(plain(label))  # date of NumPy has the hash of what labels are kept as
            return e
        except TypeError:  # not hashable, so no label
            return None

    def _number(self, item: Any) -> int | None:
        """An integer of any type as the number of an item, None where it is not one."""
        e = _as_integer(item)
        return e if e is not None and 0 <= e < self._n_items else None

    def as_weights(self, weights: ArrayLike) -> FloatArray:
        """Return weights as a C-contiguous float64 array of shape (L,) or (R, L), without a copy where possible.

        A mapping of labels to weights, such as a pandas Series, must name every item.

        Raises
        ------
        WeightsError
            Wrong shape or type, or NaN; the message names the run and the item.
        ItemError
            A mapping names what is no item.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.UniformMatroid(2, 1, labels="ab").as_weights({"b": 1.0, "a": 0.5})
        array([0.5, 1. ])
        """
        is_ready = type(weights) is np.ndarray and weights.dtype is _FLOAT64 and weights.flags.c_contiguous
        if not is_ready:
            named = pairs_of(weights)
            weights = _as_floats(weights if named is None else self._in_order(*named))
        w: FloatArray = weights  # type: ignore[assignment]
        if w.ndim not in (1, 2) or w.shape[-1] != self._n_items:
            raise WeightsError(
                f"expected weights of shape ({self._n_items},) or (n_runs, {self._n_items}), got {w.shape}"
            )
        bad = order_kernels.first_nan(w if w.ndim == 1 else w.reshape(-1))
        if bad >= 0:
            place = f"item {bad % self._n_items}" + (f" of run {bad // self._n_items}" if w.ndim == 2 else "")
            raise WeightsError(f"expected numbers, got NaN for {place}")
        return w

    def _in_order(self, labels: list[Any], weights: list[Any]) -> list[Any]:
        """The weights of a mapping, which must name every item once, in the order of items."""
        items = np.array([self.item(label) for label in labels], np.int64)
        if np.unique(items).size != self._n_items or items.size != self._n_items:
            raise WeightsError(f"expected a weight for each of {self._n_items} items, once; got {items.size} weights")
        return [weights[place] for place in np.argsort(items).tolist()]

    # Data

    def to_dict(self) -> dict[str, Any]:
        """Return a plain JSON form, from which `constraint_from_dict` makes an equal constraint.

        Raises
        ------
        SerializationError
            The class has no `kind` of its own, a label is no plain value, or the constraint is code, not data.
        """
        fields, kind = self.fields(), type(self).__dict__.get("kind")
        if kind is None:
            name = type(self).__name__
            raise SerializationError(f"{name} has no kind, so it cannot be stored: give the class one, kind = '...'")
        form = {"format": FORMAT, "version": VERSION, "kind": kind, **fields}
        if self._labels is not None:
            form["labels"] = [encode(label, "label") for label in self._labels]
        return form

    @staticmethod
    def form_size(form: Mapping[str, Any]) -> FormSize:
        """Return how large the constraint of a stored form is, without making it; a malformed part counts 0 items.

        Examples
        --------
        >>> import matroid_bandits as mb
        >>> mb.Constraint.form_size(mb.ExplicitSets([(0, 1), (1, 2), (0, 2)]).to_dict()).n_items
        3
        """
        kind = form.get("kind") if isinstance(form, Mapping) else None
        if not isinstance(kind, str) or kind not in _KINDS:
            return FormSize(0, 0, 1)
        return _KINDS[kind]._size_of(form)

    @classmethod
    def _size_of(cls, form: Mapping[str, Any]) -> FormSize:
        """The size of a form of this class; one that is made of others overrides this."""
        labels = form.get("labels")
        n = max(_length(form.get(cls.per_item)), len(labels) if isinstance(labels, list) else 0)
        return FormSize(n, n, 1)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Constraint)
        if self._n_items != other._n_items or self._labels != other._labels:
            return False
        mine, theirs = self.content(), other.content()
        return len(mine) == len(theirs) and all(map(_is_same, mine, theirs))

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self._n_items))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_items={self._n_items})"

    @cached_property
    def _positions(self) -> dict[Label, int] | None:
        """The item of each label, where labels were given."""
        return None if self._labels is None else {label: e for e, label in enumerate(self._labels)}


def constraint_from_dict(form: Mapping[str, Any]) -> Constraint:
    """Make the constraint described by the output of `Constraint.to_dict`, of a class of the package or the user.

    Raises
    ------
    SerializationError
        The form is of something else, is incomplete or malformed, was written by a newer version, or is of a class
        that has not been defined.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.constraint_from_dict(mb.UniformMatroid(3, 1).to_dict())
    UniformMatroid(n_items=3, rank=1)
    """
    if not isinstance(form, Mapping):
        raise SerializationError(f"expected a dict as made by Constraint.to_dict, got {type(form).__name__}")
    if form.get("format") not in FORMATS:
        raise SerializationError(f"expected 'format' to be {FORMAT!r}, got {form.get('format')!r}")
    version = form.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SerializationError(f"expected 'version' to be a positive integer, got {version!r}")
    if version > VERSION:
        raise SerializationError(f"expected version {VERSION} or older, got {version}: upgrade matroid-bandits")
    kind = form.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SerializationError(
            f"expected 'kind' to be one of {', '.join(sorted(_KINDS))}, got {kind!r}{other_word(kind, _KINDS)}"
        )
    fields = {key: value for key, value in form.items() if key not in ("format", "version", "kind")}
    labels = fields.pop("labels", None)
    if labels is not None:
        if not isinstance(labels, list):
            raise SerializationError(f"expected 'labels' to be a list, got {type(labels).__name__}")
        labels = decode(labels)
    try:
        return _KINDS[kind].from_fields(labels=labels, **fields)
    except SerializationError:
        raise
    except (MatroidBanditsError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
            MemoryError, RecursionError) as error:  # fmt: skip
        raise SerializationError(f"malformed {kind} constraint: {error}") from error


def _check_labels(
    labels: Iterable[Label], n_items: int, error_class: type[InvalidConstraintError]
) -> tuple[Label, ...]:
    try:
        names = tuple(plain(label) for label in labels)
    except TypeError:
        raise error_class(f"expected {n_items} labels, got {labels!r}") from None
    if len(names) != n_items:
        raise error_class(f"expected {n_items} labels, one per item, got {len(names)}")
    if not {type(name) for name in names} <= _NEVER_NAN and any(map(_has_nan, names)):
        wrong = next(filter(_has_nan, names))
        raise error_class(f"expected labels without NaN, which equals no label, not even itself; got {wrong!r}")
    try:
        is_distinct = len(set(names)) == n_items
    except TypeError as error:
        raise error_class(f"expected every label to be hashable: {error}") from None
    if not is_distinct:
        seen: set[Label] = set()
        again = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise error_class(f"expected distinct labels, got {again!r} more than once")
    return names


def _has_nan(label: Any) -> bool:
    """Whether a label, or a part of it, is NaN."""
    if isinstance(label, tuple):
        return any(map(_has_nan, label))
    return isinstance(label, float) and label != label


def _length(value: Any) -> int:
    """A number of items, or how many are listed."""
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    return len(value) if isinstance(value, list) else 0


def _as_integer(value: Any) -> int | None:
    """An integer of any type as an int, None for what is none; booleans are none."""
    try:
        return as_index(value)
    except TypeError:
        return None


def _as_floats(weights: ArrayLike) -> FloatArray:
    """Real numbers, and integers that floats hold exactly, as a C-contiguous float64 array."""
    try:
        given = np.asarray(weights)
    except ValueError:
        raise WeightsError("expected rows of equal length, got a ragged sequence") from None
    if given.dtype.kind not in "fiub" and given.size:
        raise WeightsError(f"expected real weights, got values of type {given.dtype}")
    w = np.asarray(given, np.float64, order="C")
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8 and (np.abs(w) >= 2.0**53).any():
        raise WeightsError("expected integers below 2**53 in size, which float64 holds exactly, got larger ones")
    return w


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a == b)
