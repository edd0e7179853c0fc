"""The section ``weights``: means with noise, or past observations to draw from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.text import did_you_mean, shown
from matroid_bandits.environments import (
    AvailabilityEnvironment,
    BernoulliEnvironment,
    BetaEnvironment,
    CascadeEnvironment,
    DelayedEnvironment,
    Environment,
    ExponentialEnvironment,
    GaussianEnvironment,
    LinearEnvironment,
    PositionEnvironment,
    RowEnvironment,
    SampleEnvironment,
    TraceEnvironment,
)
from matroid_bandits.exceptions import DataError, MatroidBanditsError
from matroid_bandits.specs._change import AutoregressiveSpec, DelaySpec, DriftSpec, ListSpec, MoveSpec, WalkSpec
from matroid_bandits.specs._constructed import ConstructedSpec
from matroid_bandits.specs._ground import Ground, check_complete, check_known
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._sheet import LARGEST, Sheet, read_sheet
from matroid_bandits.specs._spec import FileName, Number, Spec, check_number, mistake
from matroid_bandits.specs._values import NumberOrValues, Values, read_values


class EnvironmentSpec(Spec):
    """Distribution of the weights, availability of items, lists that are seen in part, and delay of feedback."""

    availability: NumberOrValues | None = Field(
        None, description="The probability with which an item may be chosen in an episode, or a number for each item."
    )
    delay: DelaySpec | None = Field(None, description="How late weights become known.")
    lists: ListSpec | None = Field(None, description="Sets are shown as lists, of which not everything is seen.")

    @property
    def columns(self) -> list[str]:
        """Columns of the items' table that the weight distribution uses."""
        return []

    def environment(self, ground: Ground, place: Place | None = None) -> Environment:
        """Build the environment for the given items."""
        place = Place() if place is None else place

        def numbers(value: Any, *keys: str) -> Any:
            at = place
            for key in keys:
                at = at.at(key)
            return value if isinstance(value, float) else read_values(value, ground, at, None)

        try:
            world = self._moved(self._make(ground, place), ground, place)
            if self.availability is not None:
                world = AvailabilityEnvironment(world, numbers(self.availability, "availability"))
            if self.lists is not None:
                world = self._listed(world, self.lists, place.at("lists"))
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

    @staticmethod
    def _listed(world: Environment, lists: ListSpec, place: Place) -> Environment:
        """The environment with lists that are seen in part."""
        try:
            if lists.until is not None:
                return CascadeEnvironment(world, lists.until, lists.order)
            return PositionEnvironment(world, lists.attention or [])
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error

    def _make(self, ground: Ground, place: Place) -> Environment:
        raise NotImplementedError

    def _moved(self, world: Environment, ground: Ground, place: Place) -> Environment:
        """The environment with means that move, where they do."""
        return world


class _FamilySpec(EnvironmentSpec):
    """Weights of a family that is drawn around means, which may move."""

    drift: DriftSpec | None = Field(None, description="How the means move.")
    walk: WalkSpec | None = Field(None, description="Means that are random walks.")
    autoregressive: AutoregressiveSpec | None = Field(None, description="Means that wander around the usual ones.")

    @property
    def _moves(self) -> dict[str, MoveSpec]:
        """How means move, by the key that says so; one at most."""
        known = {"drift": self.drift, "walk": self.walk, "autoregressive": self.autoregressive}
        return {key: spec for key, spec in known.items() if spec is not None}

    @model_validator(mode="after")
    def _check_moves(self) -> Self:
        moves = list(self._moves)
        if len(moves) > 1:
            raise mistake(f"expected one of drift, walk, autoregressive; got {' and '.join(moves)}", moves[1])
        return self

    @property
    def columns(self) -> list[str]:
        return [column for spec in self._moves.values() for column in spec.columns]

    def _own(self, place: Place) -> tuple[Sheet, str] | None:
        """A table of its own with a row for each item, and its column of items."""
        return None

    def _moved(self, world: Environment, ground: Ground, place: Place) -> Environment:
        for key, spec in self._moves.items():
            try:
                world = spec.made(ground, place.at(key), self._own(place), environment=world)
            except DataError:
                raise
            except MatroidBanditsError as error:
                raise place.at(key).error(str(error)) from error
        return world


class _ValuesSpec(_FamilySpec):
    """Weights around a value for each item, from the matroid's own table or another, or written here."""

    file: FileName | None = Field(None, description="A CSV file of its own for the means, a line for each item.")
    item: str = Field("item", description="The column of that file that names the items.")

    @model_validator(mode="after")
    def _check_item(self) -> Self:
        if self.file is None and "item" in self.model_fields_set:
            raise mistake("unknown key without a file of means", "item")
        return self

    @property
    def columns(self) -> list[str]:
        named = (getattr(self, key, None) for key in ("mean", "noise", "alpha", "beta"))
        return [] if self.file is not None else super().columns + [each for each in named if isinstance(each, str)]

    def _read(self, key: str, ground: Ground, place: Place, low: float = -np.inf, high: float = np.inf) -> FloatArray:
        return read_values(getattr(self, key), ground, place.at(key), self._own(place), low, high)

    def _own(self, place: Place) -> tuple[Sheet, str] | None:
        return None if self.file is None else (read_sheet(self.file, place.at("file")), self.item)


