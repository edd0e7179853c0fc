"""A campaign of the service: a constraint, a policy, and how long answers are waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from matroid_bandits._util.names import CAMPAIGN_NAME, is_campaign_name
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import KINDS, Answers, Holdout, Learner
from matroid_bandits.policies import Policy, policy_from_dict
from matroid_bandits.specs._file import read_file
from matroid_bandits.specs._labels import Features, Priors
from matroid_bandits.specs._operations import ConstrainedSpec
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicyName, PolicySpec
from matroid_bandits.specs._problem import limited
from matroid_bandits.specs._spec import Integer, Number, Spec, mistake, parse

_LONGEST_WINDOW = 1e9

#: Characters of a title, which comes with every list, and of what a campaign is about.
LONGEST_TITLE, LONGEST_ABOUT = 200, 2000


def _check_name(name: str) -> str:
    if not is_campaign_name(name):
        raise mistake(
            "expected letters, digits, '-', '_' and '.', at most 64 and the first a letter or digit; "
            f"got {shown(name)}"
        )
    return name


def _check_length(most: int, text: str) -> str:
    if len(text) > most:
        raise mistake(f"expected at most {most:,} characters, got {len(text):,}")
    return text


def _check_window(seconds: float | None) -> float | None:
    if seconds is not None and not 0.0 < seconds <= _LONGEST_WINDOW:
        raise mistake(f"expected seconds, more than 0 and at most {_LONGEST_WINDOW:g}; got {seconds:g}")
    return seconds


def _check_no_word(priors: Any) -> Any:
    if isinstance(priors, (str, tuple)):
        raise mistake(f"expected priors by label before anything is known, got {shown(priors)}")
    return priors


Title = Annotated[
    str,
    AfterValidator(partial(_check_length, LONGEST_TITLE)),
    Field(json_schema_extra={"maxLength": LONGEST_TITLE}),
]
About = Annotated[
    str,
    AfterValidator(partial(_check_length, LONGEST_ABOUT)),
    Field(json_schema_extra={"maxLength": LONGEST_ABOUT}),
]
_Seconds = Annotated[Number, WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST_WINDOW})]
Window = Annotated[_Seconds | None, AfterValidator(_check_window)]
CampaignName = Annotated[str, AfterValidator(_check_name), Field(json_schema_extra={"pattern": CAMPAIGN_NAME})]


PolicyField = Annotated[
    PolicySpec,
    BeforeValidator(
        lambda value: {"policy": value} if isinstance(value, str) else value,
        json_schema_input_type=PolicyName | PolicySpec,
    ),
]


#: A share of requests; the learner refuses others.
Share = Annotated[Number, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]


class HoldoutSpec(Spec):
    """Which requests are answered by a control: by a random set, unless another is named."""

    share: Share = Field(0.0, description="Probability with which a request is answered by the control.")
    by: str | None = Field(None, description="The tag whose values are held out; null to draw each request.")
    control: PolicyField | None = Field(
        None, description="The policy that answers them, such as a FixedSet; null for random sets."
    )
    learns: bool = Field(True, description="Whether the campaign's policy learns from the control's decisions too.")

    def make(self) -> Holdout:
        """The hold-out of a learner."""
        control = None if self.control is None else policy_from_dict(self.control.model_dump(exclude_unset=True))
        return Holdout(self.share, self.by or None, control, self.learns)


HoldoutField = Annotated[
    HoldoutSpec,
    BeforeValidator(
        lambda value: value if isinstance(value, (dict, HoldoutSpec)) else {"share": value},
        json_schema_input_type=Share | HoldoutSpec,
    ),
]


class CampaignTerms(Spec):
    """Settings of a campaign besides its learner: name, display texts, and how long to wait for feedback.

    Examples
    --------
    >>> CampaignTerms(name="ads", answer_window=60).default is None
    True
    """

    name: CampaignName = Field(description="What the campaign is called in addresses.")
    title: Title = Field("", description="A name for headings.")
    about: About = Field("", description="What it is for, in a sentence or two.")
    answer_window: Window = Field(
        None, description="Seconds after which a decision without all its answers is closed; null for never."
    )
    default: Number | None = Field(
        None, description="Default weight of missing feedback after the window; null to drop it. With clicks it is 0."
    )


def answers_of(answer_window: Any, default: Any) -> Answers:
    """Return what answers tell of where that is not said: clicks where a window counts the rest as 0."""
    return "clicks" if answer_window is not None and default == 0 else "all"


def check_default(default: float | None, answers: Answers, policy: Policy, place: Place) -> None:
    """Raise unless a default weight fits what answers tell of, and the policy accepts it.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> check_default(0.5, "clicks", mb.OMM(), Place())
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.DataError: default: expected 0 or null with answers "clicks", got 0.5
    """
    low, high = policy.support
    if default is None:
        return
    if not low <= default <= high:
        raise place.at("default").error(f"expected a weight that {policy!r} can take, got {default:g}")
    kind = KINDS[answers]
    if kind.stop is not None or kind.rest not in (None, default):
        expected = "null" if kind.rest is None else f"{kind.rest:g} or null"
        raise place.at("default").error(f'expected {expected} with answers "{answers}", got {default:g}')


class CampaignSpec(CampaignTerms, ConstrainedSpec):
    """Content of a campaign file, or of the request body that creates a campaign.

    Examples
    --------
    >>> spec = CampaignSpec(
    ...     name="ads", matroid={"kind": "uniform", "rows": ["boots", "hats"], "rank": 1}, policy="OMM", seed=0
    ... )
    >>> spec.learner().ask().labels
    ('boots',)
    """

    policy: PolicyField = Field(description="How to choose: the name of a policy, or a policy with its parameters.")
    direction: Literal["maximize", "minimize"] = Field("maximize", description="Whether weights are gains or costs.")
    seed: Annotated[Integer | None, *limited("seed")] = Field(
        None, description="Seed of the policy's random choices."
    )
    holdout: HoldoutField = Field(
        {"share": 0.0},
        validate_default=True,
        description="The share of requests that a random set answers; or the share, its tag, and what answers.",
    )
    answers: Answers | None = Field(
        None,
        description="What answers tell of: all chosen items; clicks alone, so that the rest is 0 when a decision is "
        "closed; or, of a list, its first-click, its first-failure or its clicks-by-place. By default clicks with an "
        "answer window and the default 0, otherwise all.",
    )
    priors: Annotated[Priors, AfterValidator(_check_no_word)] = Field(
        None, description="What is believed of items before anything is told: a mean, and how many plays it is worth."
    )
    features: Features = Field(
        None, description="Features of every item, for policies that take them with a request."
    )

    def make(self, place: Place | None = None) -> tuple[Constraint, Policy]:
        """Return the constraint and the policy; classes that they name are imported."""
        place = Place() if place is None else place
        ground = self.ground(place)
        return ground.constraint, self.policy.make(ground, place.at("policy"))

    def read_answers(self) -> Answers:
        """Return what answers tell of, by the other settings where the file does not say it."""
        return self.answers or answers_of(self.answer_window, self.default)

    def learner(self, place: Place | None = None, record: Callable[[dict[str, Any]], None] | None = None) -> Learner:
        """Return a new learner for the campaign.

        Raises
        ------
        DataError
            With the key that is wrong.
        """
        place = Place() if place is None else place
        constraint, policy = self.make(place)
        check_default(self.default, self.read_answers(), policy, place)
        try:
            return Learner(
                constraint,
                policy,
                minimize=self.direction == "minimize",
                seed=self.seed,
                priors=self.priors,
                features=self.features,
                holdout=self.holdout.make(),
                answers=self.read_answers(),
                record=record,
            )
        except MatroidBanditsError as error:
            raise place.error(str(error)) from error


def read_campaign(path: str | os.PathLike[str]) -> tuple[CampaignSpec, Place]:
    """Read a campaign file, TOML or JSON; its name defaults to the file's.

    Files that it names are read, and code that it names is imported, when `CampaignSpec.learner` is called with the
    place that comes with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ads.toml"
    >>> _ = file.write_text('''
    ... policy = "OMM"
    ... matroid = { kind = "uniform", rows = ["boots", "hats"], rank = 1 }
    ... ''')
    >>> spec, place = read_campaign(file)
    >>> spec.name, spec.learner(place).ask().labels
    ('ads', ('boots',))
    """
    file = Path(path)
    data = read_file(file)
    if isinstance(data, dict):
        data = {"name": file.stem, **data}
    place = Place(file)
    return parse(CampaignSpec, data, place, allow_files=True, allow_code=True), place
