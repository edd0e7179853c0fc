"""A learner that goes on with another policy: what carries over, and what starts anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits.agent import Agent, Play
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.learner import _validate
from matroid_bandits.learner._items import NOWHERE, Departed
from matroid_bandits.policies import Policy, State

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


def configured(learner: Learner, policy: Policy) -> tuple[Agent, Departed]:
    """The agent and the departed items of a learner under another policy; nothing of the learner is changed.

    Plays, gains, priors and the plays that wait carry over. The memory does where only `Policy.tunable` arguments
    differ; otherwise the policy makes it from the plays and gains, see `Policy.begin`.

    Raises
    ------
    PolicyError
        The policy cannot go on from there.
    """
    old, before = learner._agent, learner.policy
    old.settle()
    keeps = keeps_memory(policy, before)
    try:
        if policy.n_features not in (None, before.n_features):
            raise PolicyError(f"{policy!r} needs features, which the decisions so far came without")
        _check_seen(old.state, policy)
        new = Agent(
            learner.constraint, policy, minimize=learner.minimize, engine=learner._engine, episode=learner._episode
        )
        new.state.take_over(old.state)
        new.open = _opened(old, policy, keeps)
        if keeps:
            new.state.take_memory(old.state)
        else:
            policy.begin(new.state)
        new.refresh(np.arange(learner.constraint.n_items))
        departed = learner._departed.under(policy, new, keeps)
    except PolicyError as error:
        raise PolicyError(f"{error}; restart=True starts anew") from None
    return new, departed


def keeps_memory(new: Policy, old: Policy) -> bool:
    """Whether the memory of one policy is as good for another, since only `Policy.tunable` arguments differ."""
    if type(new) is not type(old):
        return False
    try:
        mine, theirs = new.params(), old.params()
    except PolicyError:  # of a policy that does not keep its arguments
        return new == old
    fixed = [name for name in mine if name not in new.tunable]
    return mine.keys() == theirs.keys() and all(_is_as_good(mine[name], theirs[name]) for name in fixed)


def _is_as_good(new: Any, old: Any) -> bool:
    if isinstance(new, Policy) and isinstance(old, Policy):
        return keeps_memory(new, old)
    return np.array_equal(new, old) if isinstance(new, np.ndarray) else bool(new == old)


def restarted(learner: Learner, policy: Policy) -> tuple[Agent, Departed]:
    """The agent and the departed items of a learner that starts anew under a policy; nothing of it is changed.

    Decisions that wait can still be told, and are not counted.
    """
    old = learner._agent
    old.settle()
    new = Agent(
        learner.constraint, policy, minimize=learner.minimize, engine=learner._engine, episode=learner._episode
    )
    width = policy.n_features
    for t, play in old.open.items():
        emptied = play.renamed(np.full_like(play.items, NOWHERE))
        emptied.kept = None
        emptied.features = None if width is None else np.zeros((play.items.size, width))
        emptied.note = play.note.without_features()
        new.open[t] = emptied
    return new, learner._departed.restarted(policy, new.state)


def _check_seen(state: State, policy: Policy) -> None:
    """Raise unless a policy can take the weights and priors that a learner has seen."""
    try:
        _validate.check_statistics(state.counts[0], state.sums[0], policy, state.minimize)
    except ValueError as error:
        raise PolicyError(f"{policy!r} cannot take the weights told so far: {error}") from None
    if not state.has_priors or not (state.prior_counts > 0.0).any():
        return
    if not policy.takes_priors:
        raise PolicyError(f"{policy!r} takes no priors, and some items have one")
    low, high = policy.support
    means = (-state.prior_means if state.minimize else state.prior_means)[state.prior_counts > 0.0]
    if not ((low <= means) & (means <= high)).all():
        raise PolicyError(f"{policy!r} needs weights in [{low:g}, {high:g}], and some priors have other means")


def _opened(old: Agent, policy: Policy, keeps: bool) -> dict[int, Play]:
    """The plays that wait: without features where the policy takes none, without what another policy has kept."""
    loses_features = policy.n_features is None and any(play.features is not None for play in old.open.values())
    if not loses_features and (keeps or not any(play.kept is not None for play in old.open.values())):
        return dict(old.open)
    found = {}
    for t, play in old.open.items():
        found[t] = plain = play.renamed(play.items)
        if not keeps:
            plain.kept = None
        if loses_features:
            plain.features = None
            plain.note = play.note.without_features()
    return found