class _MeansSpec(_ValuesSpec):
    mean: Values = Field(description="The column of mean weights, or a number for each item.")


class BernoulliSpec(_MeansSpec):
    """Weights 0 or 1, with the mean as probability of a 1."""

    family: Literal["bernoulli"]

    def _make(self, ground: Ground, place: Place) -> Environment:
        return BernoulliEnvironment(self._read("mean", ground, place, 0.0, 1.0))


class ExponentialSpec(_MeansSpec):
    """Weights mean - 1 + Exp(1), the paper's latencies."""

    family: Literal["exponential"]

    def _make(self, ground: Ground, place: Place) -> Environment:
        return ExponentialEnvironment(self._read("mean", ground, place))


class GaussianSpec(_MeansSpec):
    """Normal weights."""

    family: Literal["gaussian"]
    noise: NumberOrValues = Field(1.0, description="The standard deviation of every weight, or of each item's.")

    @model_validator(mode="after")
    def _check_noise(self) -> Self:
        check_noise(self.noise)
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        noise = self.noise if isinstance(self.noise, float) else self._read("noise", ground, place, 0.0)
        return GaussianEnvironment(self._read("mean", ground, place), noise)


class BetaSpec(_ValuesSpec):
    """Weights between 0 and 1 from beta distributions: by `mean` and `concentration`, or by `alpha` and `beta`."""

    family: Literal["beta"]
    mean: Values | None = Field(None, description="The column of mean weights, or a number for each item.")
    concentration: Number = Field(10.0, description="With mean: alpha + beta; larger is closer to the mean.")
    alpha: Values | None = Field(None, description="Instead of mean: the first parameters.")
    beta: Values | None = Field(None, description="Instead of mean: the second parameters.")

    @model_validator(mode="after")
    def _check_which(self) -> Self:
        if self.mean is None and self.alpha is None and self.beta is None:
            raise mistake("expected mean, or alpha and beta; got neither", "mean")
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


class LinearWeightsSpec(_FamilySpec, ConstructedSpec, of=LinearEnvironment):
    """Normal weights whose means are the items' features times `theta`."""

    family: Literal["linear"]
    theta: list[Number] = Field(description="A coefficient for each of them.")

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        check_linear(self)
        return self

    def _make(self, ground: Ground, place: Place) -> Environment:
        with np.errstate(over="ignore", invalid="ignore"):
            return cast(Environment, self.made(ground, place))


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
    """Weights drawn from rows with a weight for every item, in the items' order or by name, one row per episode."""

    family: Literal["rows"]
    rows: Annotated[list[list[float] | dict[str, float]], BeforeValidator(_check_matrix)]

    def _make(self, ground: Ground, place: Place) -> Environment:
        kind = RowEnvironment if self.family == "rows" else TraceEnvironment
        at = place.at("rows")
        return kind([read_values(row, ground, at.at(number)) for number, row in enumerate(self.rows)])


class TraceSpec(RowsSpec):
    """Weights played from rows in order, one row per episode; after the last row the first comes again."""

    family: Literal["trace"]  # type: ignore[assignment]


class SamplesSpec(EnvironmentSpec):
    """Independent weights, each drawn from its item's own past weights."""

    family: Literal["samples"]
    samples: dict[str, list[Number]] = Field(description="The past weights of each item.")

    def _make(self, ground: Ground, place: Place) -> Environment:
        pairs = ((name, weight) for name, weights in self.samples.items() for weight in weights)
        for name in self.samples:
            if message := ground.check_item(name):
                raise place.at("samples").error(message)
        return _sample_environment(ground, pairs, str(place.at("samples")))


class ObservationsSpec(EnvironmentSpec):
    """Past weights from a CSV file: independent by item ("long"), or all items in one row ("wide")."""

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


def check_noise(noise: Any) -> None:
    """Raise when a number is no standard deviation."""
    if isinstance(noise, float) and not 0 <= noise <= LARGEST:
        raise mistake(f"expected a standard deviation, 0 or more; got {noise:g}", "noise")


def check_linear(spec: Any, *sized: str) -> None:
    """Raise unless some keys have a number per feature, and the noise is a standard deviation."""
    for key in ("theta", *sized):
        values = getattr(spec, key)
        if isinstance(values, list) and len(values) != len(spec.features):
            raise mistake(f"expected {len(spec.features)}, one per feature; got {len(values)}", key)
    check_noise(spec.noise)
