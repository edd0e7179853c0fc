"""The control of a hold-out: a learner of its own that answers what is held out, and learns from that alone."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from matroid_bandits._typing import IntArray
from matroid_bandits.agent import Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.learner._asked import Asked
from matroid_bandits.learner._holdout import Holdout
from matroid_bandits.learner._wanted import Wanted
from matroid_bandits.policies import Policy, Request

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner

#: What tells the random numbers of a control from those of its learner.
_SEED = 0x9E3779B97F4A7C15


def check(holdout: Holdout, policy: Policy) -> None:
    """Raise unless requests bring the features that a control needs."""
    control = holdout.control
    if control is not None and control.n_features not in (None, policy.n_features):
        raise PolicyError(f"expected a control that needs no features beyond those of {policy!r}, got {control!r}")


def made(learner: Learner, holdout: Holdout, priors: Any = None) -> Learner | None:
    """The learner that answers what is held out, before it has seen anything; None where random sets do."""
    policy = holdout.control
    if policy is None:
        return None
    check(holdout, learner.policy)
    return learner._made(
        learner.constraint,
        policy,
        minimize=learner.minimize,
        seed=learner.seed ^ _SEED,
        id=learner.id,
        priors=priors if policy.takes_priors else None,
        features=learner._features if policy.n_features is not None else None,
        answers=None,  # whatever closes its decisions was said to the learner
        max_departed=learner.max_departed,
        engine=learner._engine,
    )


def of(learner: Learner, holdout: Holdout, policy: Policy) -> Learner | None:
    """The control of another hold-out: that of today where it is the same, otherwise one that has seen nothing."""
    check(holdout, policy)
    return learner._control if holdout.control == learner.holdout.control else made(learner, holdout)


def changed(learner: Learner, constraint: Constraint, priors: Any, features: Any, forget: Any) -> Learner | None:
    """The control with other items; the one that there is stays as it is."""
    if learner._control is None:
        return None
    control = copy.deepcopy(learner._control)
    policy = control.policy
    takes_features = policy.n_features is not None or policy.item_features is not None
    control._is_replaying = learner._is_replaying
    control.change(
        constraint,
        priors=priors if policy.takes_priors else None,
        features=features if takes_features else None,
        forget=forget,
    )
    control._is_replaying = False
    return control


def wanted(control: Learner, asked: Wanted | None) -> Wanted | None:
    """A request as the control's policy takes it."""
    if asked is None or asked.features is None or control.policy.n_features is not None:
        return asked
    return replace(asked, features=None)


def choose(control: Learner, asked: Wanted | None) -> tuple[IntArray, IntArray]:
    """The set that the control chooses for a request, and its size."""
    return control._agent.choose(control._request_of(wanted(control, asked)))


def order(control: Learner, asked: Wanted | None, items: IntArray, sizes: IntArray, worst_first: bool) -> IntArray:
    """The places at which the control shows the items of its set."""
    return control._agent.order(control._request_of(wanted(control, asked)), items, sizes, worst_first)


def follow(control: Learner, asked: Wanted | None, items: IntArray, sizes: IntArray, places: IntArray | None) -> int:
    """Let an episode pass in which the control's set was chosen; its number."""
    request = control._request_of(wanted(control, asked))
    play = control._agent.play(request, items, sizes, places=places)
    control._episode = t = request.episode
    play.request = Request(t, control._stream)
    play.note = Asked(control.constraint.labels, play.items[0], None)
    return t


def play_of(learner: Learner, play: Play) -> Play | None:
    """The same decision as the control has it; None of the learner's own."""
    if learner._control is None or not play.note.control:
        return None
    return learner._control._agent.open.get(play.note.control)
