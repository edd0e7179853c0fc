"""Whether whole episodes are played in compiled code or an `Agent` plays them one by one, and why."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._background import begin, is_under_way
from matroid_bandits.compiled._costs import COMPILED_SHARE, agent_seconds, compiled_seconds, kernel_cost, playing_time
from matroid_bandits.compiled._families import check_cpu, kernel_of
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._slices import Settings, Slice
from matroid_bandits.engines import EngineChoice
from matroid_bandits.identification import StoppingRule
from matroid_bandits.kernels.background import is_allowed
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

#: Why runs that end when they are sure are not compiled.
UNTIL = "a stopping rule looks at the runs after every episode"

#: Seconds between two looks at whether a kernel would be sooner than the `Agent` that plays.
_LOOK_S = 0.1


def choose(settings: Settings, policy: Policy) -> tuple[str, str]:
    """Return whether a policy's runs are played "compiled" or by the "agent", and why."""
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
        return "agent", "kernels are interpreted, as MATROID_BANDITS_KERNELS or NUMBA_DISABLE_JIT says"
    try:
        forms.check(policy, n_episodes)
        engine, why = _by_time(kernel_of(forms, policy), forms.problem, n_episodes, n_runs)
        if engine == "compiled":
            check_cpu(forms, policy, n_episodes)  # makes arrays, and may compile kernels of the matroid
    except Misfit as misfit:
        return "agent", str(misfit)
    except Exception as error:  # of a policy's own code, which is to fail in its episode
        return "agent", f"{type(policy).__name__}: {error}"
    return engine, why


def _by_time(kernel: str, problem: Problem, n_episodes: int, n_runs: int) -> tuple[str, str]:
    """Whether results are there sooner if a kernel is loaded, by the time that an `Agent` takes on one core.

    What the agents of this process have played so far counts, too: had the kernel been loaded for that, it would have
    been worth it. Many short simulations load it once, and lose at most about twice the time of loading.
    """
    if _ready.is_loaded(kernel):
        return "compiled", "the kernel is compiled"
    if not _ready.can_be_cached(kernel):
        return "agent", "no folder can be written for compiled kernels; the variable NUMBA_CACHE_DIR names one"
    cost, agent = kernel_cost(kernel), n_episodes * agent_seconds(problem, n_runs)
    saved = agent - n_episodes * compiled_seconds(problem, n_runs) + (1.0 - COMPILED_SHARE) * _played.get(kernel, 0.0)
    if _is_on_disk(kernel):
        if saved < cost.load:
            return "agent", "the simulations so far are shorter than it takes to load the kernel"
        return "compiled", "the kernel is on disk"
    if agent + _played.get(kernel, 0.0) < cost.compile:
        return "agent", "the simulations so far are shorter than it takes to compile the kernel"
    if is_allowed():
        return "agent", "the kernel is not on disk yet; a child process compiles it"
    if saved < cost.compile:
        return "agent", "the simulation is shorter than it takes to compile the kernel"
    return "compiled", "the simulation is long enough to compile the kernel first"


def _is_on_disk(kernel: str) -> bool:
    return _ready.is_cached(kernel) and not is_under_way(kernel)


#: Seconds that agents of this process have played what a kernel could have played, by its name.
_played: dict[str, float] = {}
_lock = threading.Lock()


class Rival:
    """The kernel that could play a slice in place of the `Agent` that does."""

    def __init__(self, slice: Slice, settings: Settings) -> None:
        self._slice, self._settings = slice, settings
        self._kernel = self._fitting()
        self._done, self._total = 0, slice.n_runs * settings.n_episodes
        self._began = self._looked = playing_time()
        if self._kernel is not None:
            problem, n_episodes = settings.problem, settings.n_episodes
            self._compile(_played.get(self._kernel, 0.0) + n_episodes * agent_seconds(problem, settings.n_runs))

    def _fitting(self) -> str | None:
        """The name of a kernel that fits, where time alone decides."""
        settings, forms = self._settings, self._settings.forms
        if settings.engine != "auto" or settings.until is not None or _ready.is_interpreted():
            return None
        try:
            forms.check(self._slice.policy, settings.n_episodes)
            kernel = kernel_of(forms, self._slice.policy)
        except Exception:  # as in `choose`
            return None
        return kernel if _ready.can_be_cached(kernel) else None

    def is_sooner(self, n: int) -> bool:
        """Whether to leave the slice to the kernel, n episodes after the last call."""
        self._done += n
        if self._kernel is None:
            return False
        now = playing_time()
        if now - self._looked < _LOOK_S and self._done < self._total:
            return False
        with _lock:
            _played[self._kernel] = _played.get(self._kernel, 0.0) + now - self._looked
        self._looked = now
        episode_s = (now - self._began) / self._done
        left = episode_s * (self._total - self._done)
        if _ready.is_loaded(self._kernel) or _is_on_disk(self._kernel):
            load = 0.0 if _ready.is_loaded(self._kernel) else kernel_cost(self._kernel).load
            return left > load + COMPILED_SHARE * episode_s * self._total and self._fits()
        self._compile(left)
        return False

    def _fits(self) -> bool:
        """Whether the kernel can play; asked once it is on disk, since this makes arrays and calls other kernels."""
        try:
            check_cpu(self._settings.forms, self._slice.policy, self._settings.n_episodes)
        except Exception:  # as in `choose`
            self._kernel = None
        return self._kernel is not None

    def _compile(self, seconds: float) -> None:
        """Have the kernel compiled, unless it is on disk or takes longer than an `Agent` plays."""
        assert self._kernel is not None
        folder = _ready.folder_of(self._kernel)
        if seconds > kernel_cost(self._kernel).compile and folder is not None and not _is_on_disk(self._kernel):
            begin(self._kernel, self._settings.problem, self._slice.policy, folder)
