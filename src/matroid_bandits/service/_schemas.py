"""The bodies of requests and answers as pydantic models, which check what comes in and make the API's document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, RootModel, Tag

from matroid_bandits.learner import Answers, Order
from matroid_bandits.service._tokens import LONGEST_S
from matroid_bandits.specs import (
    ConstrainedSpec,
    Features,
    Integer,
    Label,
    Number,
    Priors,
    Weights,
    check_number,
    whole,
)

Labels = list[Label]

#: The largest number of an event that is asked for, which every database holds; that of an item; and a large number.
LAST_EVENT, LAST_ITEM, _FAR = 10**15, 10**9, 1e15

#: A probability that is neither 0 nor 1.
Probability = Annotated[float, Field(ge=1e-12, le=1.0 - 1e-9), BeforeValidator(check_number)]

#: A number, null for the value that is said of each, or one of those that JSON does not know.
Extended = float | Literal["NaN", "Infinity", "-Infinity"] | None


class Body(BaseModel):
    """What a request says; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RequestBody(Body):
    """Which items a request is about."""

    available: Labels | None = Field(None, description="Items that may be chosen; null for all.")
    exclude: Labels = Field([], description="Items that may not be chosen.")
    pinned: Labels = Field([], description="Items that must be chosen.")
    features: Features = Field(None, description="What is known of every item, for policies that use it.")


class AskBody(RequestBody):
    """What one request asks for besides a set."""

    order: Order | None = Field(
        None,
        description="How the set is shown as a list: the best item first, or, to explore, the worst. By default "
        "there is a list where the campaign's answers ask for one.",
    )
    unknown: Literal["raise", "ignore"] = Field(
        "raise", description="What is done about items in available and exclude that are not there."
    )
    tags: dict[str, Any] | None = Field(
        None, description="What the request says of itself, at most 1,024 characters; the log has it."
    )
    token: Annotated[int, Field(ge=1, le=LONGEST_S), BeforeValidator(whole)] | None = Field(
        None,
        description="Seconds for which a token is to be good that may tell this decision, such as by a browser.",
    )


class AskBatchBody(Body):
    """Several requests, answered together or not at all."""

    requests: list[AskBody]


class TellBody(Body):
    """Observed weights of a decision's items, or where people stopped in its list."""

    decision: Integer = Field(description="The decision's number.")
    weights: Weights | None = None
    clicked: Label | None = Field(
        default=None,
        description="With the answers first-click: the item of the first click, or null for none of all.",
    )
    failed: Label | None = Field(
        default=None,
        description="With the answers first-failure: the first item that failed, or null for none of all.",
    )
    examined: Labels | None = Field(
        default=None,
        description="The items that people looked at, where that is known: those without a weight have 0, with "
        "first-failure 1, and nothing is learnt of the others.",
    )

    @property
    def said(self) -> dict[str, Any]:
        """What is said besides weights; null says something of where people stopped."""
        stops = self.model_fields_set & {"clicked", "failed"}
        found = {name: getattr(self, name) for name in sorted(stops)}
        return found if self.examined is None else found | {"examined": self.examined}


class TellBatchBody(Body):
    """Observed weights of several decisions; all or none are recorded."""

    answers: list[TellBody]


class CloseOneBody(Body):
    """No answer will come to a decision."""

    decision: Integer = Field(description="The decision's number.")
    default: Number | None = Field(
        None,
        description="The weight of what was not told; null to forget it. By default what the campaign's answers say: "
        "0 of clicks, otherwise null.",
    )


class CloseBeforeBody(CloseOneBody):
    """No answer will come to the decisions before one."""

    decision: Integer = Field(validation_alias="before", description="The first decision that stays open.")


class CloseBody(RootModel[CloseOneBody | CloseBeforeBody]):
    """No answer will come to a decision, or to all before one."""

    root: Annotated[
        Annotated[CloseOneBody, Tag("decision")] | Annotated[CloseBeforeBody, Tag("before")],
        Discriminator(lambda form: "before" if isinstance(form, dict) and "before" in form else "decision"),
    ]


