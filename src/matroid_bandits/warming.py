"""Compiling in advance what a learner or a simulation will need."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from matroid_bandits import compiled
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.kernels.compiling import at_once
from matroid_bandits.learner import Learner
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import simulate


def warm_up(
    target: Learner | Problem | Constraint,
    policies: Mapping[str, Policy] | Iterable[Policy] | Policy | None = None,
) -> float:
    """Compile the kernels that a learner or a simulation needs, or load them from disk, before the first call.

    Nothing that is given changes. Without it, kernels are interpreted until compiling pays. The first call on a
    machine compiles, for seconds to minutes; a later process loads the compiled code from disk, and a later call in
    the same process finds all of it there.

    Parameters
    ----------
    target : Learner, Problem or Constraint
        What will be used. A learner is warmed up for its requests: asking, telling, closing, estimates and
        explanations; a constraint for learners with `policies`; a problem for `simulate` and `sweep` of `policies`.
        For these it covers the engines that find decisions one by one, and the kernels that play whole episodes (see
        `compiled.explain`), which take longest to compile, and without which short simulations are played.
    policies : mapping of name to Policy, policies, or one Policy
        With a problem or a constraint alone.

    Returns
    -------
    float
        How long it took, in seconds.

    Notes
    -----
    Kernels for a GPU are not covered: the first simulation on a GPU compiles them.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> slots = mb.UniformMatroid(3, 1, labels=["red", "green", "blue"])
    >>> mb.warm_up(slots, mb.OMM()) > 0.0
    True
    >>> learner = mb.Learner(slots, mb.OMM())  # its first request finds everything compiled
    """
    began = time.perf_counter()
    if isinstance(target, Learner):
        if policies is not None:
            raise SimulationError(f"expected no policies beside a learner, which has its own; got {shown(policies)}")
        target.warm_up()
    elif not isinstance(target, (Problem, Constraint)):
        raise SimulationError(f"expected a Learner, a Problem or a Constraint; got {shown(target)}")
    elif policies is None:
        raise SimulationError(f"expected policies beside a {type(target).__name__}, got none")
    else:
        for policy in _listed(policies):
            if isinstance(target, Problem):
                with at_once(in_all_threads=True):
                    simulate(target, policy, n_episodes=3, n_runs=2, seed=0)
                compiled.prepare(target, policy)
            else:
                Learner(target, policy).warm_up()
    return time.perf_counter() - began


def _warm_up_like(constraint: Constraint, policy: Policy, minimize: bool, seed: int) -> None:
    """Compile what the requests to such a learner will need."""
    shape = (constraint.n_items, policy.n_features or 0)
    features = None if policy.n_features is None else np.zeros(shape)
    Learner(constraint, policy, minimize=minimize, seed=seed, features=features).warm_up()


def _listed(policies: Any) -> list[Any]:
    """The policies without their names; what is no policy is an error where it is used."""
    if isinstance(policies, Mapping):
        return list(policies.values())
    is_one = isinstance(policies, (Policy, str, type)) or not isinstance(policies, Iterable)
    return [policies] if is_one else list(policies)
