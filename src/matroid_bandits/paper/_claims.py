"""The paper's claims, held against our runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matroid_bandits._typing import FloatArray
from matroid_bandits._util.text import counted
from matroid_bandits.paper._experiment import Trial, any_standin
from matroid_bandits.reporting import Claim, Verdict, regret_per_step

_NEAR = 0.05  # of the optimum: what "approaches" must have reached by the last episode
_MARGIN = 2.0  # times the regret: what "a large margin" must be


def approaches(trials: Sequence[Trial], policy: str, *, needs: int) -> Claim:
    """Check that a policy approaches the optimum: each distance is smaller than the one before, the last at most 5%.

    The paper: 'The expected return of OMM approaches that of the optimal solution as the number of episodes
    increases.'
    """
    result = trials[0].result
    places = [int(np.searchsorted(result.checkpoints, result.n_episodes * share)) for share in (0.01, 0.1, 1.0)]
    gaps = np.array([_gaps(trial, policy)[places] for trial in trials])
    worst = gaps.max(axis=0)
    shown = {p: f"{gap:.1%} after {result.checkpoints[p]:,}" for gap, p in zip(worst, places, strict=True)}
    *first, last = shown.values()
    falls = bool((np.diff(gaps, axis=1) < 0).all())
    whose = f", on the worst of the {len(trials)}" if len(trials) > 1 else ""
    return Claim(
        f"The expected {'cost' if result.minimize else 'return'} of {_spoken(policy)} approaches the optimum"
        " as the number of episodes grows.",
        _verdict(falls and bool(worst[-1] <= _NEAR), trials, needs),
        f"Distance from the optimum{whose}: {', '.join(first)}{' and ' if first else ''}{last}"
        f" episode{'' if result.n_episodes == 1 else 's'}.",
        any_standin(trials),
    )


def outperforms(trials: Sequence[Trial], policy: str, other: str, *, within: int | None = None, needs: int) -> Claim:
    """Check that a policy has the smaller regret from some episode on, at the latest from `within` on.

    The paper: 'OMM outperforms the epsilon-greedy policy', in places with the number of episodes.
    """
    n_episodes = trials[0].result.n_episodes
    limit = n_episodes if within is None else within
    found = [trial.overtakes(policy, other) for trial in trials]
    is_true = all(n is not None and n <= limit for n in found)
    text = f"{_spoken(policy)} outperforms {other}" + (f" within {limit:,} episodes." if within is not None else ".")
    return Claim(text, _verdict(is_true, trials, needs), _when(trials, found, policy, other), any_standin(trials))


def consistently_outperforms(trials: Sequence[Trial], policy: str, other: str, *, needs: int) -> Claim:
    """Check that a policy has a smaller regret on every problem, and at most half of it on half of them.

    The paper: 'OMM consistently outperforms the epsilon-greedy policy, often by a large margin.'
    """
    ratios = np.array(
        [_ratio(regret_per_step(trial.result, other), regret_per_step(trial.result, policy)) for trial in trials]
    )
    n_better, n_far = int((ratios > 1).sum()), int((ratios >= _MARGIN).sum())
    least, most = (f"{ratio:.{0 if ratio >= 10 else 1}f}" for ratio in (ratios.min(), ratios.max()))
    return Claim(
        f"{_spoken(policy)} consistently outperforms {other}, often by a large margin.",
        _verdict(n_better == len(trials) and 2 * n_far >= len(trials), trials, needs),
        f"{other}'s regret is larger on {n_better} of {len(trials)}, and at least {_MARGIN:g} times as large on"
        f" {n_far} (half of them would do): {least} to {most} times.",
        any_standin(trials),
    )


def _when(trials: Sequence[Trial], found: list[int | None], policy: str, other: str) -> str:
    """The evidence: from which episode on a policy was ahead, or how far behind it ended."""
    n_episodes = trials[0].result.n_episodes
    if len(trials) > 1:
        names = [trial.dataset.name.removeprefix("rocketfuel-") for trial in trials]
        ahead = [f"{n:,} ({name})" for n, name in zip(found, names, strict=True) if n is not None]
        behind = [name for n, name in zip(found, names, strict=True) if n is None]
        parts = [f"ahead for good from episode {', '.join(ahead)}"] if ahead else []
        parts += [f"still behind at the end: {', '.join(behind)}"] if behind else []
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}; of {counted(n_episodes, 'episode')}."
    trial, when = trials[0], found[0]
    if when is not None:
        return f"Ahead for good from episode {when:,} on, of {n_episodes:,}{_range(trial, policy, other)}."
    ours, theirs = trial.regret_rate(policy), trial.regret_rate(other)
    still = (
        f"Still behind after {counted(n_episodes, 'episode')}:"
        f" regret {regret_per_step(trial.result, policy):.3g} per step"
        f" against {regret_per_step(trial.result, other):.3g}"
    )
    if ours >= theirs:
        return still + "."
    result = trial.result
    more = (result.regret[result.index(policy), -1] - result.regret[result.index(other), -1]) / (theirs - ours)
    return (
        f"{still}. But by now it is the better of the two, {ours:.3g} against {theirs:.3g} per step in the last"
        f" third; at that pace it would be ahead after some {float(f'{more:.2g}'):,.0f} episodes more."
    )


def _range(trial: Trial, policy: str, other: str) -> str:
    """When a policy may have been ahead for good, and when it surely was: two standard errors either way."""
    if trial.result.n_runs == 1:
        return ""
    first, last = (trial.overtakes(policy, other, n_errors) for n_errors in (-2.0, 2.0))
    until = "later" if last is None else f"{last:,}"
    return f" (within two standard errors: {first:,} to {until})"


def _gaps(trial: Trial, policy: str) -> FloatArray:
    """A policy's distance from the optimum at every checkpoint, as a share of the optimum."""
    result = trial.result
    return np.asarray(result.regret[result.index(policy)] / result.checkpoints / abs(result.optimal_value))


def _spoken(policy: str) -> str:
    """A policy's name in a sentence: 'OMM with scale 2' for 'OMM, scale 2'."""
    return policy.replace(", ", " with ")


def _ratio(theirs: float, ours: float) -> float:
    """How many times as large their regret is; infinite where ours is 0 and theirs is not."""
    return theirs / ours if ours > 0 else np.inf if theirs > 0 else 1.0


def _verdict(is_true: bool, trials: Sequence[Trial], needs: int) -> Verdict:
    """The verdict on a claim; runs shorter than the paper's decide nothing, whichever way they point."""
    if trials[0].result.n_episodes < needs:
        return "undecided"
    return "holds" if is_true else "does not hold"
