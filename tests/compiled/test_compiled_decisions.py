"""Compiled episodes make the decisions of an `Agent`; returns, regret and choices have the same bits."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
from compiled_cases import differences, kernels, play_agent, play_compiled, settings_of  # noqa: F401 - a fixture
from episode_cases import DELAYS, DIRECTIONS, FAMILIES, POLICIES, STARTS, WORLDS, crossed, is_sound, pairwise
from matroid_bandits.compiled import Misfit, Settings, _kernels, _late, _ready
from matroid_bandits.compiled._families import kernel_of
from matroid_bandits.exceptions import InvalidMatroidError
from matroid_bandits.kernels import compiling, selection


@pytest.mark.parametrize("case", crossed(pairwise(), DELAYS), ids=lambda case: " ".join(map(str, case)))
def test_decisions_and_totals_are_those_of_an_agent(case):
    """At once and late, whole and in parts."""
    policy = POLICIES[case[1]]
    for same in (case[:5], case):
        common = settings_of(same, 9, 6, 3, checkpoints=[1, 2, 4])
        whole = play_agent(policy, common)
        assert differences(play_compiled(policy, common), whole) == []
        apart = settings_of(same, 9, 6, 3, by_run=True)
        cuts = [play_compiled(policy, apart, *cut) for cut in ((0, 1), (1, 3))]
        assert differences(cuts[1], play_agent(policy, apart, 1, 3)) == []
        assert np.array_equal(np.concatenate([each.choices for each in cuts]).sum(axis=0), whole.choices)


def test_cases_play_in_all_kernels():
    """The small ones and the large ones, by what is played and not by how much."""
    names = {
        kernel_of(settings_of(same, 9, 6, 3).forms, POLICIES[case[1]])
        for case in crossed(pairwise(), DELAYS)
        for same in (case[:5], case)
    }
    assert names == set(_ready.KERNELS)


@pytest.mark.parametrize(
    ("name", "case", "n_items"),
    [
        ("play_quotas", ("uniform", "OMM", "gaussian", "observe", False), 40),
        ("play_quotas", ("partition", "beta", "drift", "explore", True), 40),
        ("play_quotas", ("uniform", "KL", "bernoulli", "observe", False), 40),
        ("play_quotas_any", ("uniform", "KL", "bernoulli", "observe", False), 1_500),  # heaps
        ("play_quotas_any", ("uniform", "OMM", "bernoulli", "observe", False), 2**15),  # tournaments
        ("play_forest", ("graph", "KL", "bernoulli", "observe", False), 1_500),
        ("play_forest", ("graph", "epsilon", "exponential", "observe", False), 40),
        ("play_forest_any", ("graph", "epsilon", "exponential", "observe", False, "fixed"), 40),
        ("play_forest_any", ("graph", "OMM", "rows", "observe", False), 40),
        ("play_forest_any", ("graph", "OMM", "piecewise", "observe", False), 40),  # some of it rows
        ("play_nested_any", ("laminar", "window", "bernoulli", "observe", False), 40),
    ],
    ids=lambda each: str(each),
)
def test_the_kernel_follows_from_the_form_of_the_problem(name, case, n_items):
    settings = settings_of(case, n_items, 6, 3)
    assert kernel_of(settings.forms, POLICIES[case[1]]) == name


@pytest.mark.compiled
@pytest.mark.parametrize("n_items", [40, 300])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("policy", ["OMM", "epsilon", "discounted", "window"])
def test_longer_runs_of_more_items(family, policy, n_items):
    """Orders that are repaired and sorted, and selection among many."""
    for world in ("ties", "exponential"):
        common = settings_of((family, policy, world, "explore", world != "ties"), n_items, 400, 3, checkpoints=[7])
        assert differences(play_compiled(POLICIES[policy], common), play_agent(POLICIES[policy], common)) == []


@pytest.mark.compiled
@pytest.mark.parametrize("family", ["uniform", "graph"])
@pytest.mark.parametrize("policy", POLICIES)
def test_longer_runs_of_late_answers(family, policy):
    """Plays that wait beside others of the same item, weights that fade to nothing, windows that are over."""
    for delay in DELAYS:
        common = settings_of(
            (family, policy, "rows", "explore", delay == "fixed", delay), 40, 200, 3, checkpoints=[7]
        )
        assert differences(play_compiled(POLICIES[policy], common), play_agent(POLICIES[policy], common)) == []


@pytest.mark.parametrize("world", ["ties", "exponential"])
def test_trees_of_many_edges_are_contracted(world):
    """Long enough to refer to three trees, in runs that begin anew."""
    rng = np.random.default_rng(8)
    edges = [*((v, v + 1) for v in range(70)), *_chords(80, rng)]
    problem = mb.Problem(mb.GraphicMatroid(edges), WORLDS[world](150, rng), minimize=True)
    common = Settings(problem, 20, 2, 5, "explore", np.array([3, 20]))
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []


def _chords(n, rng):
    return [tuple(rng.choice(71, 2, replace=False).tolist()) for _ in range(n)]


_NAMES = st.tuples(
    *(st.sampled_from(list(each)) for each in (FAMILIES, POLICIES, WORLDS, STARTS, DIRECTIONS)),
    st.sampled_from([None, *DELAYS]),
).map(lambda case: case if case[5] else case[:5])


@pytest.mark.compiled
@settings(max_examples=20, deadline=None)
@given(_NAMES.filter(is_sound), st.integers(8, 70), st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**64 - 1))
def test_random_problems(case, n_items, n_episodes, n_runs, seed):
    policy = POLICIES[case[1]]
    common = settings_of(case, n_items, n_episodes, n_runs, seed, by_run=bool(seed % 2))
    assert differences(play_compiled(policy, common), play_agent(policy, common)) == []


def _interpreted(monkeypatch, name):
    """Play a kernel in Python, and what it calls, so that this can be replaced."""
    monkeypatch.setattr(compiling, "_tier", "interpreted")
    kernel = _ready.KERNELS[name]
    monkeypatch.setitem(_ready.KERNELS, name, SimpleNamespace(compiled=getattr(kernel, "py_func", kernel)))
    monkeypatch.setattr(_ready, "is_interpreted", lambda: True)


def _last_of_equals(row, starts, members, capacities, marks, *room):
    """The best of one cell, equal values by larger item."""
    *_, items = room
    selection.choose_cells(np.ascontiguousarray(row[::-1]), starts, members, capacities, marks, *room)
    items[:] = np.sort(row.size - 1 - items)


def _stale(row, starts, members, capacities, marks, *room):
    """The first values that reach last episode's threshold, whether there are better ones or not."""
    *_, items = room
    marks[0, 0] = np.sort(row)[0] if np.isinf(marks[0, 0]) else marks[0, 0]
    items[:] = np.flatnonzero(row >= marks[0, 0])[: items.size]


