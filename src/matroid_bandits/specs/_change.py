"""What any section ``weights`` may add: answers that come late, lists that are seen in part, and means that move."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from matroid_bandits.environments import AutoregressiveEnvironment, DriftingEnvironment, RandomWalkEnvironment
from matroid_bandits.specs._constructed import ConstructedSpec
from matroid_bandits.specs._spec import Number, Spec, mistake
from matroid_bandits.specs._values import NumberOrValues


class DelaySpec(Spec):
    """Delay of feedback: `episodes`, plus a geometric number of given `mean`, or `never` with a probability."""

    episodes: NumberOrValues = Field(0.0, description="Whole episodes, one number or one for each item.")
    mean: NumberOrValues = Field(0.0, description="The mean of a geometric number of episodes more.")
    never: NumberOrValues = Field(0.0, description="The probability that an answer never comes.")


class ListSpec(Spec):
    """Sets that are shown as lists: read `until` a click or a failure, or with an `attention` for each place."""

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


class MoveSpec(ConstructedSpec):
    """How the means of a family move, with a number for all items or one for each."""

    @property
    def columns(self) -> list[str]:
        """The columns of the items' table that the drift uses."""
        return [value for _, value in self if isinstance(value, str)]


class DriftSpec(MoveSpec, of=DriftingEnvironment):
    """Drift of means: linearly `to` other means `over` some episodes, and by `amplitude` with a `period`."""


class WalkSpec(MoveSpec, of=RandomWalkEnvironment):
    """Drifting means: random walks with normal steps, reflected at bounds."""


class AutoregressiveSpec(MoveSpec, of=AutoregressiveEnvironment):
    """Drifting means: an AR(1) process around the usual mean for each item, clipped to bounds."""
