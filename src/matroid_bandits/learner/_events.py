"""What happens to a learner, as plain JSON forms: a log of them is the learner.

Every form has a key ``event``; items are named by their labels. The same events in the same order make the same
learner, on the same build of the package and its libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray, Label
from matroid_bandits._util.names import decode, encode, encode_all
from matroid_bandits.constraint import Constraint, constraint_from_dict
from matroid_bandits.exceptions import FeedbackError, MatroidBanditsError, ReplayError
from matroid_bandits.learner._holdout import Holdout
from matroid_bandits.learner._wanted import Wanted, names_of
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, policy_from_dict, policy_to_dict

if TYPE_CHECKING:
    from matroid_bandits.learner._core import Core

VERSION = 1


def created(core: Core, priors: Any, features: FloatArray | None) -> dict[str, Any]:
    """A learner was made."""
    return {
        "event": "created",
        "version": VERSION,
        "id": core.id,
        "constraint": core.constraint.to_dict(),
        "policy": policy_to_dict(core.policy),
        "minimize": core.minimize,
        "seed": core.seed,
        "holdout": core.holdout.to_dict(),
        "holdout_law": _holdout_law(core.constraint),
        "max_departed": core.max_departed,
        "priors": _priors_form(priors, core.constraint),
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


def told(id: int, labels: list[Label], weights: FloatArray, *, is_whole: bool) -> dict[str, Any]:
    """Weights of some items of a decision, or of all of them.

    An item that was forgotten has no label any more. It can be told of only together with the others, in the order of
    the decision's items; so are the weights written then.
    """
    is_nameless = is_whole and None in labels
    form = weights.tolist() if is_nameless else _weights_form(labels, weights)
    return {"event": "told", "decision": id, "weights": form}


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


def configured(policy: Policy, holdout: Holdout, restart: bool) -> dict[str, Any]:
    """The settings are now these, all of them; with `restart` what was known is forgotten."""
    return {
        "event": "configured",
        "policy": policy_to_dict(policy),
        "holdout": holdout.to_dict(),
        "restart": restart,
    }


def restarted(items: list[Label] | None) -> dict[str, Any]:
    """What is known of some items, or of all, was forgotten."""
    return {"event": "restarted", "items": None if items is None else [encode(x, "label") for x in items]}


def from_created(kind: type[Core], event: Mapping[str, Any], engine: Any, record: Any) -> Core:
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
        return kind(
            constraint,
            policy_from_dict(event["policy"]),
            minimize=event["minimize"],
            seed=event["seed"],
            id=event["id"],
            priors=_priors(event["priors"]),
            features=_rows(event["features"]),
            holdout=event["holdout"],
            max_departed=event["max_departed"],
            engine=engine,
            record=record,
        )
    except MatroidBanditsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"malformed created event: {error!r}") from error


def apply(core: Core, event: Mapping[str, Any], trust: bool) -> Any:
    """Let an event happen to a learner; see `Learner.apply`."""
    kind = event.get("event") if isinstance(event, Mapping) else None
    try:
        if kind == "asked":
            return _ask_again(core, event, trust)
        if kind == "told":
            weights = event["weights"]
            is_listed = bool(weights) and not isinstance(weights[0], (list, tuple))
            return core.tell(event["decision"], weights if is_listed else dict(_pairs(weights)))
        if kind == "observed":
            return core.observe(dict(_pairs(event["weights"])))
        if kind == "closed" and "before" in event:
            return core.close_before(event["before"], default=event["default"])
        if kind == "closed":
            return core.close(event["decision"], default=event["default"])
        if kind == "changed":
            return core.change(
                constraint_from_dict(event["constraint"]),
                priors=_priors(event["priors"]),
                features=_rows(event["features"]),
                forget=[decode(label) for label in event["forget"]],
            )
        if kind == "configured":
            policy = policy_from_dict(event["policy"])
            return core.configure(policy, Holdout.of(event["holdout"]), restart=event["restart"])
        if kind == "restarted":
            return core.restart(None if event["items"] is None else _numbers(core, event["items"]))
    except MatroidBanditsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"malformed {kind} event: {error!r}") from error
    raise ReplayError(f"expected an event that happens to a learner, got {_what(event)}")


def _ask_again(core: Core, event: Mapping[str, Any], trust: bool) -> Any:
    wanted = {key: _numbers(core, event[key]) for key in ("available", "exclude", "pinned") if key in event}
    chosen = [label if type(label) is str else decode(label) for label in event["items"]]
    if event["decision"] != core.episode + 1:
        raise ReplayError(f"expected decision {core.episode + 1} next, got {event['decision']!r}")
    features, tags = event.get("features"), event.get("tags")
    if trust:
        return core.ask(wanted, features, tags, taken=(chosen, bool(event.get("held_out", False))))
    instead = None if "instead" not in event else [decode(label) for label in event["instead"]]
    return core.ask(wanted, features, tags, expected=chosen, instead=instead)


def _numbers(core: Core, labels: Any) -> IntArray:
    """Items by their labels alone: a number that is another item's label means nothing in a log."""
    return np.array([core.constraint.item(decode(label)) for label in labels], np.int64)


def _weights_form(labels: list[Label], weights: FloatArray) -> list[list[Any]]:
    return [[*pair] for pair in zip(encode_all(labels, "label"), weights.tolist(), strict=True)]


def _pairs(weights: Any) -> list[tuple[Label, float]]:
    return [(decode(label), weight) for label, weight in weights]


def _priors_form(priors: Any, constraint: Constraint) -> Any:
    if priors is None or isinstance(priors, str):
        return priors
    labels = constraint.labels
    try:
        return [
            [encode(labels[constraint.as_item(key)], "label"), *map(float, prior)] for key, prior in priors.items()
        ]
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
