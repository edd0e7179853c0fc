"""Values of targets from logs: formulas by hand, and truth covered as often as intervals promise."""

import numpy as np
import pytest

from logs import play
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
