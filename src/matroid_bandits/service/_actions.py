"""What requests do to a campaign: each function gives what the writer's thread calls with replica and turn."""

from __future__ import annotations

from typing import Any, Literal

from pydantic_core import to_json

from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import AccessError, CampaignStateError, FeedbackError
from matroid_bandits.service._apply import turnover
from matroid_bandits.service._limits import check_work
from matroid_bandits.service._operation import Action, Answer, Turn, action
from matroid_bandits.service._reads import alarms_form, campaign_form
from matroid_bandits.service._remembered import short_decision, short_told
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._schemas import (
    AcknowledgeBody,
    AskBody,
    ChangeBody,
    CloseBeforeBody,
    CloseBody,
    ObserveBody,
    RequestBody,
    RestartBody,
    TellBody,
)
from matroid_bandits.service._settings import Settings
from matroid_bandits.specs import parse_json

#: Bodies of an ask that asks for nothing in particular.
_NOTHING = (b"", b"{}")


def request_of(body: RequestBody) -> dict[str, Any]:
    """The arguments of `Learner.ask` that a body gives; none where it says nothing."""
    wanted = {name: value for name in ("exclude", "pinned", "tags", "order") if (value := getattr(body, name, None))}
    wanted |= {name: value for name in ("available", "features") if (value := getattr(body, name)) is not None}
    return wanted if getattr(body, "unknown", "raise") == "raise" else wanted | {"unknown": "ignore"}


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


@action
def ask(replica: Replica, turn: Turn, wanted: dict[str, Any]) -> Answer:
    """Choose a set."""
    form = _ask(replica, turn, wanted)
    return Answer(to_json(form), stored=short_decision(form))


@action
def ask_all(replica: Replica, turn: Turn, requests: list[dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """Choose a set for each request, or none at all where one of them cannot be served."""
    check_work(len(requests), replica.learner.constraint, settings)
    for wanted in filter(None, requests):
        replica.learner.check_ask(**wanted)
    return {"decisions": [_ask(replica, turn, wanted) for wanted in requests]}


def _ask(replica: Replica, turn: Turn, wanted: dict[str, Any]) -> dict[str, Any]:
    decision = replica.learner.ask(**wanted)
    replica.take(turn.at, turn.rows)
    return decision.to_dict()


@action
def tell(replica: Replica, turn: Turn, body: TellBody) -> Answer:
    """Take an answer."""
    form = _tell(replica, turn, body.decision, body.weights, body.said)
    return Answer(to_json(form), stored=short_told(form))


@action
def of_learner(replica: Replica, turn: Turn, id: str, run: Action) -> Answer:
    """The same for a learner of this id alone: a token is not good for the next campaign of the same name."""
    if replica.learner.id != id:
        raise AccessError(f"expected a token of this campaign, got one of an earlier campaign {replica.name}")
    return run(replica, turn)


@action
def tell_all(replica: Replica, turn: Turn, answers: list[TellBody]) -> dict[str, Any]:
    """Take all answers, or none at all where one of them is wrong."""
    merged = _merged(answers)
    for decision, (weights, said) in merged.items():
        replica.learner.check_tell(decision, weights, **said)
    return {"answers": [_tell(replica, turn, decision, *answer) for decision, answer in merged.items()]}


def _merged(answers: list[TellBody]) -> dict[int, tuple[Any, dict[str, Any]]]:
    """What is told of each decision: it may come several times, with weights of different items."""
    merged: dict[int, tuple[Any, dict[str, Any]]] = {}
    for answer in answers:
        if answer.decision not in merged:
            merged[answer.decision] = answer.weights, answer.said
            continue
        weights, said = merged[answer.decision]
        if said or answer.said:
            raise FeedbackError(
                f"expected one answer to decision {answer.decision} where it says what was looked at, got several"
            )
        if not (isinstance(weights, dict) and isinstance(answer.weights, dict)):
            raise FeedbackError(
                f"expected weights by label of decision {answer.decision}, which comes twice; got a list"
            )
        if twice := weights.keys() & answer.weights.keys():
            raise FeedbackError(
                f"expected each item of decision {answer.decision} once, got {min(map(repr, twice))} twice"
            )
        merged[answer.decision] = weights | answer.weights, {}
    return merged


def _tell(replica: Replica, turn: Turn, decision: int, weights: Any, said: dict[str, Any]) -> dict[str, Any]:
    replica.learner.tell(decision, weights if said else replica.in_order(decision, weights), **said)
    taken = replica.take(turn.at, turn.rows)
    n_told = len(taken[0]["weights"]) if taken else 0  # nothing is told of a decision without items
    return {"decision": decision, "told": n_told, "waiting": decision in replica.learner.book}


@action
def close(replica: Replica, turn: Turn, body: CloseBody) -> dict[str, Any]:
    """Stop waiting for a decision, or for all before one."""
    wanted, n_before = body.root, replica.learner.n_outstanding
    default = wanted.default if "default" in wanted.model_fields_set else replica.rest()
    if isinstance(wanted, CloseBeforeBody):
        replica.learner.close_before(wanted.decision, default=default)
    else:
        replica.learner.close(wanted.decision, default=default)
    replica.take(turn.at, turn.rows)
    return {"closed": n_before - replica.learner.n_outstanding}


@action
def observe(replica: Replica, turn: Turn, body: ObserveBody) -> dict[str, Any]:
    """Take weights that were seen before the first decision."""
    replica.learner.observe(body.weights)
    (event,) = replica.take(turn.at, turn.rows)
    return {"observed": len(event["weights"])}


@action
def change(replica: Replica, turn: Turn, constraint: Constraint, body: ChangeBody) -> dict[str, Any]:
    """Go on with other items."""
    learner = replica.learner
    form = learner.change_form(constraint, priors=body.priors, features=body.features, forget=body.forget)
    form |= turnover(learner.constraint, constraint)
    replica.happen(form | turn.signature, turn.at, turn.rows)
    return campaign_form(replica)


@action
def restart(replica: Replica, turn: Turn, body: RestartBody) -> dict[str, Any]:
    """Discard the statistics of some items, or of all."""
    replica.learner.restart(body.items)
    replica.take(turn.at, turn.rows, **turn.signature)
    return campaign_form(replica)


@action
def acknowledge(replica: Replica, turn: Turn, body: AcknowledgeBody) -> dict[str, Any]:
    """Take alarms as seen, those up to an event or all; where there are none, nothing happens."""
    last = replica.seq if body.until is None else min(body.until, replica.seq)
    if any(seq <= last for seq in replica.alarms):
        replica.put({"event": "acknowledged", "until": last} | turn.signature, turn.at, turn.rows)
    return alarms_form(replica)


Verb = Literal["pause", "resume", "archive"]

#: What a campaign must be, None for anything, what it is then, and the event.
MOVES: dict[Verb, tuple[str | None, str, str]] = {
    "pause": ("active", "paused", "paused"),
    "resume": ("paused", "active", "resumed"),
    "archive": (None, "archived", "archived"),
}


@action
def move(replica: Replica, turn: Turn, verb: Verb) -> dict[str, Any]:
    """Pause, resume or archive a campaign; doing it again changes nothing."""
    source, target, event = MOVES[verb]
    if replica.status != target:
        if source is not None and replica.status != source:
            hint = " (matroid-bandits campaign resume NAME --trust-log)" if replica.status == "stopped" else ""
            raise CampaignStateError(f"expected a campaign that is {source}, got one that is {replica.status}{hint}")
        replica.put({"event": event} | turn.signature, turn.at, turn.rows)
    return campaign_form(replica)
