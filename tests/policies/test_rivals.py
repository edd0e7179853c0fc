"""Rivals of OMM: each against a loop as a textbook has it, their identities, and what they must not learn from."""

import itertools
import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits._util.sums import added
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import hybrid
from matroid_bandits.policies import State, choose_sets
from matroid_bandits.stream import POLICY, RESAMPLING, START, Stream

MEANS = np.array([0.7, 0.3, 0.6, 0.5, 0.2, 0.8])
UNIFORM = mb.UniformMatroid(6, 2)
PARTITION = mb.PartitionMatroid("aaabbb", {"a": 1, "b": 2})
GRAPH = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (1, 3)])


class TestUCBV(mb.testing.PolicySuite):
    policy = mb.UCBV(0.5)


class TestBGCTS(mb.testing.PolicySuite):
    policy = mb.BGCTS()


class TestESCB(mb.testing.PolicySuite):
    policy = mb.ESCB(c=1.0)


class TestAROQ(mb.testing.PolicySuite):
    policy = mb.AROQ(horizon=40, scale=0.5)


class TestFPL(mb.testing.PolicySuite):
    policy = mb.FPL(horizon=100)


class TestHybrid(mb.testing.PolicySuite):
    policy = mb.Hybrid()


class TestTryingBeta(mb.testing.PolicySuite):
    policy = mb.ThompsonSampling(tries_unseen=True)


# Textbook loops: one run, dictionaries and sorts


def greedy(constraint, weights):
    """The set of largest total, of items in order of weight, smaller ones first among equals."""
    chosen = []
    for e in sorted(range(constraint.n_items), key=lambda e: (-weights[e], e)):
        if constraint.allows(np.array(sorted([*chosen, e]))):
            chosen.append(e)
    return sorted(chosen)


def played(policy, constraint, n_episodes, *, start="observe", seed=3, run=5, minimize=False):
    """The sets that the policy plays in one run of a simulation of coins."""
    world = Stream(seed, [run])
    agent = Agent(constraint, policy, minimize=minimize, waits=False)
    stream, everything = world.with_purpose(POLICY), np.arange(constraint.n_items)[None]
    coins = mb.BernoulliEnvironment(MEANS)
    if start == "observe":
        agent.observe(mb.Request(0, stream), everything, coins.draw(world.with_purpose(START), 0, everything))
    for t in range(1, n_episodes + 1):
        play = agent.decide(mb.Request(t, stream))
        agent.learn(play, coins.draw(world, t, play.items))
        yield play.items[0].tolist()


def textbook(choose, constraint, n_episodes, *, learn=None, seed=3, run=5):
    """The same by a loop: `choose` maps (t, seen) to a set, where `seen` holds the weights seen of each item."""
    world, coins = Stream(seed, [run]), mb.BernoulliEnvironment(MEANS)
    everything = np.arange(constraint.n_items)
    first = coins.draw(world.with_purpose(START), 0, everything)[0]
    seen = {e: [first[e]] for e in everything.tolist()}
    for t in range(1, n_episodes + 1):
        chosen = choose(t, seen)
        weights = coins.draw(world, t, np.array(chosen, np.int64))[0] if chosen else []
        for e, w in zip(chosen, weights, strict=True):
            seen[e].append(w)
            if learn is not None:
                learn(t, e, w)
        yield chosen


@pytest.mark.parametrize("constraint", [UNIFORM, PARTITION, GRAPH])
def test_ucbv(constraint):
    def choose(t, seen):
        def index(x):
            n, m = len(x), added(x) / len(x)
            v = added(each * each for each in x) / n - m * m
            return m + math.sqrt(2 * max(v, 0.0) * math.log(t) / n) + 3 * 0.2 * math.log(t) / n

        return greedy(constraint, [index(seen[e]) for e in range(6)])

    assert list(played(mb.UCBV(0.2), constraint, 200)) == list(textbook(choose, constraint, 200))


def test_ucbv_of_constant_weights_has_the_last_term_alone():
    state = State(UNIFORM, 1, policy=mb.UCBV(2.0))
    state.restore(np.full((1, 6), 4), np.full((1, 6), 2.0))
    state.extra["squares"][:] = 1.0  # four times 0.5 squared
    found = mb.UCBV(2.0).indices(state, mb.Request(100, Stream(0, [0])))
    assert np.allclose(found, 0.5 + 6 * math.log(100) / 4, rtol=1e-14)


