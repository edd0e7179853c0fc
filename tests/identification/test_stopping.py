"""Errors stay below delta where that is hard, also when items come and go; a wrong threshold fails the same test."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.binomial import exact_interval
from matroid_bandits.exceptions import DeviceError, SimulationError, StoppingError
from matroid_bandits.identification import Watch

GAP, DELTA, RUNS, ROUNDS = 0.02, 0.1, 1000, 1000


class TooSoon(Watch):
    """The likelihood ratio against log(1 / delta), which is wrong: it is looked at after every round."""

    def levels(self, delta, n, t):
        return np.full(n.shape[0], math.log(1.0 / delta))


def errors_of_a_pair(watch, gap, runs, rounds, seed):
    """How many of some runs ever stop at the worse of two items that are played in every round."""
    rng = np.random.default_rng(seed)
    counts, sums = np.zeros((runs, 2), np.int64), np.zeros((runs, 2))
    stopped, wrong = np.zeros(runs, bool), np.zeros(runs, bool)
    for t in range(1, rounds + 1):
        counts += 1
        sums += rng.normal(size=(runs, 2)) + [gap, 0.0]
        bases, is_sure = watch.look(counts, sums, t)
        wrong |= is_sure & ~stopped & (bases[:, 0] == 1)
        stopped |= is_sure
    return int(wrong.sum())


@pytest.mark.compiled
def test_errors_are_at_most_delta_and_those_of_the_wrong_threshold_are_not():
    """Two items that hardly differ, looked at after every round: this is where thresholds fail."""
    rule, pair = mb.StoppingRule(delta=DELTA, deviation=1.0), mb.UniformMatroid(2, 1)
    proven = errors_of_a_pair(Watch(rule, pair), GAP, RUNS, ROUNDS, seed=1)
    assert exact_interval(proven, RUNS)[1] < DELTA
    unproven = mb.StoppingRule(delta=DELTA, deviation=1.0, threshold="unproven")
    assert exact_interval(errors_of_a_pair(Watch(unproven, pair), GAP, RUNS, ROUNDS, seed=1), RUNS)[1] < DELTA
    too_soon = errors_of_a_pair(TooSoon(unproven, pair), GAP, RUNS, ROUNDS, seed=1)
    assert exact_interval(too_soon, RUNS)[0] > DELTA  # the test can fail


@pytest.mark.compiled
@pytest.mark.parametrize("rule", [{"weights": "unit"}, {"weights": "unit", "independent": False}], ids=str)
def test_errors_with_weights_in_the_unit_interval(rule):
    """A large delta, small differences: what errors there are stay below it."""
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.52, 0.48, 0.48]))
    until = mb.StoppingRule(delta=0.3, **rule)
    result = mb.simulate(problem, mb.SoftMinimum(), n_episodes=250, n_runs=300, seed=3, start="explore", until=until)
    assert result["SoftMinimum"].endings.error_interval()[1] < 0.3


CATALOGUES = [(0, 1, 2), (1, 2, 3), (0, 3, 4)]
MEANS = np.array([0.03, 0.02, 0.01, 0.0, -0.01])


def churned(kind, rounds, runs, seed, spends):
    """How many runs ever stop at a wrong item, in one of several catalogues; what is known of items stays."""
    rng = np.random.default_rng(seed)
    rule = mb.StoppingRule(delta=DELTA, deviation=1.0, threshold="unproven" if kind is TooSoon else "proven")
    counts, sums = np.zeros((runs, 5), np.int64), np.zeros((runs, 5))
    wrong = np.zeros(runs, bool)
    for n, catalogue in enumerate(CATALOGUES, 1):
        items = np.array(catalogue)
        n_known = int(items.max()) + 1
        settings = {"factor": math.pi**2 * n**2 / 6, "n_known": n_known if n > 1 else 0} if spends else {}
        watch = kind(rule, mb.UniformMatroid(3, 1), **settings)
        best = int(MEANS[items].argmax())
        for t in range(1, rounds + 1):
            counts[:, items] += 1
            sums[:, items] += rng.normal(size=(runs, 3)) + MEANS[items]
            bases, is_sure = watch.look(counts[:, items], sums[:, items], t)
            wrong |= is_sure & (bases[:, 0] != best)
    return int(wrong.sum())


@pytest.mark.compiled
def test_errors_are_at_most_delta_in_all_catalogues_together():
    """Items come and go, three catalogues in all, what is known carries over: one error anywhere counts."""
    runs = 500
    assert exact_interval(churned(Watch, 250, runs, 1, spends=True), runs)[1] < DELTA
    assert exact_interval(churned(TooSoon, 250, runs, 1, spends=False), runs)[0] > DELTA


# Runs of a simulation that end when they are sure


UNIFORM = mb.Problem(mb.UniformMatroid(20, 5), mb.GaussianEnvironment(np.r_[np.full(5, 0.5), np.zeros(15)]))


@pytest.mark.compiled
def test_rounds_are_those_of_the_table():
    """Soft minimum on 5 of 20 with a gap of 0.5: 731 +- 4 rounds with the proven threshold, 365 +- 3 without."""
    for threshold, expected, error in (("proven", 731, 4), ("unproven", 365, 3)):
        until = mb.StoppingRule(delta=0.1, deviation=1.0, threshold=threshold)
        result = mb.simulate(
            UNIFORM, mb.SoftMinimum(1.0), n_episodes=5000, n_runs=60, seed=1, start="explore", until=until
        )
        ended = result["SoftMinimum"].endings
        assert ended.is_sure.all()
        assert ended.n_errors == 0
        assert abs(ended.mean_rounds - expected) < 3 * math.hypot(ended.rounds_se, error)
        assert ended.mean_rounds > mb.rounds_bound(UNIFORM, 0.1).rounds


def science():
    """The public instances, as `make science` plays them at full size."""
    path = Path(__file__).parents[2] / "science" / "identification.py"
    spec = importlib.util.spec_from_file_location("science_identification", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "threshold", "known", "error", "n_runs"),
    [
        ("E20", "unproven", 1776, 36, 12),
        ("E25", "unproven", 1861, 52, 12),
        pytest.param("E20", "proven", 5206, 126, 40, marks=pytest.mark.long),
        pytest.param("E25", "proven", 5828, 97, 40, marks=pytest.mark.long),
    ],
)
def test_rounds_on_public_instances(name, threshold, known, error, n_runs):
    problem = science().PROBLEMS[name]
    found = mb.identify(problem, 0.1, threshold=threshold, n_runs=n_runs, seed=4)
    assert found.endings.is_sure.all()
    assert found.n_errors == 0
    assert abs(found.endings.mean_rounds - known) < 3 * math.hypot(found.endings.rounds_se, error)


@pytest.mark.compiled
def test_a_fixed_budget_returns_the_best_basis_then():
    """E20 after 500 rounds: wrong in a share of 0.083 of the runs."""
    found = mb.identify(science().PROBLEMS["E20"], budget=500, n_runs=60, seed=4)
    assert (found.endings.rounds == 500).all()
    assert not found.endings.is_sure.any()
    low, high = found.error_interval(0.997)
    assert low < 0.083 < high
    assert found.bound is None
    assert "a fixed budget" in found.summary()


def test_a_run_ends_where_it_would_end_alone():
    """Runs end in episodes of their own, and none depends on those beside it, on threads or on who else plays."""
    until = mb.StoppingRule(delta=0.2, deviation=1.0, threshold="unproven")
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.GaussianEnvironment([2.0, 1.5, 0.5, 0.0, 0.0]))
    policies = {"soft": mb.SoftMinimum(1.0), "omm": mb.OMM(2.0), "chance": mb.UniformRandom()}
    arguments = {"n_episodes": 400, "seed": 5, "checkpoints": [1, 10, 100, 400], "until": until, "keep_runs": True}
    together = mb.simulate(problem, policies, n_runs=9, **arguments)
    assert len(set(together.endings.rounds.reshape(-1).tolist())) > 5
    fewer = mb.simulate(problem, policies, n_runs=3, **arguments)
    for name in policies:
        one, other = together[name], fewer[name]
        for field in ("rounds", "is_sure", "is_wrong", "bases", "counts", "sums"):
            assert np.array_equal(getattr(one.endings, field)[:3], getattr(other.endings, field))
        assert np.array_equal(one.run_regret[:3], other.run_regret)
    plain = mb.simulate(
        problem, policies, n_runs=9, n_episodes=400, seed=5, checkpoints=range(1, 401), keep_runs=True
    )
    for p, rounds in enumerate(together.endings.rounds):
        for run, t in enumerate(rounds.tolist()):
            points = np.minimum(together.checkpoints, t) - 1
            assert np.array_equal(together.run_returns[p, run], plain.run_returns[p, run, points])
            assert np.array_equal(together.run_regret[p, run], plain.run_regret[p, run, points])
    assert (together.choices.sum(axis=1) == 2 * together.endings.rounds.sum(axis=1)).all()


def test_a_run_ends_in_the_first_episode_in_which_the_rule_is_sure():
    """Played again by an agent, one episode at a time."""
    from matroid_bandits.agent import Agent
    from matroid_bandits.stream import POLICY, START

    until, matroid = mb.StoppingRule(delta=0.2, weights="unit"), mb.UniformMatroid(3, 1)
    world = mb.BernoulliEnvironment([0.9, 0.5, 0.1])
    result = mb.simulate(mb.Problem(matroid, world), mb.OMM(), n_episodes=2000, n_runs=3, seed=8, until=until)
    for run in range(3):
        stream = mb.Stream(8, [run])
        agent, watch = Agent(matroid, mb.OMM(), waits=False), Watch(until, matroid)
        everything = np.arange(3)[None]
        own = stream.with_purpose(POLICY)
        agent.observe(mb.Request(0, own), everything, world.draw(stream.with_purpose(START), 0, everything))
        for t in range(1, 2001):
            play = agent.decide(mb.Request(t, own))
            agent.learn(play, world.draw(stream, t, play.items))
            basis, is_sure = watch.look(agent.state.counts, agent.state.sums, t)
            if is_sure[0]:
                break
        assert result.endings.rounds[0, run] == t
        assert result.endings.bases[0, run].tolist() == basis[0].tolist()
        assert np.array_equal(result.endings.counts[0, run], agent.state.counts[0])


def test_answers_may_be_late_and_items_missing():
    world = mb.BernoulliEnvironment([0.9, 0.6, 0.2, 0.1])
    for changed in (mb.DelayedEnvironment(world, 7), mb.AvailabilityEnvironment(world, 0.7)):
        problem = mb.Problem(mb.UniformMatroid(4, 1), changed)
        until = mb.StoppingRule(delta=0.1, weights="unit")
        result = mb.simulate(
            problem, mb.SoftMinimum(), n_episodes=1500, n_runs=4, seed=1, start="explore", until=until
        )
        ended = result["SoftMinimum"].endings
        assert ended.is_sure.all()
        assert not ended.is_wrong.any()
        assert (result.final_regret[0] >= 0.0).all()


def test_costs_end_like_gains():
    until = mb.StoppingRule(delta=0.1, weights="unit")
    means = np.array([0.9, 0.7, 0.3, 0.1])
    rounds = []
    for minimize in (False, True):
        world = mb.BernoulliEnvironment(1.0 - means if minimize else means)
        problem = mb.Problem(mb.UniformMatroid(4, 2), world, minimize=minimize)
        result = mb.simulate(problem, mb.SoftMinimum(), n_episodes=3000, n_runs=30, seed=1, until=until)
        assert not result.endings.is_wrong.any()
        rounds.append(result["SoftMinimum"].endings)
    gap = abs(rounds[0].mean_rounds - rounds[1].mean_rounds)
    assert gap < 3 * math.hypot(rounds[0].rounds_se, rounds[1].rounds_se)


def test_a_tolerance_lets_equal_items_end():
    problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.8, 0.8, 0.1]))
    arguments = {"n_episodes": 1500, "n_runs": 3, "seed": 1}
    near = mb.StoppingRule(delta=0.1, weights="unit", tolerance=0.15)
    ended = mb.simulate(problem, mb.SoftMinimum(), until=near, **arguments)["SoftMinimum"].endings
    assert ended.is_sure.all()
    assert not ended.is_wrong.any()
    exact = mb.StoppingRule(delta=0.1, weights="unit")
    ended = mb.simulate(problem, mb.SoftMinimum(), until=exact, **arguments)["SoftMinimum"].endings
    assert not ended.is_sure.any()
    assert not ended.is_wrong.any()  # either of the two is right
    assert (ended.rounds == 1500).all()


def test_results_are_stored(tmp_path):
    until = mb.StoppingRule(delta=0.1, deviation=1.0)
    result = mb.simulate(UNIFORM, [mb.SoftMinimum(1.0)], n_episodes=50, n_runs=3, seed=1, until=until)
    result.save(tmp_path / "result")
    loaded = mb.SimulationResult.load(tmp_path / "result")
    assert loaded == result
    assert loaded.until == until.to_dict()
    assert "3 not sure" in loaded.summary()
    assert loaded.to_frame().shape[0] == loaded.checkpoints.size


@pytest.mark.parametrize(
    ("problem", "policy", "until", "message"),
    [
        (UNIFORM, mb.OMM(), mb.StoppingRule(weights="unit"), "expected weights in .0, 1., as the rule says"),
        (UNIFORM, mb.SlidingWindowOMM(9), mb.StoppingRule(deviation=1.0), "SlidingWindowOMM.* forgets"),
        (UNIFORM, mb.DiscountedOMM(0.9), mb.StoppingRule(deviation=1.0), "forgets"),
        (UNIFORM, mb.Restarting(mb.OMM()), mb.StoppingRule(deviation=1.0), "forgets"),
        (UNIFORM, mb.OMM(), 0.05, "expected until to be a StoppingRule"),
        (
            mb.Problem(
                mb.UniformMatroid(2, 1),
                mb.DriftingEnvironment(mb.BernoulliEnvironment([0.5, 0.2]), to=[0.2, 0.5], over=10),
            ),
            mb.OMM(),
            mb.StoppingRule(weights="unit"),
            "expected means that stay",
        ),
        (
            mb.Problem(mb.AssignmentConstraint([(0, 0), (0, 1), (1, 0), (1, 1)]), mb.BernoulliEnvironment([0.5] * 4)),
            mb.OMM(),
            mb.StoppingRule(weights="unit"),
            "expected a matroid",
        ),
    ],
)
def test_what_cannot_end(problem, policy, until, message):
    with pytest.raises(StoppingError, match=message):
        mb.simulate(problem, policy, n_episodes=10, n_runs=1, until=until)


def test_such_runs_are_played_by_an_agent_on_the_cpu():
    until = mb.StoppingRule(deviation=1.0)
    assert mb.compiled.explain(UNIFORM, mb.OMM(), n_episodes=10**6, n_runs=100, until=until) == {
        "OMM": ("agent", "a stopping rule looks at the runs after every episode")
    }
    with pytest.raises((SimulationError, DeviceError), match="until"):
        mb.simulate(UNIFORM, mb.OMM(), n_episodes=10, n_runs=1, until=until, device="gpu")


def test_the_bound_on_rounds():
    """Two items with a gap of 1 and a deviation of 1, one a round: each is played half of the time, T* is 8."""
    pair = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([1.0, 0.0]))
    bound = mb.rounds_bound(pair, 0.1)
    assert 0.99 * 8.0 <= bound.time <= 8.0
    assert bound.rounds == pytest.approx(bound.time * 0.8 * math.log(9.0))
    tied = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([1.0, 1.0]))
    assert mb.rounds_bound(tied, 0.1).rounds == math.inf
    only = mb.Problem(mb.UniformMatroid(2, 2), mb.GaussianEnvironment([1.0, 0.0]))
    assert mb.rounds_bound(only, 0.1).rounds == 0.0
    with pytest.raises(StoppingError, match="for which the bound is known"):
        mb.rounds_bound(mb.Problem(mb.UniformMatroid(1, 1), mb.BetaEnvironment([1.0], [1.0])), 0.1)