class ChangeBody(ConstrainedSpec):
    """The items are now others; what is known carries over by label."""

    priors: Priors = Field(
        None, description="Priors of new items by label: mean and plays; or the word typical, alone or with plays."
    )
    features: Features = Field(None, description="Features of new items.")
    forget: Labels = Field([], description="Items whose statistics are discarded.")


class RestartBody(Body):
    """Discard the statistics of some items, or of all."""

    items: Labels | None = Field(None, description="The items; null for all.")


class ObserveBody(Body):
    """Weights seen before the first decision."""

    weights: Weights


def _level(value: Any) -> Any:
    return str(value) if isinstance(value, bool) else whole(value)  # True would be taken for 1


class EmptyBody(Body):
    """Nothing."""


class ShowQuery(Body):
    """What of a campaign to show."""

    constraint: bool = Field(True, description="Whether to show the constraint in its stored form.")


class ApplyQuery(Body):
    """How to apply settings."""

    dry_run: bool = Field(False, description="Only return the differences.")


class ItemsQuery(Body):
    """Which items to return."""

    offset: Integer = Field(0, ge=0, le=LAST_ITEM, description="The number of the first item.")
    limit: Integer = Field(LAST_ITEM, ge=1, le=LAST_ITEM, description="The largest number of items.")


class BestQuery(Body):
    """How to compare sets."""

    pessimism: Probability | None = Field(None, description="Compare lower confidence bounds of this level.")
    deviation: Number = Field(0.5, ge=0.0, le=_FAR, description="The weights' standard deviation for the bounds.")


class ConfidenceQuery(Body):
    """For which rule and which weights to compute the confidence."""

    delta: Probability = Field(0.05, description="The level of the thresholds.")
    deviation: Annotated[float, Field(ge=1e-12, le=_FAR), BeforeValidator(check_number)] | None = Field(
        None, description="The weights' sub-Gaussian deviation; by default they lie in [0, 1]."
    )
    tolerance: Number = Field(0.0, ge=0.0, le=_FAR, description="The difference in value that does not matter.")


class WaitingQuery(Body):
    """How many decisions to list."""

    limit: Integer = Field(100, ge=0, le=10_000, description="The largest number of decisions.")


class HistoryQuery(Body):
    """Which part of the history to return."""

    resolution: Annotated[Literal[1, 60, 3600, 86400], BeforeValidator(_level)] = Field(
        60, description="Seconds of a bucket."
    )
    after: Number = Field(0.0, ge=0.0, le=_FAR, description="Seconds since 1970.")


class EventsQuery(Body):
    """Which events to return."""

    after: Integer = Field(0, ge=0, le=LAST_EVENT, description="The event before the first.")
    limit: Integer = Field(1000, ge=1, le=10_000, description="The largest number of events.")


class StreamQuery(Body):
    """Which events to stream."""

    after: Annotated[int, Field(ge=0, le=LAST_EVENT), BeforeValidator(whole)] | None = Field(
        None, description="The event before the first; by default the last there is."
    )
    only: Literal["summary"] | None = Field(None, description="Summaries without events.")


class EstimatesBody(Body):
    """For which request to estimate, and of which items."""

    items: Labels | None = Field(None, description="The items; null for all.")
    features: Features = Field(None, description="What is known of every item, for policies that use it.")


class ExplainNextBody(RequestBody):
    """Which item to explain, for the next request."""

    item: Label


class ExplainDecisionBody(Body):
    """Which item to explain, for a decision that waits."""

    item: Label
    decision: Integer = Field(description="A decision that waits for answers.")
    as_decided: bool = Field(
        False,
        description="Use the estimates at the time of the decision, pending or not; by default the present ones.",
    )


class ExplainBody(RootModel[ExplainNextBody | ExplainDecisionBody]):
    """Which item to explain, for the next request or for a decision."""

    root: Annotated[
        Annotated[ExplainNextBody, Tag("request")] | Annotated[ExplainDecisionBody, Tag("decision")],
        Discriminator(lambda form: "decision" if isinstance(form, dict) and "decision" in form else "request"),
    ]


