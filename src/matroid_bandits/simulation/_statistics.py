"""Statistics of runs: intervals, quantiles, tails, paired tests of several policies at once, worlds and runs.

Plain functions over arrays of one number per run (or per world); results and sweeps call them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from matroid_bandits._typing import ArrayLike, FloatArray
from matroid_bandits._util.checks import as_number
from matroid_bandits._util.student import t_quantile, t_tail
from matroid_bandits._util.text import number, printable
from matroid_bandits.exceptions import SimulationError

#: How an interval is made.
Method = Literal["t", "bootstrap"]

#: Of how many resamples a bootstrap interval is made.
_N_RESAMPLES = 4_000

#: The squared skewness times this is the number of runs from which on Student's intervals of 95% miss at most about
#: 6% (Cochran's rule).
_COCHRAN = 25.0

#: A few runs dominate the mean where the share `_FEW` of runs, those farthest from the median, has more than the
#: share `_DOMINATED` of the sum of all distances from the median; in a normal sample they have 0.15.
_FEW, _DOMINATED = 0.05, 0.25


class Interval(NamedTuple):
    """A mean over runs and its confidence interval.

    Attributes
    ----------
    problem, policy : str
        Whose, and on which problem; the problem is empty for a single simulation.
    mean, low, high : float
        The mean, and the ends of the interval; NaN for a single run.

    Examples
    --------
    >>> Interval("ads", "OMM", mean=3.0, low=2.5, high=3.5).low
    2.5
    """

    problem: str
    policy: str
    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """Paired difference of regret between two policies on a problem, with its interval and p value.

    Attributes
    ----------
    problem, policy, baseline : str
        Whose regret, less whose.
    mean : float
        The mean over runs of the difference after the last episode; negative where `policy` is better.
    low, high : float
        The ends of its confidence interval; NaN for a single run.
    se : float
        Its standard error; NaN for a single run.
    p_value : float
        The chance of a mean at least this far from 0 where there is no difference: a paired t test, on its own.
    p_holm : float
        The same with all differences of the call in mind (Holm): to call those below 0.05 different is wrong at all
        in at most one table of twenty.

    Examples
    --------
    >>> Difference("ads", "KLOSM", "OMM", mean=-3.0, low=-4.0, high=-2.0).is_clear
    True
    """

    problem: str
    policy: str
    baseline: str
    mean: float
    low: float
    high: float
    se: float = math.nan
    p_value: float = math.nan
    p_holm: float = math.nan

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0, so that one policy is significantly better."""
        return self.low > 0.0 or self.high < 0.0


class Parts(NamedTuple):
    """Variance of a policy's regret over random problems, split into variance between problems and between runs.

    Attributes
    ----------
    problem, policy : str
        On worlds of which law, and whose regret.
    mean, se : float
        The mean over worlds, and its standard error, in which both parts are.
    worlds, runs : float
        The standard deviation between worlds of their expected regrets, and that between runs of one world.
    n_worlds, n_runs : int
        How many worlds, and how many runs of each.

    Examples
    --------
    >>> Parts("blocks", "OMM", 10.0, 1.0, worlds=4.0, runs=3.0, n_worlds=20, n_runs=10).share
    0.64
    """

    problem: str
    policy: str
    mean: float
    se: float
    worlds: float
    runs: float
    n_worlds: int
    n_runs: int

    @property
    def share(self) -> float:
        """Share of a run's variance that is due to the problem, from 0 to 1."""
        total = self.worlds**2 + self.runs**2
        return self.worlds**2 / total if total > 0.0 else math.nan


