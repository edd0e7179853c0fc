"""Results put together: more runs of the same policies, or more policies on the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray
from matroid_bandits._util.text import listed, shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.identification import Endings

if TYPE_CHECKING:
    from matroid_bandits.simulation._result import SimulationResult

#: Runs by their addresses: a seed, the number of the first run, and how many.
RunRange = tuple[int, int, int]

#: What two results must have in common, with the words of an error.
_COMMON = {"n_episodes": "n_episodes", "start": "start", "minimize": "minimize", "until": "the stopping rule"}


def join(one: SimulationResult, two: SimulationResult) -> SimulationResult:
    """Join two results that have their policies in common, or else their runs."""
    _check_common(one, two)
    if set(one.policies) == set(two.policies):
        return _join_runs(one, _reordered(two, one.policies))
    again = [name for name in two.policies if name in one.policies]
    if again:
        raise SimulationError(
            f"expected the same policies in both results, or none in both; got {listed(again)} in both, and others "
            "in one of them"
        )
    return _join_policies(one, two)


def _check_common(one: SimulationResult, two: SimulationResult) -> None:
    for result in (one, two):
        if result.world_runs is not None:
            raise SimulationError(
                "expected results of one problem each, got one over drawn worlds: sweep(..., store=...) adds worlds, "
                "runs and policies to what was played"
            )
    for name, words in _COMMON.items():
        mine, theirs = getattr(one, name), getattr(two, name)
        if mine != theirs:
            raise SimulationError(f"expected results with the same {words}, got {shown(mine)} and {shown(theirs)}")
    if not np.array_equal(one.checkpoints, two.checkpoints):
        raise SimulationError("expected results with the same checkpoints, got others")
    n_items, others = one.choices.shape[1], two.choices.shape[1]
    is_other = one.problem_key and two.problem_key and one.problem_key != two.problem_key
    if n_items != others or is_other or one.is_regret_known != two.is_regret_known:
        raise SimulationError("expected results of the same problem, got results of two that differ")


def _join_policies(one: SimulationResult, two: SimulationResult) -> SimulationResult:
    if one.run_ranges != two.run_ranges:
        raise SimulationError(
            "expected the same runs in results of different policies, so that all meet the same weights; got "
            f"{_described(one.run_ranges)} and {_described(two.run_ranges)}"
        )
    if not np.array_equal(one.optimal_value, two.optimal_value, equal_nan=True):
        raise SimulationError("expected results of the same problem, got two optima in the same runs")

    def stack(name: str) -> Any:
        """The rows of both; None where one has none."""
        mine, theirs = getattr(one, name), getattr(two, name)
        return None if mine is None or theirs is None else np.concatenate([mine, theirs])

    def counts(name: str, like: str) -> AnyArray | None:
        """Alarms, 0 for policies that have no detector."""
        mine, theirs = getattr(one, name), getattr(two, name)
        if mine is None and theirs is None:
            return None
        dtype = (mine if theirs is None else theirs).dtype
        return np.concatenate(
            [np.zeros(getattr(r, like).shape, dtype) if v is None else v for r, v in ((one, mine), (two, theirs))]
        )

    rows = ("returns", "returns_se", "regret", "regret_se", "final_returns", "final_regret", "choices", "seconds")
    return replace(
        _about(one, two),
        policies=one.policies + two.policies,
        **{name: stack(name) for name in (*rows, "run_returns", "run_regret")},
        alarms=counts("alarms", "regret"),
        item_alarms=counts("item_alarms", "choices"),
        engine=None if one.engine is None or two.engine is None else one.engine + two.engine,
        policy_keys=None if one.policy_keys is None or two.policy_keys is None else one.policy_keys + two.policy_keys,
        endings=_endings(one, two, axis=0),
    )


def _join_runs(one: SimulationResult, two: SimulationResult) -> SimulationResult:
    for p, name in enumerate(one.policies):
        mine, theirs = (None if r.policy_keys is None else r.policy_keys[p] for r in (one, two))
        if mine and theirs and mine != theirs:
            raise SimulationError(f"expected the same policies under the same names, got two that differ as {name!r}")
    shared = _overlap(one.run_ranges, two.run_ranges)
    if shared:
        raise SimulationError(f"expected runs that are not in both results, got {shared} in both")
    order, ranges = _in_order([*one.run_ranges, *two.run_ranges])
    n_one, n_two, n = one.n_runs, two.n_runs, one.n_runs + two.n_runs

    def both(name: str) -> AnyArray | None:
        """The runs of both, in the order of their addresses."""
        mine, theirs = getattr(one, name), getattr(two, name)
        return None if mine is None or theirs is None else np.concatenate([mine, theirs], axis=1)[:, order]

    def weighted(mine: Any, theirs: Any) -> Any:
        """A mean over all runs, exactly the same where both are the same."""
        return np.where(mine == theirs, mine, (n_one * mine + n_two * theirs) / n)

    curves: dict[str, Any] = {}
    for name in ("returns", "regret"):
        kept, final = both(f"run_{name}"), both(f"final_{name}")
        assert final is not None
        means, errors = _curves(kept) if kept is not None else _pooled(one, two, name)
        curves |= {name: means, f"{name}_se": errors, f"run_{name}": kept, f"final_{name}": final}
    alarms, item_alarms = None, None
    if one.alarms is not None and two.alarms is not None:
        assert one.item_alarms is not None
        assert two.item_alarms is not None
        alarms = (np.rint(one.alarms * n_one) + np.rint(two.alarms * n_two)) / n  # whole numbers of alarms
        item_alarms = one.item_alarms + two.item_alarms
    optimum = None if one.optimum is None or two.optimum is None else weighted(one.optimum, two.optimum)
    optimal = weighted(one.optimal_value, two.optimal_value) if optimum is None else optimum[-1]
    return replace(
        _about(one, two),
        **curves,
        choices=one.choices + two.choices,
        n_runs=n,
        seed=ranges[0][0],
        run_ranges=ranges,
        optimal_value=float(optimal),
        optimum=optimum,
        alarms=alarms,
        item_alarms=item_alarms,
        seconds=None if one.seconds is None or two.seconds is None else one.seconds + two.seconds,
        engine=None
        if one.engine is None or two.engine is None
        else tuple(_merged(a, b) for a, b in zip(one.engine, two.engine, strict=True)),
        endings=_endings(one, two, axis=1, order=order),
    )


def _about(one: SimulationResult, two: SimulationResult) -> SimulationResult:
    """The first result, with what is said of both: how long they took, where, and with which versions."""
    return replace(
        one,
        wall_time=one.wall_time + two.wall_time,
        versions={
            name: _merged(one.versions.get(name, ""), two.versions.get(name, ""))
            for name in {**one.versions, **two.versions}
        },
        device=one.device if one.device == two.device else "cpu",
        no_bounds=one.no_bounds or two.no_bounds,
        no_regret=one.no_regret or two.no_regret,
        problem_key=one.problem_key or two.problem_key,
    )


def _merged(one: str, two: str) -> str:
    """Both of two words, each once: ``"0.1.0"`` and ``"0.2.0"`` are ``"0.1.0 and 0.2.0"``."""
    return " and ".join(sorted({*one.split(" and "), *two.split(" and ")} - {""}))


def _endings(
    one: SimulationResult, two: SimulationResult, axis: int, order: AnyArray | None = None
) -> Endings | None:
    if one.endings is None or two.endings is None:
        return None
    both = [
        np.concatenate([getattr(one.endings, name), getattr(two.endings, name)], axis=axis)
        for name in vars(one.endings)
    ]
    return Endings(*(both if order is None else (array[:, order] for array in both)))


def _curves(runs: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard errors over the runs of curves (P, R, C), as a simulation computes them."""
    return runs.mean(axis=1), runs.std(axis=1, ddof=1) / np.sqrt(runs.shape[1])


