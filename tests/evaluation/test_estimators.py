"""Values of targets from logs: formulas by hand, and truth covered as often as intervals promise."""

import numpy as np
import pytest
from scipy import stats

from logs import play, play_assignments
from matroid_bandits.evaluation import Decisions, Target, estimate
from matroid_bandits.evaluation._estimators import METHODS
from matroid_bandits.exceptions import EvaluationError

MEANS = np.linspace(0.6, 0.1, 20)
TARGETS = {
    "best five": (np.arange(20) < 5) * 1.0,
    "middle five": ((np.arange(20) >= 8) & (np.arange(20) < 13)) * 1.0,
    "worst five": (np.arange(20) >= 15) * 1.0,
    "random set": np.full(20, 0.25),
}


def small(units=None, **changes):
    """Two decisions of two items each."""
    fields = {
        "decision": np.array([0, 0, 1, 1]),
        "weights": np.array([1.0, 0.5, 0.0, 2.0]),
        "propensities": np.array([0.5, 1.0, 0.25, 0.5]),
        "predictions": np.array([0.5, 0.5, 0.25, 1.0]),
        "is_held_out": np.array([False, True]),
        "units": units,
    }
    log = Decisions(**fields | changes)
    return log, Target(np.array([1.0, 0.0, 0.5, 1.0]), np.array([2.0, 1.5]), np.array([1.0, 1.25]))


def test_estimates_by_hand():
    log, target = small()
    # weights e / p: 2, 0, 2, 2
    iips = estimate(log, target, "iips")
    assert iips.value == pytest.approx((2.0 + 4.0) / 2)
    assert iips.error == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2))
    dr = estimate(log, target)
    assert dr.value == pytest.approx(np.mean([1.0 + 2 * 0.5, 1.25 + 2 * -0.25 + 2 * 1.0]))
    snips = estimate(log, target, "snips")
    assert snips.value == pytest.approx(6.0 / 6.0 * 1.75)
    assert (dr.n_decisions, dr.n_held_out, dr.n_units) == (2, 1, 2)
    assert dr.effective_size == pytest.approx(36 / 12)
    assert (dr.largest_weight, dr.least_propensity) == (2.0, 0.25)
    assert dr.largest_share == pytest.approx(1 / 3)
    assert any("3 plays' worth" in warning for warning in dr.warnings)
    assert any("one play carries 33%" in warning for warning in dr.warnings)


def test_units_are_added_up_before_the_error_is_taken():
    log, target = small(units=np.array([7, 7]))
    assert estimate(log, target).error == np.inf  # one unit has no spread
    apart = small(units=np.array([3, 9]))[0]
    assert estimate(apart, target).error == pytest.approx(estimate(small()[0], target).error)


def test_what_a_log_cannot_answer_is_refused():
    log, target = small(propensities=np.array([0.5, 1.0, 0.0, 0.5]))
    with pytest.raises(EvaluationError, match="expected positive propensities"):
        estimate(log, target)
    none = Decisions(*(np.zeros(0, kind) for kind in (int, float, float, float, bool)))
    with pytest.raises(EvaluationError, match="at least one settled decision"):
        estimate(none, Target(np.zeros(0), np.zeros(0), np.zeros(0)))
    with pytest.raises(EvaluationError, match="dr, snips, iips; got 'ipw'"):
        estimate(log, target, "ipw")


def test_wrong_propensities_are_noticed():
    log = play(MEANS, 5, 0.1, 1500, 1, seed=2)
    log.propensities[log.propensities > 0.5] = 0.7
    found = estimate(log.decisions(0), log.target(0, TARGETS["best five"]))
    assert abs(found.balance) > 4
    assert any("propensities cannot be those of this log" in warning for warning in found.warnings)


def test_intervals_cover_the_truth_as_often_as_they_say():
    """120 logs of 2,000 decisions, four targets: at 95%, binomial bounds of 1 in 10^4 around the nominal share."""
    R = 120
    logs = play(MEANS, 5, 0.1, 2000, R, seed=11)
    decisions = [logs.decisions(r) for r in range(R)]
    pooled = {method: [] for method in METHODS}
    for inclusions in TARGETS.values():
        truth = inclusions @ MEANS
        for method in METHODS:
            found = [estimate(decisions[r], logs.target(r, inclusions), method) for r in range(R)]
            values, errors = (np.array([getattr(each, name) for each in found]) for name in ("value", "error"))
            assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / np.sqrt(R)
            covered = [low <= truth <= high for low, high in (each.interval() for each in found)]
            pooled[method].append(np.mean(covered))
            assert np.mean(covered) > 0.86  # 103 of 120: less has a chance below 10^-4 at 95%
            assert errors.mean() == pytest.approx(values.std(ddof=1), rel=0.3)
    for shares in pooled.values():
        assert 0.90 < np.mean(shares) < 0.99


