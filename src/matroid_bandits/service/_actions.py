"""What requests do to a campaign: each function gives what the writer's thread calls with replica and turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic_core import to_json

from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import AccessError, CampaignStateError, FeedbackError
from matroid_bandits.service._apply import turnover
from matroid_bandits.service._limits import check_work
from matroid_bandits.service._operation import Answer, Turn
from matroid_bandits.service._reads import alarms_form, campaign_form
from matroid_bandits.service._remembered import short_decision, short_told
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._schemas import AskBody, ChangeBody, CloseBeforeBody, CloseBody, RequestBody, TellBody
from matroid_bandits.service._settings import Settings
from matroid_bandits.specs import parse_json

#: Executed by the writer's thread.
Action = Callable[[Replica, Turn], Answer]

#: Bodies of an ask that asks for nothing in particular.
_NOTHING = (b"", b"{}")


def request_of(body: RequestBody) -> dict[str, Any]:
    """The arguments of `Learner.ask` that a body gives; none where it says nothing."""
    wanted: dict[str, Any] = {}
    if body.available is not None:
        wanted["available"] = body.available
    if body.exclude:
        wanted["exclude"] = body.exclude
    if body.pinned:
        wanted["pinned"] = body.pinned
    if body.features is not None:
        wanted["features"] = body.features
    if isinstance(body, AskBody):
        if body.tags:
            wanted["tags"] = body.tags
        if body.unknown != "raise":
            wanted["unknown"] = body.unknown
    return wanted


def read_ask(content: bytes) -> tuple[Action, int | None]:
    """What the body of an ask stands for, and the seconds that a token of its decision is to be good for, if any."""
    if content in _NOTHING:
        return ask({}), None
    body = parse_json(AskBody, content)
    return ask(request_of(body)), body.token


def read_tell(content: bytes) -> tuple[Action, int]:
    """What the body of a tell stands for, and the decision that it is for."""
    body = parse_json(TellBody, content or b"{}")
    return tell(body), body.decision


def ask(wanted: dict[str, Any]) -> Action:
    """Choose a set."""

    def run(replica: Replica, turn: Turn) -> Answer:
        form = _ask(replica, turn, wanted)
        return Answer(to_json(form), stored=short_decision(form))

    return run


def ask_all(requests: list[dict[str, Any]], settings: Settings) -> Action:
    """Choose a set for each request, or none at all where one of them cannot be served."""

    def run(replica: Replica, turn: Turn) -> Answer:
        check_work(len(requests), replica.learner.constraint, settings)
        for wanted in requests:
            if wanted:
                replica.learner.check_ask(**wanted)
        return Answer(to_json({"decisions": [_ask(replica, turn, wanted) for wanted in requests]}))

    return run


def _ask(replica: Replica, turn: Turn, wanted: dict[str, Any]) -> dict[str, Any]:
    decision = replica.learner.ask(**wanted)
    replica.take(turn.at, turn.rows)
    return decision.to_dict()


def tell(body: TellBody) -> Action:
    """Take an answer."""

    def run(replica: Replica, turn: Turn) -> Answer:
        form = _tell(replica, turn, body.decision, body.weights)
        return Answer(to_json(form), stored=short_told(form))

    return run


def of_learner(id: str, action: Action) -> Action:
    """The same for a learner of this id alone: a token is not good for the next campaign of the same name."""

    def run(replica: Replica, turn: Turn) -> Answer:
        if replica.learner.id != id:
            raise AccessError(f"expected a token of this campaign, got one of an earlier campaign {replica.name}")
        return action(replica, turn)

    return run


def tell_all(answers: list[TellBody]) -> Action:
    """Take all answers, or none at all where one of them is wrong."""

    def run(replica: Replica, turn: Turn) -> Answer:
        merged = _merged(answers)
        for decision, weights in merged.items():
            replica.learner.check_tell(decision, weights)
        return Answer(to_json({"answers": [_tell(replica, turn, *answer) for answer in merged.items()]}))

    return run


def _merged(answers: list[TellBody]) -> dict[int, Any]:
    """The weights of each decision: it may come several times, with different items."""
    merged: dict[int, Any] = {}
    for answer in answers:
        weights = merged.setdefault(answer.decision, answer.weights)
        if weights is answer.weights:
            continue
        if not (isinstance(weights, dict) and isinstance(answer.weights, dict)):
            raise FeedbackError(
                f"expected weights by label of decision {answer.decision}, which comes twice; got a list"
            )
        if twice := weights.keys() & answer.weights.keys():
            raise FeedbackError(
                f"expected each item of decision {answer.decision} once, got {min(map(repr, twice))} twice"
            )
        merged[answer.decision] = weights | answer.weights
    return merged


def _tell(replica: Replica, turn: Turn, decision: int, weights: Any) -> dict[str, Any]:
    replica.learner.tell(decision, replica.in_order(decision, weights))
    taken = replica.take(turn.at, turn.rows)
    n_told = len(taken[0]["weights"]) if taken else 0  # nothing is told of a decision without items
    return {"decision": decision, "told": n_told, "waiting": decision in replica.learner.book}


def close(body: CloseBody) -> Action:
    """Stop waiting for a decision, or for all before one."""
    wanted = body.root

    def run(replica: Replica, turn: Turn) -> Answer:
        n_before = replica.learner.n_outstanding
        default = wanted.default if "default" in wanted.model_fields_set else replica.rest()
        if isinstance(wanted, CloseBeforeBody):
            replica.learner.close_before(wanted.decision, default=default)
        else:
            replica.learner.close(wanted.decision, default=default)
        replica.take(turn.at, turn.rows)
        return Answer(to_json({"closed": n_before - replica.learner.n_outstanding}))

    return run


def observe(weights: Any) -> Action:
    """Take weights that were seen before the first decision."""

    def run(replica: Replica, turn: Turn) -> Answer:
        replica.learner.observe(weights)
        (event,) = replica.take(turn.at, turn.rows)
        return Answer(to_json({"observed": len(event["weights"])}))

    return run


def change(constraint: Constraint, body: ChangeBody) -> Action:
    """Go on with other items."""

    def run(replica: Replica, turn: Turn) -> Answer:
        learner = replica.learner
        form = learner.change_form(constraint, priors=body.priors, features=body.features, forget=body.forget)
        form |= turnover(learner.constraint, constraint)
        replica.happen(form | turn.signature, turn.at, turn.rows)
        return Answer(to_json(campaign_form(replica)))

    return run


def restart(items: list[Any] | None) -> Action:
    """Discard the statistics of some items, or of all."""

    def run(replica: Replica, turn: Turn) -> Answer:
        replica.learner.restart(items)
        replica.take(turn.at, turn.rows, **turn.signature)
        return Answer(to_json(campaign_form(replica)))

    return run


def acknowledge(until: int | None) -> Action:
    """Take alarms as seen, those up to an event or all; where there are none, nothing happens."""

    def run(replica: Replica, turn: Turn) -> Answer:
        last = replica.seq if until is None else min(until, replica.seq)
        if any(seq <= last for seq in replica.alarms):
            replica.put({"event": "acknowledged", "until": last} | turn.signature, turn.at, turn.rows)
        return Answer(to_json(alarms_form(replica)))

    return run


Verb = Literal["pause", "resume", "archive"]

#: What a campaign must be, None for anything, and what it is then.
MOVES: dict[Verb, tuple[str | None, str]] = {
    "pause": ("active", "paused"),
    "resume": ("paused", "active"),
    "archive": (None, "archived"),
}


def move(verb: Verb) -> Action:
    """Pause, resume or archive a campaign; doing it again changes nothing."""
    source, target = MOVES[verb]

    def run(replica: Replica, turn: Turn) -> Answer:
        if replica.status != target:
            if source is not None and replica.status != source:
                hint = " (matroid-bandits campaign resume NAME --trust-log)" if replica.status == "stopped" else ""
                raise CampaignStateError(
                    f"expected a campaign that is {source}, got one that is {replica.status}{hint}"
                )
            event = {"event": target if verb != "resume" else "resumed"}
            replica.put(event | turn.signature, turn.at, turn.rows)
        return Answer(to_json(campaign_form(replica)))

    return run
