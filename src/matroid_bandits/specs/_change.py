"""What any section ``weights`` may add: answers that come late, lists that are seen in part, and means that move."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from matroid_bandits.specs._spec import Number, Spec, mistake
from matroid_bandits.specs._values import NumberOrValues, Values


class DelaySpec(Spec):
    """Delay of feedback: `episodes`, plus a geometric number of given `mean`, or `never` with a probability.

    Examples
    --------
    >>> DelaySpec(episodes=10, never=0.1).mean
    0.0
    """

    episodes: NumberOrValues = Field(0.0, description="Whole episodes, one number or one for each item.")
    mean: NumberOrValues = Field(0.0, description="The mean of a geometric number of episodes more.")
    never: NumberOrValues = Field(0.0, description="The probability that an answer never comes.")


class ListSpec(Spec):
    """Sets that are shown as lists: read `until` a click or a failure, or with an `attention` for each place.

    Examples
    --------
    >>> ListSpec(until="failure").order, ListSpec(attention=[1, 0.5]).until
    ('best', None)
    """

    until: Literal["click", "failure"] | None = Field(
        None, description="What ends the reading of a list from the top; what comes behind is not seen."
    )
    order: Literal["best", "explore"] = Field(
        "best", description="With until: whether lists begin with the item of largest index, or of smallest."
    )
    attention: list[Number] | None = Field(
        None, description="Instead of until: the chance that each place is looked at, 1 at the top and never rising."
    )

    @model_validator(mode="after")
    def _check_which(self) -> Self:
        if (self.until is None) == (self.attention is None):
            given = "neither" if self.until is None else "both"
            raise mistake(f"expected until, or attention; got {given}", "until")
        if self.attention is not None and "order" in self.model_fields_set:
            raise mistake("unknown key with attention", "order")
        return self


class MoveSpec(Spec):
    """How the means of a family move, with a number for all items or one for each."""

    @property
    def columns(self) -> list[str]:
        """The columns of the items' table that the drift uses."""
        return [value for key in type(self).model_fields if isinstance(value := getattr(self, key), str)]


class DriftSpec(MoveSpec):
    """Drift of means: linearly `to` other means `over` some episodes, and by `amplitude` with a `period`.

    Examples
    --------
    >>> DriftSpec(amplitude=0.1, period=500).phase
    0.0
    """

    amplitude: NumberOrValues = Field(0.0, description="How far a mean swings to either side.")
    period: NumberOrValues = Field(1000.0, description="Episodes from one top to the next.")
    phase: NumberOrValues = Field(0.0, description="Where in its period a mean begins; at 0.25 at the top.")
    to: Values | None = Field(None, description="The column of means that they go to, or a number for each item.")
    over: NumberOrValues = Field(1000.0, description="Episodes that this takes.")


class WalkSpec(MoveSpec):
    """Drifting means: random walks with normal steps, reflected at bounds.

    Examples
    --------
    >>> WalkSpec(step=0.02).low is None
    True
    """

    step: NumberOrValues = Field(0.01, description="The standard deviation of a step.")
    low: Number | None = Field(None, description="Where walks are reflected; by default where the family needs it.")
    high: Number | None = Field(None, description="The upper bound.")


class AutoregressiveSpec(MoveSpec):
    """Drifting means: an AR(1) process around the usual mean for each item, clipped to bounds.

    Examples
    --------
    >>> AutoregressiveSpec(deviation=0.2).correlation
    0.99
    """

    deviation: NumberOrValues = Field(0.1, description="How far means are from usual, a standard deviation.")
    correlation: NumberOrValues = Field(0.99, description="Of deviations in two episodes that follow each other.")
    low: Number | None = Field(None, description="Where means are clipped; by default where the family needs it.")
    high: Number | None = Field(None, description="The upper bound.")
