"""What happens to a learner, as plain JSON forms: a log of them is the learner.

Every form has a key ``event``; items are named by their labels. The same events in the same order make the same
learner, on the same build of the package and its libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.names import decode, encode, encode_all
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.exceptions import FeedbackError, MatroidBanditsError, ReplayError
from matroid_bandits.learner._answers import Answers
from matroid_bandits.learner._asked import UNNAMED
from matroid_bandits.learner._holdout import Holdout
from matroid_bandits.learner._order import Logged, Order
from matroid_bandits.learner._typical import ByLabel
from matroid_bandits.learner._wanted import Wanted, names_of
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, policy_from_dict, policy_to_dict

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

Kind = TypeVar("Kind", bound="Learner")

VERSION = 1


def created(learner: Learner, priors: Any, features: FloatArray | None) -> dict[str, Any]:
    """A learner was made."""
    return {
        "event": "created",
        "version": VERSION,
        "id": learner.id,
        "constraint": learner.constraint.to_dict(),
        "policy": policy_to_dict(learner.policy),
        "minimize": learner.minimize,
        "seed": learner.seed,
        "holdout": learner.holdout.to_dict(),
        "holdout_law": _holdout_law(learner.constraint),
        **_answers_form(learner.answers),
        "max_departed": learner.max_departed,
        "priors": _priors_form(priors, learner.constraint),
        "features": None if features is None else features.tolist(),
    }


def _holdout_law(constraint: Constraint) -> str:
    """How sets are drawn at random: the best for independent uniform weights, which has a known law on matroids."""
    return "random-keys" if isinstance(constraint, Matroid) else "best-of-uniform-keys"


def asked(
    id: int,
    items: IntArray,
    wanted: Wanted | None,
    constraint: Constraint,
    held_out: bool,
    instead: IntArray | None = None,
    tags: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A set was asked for, and these items were chosen; or drawn at random `instead` of others."""
    form = {"event": "asked", "decision": id, "items": names_of(constraint, items)}
    if wanted is not None:
        form |= wanted.to_dict(constraint)
    if held_out:
        form["held_out"] = True
        if instead is not None:
            form["instead"] = names_of(constraint, instead)
    if tags is not None:
        form["tags"] = tags
    return form


def order_form(items: IntArray | None, order: Order | None, constraint: Constraint) -> dict[str, Any]:
    """The list that a set is shown as, where it is one."""
    if items is None:
        return {}
    form: dict[str, Any] = {"order": names_of(constraint, items)}
    return form | {"worst_first": True} if order == "explore" else form


def told(id: int, labels: Sequence[Any] | None, weights: FloatArray, closes: bool) -> dict[str, Any]:
    """Weights of some items of a decision, or of all of them; with `closes` no more answers will come to the others.

    Without labels, or where a file of version 0.2.0 has not kept one, they are a list in the decision's order.
    """
    if labels is None or any(label is UNNAMED for label in labels):
        form: list[Any] = weights.tolist()
    else:
        form = _weights_form(labels, weights)
    return {"event": "told", "decision": id, "weights": form} | ({"closes": True} if closes else {})


def observed(labels: list[Label], weights: FloatArray) -> dict[str, Any]:
    """Some items were seen before the first decision."""
    return {"event": "observed", "weights": _weights_form(labels, weights)}


def closed(id: int, default: float | None) -> dict[str, Any]:
    """No more answers will come to a decision."""
    return {"event": "closed", "decision": id, "default": default}


def closed_before(episode: int, default: float | None) -> dict[str, Any]:
    """No more answers will come to the decisions before an episode."""
    return {"event": "closed", "before": episode, "default": default}


def changed(
    constraint: Constraint,
    priors: Any,
    features: FloatArray | None,
    rows: FloatArray | None,
    newcomers: list[int],
    forget: list[Label],
) -> dict[str, Any]:
    """The items are now others; `features` are of all of them, `rows` those that the newcomers keep."""
    form = None if features is None else features.tolist()
    if features is None and rows is not None:
        form = [[encode(constraint.labels[e], "label"), rows[e].tolist()] for e in newcomers]
    return {
        "event": "changed",
        "constraint": constraint.to_dict(),
        "priors": _priors_form(priors, constraint),
        "features": form,
        "forget": [encode(label, "label") for label in forget],
    }


def configured(policy: Policy, holdout: Holdout, answers: Answers | None, restart: bool) -> dict[str, Any]:
    """The settings are now these, all of them; with `restart` what was known is forgotten."""
    return {
        "event": "configured",
        "policy": policy_to_dict(policy),
        "holdout": holdout.to_dict(),
        **_answers_form(answers),
        "restart": restart,
    }


def _answers_form(answers: Answers | None) -> dict[str, Any]:
    """What answers tell of; logs of early versions do not say it."""
    return {} if answers is None else {"answers": answers}


def restarted(items: list[Label] | None) -> dict[str, Any]:
    """What is known of some items, or of all, was forgotten."""
    return {"event": "restarted", "items": None if items is None else [encode(x, "label") for x in items]}


