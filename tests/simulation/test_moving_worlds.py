"""Simulations of worlds whose means change, are not known, or go by features: regret, results, what policies see."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import (
    InvalidEnvironmentError,
    ProblemError,
    SerializationError,
    SimulationError,
)
from matroid_bandits.reporting import simulation_chapter
from matroid_bandits.stream import AVAILABILITY, FEATURES, WEIGHTS, Stream
from samples import GRAPH, POLICIES, PROBLEM, TENTHS
from saved_files import edit

U = mb.UniformMatroid(8, 3)
DAY, NIGHT = mb.BernoulliEnvironment(TENTHS), mb.BernoulliEnvironment(TENTHS[::-1])
CLOCK = mb.PiecewiseEnvironment([DAY, NIGHT, DAY], [20, 40])
VISITS = mb.ContextualEnvironment(np.zeros((8, 2)), [0.5, -1.0])


def simulate(world, policies=None, matroid=U, minimize=False, **options):
    problem = mb.Problem(matroid, world, minimize)
    return mb.simulate(problem, policies or mb.OMM(), **{"n_episodes": 60, "n_runs": 4, "seed": 5} | options)


class Silent(mb.Environment):
    """Bernoulli weights that drift, of a class that does not say how."""

    def __init__(self, n_items=8):
        super().__init__(support=(0.0, 1.0), n_items=n_items)

    def draw(self, stream, t, items):
        return (stream.uniform(t, items) < 0.5 + 0.4 * np.sin(t / 10 + items)).astype(float)


class Outspoken(mb.AvailabilityEnvironment):
    """Another world as it is, that is asked for its means in every episode."""

    def __init__(self, environment):
        super().__init__(environment, 1.0)

    def means(self, t, stream):
        return np.array(self.environment.means(t, stream))  # a fresh one each time

    is_stationary = False


class Rows(Outspoken):
    """The same, with a row per run."""

    def means(self, t, stream):
        return np.tile(self.environment.means(t, stream), (stream.n_runs, 1))


# Regret


@pytest.mark.compiled
@pytest.mark.parametrize("wrap", [Outspoken, Rows, lambda world: mb.PiecewiseEnvironment([world, world], [17])])
def test_means_that_stay_though_they_are_asked_for(wrap):
    plain = mb.simulate(PROBLEM, POLICIES, n_episodes=70, n_runs=4, seed=5)
    moving = simulate(wrap(PROBLEM.environment), POLICIES, GRAPH, n_episodes=70)
    for name in ("returns", "returns_se", "regret", "regret_se", "final_regret", "choices"):
        assert np.array_equal(getattr(moving, name), getattr(plain, name)), name
    assert plain.optimum is None
    assert moving.optimum == pytest.approx(np.full(plain.checkpoints.size, plain.optimal_value), rel=1e-12)
    assert moving.per_step_return == pytest.approx(plain.per_step_return, rel=1e-12)


@settings(max_examples=30)
@given(
    pair=strategies.nested(),
    minimize=st.booleans(),
    kind=st.sampled_from(["pieces", "drift", "context", "mixed"]),
    chance=st.sampled_from([0.6, 1.0]),
    seed=st.integers(0, 2**64 - 1),
)
def test_regret_is_against_the_best_set_of_each_episode(pair, minimize, kind, chance, seed):
    """Whatever moves, on any matroid: as the greedy of the paper finds it, one by one."""
    matroid, is_independent = pair
    n, n_runs, n_episodes = matroid.n_items, 2, 12
    early, late = np.resize(TENTHS, n), np.resize(TENTHS[::-1], n)
    pieces = mb.PiecewiseEnvironment([mb.BernoulliEnvironment(early), mb.BernoulliEnvironment(late)], [5])
    drift = mb.DriftingEnvironment(mb.BernoulliEnvironment(early), to=late, over=9)
    context = mb.ContextualEnvironment(np.column_stack([early, late]), [0.5, -1.0])
    world = {"pieces": pieces, "drift": drift, "context": context}.get(kind)
    if world is None:  # means of all runs, and then of each
        normal = mb.DriftingEnvironment(mb.GaussianEnvironment(early), to=late, over=9)
        world = mb.PiecewiseEnvironment([normal, mb.AvailabilityEnvironment(Rows(pieces), 0.5)], [7])
    diary = Noted(mb.AvailabilityEnvironment(world, chance))
    result = simulate(diary, matroid=matroid, minimize=minimize, n_episodes=n_episodes, n_runs=n_runs, seed=seed)
    sign = -1.0 if minimize else 1.0
    optima = np.zeros((n_runs, n_episodes))
    for run in range(n_runs):
        regret = 0.0
        for t in range(1, n_episodes + 1):
            means = np.broadcast_to(world.means(t, Stream(seed, [run], FEATURES)), (1, n))[0]
            mask = diary.availability(Stream(seed, [run], AVAILABILITY), t)
            items = range(n) if mask is None else np.flatnonzero(mask[0]).tolist()
            best = reference.greedy(sorted(items, key=lambda e: (-sign * means[e], e)), is_independent)
            played = sorted(diary.asked.get((run, t), []))
            optima[run, t - 1] = added(means[sorted(best)].tolist())
            regret += sign * (optima[run, t - 1] - added(means[played].tolist()))
        assert result.final_regret[0, run] == pytest.approx(regret, abs=1e-12)
        assert result.final_regret[0, run] >= -1e-12
    so_far = optima.mean(axis=0).cumsum() / np.arange(1, n_episodes + 1)
    assert result.optimum == pytest.approx(so_far[result.checkpoints - 1], abs=1e-12)
    assert result.optimal_value == result.optimum[-1]


class Noted(mb.AvailabilityEnvironment):
    """Another world, and a note of every item it was asked for."""

    def __init__(self, environment):
        super().__init__(environment, 1.0)
        self.asked = {}

    def draw(self, stream, t, items):
        if stream.purpose == WEIGHTS:
            for run, row in zip(stream.runs.tolist(), items.tolist(), strict=True):
                self.asked.setdefault((run, t), []).extend(row)
        return super().draw(stream, t, items)


def test_whoever_knows_the_future_has_no_regret():
    class Oracle(mb.Policy):
        tries_unseen = False

        def indices(self, state, request):
            means = drift.means(request.episode, request.stream)
            return np.tile(-means if state.minimize else means, (state.n_runs, 1))

    drift = mb.DriftingEnvironment(DAY, amplitude=0.1, period=10, phase=np.linspace(0, 1, 8))
    for minimize in (False, True):
        for world in (drift, mb.AvailabilityEnvironment(mb.DelayedEnvironment(drift, 2), 0.5)):
            result = simulate(world, [Oracle(), mb.OMM()], minimize=minimize, n_episodes=200)
            assert not result.final_regret[0].any()
            assert (result.final_regret[1] > 0.0).all()


@pytest.mark.compiled
def test_returns_do_not_pass_the_optimum():
    """Regret of chance: the gap between the best set's means and those of an average one, episode by episode."""
    drift = mb.DriftingEnvironment(mb.BernoulliEnvironment([0.5] * 8), amplitude=0.4, period=50, phase=TENTHS)
    result = simulate(drift, [mb.UniformRandom()], n_episodes=400, n_runs=50)
    means = np.array([drift.means(t, None) for t in range(1, 401)])
    gaps = np.sort(means, axis=1)[:, -3:].sum(axis=1) - 3 * means.mean(axis=1)
    assert abs(result.regret[0, -1] - gaps.sum()) <= 5 * result.regret_se[0, -1]
    assert result.realised_per_step_return[0, -1] < result.optimal_value