def _pooled(one: SimulationResult, two: SimulationResult, name: str) -> tuple[FloatArray, FloatArray]:
    """Means and standard errors over all runs, from those of each result (Chan, Golub and LeVeque, 1983)."""
    (a, b), n = (one.n_runs, two.n_runs), one.n_runs + two.n_runs
    mine, theirs = getattr(one, name), getattr(two, name)
    means: FloatArray = (a * mine + b * theirs) / n
    squares = np.zeros_like(means)
    for each in (one, two):
        if each.n_runs > 1:
            squares += getattr(each, f"{name}_se") ** 2 * (each.n_runs * (each.n_runs - 1))
    squares += (mine - theirs) ** 2 * (a * b / n)
    errors: FloatArray = np.sqrt(squares / (n - 1)) / np.sqrt(n)
    return means, errors


def _reordered(result: SimulationResult, names: Sequence[str]) -> SimulationResult:
    """A result with its policies in another order."""
    if result.policies == tuple(names):
        return result
    rows = np.array([result.index(name) for name in names])
    n_rows = len(rows)

    def take(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value[rows]
        return tuple(value[p] for p in rows) if isinstance(value, tuple) and len(value) == n_rows else value

    by_policy = (
        "policies", "returns", "returns_se", "regret", "regret_se", "final_returns", "final_regret", "choices",
        "run_returns", "run_regret", "alarms", "item_alarms", "seconds", "engine", "policy_keys",
    )  # fmt: skip
    endings = None if result.endings is None else Endings(*(array[rows] for array in vars(result.endings).values()))
    return replace(result, **{name: take(getattr(result, name)) for name in by_policy}, endings=endings)


def _overlap(mine: Sequence[RunRange], theirs: Sequence[RunRange]) -> str:
    """The first runs that are in both, in words; empty where there are none."""
    for seed, first, n in mine:
        for other, start, m in theirs:
            lo, hi = max(first, start), min(first + n, start + m)
            if seed == other and lo < hi:
                return _described([(seed, lo, hi - lo)])
    return ""


def _in_order(ranges: Sequence[RunRange]) -> tuple[AnyArray, tuple[RunRange, ...]]:
    """The order of all runs by seed, seeds as they come, and number; and their ranges in that order."""
    seeds = list(dict.fromkeys(seed for seed, _, _ in ranges))
    starts = np.cumsum([0, *(n for _, _, n in ranges)])
    places = sorted(range(len(ranges)), key=lambda i: (seeds.index(ranges[i][0]), ranges[i][1]))
    order = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in places])
    return order, merged_ranges(ranges[i] for i in places)


