"""The section ``weights``: means with noise, or past observations to draw from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.environments import (
    AvailabilityEnvironment,
    BernoulliEnvironment,
    BetaEnvironment,
    DelayedEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    LinearEnvironment,
    RowEnvironment,
    SampleEnvironment,
)
from matroid_bandits.exceptions import DataError, MatroidBanditsError
from matroid_bandits.specs._ground import Ground, check_complete, check_known
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import LARGEST, read_sheet
from matroid_bandits.specs._spec import Columns, FileName, Number, Spec, check_number, closest, mistake
from matroid_bandits.specs._values import NumberOrValues, Values, read_values

_FAMILIES = ("bernoulli", "exponential", "gaussian", "beta", "linear", "rows", "samples")


class DelaySpec(Spec):
    """How late weights become known: `episodes`, a geometric number of `mean` more, or `never` with a probability.

    Examples
    --------
    >>> DelaySpec(episodes=10, never=0.1).mean
    0.0
    """

    episodes: NumberOrValues = Field(0.0, description="Whole episodes, one number or one for each item.")
    mean: NumberOrValues = Field(0.0, description="The mean of a geometric number of episodes more.")
    never: NumberOrValues = Field(0.0, description="The probability that an answer never comes.")


class EnvironmentSpec(Spec):
    """Where the weights come from, who is available, and how late weights become known.

    Examples
    --------
    >>> from matroid_bandits.specs import UniformSpec
    >>> ground = UniformSpec(kind="uniform", rows=["a", "b"], rank=1).ground()
    >>> BernoulliSpec(family="bernoulli", mean={"a": 0.5, "b": 0.25}).environment(ground)
    <BernoulliEnvironment: 2 items, means 0.25 to 0.5>
    """

    availability: NumberOrValues | None = Field(
        None, description="The probability with which an item may be chosen in an episode, or a number for each item."
    )
    delay: DelaySpec | None = Field(None, description="How late weights become known.")

    @property
    def columns(self) -> list[str]:
        """The columns of the matroid's own table that the weights use up."""
        return []

    def environment(self, ground: Ground, place: Place | None = None) -> Environment:
        """The environment of these items."""
        place = Place() if place is None else place

        def numbers(value: Any, *keys: str) -> Any:
            at = place
            for key in keys:
                at = at.at(key)
            return value if isinstance(value, float) else read_values(value, ground, at, None)

        try:
            world = self._make(ground, place)
            if self.availability is not None:
                world = AvailabilityEnvironment(world, numbers(self.availability, "availability"))
            if self.delay is not None:
                episodes = np.asarray(numbers(self.delay.episodes, "delay", "episodes"))
                if (episodes != np.rint(episodes)).any() or (np.abs(episodes) > 2**47).any():
                    raise place.at("delay").at("episodes").error("expected whole numbers of episodes")
                mean, never = (numbers(getattr(self.delay, key), "delay", key) for key in ("mean", "never"))
                delays = episodes.astype(np.int64) if episodes.ndim else int(episodes)
                world = DelayedEnvironment(world, delays, mean=mean, never=never)
            return world
        except DataError:
            raise
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error

    def _make(self, ground: Ground, place: Place) -> Environment:
        raise NotImplementedError


class _ValuesSpec(EnvironmentSpec):
    """Weights around a value for each item, from the matroid's own table or another, or written here."""

    file: FileName | None = Field(None, description="A CSV file of its own for the means, a line for each item.")
    item: str = Field("item", description="The column of that file that names the items.")

    @model_validator(mode="after")
    def _check_item(self) -> Self:
        if self.file is None and "item" in self.model_fields_set:
            raise mistake("unknown key without a file of means", "item")
        return self

    def _read(self, key: str, ground: Ground, place: Place, low: float = -np.inf, high: float = np.inf) -> FloatArray:
        own = None if self.file is None else (read_sheet(self.file, place.at("file")), self.item)
        return read_values(getattr(self, key), ground, place.at(key), own, low, high)


class _MeansSpec(_ValuesSpec):
    mean: Values = Field(description="The column of mean weights, or a number for each item.")

    @property
    def columns(self) -> list[str]:
        return [self.mean] if isinstance(self.mean, str) and self.file is None else []