@pytest.mark.parametrize(
    "world", [CLOCK, VISITS, mb.DelayedEnvironment(VISITS, 3)], ids=["pieces", "context", "late"]
)
def test_a_run_is_the_same_in_any_batch(world):
    many = simulate(world, n_runs=7)
    few = simulate(world, n_runs=3)
    assert np.array_equal(many.final_regret[:, :3], few.final_regret)
    assert np.array_equal(many.final_returns[:, :3], few.final_returns)


def test_the_optimum_of_a_piece_is_found_once(monkeypatch):
    found, solve = [], mb.Problem.best_sets

    def counted(self, means, available=None):
        found.append(means.shape[0])
        return solve(self, means, available)

    monkeypatch.setattr(mb.Problem, "best_sets", counted)
    agent = {"n_episodes": 300, "n_runs": 1, "engine": "greedy"}
    simulate(mb.PiecewiseEnvironment([DAY, NIGHT, DAY, NIGHT], [100, 150, 290]), **agent)
    assert sum(found) == 4
    found.clear()
    simulate(mb.DriftingEnvironment(DAY, amplitude=0.1), **agent)
    assert sum(found) == 300
    assert len(found) == math.ceil(300 / 64)  # many episodes at once
    found.clear()
    simulate(DAY, **agent)
    assert not found


