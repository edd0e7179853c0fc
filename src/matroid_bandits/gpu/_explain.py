"""Where a simulation would be played with ``device="auto"``, and why."""

from __future__ import annotations

from collections.abc import Mapping

from matroid_bandits._util.text import counted
from matroid_bandits.compiled import Misfit, ProblemForms
from matroid_bandits.exceptions import DeviceError
from matroid_bandits.gpu._cuda import Device, find_device
from matroid_bandits.gpu._fit import check_fit, check_room
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem

#: Fewer episodes are played on the CPU before a GPU's kernels are compiled.
LEAST_EPISODES = 10_000_000


def obstacle(problem: Problem, policy: Policy, n_episodes: int = 1, device: Device | None = None) -> str | None:
    """Return why a problem or a policy cannot be simulated on a GPU, as a sentence; None where it can.

    With a `device` it may also be that a run needs more than that one's fast memory, or all of its memory.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> mb.gpu.obstacle(problem, mb.OMM()) is None
    True
    >>> mb.gpu.obstacle(problem, mb.KLOSM())
    'KLOSM takes logarithms, which have other last digits on a GPU'
    """
    try:
        forms = ProblemForms(problem)
        family = check_fit(forms, policy, n_episodes)
        if device is not None:
            check_room(family, problem, forms.schedule(policy).form, n_episodes, device)
    except Misfit as misfit:
        return str(misfit)
    return None


def explain(
    problem: Problem, policies: Mapping[str, Policy] | Policy, *, n_episodes: int, n_runs: int
) -> tuple[str, str]:
    """Return where ``simulate(..., device="auto")`` would play, "gpu" or "cpu", and why.

    Parameters
    ----------
    problem : Problem
        The problem.
    policies : mapping of name to Policy, or one Policy
        Who plays.
    n_episodes, n_runs : int
        Number of episodes, and number of independent runs.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.9, 0.5, 0.1]))
    >>> device, why = mb.gpu.explain(problem, mb.OMM(), n_episodes=100, n_runs=10)
    >>> device
    'cpu'
    >>> why
    '1,000 episodes in all are played sooner on the CPU; a GPU pays from 10,000,000 on'
    """
    named = policies if isinstance(policies, Mapping) else {type(policies).__name__: policies}
    for policy in named.values():
        reason = obstacle(problem, policy, n_episodes)
        if reason is not None:
            return "cpu", reason
    total = n_episodes * n_runs * len(named)
    if total < LEAST_EPISODES:
        return "cpu", (
            f"{counted(total, 'episode')} in all are played sooner on the CPU; a GPU pays from {LEAST_EPISODES:,} on"
        )
    try:
        device = find_device()
    except DeviceError as error:
        return "cpu", str(error)
    for policy in named.values():
        reason = obstacle(problem, policy, n_episodes, device)
        if reason is not None:
            return "cpu", reason
    return "gpu", f"everything fits on {device.name}"