class BernoulliSpec(_MeansSpec):
    """Weights 0 or 1, with the mean as probability of a 1.

    Examples
    --------
    >>> BernoulliSpec(family="bernoulli", mean="click_rate").columns
    ['click_rate']
    """

    family: Literal["bernoulli"]

    def _make(self, ground: Ground, place: Place) -> Environment:
        return BernoulliEnvironment(self._read("mean", ground, place, 0.0, 1.0))


class ExponentialSpec(_MeansSpec):
    """Weights mean - 1 + Exp(1), the paper's latencies.

    Examples
    --------
    >>> ExponentialSpec(family="exponential", mean=[3.0, 2.0]).mean
    [3.0, 2.0]
    """

    family: Literal["exponential"]

    def _make(self, ground: Ground, place: Place) -> Environment:
        return ExponentialEnvironment(self._read("mean", ground, place))


class GaussianSpec(_MeansSpec):
    """Normal weights.

    Examples
    --------
    >>> GaussianSpec(family="gaussian", mean="gain").noise
    1.0
    """

    family: Literal["gaussian"]
    noise: NumberOrValues = Field(1.0, description="The standard deviation of every weight, or of each item's.")

    @model_validator(mode="after")
    def _check_noise(self) -> Self:
        if isinstance(self.noise, float):
            _check_noise(self.noise)
        return self

    @property
    def columns(self) -> list[str]:
        return super().columns + ([self.noise] if isinstance(self.noise, str) and self.file is None else [])

    def _make(self, ground: Ground, place: Place) -> Environment:
        noise = self.noise if isinstance(self.noise, float) else self._read("noise", ground, place, 0.0)
        return GaussianEnvironment(self._read("mean", ground, place), noise)


class BetaSpec(_ValuesSpec):
    """Weights between 0 and 1 from beta distributions: by `mean` and `concentration`, or by `alpha` and `beta`.

    Examples
    --------
    >>> BetaSpec(family="beta", alpha=[1, 3], beta=[1, 1]).beta
    [1.0, 1.0]
    """

    family: Literal["beta"]
    mean: Values | None = Field(None, description="The column of mean weights, or a number for each item.")
    concentration: Number = Field(10.0, description="With mean: alpha + beta; larger is closer to the mean.")
    alpha: Values | None = Field(None, description="Instead of mean: the first parameters.")
    beta: Values | None = Field(None, description="Instead of mean: the second parameters.")

    @property
    def columns(self) -> list[str]:
        return [key for key in (self.mean, self.alpha, self.beta) if isinstance(key, str) and self.file is None]

    @model_validator(mode="after")
    def _check_which(self) -> Self:
        if (self.alpha is None) != (self.beta is None):
            raise mistake("expected alpha and beta, got one of them", "alpha" if self.alpha is None else "beta")
        if self.mean is not None and self.alpha is not None:
            raise mistake("expected mean, or alpha and beta; got both", "alpha")
        if self.concentration <= 0:
            raise mistake(f"expected a positive number, got {shown(self.concentration)}", "concentration")
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        if self.mean is None:
            return BetaEnvironment(self._read("alpha", ground, place, 0.0), self._read("beta", ground, place, 0.0))
        means = self._read("mean", ground, place, 0.0, 1.0)
        if not ((means > 0) & (means < 1)).all():
            name = list(ground.rows)[int(((means <= 0) | (means >= 1)).argmax())]
            raise place.at("family").error(
                f"expected means strictly between 0 and 1 for beta, got 0 or 1 for item {shown(name)}"
            )
        return BetaEnvironment(means * self.concentration, (1.0 - means) * self.concentration)


class LinearWeightsSpec(EnvironmentSpec):
    """Normal weights whose means are the items' features times `theta`.

    Examples
    --------
    >>> LinearWeightsSpec(family="linear", features=["x", "y"], theta=[0.5, 2]).noise
    0.1
    """

    family: Literal["linear"]
    features: Columns = Field(description="The columns of features.")
    theta: list[Number] = Field(description="A coefficient for each of them.")
    noise: Number = Field(0.1, description="The standard deviation of every weight.")

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if len(self.theta) != len(self.features):
            raise mistake(f"expected {len(self.features)}, one per feature; got {len(self.theta)}", "theta")
        _check_noise(self.noise)
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        features = ground.features(self.features).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return LinearEnvironment(features, self.theta, self.noise)