def test_means_are_not_asked_for_where_they_stay():
    class Shy(mb.AvailabilityEnvironment):
        """A wrapper, as far as simulations know, of an environment whose means must not be asked for."""

    class Coins(mb.BernoulliEnvironment):
        def draw(self, stream, t, items):
            assert stream.purpose != FEATURES
            return super().draw(stream, t, items)

    world = Shy(Coins(TENTHS), 1.0)
    assert world.is_stationary
    assert simulate(world) == simulate(DAY)


def test_means_are_there_in_every_episode_or_in_none():
    class Sometimes(Outspoken):
        def means(self, t, stream):
            return None if t == 9 else TENTHS

    with pytest.raises(
        InvalidEnvironmentError, match="expected means in every episode or in none; got none in episode 9"
    ):
        simulate(Sometimes(DAY))


# What is not known


@pytest.fixture(scope="module")
def blind():
    return simulate(Silent(), {"OMM": mb.OMM(), "chance": mb.UniformRandom()}, keep_runs=True)


def test_regret_is_nan_where_means_are_not_known(blind):
    for values in (blind.regret, blind.regret_se, blind.final_regret, blind.run_regret, blind.per_step_return):
        assert np.isnan(values).all()
    assert math.isnan(blind.optimal_value)
    assert not blind.is_regret_known
    assert blind.optimum is None
    assert np.isfinite(blind.returns).all()
    assert (blind.choices.sum(axis=1) == 4 * 60 * 3).all()
    wrapped = simulate(mb.DelayedEnvironment(mb.AvailabilityEnvironment(Silent(), 0.7), 2))
    assert np.isnan(wrapped.regret).all()
    assert np.isnan(simulate(mb.PiecewiseEnvironment([DAY, Silent()], [30])).regret).all()


def test_a_summary_says_why_there_is_no_regret(blind):
    text = blind.summary()
    assert "optimum and regret not known, since the environment does not say its means" in text
    assert "realised return per step" in text
    assert "nan" not in text
    assert f"{blind.realised_per_step_return[0, -1]:.4f}" in text
    assert "does not say its means" in blind._repr_html_()
    assert "regret not known" in repr(blind["OMM"])
    best, other = blind.policies if blind.returns[0, -1] > blind.returns[1, -1] else blind.policies[::-1]
    rows = {line.split(" & ")[0]: line for line in blind.to_latex().splitlines()}
    assert r"\textbf" in rows[best]
    assert "not known" in rows[other]
    assert blind.to_frame()["regret"].isna().all()


def test_what_is_not_known_can_be_saved(blind, tmp_path):
    blind.save(tmp_path / "blind.npz")
    assert mb.SimulationResult.load(tmp_path / "blind.npz") == blind
    assert blind != simulate(DAY, {"OMM": mb.OMM(), "chance": mb.UniformRandom()}, keep_runs=True)
    edit(tmp_path / "blind.npz", header={"optimal_value": 1.0})
    with pytest.raises(SerializationError, match="expected regret to be finite"):
        mb.SimulationResult.load(tmp_path / "blind.npz")
    blind.save(tmp_path / "blind.npz")
    edit(tmp_path / "blind.npz", arrays={"final_regret": np.zeros((2, 4))})
    with pytest.raises(SerializationError, match="expected final_regret to be NaN, since the optimum is not known"):
        mb.SimulationResult.load(tmp_path / "blind.npz")


def test_a_plot_without_regret(blind):
    figure = blind.plot()
    (axes,) = figure.axes
    assert axes.get_title() == "Per-step realised return"
    assert [line.get_label() for line in axes.lines] == ["OMM", "chance"]
    two = figure.subplots(1, 2)
    blind.plot(ax=two)
    assert [axes.get_title() for axes in two] == ["Cumulative regret (not known)", "Per-step realised return"]
    with pytest.raises(SimulationError, match=r"expected no bounds, .* this environment's means are not known"):
        blind.plot(bounds={"mine": np.ones(blind.checkpoints.size)})


# Results of what moves


@pytest.fixture(scope="module")
def seen():
    return simulate(CLOCK, n_runs=6)


def test_a_result_carries_the_curve_of_the_optimum(seen, tmp_path):
    assert seen.optimum == pytest.approx(np.full(seen.checkpoints.size, 2.1))
    assert (
        "optimum 2.1000 per step on average; means change, and regret is against each episode's own" in seen.summary()
    )
    assert "means change" in seen._repr_html_()
    seen.save(tmp_path / "seen.npz")
    assert mb.SimulationResult.load(tmp_path / "seen.npz") == seen
    for wrong in (seen.optimum + 1.0, np.full(seen.optimum.size, math.nan)):
        edit(tmp_path / "seen.npz", arrays={"optimum": wrong})
        with pytest.raises(SerializationError, match="expected optimum to be finite and to end in optimal_value"):
            mb.SimulationResult.load(tmp_path / "seen.npz")
    edit(tmp_path / "seen.npz", arrays={"optimum": np.ones(3)})
    with pytest.raises(SerializationError, match="'optimum' to be float64 of shape"):
        mb.SimulationResult.load(tmp_path / "seen.npz")


