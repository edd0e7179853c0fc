"""A learner with OMM says once that the weights it is told do not fit the policy's scale."""

import re
import warnings
from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits.datasets import printed
from matroid_bandits.exceptions import ScaleWarning
from matroid_bandits.policies import scale_problem
from matroid_bandits.policies._omm import MOST_ADVISED

ADS = mb.UniformMatroid(3, 2, labels="abc")


def test_weights_further_apart_than_the_scale_are_warned_of_once():
    learner = mb.Learner(ADS, mb.OMM(scale=0.5), minimize=True)
    learner.tell(learner.ask(), [100.0, 163.0])  # where the range lies does not matter
    first = learner.ask()
    with pytest.warns(ScaleWarning, match=r"weights from 98 to 163: their range is 130 times its scale") as caught:
        learner.tell(first, {first.labels[0]: 98.0})
    assert caught[0].filename == __file__
    learner.tell(first, {first.labels[1]: 1000.0})  # warnings are errors here, and there is no second one
    assert learner.estimates().counts.sum() == 4


def test_what_was_seen_before_counts_too():
    learner = mb.Learner(ADS, mb.OMM())
    learner.observe([0.0, 0.5, 0.25])
    with pytest.warns(ScaleWarning, match="from 0 to 128.5"):
        learner.tell(learner.ask(), [128.5, 0.5])


def test_a_warning_that_is_an_error_changes_nothing():
    learner = mb.Learner(ADS, mb.OMM())
    decision = learner.ask()
    with pytest.raises(ScaleWarning):
        learner.tell(decision, [0.0, 130.0])
    assert learner.outstanding == (decision,)
    assert learner.estimates().counts.sum() == 0


@pytest.mark.parametrize(
    "policy",
    [
        mb.OMM(scale=0.0),
        mb.OMM(scale=7.0 / 128.0),
        mb.ThompsonSampling("normal"),
        mb.EpsilonGreedy(),
        mb.DiscountedOMM(0.99),
        mb.SlidingWindowOMM(100, scale=0.25),
    ],
)
def test_policies_that_fit_are_not_warned_of(policy):
    learner = mb.Learner(ADS, policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            learner.tell(learner.ask(), [-3.0, 4.0])


@pytest.mark.parametrize(("scale", "is_warned_of"), [(0.3, False), (0.0079, False), (0.0078, True), (0.0, False)])
def test_simulations_and_learners_warn_alike(scale, is_warned_of):
    problem = mb.Problem(ADS, mb.BernoulliEnvironment([0.2, 0.4, 0.6]))
    learner = mb.Learner(ADS, mb.OMM(scale))
    with warnings.catch_warnings(record=True) as simulated:
        warnings.simplefilter("always")
        mb.simulate(problem, [mb.OMM(scale), mb.MOSS()], n_episodes=2, n_runs=2, seed=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learner.tell(learner.ask(), [0.0, 1.0])
    assert [str(each.message) for each in simulated] == [str(each.message) for each in told]
    assert [each.category for each in simulated] == [ScaleWarning] * is_warned_of
    assert all(each.filename == __file__ for each in (*simulated, *told))


def test_a_simulation_whose_weights_have_no_limits_is_not_warned_of():
    """What is known of an unlimited range is the noise, and a scale about the noise is advised."""
    problem = mb.Problem(ADS, mb.ExponentialEnvironment([10.0, 200.0, 300.0]), minimize=True)
    mb.simulate(problem, [mb.OMM()], n_episodes=2, n_runs=2, seed=0)  # warnings are errors here


def test_the_limit_is_twice_the_largest_ratio_that_the_pages_advise():
    """Scales of weights in [0, 1], of the tables of advice and tuned in the race, and of latencies in ms."""
    ratios = {}
    for page in ("policies.md", "drift.md"):
        text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
        advice = [line for line in text.split("\n## ")[0].split("\n") if line.startswith("| ")]
        scales = re.findall(r"scale`? (0\.\d+)", "\n".join(advice))  # of a range of scales the smallest is first
        assert scales
        ratios[page] = max(1.0 / float(x) for x in scales)
        tuned = re.search(r"<!-- table: race/changes-tuned -->(.*?)<!-- end -->", text, re.DOTALL)
        if tuned is not None:
            assert all(1.0 / float(x) <= MOST_ADVISED for x in re.findall(r"scale=([\d.]+)", tuned[1]))
            [scale] = re.findall(r"A scale of (\d+) ms, about the noise, is as good as a tuned one", text)
            ratios["networks"] = max(each.max_latency for each in printed.NETWORKS.values()) / float(scale)
            [listed] = re.findall(r"Tuning chose scales of ([\d.,\sand]+) ms\.", text)
            for each, x in zip(printed.NETWORKS.values(), re.findall(r"\d+(?:\.\d+)?", listed), strict=True):
                assert not scale_problem(mb.OMM(float(x)), 0.0, each.max_latency)
    assert ratios.keys() == {"policies.md", "drift.md", "networks"}
    assert max(ratios.values()) == MOST_ADVISED
    edge = mb.OMM(0.3)
    assert not scale_problem(edge, 0.0, 2 * MOST_ADVISED * edge.scale)
    assert scale_problem(edge, 0.0, 2.01 * MOST_ADVISED * edge.scale)


def test_no_network_of_the_paper_warns_of_the_scale_that_is_about_the_noise():
    network = max(printed.NETWORKS.values(), key=lambda each: each.max_latency)
    learner = mb.Learner(ADS, mb.OMM(1.0), minimize=True)
    for noise in (-1.0, 12.0):  # -1 + Exp(1) ms is above 12 in 2 of a million latencies
        learner.tell(learner.ask(), [network.min_latency + noise, network.max_latency + noise])