def _check_matrix(value: Any) -> Any:
    if isinstance(value, list):
        for row in value:
            if not isinstance(row, list | dict):
                raise mistake(f"expected rows, each a list or a table of numbers, got {shown(row)}")
            for number in row.values() if isinstance(row, dict) else row:
                check_number(number)
        if not value:
            raise mistake("expected a row or more, got none")
    return value


class RowsSpec(EnvironmentSpec):
    """Each episode one of some rows that hold a weight for every item, in the items' order or by name.

    Examples
    --------
    >>> len(RowsSpec(family="rows", rows=[[0, 1], {"a": 1, "b": 0}]).rows)
    2
    """

    family: Literal["rows"]
    rows: Annotated[list[list[float] | dict[str, float]], BeforeValidator(_check_matrix)]

    def _make(self, ground: Ground, place: Place) -> Environment:
        at = place.at("rows")
        return RowEnvironment([read_values(row, ground, at.at(number)) for number, row in enumerate(self.rows)])


class SamplesSpec(EnvironmentSpec):
    """Each item's weight is one of its own past weights, drawn independently.

    Examples
    --------
    >>> SamplesSpec(family="samples", samples={"a": [1, 0, 1], "b": [0.5]}).samples["b"]
    [0.5]
    """

    family: Literal["samples"]
    samples: dict[str, list[Number]] = Field(description="The past weights of each item.")

    def _make(self, ground: Ground, place: Place) -> Environment:
        pairs = ((name, weight) for name, weights in self.samples.items() for weight in weights)
        for name in self.samples:
            if message := ground.check_item(name):
                raise place.at("samples").error(message)
        return _sample_environment(ground, pairs, str(place.at("samples")))


class ObservationsSpec(EnvironmentSpec):
    """Past weights from a CSV file: of each item on its own ("long"), or of all items in one row ("wide").

    Examples
    --------
    >>> from matroid_bandits.specs import parse
    >>> parse(ObservationsSpec, {"observations": "past.csv"}, allow_files=True).layout
    'long'
    """

    observations: FileName = Field(description="A CSV file of past weights.")
    layout: Literal["long", "wide"] = "long"
    item: str = Field("item", description="Long: the column that names the items.")
    weight: str = Field("weight", description="Long: the column of weights.")

    @model_validator(mode="after")
    def _check_layout(self) -> Self:
        if self.layout == "wide":
            for key in ("item", "weight"):
                if key in self.model_fields_set:
                    raise mistake("unknown key in the wide layout", key)
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        sheet = read_sheet(self.observations, place.at("observations"))
        if self.layout == "wide":
            for column in sheet.columns:
                if column not in ground.rows:
                    hint = did_you_mean(column, ground.rows)
                    raise DataError(f"{sheet.base}:1: column {shown(column)} is not an item of {ground.name}{hint}")
            sheet.need(*ground.rows)
            return RowEnvironment(
                np.array([[row.number(name) for name in ground.rows] for row in sheet.rows], np.float64)
            )
        sheet.need(self.item, self.weight)
        pairs = []
        for row in sheet.rows:
            name = row.text(self.item)
            check_known(row, name, ground)
            pairs.append((name, float(row.number(self.weight))))
        return _sample_environment(ground, pairs, sheet.base)


def _sample_environment(ground: Ground, pairs: Iterable[tuple[str, float]], where: str) -> Environment:
    samples: dict[str, list[float]] = {name: [] for name in ground.rows}
    for name, weight in pairs:
        samples[name].append(weight)
    there = [name for name, weights in samples.items() if weights]
    check_complete(ground.rows, there, where, "expected an observation or more of every item, got none of")
    return SampleEnvironment(list(samples.values()))


def _check_noise(noise: float) -> None:
    if not 0 <= noise <= LARGEST:
        raise mistake(f"expected a standard deviation, 0 or more; got {noise:g}", "noise")


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
    if family not in ("linear", "rows", "samples") and not has_values:
        near = closest("mean", list(data)) or closest("observations", list(data))
        raise mistake(
            f"expected the column of mean weights here, or a CSV file in weights.observations{near}", "mean"
        )
    if "family" not in data:
        raise mistake("expected a string, but the key is missing", "family")
    if family not in _FAMILIES:
        hint = did_you_mean(family, _FAMILIES)
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
    | Annotated[SamplesSpec, Tag("<samples>")]
    | Annotated[ObservationsSpec, Tag("<observations>")],
    Discriminator(_tag),
    BeforeValidator(_check_family),
]
