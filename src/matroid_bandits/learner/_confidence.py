"""How sure a learner is of its best set, from the plays that it has counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification import Confidence, StoppingRule, Watch
from matroid_bandits.identification import confidence as _confidence

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


def confidence(
    learner: Learner, rule: StoppingRule, delta: float, n_margins: int | None = 20, of: int | None = None
) -> Confidence:
    """How sure a learner is; see `Learner.confidence`.

    The n-th catalogue of items spends 6 / (pi^2 n^2) of delta, so that all together spend it. From the second on all
    pairs of items that ever arrived count, since the pairs of today may have been picked by what is known of them.
    """
    learner._agent.settle()
    _check_evidence(learner)
    _check_law(learner, rule)
    state, n = learner._agent.state, learner._n_changes + 1
    watch = Watch(
        rule,
        learner.constraint,
        learner.minimize,
        factor=math.pi**2 * n * n / 6.0,
        n_known=learner._n_known if n > 1 else 0,
    )
    return _confidence(
        watch, state.counts[0], state.sums[0], learner._episode, delta=delta, n_margins=n_margins, of=of, catalogue=n
    )


def _check_evidence(learner: Learner) -> None:
    """Raise unless all that was seen counts the same."""
    if learner.policy.forgets:
        raise StoppingError(
            "expected a policy that counts all it has seen, since a best set is one for good; "
            f"{learner.policy!r} forgets"
        )
    if learner._has_forgotten:
        raise StoppingError(
            "expected all that was seen to count, and a policy that forgets has been at work; restart() starts anew"
        )
    if learner.policy.n_features is not None:
        raise StoppingError(
            f"expected weights that do not depend on features of requests, got {learner.policy!r}, which says they do"
        )


def _check_law(learner: Learner, rule: StoppingRule) -> None:
    """Raise where a weight was told that the rule says there is none of."""
    low, high = learner._reader.extremes
    if rule.weights != "unit" or low > high or (low >= 0.0 and high <= 1.0):
        return
    if math.isinf(low) or math.isinf(high):
        raise StoppingError(
            "expected weights in [0, 1], and the file of an earlier version, from which this learner was loaded, "
            "does not say which were told: replay its log, or say deviation=0.5 where you know that they were"
        )
    raise StoppingError(
        f'expected weights in [0, 1], as weights="unit" says; weights from {low:g} to {high:g} were told'
    )