def merged_ranges(ranges: Any) -> tuple[RunRange, ...]:
    """Ranges of runs, those that follow each other made one."""
    found: list[RunRange] = []
    for seed, first, n in ranges:
        if found and found[-1][0] == seed and sum(found[-1][1:]) == first:
            found[-1] = seed, found[-1][1], found[-1][2] + n
        else:
            found.append((seed, first, n))
    return tuple(found)


def part_of(ranges: Sequence[RunRange], runs: slice) -> tuple[RunRange, ...]:
    """The addresses of some of the runs."""
    each = [(seed, run, 1) for seed, first, n in ranges for run in range(first, first + n)]
    return merged_ranges(each[runs])


def _described(ranges: Sequence[RunRange]) -> str:
    """Ranges of runs in words."""
    words = [
        f"run {first} of seed {seed}" if n == 1 else f"runs {first} to {first + n - 1} of seed {seed}"
        for seed, first, n in ranges
    ]
    return " and ".join(words)


def seeds_of(ranges: Sequence[RunRange]) -> str:
    """The seeds of runs, and where runs begin, for the line that says what was played."""
    first_ones = [f"seed {seed} from run {first}" if first else f"seed {seed}" for seed, first, _ in ranges[:3]]
    more = [f"{len(ranges) - 3} more"] if len(ranges) > 3 else []
    return " and ".join([*first_ones, *more])