def test_the_wrong_order_of_equals_and_a_stale_threshold_are_noticed(monkeypatch):
    case = ("uniform", "OMM", "ties", "explore", False)
    common = settings_of(case, 9, 6, 2)
    _interpreted(monkeypatch, "play_quotas")
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []
    for mutation in (_last_of_equals, _stale):
        monkeypatch.setattr(_kernels, "choose_few", mutation)
        assert "choices" in differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common))


def test_the_wrong_order_of_equals_is_noticed_in_orders(monkeypatch):
    common = settings_of(("graph", "OMM", "ties", "explore", False), 12, 6, 2)
    _interpreted(monkeypatch, "play_forest")
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []
    repair_row = _kernels.repair_row

    def careless(classes, starts, members, indices, *room):
        return repair_row(classes, starts, members, indices + 1e-12 * np.arange(indices.size), *room)

    monkeypatch.setattr(_kernels, "repair_row", careless)
    assert "choices" in differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common))


def _early(expect):
    """Answers that are learnt an episode before they are due."""

    def found(queue, delays, *rest):
        return expect(queue, (delays[0] - 1, *delays[1:]), *rest)

    return found


def _patient(wait):
    """Plays that wait and narrow no radius."""

    def found(policy, row, state, *rest):
        radii = state[3].copy()
        wait(policy, row, state, *rest)
        state[3][:] = radii

    return found


@pytest.mark.parametrize(("name", "mutation"), [("expect", _early), ("wait", _patient)])
def test_answers_that_come_early_and_radii_that_do_not_narrow_are_noticed(monkeypatch, name, mutation):
    common = settings_of(("uniform", "OMM", "bernoulli", "observe", False, "fixed"), 9, 6, 2)
    _interpreted(monkeypatch, "play_quotas_any")
    learn_late = _late.learn_late
    monkeypatch.setattr(_kernels, "learn_late", getattr(learn_late, "py_func", learn_late))
    assert differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common)) == []
    monkeypatch.setattr(_late, name, mutation(getattr(_late, name)))
    assert "choices" in differences(play_compiled(mb.OMM(), common), play_agent(mb.OMM(), common))


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [mb.OMM(), mb.DiscountedOMM(0.5)], ids=repr)
@pytest.mark.parametrize("world", ["ties", "gaussian"])
def test_tournaments_of_many_items(policy, world):
    """As many items as the kinetic engine takes, in which tournaments are followed, rest, and begin anew."""
    rng = np.random.default_rng(3)
    for matroid in (mb.UniformMatroid(40_000, 40), mb.PartitionMatroid(rng.integers(0, 40, 40_000), 1)):
        problem = mb.Problem(matroid, WORLDS[world](40_000, rng))
        common = Settings(problem, 250, 1, 5, "observe", np.array([3, 250]))
        assert differences(play_compiled(policy, common), play_agent(policy, common)) == []


