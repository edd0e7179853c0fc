"""Learner against control, looked at after every decision."""

import math

import numpy as np
import pytest

from logs import play
from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.evaluation._uplift import ENOUGH, stitched
from matroid_bandits.exceptions import EvaluationError

LEARNING, LEVEL = np.linspace(0.6, 0.1, 20), np.full(20, 0.35)


def test_the_stitched_boundary_is_the_published_one():
    assert stitched(1e4, 0.025) == pytest.approx(419.6, abs=0.05)
    published = 1.7 * math.sqrt(1e4 * (math.log(math.log(2e4)) + 0.72 * math.log(5.2 / 0.025)))
    assert stitched(1e4, 0.025) == pytest.approx(published, rel=0.005)


def test_increments_by_hand():
    uplift = UpliftSequence(0.0, 4.0)
    assert uplift.look().value is None
    uplift.add([3.0, 1.0, 2.0], [False, True, False], 0.25)
    first = 0.0 + (3.0 - 0.0) / 0.75  # nothing is known
    second = (3.0 + 3.0) / 2 - 3.0 - (1.0 - 3.0) / 0.25  # both means start at that of both arms
    third = (3.0 + 2.0) / 2 - (1.0 + 2.0) / 2 + (2.0 - 2.5) / 0.75
    look = uplift.look()
    assert np.mean(look.exact) == pytest.approx((first + second + third) / 3)
    assert (look.n_decisions, look.n_control) == (3, 1)
    assert look.value is None  # too early
    assert look.sequence == look.single == (-math.inf, math.inf)


def test_no_value_before_either_arm_has_30_decisions_per_unit_of_kurtosis():
    uplift = UpliftSequence(0, 1)
    uplift.add([1.0] * 5 + [0.0] * 145, [False] * 150, 0.02)  # which once made the band (-0.58, -0.36)
    look = uplift.look()
    assert look.value is None
    assert look.sequence == look.single == (-math.inf, math.inf)
    rng = np.random.default_rng(1)
    values, arms = rng.gamma(0.5, 1.0, 3000), rng.random(3000) < 0.3
    uplift, known = UpliftSequence(-1.0, values.max()), []
    for n, (value, arm) in enumerate(zip(values, arms, strict=True), 1):
        uplift.add([value], [arm], 0.3)
        known.append(uplift.look().value is not None)
        if n % 100 == 0 or known[-2:] == [False, True]:
            enough = []
            for own in (values[:n][arms[:n]], values[:n][~arms[:n]]):
                apart = own - own.mean() if own.size else own
                enough.append(own.size and (apart**2).sum() ** 2 >= ENOUGH * (apart**4).sum() > 0.0)
            assert known[-1] == all(enough), n
    assert not known[49]
    assert known[-1]
    assert known.index(True) > 100
    look = uplift.look()
    assert look.sequence[0] < look.single[0] < look.value < look.single[1] < look.sequence[1]


def test_decisions_may_come_in_any_number_of_calls():
    rng = np.random.default_rng(3)
    values, arms = rng.random(500) * 2, rng.random(500) < 0.2
    together, apart = UpliftSequence(0.0, 2.0), UpliftSequence(0.0, 2.0)
    together.add(values, arms, 0.2)
    for part in np.split(np.arange(500), [1, 77, 300]):
        apart.add(values[part], arms[part], np.full(part.size, 0.2))
    assert together.look() == apart.look()
    trace = UpliftSequence(0.0, 2.0).trace(values, arms, 0.2)
    look = together.look()
    for name in ("n_decisions", "n_control", "value", "p_better", "p_worse"):
        assert getattr(trace, name)[-1] == getattr(look, name)
    assert math.isnan(trace.value[5])
    for name in ("sequence", "exact", "single"):
        assert tuple(getattr(trace, name)[-1]) == getattr(look, name)
    assert together.band() == look.sequence


