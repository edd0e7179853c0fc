"""Kernels compiled, or loaded from disk, before a simulation asks for them."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._families import kernel_of
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._play import play
from matroid_bandits.compiled._slices import Settings, Slice
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem


def warm_up(problem: Problem, policies: Mapping[str, Policy] | Policy) -> float:
    """Compile the kernels that play whole episodes of these policies, or load them from disk; returns the seconds
    taken.

    A simulation compiles a kernel only if it is long enough for that. After this call, short simulations in this
    process use compiled episodes too, and in other processes if they are long enough for loading the kernel. Policies
    without a compiled form are skipped.

    Parameters
    ----------
    problem : Problem
        The problem to be simulated.
    policies : mapping of name to Policy, or one Policy
        The policies.

    Returns
    -------
    float
        How long it took, in seconds: about half a minute for a kernel that has to be compiled, less than one for a
        kernel on disk, next to nothing for one that is loaded.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> mb.compiled.warm_up(problem, mb.FixedSet([0])) < 1.0  # has no compiled form
    True
    """
    began = time.perf_counter()
    forms = ProblemForms(problem)
    for policy in policies.values() if isinstance(policies, Mapping) else [policies]:
        _warm_up(forms, policy)
    return time.perf_counter() - began


def _warm_up(forms: ProblemForms, policy: Policy) -> None:
    """Play an episode, unless the kernel is there, or the policy does not fit."""
    if _ready.is_interpreted():
        return
    try:
        forms.check(policy, 1)
        if not _ready.is_loaded(kernel_of(forms)):
            settings = Settings(forms.problem, 1, 1, seed=0, start="observe", checkpoints=np.array([1]))
            play(Slice("", policy, 0, 1), settings, lambda n: False)
    except Misfit:
        pass
