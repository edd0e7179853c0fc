"""What any section ``weights`` may add: answers that come late, and means that move."""

from __future__ import annotations

from pydantic import Field

from matroid_bandits.specs._spec import Spec
from matroid_bandits.specs._values import NumberOrValues, Values


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


class DriftSpec(Spec):
    """How means move: they go `to` other means `over` some episodes, and swing by `amplitude` with a `period`.

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

    @property
    def columns(self) -> list[str]:
        """The columns of the items' table that it uses."""
        return [value for key in type(self).model_fields if isinstance(value := getattr(self, key), str)]