class DecisionAnswer(BaseModel):
    """A decision: the chosen set of items."""

    decision: int | None = Field(description="Its number; null for a preview.")
    learner: str = Field(description="The id of the campaign's learner.")
    items: Labels
    numbers: list[int] = Field(description="The places of the items among all items, in the same order.")
    pinned: Labels = Field(description="The items that the request had pinned.")
    full: bool = Field(description="Whether the set has the largest allowed size.")
    held_out: bool = Field(description="Whether it was drawn at random.")
    order: Labels | None = Field(
        None, description="The items from the top of the list, where the set is shown as one."
    )
    tags: dict[str, Any] | None = Field(None, description="Tags of the request, if any.")
    matching: Labels | None = Field(
        None, description="The partner of each item, in the same order; only where items are matched to partners."
    )
    token: str | None = Field(None, description="A token that may tell the decision, where one was asked for.")


class DecisionsAnswer(BaseModel):
    """Decisions, in the order of the requests."""

    decisions: list[DecisionAnswer]


class ToldAnswer(BaseModel):
    """Feedback on a decision was recorded."""

    decision: int
    told: int = Field(description="Number of items that were told.")
    waiting: bool = Field(description="Whether weights of the decision are still missing.")


class ToldBatchAnswer(BaseModel):
    """Feedback on several decisions was recorded."""

    answers: list[ToldAnswer]


class ClosedAnswer(BaseModel):
    """Decisions were closed."""

    closed: int


class ObservedAnswer(BaseModel):
    """Weights were observed."""

    observed: int


class Summary(BaseModel):
    """Summary of a campaign."""

    name: str
    title: str
    status: Literal["active", "paused", "stopped", "archived"]
    reason: str | None
    seq: int = Field(description="The number of the last event.")
    decisions: int
    waiting: int
    created: float = Field(description="Seconds since 1970.")
    alarms: int = Field(description="Number of alarms that were not acknowledged.")
    loading: float | None = Field(
        description="The part of a long log that this server has read at its start, in [0, 1]."
    )
    compiling: str | None = Field(
        description="While this server compiles for the campaign, how far it is; requests are answered meanwhile."
    )


class Summaries(BaseModel):
    """All campaigns that the key may read."""

    campaigns: list[Summary]


class Category(BaseModel):
    """A category of items, and how many of them a set may have."""

    name: Any
    most: int


class CampaignAnswer(Summary):
    """A campaign."""

    id: str = Field(description="The learner's id, which its decisions carry.")
    about: str
    n_items: int
    rank: int
    kind: str
    rule: str = Field(description="Description of the allowed sets.")
    categories: list[Category] = Field(description="The categories of items; none where they have none.")
    policy: dict[str, Any]
    minimize: bool
    seed: int
    holdout: float = Field(description="The share of requests that the control answers.")
    holdout_by: str | None = Field(description="The tag whose values are held out; null for single requests.")
    control: dict[str, Any] | None = Field(description="The policy that answers them; null for random sets.")
    control_set: list[Label] | None = Field(description="The set that a FixedSet control plays; null for others.")
    control_teaches: bool = Field(
        description="Whether the campaign's policy learns from the control's decisions too."
    )
    answers: Answers = Field(
        description="What is told: all chosen items; clicks alone, so that the rest is 0 at the close; or, of a "
        "list, its first-click, its first-failure or its clicks-by-place."
    )
    answer_window: float | None
    default: float | None
    spending: SpendingForm | None = Field(description="What was spent of a budget per decision; null without one.")
    attention: list[float] | None = Field(
        description="The chance that each place of a list is looked at, from the top; null where it is not learnt."
    )
    constraint: dict[str, Any] | None = Field(None, description="The matroid in its stored form.")


class Difference(BaseModel):
    """A setting that is to be other, or was made other."""

    setting: Literal["title", "about", "answer_window", "default", "policy", "holdout", "answers", "restart", "items"]
    before: Any = Field(None, description="What it is, or was.")
    after: Any = Field(None, description="What it is to be, or is.")
    came: Labels | None = Field(None, description="Of items: those that come.")
    went: Labels | None = Field(None, description="Of items: those that go.")