def interval(values: FloatArray, method: Method = "t", level: float = 0.95) -> tuple[float, float]:
    """A confidence interval of the mean of independent values: Student's t, or a bootstrap that follows skewness."""
    level = check_level(level)
    if method not in ("t", "bootstrap"):
        raise SimulationError(f'expected method to be "t" or "bootstrap", got {method!r}')
    n, mean = values.size, float(values.mean())
    if n == 1:
        return math.nan, math.nan
    if method == "bootstrap":
        return _bootstrap(values, level)
    half = t_quantile(0.5 + level / 2.0, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return mean - half, mean + half


def _bootstrap(values: FloatArray, level: float) -> tuple[float, float]:
    n, mean, normal = values.size, values.mean(), NormalDist()
    centred = values - mean
    spread = float((centred**2).sum())
    if not spread > 0.0 or not math.isfinite(spread):
        return float(mean), float(mean)
    rng = np.random.default_rng(0)
    means = np.sort(np.concatenate([_resampled(centred, rng, k) for k in _chunks(n)]))
    below = (float((means < 0.0).mean()) + float((means <= 0.0).mean())) / 2.0
    bias = normal.inv_cdf(min(max(below, 1.0 / _N_RESAMPLES), 1.0 - 1.0 / _N_RESAMPLES))
    pull = float((centred**3).sum()) / (6.0 * spread**1.5)  # the acceleration, from the jackknife of a mean
    ends = []
    for p in (0.5 - level / 2.0, 0.5 + level / 2.0):
        z = bias + normal.inv_cdf(p)
        ends.append(float(np.quantile(means, normal.cdf(bias + z / (1.0 - pull * z)))) + float(mean))
    return ends[0], ends[1]


def _chunks(n: int) -> list[int]:
    """Resamples at a time, so that their indices take some megabytes."""
    size = max(1, 2**20 // n)
    return [size] * (_N_RESAMPLES // size) + ([_N_RESAMPLES % size] if _N_RESAMPLES % size else [])


def _resampled(values: FloatArray, rng: np.random.Generator, n_resamples: int) -> FloatArray:
    means: FloatArray = values[rng.integers(0, values.size, (n_resamples, values.size))].mean(axis=1)
    return means


def difference(problem: str, policy: str, baseline: str, values: FloatArray, level: float) -> Difference:
    """The mean of a difference over runs, its Student's t interval, and the paired t test, without Holm's."""
    mean, n = float(values.mean()), values.size
    if n == 1:
        return Difference(problem, policy, baseline, mean, math.nan, math.nan)
    se = float(values.std(ddof=1)) / math.sqrt(n)
    half = t_quantile(0.5 + level / 2.0, n - 1) * se
    p = (
        math.nan
        if math.isnan(mean)
        else min(1.0, 2.0 * t_tail(abs(mean) / se, n - 1))
        if se > 0.0
        else float(mean == 0.0)
    )
    return Difference(problem, policy, baseline, mean, mean - half, mean + half, se, p)


def with_holm(differences: Sequence[Difference]) -> list[Difference]:
    """Differences with `p_holm`: of m, the i-th smallest p value times m + 1 - i, never less than those before it."""
    p_holm = holm([each.p_value for each in differences])
    return [each._replace(p_holm=p) for each, p in zip(differences, p_holm, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p values (1979), valid under any dependence; NaN stays NaN and is not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [math.nan] * len(p_values)
    known = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[place] = least
    return adjusted


def skewness(values: FloatArray) -> float:
    """The adjusted sample skewness G1; 0 where all values are equal, NaN of fewer than three."""
    n = values.size
    if n < 3:
        return math.nan
    centred = values - values.mean()
    second = float((centred**2).mean())
    if second <= (1e-12 * float(np.abs(values).max())) ** 2:
        return 0.0
    return float(math.sqrt(n * (n - 1)) / (n - 2) * (centred**3).mean() / second**1.5)


def enough_runs(values: FloatArray) -> int:
    """Return how many runs make ± reliable where a few runs dominate the mean, 25 times the squared skewness, else 0.

    A few runs dominate where the 5% of runs that are farthest from the median have more than a quarter of the sum of
    all distances from it; where 5% is not a whole number, the last of them counts in part. The number of runs is
    Cochran's, for Student's intervals of 95%. A tail that is too rare to be in these runs cannot be seen by any rule.

    Examples
    --------
    >>> enough_runs(np.array([1.0] * 19 + [100.0])), enough_runs(np.arange(20.0))
    (500, 0)
    """
    n, skew = values.size, skewness(values)
    if n < 3 or not math.isfinite(skew):
        return 0
    distances = np.sort(np.abs(values - np.median(values)))[::-1]
    whole, rest = divmod(_FEW * n, 1.0)
    largest = distances[: int(whole)].sum() + rest * distances[int(whole)]
    is_dominated = largest > _DOMINATED * distances.sum()
    return math.ceil(_COCHRAN * skew * skew - 1e-9) if is_dominated else 0


def tail_warning(policy: str, values: FloatArray, what: str = "regret", unit: str = "runs") -> str:
    """What is to be said where a few values dominate the mean; empty where they do not."""
    needed = enough_runs(values)
    if not needed:
        return ""
    median, mean, largest = (number(float(each), ".4g") for each in (np.median(values), values.mean(), values.max()))
    is_worth_saying = needed >= 2 * values.size
    more = f"; some {float(f'{needed:.2g}'):,.0f} {unit} would be enough for ±" if is_worth_saying else ""
    return (
        f"{printable(policy)} is skewed: a few {unit} dominate the mean; see quantiles ({what} of {values.size:,} "
        f"{unit}: median {median}, mean {mean}, largest {largest}{more})."
    )


def quantiles(values: FloatArray, probabilities: ArrayLike) -> FloatArray:
    """The quantiles of each row, shape (..., n)."""
    try:
        chosen = np.asarray(probabilities, np.float64).reshape(-1)
    except (TypeError, ValueError):
        chosen = np.array([math.nan])
    if not ((chosen >= 0.0) & (chosen <= 1.0)).all():
        raise SimulationError(f"expected probabilities in [0, 1], got {probabilities!r}")
    return np.moveaxis(np.quantile(values, chosen, axis=-1), 0, -1)


def parts(problem: str, policy: str, values: FloatArray) -> Parts:
    """The variance of values (W, R) split into worlds and runs, as one-way analysis of variance has it."""
    n_worlds, n_runs = values.shape
    means = values.mean(axis=1)
    within = float(values.var(axis=1, ddof=1).mean()) if n_runs > 1 else math.nan
    between = float(means.var(ddof=1)) if n_worlds > 1 else math.nan
    return Parts(
        problem,
        policy,
        float(means.mean()),
        math.sqrt(between / n_worlds),
        math.sqrt(max(0.0, between - within / n_runs)) if n_runs > 1 else math.nan,
        math.sqrt(within),
        n_worlds,
        n_runs,
    )


def check_level(level: float) -> float:
    """The confidence of an interval, checked."""
    return as_number("level", level, 1e-6, 1.0 - 1e-6, error=SimulationError)