def test_a_plot_with_an_optimum_that_moves():
    result = simulate(mb.DriftingEnvironment(DAY, to=TENTHS / 2, over=60))
    figure = result.plot()
    (line,) = [line for line in figure.axes[1].lines if line.get_label() == "optimum"]
    assert np.array_equal(line.get_ydata(), result.optimum)
    assert result.optimum[0] > result.optimum[-1]
    with pytest.raises(SimulationError, match=r"expected no bounds, .* this environment's means change"):
        result.plot(bounds={"mine": np.ones(result.checkpoints.size)})


@pytest.mark.parametrize(
    ("world", "blocks"), [(CLOCK, ["policies"]), (Silent(), ["policies"])], ids=["moves", "blind"]
)
def test_a_chapter_on_what_moves(world, blocks):
    policies = {"OMM": mb.OMM()}
    problem = mb.Problem(U, world)
    result = mb.simulate(problem, policies, n_episodes=60, n_runs=3, seed=5)
    chapter = simulation_chapter(problem, policies, result, name="m", title="M", description="Moves.")
    assert [table.name for table in chapter.tables] == blocks
    (record,) = chapter.records["trials"]
    assert record["optimal_basis"] is None
    assert record["rank"] == 3
    (table,) = chapter.tables
    if world is CLOCK:
        assert table.texts()[0][0] == "optimal (each episode's)"
        assert record["optimum"] == pytest.approx(2.1)
    else:
        assert [row[0] for row in table.texts()] == ["OMM"]
        assert table.texts()[0][-1] == "–"
        assert "does not say its means" in table.note
        assert record["optimum"] is None


# Problems


def test_a_problem_has_the_optimum_of_each_episode():
    problem = mb.Problem(U, CLOCK)
    stream = Stream(0, range(2))
    items, sizes, values = problem.optimum(1, stream)
    assert items.tolist() == [[5, 6, 7]] * 2
    assert sizes.tolist() == [3, 3]
    assert values == pytest.approx([2.1, 2.1])
    assert problem.optimum(20, stream)[0].tolist() == [[0, 1, 2]] * 2
    mask = np.tile(np.arange(8) < 7, (2, 1))
    assert problem.optimum(1, stream, mask)[0].tolist() == [[4, 5, 6]] * 2
    assert problem.rank == 3
    least = mb.Problem(U, CLOCK, minimize=True)
    assert least.optimum(1, stream)[0].tolist() == [[0, 1, 2]] * 2
    fixed = mb.Problem(U, DAY)
    assert fixed.optimum(9, stream)[2] == pytest.approx(fixed.optimal_value)
    each = mb.Problem(U, VISITS).optimum(3, Stream(0, range(50)))[0]
    assert np.unique(each, axis=0).shape[0] > 1


def test_one_optimum_is_not_defined_where_it_moves():
    problem = mb.Problem(U, CLOCK)
    for ask in (
        lambda: problem.optimal_basis,
        lambda: problem.optimal_value,
        lambda: problem.gains,
        lambda: problem.optimal_order,
        lambda: problem.suboptimal_items,
        problem.gaps,
        problem.n_better,
        lambda: mb.bounds.decompose_regret(problem, [0, 1, 2]),
    ):
        with pytest.raises(
            ProblemError, match=r"one optimum, .* got <PiecewiseEnvironment.*optimum\(t, stream\) has"
        ):
            ask()
    with pytest.raises(ProblemError, match="expected an environment that knows its means; got <Silent"):
        mb.Problem(U, Silent()).optimum(1, Stream(0, [0]))


# Odd means


def test_means_may_be_views_and_may_be_written_to_again():
    """A row that is broadcast to all runs, and one array that is used again for every episode."""

    class Broadcast(Outspoken):
        def means(self, t, stream):
            return np.broadcast_to(self.environment.means(t, stream), (stream.n_runs, 8))

    class Reused(Outspoken):
        def means(self, t, stream):
            row = self.__dict__.setdefault("row", np.empty(8))
            row[:] = self.environment.means(t, stream)
            return row

    expected = simulate(Outspoken(CLOCK), n_runs=1)
    for kind in (Broadcast, Reused):
        assert simulate(kind(CLOCK), n_runs=1) == expected