class AppliedAnswer(CampaignAnswer):
    """A campaign after a change of settings, or before it for a dry run, and the differences."""

    differences: list[Difference]
    applied: bool = Field(description="False for a dry run.")


class SpendingForm(BaseModel):
    """What decisions have cost beside a budget."""

    total: float = Field(description="What they cost together.")
    n_decisions: int = Field(description="How many they are: those that the policy chose.")
    per_decision: float = Field(description="The budget per decision.")


class EstimatesAnswer(BaseModel):
    """Estimates of the items."""

    seq: int
    items: list[int] = Field(description="The number of each item.")
    n_items: int = Field(description="How many items the campaign has.")
    labels: Labels
    counts: list[int]
    waiting: list[int]
    means: list[float | None]
    radii: list[float | None] = Field(description="Half the width of the interval around each mean; null for none.")
    indices: list[Extended] = Field(description="Null for an item to be tried first.")
    alarms: list[int] | None = Field(None, description="How often each item started anew; null without a detector.")
    last_alarms: list[int] | None = Field(None, description="After which decision it did so last; 0 for none.")
    minimize: bool
    recent: int = Field(description="How many of the latest decisions are counted in `chosen`.")
    chosen: list[int] = Field(description="In how many of them each item was.")
    categories: list[int] | None = Field(description="The category of each item by its place; null without any.")
    spending: SpendingForm | None = Field(description="What was spent of a budget per decision; null without one.")
    attention: list[float] | None = Field(
        description="The chance that each place of a list is looked at, from the top; null where it is not learnt."
    )


class ForcedAnswer(BaseModel):
    """The best set with an item forced in or out: what it costs (null for infinity), and who would come for whom."""

    cost: Extended
    enters: Labels
    leaves: Labels


class ExplanationAnswer(BaseModel):
    """Explanation of why an item is in or out of a set."""

    item: int
    label: Label
    standing: Literal["chosen", "pinned", "out", "unavailable", "loop"]
    mean: float | None
    plays: float
    index: Extended = Field(description="Null for an item to be tried first.")
    rivals: Labels
    rival_numbers: list[int]
    margins: list[Extended] = Field(description="Null for a rival to be tried first.")
    held_out: bool
    minimize: bool
    last_alarm: int = Field(description="After which decision the item started anew; 0 for none.")
    missing: str = Field(description="What can no longer be said of an open decision; empty where nothing is.")
    forced: ForcedAnswer | None
    about: str = Field(
        description="What the item takes of the constraint's limits, such as its cost; empty where that is nothing."
    )
    attention: list[float] | None = Field(
        description="The chance that each place of a list is looked at; null where it is not learnt."
    )
    text: str


class MarginForm(BaseModel):
    """One exchange of the best set: its test passes where the statistic exceeds the threshold."""

    inside: Label
    outside: Label
    statistic: float
    threshold: float | None = Field(description="Null for infinity, while an item has no answer.")
    plays: int | None = Field(description="More answers of both items that it takes; null where no number is enough.")


class ConfidenceForm(BaseModel):
    """How sure the best set is, as a stopping rule sees it; no chance that it is the best one."""

    delta: float = Field(description="The least delta at which the rule would stop now; 1 where there is none below.")
    items: Labels
    n_exchanges: int
    n_passed: int
    margins: list[MarginForm] = Field(description="The closest calls, the closest first.")
    closest: MarginForm | None
    at: float = Field(description="The delta that the thresholds are for.")
    unanswered: Labels = Field(description="Items that no answer counts for.")
    catalogue: int = Field(description="The n-th set of items spends 6 / (pi^2 n^2) of delta.")
    is_proven: bool
    words: str


class ConfidenceAnswer(BaseModel):
    """Confidence in the best set, or why there is none."""

    seq: int
    reason: str | None = Field(description="Why it cannot be said; null where it can.")
    confidence: ConfidenceForm | None


class BestAnswer(BaseModel):
    """The set of largest mean weights so far."""

    seq: int
    items: Labels
    numbers: list[int]
    means: list[float | None]
    counts: list[int]
    value: float | None
    order: Labels = Field(description="The items by their means, the best first.")


class WaitingDecision(DecisionAnswer):
    """A pending decision."""

    decision: int
    asked: float
    deadline: float | None