@pytest.mark.parametrize("constraint", [UNIFORM, GRAPH])
def test_bgcts(constraint):
    stream, K = Stream(3, [5], POLICY), constraint.rank

    def choose(t, seen):
        log_t = math.log(t) if t >= 3 else 1.0
        f = 2 * (log_t + (K + 2) * math.log(log_t))
        z = stream.normal(t, np.arange(6))[0]
        sd = [math.sqrt(f / log_t) * 0.5 / math.sqrt(len(seen[e])) for e in range(6)]
        return greedy(constraint, [added(seen[e]) / len(seen[e]) + sd[e] * z[e] for e in range(6)])

    assert list(played(mb.BGCTS(), constraint, 200)) == list(textbook(choose, constraint, 200))


@pytest.mark.parametrize("constraint", [UNIFORM, PARTITION])
def test_aroq(constraint):
    T, K, held, since, before, n_solved = 300, constraint.rank, [], [0] * 6, [0] * 6, []

    def choose(t, seen):
        if not held or any(since[e] >= 1 + math.sqrt(T * K * before[e] / 6) for e in range(6)):
            c = math.sqrt(2 * math.log(max(t - 1, 1)))
            held[:] = greedy(constraint, [np.mean(seen[e]) + c / math.sqrt(len(seen[e])) for e in range(6)])
            for e in range(6):
                before[e] += since[e]
                since[e] = 0
            n_solved.append(t)
        for e in held:
            since[e] += 1
        return list(held)

    assert list(played(mb.AROQ(T), constraint, T)) == list(textbook(choose, constraint, T))
    assert len(n_solved) < 25


@pytest.mark.parametrize("constraint", [UNIFORM, GRAPH])
def test_fpl(constraint):
    T, L, K = 60, 6, constraint.rank
    c = 2 * (math.log(L / K) + 1)
    eta, M = math.sqrt(c / (L * T)), math.ceil(math.sqrt(L * T) / (math.e * K * math.sqrt(c)))
    own, again = Stream(3, [5], POLICY), Stream(3, [5], RESAMPLING)
    losses, chosen_with = [0.0] * L, []

    def perturbed(stream, t, k):
        Z = stream.exponential(t, np.arange(k * L, (k + 1) * L))[0]
        return greedy(constraint, [Z[e] - eta * chosen_with[-1][e] for e in range(L)])

    def choose(t, seen):
        chosen_with.append(list(losses))
        return perturbed(own, t, 0)

    def learn(t, e, w):
        n = next((k for k in range(1, M) if e in perturbed(again, t, k - 1)), M)
        losses[e] += (1 - w) * n

    expected = list(textbook(choose, constraint, T, learn=learn))
    assert list(played(mb.FPL(T), constraint, T)) == expected


def minimiser(losses, K, rate, gamma):
    """The x of HYBRID's rule by bisection in the multiplier, and bisection in each x for it."""

    def x_of(e, nu):
        lo, hi = 1e-14, 1 - 1e-14
        for _ in range(60):
            z = (lo + hi) / 2
            slope = rate * (losses[e] - nu) - 0.5 / math.sqrt(z) - gamma * (math.log1p(-z) + 1)
            lo, hi = (z, hi) if slope < 0 else (lo, z)
        return (lo + hi) / 2

    lo, hi = min(losses) - 100 / rate, max(losses) + 100 / rate
    for _ in range(70):
        nu = (lo + hi) / 2
        lo, hi = (nu, hi) if added(x_of(e, nu) for e in range(len(losses))) < K else (lo, nu)
    return np.array([x_of(e, (lo + hi) / 2) for e in range(len(losses))])


def drawn(chances, K, u):
    """Systematic sampling: the items in whose part of the cumulated chances there is a number u, u + 1, ..."""
    edges = [0.0, *np.cumsum(chances)[:-1], float(K)]
    return [e for e in range(len(chances)) if any(edges[e] < u + k <= edges[e + 1] for k in range(K))]


def test_hybrid_on_uniform_and_partition_matroids():
    T, stream = 15, Stream(3, [5], POLICY)
    for constraint, blocks in (
        (UNIFORM, [(range(6), 2, 1.0)]),
        (PARTITION, [(range(3), 1, 1.0), (range(3, 6), 2, None)]),
    ):
        losses, chances = np.zeros(6), np.zeros(6)

        def choose(t, seen, blocks=blocks, losses=losses, chances=chances):
            chosen = []
            for b, (items, K, gamma) in enumerate(blocks):
                items = list(items)
                gamma = min(1.0, 1 / math.sqrt(math.log(len(items) / (len(items) - K)))) if gamma is None else gamma
                chances[items] = minimiser(losses[items].tolist(), K, 1 / math.sqrt(t), gamma)
                # the first block of a matroid without free items is empty
                u = stream.uniform(t, np.array([b + 1]))[0, 0]
                chosen += [items[i] for i in drawn(chances[items], K, u)]
            return sorted(chosen)

        def learn(t, e, w, losses=losses, chances=chances):
            losses[e] += (1 - w) / chances[e]

        assert list(played(mb.Hybrid(), constraint, T)) == list(textbook(choose, constraint, T, learn=learn))


