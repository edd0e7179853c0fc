"""Compiling in advance what a learner or a simulation will need."""

from __future__ import annotations

import base64
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import numpy as np

from matroid_bandits import compiled
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.kernels.compiling import at_once
from matroid_bandits.kernels.notice import the_notice
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


def _compile_what_is_sent() -> None:
    """Compile for the learners that another process names, a line for each, at the lowest priority.

    A line has the constraint, the policy, whether to minimize and the seed, as a pickle in base64. "compiling" is
    printed for every kernel that is not on disk, and "done" after each line.
    """
    if hasattr(os, "nice"):
        os.nice(19)
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1) as answers:
        sys.stdout = sys.stderr  # whatever others print
        the_notice.on_compiling = lambda: print("compiling", file=answers)
        while line := lines.get():
            with suppress(Exception):  # of a policy or a constraint of a user's own
                constraint, policy, minimize, seed = pickle.loads(base64.b64decode(line))
                shape = (constraint.n_items, policy.n_features or 0)
                features = None if policy.n_features is None else np.zeros(shape)
                Learner(constraint, policy, minimize=minimize, seed=seed, features=features).warm_up()
            print("done", file=answers)


def _read(lines: SimpleQueue[str]) -> None:
    """Take lines from the standard input, and end the process with it: its parent has all it asked for, or died."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _listed(policies: Any) -> list[Any]:
    """The policies without their names; what is no policy is an error where it is used."""
    if isinstance(policies, Mapping):
        return list(policies.values())
    is_one = isinstance(policies, (Policy, str, type)) or not isinstance(policies, Iterable)
    return [policies] if is_one else list(policies)
