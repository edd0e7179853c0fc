"""Matching replay: the value of a set from the random sets that happened to be it, as a check of other estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from matroid_bandits.constraint import Constraint
from matroid_bandits.evaluation._estimators import Decisions, Estimate, Target, estimate
from matroid_bandits.evaluation._laws import FrozenTarget, RandomSets, labels_of
from matroid_bandits.evaluation._log import Log, read_log
from matroid_bandits.exceptions import EvaluationError


def matching_replay(log: Any, target: Any) -> Estimate:
    """Estimate a target's value by the mean over logged random sets that equal the target's, where sets are uniform.

    It needs no propensities and does not assume that items are worth the same beside any others, and uses one set in
    as many as there are: a check of `evaluate` on small problems.

    Parameters
    ----------
    log : Log, or anything that `read_log` takes
        A log with a hold-out of random sets.
    target : set of items, FixedSet or Learner
        What to value; it must have one set for each request.

    Raises
    ------
    EvaluationError
        Random sets are not equally likely under this constraint, the target draws its sets, or none was played.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> events = []
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), seed=0, holdout=0.5, record=events.append)
    >>> for _ in range(200):
    ...     decision = learner.ask()
    ...     learner.tell(decision, decision.items / 2)
    >>> found = mb.evaluation.matching_replay(events, [1])
    >>> found.value, found.n_decisions > 10
    (0.5, True)
    """
    log = log if isinstance(log, Log) else read_log(log)
    frozen, values = FrozenTarget(target, RandomSets(1, 0)), []
    for each in log.decisions:
        is_whole = each.is_counted and (each.is_answered or each.has_stopped)
        if not (each.is_held_out and each.control is None and is_whole):
            continue
        _check(each.constraint)
        chances = frozen.of(each)
        chosen = np.flatnonzero(chances > 0.0)
        if (chances[chosen] < 1.0).any():
            drawn = labels_of(each.constraint, chosen[chances[chosen] < 1.0])
            raise EvaluationError(f"expected a target with one set for a request, got one that draws {drawn}")
        if np.array_equal(chosen, np.sort(each.items)):
            values.append(each.value)
    if not values:
        raise EvaluationError("expected random sets that are the target's, got none in this log")
    n, ones = len(values), np.ones(len(values))
    plays = Decisions(np.arange(n), np.array(values), ones, np.zeros(n), np.ones(n, bool))
    return estimate(plays, Target(ones, ones, np.zeros(n)), "iips")


def _check(constraint: Constraint) -> None:
    if constraint.kind not in ("uniform", "partition"):
        raise EvaluationError(
            "expected sets that are equally likely when drawn, as of uniform and partition matroids; got those of "
            f"a constraint of kind {constraint.kind!r}"
        )