def test_visits_of_one_visitor_are_no_news():
    """50 visits each with one mood: clustered errors cover, those by decision do not."""
    rng = np.random.default_rng(5)
    n_visitors, n_visits, hits = 60, 50, {True: 0, False: 0}
    for _ in range(100):
        mood = np.repeat(rng.normal(0.0, 0.3, n_visitors), n_visits)
        T = mood.size
        x = 0.5 + mood + rng.normal(0.0, 0.1, T)
        ones = np.ones(T)
        for clustered in (True, False):
            units = np.repeat(np.arange(n_visitors), n_visits) if clustered else None
            log = Decisions(np.arange(T), x, ones, np.zeros(T), np.zeros(T, bool), units)
            low, high = estimate(log, Target(ones, ones, np.zeros(T)), "iips").interval()
            hits[clustered] += low <= 0.5 <= high
    assert hits[True] >= 87  # of 100 at 95%, less has a chance of about 10^-3
    assert hits[False] < 40


@pytest.mark.parametrize("chances", [(0.02, 0.1), (0.02, 0.3), (0.1, 0.6)], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_short_logs_have_an_interval_that_covers_or_none(chances, method):
    """160 decisions of an assignment, a fifth of them held out; ``science/short_logs.py`` plays 1,000 logs."""
    R = 200
    log = play_assignments(4, 160, R, seed=3, low=chances[0], high=chances[1])
    targets = np.eye(16)[log.sets].sum(axis=1)
    worth = log.means @ targets.T
    is_right = np.zeros((3, R), bool)
    n_refused = 0
    for r in range(R):
        decisions = log.decisions(r)
        for k, e in enumerate((targets[worth[r].argmax()], targets[worth[r].argmin()], np.full(16, 0.25))):
            found = estimate(decisions, log.target(r, e), method)
            is_right[k, r] = found.low <= log.means[r] @ e <= found.high
            if found.freedom == 0.0:
                n_refused += 1
                assert (found.low, found.high) == (-np.inf, np.inf)
                assert any("an interval needs" in warning for warning in found.warnings)
    # at 92% each of nine cells is below this in one of 10^4 tries
    assert (is_right.mean(axis=1) > 0.92 - 3.8 * np.sqrt(0.92 * 0.08 / R)).all(), is_right.mean(axis=1)
    assert n_refused < R if chances[1] > 0.5 else n_refused > R / 4


def test_intervals_by_hand():
    """Student's t with as many degrees of freedom as units over their kurtosis, from a size on."""
    x = np.array([0.0, 1.0] * 20 + [2.0])
    ones = np.ones(41)
    log = Decisions(np.arange(41), x, ones, np.zeros(41), ones > 0)
    found = estimate(log, Target(ones, ones, ones), "iips")
    centred = x - x.mean()
    assert found.freedom == pytest.approx((centred**2).sum() ** 2 / (centred**4).sum())
    half = stats.t.ppf(0.975, found.freedom) * x.std(ddof=1) / np.sqrt(41)
    assert (found.low, found.high) == pytest.approx((x.mean() - half, x.mean() + half))
    assert found.interval(0.8)[1] == pytest.approx(x.mean() + stats.t.ppf(0.9, found.freedom) * found.error)
    assert found.interval(1.0) == (-np.inf, np.inf)
    rare = np.zeros(41)
    rare[0] = 1.0  # of kurtosis 39, and 390 plays would be needed
    found = estimate(Decisions(np.arange(41), rare, ones, np.zeros(41), ones > 0), Target(ones, ones, ones), "iips")
    assert (found.freedom, found.low, found.high) == (0.0, -np.inf, np.inf)
    needed = int(np.ceil(10 * stats.kurtosis(rare, fisher=False)))
    assert f"41 plays' worth of information about this target; an interval needs {needed} of" in found.warnings[0]
