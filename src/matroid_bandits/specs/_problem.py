"""A whole problem: matroid, weights and direction; and the policies, episodes and runs of its simulation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from matroid_bandits._util.styles import OPTIMAL
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.policies import POLICIES
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import check_fit
from matroid_bandits.specs._ground import Ground
from matroid_bandits.specs._operations import ConstrainedSpec
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicySpec, unknown_policy
from matroid_bandits.specs._spec import Spec, mistake
from matroid_bandits.specs._weights import WeightsSpec

#: The least and the largest of each, and the largest in words: no machine gets to the end of more.
RANGES = {
    "episodes": (1, 10**9, "1,000,000,000"),
    "runs": (1, 10**6, "1,000,000"),
    "seed": (0, 2**64 - 1, "2**64 - 1"),
}


def out_of_range(name: str, value: int) -> str:
    """Return what is wrong with a number of episodes, of runs, or a seed, as text; empty when nothing is.

    Examples
    --------
    >>> out_of_range("runs", 0)
    'expected an integer from 1 to 1,000,000, got 0'
    >>> out_of_range("runs", 100)
    ''
    """
    low, high, words = RANGES[name]
    return "" if low <= value <= high else f"expected an integer from {low} to {words}, got {shown(value)}"


class ProblemSpec(ConstrainedSpec):
    """A problem: a constraint, the distribution of the weights, and whether they are gains or costs.

    Examples
    --------
    >>> spec = ProblemSpec(
    ...     matroid={"kind": "uniform", "rows": ["a", "b", "c"], "rank": 2},
    ...     weights={"family": "bernoulli", "mean": [0.5, 0.25, 0.75]},
    ... )
    >>> spec.make()[0].optimal_value
    1.25
    """

    weights: WeightsSpec = Field(description="Where the items' weights come from.")
    direction: Literal["maximize", "minimize"] = Field("maximize", description="Whether weights are gains or costs.")

    def make(self, place: Place | None = None) -> tuple[Problem, Ground]:
        """Return the problem, and its items with their table rows."""
        place = Place() if place is None else place
        ground = self.ground(place, self.weights.columns)
        if ground.constraint.largest_size <= 0:
            raise (
                place.at(self.key).at("kind").error("expected a constraint with a set of an item or more, got none")
            )
        environment = self.weights.environment(ground, place.at("weights"))
        return Problem(ground.constraint, environment, self.direction == "minimize"), ground


def check_policies(value: Any) -> Any:
    """Fill in the names of policies that are left out, since the key is one."""
    if not isinstance(value, dict):
        return value
    if not value:
        raise mistake("expected a policy or more, got none")
    filled = {}
    for name, table in value.items():
        if name == OPTIMAL:
            raise mistake("expected another name, since the optimum itself is shown under this one", name)
        if isinstance(table, dict) and "policy" not in table:
            if name not in POLICIES:
                raise unknown_policy(name, name)
            table = {"policy": name, **table}
        filled[name] = table
    return filled


def limited(name: str) -> Any:
    """A validator of a number of episodes, of runs, or of a seed, and its bounds for the JSON Schema."""

    def check(value: int | None) -> int | None:
        if value is not None and (message := out_of_range(name, value)):
            raise mistake(message)
        return value

    low, high, _ = RANGES[name]
    return AfterValidator(check), Field(json_schema_extra={"minimum": low, "maximum": high})


class RunsSpec(Spec):
    """Number of episodes and runs of a simulation, its seed and its name."""

    episodes: Annotated[int, *limited("episodes")] = Field(description="Episodes of a run.")
    runs: Annotated[int, *limited("runs")] = Field(20, description="Runs of each policy.")
    seed: Annotated[int, *limited("seed")] = Field(0, description="Seed of all random numbers.")
    start: Literal["observe", "explore"] = Field(
        "observe", description="Whether every item is seen once before episode 1."
    )
    title: str | None = Field(None, description="The heading of the report; by default the file's name.")
    about: str = Field("", description="What the problem is, in a sentence or two.")
    policies: Annotated[dict[str, PolicySpec], BeforeValidator(check_policies)] = Field(
        description="Who plays: a name, and which policy with which parameters."
    )

    def make_policies(self, problem: Problem, ground: Ground, place: Place | None = None) -> dict[str, Any]:
        """Return the policies, or lists of them, by name, each checked to fit these items and weights."""
        place = (Place() if place is None else place).at("policies")
        made = {name: spec.make_all(ground, place.at(name)) for name, spec in self.policies.items()}
        for name, given in made.items():
            for policy in given if isinstance(given, list) else [given]:
                try:
                    check_fit(policy, problem.environment)
                except MatroidBanditsError as error:
                    raise place.at(name).error(str(error)) from error
        return made


class SimulationSpec(RunsSpec, ProblemSpec):
    """Content of a problem file: a problem, policies, the number of episodes and of runs.

    Examples
    --------
    >>> spec = SimulationSpec(
    ...     episodes=100,
    ...     matroid={"kind": "uniform", "rows": ["a", "b", "c"], "rank": 2},
    ...     weights={"family": "bernoulli", "mean": [0.5, 0.25, 0.75]},
    ...     policies={"OMM": {}, "cautious": {"policy": "OMM", "scale": 2}},
    ... )
    >>> spec.runs, list(spec.policies)
    (20, ['OMM', 'cautious'])
    """