def test_hybrid_draws_with_its_chances():
    """Systematic sampling has the chances exactly: averaged over a fine grid of uniforms."""
    x = np.array([[0.9, 0.05, 0.55, 0.3, 0.2]])
    grid = (np.arange(2_000) + 0.5) / 2_000
    chosen = np.zeros((grid.size, 5), bool)
    shape = np.array([0, 5]), np.arange(5), np.array([2])
    hybrid.draw(np.tile(x, (grid.size, 1)), np.ones((1, 5), bool), *shape, grid[:, None], chosen)
    assert (chosen.sum(axis=1) == 2).all()
    assert np.allclose(chosen.mean(axis=0), x[0], atol=1 / 2_000 + 1e-12)


def test_hybrid_refuses_other_constraints_in_words():
    nested = mb.LaminarMatroid(4, [([0, 1, 2, 3], 2), ([0, 1], 1)])
    for constraint in (GRAPH, nested, mb.ExplicitSets([(0, 1), (2,)])):
        with pytest.raises(PolicyError, match="expected a uniform or a partition matroid"):
            mb.Learner(constraint, mb.Hybrid())


# ESCB


def test_escb_is_certified_and_nearly_always_best():
    """Against all sets of 12 / 3: never above the best, never above the bound, and mostly the best."""
    rng, L, K, policy = np.random.default_rng(0), 12, 3, mb.ESCB()
    matroid, n, t = mb.UniformMatroid(L, K), 60, 5_000
    sets = np.array(list(itertools.combinations(range(L), K)))
    state = State(matroid, n, policy=policy)
    counts = np.exp(rng.uniform(math.log(2), math.log(2_000), (n, L))).astype(np.int64)
    state.restore(counts, rng.binomial(counts, np.where(np.arange(L) < K, 0.5, 0.4)).astype(float))
    found = policy.certify(state, mb.Request(t, Stream(0, range(n))))
    v = math.log(t) / 2 / counts
    best = (state.means[:, sets].sum(axis=2) + np.sqrt(v[:, sets].sum(axis=2))).max(axis=1)
    assert (found.values <= best + 1e-12).all()
    assert (best <= found.bounds + 1e-12).all()
    assert np.mean(found.values >= best - 1e-12) > 0.9
    assert np.mean(found.bounds - found.values) < 0.01
    assert found.n_solved < 8 * n
    rows = np.arange(n)[:, None]
    values = state.means[rows, found.items].sum(axis=1) + np.sqrt(v[rows, found.items].sum(axis=1))
    assert np.allclose(found.values, values)
    # the ordinary greedy on the reported indices finds the same sets
    U = policy.indices(state, mb.Request(t, Stream(0, range(n))))
    assert np.array_equal(matroid.best_sets(U)[0], found.items)


def test_escb_of_single_items_is_a_bound_of_each():
    def choose(t, seen):
        f = math.log(max(t, 3)) + 2.0 * math.log(math.log(max(t, 3)))
        return greedy(mb.UniformMatroid(6, 1), [np.mean(x) + math.sqrt(f / 2 / len(x)) for x in seen.values()])

    one = mb.UniformMatroid(6, 1)
    assert list(played(mb.ESCB(2.0), one, 200)) == list(textbook(choose, one, 200))


def test_escb_beside_a_loop_over_all_sets():
    """The loop follows the policy's plays, and looks how far its sets are from the best by its own formula."""
    own, losses = played(mb.ESCB(), UNIFORM, 150), []

    def choose(t, seen):
        f, chosen = math.log(max(t, 3)) / 2, next(own)
        value = {
            A: added(np.mean(seen[e]) for e in A) + math.sqrt(added(f / len(seen[e]) for e in A))
            for A in itertools.combinations(range(6), 2)
        }
        losses.append(max(value.values()) - value[tuple(chosen)])
        return chosen

    assert len(list(textbook(choose, UNIFORM, 150))) == 150
    assert np.mean(np.array(losses) < 1e-12) > 0.9
    assert max(losses) < 0.05