def from_created(kind: type[Kind], event: Mapping[str, Any], engine: Any, record: Any) -> Kind:
    """The learner that a `created` event describes."""
    if not isinstance(event, Mapping) or event.get("event") != "created":
        raise ReplayError(f"expected a created event first, got {_what(event)}")
    version = event.get("version")
    if version != VERSION:
        raise ReplayError(f"expected events of version {VERSION}, got {version!r}")
    try:
        constraint = constraint_from_dict(event["constraint"])
        law = event.get("holdout_law", _holdout_law(constraint))  # logs of early versions do not name it
        if law != _holdout_law(constraint):
            raise ReplayError(f"expected hold-out sets by the law {_holdout_law(constraint)}, got {law!r}")
        priors = _priors(event["priors"])
        learner = kind._made(
            constraint,
            policy_from_dict(event["policy"]),
            minimize=event["minimize"],
            seed=event["seed"],
            id=event["id"],
            priors=priors,
            features=_rows(event["features"]),
            holdout=event["holdout"],
            answers=event.get("answers"),
            max_departed=event["max_departed"],
            engine=engine,
        )
    except MatroidBanditsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"malformed created event: {error!r}") from error
    if record is not None:
        learner._start_record(record, priors)
        learner._bind()
    return learner


def apply(learner: Learner, event: Mapping[str, Any], trust: bool) -> Any:
    """Let an event happen to a learner; see `Learner.apply`."""
    kind = event.get("event") if isinstance(event, Mapping) else None
    try:
        if kind == "asked":
            return _ask_again(learner, event, trust)
        if kind == "told":
            weights = event["weights"]
            is_listed = bool(weights) and not isinstance(weights[0], (list, tuple))
            weights = weights if is_listed else dict(_pairs(weights))
            return learner._tell(event["decision"], weights, closes=event.get("closes", False))
        if kind == "observed":
            return learner.observe(dict(_pairs(event["weights"])))
        if kind == "closed" and "before" in event:
            return learner.close_before(event["before"], default=event["default"])
        if kind == "closed":
            return learner.close(event["decision"], default=event["default"])
        if kind == "changed":
            return learner.change(
                constraint_from_dict(event["constraint"]),
                priors=_priors(event["priors"]),
                features=_rows(event["features"]),
                forget=[decode(label) for label in event["forget"]],
            )
        if kind == "configured":
            policy = policy_from_dict(event["policy"])
            return learner.configure(
                policy=policy,
                holdout=Holdout.of(event["holdout"]),
                answers=event.get("answers"),
                restart=event["restart"],
            )
        if kind == "restarted":
            return learner.restart(None if event["items"] is None else _numbers(learner, event["items"]))
    except MatroidBanditsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"malformed {kind} event: {error!r}") from error
    raise ReplayError(f"expected an event that happens to a learner, got {_what(event)}")


def _ask_again(learner: Learner, event: Mapping[str, Any], trust: bool) -> Any:
    wanted = {key: _numbers(learner, event[key]) for key in ("available", "exclude", "pinned") if key in event}
    chosen = [label if type(label) is str else decode(label) for label in event["items"]]
    if event["decision"] != learner._episode + 1:
        raise ReplayError(f"expected decision {learner._episode + 1} next, got {event['decision']!r}")
    features, tags = event.get("features"), event.get("tags")
    instead, listed = (
        [decode(label) for label in event[key]] if key in event else None for key in ("instead", "order")
    )
    order: Order | None = None
    if listed is not None:
        order = "explore" if event.get("worst_first") else "best"
    logged = Logged(chosen, bool(event.get("held_out", False)), listed, instead)
    return learner._ask(wanted, features, tags, order, logged=logged, trust=trust)


def _numbers(learner: Learner, labels: Any) -> IntArray:
    """Items by their labels alone: a number that is another item's label means nothing in a log."""
    return np.array([learner.constraint.item(decode(label)) for label in labels], np.int64)


def _weights_form(labels: Iterable[Label], weights: FloatArray) -> list[list[Any]]:
    return [[*pair] for pair in zip(encode_all(labels, "label"), weights.tolist(), strict=True)]


def _pairs(weights: Any) -> list[tuple[Label, float]]:
    return [(decode(label), weight) for label, weight in weights]


def _priors_form(priors: Any, constraint: Constraint) -> Any:
    if priors is None or isinstance(priors, str):
        return priors
    labels = constraint.labels
    find = constraint.item if isinstance(priors, ByLabel) else constraint.as_item
    try:
        return [[encode(labels[find(key)], "label"), *map(float, prior)] for key, prior in priors.items()]
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, MatroidBanditsError):
            raise
        raise FeedbackError(f"expected priors as pairs of numbers by item, got others ({error})") from None


def _priors(form: Any) -> Any:
    return form if form is None or isinstance(form, str) else {decode(x): (mean, count) for x, mean, count in form}


def _rows(form: Any) -> Any:
    if form == []:  # of no items
        return {}
    if form and isinstance(form[0], list) and len(form[0]) == 2 and isinstance(form[0][1], list):
        return {decode(label): row for label, row in form}
    return form


def _what(event: Any) -> str:
    return repr(event.get("event")) if isinstance(event, Mapping) else type(event).__name__
