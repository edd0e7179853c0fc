"""What any section ``weights`` may add: answers that come late, and means that move."""

from __future__ import annotations

from pydantic import Field

from matroid_bandits.environments import AutoregressiveEnvironment, DriftingEnvironment, RandomWalkEnvironment
from matroid_bandits.specs._constructed import ConstructedSpec
from matroid_bandits.specs._spec import Spec
from matroid_bandits.specs._values import NumberOrValues


class DelaySpec(Spec):
    """Delay of feedback: `episodes`, plus a geometric number of given `mean`, or `never` with a probability."""

    episodes: NumberOrValues = Field(0.0, description="Whole episodes, one number or one for each item.")
    mean: NumberOrValues = Field(0.0, description="The mean of a geometric number of episodes more.")
    never: NumberOrValues = Field(0.0, description="The probability that an answer never comes.")


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