def test_escb_in_a_learner_masks_pins_and_its_gap():
    learner = mb.Learner(mb.UniformMatroid(6, 2, labels="abcdef"), mb.ESCB(), seed=0)
    assert learner.gap() == 0.0  # nothing was seen
    rng = np.random.default_rng(0)
    for _ in range(60):
        decision = learner.ask(exclude=["a"], pinned=["f"])
        assert "f" in decision.labels
        assert "a" not in decision.labels
        learner.tell(decision, rng.integers(0, 2, 2))
    assert 0.0 <= learner.gap() < 0.5
    assert learner.gap(exclude=["a", "b"], pinned=["f"]) >= 0.0
    with pytest.raises(PolicyError, match="takes gains"):
        mb.Learner(mb.PathConstraint([(0, 1), (1, 2), (2, 1), (2, 3)], 0, 3), mb.ESCB(), minimize=True)


def test_escb_on_other_constraints():
    pairs = mb.AssignmentConstraint.between(range(3), range(3))
    problem = mb.Problem(pairs, mb.BernoulliEnvironment(np.where(np.eye(3, dtype=bool), 0.8, 0.2).reshape(-1)))
    result = mb.simulate(problem, [mb.ESCB(), mb.UniformRandom()], n_episodes=300, n_runs=3, seed=0, start="explore")
    assert result["ESCB"].final_regret.mean() < result["UniformRandom"].final_regret.mean() / 3


# Settings of OMM that have names


@pytest.mark.parametrize(("scale", "inside"), [(0.75**0.5, lambda K: 1.5), ("LLR", lambda K: K + 1.0)])
def test_scales_of_omm_are_combucb1_and_llr(scale, inside):
    K = PARTITION.rank

    def choose(t, seen):
        widths = [math.sqrt(inside(K) * math.log(max(t - 1, 1)) / len(seen[e])) for e in range(6)]
        return greedy(PARTITION, [np.mean(seen[e]) + widths[e] for e in range(6)])

    policy = mb.OMM(math.sqrt((K + 1) / 2) if scale == "LLR" else scale)
    assert list(played(policy, PARTITION, 150)) == list(textbook(choose, PARTITION, 150))


# Beta Thompson may try every item once


def two_sets(n=50):
    sets = mb.ExplicitSets([range(n), range(n, 2 * n)])
    return mb.Problem(sets, mb.BernoulliEnvironment([0.7] * n + [0.9] * n))


@pytest.mark.long
@pytest.mark.compiled
def test_beta_thompson_that_tries_leaves_the_worse_set():
    problem, settings = two_sets(), {"n_episodes": 60, "n_runs": 12, "seed": 5, "start": "explore"}
    policies = {"beta": mb.ThompsonSampling(), "tries": mb.ThompsonSampling(tries_unseen=True)}
    result = mb.simulate(problem, policies, **settings)
    stuck = result["beta"].final_regret >= 0.99 * 60 * 50 * 0.2  # never left the worse set
    assert 1 <= stuck.sum() < 12
    tries = result["tries"].final_regret
    assert np.median(tries) == pytest.approx(10.0)  # the one episode that it takes
    assert (tries >= 0.9 * 60 * 50 * 0.2).sum() < stuck.sum()


def test_the_option_is_the_plain_policy_once_everything_was_seen():
    problem = mb.Problem(UNIFORM, mb.BernoulliEnvironment(MEANS))
    tries = mb.ThompsonSampling(tries_unseen=True)
    plain, same = (
        mb.simulate(problem, policy, n_episodes=50, n_runs=4, seed=1) for policy in (mb.ThompsonSampling(), tries)
    )
    assert np.array_equal(plain.regret, same.regret)
    assert "no compiled form" in mb.gpu.obstacle(problem, tries)
    assert mb.policy_from_dict(mb.policy_to_dict(tries)) == tries != mb.ThompsonSampling()
    assert repr(mb.ThompsonSampling()) == "ThompsonSampling(prior='beta', noise=1.0)"
    learner = mb.Learner(mb.UniformMatroid(5, 2), tries, seed=0)
    assert {e for _ in range(3) for e in learner.ask().items.tolist()} == set(range(5))
    with pytest.raises(PolicyError, match="tries_unseen=False"):
        mb.ThompsonSampling("normal", tries_unseen=False)


# What policies that weigh by chances must not learn from


