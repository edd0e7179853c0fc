"""What the constraints that are made of two matroids have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from matroid_bandits._typing import IntArray, Label
from matroid_bandits.constraint import FormSize, constraint_from_dict
from matroid_bandits.constraints._exact import ExactConstraint
from matroid_bandits.exceptions import InvalidConstraintError
from matroid_bandits.matroids import Matroid


class TwoMatroids(ExactConstraint):
    """The sets that are independent in each of two matroids on the same items."""

    def __init__(self, one: Matroid, two: Matroid) -> None:
        for matroid in (one, two):
            if not isinstance(matroid, Matroid):
                raise InvalidConstraintError(
                    f"expected two matroids, got {type(matroid).__name__}: what three matroids, or a matroid and a "
                    "budget, have in common is NP-hard to find; list small families with ExplicitSets"
                )
        if one.n_items != two.n_items:
            raise InvalidConstraintError(
                f"expected two matroids on the same items, got {one.n_items} items and {two.n_items}"
            )
        if one.has_labels and two.has_labels and tuple(one.labels) != tuple(two.labels):
            raise InvalidConstraintError("expected two matroids with the same labels in the same order, got others")
        named = one if one.has_labels else two
        super().__init__(one.n_items, named.labels if named.has_labels else None)
        self._matroids = (one, two)

    @property
    def matroids(self) -> tuple[Matroid, Matroid]:
        """The two matroids."""
        return self._matroids

    def allows(self, items: IntArray) -> bool:
        return all(matroid.allows(items) for matroid in self._matroids)

    def in_words(self) -> str:
        return " and ".join(matroid.in_words() for matroid in self._matroids)

    @property
    def _most(self) -> int:
        return min(matroid.rank for matroid in self._matroids)

    def content(self) -> tuple[Any, ...]:
        return self._matroids

    def fields(self) -> dict[str, Any]:
        return {"one": self._matroids[0].to_dict(), "two": self._matroids[1].to_dict()}

    @classmethod
    def _size_of(cls, form: Mapping[str, Any]) -> FormSize:
        one, two = (cls.form_size(form.get(key, {})) for key in ("one", "two"))
        n = max(one.n_items, two.n_items)
        return FormSize(n, n + one.n_items_in_all + two.n_items_in_all, one.n_parts + two.n_parts)

    @classmethod
    def from_fields(cls, *, labels: tuple[Label, ...] | None, **fields: Any) -> Self:
        one, two = (_matroid_of(fields.pop(key)) for key in ("one", "two"))
        return cls(one, two, **fields)


def _matroid_of(form: Mapping[str, Any]) -> Matroid:
    made = constraint_from_dict(form)
    if not isinstance(made, Matroid):
        raise ValueError(f"expected the form of a matroid, got that of {made!r}")
    return made
