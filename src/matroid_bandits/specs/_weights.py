"""Worlds made of others, worlds with features, and the union of all that the section ``weights`` may hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from matroid_bandits._util.literature import other_word
from matroid_bandits._util.text import shown
from matroid_bandits.environments import (
    ContextualEnvironment,
    Environment,
    PhasesEnvironment,
    PiecewiseEnvironment,
)
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
    check_noise,
)
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._spec import Columns, Count, Number, Spec, closest, mistake

_WITHOUT_MEANS = ("linear", "rows", "samples", "trace", "piecewise", "phases", "contextual")
_FAMILIES = ("bernoulli", "exponential", "gaussian", "beta", *_WITHOUT_MEANS)


class PiecewiseSpec(EnvironmentSpec):
    """Piecewise-stationary weights: one of `pieces` after the other, switched at given episodes.

    Examples
    --------
    >>> from matroid_bandits.specs import UniformSpec
    >>> ground = UniformSpec(kind="uniform", rows=["a", "b"], rank=1).ground()
    >>> pieces = [{"family": "bernoulli", "mean": [0.9, 0.1]}, {"family": "bernoulli", "mean": [0.1, 0.9]}]
    >>> PiecewiseSpec(family="piecewise", pieces=pieces, changes=[101]).environment(ground)
    <PiecewiseEnvironment: 2 items, 2 pieces>
    """

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


class PhasesSpec(EnvironmentSpec):
    """Bernoulli weights whose means alternate between two levels in growing phases; some items are always better.

    Examples
    --------
    >>> from matroid_bandits.specs import UniformSpec
    >>> ground = UniformSpec(kind="uniform", rows=["a", "b"], rank=1).ground()
    >>> PhasesSpec(family="phases", best=["b"]).environment(ground)
    <PhasesEnvironment: 2 items, 1 better by 0.1>
    """

    family: Literal["phases"]
    best: list[str] = Field(description="The best items, by name.")
    gap: Number = Field(0.1, description="By how much they are better.")
    growth: Number = Field(1.6, description="How much longer each phase is than the one before.")

    def _make(self, ground: Ground, place: Place) -> Environment:
        items = ground.numbers(self.best, place.at("best"))
        return PhasesEnvironment(ground.constraint.n_items, items, self.gap, self.growth)


class ContextualSpec(EnvironmentSpec):
    """Weights with means linear in features that are drawn anew for each item in each episode.

    Examples
    --------
    >>> ContextualSpec(family="contextual", features=["x", "y"], theta=[0.5, 2], spread=[0, 1]).noise
    0.1
    """

    family: Literal["contextual"]
    features: Columns = Field(description="The columns of what is usual for each item.")
    theta: list[Number] = Field(description="A coefficient for each of them.")
    spread: Number | list[Number] = Field(
        1.0, description="How far features go to either side of the usual: one for all, or one for each feature."
    )
    noise: Number = Field(0.1, description="The standard deviation of a Gaussian weight.")
    distribution: Literal["gaussian", "bernoulli"] = Field(
        "gaussian", description="Normal weights around the means, or 0 and 1 with the means as probabilities."
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        sized: list[tuple[str, Any]] = [("theta", self.theta), ("spread", self.spread)]
        for key, values in sized:
            if isinstance(values, list) and len(values) != len(self.features):
                raise mistake(f"expected {len(self.features)}, one per feature; got {len(values)}", key)
        check_noise(self.noise)
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        return ContextualEnvironment(
            ground.features(self.features).astype(np.float64),
            self.theta,
            self.spread,
            noise=self.noise,
            distribution=self.distribution,
        )


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
