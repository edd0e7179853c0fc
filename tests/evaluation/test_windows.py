"""The headline of an uplift: averages per decision in windows, their intervals, and what is said of them."""

import base64
import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.evaluation import UpliftSums, evaluate
from matroid_bandits.evaluation._windows import _joined


def summed(n, clicks, unit="visitor"):
    """Sums of clicks (2, 256), by arm and group, on one day."""
    arms = []
    for total, s in zip(n.sum(axis=1), clicks.sum(axis=1), strict=True):
        p = s / total
        spread = total * p * (1 - p)
        arms.append([total, s, spread, spread * (1 - 2 * p), spread * (1 - 3 * p * (1 - p)), total, 0.0])
    packed = base64.b64encode(np.stack([n, clicks], axis=1).astype("<f8").tobytes()).decode()
    form = UpliftSums(unit).to_dict()
    return UpliftSums.from_dict(form | {"days": [[0, *arms, packed]]})


@pytest.mark.parametrize(("n_visitors", "share"), [(2_000, 0.15), (20_000, 0.05), (20_000, 0.15)])
def test_intervals_cover_where_visitors_return(n_visitors, share):
    """600 logs of visitors with lasting tastes and some 4 visits each: 95% +- 3 standard errors are covered."""
    rng, n_logs = np.random.default_rng([3, n_visitors, int(100 * share)]), 600
    n_known = n_absolute = n_relative = 0
    for _ in range(n_logs):
        visits = rng.poisson(rng.gamma(0.7, 6.0, n_visitors))
        arm = (rng.random(n_visitors) < share).astype(int)
        clicks = rng.binomial(visits, np.minimum(np.where(arm, 0.04, 0.06) * rng.gamma(1.0, 1.0, n_visitors), 1.0))
        place = 256 * arm + rng.integers(0, 256, n_visitors)
        n, s = (np.bincount(place, each, 512).reshape(2, 256) for each in (visits, clicks))
        window = summed(n, s).summary(0).windows["7d"]
        if window.value is None:  # too few clicks of the control
            continue
        n_known += 1
        n_absolute += window.low <= 0.02 <= window.high
        n_relative += window.relative_low <= 0.5 <= window.relative_high
    assert n_known > 0.98 * n_logs
    for covered in (n_absolute, n_relative):
        assert abs(covered / n_known - 0.95) <= 3 * math.sqrt(0.05 * 0.95 / n_logs)


def test_decisions_that_stand_alone_by_the_definitions():
    rng, sums, books = np.random.default_rng(4), UpliftSums(), {False: [], True: []}
    for _ in range(3000):
        is_control = bool(rng.random() < 0.3)
        books[is_control].append(rng.gamma(2.0, 1.0) + (0.0 if is_control else 0.5))
        sums.add(3, books[is_control][-1], is_control)
    learner, control = np.array(books[False]), np.array(books[True])
    window = sums.summary(3).windows["28d"]
    error = math.sqrt(learner.var(ddof=1) / learner.size + control.var(ddof=1) / control.size)
    assert window.value == pytest.approx(learner.mean() - control.mean())
    assert window.high - window.low == pytest.approx(2 * 1.959964 * error)
    squares = [(each.std(ddof=1) / each.mean()) ** 2 / each.size for each in (learner, control)]
    ratio = learner.mean() / control.mean()
    assert window.relative_high == pytest.approx(ratio * math.exp(1.959964 * math.sqrt(sum(squares))) - 1)
    assert sums.summary(3 + 7).windows["7d"].value is None  # asked before it
    assert sums.summary(3 + 7).headline == "28d"


def test_moments_are_those_of_the_values_however_days_are_joined():
    rng, sums = np.random.default_rng(5), UpliftSums()
    values = 1000.0 + rng.gamma(0.5, 1.0, 3000)  # far from 0, where powers of values would lose their digits
    for k, value in enumerate(values):
        sums.add(k // 20, value, k % 3 == 0)
    arms = [0.0] * 7, [0.0] * 7
    for each in (sums._older, *sums._days.values()):
        arms = tuple(_joined(a, b) for a, b in zip(arms, each.arms, strict=True))
    assert len(sums._days) == 35
    for arm, own in zip(arms, (values[np.arange(3000) % 3 != 0], values[::3]), strict=True):
        apart = own - own.mean()
        expected = [own.size, own.sum(), *((apart**k).sum() for k in (2, 3, 4))]
        assert arm[:5] == pytest.approx(expected, rel=1e-8)


def test_thirty_groups_need_a_decision_of_the_control():
    rng, sums = np.random.default_rng(6), UpliftSums("visitor")
    for k in range(4000):
        is_control = k % 4 == 0
        sums.add(0, float(rng.random() < 0.5), is_control, unit=k % 29 if is_control else k % 256)
    window = sums.summary(0).windows["7d"]
    assert (window.value, window.missing) == (None, 1)
    assert window.sentence == (
        "Not known yet in the last 7 days: 1 more group of values of visitor of the control is missing."
    )
    sums.add(0, 1.0, True, unit=29)
    assert sums.summary(0).windows["7d"].value is not None


def test_no_relative_uplift_over_an_average_that_is_not_positive():
    rng, sums = np.random.default_rng(7), UpliftSums()
    for k in range(4000):
        sums.add(0, rng.normal(0.5 if k % 2 else -0.1), k % 2 == 0)
    summary = sums.summary(0)
    window = summary.window
    assert window.control < 0 < window.learner
    assert window.relative is None
    ends = (f"{x:+.3g}" for x in (window.value, window.low, window.high))
    assert summary.sentence.startswith("{} (95%: {} to {}) per decision in the last 7 days; about ".format(*ends))


def test_a_worse_learner_in_words():
    rng, sums = np.random.default_rng(8), UpliftSums()
    for k in range(4000):
        sums.add(0, float(rng.random() < (0.2 if k % 2 else 0.4)), k % 2 == 0)
    summary = sums.summary(0)
    assert summary.window.high < 0.0
    value, earned = summary.window.value, summary.earned
    assert f": {-value:.3g} less per decision; about {-earned:,.0f} lost so far;" in summary.sentence
    assert f"the hold-out earned about {-summary.cost:,.0f}." in summary.sentence


def test_an_average_of_zero_difference_is_a_headline_too():
    sums = UpliftSums()
    for k in range(400):
        sums.add(0, float(k // 2 % 2), k % 2 == 0)
    assert sums.summary(0).window.value == 0.0
    assert sums.summary(0).headline == "7d"


def test_a_log_without_a_clock_has_one_window():
    events, rng = [], np.random.default_rng(9)
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0, holdout=0.5, record=events.append)
    for _ in range(400):
        decision = learner.ask()
        learner.tell(decision, (rng.random(1) < 0.3 + 0.4 * decision.items).astype(float))
    uplift = evaluate(events, {}).uplift
    assert [*uplift.windows] == ["start"]
    assert "since the start" in uplift.sentence
    assert uplift.points == ()
