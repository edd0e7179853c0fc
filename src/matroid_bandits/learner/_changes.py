"""A learner that goes on with other items, another policy, other settings, or as one that has seen nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import FloatArray, Label
from matroid_bandits._util.checks import as_flag
from matroid_bandits._util.names import rows_of
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, ItemError, PolicyError
from matroid_bandits.learner import _configure, _control, _events, _items
from matroid_bandits.learner._answers import Answers, as_answers, check_kind
from matroid_bandits.learner._feedback import Reader
from matroid_bandits.learner._holdout import Holdout
from matroid_bandits.learner._typical import ByLabel, spelled_out
from matroid_bandits.learner._wanted import read_features, read_rows
from matroid_bandits.policies import Policy, as_policy

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


def change(learner: Learner, constraint: Constraint, priors: Any, features: Any, forget: Any) -> None:
    """Go on with other items."""
    if not isinstance(constraint, Constraint):
        raise PolicyError(f"expected a Constraint, such as a Matroid; got {type(constraint).__name__}")
    if isinstance(forget, Mapping):
        raise ItemError(f"expected items or labels to forget, got the mapping {shown(forget)}")
    learner._departed.recognise(constraint.labels)
    check_kind(learner.answers, learner.policy, constraint)
    listed = _items.labels_of(forget, learner.constraint, learner._item, learner._departed_item)
    rows, newcomers = _read_rows(learner, constraint, features, set(listed))
    numbers = _spelled_out(learner, priors, constraint, newcomers, set(listed))
    priors = priors if learner._is_replaying else numbers  # a log that has the word is written as it is
    agent, policy, turnover, is_new = _items.changed(
        learner._agent,
        learner.policy,
        learner._departed,
        constraint,
        rows if learner.policy.n_features is None else None,
        set(listed),
        learner._engine,
        learner.max_departed,
    )
    rest = learner._constraint, learner._policy, learner._agent, learner._features
    control = _control.changed(learner, constraint, priors, features, forget)
    learner._constraint, learner._policy, learner._agent = constraint, policy, agent
    learner._features = rows if policy.n_features is not None else None
    try:
        set_priors(learner, numbers, is_new)
        if learner.record is not None:
            learner.record(_events.changed(constraint, priors, learner._features, rows, newcomers, listed))
    except BaseException:
        learner._constraint, learner._policy, learner._agent, learner._features = rest
        raise
    learner._n_steps += 1
    learner._control = control
    learner._n_known += int(is_new.sum())
    learner._departed.turn_over(turnover)
    learner._reader = learner._reader.renewed(learner)
    learner._n_changes += 1
    learner._changed_at = learner._episode  # decisions up to here were made with other numbers
    learner._bind()


def change_form(learner: Learner, constraint: Constraint, priors: Any, features: Any, forget: Any) -> dict[str, Any]:
    """The event that `change` of the same arguments would record; nothing is changed."""
    listed = _items.labels_of(forget, learner.constraint, learner._item, learner._departed_item)
    rows, newcomers = _read_rows(learner, constraint, features, set(listed))
    priors = _spelled_out(learner, priors, constraint, newcomers, set(listed))
    own = rows if learner.policy.n_features is not None else None
    return _events.changed(constraint, priors, own, rows, newcomers, listed)


def configure(learner: Learner, policy: Any, holdout: Any, answers: Any, restart: Any) -> None:
    """Go on with another policy, hold-out or kind of answers."""
    new, share, told, is_anew = read_settings(learner, policy, holdout, answers, restart)
    is_same = not is_anew and new == learner.policy
    if is_same and share == learner.holdout and told == learner.answers:
        return
    control = _control.of(learner, share, learner.policy if is_same else new)
    made = None
    if not is_same:
        made = (_configure.restarted if is_anew else _configure.configured)(learner, new)
    if learner.record is not None:
        learner.record(_events.configured(new, share, told, is_anew))
    learner._n_steps += 1
    learner._answers = told
    if made is not None:
        learner._policy = new
        learner._agent, learner._departed = made
    if control is not learner._control:
        for play in learner._agent.open.values():
            play.note.control = 0
    learner._holdout, learner._control = share, control
    if made is None:
        learner._bind()
        return
    if learner._features is not None and learner._features.shape[1] != new.n_features:
        learner._features = None
    extremes = learner._reader.extremes
    learner._reader = Reader(learner)  # whose range is the new policy's
    if not is_anew:
        learner._reader.extremes = extremes
    learner._has_forgotten = new.forgets or (learner._has_forgotten and not is_anew)
    learner._n_changes += is_anew
    learner._bind()


def read_settings(
    learner: Learner, policy: Any, holdout: Any, answers: Any, restart: Any
) -> tuple[Policy, Holdout, Answers | None, bool]:
    """The arguments of `configure`, checked; those of today for None."""
    new = learner.policy if policy is None else as_policy(policy)
    share = learner.holdout if holdout is None else Holdout.of(holdout)
    told = learner.answers if answers is None else as_answers(answers)
    for each in (new, share.control):
        if each is not None:
            check_kind(told, each, learner.constraint)
    return new, share, told, as_flag("restart", restart, error=PolicyError)


def restart(learner: Learner, items: Iterable[Any] | None) -> None:
    """Forget what is known of some items, or of all."""
    which = None if items is None else learner.constraint.as_items(items)
    if learner.record is not None:
        labels = None if which is None else [learner.constraint.labels[e] for e in which.tolist()]
        learner.record(_events.restarted(labels))
    learner._n_steps += 1
    if learner._control is not None:
        learner._control.restart(which)
    _items.restart(learner._agent, which)
    if which is None:
        learner._departed.restart(learner.policy, learner._episode)
        learner._reader.forget()
        learner._has_forgotten = learner.policy.forgets
    learner._n_changes += 1
    learner._bind()


def set_priors(learner: Learner, priors: Any, newcomers: Any) -> None:
    """Give newcomers their priors."""
    if priors is not None and not learner.policy.takes_priors:
        raise PolicyError(f"expected no priors, since {learner.policy!r} has beliefs of its own; got some")
    find = learner.constraint.item if isinstance(priors, ByLabel) else learner._item
    items, means, counts = _items.as_priors(priors, learner._agent.state, newcomers, find)
    low, high = learner.policy.support
    weights = -means if learner.minimize else means
    is_wrong = ~((low <= weights) & (weights <= high)) & (counts > 0.0)
    if is_wrong.any():
        e = int(is_wrong.argmax())
        raise FeedbackError(
            f"{learner.policy!r} needs weights in [{low:g}, {high:g}], got a prior mean of {weights[e]:g} for "
            f"{learner.constraint.labels[items[e]]!r}"
        )
    if items.size:
        learner._agent.set_priors(items, means, counts)


def _spelled_out(
    learner: Learner, priors: Any, constraint: Constraint, newcomers: list[int], forgotten: set[Label]
) -> Any:
    """Priors of newcomers as numbers by label."""
    known = learner.policy, learner._agent.state, learner._reader.extremes
    return spelled_out(priors, *known, constraint, newcomers, forgotten, learner._is_replaying)


def _read_rows(
    learner: Learner, constraint: Constraint, features: Any, forgotten: set[Label]
) -> tuple[Any, list[int]]:
    """The features that come with a change, (L, d), or None; and the items that nothing is known of."""
    policy, before, left = learner.policy, {*learner.constraint.labels}, learner._departed
    newcomers = [
        e
        for e, label in enumerate(constraint.labels)
        if label in forgotten or (label not in before and left.code(label) is None)
    ]
    if policy.n_features is None:
        if features is None:
            return None, newcomers
        width = None if policy.item_features is None else policy.item_features.shape[1]
        rows = read_rows(constraint, features, width, newcomers, is_strict=not learner._is_replaying)
        if policy.item_features is not None and not learner._is_replaying:  # in early logs they were ignored
            _check_kept(learner, constraint, features, rows, newcomers)
        return rows, newcomers
    if learner._features is not None:
        return read_features(constraint, policy, features), newcomers
    if features is not None and not learner._is_replaying:  # early versions dropped them
        raise PolicyError(f"expected no features, since requests bring those that {policy!r} needs; got some")
    return None, newcomers


def _check_kept(
    learner: Learner, constraint: Constraint, features: Any, rows: FloatArray, newcomers: list[int]
) -> None:
    """Raise when rows of items that the learner knows are others than the policy has of them."""
    named = rows_of(features)
    given = range(constraint.n_items) if named is None else [constraint.as_item(key) for key in named[0]]
    before = {label: e for e, label in enumerate(learner.constraint.labels)}
    own = learner.policy.item_features
    assert own is not None
    for e in sorted({*given}.difference(newcomers)):
        label = constraint.labels[e]
        code = learner._departed.code(label)
        kept = own[before[label]] if label in before else learner._departed.rows("features", np.array([code]))[0, 0]
        if not np.array_equal(rows[e], kept):
            raise PolicyError(
                f"expected features of new items, since items keep those that they came with; got "
                f"{rows[e].tolist()} for {label!r}, which has {kept.tolist()}"
            )