def test_a_sequence_goes_on_from_its_form_and_in_a_wider_range():
    rng = np.random.default_rng(4)
    values, arms = rng.random(400), rng.random(400) < 0.3
    whole, narrow = UpliftSequence(-1.0, 2.0), UpliftSequence(0.0, 1.0)
    whole.add(values, arms, 0.3)
    narrow.add(values[:200], arms[:200], 0.3)
    wide = UpliftSequence.from_dict(narrow.to_dict())
    assert wide.look() == narrow.look()
    wide.widen(-1.0, 2.0)
    assert (wide.low, wide.high) == (-1.0, 2.0)
    wide.add(values[200:], arms[200:], 0.3)
    assert wide.look().value == pytest.approx(whole.look().value, rel=1e-12)
    with pytest.raises(EvaluationError, match="state of an uplift sequence"):
        UpliftSequence.from_dict(narrow.to_dict() | {"state": [0.0]})
    with pytest.raises(EvaluationError, match="form of an uplift sequence"):
        UpliftSequence.from_dict({"low": 0.0})


def missed(means, T, R, seed):
    """The share of logs whose interval missed the truth at some look, and of false alarms, by kind."""
    logs = play(means, 5, 0.05, T, R, seed)
    truth = np.cumsum(logs.uplift, axis=0) / np.arange(1, T + 1)[:, None]
    n = dict.fromkeys(("sequence", "exact", "single", "better", "worse"), 0)
    for r in range(R):
        seen = UpliftSequence(0.0, 5.0).trace(logs.weights[:, r].sum(axis=1), logs.is_held_out[:, r], 0.05)
        for kind in ("sequence", "exact", "single"):
            ends = getattr(seen, kind)
            inside = (ends[:, 0] <= truth[:, r]) & (truth[:, r] <= ends[:, 1])
            n[kind] += not inside.all()
        n["better"] += seen.p_better[-1] < 0.025
        n["worse"] += seen.p_worse[-1] < 0.025
    return {kind: count / R for kind, count in n.items()}


def test_looking_every_day_misleads_by_ordinary_intervals_alone():
    """40 logs of 10,000 decisions without any difference; bounds of 1 in 10^3 around 5%."""
    found = missed(LEVEL, 10_000, 40, seed=21)
    assert found["sequence"] <= 0.175
    assert found["exact"] <= 0.05
    assert found["better"] + found["worse"] <= 0.175
    assert found["single"] > 0.2  # so that the test can fail


def test_a_learner_that_learns_is_found_to():
    found = missed(LEARNING, 3000, 40, seed=22)
    assert found["sequence"] <= 0.175
    assert found["better"] > 0.9
    assert found["worse"] == 0.0


@pytest.mark.compiled
@pytest.mark.parametrize("rate", [0.03, 0.1, 0.4])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.5])
def test_rare_clicks_and_small_hold_outs_do_not_mislead(share, rate):
    """300 logs of 20,000 decisions without any difference: at most 5% + 3 standard errors ever exclude it.

    Arms that start in the middle of the range missed in 7 to 29% of the logs of 2 to 10%.
    """
    rng, n_logs, n_missed = np.random.default_rng([5, int(1000 * share), int(1000 * rate)]), 300, 0
    for _ in range(n_logs):
        values, arms = (rng.random(20_000) < rate).astype(float), rng.random(20_000) < share
        low, high = UpliftSequence(0.0, 1.0).trace(values, arms, share).sequence.T
        n_missed += bool(((low > 0.0) | (high < 0.0)).any())
    assert n_missed / n_logs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n_logs)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (([3.0], [False], 0.1), "expected values from 0 to 2, got 3.0"),
        (([math.nan], [False], 0.1), "expected values from 0 to 2, got nan"),
        (([1.0], [False], 0.0), "expected shares strictly between 0 and 1, got 0.0"),
        (([1.0, 2.0], [False], 0.1), r"got shapes \(2,\) and \(1,\)"),
    ],
)
def test_bad_decisions_are_refused_and_change_nothing(add, message):
    uplift = UpliftSequence(0.0, 2.0)
    with pytest.raises(EvaluationError, match=message):
        uplift.add(*add)
    assert uplift.look().n_decisions == 0


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 1.5}, {"planned": 0}, {"high": -1.0}])
def test_bad_settings(wrong):
    with pytest.raises(EvaluationError, match=f"expected {next(iter(wrong))} to"):
        UpliftSequence(**{"low": 0.0, "high": 1.0} | wrong)
