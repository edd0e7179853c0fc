"""Worlds made of others, worlds with features, and the union of all that the section ``weights`` may hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from matroid_bandits._util.literature import other_word
from matroid_bandits._util.text import shown
from matroid_bandits.environments import (
    ContextualEnvironment,
    Environment,
    PhasesEnvironment,
    PiecewiseEnvironment,
)
from matroid_bandits.specs._constructed import ConstructedSpec
from matroid_bandits.specs._environment import (
    BernoulliSpec,
    BetaSpec,
    EnvironmentSpec,
    ExponentialSpec,
    GaussianSpec,
    LinearWeightsSpec,
    ObservationsSpec,
    RowsSpec,
    SamplesSpec,
    TraceSpec,
    check_linear,
)
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._spec import Count, Spec, closest, mistake

_WITHOUT_MEANS = ("linear", "rows", "samples", "trace", "piecewise", "phases", "contextual")
_FAMILIES = ("bernoulli", "exponential", "gaussian", "beta", *_WITHOUT_MEANS)


class PiecewiseSpec(EnvironmentSpec):
    """Piecewise-stationary weights: one of `pieces` after the other, switched at given episodes."""

    family: Literal["piecewise"]
    pieces: list[WeightsSpec] = Field(description="Where the weights come from, in the order of time.")
    changes: list[Count] = Field(description="For each piece but the first the episode with which it begins.")

    @property
    def columns(self) -> list[str]:
        return [column for piece in self.pieces for column in piece.columns]

    def _make(self, ground: Ground, place: Place) -> Environment:
        at = place.at("pieces")
        pieces = [piece.environment(ground, at.at(number)) for number, piece in enumerate(self.pieces)]
        return PiecewiseEnvironment(pieces, self.changes)


class PhasesSpec(EnvironmentSpec, ConstructedSpec, of=PhasesEnvironment):
    """Bernoulli weights whose means alternate between two levels in growing phases; some items are always better."""

    family: Literal["phases"]

    def _make(self, ground: Ground, place: Place) -> Environment:
        return cast(Environment, self.made(ground, place))


class ContextualSpec(EnvironmentSpec, ConstructedSpec, of=ContextualEnvironment):
    """Weights with means linear in features that are drawn anew for each item in each episode."""

    family: Literal["contextual"]

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        check_linear(self, "spread")
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        return cast(Environment, self.made(ground, place))


def _check_family(data: Any) -> Any:
    """Tell early what is wrong with a section that says neither how weights are made nor where they are."""
    if isinstance(data, Spec):
        return data
    if not isinstance(data, dict):
        raise mistake(f"expected a table, got {shown(data)}")
    if "observations" in data:
        return data
    family = data.get("family")
    has_values = any(key in data for key in ("mean", "alpha", "beta"))
    if family not in _WITHOUT_MEANS and not has_values:
        near = closest("mean", list(data)) or closest("observations", list(data))
        raise mistake(
            f"expected the column of mean weights here, or a CSV file in weights.observations{near}", "mean"
        )
    if "family" not in data:
        raise mistake("expected a string, but the key is missing", "family")
    if family not in _FAMILIES:
        hint = other_word(family, _FAMILIES)
        raise mistake(f"expected one of {', '.join(_FAMILIES)}; got {shown(family)}{hint}", "family")
    return data


def _tag(data: Any) -> str:
    """The alternative that a section is; in brackets, so that it is no key of the section."""
    if isinstance(data, dict):
        return "<observations>" if "observations" in data else f"<{data['family']}>"
    return f"<{getattr(data, 'family', 'observations')}>"


#: Where the weights come from: a family with its parameters, or a file of observations.
WeightsSpec = Annotated[
    Annotated[BernoulliSpec, Tag("<bernoulli>")]
    | Annotated[ExponentialSpec, Tag("<exponential>")]
    | Annotated[GaussianSpec, Tag("<gaussian>")]
    | Annotated[BetaSpec, Tag("<beta>")]
    | Annotated[LinearWeightsSpec, Tag("<linear>")]
    | Annotated[RowsSpec, Tag("<rows>")]
    | Annotated[TraceSpec, Tag("<trace>")]
    | Annotated[SamplesSpec, Tag("<samples>")]
    | Annotated[PiecewiseSpec, Tag("<piecewise>")]
    | Annotated[PhasesSpec, Tag("<phases>")]
    | Annotated[ContextualSpec, Tag("<contextual>")]
    | Annotated[ObservationsSpec, Tag("<observations>")],
    Discriminator(_tag),
    BeforeValidator(_check_family),
]

PiecewiseSpec.model_rebuild()
