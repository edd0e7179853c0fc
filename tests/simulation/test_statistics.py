"""Statistics of runs against SciPy and against what they promise: coverage, errors in families of tests, tails."""

import math

import numpy as np
import pytest
from scipy import stats

import matroid_bandits as mb
from matroid_bandits._util.student import t_tail
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation import Difference, enough_runs, holm
from matroid_bandits.simulation import _statistics as own
from sweep_worlds import PROBLEMS

POLICIES = {"OMM": [mb.OMM(s) for s in (0.1, 0.3, 1.0)], "KLOSM": mb.KLOSM()}


@pytest.fixture(scope="module")
def result():
    return mb.simulate(
        PROBLEMS["gap 0.2"],
        [mb.OMM(), mb.KLOSM()],
        n_episodes=60,
        n_runs=30,
        seed=1,
        keep_runs=True,
        checkpoints=[30],
    )


def test_numbers_over_runs(result):
    finals = result.final_regret
    np.testing.assert_allclose(result.quantiles([0.1, 0.5]), np.quantile(finals, [0.1, 0.5], axis=1).T)
    np.testing.assert_allclose(result.medians("returns"), np.median(result.final_returns, axis=1))
    for each, values in zip(result.intervals(level=0.9), finals, strict=True):
        expected = stats.t.interval(0.9, 29, values.mean(), stats.sem(values))
        np.testing.assert_allclose((each.low, each.high), expected, rtol=1e-8)
    for each, values in zip(result.intervals("bootstrap"), finals, strict=True):
        theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=1).confidence_interval
        # ends are quantiles of 4,000 means: at 2.5% their place has a deviation of 0.25%, a twentieth of the error
        assert np.abs(np.subtract((each.low, each.high), theirs)).max() < 0.4 * stats.sem(values)
    assert result.intervals("bootstrap") == result.intervals("bootstrap")
    alone = mb.simulate(PROBLEMS["gap 0.2"], mb.OMM(), n_episodes=5, n_runs=1, seed=1)
    assert math.isnan(alone.intervals()[0].low)
    assert math.isnan(alone.differences("OMM")[0].p_value) if alone.differences("OMM") else True


def test_intervals_hold_the_truth_as_often_as_they_say():
    """400 samples of 40 from a skewed law: a binomial with chance 0.95 has deviation 4.4, so 5 of them are 22.

    Of the exponential law's t intervals some 93% hold the mean with 40 runs, of BCa about as many.
    """
    rng = np.random.default_rng(3)
    samples = rng.exponential(size=(400, 40))
    for method in ("t", "bootstrap"):
        ends = [own.interval(sample, method) for sample in samples[: 400 if method == "t" else 200]]
        share = np.mean([low < 1.0 < high for low, high in ends])
        assert 0.95 - 0.03 - 5 * math.sqrt(0.05 * 0.95 / len(ends)) < share < 0.995


def test_a_frame_with_a_row_per_run(result):
    frame = result.to_run_frame()
    assert list(frame) == ["policy", "run", "episode", "returns", "regret"]
    assert len(frame) == 2 * 30 * 2
    one = frame[(frame.policy == "KLOSM") & (frame.run == 7)]
    assert one.regret.tolist() == result["KLOSM"].run_regret[7].tolist()
    assert one.episode.tolist() == [30, 60]
    sweep = mb.sweep(PROBLEMS, mb.OMM(), n_episodes=5, n_runs=3, seed=0)
    frame = sweep.to_run_frame()
    assert len(frame) == 3 * 3
    assert frame.regret.tolist() == [x for name in PROBLEMS for x in sweep[name].final_regret[0]]


def test_paired_tests_and_holm(result):
    (each,) = result.differences("OMM")
    theirs = stats.ttest_rel(result["KLOSM"].final_regret, result["OMM"].final_regret)
    np.testing.assert_allclose((each.p_value, each.se), (theirs.pvalue, each.mean / theirs.statistic), rtol=1e-8)
    assert each.p_holm == each.p_value  # of one test
    sweep = mb.sweep(PROBLEMS, POLICIES, n_episodes=60, n_runs=12, seed=3)
    found = sweep.differences("KLOSM")
    p_values = np.array([each.p_value for each in found])
    order = np.argsort(p_values)
    expected = np.empty(9)
    expected[order] = np.minimum(1, np.maximum.accumulate(p_values[order] * np.arange(9, 0, -1)))
    np.testing.assert_allclose([each.p_holm for each in found], expected)
    assert holm([math.nan, 0.5, 0.01])[1:] == [0.5, 0.02]
    assert own.difference("", "", "", np.zeros(5), 0.95).p_value == 1.0
    assert own.difference("", "", "", np.ones(5), 0.95).p_value == 0.0
    assert t_tail(0.0, 7) == 0.5


def test_holm_keeps_the_error_of_a_whole_table():
    """Ten tests of no difference: in 300 tables at least one false alarm in 5%, and 300 * 0.05 + 5 deviations is 34.

    Without Holm it is 40% of the tables, 120 of them: the test can fail.
    """
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(300, 10, 15))
    p_values = [[own.difference("", "", "", row, 0.95).p_value for row in table] for table in tables]
    assert sum(min(holm(row)) < 0.05 for row in p_values) <= 34
    assert sum(min(row) < 0.05 for row in p_values) > 80


