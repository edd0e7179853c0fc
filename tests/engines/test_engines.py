"""Every engine makes the decision of the plain greedy, bit for bit, in every episode."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import strategies
from matroid_bandits.agent import Agent
from matroid_bandits.engines import ENGINES, CountClassesEngine, KineticEngine, ThresholdEngine
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.stream import POLICY, START, Stream
from samples import OftenRebased


def play(engine, problem, policy, n_episodes, *, n_runs=2, seed=0, start="explore"):
    """The bases of every episode (T, R, K), as `simulate` would play them."""
    stream = Stream(seed, range(n_runs))
    own = stream.with_purpose(POLICY)
    agent = Agent(problem.constraint, policy, n_runs=n_runs, minimize=problem.minimize, engine=engine)
    if start == "observe":
        items = np.tile(np.arange(problem.n_items), (n_runs, 1))
        agent.observe(mb.Request(0, own), items, problem.environment.draw(stream.with_purpose(START), 0, items))
    bases = []
    for t in range(1, n_episodes + 1):
        chosen = agent.decide(mb.Request(t, own))
        agent.learn(chosen, problem.environment.draw(stream, t, chosen.items))
        bases.append(chosen.items.copy())
    return np.array(bases)


def environment(kind, n_items, rng):
    means = rng.choice([0.25, 0.5, 0.75], n_items)  # many ties
    return {
        "bernoulli": lambda: mb.BernoulliEnvironment(means),
        "constant": lambda: mb.BernoulliEnvironment(rng.integers(0, 2, n_items)),
        "gaussian": lambda: mb.GaussianEnvironment(means, 0.1),
        "exponential": lambda: mb.ExponentialEnvironment(1.0 + 8 * means),
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
    problem = mb.Problem(matroid, environment(kind, matroid.n_items, rng), data.draw(st.booleans()))
    faded = [mb.DiscountedOMM(0.9), OftenRebased(0.3, 1.0)]
    policy = data.draw(st.sampled_from([mb.OMM(), mb.OMM(0.0), mb.OMM(6.5), mb.EpsilonGreedy(0.3), *faded]))
    start = data.draw(st.sampled_from(["explore", "observe"]))
    plain = play("greedy", problem, policy, 25, start=start)
    for name in fitting(matroid, policy):
        assert np.array_equal(play(name, problem, policy, 25, start=start), plain), name


def fitting(matroid, policy):
    left_out = {
        "kinetic": not KineticEngine.fits(matroid, policy),
        "threshold": not ThresholdEngine.fits(matroid),
        "classes": not CountClassesEngine.fits(matroid, policy),
    }
    return [name for name in ENGINES if not left_out.get(name, False)]


@pytest.mark.compiled
@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("start", ["explore", "observe"])
@pytest.mark.parametrize("kind", ["bernoulli", "constant", "gaussian", "exponential"])
def test_kinetic_agrees_on_every_kind_of_quota(kind, start, minimize):
    rng = np.random.default_rng(3)
    for name, matroid in quota_matroids(rng, 120).items():
        problem = mb.Problem(matroid, environment(kind, matroid.n_items, rng), minimize)
        plain = play("greedy", problem, mb.OMM(), 400, start=start)
        assert np.array_equal(play("kinetic", problem, mb.OMM(), 400, start=start), plain), name


def digest(bases):
    return hashlib.sha256(np.ascontiguousarray(bases)).hexdigest()


@pytest.mark.compiled
@pytest.mark.parametrize("family", ["uniform", "partition"])
@pytest.mark.parametrize(
    ("n_items", "n_episodes"),
    [
        (1000, 10_000),
        pytest.param(1000, 100_000, marks=pytest.mark.long),
        pytest.param(1_000_000, 1000, marks=pytest.mark.long),
    ],
)
def test_long_runs_have_the_same_trajectory(family, n_items, n_episodes):
    rng = np.random.default_rng(11)
    matroid = mb.UniformMatroid(n_items, 10) if family == "uniform" else mb.PartitionMatroid(np.arange(n_items) % 10)
    problem = mb.Problem(matroid, mb.BernoulliEnvironment(rng.random(n_items)))
    kinetic, plain = (
        play(engine, problem, mb.OMM(), n_episodes, n_runs=1, start="observe") for engine in ("kinetic", "greedy")
    )
    assert digest(kinetic) == digest(plain)


@pytest.mark.compiled
@pytest.mark.parametrize("start", ["explore", pytest.param("observe", marks=pytest.mark.long)])
def test_long_runs_with_ties_on_nested_quotas_and_graphs(start):
    rng = np.random.default_rng(12)
    matroids = [*quota_matroids(rng, 200).values(), mb.GraphicMatroid(rng.integers(0, 25, (70, 2)))]
    for i, matroid in enumerate(matroids):
        problem = mb.Problem(matroid, environment("bernoulli", matroid.n_items, rng), minimize=i % 2 == 0)
        plain = digest(play("greedy", problem, mb.OMM(), 3000, n_runs=1, start=start))
        for name in fitting(matroid, mb.OMM()):
            assert digest(play(name, problem, mb.OMM(), 3000, n_runs=1, start=start)) == plain, (name, matroid)


class Schedule(mb.AffinePolicy):
    """An affine policy with a coefficient of our choosing."""

    def __init__(self, coefficients):
        self.coefficients = coefficients

    def coefficient(self, state, request):
        return float(self.coefficients[request.episode - 1])


def crossing_lines(rng, n_items):
    """Lines through nearly one point, some equal, some apart by an ulp: counts, means, and where they cross."""
    c = rng.uniform(0.5, 2.0)
    counts = rng.integers(1, 6, n_items)
    means = 3.0 - c / np.sqrt(counts)
    for _ in range(3):
        means = np.where(rng.random(n_items) < 0.5, np.nextafter(means, np.inf), means)
    return counts, means, c


def around(c, n, rng):
    """Coefficients that climb past c, ulp by ulp near it."""
    near = c + np.arange(-n, n) * np.spacing(c)
    far = np.concatenate([np.linspace(0.0, c, 7)[:-1], near, c + np.geomspace(1e-12, 1.0, 20)])
    return np.sort(far)


def decisions(make, coefficients, counts, means, rank, **options):
    matroid = mb.UniformMatroid(counts.size, rank)
    state = mb.State(matroid, n_runs=1)
    state.counts[0], state.means[0], state.radii[0] = counts, means, 1.0 / np.sqrt(counts)
    engine = make(matroid, Schedule(coefficients), state, **options)
    stream = Stream(0, range(1))
    return np.array([engine.decide(mb.Request(t, stream))[0][0] for t in range(1, len(coefficients) + 1)])


@pytest.mark.compiled
def test_near_ties_around_the_rounding_error():
    """Lines that meet in one point up to rounding: there the computed order differs from the real one."""
    is_subtle = False
    for seed in range(150):
        rng = np.random.default_rng(seed)
        counts, means, c = crossing_lines(rng, int(rng.integers(2, 40)))
        rank = int(rng.integers(1, counts.size))
        coefficients = around(c, 60, rng)
        plain = decisions(ENGINES["greedy"], coefficients, counts, means, rank)
        assert np.array_equal(decisions(KineticEngine, coefficients, counts, means, rank), plain), seed
        trusting = decisions(KineticEngine, coefficients, counts, means, rank, margin=0.0)
        is_subtle |= not np.array_equal(trusting, plain)
    assert is_subtle, "certificates without a margin should have been fooled at least once"


def test_certificates_that_never_expire_are_noticed():
    rng = np.random.default_rng(5)
    problem = mb.Problem(mb.UniformMatroid(60, 3), mb.BernoulliEnvironment(rng.random(60)))
    plain = play("greedy", problem, mb.OMM(), 120)

    def careless(matroid, policy, state):
        return KineticEngine(matroid, policy, state, margin=-1e300)

    assert np.array_equal(play(KineticEngine, problem, mb.OMM(), 120), plain)
    assert not np.array_equal(play(careless, problem, mb.OMM(), 120), plain)


def test_a_coefficient_that_falls_starts_the_tournament_anew():
    rng = np.random.default_rng(6)
    counts, means, c = crossing_lines(rng, 30)
    coefficients = rng.uniform(0, 2 * c, 50)
    plain = decisions(ENGINES["greedy"], coefficients, counts, means, 5)
    assert np.array_equal(decisions(KineticEngine, coefficients, counts, means, 5), plain)


def test_huge_and_tiny_numbers():
    for scale in (1e-310, 1e-160, 1e160, 1e300):
        rng = np.random.default_rng(7)
        counts, means, c = crossing_lines(rng, 30)
        coefficients = around(c, 20, rng) * scale
        with np.errstate(over="ignore", invalid="ignore"):
            plain = decisions(ENGINES["greedy"], coefficients, counts, means * scale, 5)
            assert np.array_equal(decisions(KineticEngine, coefficients, counts, means * scale, 5), plain)


@pytest.mark.compiled
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), minimize=st.booleans())
def test_learners_agree_when_answers_come_late_and_in_parts(seed, minimize):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    for matroid in quota_matroids(rng, max(n, 24)).values():
        learners = [
            mb.Learner(matroid, mb.OMM(), minimize=minimize, seed=0, engine=name)
            for name in fitting(matroid, mb.OMM())
        ]
        waiting = []
        for _ in range(25):
            asked = [learner.ask() for learner in learners]
            assert all(np.array_equal(asked[0].items, other.items) for other in asked[1:])
            waiting += [(asked[0].id, int(e)) for e in asked[0].items]
            rng.shuffle(waiting)
            n_told = int(rng.integers(0, len(waiting) + 1))
            for id, item in waiting[:n_told]:
                weight = float(rng.integers(0, 3)) / 2
                for learner in learners:
                    learner.tell(id, {item: weight})
            waiting = waiting[n_told:]


@pytest.mark.parametrize("engine", ["greedy", "kinetic", "classes"])
@pytest.mark.parametrize("c", [np.nan, np.inf, -1.0])
def test_a_coefficient_must_be_a_number_that_engines_can_use(engine, c):
    learner = mb.Learner(mb.UniformMatroid(3, 1), Schedule([c]), engine=engine)
    with pytest.raises(PolicyError, match=r"Schedule\.coefficient to be finite and not negative"):
        learner.ask()


def test_engines_that_do_not_fit_say_so():
    graph = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    with pytest.raises(PolicyError, match="kinetic engine needs an affine policy and quotas"):
        mb.Learner(graph, mb.OMM(), engine="kinetic")
    with pytest.raises(PolicyError, match="kinetic engine needs an affine policy"):
        mb.Learner(mb.UniformMatroid(3, 1), mb.EpsilonGreedy(), engine="kinetic")
    for nested in (graph, mb.UniformMatroid(9, 4).truncate(2)):
        with pytest.raises(PolicyError, match="expected quotas side by side for the threshold engine"):
            mb.Learner(nested, mb.OMM(), engine="threshold")
    with pytest.raises(PolicyError, match=r"expected engine to be one of auto, .*, threshold; got 'magic'"):
        mb.Learner(graph, mb.OMM(), engine="magic")


@pytest.mark.compiled
def test_warm_orders_agree_on_large_graphs_and_parallel_items():
    rng = np.random.default_rng(8)
    edges = rng.integers(0, 40, (300, 2))  # loops, parallel edges, bridges, several components
    movies = rng.integers(0, 2, (90, 9)) * rng.integers(1, 4, (90, 1))
    for matroid in (mb.GraphicMatroid(edges), mb.LinearMatroid(movies), mb.LinearMatroid(movies, field=3)):
        for kind in ("bernoulli", "exponential", "constant"):
            problem = mb.Problem(matroid, environment(kind, matroid.n_items, rng), minimize=kind == "exponential")
            for policy in (mb.OMM(), mb.EpsilonGreedy(0.2)):
                plain = play("greedy", problem, policy, 200)
                assert np.array_equal(play("warm", problem, policy, 200), plain)


class LogBonus(mb.Policy):
    """0 * inf for items never seen in episode 1: they come first anyway."""

    def indices(self, state, request):
        return state.means + np.log(request.episode) * state.radii


def test_indices_of_items_never_seen_do_not_matter():
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))
    assert play("greedy", problem, LogBonus(), 2)[:, 0].tolist() == [[0, 1], [2, 3]]


def test_an_affine_policy_declares_its_lines_and_no_index_of_its_own():
    with pytest.raises(
        PolicyError, match=r"expected the affine policy Favourites to declare lines\(\) and coef.*Policy"
    ):

        class Favourites(mb.OMM):
            """OMM with a bonus: affine by name, but no longer by index."""

            def indices(self, state, request):
                return super().indices(state, request) + 0.5 * (np.arange(state.n_items) % 2)


class Shrunk(mb.OMM):
    """OMM with lines of its own: half the mean, kept from the answers it gets."""

    memory = (mb.Memory("halves"),)

    def lines(self, state):
        return state.extra["halves"], state.radii

    def observe(self, state, feedback):
        where = feedback.runs, feedback.items
        state.extra["halves"][where] = state.means[where] / 2


@pytest.mark.parametrize("n_items", [40, pytest.param(40_000, marks=pytest.mark.compiled)])
def test_an_affine_policy_may_keep_its_own_lines(n_items):
    means = np.random.default_rng(9).random(n_items)
    problem = mb.Problem(mb.UniformMatroid(n_items, 3), mb.BernoulliEnvironment(means))
    plain = play("greedy", problem, Shrunk(), 60, start="observe")
    for engine in ("auto", "kinetic", "warm"):
        assert np.array_equal(play(engine, problem, Shrunk(), 60, start="observe"), plain), engine
    if n_items < 100:  # with many items both are still trying what looked best at first
        assert not np.array_equal(play("greedy", problem, mb.OMM(), 60, start="observe"), plain)
