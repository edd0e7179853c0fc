"""Other settings for a campaign that is there: the difference, and the events that make it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json, to_json

from matroid_bandits._util.names import encode_all
from matroid_bandits._util.text import printable
from matroid_bandits.constraint import Constraint
from matroid_bandits.learner import Learner
from matroid_bandits.policies import policy_to_dict
from matroid_bandits.service._limits import check_constraint
from matroid_bandits.service._operation import Turn, action
from matroid_bandits.service._reads import campaign_form
from matroid_bandits.service._replica import Replica, few
from matroid_bandits.service._settings import Settings
from matroid_bandits.specs import Plan, read_answers

#: Items that are named in the words of a difference.
_MOST_NAMED = 10


@action
def apply(replica: Replica, turn: Turn, plan: Plan, settings: Settings, is_dry: bool = False) -> dict[str, Any]:
    """Give a campaign other settings, all of them or none; or only say what would differ."""
    found = differences(replica, plan, settings) if is_dry else _carry_out(replica, turn, plan, settings)
    return campaign_form(replica) | {"differences": found, "applied": not is_dry}


def differences(replica: Replica, plan: Plan, settings: Settings) -> list[dict[str, Any]]:
    """What a plan would change, and how; raises what carrying it out would raise."""
    learner = copy.deepcopy(replica.learner)
    terms = replica.spec
    found = _steps(learner, terms, plan, settings, lambda form: learner.apply(from_json(to_json(form))))
    return found + _adjust(terms, plan, learner)


def in_words(differences: list[dict[str, Any]]) -> list[str]:
    """Return the differences between two campaign settings as lines of text.

    Examples
    --------
    >>> in_words([{"setting": "title", "before": "Shoes", "after": "Boots"}])
    ['title: "Shoes" -> "Boots"']
    """
    lines = []
    for each in differences:
        if each["setting"] == "items":
            moved = [f"{few(each[key], _MOST_NAMED)} {key}" for key in ("came", "went") if each[key]]
            lines.append(f"items: {'; '.join(moved) or 'the rules differ, or the order'}")
        elif each["setting"] == "restart":
            lines.append("restart: what was learnt is forgotten")
        else:
            before, after = (printable(to_json(each[key]).decode()) for key in ("before", "after"))
            lines.append(f"{each['setting']}: {before} -> {after}")
    return lines


def turnover(before: Constraint, after: Constraint) -> dict[str, Any]:
    """The labels of items that come with a change, and of those that go."""
    old, new = dict.fromkeys(before.labels), dict.fromkeys(after.labels)
    return {
        "came": encode_all([label for label in new if label not in old], "label"),
        "went": encode_all([label for label in old if label not in new], "label"),
    }


def _carry_out(replica: Replica, turn: Turn, plan: Plan, settings: Settings) -> list[dict[str, Any]]:
    def happen(form: dict[str, Any]) -> None:
        replica.happen(form | turn.signature, turn.at, turn.rows)

    found = _steps(replica.learner, replica.spec, plan, settings, happen)
    terms = _adjust(replica.spec, plan, replica.learner)
    if terms:
        was = dict(replica.spec)
        now = was | {each["setting"]: each["after"] for each in terms}
        replica.put({"event": "adjusted", "terms": now, "was": was} | turn.signature, turn.at, turn.rows)
        turn.terms[replica.id] = to_json(now).decode()
    return found + terms


def _steps(
    learner: Learner,
    terms: dict[str, Any],
    plan: Plan,
    settings: Settings,
    happen: Callable[[dict[str, Any]], Any],
) -> list[dict[str, Any]]:
    """Let the items and the settings of a learner become others, where they are not; what differed."""
    plan.check(learner)
    before, found = learner.constraint, []
    constraint = plan.constraint(before)
    policy = plan.make_policy(constraint)
    if constraint != before or plan.forget:
        check_constraint(constraint, settings)
        moved = turnover(before, constraint)
        happen(plan.changed(learner, constraint, policy) | moved)
        found.append({"setting": "items", **moved})
    others = {
        "policy": policy is not None and policy != learner.policy,
        "holdout": plan.holdout is not None and plan.holdout != learner.holdout,
        "answers": plan.changes_answers(learner, terms),
    }
    if any(others.values()) or plan.is_anew:
        old = _shown(learner, terms)
        answers = plan.answers if others["answers"] else None
        happen(learner.configure_form(policy=policy, holdout=plan.holdout, answers=answers, restart=plan.is_anew))
        new = _shown(learner, terms)
        found += [{"setting": key, "before": old[key], "after": new[key]} for key in others if others[key]]
        if plan.is_anew:
            found.append({"setting": "restart", "before": False, "after": True})
    return found


def _shown(learner: Learner, terms: dict[str, Any]) -> dict[str, Any]:
    """The settings of a learner, without arrays, which may be large."""
    return {
        "policy": policy_to_dict(learner.policy, arrays={}),
        "holdout": learner.holdout.to_dict(),
        "answers": read_answers(learner, terms),
    }


def _adjust(terms: dict[str, Any], plan: Plan, learner: Learner) -> list[dict[str, Any]]:
    """What of the terms is to be other."""
    plan.check_default(terms, learner)
    return [
        {"setting": key, "before": terms.get(key), "after": value}
        for key, value in plan.terms.items()
        if terms.get(key) != value and not (value == "" and terms.get(key) is None)
    ]