def test_half_of_the_runs_choose_and_the_others_tell():
    """Twenty equal policies: the least mean of all is too small in the runs that chose it, and not in the others."""
    policies = {"same": [mb.FixedSet([i]) for i in range(20)]}
    problem = mb.Problem(mb.UniformMatroid(20, 1), mb.BernoulliEnvironment(np.full(20, 0.5)))
    sweep = mb.sweep({"ties": problem}, policies, n_episodes=1, n_runs=8, seed=0)
    noise = np.random.default_rng(5).normal(size=(20, 8))
    object.__setattr__(sweep["ties"], "final_regret", noise)
    (best,) = sweep.best("same")
    p = int(noise[:, :4].mean(axis=1).argmin())
    assert best.policy == sweep.policies[p]
    assert best.n_runs == 4
    assert best.regret == noise[p, 4:].mean() > noise[p, :4].mean()
    np.testing.assert_allclose(best.regret_se, stats.sem(noise[p, 4:]))


def share_of_few(values):
    """The share of the sum of distances from the median that the farthest 5% of values have; 20, 40, ... of them."""
    distances = sorted((abs(x - float(np.median(values))) for x in values), reverse=True)
    return math.fsum(distances[: len(values) // 20]) / math.fsum(distances)


def test_results_are_skewed_where_a_few_runs_dominate_the_mean():
    rng = np.random.default_rng(6)
    samples = [*rng.gamma(1.0, 1.0, (100, 40)), *rng.gamma(0.5, 1.0, (100, 100)), *-rng.gamma(0.5, 1.0, (100, 20))]
    shares = [share_of_few(sample) for sample in samples]
    assert [enough_runs(sample) > 0 for sample in samples] == [share > 0.25 for share in shares]
    assert 50 < sum(share > 0.25 for share in shares) < 250
    for sample in samples:
        assert enough_runs(sample) in (0, math.ceil(25 * stats.skew(sample, bias=False) ** 2))


def test_skewness_that_does_not_harm_the_interval_is_not_called_skewed():
    rng = np.random.default_rng(7)
    for sample in (*rng.normal(size=(400, 100)), *rng.gamma(4.0, 1.0, (400, 200))):  # skewness 0, and 1
        assert enough_runs(sample) == 0


def test_of_few_runs_the_farthest_counts_in_part():
    assert enough_runs(np.array([0.0] * 4 + [9.0])) == 0  # 5% of five runs is a quarter of one, which has it all
    assert enough_runs(np.array([0.0] * 5 + [9.0])) == math.ceil(25 * 6)  # the skewness is the square root of six
    for few in ([1.0], [1.0, 2.0], [5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 1.0], [1.0, 2.0, math.nan]):
        assert enough_runs(np.array(few)) == 0


def test_the_warning_names_a_number_of_runs_where_it_is_at_least_double():
    locked = np.array([10.0] * 95 + [200.0] * 5)
    needed = enough_runs(locked)
    assert 200 <= needed < 1000
    assert own.tail_warning("OMM, scale=0.3", locked) == (
        "OMM, scale=0.3 is skewed: a few runs dominate the mean; see quantiles (regret of 100 runs: median 10, mean"
        f" 19.5, largest 200; some {float(f'{needed:.2g}'):,.0f} runs would be enough for ±)."
    )
    assert own.tail_warning("OMM", np.tile(locked, 10), "return", "worlds") == (
        "OMM is skewed: a few worlds dominate the mean; see quantiles (return of 1,000 worlds: median 10, mean 19.5,"
        " largest 200)."
    )
    assert own.tail_warning("OMM", np.arange(100.0)) == ""


def test_the_summary_says_what_the_error_is_and_what_is_skewed(result):
    assert result.summary().splitlines()[0].endswith("; ± is one standard error")
    heavy = mb.simulate(PROBLEMS["gap 0.2"], mb.OMM(), n_episodes=60, n_runs=30, seed=1)
    object.__setattr__(heavy, "final_regret", np.append(np.ones(29), 1000.0)[None])
    assert "OMM is skewed: a few runs dominate the mean" in heavy.summary().splitlines()[-1]


def test_mistakes(result):
    for call, match in [
        (lambda: result.quantiles([1.5]), r"probabilities in \[0, 1\]"),
        (lambda: result.quantiles("a"), r"probabilities in \[0, 1\]"),
        (lambda: result.intervals("z"), 'expected method to be "t" or "bootstrap"'),
        (lambda: result.intervals(level=1.0), "level"),
        (lambda: result.medians("luck"), 'expected measure to be "regret" or "returns"'),
        (lambda: result.differences("nobody"), "expected a policy, one of OMM, KLOSM"),
    ]:
        with pytest.raises(SimulationError, match=match):
            call()
    assert Difference("a", "b", "c", 1.0, 0.5, 1.5).is_clear
