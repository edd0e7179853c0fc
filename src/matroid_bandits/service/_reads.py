"""What can be read of a campaign: plain JSON forms, made by the writer's thread between two batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from matroid_bandits._util.names import decode, encode
from matroid_bandits.evaluation import fixed_set
from matroid_bandits.exceptions import ArchivedEventsError, StoppingError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import FixedSet, policy_to_dict
from matroid_bandits.service._replica import Replica
from matroid_bandits.service._warm import compiling_now
from matroid_bandits.specs import LONGEST_TITLE

#: What an item of a page of waiting decisions is taken to cost, in bytes.
_ITEM_BYTES = 32

#: Exchanges that a request looks at, between two batches of the writer's; and margins in an answer.
_MOST_EXCHANGES, _N_MARGINS = 200_000, 20


def row_form(row: Any, spec: dict[str, Any], progress: tuple[int, int] | None = None) -> dict[str, Any]:
    """A campaign at a glance, from its row in the database, and how far its log is read where it is being loaded."""
    return {
        "name": row.name,
        "title": _title(spec),
        "status": row.status,
        "reason": row.reason,
        "seq": row.seq,
        "decisions": row.decisions,
        "waiting": row.waiting,
        "created": row.created,
        "alarms": row.alarms,
        "loading": None if progress is None else progress[0] / progress[1],
        "compiling": compiling_now(row.name),
    }


def check_kept(row: Any, after: int) -> None:
    """Raise where the events after one are not all in the database any more."""
    if after < row.first - 1:
        raise archived_error(
            row,
            f"expected events of {row.name} after {row.first - 1} or later, since earlier ones are in archives; "
            f"got after {after}",
        )


def archived_error(row: Any, text: str) -> ArchivedEventsError:
    """What is raised where events are asked for that a log does not hold any more."""
    error = ArchivedEventsError(text)
    error.first = row.first
    return error


def _title(spec: dict[str, Any]) -> str:
    """The title, which comes with every list; those of earlier versions had any length."""
    return str(spec.get("title", ""))[:LONGEST_TITLE]


def campaign_form(replica: Replica, *, constraint: bool = False) -> dict[str, Any]:
    """A campaign with all its settings."""
    learner = replica.learner
    matroid = learner.constraint
    form = row_form(SimpleNamespace(name=replica.name, **replica.row()), replica.spec) | {
        "id": learner.id,
        "about": replica.spec.get("about", ""),
        "n_items": matroid.n_items,
        "rank": matroid.largest_size,
        "kind": matroid.kind,
        "rule": replica.rule.words,
        "categories": [{"name": name, "most": most} for name, most in replica.rule.categories],
        "policy": policy_to_dict(learner.policy, arrays={}),  # without arrays, which may be large
        "minimize": learner.minimize,
        "seed": learner.seed,
        "holdout": learner.holdout.share,
        "holdout_by": learner.holdout.by,
        "control": None if (control := learner.holdout.control) is None else policy_to_dict(control, arrays={}),
        "control_set": [encode(matroid.labels[e], "label") for e in fixed_set(control, matroid).tolist()]
        if isinstance(control, FixedSet)
        else None,
        "control_teaches": learner.holdout.learns,
        "answers": replica.answers,
        "answer_window": replica.spec.get("answer_window"),
        "default": replica.spec.get("default"),
        "spending": None if (spent := learner.spending) is None else spent._asdict(),
        "attention": None if (attention := learner.attention) is None else attention.tolist(),
    }
    return form | {"constraint": matroid.to_dict()} if constraint else form


def estimates_form(
    replica: Replica, features: Any = None, items: list[Any] | None = None, offset: int = 0, limit: int | None = None
) -> dict[str, Any]:
    """What is believed of each item, of some by label, or of `limit` of them from number `offset` on."""
    learner, rule = replica.learner, replica.rule
    found, n_items = learner.estimates(features=features), learner.constraint.n_items
    listed = [*range(n_items)[offset : None if limit is None else offset + limit]]
    if items is not None:
        listed = [learner.constraint.item(decode(label)) for label in items]
    if items is not None or len(listed) < n_items:
        found = found.of(listed)
    counts = replica.recent_counts()
    return found.to_dict() | {
        "seq": replica.seq,
        "items": listed,
        "n_items": n_items,
        "recent": len(replica.recent),
        "chosen": [counts[label] for label in found.labels],
        "categories": [rule.codes[e] for e in listed] if rule.codes else None,
    }


def best_form(replica: Replica, pessimism: float | None, deviation: float) -> dict[str, Any]:
    """The set of best means so far, or of best lower confidence bounds."""
    learner = replica.learner
    best = learner.best_basis(pessimism=pessimism, deviation=deviation)
    form, gains = best.to_dict(), -best.means if learner.minimize else best.means
    order = [form["items"][k] for k in np.argsort(-gains, kind="stable").tolist()]  # NaN last
    return form | {"seq": replica.seq, "value": best.value, "order": order}


def confidence_form(replica: Replica, delta: float, deviation: float | None, tolerance: float) -> dict[str, Any]:
    """How sure the best set is, or why that cannot be said; weights lie in [0, 1] unless a deviation is given."""
    learner = replica.learner
    form: dict[str, Any] = {"seq": replica.seq, "reason": None, "confidence": None}
    constraint = learner.constraint
    if isinstance(constraint, Matroid) and (n := constraint.most_exchanges()) > _MOST_EXCHANGES:
        return form | {"reason": f"expected at most {_MOST_EXCHANGES:,} exchanges to look at for a page, got {n:,}"}
    weights: Literal["unit"] | None = "unit" if deviation is None else None
    try:
        found = learner.confidence(
            weights=weights, deviation=deviation, tolerance=tolerance, delta=delta, n_margins=_N_MARGINS
        )
    except StoppingError as error:
        return form | {"reason": str(error)}
    return form | {"confidence": found.to_dict()}


def explanation_form(replica: Replica, item: Any, wanted: dict[str, Any], decision: int | None) -> dict[str, Any]:
    """Explain why an item is in or out of a set."""
    found = replica.learner.explain(item, **wanted, decision=decision)
    return found.to_dict() | {"text": str(found)}


def waiting_form(replica: Replica, limit: int, most: int) -> dict[str, Any]:
    """Decisions that wait for answers, oldest first: up to `limit`, and about as many as `most` bytes hold."""
    window = replica.spec.get("answer_window")
    listed: list[dict[str, Any]] = []
    for decision, at in replica.learner.book.oldest(limit):
        most -= _ITEM_BYTES * decision.items.size
        if listed and most < 0:
            break
        listed.append(
            decision.to_dict() | {"asked": at, "deadline": None if window is None or at is None else at + window}
        )
    return {"waiting": replica.learner.n_outstanding, "decisions": listed}


def alarms_form(replica: Replica) -> dict[str, Any]:
    """The alarms that were not acknowledged, oldest first."""
    return {"seq": replica.seq, "alarms": [*replica.alarms.values()]}


def uplift_form(replica: Replica, now: float) -> dict[str, Any]:
    """The learner against its control, in windows that end now."""
    return {"seq": replica.seq} | replica.uplift.form(replica.learner, now)


def history_form(replica: Replica, resolution: int, after: float, now: float) -> dict[str, Any]:
    """Return counts and average weights over time."""
    history = replica.history
    return {
        "resolution": resolution,
        "now": now,
        "buckets": history.buckets(resolution, after),
        "marks": [mark for mark in history.marks if mark["at"] > after],
        "waiting": history.waiting,
        "expired": history.expired,
        "settled": history.settled,
        "complete": history.is_complete,
    }
