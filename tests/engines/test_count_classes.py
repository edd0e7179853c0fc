"""Heaps of means per number of plays find the decisions of the plain greedy, bit for bit."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.agent import Agent
from matroid_bandits.engines import CountClassesEngine, Engine, GreedyEngine, make_engine
from matroid_bandits.exceptions import DecisionClosedError, PolicyError
from matroid_bandits.kernels import classes, forms
from matroid_bandits.policies import State, counted, evaluate
from matroid_bandits.stream import POLICY, Stream
from test_masks_and_pins import check_trajectory, quota_matroids


class Swinging(mb.Policy):
    """A coefficient that takes both signs, another one for every run."""

    def indices(self, state, request):
        with np.errstate(invalid="ignore"):
            return state.means + self._coefficients(request)[:, None] * state.radii

    def counted(self, minimize):
        return forms.CountForm(forms.AFFINE, 0.0, lambda state, request: self._coefficients(request))

    def _coefficients(self, request):
        return np.round(request.stream.run_normal(request.episode), 2)


POLICIES = {
    "OMM": mb.OMM(),
    "greedy": mb.OMM(0.0),
    "swinging": Swinging(),
    "MOSS": mb.MOSS(),
    "KL": mb.KLOSM(),
    "KL-UCB++": mb.KLUCBPlusPlus(),
    "CL-SG": mb.CLSG(1.0),
    "single seed": mb.SingleSeedThompson(),
    "restarting": mb.Restarting(mb.KLOSM(), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.6)),
}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(list(POLICIES)), minimize=st.booleans())
def test_random_quotas_with_ties_masks_pins_and_late_answers(data, name, minimize):
    """Weights 0, 1/2 and 1, so that means and indices are often equal."""
    matroid, _ = data.draw(st.one_of(strategies.uniform(), strategies.partition(), strategies.laminar()))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    check_trajectory(matroid, POLICIES[name], rng, 25, n_runs=data.draw(st.integers(1, 2)), minimize=minimize)


@pytest.mark.compiled
@pytest.mark.parametrize("name", POLICIES)
def test_longer_trajectories_on_larger_quotas(name):
    rng = np.random.default_rng(8)
    for matroid in quota_matroids(rng, 150):
        check_trajectory(matroid, POLICIES[name], rng, 60)


def both(matroid, policy, state):
    """The engine and its reference, on the same state."""
    return CountClassesEngine(matroid, policy, state), GreedyEngine(matroid, policy, state)


def close_means(rng, n_items):
    """Means that are equal, or differ by a few units in the last place."""
    base = rng.choice([0.1, 1 / 3, 0.7, 0.999999, 1.0 - 2**-53], n_items)
    return np.clip(base + rng.integers(-3, 4, n_items) * 2.0**-54, 0.0, 1.0)


@pytest.mark.parametrize("name", POLICIES)
def test_different_means_whose_indices_round_to_the_same_number(name):
    policy, rng, n_collisions = POLICIES[name], np.random.default_rng(4), 0
    for K in (1, 4, 30):
        matroid = mb.UniformMatroid(60, K)
        for _ in range(6):
            state = State(matroid, 3, policy=policy)
            state.restore(rng.integers(1, 4, (3, 60)), np.zeros((3, 60)))
            state.means[:] = close_means(rng, (3, 60))
            own, plain = both(matroid, policy, state)
            for t in (1, 2, 3, 50, 10**6, 10**14):
                request = mb.Request(t, Stream(int(rng.integers(99)), range(3), POLICY))
                assert np.array_equal(own.decide(request)[0], plain.decide(request)[0])
                U = evaluate(policy, state, request)
                for n in (1, 2, 3):
                    here = state.counts[0] == n
                    n_collisions += np.unique(state.means[0, here]).size > np.unique(U[0, here]).size
    assert n_collisions > (0 if name in ("greedy", "single seed") else 10) or name == "greedy"


def test_bounds_that_are_all_one_are_chosen_by_item():
    """A KL bound of one play is 1 for most means once t is large."""
    rng, matroid = np.random.default_rng(5), mb.UniformMatroid(300, 10)
    state = State(matroid, 1)
    state.restore(np.ones((1, 300), np.int64), rng.random((1, 300)))
    own, plain = both(matroid, mb.KLOSM(), state)
    request = mb.Request(10**12, Stream(0, [0], POLICY))
    assert (evaluate(mb.KLOSM(), state, request) == 1.0).sum() > 50
    assert np.array_equal(own.decide(request)[0], plain.decide(request)[0])


def check_heaps(engine):
    """Every item is once in the heap of its plays, below what has a larger mean; equal means are tied by item."""
    nodes, keys, slots, plays, links, heads, _ = engine._heaps
    state = engine.state
    expected = np.broadcast_to(np.asarray(state.plays, float), state.counts.shape)
    for run in range(state.n_runs):
        seen = []
        for cell in range(heads.shape[1]):
            slot, last = heads[run, cell], -1.0
            while slot >= 0:
                assert plays[run, slot] > last
                last = plays[run, slot]
                stack = [(int(links[run, slot, 0]), -1)]
                while stack:
                    e, above = stack.pop()
                    left, right, up, tied = (int(each) for each in nodes[run, e])
                    assert (up, slots[run, e], engine._cells[e]) == (above, slot, cell)
                    assert (keys[run, e], plays[run, slot]) == (state.means[run, e], expected[run, e])
                    assert above < 0 or keys[run, above] > keys[run, e]
                    seen.append(e)
                    stack += [(child, e) for child in (left, right) if child >= 0]
                    members = [(tied, e)] if tied >= 0 else []
                    while members:
                        member, smaller = members.pop()
                        left, right, up, mark = (int(each) for each in nodes[run, member])
                        assert (up, mark, keys[run, member]) == (smaller, -2, keys[run, e])
                        assert smaller < member
                        assert slots[run, member] == slot
                        seen.append(member)
                        members += [(child, member) for child in (left, right) if child >= 0]
                slot = links[run, slot, 1]
        assert sorted(seen) == list(range(state.n_items))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n_values=st.sampled_from([1, 2, 5, 1000]))
def test_heaps_are_what_they_should_be_after_any_changes(seed, n_values):
    rng = np.random.default_rng(seed)
    matroid = mb.PartitionMatroid(rng.integers(0, 3, 40), 2)
    state = State(matroid, 2)
    state.restore(rng.integers(0, 3, (2, 40)), np.zeros((2, 40)))
    engine = CountClassesEngine(matroid, mb.MOSS(), state)
    engine.decide(mb.Request(1, Stream(0, range(2), POLICY)))
    for _ in range(60):
        runs, items = rng.integers(0, 2, 3), rng.permutation(40)[:3]
        state.counts[runs, items] = rng.integers(0, 6, 3)
        state.means[runs, items] = rng.integers(0, n_values, 3) / n_values
        engine.refresh(runs, items)
        check_heaps(engine)


def learner_steps(rng, learner_names):
    """Things that happen to a learner, as functions of it; the same for all learners."""
    n = len(learner_names)
    kind, id = rng.integers(0, 10), int(rng.integers(1, 200))
    weights = {name: float(rng.integers(0, 3)) / 2 for name in learner_names}
    if kind == 0:
        names = [*rng.permutation(learner_names)[: max(4, n - 2)].tolist(), f"new {id}"]
        priors = {f"new {id}": (0.5, float(rng.choice([1.0, 2.5])))} if rng.random() < 0.7 else None
        return lambda learner: learner.change(mb.UniformMatroid(len(names), 3, labels=names), priors=priors)
    if kind == 1:
        some = rng.permutation(learner_names)[:2].tolist()
        return lambda learner: learner.restart(some)
    if kind == 2:
        return lambda learner: learner.ask(exclude=learner_names[:2], pinned=learner_names[2:3])
    if kind < 6:
        return lambda learner: learner.ask()

    def answer(learner):
        if learner.n_outstanding:
            decision = learner.outstanding[id % learner.n_outstanding]
            told = {item: weights.get(item, 0.5) for item in decision.labels}
            with suppress(DecisionClosedError):  # where some of its items have started anew
                learner.close(decision) if kind == 6 else learner.tell(decision, told)

    return answer


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(["KL", "MOSS", "CL-SG", "single seed", "OMM"]))
def test_learners_with_changes_priors_restarts_and_late_answers(seed, name):
    rng = np.random.default_rng(seed)
    start = mb.UniformMatroid(12, 3, labels=[f"item {e}" for e in range(12)])
    learners = [mb.Learner(start, POLICIES[name], seed=1, id="x", engine=each) for each in ("greedy", "classes")]
    for _ in range(40):
        step = learner_steps(rng, list(learners[0].constraint.labels))
        for learner in learners:
            step(learner)
        asked = [learner.preview() for learner in learners]
        assert asked[0].labels == asked[1].labels


def test_few_items_are_looked_at(monkeypatch):
    """The root of every class, and about two below each item that is chosen."""
    n_items, K, looks = 20_000, 10, []
    choose = classes.choose
    monkeypatch.setattr(classes, "choose", lambda *given: looks.append(choose(*given)) or looks[-1])
    for policy in (mb.KLOSM(), mb.CLSG(), mb.SingleSeedThompson()):
        agent = Agent(mb.UniformMatroid(n_items, K), policy, engine="classes")
        own, rng = Stream(0, [0], POLICY), np.random.default_rng(1)
        agent.observe(mb.Request(0, own), np.arange(n_items)[None], rng.random((1, n_items)) < 0.3)
        looks.clear()
        for t in range(1, 60):
            play = agent.decide(mb.Request(t, own))
            agent.learn(play, (rng.random(play.items.shape) < 0.3) * 1.0)
        assert max(looks) <= 4 * K + 60


def test_a_request_writes_nothing():
    rng, n_items = np.random.default_rng(2), 200
    for matroid in (mb.UniformMatroid(n_items, 20), mb.PartitionMatroid(np.arange(n_items) % 9, 2).truncate(15)):
        agent, own = Agent(matroid, mb.KLOSM(), engine="classes"), Stream(0, [0], POLICY)
        agent.observe(mb.Request(0, own), np.arange(n_items)[None], rng.random((1, n_items)).round(1))
        plain, _ = agent.choose(mb.Request(30, own))
        kept = [array.copy() for array in agent._engine._heaps[:3]]
        for options in (
            {"excluded": plain[0, 1:5]},
            {"pinned": plain[0, :3]},
            {"available": rng.random(n_items) < 0.8},
        ):
            request = mb.Request(30, own, **options)
            assert np.array_equal(agent.choose(request)[0], agent._engine.scan(request)[0])
        assert all(map(np.array_equal, kept, agent._engine._heaps[:3]))
        assert not agent._engine._is_barred.any()
        assert np.array_equal(agent.choose(mb.Request(30, own))[0], plain)


def test_what_is_barred_beyond_the_budget_is_scanned(monkeypatch):
    n_items, own = 3_000, Stream(0, [0], POLICY)
    agent = Agent(mb.UniformMatroid(n_items, 5), mb.MOSS(), engine="classes")
    agent.observe(mb.Request(0, own), np.arange(n_items)[None], np.linspace(1.0, 0.0, n_items)[None])
    scans = []
    scan = Engine.scan
    monkeypatch.setattr(Engine, "scan", lambda self, request: scans.append(request) or scan(self, request))
    assert agent.choose(mb.Request(1, own, excluded=np.arange(3)))[0].tolist() == [[3, 4, 5, 6, 7]]
    assert not scans
    assert agent.choose(mb.Request(1, own, excluded=np.arange(2_000)))[0].tolist() == [list(range(2_000, 2_005))]
    assert len(scans) == 1


class Impatient(CountClassesEngine):
    """Finds everything too much work, and forgets soon that it did."""

    ITEMS_PER_LOOK = ITERATED_PER_LOOK = 2**20
    WATCHED, FIRST_REST, LONGEST_REST = 2, 3, 12

    def __init__(self, constraint, policy, state):
        super().__init__(constraint, policy, state, may_rest=True)
        self._most_work = 50


def test_resting_changes_no_decision():
    sets = []
    for engine in ("greedy", Impatient):
        rng, own = np.random.default_rng(0), Stream(0, range(2), POLICY)
        agent = Agent(mb.UniformMatroid(60, 6), mb.KLOSM(), n_runs=2, engine=engine)
        sets.append([])
        for t in range(1, 150):
            play = agent.decide(mb.Request(t, own))
            agent.learn(play, rng.random(play.items.shape))
            sets[-1].append(play.items)
    assert np.array_equal(*sets)
    assert agent._engine._rest > Impatient.FIRST_REST


class Louder(mb.KLOSM):
    def indices(self, state, request):
        return 2.0 * super().indices(state, request)


class Renamed(mb.KLOSM):
    def beliefs(self, state):
        return super().beliefs(state)


class Eager(mb.CLSG):
    def __init__(self):
        super().__init__()
        self.tries_unseen = True


class Curious(mb.PolicyWrapper):
    affine = None

    def indices(self, state, request):
        return super().indices(state, request) + 0.1 * (state.waiting == 0)


def test_a_subclass_that_overrides_a_hook_loses_the_declaration():
    for policy in (Louder(), Eager(), Curious(mb.KLOSM()), mb.DiscountedOMM(0.9), mb.SlidingWindowOMM(9)):
        assert counted(policy, minimize=False) is None, policy
    for policy in (*POLICIES.values(), Renamed(), mb.PolicyWrapper(mb.MOSS())):
        assert counted(policy, minimize=False) is not None, policy


def test_engines_are_chosen_where_they_pay():
    large, mid, small = (mb.UniformMatroid(n, 3) for n in (2**15, 2**10, 2**10 - 1))
    nested = mb.LaminarMatroid(2**10, [(range(600), 5), (range(300), 2)])
    graph = mb.GraphicMatroid([(v, v + 1) for v in range(2**10)])

    def name(matroid, policy):
        return type(make_engine("auto", matroid, policy, State(matroid, 1, policy=policy))).__name__

    assert name(large, mb.OMM()) == "KineticEngine"
    for policy in (mb.KLOSM(), mb.KLUCBPlusPlus(), mb.SingleSeedThompson()):
        found = [name(matroid, policy) for matroid in (large, mid, nested, small, graph)]
        assert found == ["CountClassesEngine"] * 3 + ["ThresholdEngine", "GreedyEngine"]
    for policy in (mb.MOSS(), mb.CLSG()):
        assert [name(matroid, policy) for matroid in (large, mid)] == ["CountClassesEngine", "ThresholdEngine"]
    assert name(large, Louder()) == "ThresholdEngine"


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(PolicyError, match=r"count classes needs quotas; got .*GraphicMatroid"):
        mb.Learner(mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)]), mb.KLOSM(), engine="classes")
    for policy in (mb.DiscountedOMM(0.9), mb.ThompsonSampling(), mb.EpsilonGreedy(), Louder()):
        with pytest.raises(PolicyError, match="needs an index that goes by the means of whole plays alone"):
            mb.Learner(mb.UniformMatroid(3, 1), policy, engine="classes")


class Endless(Swinging):
    def counted(self, minimize):
        return forms.CountForm(forms.AFFINE, 0.0, lambda state, request: np.inf)


def test_numbers_must_be_finite():
    with pytest.raises(PolicyError, match=r"expected Endless\.counted to give finite numbers, got inf"):
        mb.Learner(mb.UniformMatroid(3, 1), Endless(), engine="classes").ask()