class WaitingAnswer(BaseModel):
    """Pending decisions, oldest first."""

    waiting: int
    decisions: list[WaitingDecision]


class Bucket(BaseModel):
    """What happened in some seconds."""

    at: int
    asked: int
    told: int
    weight: float = Field(description="The sum of what was told and of defaults for what was not.")
    learnt: float = Field(description="Decisions that the weights are of: 0.5 for half of the items of one.")
    mean: float | None = Field(description="Average weight per decision, of what was told and of defaults.")
    closed: int
    expired: int = Field(
        description="Decisions whose window ended before they were answered; with answers of clicks none."
    )
    settled: int = Field(description="With answers of clicks: decisions that now count in the averages, each whole.")
    waiting: int


class Mark(BaseModel):
    """Something on the time line."""

    at: float
    seq: int
    kind: str
    text: str
    by: str | None = Field(None, description="The id of a key, or the words command line; null where unknown.")


class Alarm(BaseModel):
    """An alarm for operators."""

    seq: int
    at: float
    kind: Literal["drift", "scale", "replay"] = Field(
        description="A detector found a change, the policy's scale is too small for the weights, or a replay differs."
    )
    text: str


class AlarmsAnswer(BaseModel):
    """The alarms that were not acknowledged, oldest first."""

    seq: int
    alarms: list[Alarm]


class AcknowledgeBody(Body):
    """Alarms to acknowledge."""

    until: Annotated[int, Field(ge=1), BeforeValidator(whole)] | None = Field(
        None, description="Those up to this event; all by default."
    )


class HistoryAnswer(BaseModel):
    """Counts and average weights over time."""

    resolution: int
    now: float
    buckets: list[Bucket]
    marks: list[Mark]
    waiting: int
    expired: int
    settled: int
    complete: bool = Field(description="False while weights of the past are summed anew after an upgrade.")


class UpliftPoint(BaseModel):
    """The uplift over the 7 days up to a day."""

    at: float = Field(description="When the day began.")
    value: float
    low: float
    high: float


class UpliftWindow(BaseModel):
    """The learner against its control over the decisions asked in a window; null where too little is known."""

    name: str
    since: float | None = Field(description="When its first day began, in UTC; null since the start.")
    n_learner: int = Field(description="Settled decisions of the learner.")
    n_control: int = Field(description="Settled decisions of the control.")
    n_lost: int = Field(description="Decisions that were closed without an answer, which do not count.")
    learner: float | None = Field(description="Average value per decision of the learner, in the weights' own units.")
    control: float | None = Field(description="Average value per decision of the control.")
    value: float | None = Field(description="The difference of the averages, in gains: positive is better.")
    low: float | None = Field(description="The lower end of its 95% interval.")
    high: float | None = Field(description="The upper end of its 95% interval.")
    relative: float | None = Field(description="The difference as a share of the control's average, if positive.")
    relative_low: float | None
    relative_high: float | None
    missing: int = Field(description="How many more clicks or decisions a value needs.")
    sentence: str = Field(description="All of this in words.")


class UpliftLook(BaseModel):
    """The confidence sequence of the uplift, and other intervals and p values, since the start."""

    n_decisions: int = Field(description="Settled decisions that count; of a sticky hold-out, values of its tag.")
    n_control: int = Field(description="Those of the control among them.")
    value: float | None = Field(description="The mean difference over time; positive where the learner is better.")
    sequence: list[float] | None = Field(description="An interval that is valid at every look; null while infinite.")
    exact: list[float] | None = Field(description="The same without asymptotics, and wider.")
    single: list[float] | None = Field(description="The ordinary interval, for one look that was planned.")
    p_better: float = Field(description="Anytime-valid p value of the hypothesis that the learner is not better.")
    p_worse: float = Field(description="Anytime-valid p value of the hypothesis that the learner is not worse.")


