"""Matroids made of others, nested at will, and the union of all that the section ``constraint`` may hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from matroid_bandits._util.text import shown
from matroid_bandits.constraints import MatroidIntersection, QuotaIntersection
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.matroids import Matroid, direct_sum
from matroid_bandits.specs._constraint import (
    GraphicSpec,
    LaminarSpec,
    LinearSpec,
    OwnSpec,
    PartitionSpec,
    StoredSpec,
    TransversalSpec,
    UniformSpec,
)
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._shapes import (
    ArborescenceSpec,
    AssignmentSpec,
    KnapsackSpec,
    PathSpec,
    QuotasSpec,
    SetsSpec,
)
from matroid_bandits.specs._spec import Count, Spec, closest, mistake


class _OperationSpec(Spec):
    """A matroid made from another one, given under `of`, by the method that is called as the operation."""

    of: ConstraintSpec
    _method: ClassVar[str]

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the matroid with its items and their table rows; `reserved` columns are not features."""
        place = Place() if place is None else place
        base = self.of.ground(place.at("of"), reserved)
        matroid = base.matroid(place.at("of"))
        given = {key: value for key, value in self if key not in ("kind", "of")}
        if "items" in given:
            given["items"] = base.numbers(given["items"], place.at("items"))
        try:
            made = getattr(matroid, self._method)(**given)
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error
        return Ground(base.name, {name: base.rows[name] for name in map(str, made.labels)}, made)


class TruncateSpec(_OperationSpec):
    """Truncation of another matroid to sets of at most `rank` items."""

    kind: Literal["truncation", "truncate"]
    rank: Count = Field(description="Maximum number of items.")
    _method = "truncate"


class DualSpec(_OperationSpec):
    """Dual of another matroid: its bases are the complements of the original ones."""

    kind: Literal["dual"]
    _method = "dual"


class RestrictSpec(_OperationSpec):
    """Restriction of another matroid to some of its items."""

    kind: Literal["restriction", "restrict"]
    items: list[str] = Field(description="The items that stay.")
    _method = "restrict"


class ContractSpec(_OperationSpec):
    """Contraction of another matroid: its other items, given that some are taken."""

    kind: Literal["contraction", "contract"]
    items: list[str] = Field(description="The items that are taken.")
    _method = "contract"


