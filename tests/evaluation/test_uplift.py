"""Learner against control, looked at after every decision."""

import math

import numpy as np
import pytest

from logs import play
from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.evaluation._uplift import FIRST_LOOK, stitched
from matroid_bandits.exceptions import EvaluationError

LEARNING, LEVEL = np.linspace(0.6, 0.1, 20), np.full(20, 0.35)


def test_the_stitched_boundary_is_the_published_one():
    assert stitched(1e4, 0.025) == pytest.approx(419.6, abs=0.05)
    published = 1.7 * math.sqrt(1e4 * (math.log(math.log(2e4)) + 0.72 * math.log(5.2 / 0.025)))
    assert stitched(1e4, 0.025) == pytest.approx(published, rel=0.005)


def test_increments_by_hand():
    uplift = UpliftSequence(0.0, 4.0)
    assert math.isnan(uplift.look().value)
    uplift.add([3.0, 1.0, 2.0], [False, True, False], 0.25)
    first = 0.0 + (3.0 - 2.0) / 0.75  # both means start at the middle
    second = (3.0 + 2.0) / 2 - 2.0 - (1.0 - 2.0) / 0.25
    third = 2.5 - (1.0 + 2.0) / 2 + (2.0 - 2.5) / 0.75
    look = uplift.look()
    assert look.value == pytest.approx((first + second + third) / 3)
    assert (look.n_decisions, look.n_control) == (3, 1)
    assert look.sequence == (-math.inf, math.inf)  # too early
    assert look.exact[0] < look.single[0] < look.value < look.single[1] < look.exact[1]


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
    for name in ("sequence", "exact", "single"):
        assert tuple(getattr(trace, name)[-1]) == getattr(look, name)
    assert together.band() == (look.value, *look.sequence)


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
    # the same but for what the first values were compared with: the middle of the range
    assert wide.look().value == pytest.approx(whole.look().value, abs=0.02)
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
            ends = getattr(seen, kind)[FIRST_LOOK - 1 :]
            inside = (ends[:, 0] <= truth[FIRST_LOOK - 1 :, r]) & (truth[FIRST_LOOK - 1 :, r] <= ends[:, 1])
            n[kind] += not inside.all()
        n["better"] += seen.p_better[-1] < 0.025
        n["worse"] += seen.p_worse[-1] < 0.025
    return {kind: count / R for kind, count in n.items()}


def test_looking_every_day_misleads_by_ordinary_intervals_alone():
    """80 logs of 3,000 decisions without any difference; bounds of 1 in 10^3 around 5%."""
    found = missed(LEVEL, 3000, 80, seed=21)
    assert found["sequence"] <= 0.15
    assert found["exact"] <= 0.05
    assert found["better"] + found["worse"] <= 0.15
    assert found["single"] > 0.3  # so that the test can fail


def test_a_learner_that_learns_is_found_to():
    found = missed(LEARNING, 3000, 40, seed=22)
    assert found["sequence"] <= 0.175
    assert found["better"] > 0.9
    assert found["worse"] == 0.0


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
