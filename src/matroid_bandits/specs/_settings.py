"""Other settings of a campaign that is there already: what is to differ, and from what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from matroid_bandits.constraint import Constraint
from matroid_bandits.constraints import edited
from matroid_bandits.learner import Answers, Holdout, Learner
from matroid_bandits.policies import Policy
from matroid_bandits.specs._campaign import (
    About,
    CampaignSpec,
    HoldoutField,
    PolicyField,
    Title,
    Window,
    answers_of,
    check_default,
)
from matroid_bandits.specs._ground import Ground, ground_of
from matroid_bandits.specs._labels import Features, Label, Priors, read_pairs
from matroid_bandits.specs._operations import OneConstraint
from matroid_bandits.specs._place import Place
from matroid_bandits.specs._policy import PolicySpec
from matroid_bandits.specs._problem import limited
from matroid_bandits.specs._spec import Count, Integer, Number, Spec, mistake

#: What a campaign is besides its learner.
TERMS = ("title", "about", "answer_window", "default")

_SAID = {
    "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}}],
    "description": "What is said of each item, by label: its category, its ends, its partners, its cost, or null.",
}

#: What is said of items, by label.
Said = Annotated[Any, BeforeValidator(lambda value: read_pairs(value, "what is said")), WithJsonSchema(_SAID)]


class SettingsSpec(Spec):
    """Changes to a campaign's settings; keys that are left out stay as they are.

    Examples
    --------
    >>> from matroid_bandits.specs import parse
    >>> parse(SettingsSpec, {"title": "Shoes", "holdout": 0.1}).plan().terms
    {'title': 'Shoes'}
    """

    title: Title = Field("", description="A name for headings.")
    about: About = Field("", description="What it is for, in a sentence or two.")
    answer_window: Window = Field(
        None, description="Seconds after which a decision without all its answers is closed; null for never."
    )
    default: Number | None = Field(
        None, description="Default weight of missing feedback after the window; null to drop it. With clicks it is 0."
    )
    policy: PolicyField | None = Field(None, description="The policy: a name, or a name with parameters.")
    holdout: HoldoutField | None = Field(None, description="The share of requests that a random set answers.")
    answers: Answers | None = Field(
        None,
        description="What answers tell of: all chosen items; clicks alone, so that the rest is 0; or, of a list, its "
        "first-click, its first-failure or its clicks-by-place.",
    )
    restart: bool = Field(False, description="Discard past observations, for a policy that cannot use them.")
    constraint: OneConstraint = Field(None, description="The new constraint with all its items.")
    matroid: OneConstraint = Field(None, description="Alias of constraint.")
    add: Said = Field({}, description="Items to add, if the rules do not change.")
    remove: list[Label] = Field([], description="Items to remove, if the rules do not change.")
    change: Said = Field({}, description="Items that stay, of which something else is said: a category, a cost.")
    capacities: dict[str, Count | dict[str, Count]] = Field(
        {}, description="New or changed capacities of categories; of two quotas by the names of these."
    )
    budget: Integer | None = Field(None, description="Another budget, of a constraint that has one.")
    priors: Priors = Field(
        None, description="Priors of new items by label: mean and plays; or the word typical, alone or with plays."
    )
    features: Features = Field(None, description="Features of new items.")
    forget: list[Label] = Field([], description="Items whose statistics are discarded.")
    direction: Literal["maximize", "minimize"] | None = Field(
        None, description="Must equal the present value; it cannot change."
    )
    seed: Annotated[Integer | None, *limited("seed")] = Field(
        None, description="Must equal the present value; it cannot change."
    )

    @model_validator(mode="after")
    def _check_items(self) -> SettingsSpec:
        given = [key for key in ("constraint", "matroid") if getattr(self, key) is not None]
        if len(given) == 2:
            raise mistake("expected constraint or matroid, got both", "matroid")
        if given and self._edit:
            raise mistake("expected the whole catalogue, or what comes and goes; got both", given[0])
        return self

    @property
    def _edit(self) -> dict[str, Any]:
        """The arguments of `edited` that are given."""
        keys = ("add", "remove", "change", "capacities", "budget")
        return {key: value for key in keys if (value := getattr(self, key)) not in ({}, [], None)}

    def plan(self, place: Place | None = None) -> Plan:
        """Return the requested changes as a `Plan`, with everything built that does not depend on the campaign."""
        place = Place() if place is None else place
        key = "matroid" if self.constraint is None else "constraint"
        whole = self.matroid if self.constraint is None else self.constraint
        return Plan(
            terms={key: getattr(self, key) for key in TERMS if key in self.model_fields_set},
            ground=None if whole is None else whole.ground(place.at(key)),
            edit=self._edit,
            policy=self.policy,
            holdout=None if self.holdout is None else self.holdout.make(),
            answers=self.answers,
            is_anew=self.restart,
            priors=self.priors,
            features=self.features,
            forget=tuple(self.forget),
            direction=self.direction,
            seed=self.seed,
            place=place,
        )


@dataclass(frozen=True)
class Plan:
    """Changes to a campaign's settings, from a file, a request or the command line.

    Attributes
    ----------
    terms : dict
        Those of title, about, answer_window and default that are given.
    ground : Ground or None
        The whole catalogue.
    edit : dict
        What comes, goes and changes instead: arguments of `edited`.
    policy, holdout, answers
        What is to be; None to leave it.
    is_anew : bool
        Whether what was learnt is to be forgotten.
    is_whole : bool
        Whether priors and features are of all items, of which newcomers take theirs.

    Examples
    --------
    >>> Plan(terms={"title": "Shoes"}).policy is None
    True
    """

    terms: dict[str, Any] = field(default_factory=dict)
    ground: Ground | None = None
    edit: dict[str, Any] = field(default_factory=dict)
    policy: PolicySpec | None = None
    holdout: Holdout | None = None
    answers: Answers | None = None
    is_anew: bool = False
    is_whole: bool = False
    priors: Any = None
    features: Any = None
    forget: tuple[Any, ...] = ()
    direction: str | None = None
    seed: int | None = None
    place: Place = field(default_factory=Place)

    @classmethod
    def of(cls, spec: CampaignSpec, place: Place | None = None, *, restart: bool = False) -> Plan:
        """Return the changes that a campaign file requests, with defaults for missing keys."""
        place = Place() if place is None else place
        return cls(
            terms={key: getattr(spec, key) for key in TERMS},
            ground=spec.ground(place),
            policy=spec.policy,
            holdout=spec.holdout.make(),
            answers=spec.read_answers(),
            is_anew=restart,
            is_whole=True,
            priors=spec.priors,
            features=spec.features,
            direction=spec.direction,
            seed=spec.seed,
            place=place,
        )

    def check(self, learner: Learner) -> None:
        """Raise an error if a setting that cannot change (seed, direction) differs."""
        now = "minimize" if learner.minimize else "maximize"
        if self.direction not in (None, now):
            raise self.place.at("direction").error(f"expected {now}, which cannot change; got {self.direction}")
        if self.seed not in (None, learner.seed):
            raise self.place.at("seed").error(f"expected {learner.seed}, which cannot change; got {self.seed}")

    def constraint(self, now: Constraint) -> Constraint:
        """Return the requested constraint, given the present one."""
        if self.ground is not None:
            return self.ground.constraint
        return edited(now, **self.edit) if self.edit else now

    def make_policy(self, constraint: Constraint) -> Policy | None:
        """Return the requested policy, for the items of a constraint; None to keep the present one."""
        if self.policy is None:
            return None
        ground = ground_of(constraint, self.place) if self.ground is None else self.ground
        return self.policy.make(ground, self.place.at("policy"))

    def changed(self, learner: Learner, constraint: Constraint, policy: Policy | None) -> dict[str, Any]:
        """Return the learner's event that replaces its items by those of a constraint."""
        newcomers = {*constraint.labels}.difference(learner.constraint.labels)
        priors, features = self.priors, self.features
        if self.is_whole and isinstance(priors, Mapping):
            priors = {label: prior for label, prior in priors.items() if label in newcomers} or None
        if features is None and learner.policy.item_features is not None and policy is not None:
            features = policy.item_features
        return learner.change_form(constraint, priors=priors, features=features, forget=self.forget)

    def changes_answers(self, learner: Learner, terms: Mapping[str, Any]) -> bool:
        """Return whether the learner must be told what answers tell of, given the campaign's present terms."""
        if self.answers is None or learner.answers is not None:
            return self.answers not in (None, learner.answers)
        return any(read_answers(learner, each) != self.answers for each in (terms, {**terms, **self.terms}))

    def check_default(self, terms: Mapping[str, Any], learner: Learner) -> None:
        """Raise unless the new default weight fits a learner that was given the new policy and answers."""
        terms = {**terms, **self.terms}
        check_default(terms.get("default"), read_answers(learner, terms), learner.policy, self.place)


def read_answers(learner: Learner, terms: Mapping[str, Any]) -> Answers:
    """Return what a campaign's answers tell of: as its learner says or, where an early version made it, its terms.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> read_answers(mb.Learner(mb.UniformMatroid(3, 1), mb.OMM()), {"answer_window": 60, "default": 0})
    'all'
    """
    return learner.answers or answers_of(terms.get("answer_window"), terms.get("default"))
