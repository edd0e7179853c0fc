"""Sweeps over worlds drawn from a law: what is drawn, what is pooled, variance of worlds and runs, the store."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.reporting import Report, parts_table, sweep_chapter
from matroid_bandits.simulation._statistics import parts


def blocks(rng):
    return mb.Problem(mb.PartitionMatroid(np.arange(6) // 3), mb.BernoulliEnvironment(rng.random(6)))


POLICIES = {"OMM": [mb.OMM(s) for s in (0.3, 1.0)], "KLOSM": mb.KLOSM()}
SIZE = {"n_episodes": 40, "checkpoints": [20], "seed": 11}


def play(n_worlds=4, n_runs=3, **more):
    problems = {"drawn": mb.Worlds(blocks, n_worlds), "fixed": mb.lower_bound_problem(6, 2, 0.2)}
    return mb.sweep(problems, POLICIES, n_runs=n_runs, **SIZE, **more)


@pytest.fixture(scope="module")
def found():
    return play()


def test_each_world_is_what_simulate_finds(found):
    worlds = found.worlds["drawn"]
    flat = {f"OMM, scale={s:g}": mb.OMM(s) for s in (0.3, 1.0)} | {"KLOSM": mb.KLOSM()}
    for i, world in enumerate(worlds):
        expected = blocks(np.random.default_rng([11, i])).environment.mean_weights
        assert np.array_equal(world.problem.environment.mean_weights, expected)
        size = {**SIZE, "seed": world.result.seed}
        assert world.result == mb.simulate(world.problem, flat, n_runs=3, **size)
    assert len({world.result.seed for world in worlds} | {11}) == 5  # the noise of runs is not shared
    assert list(found) == ["drawn", "fixed"]
    assert found["fixed"].world_runs is None


def test_a_world_counts_as_one_number(found, tmp_path):
    result, worlds = found["drawn"], found.worlds["drawn"]
    finals = np.stack([world.result.final_regret.mean(axis=1) for world in worlds], axis=1)
    np.testing.assert_allclose(result.final_regret, finals)
    np.testing.assert_allclose(result.regret[:, -1], finals.mean(axis=1))
    np.testing.assert_allclose(result.regret_se[:, -1], finals.std(axis=1, ddof=1) / 2.0)
    np.testing.assert_allclose(result.optimal_value, np.mean([world.problem.optimal_value for world in worlds]))
    np.testing.assert_allclose(
        result.per_step_return, np.mean([world.result.per_step_return for world in worlds], axis=0)
    )
    assert result.choices.sum() == 3 * 4 * 3 * 40 * 2
    assert (result.n_runs, result.world_runs) == (4, 3)
    assert repr(result).endswith('4 worlds × 3 runs of 40 episodes, seed 11, start "observe")')
    assert "± is one standard error over worlds" in found.summary()
    result.save(tmp_path / "result.npz")
    assert mb.SimulationResult.load(tmp_path / "result.npz") == result
    frame = found.to_run_frame()
    assert len(frame) == 3 * 4 * 3 + 3 * 3
    assert frame[frame.problem == "drawn"].world.nunique() == 4
    (difference, *_) = (each for each in found.differences("KLOSM") if each.problem == "drawn")
    np.testing.assert_allclose(difference.mean, (finals[0] - finals[2]).mean())


def test_variance_is_split_into_worlds_and_runs():
    """Of 200 worlds of deviation 3 and 10 runs of deviation 2: estimates within five of their deviations.

    A variance from n values has relative deviation sqrt(2 / n): n is 200 * 9 for runs, 199 for the means of worlds.
    """
    rng = np.random.default_rng(7)
    values = 10 + 3 * rng.normal(size=(200, 1)) + 2 * rng.normal(size=(200, 10))
    found = parts("law", "OMM", values)
    assert abs(found.runs**2 - 4) < 5 * 4 * math.sqrt(2 / 1800)
    assert abs(found.worlds**2 - 9) < 5 * (9 + 0.4) * math.sqrt(2 / 199)
    np.testing.assert_allclose(found.se, values.mean(axis=1).std(ddof=1) / math.sqrt(200))
    assert found.share == pytest.approx(9 / 13, abs=0.12)
    same = parts("law", "OMM", np.tile(rng.normal(size=10), (5, 1)))
    assert same.worlds == 0.0
    assert same.se == 0.0
    assert math.isnan(parts("law", "OMM", values[:, :1]).runs)
    assert math.isnan(parts("law", "OMM", values[:1]).se)


def test_a_store_goes_on_with_more_worlds_and_more_runs(tmp_path, found):
    store = tmp_path / "store"
    first = play(store=store)
    assert first == found
    assert first.n_played == 5 * 3 * 3
    larger = play(n_worlds=6, n_runs=4, store=store)
    assert (larger.n_played, larger.n_stored) == (7 * 3 * 4 - 45, 45)
    assert larger == play(n_worlds=6, n_runs=4)
    again = play(n_worlds=4, n_runs=3, store=store)
    assert again.n_played == 0
    assert again == found


def test_worlds_of_another_seed_are_others():
    problems = {"own": mb.Worlds(blocks, 2, seed=3), "sweep's": mb.Worlds(blocks, 2)}
    first, second = (mb.sweep(problems, mb.OMM(), n_episodes=5, n_runs=1, seed=seed).worlds for seed in (0, 1))
    means = [[w.problem.environment.mean_weights for w in found["own"]] for found in (first, second)]
    assert np.array_equal(means[0], means[1])
    assert first["own"][0].result.seed != second["own"][0].result.seed
    assert not np.array_equal(*(found["sweep's"][0].problem.environment.mean_weights for found in (first, second)))


def test_moving_worlds_are_pooled_too():
    def drift(rng):
        pieces = [mb.BernoulliEnvironment(rng.random(4)) for _ in range(2)]
        return mb.Problem(mb.UniformMatroid(4, 2), mb.PiecewiseEnvironment(pieces, [11]))

    policies = {"restarting": mb.Restarting(mb.OMM(0.3), mb.CUSUM(n_first=2, threshold=1.0)), "OMM": mb.OMM()}
    sweep = mb.sweep({"law": mb.Worlds(drift, 3)}, policies, n_episodes=20, n_runs=2, seed=0)
    result = sweep["law"]
    worlds = [world.result for world in sweep.worlds["law"]]
    np.testing.assert_allclose(result.optimum, np.mean([w.optimum for w in worlds], axis=0))
    np.testing.assert_allclose(result.alarms, np.mean([w.alarms for w in worlds], axis=0))


def test_the_report_of_drawn_worlds(found, tmp_path):
    chapter = sweep_chapter(found, name="worlds", title="Worlds", description="Drawn.")
    regret, split, *_ = chapter.tables
    assert "± is one standard error over worlds" in regret.note
    assert split.name == "worlds"
    assert [row[0] for row in split.rows] == ["drawn"] * 3
    report = Report(tmp_path / "report", "Worlds", "", "make")
    report.add(chapter)
    page = (tmp_path / "report/index.html").read_text()
    latex = (tmp_path / "report/tables/worlds-regret.tex").read_text()
    assert "± is one standard error over worlds" in page
    assert r"$\pm$ is one standard error over worlds" in latex
    assert {r["data"] for r in chapter.records["trials"]} == {*(f"drawn, world {i}" for i in range(4)), "fixed"}
    assert parts_table(found, ["KLOSM"]).rows == split.rows[2:]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: mb.Worlds(mb.Problem, 3), "expected draw to be a function"),
        (lambda: mb.Worlds(blocks, 0), "n_worlds"),
        (lambda: mb.sweep({"a": mb.Worlds(lambda rng: 3, 2)}, mb.OMM(), n_episodes=1, n_runs=1), "give a Problem"),
        (
            lambda: mb.sweep(
                mb.Worlds(lambda rng: mb.lower_bound_problem(rng.integers(3, 9) * 2, 2, 0.1), 9),
                mb.OMM(),
                n_episodes=1,
                n_runs=1,
                seed=0,
            ),
            "items and one direction",
        ),
        (
            lambda: mb.sweep(
                {"a": mb.Worlds(blocks, 2), "a, world 1": mb.lower_bound_problem(6, 2, 0.1)},
                mb.OMM(),
                n_episodes=1,
                n_runs=1,
            ),
            "names differ from those of drawn worlds",
        ),
    ],
)
def test_mistakes(make, match):
    with pytest.raises(SimulationError, match=match):
        make()