class _PartsSpec(Spec):
    """A constraint made of several, given under `parts`."""

    parts: list[ConstraintSpec]

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the constraint with its items and their table rows; `reserved` columns are not features."""
        place = (Place() if place is None else place).at("parts")
        grounds = [part.ground(place.at(number), reserved) for number, part in enumerate(self.parts)]
        matroids = [ground.matroid(place.at(number)) for number, ground in enumerate(grounds)]
        return self._made(grounds, matroids, place)

    def _made(self, grounds: Sequence[Ground], matroids: Sequence[Matroid], place: Place) -> Ground:
        raise NotImplementedError


class DirectSumSpec(_PartsSpec):
    """Direct sum of several matroids, whose items have different names."""

    kind: Literal["direct-sum", "direct_sum"]

    def _made(self, grounds: Sequence[Ground], matroids: Sequence[Matroid], place: Place) -> Ground:
        part_of: dict[str, int] = {}
        for number, ground in enumerate(grounds):
            for name in ground.rows:
                if (other := part_of.setdefault(name, number)) != number:
                    raise place.at(number).error(f"item {shown(name)} is already in parts[{other}]")
        rows = {name: row for ground in grounds for name, row in ground.rows.items()}
        return Ground(" and ".join(dict.fromkeys(ground.name for ground in grounds)), rows, direct_sum(*matroids))


def _check_two(parts: list[Any]) -> list[Any]:
    if len(parts) != 2:
        why = ": the best sets of three matroids are NP-hard to find; list small families as sets"
        raise mistake(f"expected two matroids, got {len(parts)}{why if len(parts) > 2 else ''}")
    return parts


class IntersectionSpec(_PartsSpec):
    """Intersection of two matroids on the same items, such as quotas per topic and quotas per seller."""

    kind: Literal["matroid-intersection", "intersection"]
    parts: Annotated[list[ConstraintSpec], AfterValidator(_check_two)] = Field(
        description="Two matroids with the same items in the same order."
    )

    def _made(self, grounds: Sequence[Ground], matroids: Sequence[Matroid], place: Place) -> Ground:
        if list(grounds[0].rows) != list(grounds[1].rows):
            raise place.at(1).error("expected the items of parts[0] in the same order, got others")
        is_quotas = all(matroid.quotas() is not None for matroid in matroids)
        made = (QuotaIntersection if is_quotas else MatroidIntersection)(*matroids)
        return Ground(grounds[0].name, grounds[0].rows, made)


#: The constraints that specs have words for, each by its `kind`.
_Named = Annotated[
    UniformSpec
    | PartitionSpec
    | LaminarSpec
    | GraphicSpec
    | TransversalSpec
    | LinearSpec
    | TruncateSpec
    | DualSpec
    | RestrictSpec
    | ContractSpec
    | DirectSumSpec
    | IntersectionSpec
    | AssignmentSpec
    | PathSpec
    | ArborescenceSpec
    | QuotasSpec
    | KnapsackSpec
    | SetsSpec,
    Field(discriminator="kind"),
]


def _which(value: Any) -> str:
    if isinstance(value, StoredSpec) or (isinstance(value, dict) and "format" in value):
        return "(stored)"
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "(own)" if isinstance(kind, str) and ":" in kind else "(named)"


#: Which sets may be chosen: a `kind` that specs have a word for, ``module:Class``, or a stored form.
ConstraintSpec = Annotated[
    Annotated[_Named, Tag("(named)")] | Annotated[OwnSpec, Tag("(own)")] | Annotated[StoredSpec, Tag("(stored)")],
    Discriminator(_which),
]


def _refuse_null(value: Any) -> Any:
    if value is None:
        raise mistake("expected a table, got None")
    return value


#: A constraint; null stands for the key that is left out, and cannot be written.
OneConstraint = Annotated[
    ConstraintSpec | None,
    BeforeValidator(_refuse_null, json_schema_input_type=ConstraintSpec),
]


for model in (TruncateSpec, DualSpec, RestrictSpec, ContractSpec, DirectSumSpec, IntersectionSpec):
    model.model_rebuild()


class ConstrainedSpec(Spec):
    """Base class of specs that contain a constraint, under the key `constraint` or its alias `matroid`.

    Examples
    --------
    >>> from matroid_bandits.specs import parse
    >>> parse(ConstrainedSpec, {"matroid": {"kind": "uniform", "rows": ["a", "b"], "rank": 1}}).ground().constraint
    UniformMatroid(n_items=2, rank=1)
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["constraint"]}, {"required": ["matroid"]}]},
    )

    constraint: OneConstraint = Field(None, description="Which sets of items may be chosen.")
    matroid: OneConstraint = Field(None, description="Alias of constraint.")

    @model_validator(mode="before")
    @classmethod
    def _check_one(cls, data: Any) -> Any:
        if isinstance(data, dict):
            n_given = sum(key in data for key in ("constraint", "matroid"))
            if n_given == 2:
                raise mistake("expected constraint or matroid, got both", "matroid")
            if n_given == 0:
                others = [other for other in data if other not in cls.model_fields]
                hint = closest("constraint", others) or closest("matroid", others)
                raise mistake(f"expected a table here or in matroid, but both keys are missing{hint}", "constraint")
        return data

    @property
    def key(self) -> str:
        """The key in use, `constraint` or `matroid`."""
        return "matroid" if self.constraint is None else "constraint"

    def ground(self, place: Place | None = None, reserved: Collection[str] = ()) -> Ground:
        """Build the constraint with its items; `place` is used in error messages, `reserved` columns are not
        features."""
        given = self.matroid if self.constraint is None else self.constraint
        assert given is not None
        return given.ground((Place() if place is None else place).at(self.key), reserved)
