"""Every engine answers requests that mask, exclude and pin items as the plain greedy does, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.agent import Agent
from matroid_bandits.engines import ENGINES, CountClassesEngine, Engine, KineticEngine, ThresholdEngine
from matroid_bandits.stream import POLICY, Stream
from samples import OftenRebased


def quota_matroids(rng, n):
    """Quotas side by side, one in the other, under a truncation, with items that are always chosen or never."""
    blocks = rng.integers(0, max(n // 8, 1), n)
    half, third = np.arange(n // 2), np.arange(n // 3)
    laminar = mb.LaminarMatroid(n, [(np.arange(n), max(n // 5, 1)), (half, max(n // 9, 1)), (third, 1)])
    return [
        mb.UniformMatroid(n, max(n // 10, 1)),
        mb.UniformMatroid(n, n - 1),
        mb.PartitionMatroid(blocks, {int(b): int(b) % 3 for b in np.unique(blocks)}),
        laminar,
        mb.LaminarMatroid(n, [(half, 2)]).truncate(n // 2 + 2),
        mb.PartitionMatroid(blocks, 2).truncate(max(n // 12, 1)),
        mb.direct_sum(mb.UniformMatroid(n // 2, n // 4), laminar, mb.UniformMatroid(3, 3)),
    ]


def fitting(matroid, policy):
    left_out = {
        "kinetic": not KineticEngine.fits(matroid, policy),
        "threshold": not ThresholdEngine.fits(matroid),
        "classes": not CountClassesEngine.fits(matroid, policy),
    }
    return [name for name in ENGINES if not left_out.get(name, False)]


def draw_request(rng, t, own, matroid, last):
    """A request: half of them plain, the others with some of mask, exclusion and pins."""
    n, n_runs = matroid.n_items, own.n_runs
    available = excluded = pinned = None
    if rng.random() < 0.5:
        return mb.Request(t, own)
    share = rng.choice([0.1, 0.5, 0.9, 1.0])
    if rng.random() < 0.4:
        available = rng.random(n if rng.random() < 0.5 else (n_runs, n)) < share
    if rng.random() < 0.5:
        excluded = np.unique(last) if rng.random() < 0.5 else np.flatnonzero(rng.random(n) < rng.random() * share)
    if rng.random() < 0.5:
        basis = matroid.max_weight_basis(rng.random(n))
        pinned = rng.permutation(basis)[: rng.integers(0, basis.size + 1)]
    return mb.Request(t, own, available, excluded, pinned)


def check_trajectory(matroid, policy, rng, n_episodes, *, n_runs=2, minimize=False):
    """Play all engines side by side; answers come at once, late, in parts or never."""
    own = Stream(0, range(n_runs)).with_purpose(POLICY)
    names = fitting(matroid, policy)
    agents = [Agent(matroid, policy, n_runs=n_runs, minimize=minimize, engine=name) for name in names]
    last = np.empty(0, np.int64)
    for t in range(1, n_episodes + 1):
        request = draw_request(rng, t, own, matroid, last)
        plays = [agent.decide(request) for agent in agents]
        runs, last = plays[0].cells()
        for name, play in zip(names[1:], plays[1:], strict=True):
            assert np.array_equal(play.sizes, plays[0].sizes), (name, request)
            assert np.array_equal(play.cells()[1], last), (name, request)
        if rng.random() < 0.5:
            weights = rng.integers(0, 3, runs.size) / 2
            for agent, play in zip(agents, plays, strict=True):
                agent.learn(play, weights)
        while agents[0].open and rng.random() < 0.4:  # some of what is open, in any order
            id = int(rng.choice(list(agents[0].open)))
            places = rng.permutation(agents[0].open[id].untold())
            places = places[: rng.integers(0, max(places.size, 1)) + 1]
            weights, is_answer = rng.integers(0, 3, places.size) / 2, rng.random() < 0.7
            for agent in agents:
                if is_answer:
                    agent.learn(agent.open[id], weights, places)
                else:
                    agent.close([(agent.open[id], places)])


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_engines_agree_on_random_matroids_and_requests(data):
    matroid, _ = data.draw(strategies.nested())
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    faded = [mb.DiscountedOMM(0.9), OftenRebased(0.3, 1.0)]
    policy = data.draw(
        st.sampled_from([mb.OMM(), mb.OMM(0.0), mb.OMM(6.5), mb.EpsilonGreedy(0.3), mb.KLOSM(), *faded])
    )
    check_trajectory(matroid, policy, rng, 25, n_runs=data.draw(st.integers(1, 2)), minimize=data.draw(st.booleans()))


@pytest.mark.compiled
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_items=st.integers(24, 160), n_runs=st.integers(1, 2))
def test_engines_agree_on_quotas_and_requests(seed, n_items, n_runs):
    rng = np.random.default_rng(seed)
    for matroid in quota_matroids(rng, n_items):
        for policy in (mb.OMM(rng.choice([0.0, 1.0, 3.0])), OftenRebased(rng.choice([0.3, 0.9, 0.999]), 0.3)):
            check_trajectory(matroid, policy, rng, 30, n_runs=n_runs)


@pytest.mark.long
@pytest.mark.compiled
def test_long_trajectories_of_requests_stay_exact(monkeypatch):
    """Also that tournaments and scans both had their share."""
    answers = []
    choose = KineticEngine._choose_beside

    def spy(self, c, request):
        answers.append(choose(self, c, request))
        return answers[-1]

    monkeypatch.setattr(KineticEngine, "_choose_beside", spy)
    rng = np.random.default_rng(20)
    for matroid in quota_matroids(rng, 400):
        check_trajectory(matroid, mb.OMM(), rng, 400, n_runs=1)
        check_trajectory(matroid, OftenRebased(0.98), rng, 300, n_runs=1)
    n_scans = sum(answer is None for answer in answers)
    assert 0.01 * len(answers) < n_scans < 0.5 * len(answers)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), engine=st.sampled_from(["greedy", "warm", "kinetic", "classes"]))
def test_masks_that_hide_nothing_change_nothing(data, engine):
    seed = data.draw(st.integers(0, 10**6))
    matroid = data.draw(st.sampled_from(quota_matroids(np.random.default_rng(seed), 40)))
    own, nothing = Stream(0, range(2)).with_purpose(POLICY), np.empty(0, np.int64)
    n = matroid.n_items
    full = [
        {"available": np.ones(n, bool)},
        {"available": np.ones((2, n), bool)},
        {"excluded": nothing},
        {"available": np.ones(n, bool), "excluded": nothing, "pinned": nothing},
    ]
    plain, masked = (Agent(matroid, mb.OMM(), n_runs=2, engine=engine) for _ in range(2))
    rng = np.random.default_rng(seed)
    for t in range(1, 40):
        plays = plain.decide(mb.Request(t, own)), masked.decide(mb.Request(t, own, **full[t % 4]))
        assert np.array_equal(plays[0].items, plays[1].items)
        assert np.array_equal(plays[0].sizes, plays[1].sizes)
        if rng.random() < 0.7:
            weights = rng.random(plays[0].items.shape)
            plain.learn(plays[0], weights)
            masked.learn(plays[1], weights)


@pytest.mark.parametrize("n_items", [200, pytest.param(40_000, marks=pytest.mark.compiled)])
def test_a_request_that_bars_a_few_reads_the_tournaments_and_leaves_them_as_they_are(n_items, monkeypatch):
    rng = np.random.default_rng(21)
    for matroid in (mb.UniformMatroid(n_items, 20), mb.PartitionMatroid(np.arange(n_items) % 9, 2).truncate(15)):
        agent = Agent(matroid, mb.OMM(), engine="kinetic")
        own = Stream(0, range(1)).with_purpose(POLICY)
        agent.observe(mb.Request(0, own), np.arange(n_items)[None], rng.random((1, n_items)))
        engine = agent._engine
        for t in range(1, 30):
            play = agent.decide(mb.Request(t, own))
            agent.learn(play, rng.random(play.items.shape))
        plain, _ = agent.choose(mb.Request(30, own))
        kept = [array.copy() for array in (engine._nodes[:, 3:], engine._reserves, engine._is_out)]
        pinned = plain[0, ::5].copy()
        requests = [
            mb.Request(30, own, excluded=plain[0]),
            mb.Request(30, own, pinned=pinned),
            mb.Request(30, own, excluded=np.setdiff1d(plain[0], pinned), pinned=pinned),
            mb.Request(30, own, available=rng.random(n_items) < 0.8, pinned=pinned),
        ]
        expected = [engine.scan(request) for request in requests]
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "scan", None)  # nobody looks at all items
            found = [agent.choose(request) for request in requests]
        for (items, sizes), (others, theirs) in zip(found, expected, strict=True):
            assert np.array_equal(items, others)
            assert np.array_equal(sizes, theirs)
        now = (engine._nodes[:, 3:], engine._reserves, engine._is_out)
        assert all(np.array_equal(old, new, equal_nan=True) for old, new in zip(kept, now, strict=True))
        assert not engine._is_barred.any()
        assert np.array_equal(agent.choose(mb.Request(30, own))[0], plain)


def test_what_is_barred_beyond_the_budget_is_scanned():
    """All the leaders are barred: the tournaments give up, and all items are looked at."""
    n_items, own = 300, Stream(0, range(1)).with_purpose(POLICY)
    agent = Agent(mb.UniformMatroid(n_items, 5), mb.OMM(), engine="kinetic")
    agent.observe(mb.Request(0, own), np.arange(n_items)[None], np.linspace(1.0, 0.0, n_items)[None])
    assert agent.choose(mb.Request(1, own, excluded=np.arange(290)))[0].tolist() == [[290, 291, 292, 293, 294]]
    assert agent.choose(mb.Request(1, own, excluded=np.arange(297)))[0].tolist() == [[297, 298, 299]]
    assert agent.choose(mb.Request(1, own))[0].tolist() == [[0, 1, 2, 3, 4]]