@pytest.mark.compiled
@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("name", ["KL", "KL-UCB++", "single seed", "MOSS", "CL-SG"])
def test_heaps_of_many_items(name, minimize):
    """As many items as the engine of count classes takes; continuous weights, and ties, and heaps that rest."""
    rng, policy = np.random.default_rng(3), POLICIES[name]
    n = 2**15 if name in ("MOSS", "CL-SG") else 1_500
    blocks = mb.PartitionMatroid(rng.integers(0, 9, n), dict(enumerate([0, 1, 2, 3, 4, 5, 6, 7, n])))
    for matroid in (mb.UniformMatroid(n, 15), blocks):
        for world, start in (("ties", "observe"), ("beta", "explore")):
            problem = mb.Problem(matroid, WORLDS[world](n, rng), minimize)
            common = Settings(problem, 60 if n < 2_000 else 30, 2, 5, start, np.array([3, 60 if n < 2_000 else 30]))
            assert differences(play_compiled(policy, common), play_agent(policy, common)) == []


def test_many_items_of_nested_quotas_are_left_to_count_classes():
    n = 40_000
    problem = mb.Problem(
        mb.LaminarMatroid(n, [(range(n), 2), (range(n // 2), 1)]), mb.BernoulliEnvironment(np.full(n, 0.5))
    )
    with pytest.raises(Misfit, match="nested quotas are followed by the engine of count classes"):
        play_compiled(mb.MOSS(), Settings(problem, 2, 1, 5, "observe", np.array([2])))


@pytest.mark.parametrize(
    ("policy", "delay", "words"),
    [
        (mb.SlidingWindowOMM(2**40), (), "has more plays than are kept in memory"),
        (mb.DiscountedThompson(0.5), (), "over more episodes than are tabulated"),
        (mb.DiscountedOMM(0.5), ("fixed",), "over more episodes than are tabulated"),
    ],
)
def test_memory_that_would_not_fit_is_left_to_an_agent(policy, delay, words):
    case = ("uniform", "OMM", "bernoulli", "observe", False, *delay)
    with pytest.raises(Misfit, match=words):
        play_compiled(policy, settings_of(case, 9, 2**30, 1))


def test_plays_that_wait_have_room_for_the_longest_delay():
    world = mb.BernoulliEnvironment(np.full(9, 0.5))
    most = int(52 * np.log(2) / np.log1p(2.0**-20))  # of the largest uniform, 1 - 2**-53, where half never come
    geometric = mb.DelayedEnvironment(world, mean=2**20, never=0.5)
    for delays, longest in ((mb.DelayedEnvironment(world, 2**40), 2**30 - 1), (geometric, most)):
        settings = Settings(mb.Problem(mb.UniformMatroid(9, 3), delays), 2**30, 1, 1, "observe", np.array([2**30]))
        assert settings.forms.longest_delay(2**30) == longest
        with pytest.raises(Misfit, match=f"up to {longest:,} episodes late have more plays waiting than are kept"):
            play_compiled(mb.OMM(), settings)
        assert settings.forms.longest_delay(7) == 6


def test_many_items_of_nested_quotas_of_a_window_or_late_are_left_to_the_kinetic_engine():
    n = 40_000
    nested = mb.LaminarMatroid(n, [(range(n), 2), (range(n // 2), 1)])
    world = mb.BernoulliEnvironment(np.full(n, 0.5))
    uniform, late = mb.UniformMatroid(n, 2), mb.DelayedEnvironment(world, 1)
    for matroid, environment, policy in (
        (nested, world, mb.OMM()),
        (uniform, world, mb.SlidingWindowOMM(5)),
        (uniform, late, mb.OMM()),
    ):
        common = Settings(mb.Problem(matroid, environment), 2, 1, 5, "observe", np.array([2]))
        with pytest.raises(Misfit, match="followed by the kinetic engine"):
            play_compiled(policy, common)


def test_vectors_too_close_to_dependent_are_left_to_an_agent():
    """Which says what is wrong; here bases have different sizes."""
    vectors = [[1.0, 0.0], [1.0, 3e-9], [1.0, 1.5e-9], [1.0, 0.0]]
    problem = mb.Problem(mb.LinearMatroid(vectors), mb.BernoulliEnvironment([0.1, 0.2, 0.9, 0.8]))
    assert problem.constraint.rank == 2
    with pytest.raises(InvalidMatroidError, match="not clear at tolerance"):
        mb.simulate(problem, mb.OMM(), n_episodes=200, n_runs=2, seed=0, start="explore")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "other", [mb.ThompsonSampling("normal", noise=0.5), mb.EpsilonGreedy(0.5)], ids=["normal", "epsilon"]
)
def test_policies_of_the_same_number_share_no_table(other):
    problem = mb.Problem(mb.UniformMatroid(6, 2), mb.BernoulliEnvironment(np.arange(1, 7) / 7))
    policies = {"other": other, "fading": mb.DiscountedThompson(0.5)}
    mb.warm_up(problem, policies)
    found, expected = (
        mb.simulate(problem, policies, n_episodes=200, n_runs=3, seed=3, engine=engine)
        for engine in ("auto", "greedy")
    )
    assert np.array_equal(found.choices, expected.choices)
    assert np.array_equal(found.final_returns, expected.final_returns)