class UpliftAnswer(BaseModel):
    """Uplift: the learner against its control."""

    seq: int
    headline: str = Field(description="The window of the sentence: 7d, or the first of 28d and start with a value.")
    sentence: str = Field(description="The uplift in words, with its 95% interval.")
    notes: list[str] = Field(description="What a reader of the sentence should know besides.")
    shown: str = Field(description="Since when it is shown at any look that the learner is better, or worse.")
    unit: str | None = Field(description="The tag by which the hold-out is sticky; its values are kept together.")
    windows: dict[str, UpliftWindow] = Field(
        description="By name: 7d and 28d up to today, start, and policy since the first full day after its change."
    )
    earned: float | None = Field(description="The difference since the start times the learner's decisions.")
    cost: float | None = Field(description="The same times the control's: what the hold-out cost.")
    points: list[UpliftPoint] = Field(description="The value over 7 days, at each of the last 28 days.")
    level: float = Field(description="The level of the intervals.")
    sequence: UpliftLook | None = Field(description="Intervals that are valid at every look, and p values.")
    counted: float = Field(description="The share of the tag's new values that count in the sequence.")
    since: float | None = Field(description="When the first decision counted.")
    excludes_zero_since: float | None = Field(description="Time from which the sequence has excluded zero.")
    complete: bool = Field(description="False while the past is recomputed after an upgrade.")


class Event(BaseModel):
    """Something that happened to a campaign; every kind has its fields."""

    model_config = ConfigDict(extra="allow")

    seq: int = Field(description="Its number, from 1.")
    at: float = Field(description="When it happened, in seconds since 1970 by the database's clock.")
    by: str | None = Field(None, description="Id of the key that made the change.")


class AskedEvent(Event):
    """A set was chosen."""

    event: Literal["asked"]
    decision: int
    items: Labels
    available: Labels | None = None
    exclude: Labels | None = None
    pinned: Labels | None = None
    features: Any = None
    order: Labels | None = Field(
        None, description="The items from the top of the list, where the set is shown as one."
    )
    worst_first: bool = Field(False, description="Whether the list explores: it begins with the worst item.")
    held_out: bool = Field(False, description="Whether it was drawn at random.")
    instead: Labels | None = Field(None, description="What would have been chosen, had it not been drawn at random.")
    tags: dict[str, Any] | None = None


class ToldEvent(Event):
    """Observed weights of a decision's items."""

    event: Literal["told"]
    decision: int
    weights: list[Any] = Field(description="Pairs of label and weight, or weights in the order of the items.")
    closes: bool = Field(False, description="Whether it says what was looked at, so that the others get no weight.")


class ClosedEvent(Event):
    """No more answers come to a decision, or to all before one."""

    event: Literal["closed"]
    decision: int | None = None
    before: int | None = None
    default: float | None
    expired: bool = Field(False, description="Whether its deadline has passed.")


class AlarmEvent(Event):
    """An alarm was raised."""

    event: Literal["alarm"]
    text: str
    kind: str = ""


class OtherEvent(Event):
    """The campaign was created, changed, paused, or anything else happened to it."""

    event: str


class SizesAnswer(BaseModel):
    """Sizes of a campaign and of its database."""

    first: int = Field(description="The first event that the database has; earlier ones are in archives.")
    seq: int = Field(description="The last event.")
    events: int = Field(description="Number of events in the database.")
    event_bytes: int = Field(description="Estimated size of the events in bytes, from the latest ones.")
    snapshots: int
    snapshot_bytes: int
    archives: int = Field(description="Files in the archive.")
    archive_bytes: int
    database_bytes: int = Field(description="Size of the database: all campaigns and request ids.")
    database_free_bytes: int = Field(description="Free part of the database.")


class EventsAnswer(BaseModel):
    """A page of events of the log."""

    events: list[AskedEvent | ToldEvent | ClosedEvent | AlarmEvent | OtherEvent]
    next: int | None = Field(description="After which event to go on; null at the end.")


class StatusAnswer(BaseModel):
    """Status of the server."""

    status: Literal["alive", "ready"]


class Problem(BaseModel):
    """Error response (RFC 9457)."""

    type: str
    title: str
    status: int
    error: str = Field(description="The class of the error.")
    detail: str
    expected: str | None = None
    given: str | None = None
    first: int | None = Field(None, description="Of events that are in archives alone: the first that the log has.")
