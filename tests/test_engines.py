"""Every engine makes the decision of the plain greedy, bit for bit, in every episode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.engines import ENGINES, KineticEngine, make_engine
from matroid_bandits.policies import State
from matroid_bandits.stream import POLICY, START, Stream


def play(engine, problem, policy, n_episodes, *, n_runs=2, seed=0, start="explore", first=1, state=None):
    """The bases of every episode (T, R, K), as `simulate` would play them."""
    stream = Stream(seed, range(n_runs))
    own = stream.with_purpose(POLICY)
    if state is None:
        state = State(n_runs, problem.n_items, problem.minimize)
        policy.prepare(state)
        if start == "observe":
            items = np.tile(np.arange(problem.n_items), (n_runs, 1))
            state.absorb(items, problem.environment.draw(stream, 0, items, START))
    if isinstance(engine, str):
        engine = make_engine(engine, problem.matroid, policy, state)
    else:
        engine = engine(problem.matroid, policy, state)
    bases = []
    for t in range(first, first + n_episodes):
        A = engine.decide(t, own)
        w = problem.environment.draw(stream, t, A)
        state.absorb(A, w)
        policy.observe(state, t, A, w, own)
        engine.refresh(A)
        bases.append(A.copy())
    return np.array(bases)


def environment(kind, n_items, rng):
    means = rng.choice([0.25, 0.5, 0.75], n_items)  # many ties
    return {
        "bernoulli": lambda: mb.BernoulliEnvironment(means),
        "constant": lambda: mb.BernoulliEnvironment(rng.integers(0, 2, n_items)),
        "gaussian": lambda: mb.GaussianEnvironment(means, 0.1),
        "exponential": lambda: mb.ExponentialLatency(1.0 + 8 * means),
    }[kind]()


def quota_matroids(rng, n):
    blocks = rng.integers(0, max(n // 8, 1), n)
    half, third = np.arange(n // 2), np.arange(n // 3)
    laminar = mb.LaminarMatroid(n, [(np.arange(n), max(n // 5, 1)), (half, max(n // 9, 1)), (third, 1)])
    free = mb.LaminarMatroid(n, [(half, 2)])
    return {
        "uniform": mb.UniformMatroid(n, max(n // 10, 1)),
        "partition": mb.PartitionMatroid(blocks, {int(b): int(b) % 3 for b in np.unique(blocks)}),
        "laminar": laminar,
        "laminar with free items": free.truncate(n // 2 + 2),
        "truncation": mb.PartitionMatroid(blocks, 2).truncate(max(n // 12, 1)),
        "direct sum": mb.direct_sum(mb.UniformMatroid(n // 2, n // 4), laminar, mb.UniformMatroid(3, 3)),
    }


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_engines_agree_on_random_matroids(data):
    matroid, _ = data.draw(strategies.nested())
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    kind = data.draw(st.sampled_from(["bernoulli", "constant", "gaussian", "exponential"]))
    problem = mb.MatroidBandit(matroid, environment(kind, matroid.n_items, rng), data.draw(st.booleans()))
    policy = data.draw(st.sampled_from([mb.OMM(), mb.OMM(0.0), mb.OMM(6.5), mb.EpsilonGreedy(0.3)]))
    start = data.draw(st.sampled_from(["explore", "observe"]))
    plain = play("greedy", problem, policy, 25, start=start)
    for name in fitting(matroid, policy):
        assert np.array_equal(play(name, problem, policy, 25, start=start), plain), name


def fitting(matroid, policy):
    return [name for name in ENGINES if name != "kinetic" or KineticEngine.fits(matroid, policy)]


@pytest.mark.compiled
@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("start", ["explore", "observe"])
@pytest.mark.parametrize("kind", ["bernoulli", "constant", "gaussian", "exponential"])
def test_kinetic_agrees_on_every_kind_of_quota(kind, start, minimize):
    rng = np.random.default_rng(3)
    for name, matroid in quota_matroids(rng, 120).items():
        problem = mb.MatroidBandit(matroid, environment(kind, matroid.n_items, rng), minimize)
        plain = play("greedy", problem, mb.OMM(), 400, start=start)
        assert np.array_equal(play("kinetic", problem, mb.OMM(), 400, start=start), plain), name
