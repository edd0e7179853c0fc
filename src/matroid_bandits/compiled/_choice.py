"""Whether whole episodes are played in compiled code or an `Agent` plays them one by one, and why."""

from __future__ import annotations

from collections.abc import Mapping

from matroid_bandits._util.threads import n_threads
from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._families import check_cpu, kernel_of
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._slices import Settings
from matroid_bandits.engines import EngineChoice
from matroid_bandits.identification import StoppingRule
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

#: Seconds that a simulation takes, about, from which on a kernel is loaded from disk, and from which on compiled.
LEAST_LOADED_S, LEAST_COMPILED_S = 0.5, 60.0

#: Why runs that end when they are sure are not compiled.
UNTIL = "a stopping rule looks at the runs after every episode"

#: Seconds of an episode, about: of each, and of each item in it.
_EPISODE_S, _ITEM_S = 2e-6, 1e-8


def choose(settings: Settings, policy: Policy) -> tuple[str, str]:
    """Return whether a policy's runs are played "compiled" or by the "agent", and why.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.compiled import Settings, choose
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> settings = Settings(problem, 9, 50, seed=1, start="observe", checkpoints=np.array([9]), engine="greedy")
    >>> choose(settings, mb.OMM())
    ('agent', 'an engine was named')
    """
    if settings.engine != "auto":
        return "agent", "an engine was named"
    if settings.until is not None:
        return "agent", UNTIL
    return _choose(settings.forms, policy, settings.n_episodes, settings.n_runs)


def explain(
    problem: Problem,
    policies: Mapping[str, Policy] | Policy,
    *,
    n_episodes: int,
    n_runs: int,
    engine: EngineChoice = "auto",
    until: StoppingRule | None = None,
) -> dict[str, tuple[str, str]]:
    """Return, for each policy, whether ``simulate`` on the CPU plays it "compiled" or by the "agent", and why.

    Parameters
    ----------
    problem : Problem
        The problem.
    policies : mapping of name to Policy, or one Policy
        Who plays.
    n_episodes, n_runs : int
        Number of episodes, and number of independent runs.
    engine : str, or class, default "auto"
        As in `simulate`.
    until : StoppingRule, optional
        As in `simulate`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> mb.compiled.explain(problem, mb.FixedSet([0]), n_episodes=100, n_runs=10)
    {'FixedSet': ('agent', 'FixedSet has no compiled form')}
    """
    named = policies if isinstance(policies, Mapping) else {type(policies).__name__: policies}
    if engine != "auto":
        return dict.fromkeys(named, ("agent", "an engine was named"))
    if until is not None:
        return dict.fromkeys(named, ("agent", UNTIL))
    forms = ProblemForms(problem)
    return {name: _choose(forms, policy, n_episodes, n_runs) for name, policy in named.items()}


def _choose(forms: ProblemForms, policy: Policy, n_episodes: int, n_runs: int) -> tuple[str, str]:
    if _ready.is_interpreted():
        return "agent", "kernels are interpreted, as NUMBA_DISABLE_JIT says"
    try:
        forms.check(policy, n_episodes)
        engine, why = _by_time(kernel_of(forms), forms.problem, n_episodes * n_runs)
        if engine == "compiled":
            check_cpu(forms, policy, n_episodes)  # makes arrays, and may compile kernels of the matroid
    except Misfit as misfit:
        return "agent", str(misfit)
    except Exception as error:  # of a policy's own code, which is to fail in its episode
        return "agent", f"{type(policy).__name__}: {error}"
    return engine, why


def _by_time(kernel: str, problem: Problem, n_episodes: int) -> tuple[str, str]:
    """Whether a kernel is loaded, or worth being loaded or compiled for `n_episodes` in all."""
    if _ready.is_loaded(kernel):
        return "compiled", "the kernel is compiled"
    seconds = n_episodes * (_EPISODE_S + _ITEM_S * problem.n_items) / n_threads()
    if not _ready.can_be_cached(kernel):
        return "agent", "no folder can be written for compiled kernels; the variable NUMBA_CACHE_DIR names one"
    if _ready.is_cached(kernel):
        if seconds < LEAST_LOADED_S:
            return "agent", "the simulation is shorter than it takes to load the kernel"
        return "compiled", "the kernel is on disk"
    if seconds < LEAST_COMPILED_S:
        return "agent", "the simulation is shorter than it takes to compile the kernel"
    return "compiled", "the simulation is long enough to compile the kernel first"