@pytest.mark.parametrize("policy", [mb.FPL(200), mb.Hybrid()], ids=["FPL", "Hybrid"])
def test_pins_looks_and_hold_outs_are_no_draws(policy):
    learner = mb.Learner(mb.UniformMatroid(5, 2, labels="abcde"), policy, seed=1, holdout=0.4)
    learner.observe({"a": 0.0, "c": 0.0})
    assert not learner._agent.state.extra["losses"].any()
    held_out = []
    for _ in range(40):
        decision = learner.ask(pinned=["e"])
        before = learner._agent.state.extra["losses"].copy()
        learner.tell(decision, dict.fromkeys(decision.labels, 0.0))
        changed = np.flatnonzero((learner._agent.state.extra["losses"] != before)[0]).tolist()
        drawn = [] if decision.is_held_out else [e for e in decision.items.tolist() if e != 4]
        assert changed == drawn
        held_out.append(decision.is_held_out)
    assert 5 < sum(held_out) < 35


@pytest.mark.parametrize("policy", [mb.FPL(200), mb.Hybrid()], ids=["FPL", "Hybrid"])
def test_late_answers_count_with_the_chances_of_their_own_decision(policy):
    def losses_after(is_late):
        agent, stream = Agent(UNIFORM, policy), Stream(4, [0], POLICY)
        first = agent.decide(mb.Request(1, stream))
        if not is_late:
            agent.learn(first, np.zeros((1, 2)))
            return agent.state.extra["losses"].copy()
        for t in range(2, 30):
            agent.learn(agent.decide(mb.Request(t, stream)), np.array([[0.0, 1.0]]))
        before = agent.state.extra["losses"].copy()
        agent.learn(first, np.zeros((1, 2)))
        return agent.state.extra["losses"] - before

    assert np.allclose(losses_after(True), losses_after(False), rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [mb.FPL(200), mb.Hybrid()], ids=["FPL", "Hybrid"])
def test_the_estimated_losses_are_unbiased(policy):
    """In episode 1 every item has chance 1/3; the mean estimate of a loss of 1 over many runs is 1."""
    n = 20_000
    agent = Agent(UNIFORM, policy, n_runs=n, waits=False)
    agent.learn(agent.decide(mb.Request(1, Stream(9, range(n), POLICY))), np.zeros((n, 2)))
    losses = agent.state.extra["losses"]
    n_most = agent.state.prepared[1] if isinstance(policy, mb.FPL) else math.inf
    bias = (2 / 3) ** n_most if n_most < math.inf else 0.0  # FPL stops after M draws
    errors = losses.std(axis=0) / math.sqrt(n)
    assert (np.abs(losses.mean(axis=0) - (1 - bias)) < 4.5 * errors).all()


def test_policies_that_need_more_than_plays_and_gains_start_anew():
    for policy in (mb.UCBV(), mb.FPL(100), mb.Hybrid()):
        learner = mb.Learner(UNIFORM, mb.OMM(), seed=0)
        learner.tell(learner.ask(), [0.5, 0.5])
        with pytest.raises(PolicyError, match="restart=True starts anew"):
            learner.configure(policy=policy)
        learner.configure(policy=policy, restart=True)
        learner.tell(learner.ask(), [0.5, 0.5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.UCBV(-1), "expected c"),
        (lambda: mb.BGCTS("x"), "expected noise"),
        (lambda: mb.ESCB(math.inf), "expected c"),
        (lambda: mb.AROQ(0), "expected horizon"),
        (lambda: mb.AROQ(10, scale=-1), "expected scale"),
        (lambda: mb.FPL(1.5), "expected horizon"),
        (lambda: mb.ThompsonSampling(tries_unseen="yes"), "expected tries_unseen"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


@pytest.mark.compiled
def test_phases_are_won_by_hybrid():
    """Small: 8 / 2, two runs; averages mislead OMM."""
    problem = mb.Problem(mb.UniformMatroid(8, 2), mb.PhasesEnvironment(8, [0, 1], gap=0.2))
    policies = {"Hybrid": mb.Hybrid(), "OMM": mb.OMM()}
    result = mb.simulate(problem, policies, n_episodes=2_000, n_runs=2, seed=9, start="explore")
    regrets = {name: result[name].final_regret.mean() for name in policies}
    assert regrets["Hybrid"] < 0.8 * regrets["OMM"]


def test_sets_of_hybrid_are_a_function_of_the_request():
    policy = mb.Hybrid()
    state = State(PARTITION, 3, policy=policy)
    request = mb.Request(4, Stream(0, range(3)), np.array([1, 1, 1, 1, 1, 0], bool), pinned=np.array([3]))
    items, sizes = choose_sets(policy, state, request)
    assert sizes.tolist() == [3, 3, 3]
    assert (items[:, 1:] == [3, 4]).all()  # one pinned, one left over
