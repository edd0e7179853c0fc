"""Problems and the paper's theorems: Lemma 1 and Theorem 1 on random bases, the bounds term by term."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
import reference
import strategies
from matroid_bandits import bounds
from matroid_bandits._util.sums import added
from matroid_bandits.environments._wrapper import Wrapper
from matroid_bandits.exceptions import ItemError, ProblemError, SimulationError
from samples_constraints import Matching
from steps import steps

means_with_ties = st.sampled_from([0.0, 0.125, 0.25, 0.25, 0.5, 0.75, 0.9, 1.0])


@st.composite
def problems(draw):
    """A Bernoulli problem on any matroid, in either direction, with its independence test."""
    matroid, is_independent = draw(strategies.nested())
    means = draw(st.lists(means_with_ties, min_size=matroid.n_items, max_size=matroid.n_items))
    return mb.Problem(matroid, mb.BernoulliEnvironment(means), draw(st.booleans())), is_independent


def draw_basis(data, matroid):
    """A basis in random order."""
    weights = data.draw(st.permutations(range(matroid.n_items)))
    basis = matroid.max_weight_basis(np.array(weights, float))
    return data.draw(st.permutations(basis.tolist()))


# Problems


@settings(max_examples=60)
@given(pair=problems())
def test_optimum_and_gaps(pair):
    problem, is_independent = pair
    system = reference.SetSystem(problem.n_items, is_independent)
    w = problem.environment.mean_weights
    totals = [added(w[e] for e in B) for B in system.bases]
    assert problem.optimal_value == pytest.approx(min(totals) if problem.minimize else max(totals))
    assert problem.optimal_basis.tolist() == system.best_basis(w, problem.minimize)
    assert sorted([*problem.optimal_basis, *problem.suboptimal_items]) == list(range(problem.n_items))
    sign = -1 if problem.minimize else 1
    assert problem.gains.tolist() == [sign * x for x in w]
    order = problem.optimal_order.tolist()
    assert sorted(order) == problem.optimal_basis.tolist()
    assert all((-sign * w[a], a) < (-sign * w[b], b) for a, b in pairwise(order))
    gaps, K_e = problem.gaps(), problem.n_better()
    assert gaps.shape == (problem.n_items - problem.rank, problem.rank)
    for row, e in enumerate(problem.suboptimal_items):
        assert gaps[row].tolist() == [sign * w[a] - sign * w[e] for a in order]
        assert K_e[row] == (gaps[row] > 0).sum()
        assert (gaps[row, : K_e[row]] > 0).all()


def test_problems_check_their_parts():
    matroid, world = mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.1, 0.2])
    with pytest.raises(ProblemError, match="expected a Constraint, such as a Matroid; got list"):
        mb.Problem([1], world)
    with pytest.raises(ProblemError, match="expected an Environment, got list"):
        mb.Problem(matroid, [0.1, 0.2])
    with pytest.raises(ProblemError, match="got a constraint on 3 items and an environment of 2"):
        mb.Problem(mb.UniformMatroid(3, 1), world)
    problem = mb.Problem(matroid, world, minimize=True)
    assert (problem.n_items, problem.rank, problem.minimize) == (2, 1, True)
    assert problem.constraint is matroid
    assert problem.environment is world
    assert repr(problem).endswith("minimize=True)")
    assert "minimize" not in repr(mb.Problem(matroid, world))


@pytest.mark.parametrize(("n_items", "rank"), [(1, 1), (7, 3), (6, 6), (10, 1), (20, 4)])
def test_the_papers_lower_bound_problem(n_items, rank):
    problem = mb.lower_bound_problem(n_items, rank, gap=0.125)
    assert (problem.n_items, problem.rank) == (n_items, rank)
    blocks = [tuple(problem.constraint.closure([e]).tolist()) for e in range(n_items)]  # an item and its rivals
    firsts = [block[0] for block in dict.fromkeys(blocks)]
    assert problem.optimal_basis.tolist() == firsts
    expected = [0.5 if e in firsts else 0.375 for e in range(n_items)]
    assert problem.environment.mean_weights.tolist() == expected
    sizes = [len(block) for block in blocks]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 4, 0.1), "expected 0 < rank <= n_items, got rank 4 of 3 items"),
        ((3, 0, 0.1), "expected 0 < rank"),
        ((3, 1, 0.5), "expected a gap between 0 and 0.5, got 0.5"),
        ((3, 1, 0.0), "expected a gap"),
        ((3, 1, math.nan), "expected a gap"),
        ((3.5, 1, 0.1), "expected n_items and rank to be integers, got 3.5 and 1"),
        ((3, "1", 0.1), "expected n_items and rank to be integers, got 3 and '1'"),
        ((3, 1, "0.1"), "expected a gap between 0 and 0.5, got '0.1'"),
    ],
)
def test_impossible_lower_bound_problems(arguments, message):
    with pytest.raises(ProblemError, match=message):
        mb.lower_bound_problem(*arguments)


# Lemma 1 and Theorem 1


@settings(max_examples=150)
@given(pair=strategies.nested(), data=st.data())
def test_lemma_1(pair, data):
    matroid, is_independent = pair
    best, chosen = draw_basis(data, matroid), draw_basis(data, matroid)
    pi = bounds.exchange_bijection(matroid, np.array(best, int), np.array(chosen, int))
    assert pi.dtype == np.int64
    assert sorted(pi) == list(range(matroid.rank))
    for k in range(matroid.rank):
        assert is_independent(frozenset([*chosen[:k], best[pi[k]]]))
        assert best[pi[k]] not in chosen[:k]
        if chosen[k] in best:
            assert best[pi[k]] == chosen[k]


@settings(max_examples=150)
@given(pair=problems(), data=st.data())
def test_theorem_1(pair, data):
    problem, _ = pair
    matroid, w = problem.constraint, problem.gains
    basis = draw_basis(data, matroid)
    parts = bounds.decompose_regret(problem, np.array(basis, int))
    regret = w[problem.optimal_basis].sum() - w[basis].sum()
    assert parts.regret == pytest.approx(regret, abs=1e-12)
    assert added(x.gap for x in parts.exchanges) == pytest.approx(regret, abs=1e-12)
    assert parts.bound == pytest.approx(added(max(x.gap, 0) for x in parts.exchanges), abs=1e-12)
    assert parts.bound >= parts.regret - 1e-12
    optimal = set(problem.optimal_basis.tolist())
    assert [x.item for x in parts.exchanges] == [e for e in basis if e not in optimal]  # each at most once
    replaced = [x.instead_of for x in parts.exchanges]
    assert set(replaced) == optimal - set(basis)
    assert len(set(replaced)) == len(replaced)
    assert all(x.gap == w[x.instead_of] - w[x.item] for x in parts.exchanges)


@settings(max_examples=100)
@given(pair=problems(), data=st.data())
def test_theorem_1_pairs_items_that_greedy_preferred(pair, data):
    """When e is chosen instead of a*_k, its index is not smaller."""
    problem, is_independent = pair
    n = problem.n_items
    U = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, math.inf]), min_size=n, max_size=n))
    chosen = []
    for e in reference.greedy_order(U).tolist():
        if is_independent(frozenset([*chosen, e])):
            chosen.append(e)
    for exchange in bounds.decompose_regret(problem, np.array(chosen, int)).exchanges:
        assert U[exchange.item] >= U[exchange.instead_of]


def test_only_bases_are_exchanged():
    triangle = mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    for pair, name in [(([0, 1, 2], [0, 1]), "optimal_basis"), (([0, 1], [0]), "basis"), (([0], [0, 1]), "optimal")]:
        with pytest.raises(ItemError, match=f"expected {name}.* to be a basis"):
            bounds.exchange_bijection(triangle, *pair)
    with pytest.raises(ItemError, match="expected item numbers"):
        bounds.exchange_bijection(triangle, [0, 1], [0.0, 1.9])
    with pytest.raises(ItemError, match=r"expected items in 0..2, got 7"):
        bounds.exchange_bijection(triangle, [0, 1], [0, 7])
    problem = mb.Problem(triangle, mb.BernoulliEnvironment([0.1, 0.2, 0.3]))
    with pytest.raises(ItemError, match="to be a basis"):
        bounds.decompose_regret(problem, [0])
    with pytest.raises(ItemError, match="expected item numbers"):
        bounds.decompose_regret(problem, [0.5, 1.0])
    for basis in ((0, 1), range(2), np.array([0, 1], np.uint8)):
        assert bounds.exchange_bijection(triangle, [1, 0], basis).tolist() == [1, 0]


@pytest.mark.parametrize("unordered", [{0, 1}, frozenset([0, 1]), {0: 1, 1: 2}, iter([0, 1]), None, 1])
def test_exchanged_bases_have_an_order(unordered):
    matroid = mb.UniformMatroid(4, 2)
    with pytest.raises(ItemError, match="expected basis to be a sequence of items, as their order matters; got"):
        bounds.exchange_bijection(matroid, [2, 3], unordered)
    with pytest.raises(ItemError, match="expected optimal_basis to be a sequence of items"):
        bounds.exchange_bijection(matroid, unordered, [2, 3])
    with pytest.raises(ItemError, match="expected basis to be a sequence of items"):
        bounds.decompose_regret(mb.Problem(matroid, bernoulli([0.1, 0.2, 0.3, 0.4])), unordered)


@pytest.mark.parametrize("problem", [None, mb.UniformMatroid(4, 2), "problem"])
def test_bounds_are_of_problems(problem):
    for bound in (
        lambda: bounds.gap_dependent(problem, 10),
        lambda: bounds.lower_bound(problem),
        lambda: bounds.lower_bound(problem, "kl"),
        lambda: bounds.decompose_regret(problem, [0, 1]),
    ):
        with pytest.raises(ProblemError, match=f"expected a Problem, got {type(problem).__name__}"):
            bound()
    with pytest.raises(ProblemError, match="expected a Matroid, got NoneType"):
        bounds.exchange_bijection(None, [0, 1], [0, 1])


@pytest.mark.parametrize("scale", ["a", "1", math.nan, math.inf, -1.0, 1e200, 10**400, None, True, [1.0], 1j])
def test_scales_of_bounds_are_checked(scale):
    message = r"expected scale to be a number in \[0, 1e100\], got"
    with pytest.raises(ProblemError, match=message):
        bounds.gap_dependent(mb.lower_bound_problem(4, 2, 0.1), 10, scale=scale)
    with pytest.raises(ProblemError, match=message):
        bounds.gap_free(4, 2, 10, scale=scale)


# Theorem 2


@settings(max_examples=100)
@given(pair=problems(), n=st.integers(1, 10**9))
def test_theorem_2_term_by_term(pair, n):
    problem, _ = pair
    bound = bounds.gap_dependent(problem, n)
    assert bound == pytest.approx(reference.gap_dependent(problem, n), rel=1e-9)


def test_theorem_2_where_there_is_nothing_to_lose():
    for means in ([0.5] * 4, [1.0] * 4):  # all tied
        assert bounds.gap_dependent(mb.Problem(mb.UniformMatroid(4, 2), bernoulli(means)), 100) == 0.0
    for matroid in (mb.UniformMatroid(3, 0), mb.UniformMatroid(3, 3)):
        assert bounds.gap_dependent(mb.Problem(matroid, bernoulli([0.1, 0.2, 0.3])), 100) == 0.0
    empty = mb.Problem(mb.UniformMatroid(0, 0), bernoulli([]))
    assert bounds.gap_dependent(empty, [1, 10]).tolist() == [0.0, 0.0]
    # a loop better than all others is no item's rival
    graph = mb.GraphicMatroid([(0, 1), (1, 1)])
    assert bounds.gap_dependent(mb.Problem(graph, bernoulli([0.2, 0.9])), 100) == 0.0


def test_theorem_2_by_hand():
    # optimal 0.9, 0.5; item 0.5 ties with one and is 0.4 below the other; item 0.2 is 0.3 and 0.7 below
    problem = mb.Problem(mb.UniformMatroid(4, 2), bernoulli([0.9, 0.5, 0.5, 0.2]))
    expected = (16 / 0.4 + 16 / 0.3) * math.log(50) + (0.4 + 0.7 + 0.3) * 4 / 3 * math.pi**2
    assert bounds.gap_dependent(problem, 50) == pytest.approx(expected)
    twice = (16 / 0.4 + 16 / 0.3) * 4 * math.log(50) + (0.4 + 0.7 + 0.3) * 4 / 3 * math.pi**2
    assert bounds.gap_dependent(problem, 50, scale=2.0) == pytest.approx(twice)
    costs = mb.Problem(mb.UniformMatroid(4, 2), bernoulli([0.1, 0.5, 0.5, 0.8]), minimize=True)
    assert bounds.gap_dependent(costs, 50) == pytest.approx(expected)
    assert bounds.gap_dependent(problem, [1, 50]).tolist() == [
        pytest.approx(1.4 * 4 / 3 * math.pi**2),
        pytest.approx(expected),
    ]


# Theorem 3


def test_theorem_3():
    expected = 8 * math.sqrt(3 * 7 * 1000 * math.log(1000)) + 4 / 3 * math.pi**2 * 21
    assert bounds.gap_free(7, 3, 1000) == pytest.approx(expected)
    assert bounds.gap_free(7, 3, 1000, scale=5.0) == pytest.approx(5 * expected)
    assert bounds.gap_free(7, 0, 1000) == bounds.gap_free(0, 0, 1000) == 0.0
    assert bounds.gap_free(7, 3, np.array([[1, 1000]])).shape == (1, 2)
    assert bounds.gap_free(7, 3, 1) == pytest.approx(4 / 3 * math.pi**2 * 21)


@pytest.mark.parametrize("n", [0, [5, 0], -1, math.nan, "many", None, [[1], [1, 2]], -(10**400), 10**400])
def test_numbers_of_episodes_are_checked(n):
    problem = mb.lower_bound_problem(4, 2, 0.1)
    with pytest.raises(ProblemError, match="expected numbers of episodes of at least 1"):
        bounds.gap_dependent(problem, n)
    with pytest.raises(ProblemError, match="expected numbers of episodes of at least 1"):
        bounds.gap_free(4, 2, n)


def test_gap_free_checks_its_rank():
    with pytest.raises(ProblemError, match="got rank 5 of 4 items"):
        bounds.gap_free(4, 5, 10)
    with pytest.raises(ProblemError, match=r"expected 0 <= rank <= n_items < 2\*\*53, got rank -1 of 4 items"):
        bounds.gap_free(4, -1, 10)
    with pytest.raises(ProblemError, match=r"n_items < 2\*\*53"):
        bounds.gap_free(10**400, 1, 10)
    for arguments in (("a", 2), (4, "a"), (4, 2.0), (None, 2)):
        with pytest.raises(ProblemError, match="expected n_items and rank to be integers, got"):
            bounds.gap_free(*arguments, 10)
    assert bounds.gap_free(np.int32(2**31 - 1), np.int32(2**31 - 1), 1) > 1e18


# Theorem 4 and its sharper form


@pytest.mark.parametrize(("n_items", "rank", "gap"), [(10, 2, 0.1), (7, 3, 0.25), (5, 5, 0.1), (9, 1, 0.4375)])
def test_theorem_4(n_items, rank, gap):
    problem = mb.lower_bound_problem(n_items, rank, gap)
    assert bounds.lower_bound(problem) == pytest.approx((n_items - rank) / (4 * gap))
    kl = float(reference.kl(0.5 - gap, 0.5))
    assert bounds.lower_bound(problem, "kl") == pytest.approx((n_items - rank) * gap / kl)
    assert bounds.lower_bound(problem, "kl") >= bounds.lower_bound(problem)


@pytest.mark.parametrize(
    "problem",
    [
        mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.5, 0.5, 0.25, 0.25])),
        mb.Problem(mb.PartitionMatroid("aabb", 2), mb.BernoulliEnvironment([0.5] * 4)),
        mb.Problem(mb.PartitionMatroid("aabb"), mb.BernoulliEnvironment([0.5] * 4)),  # no gap at all
        mb.Problem(mb.PartitionMatroid("aabb"), mb.BernoulliEnvironment([0.5, 0.25, 0.5, 0.125])),
        mb.Problem(mb.PartitionMatroid("aabb"), mb.BernoulliEnvironment([0.75, 0.25, 0.75, 0.25])),
        mb.Problem(mb.PartitionMatroid("aabb"), mb.BernoulliEnvironment([0.5, 0.25, 0.5, 0.25]), minimize=True),
    ],
)
def test_theorem_4_is_for_its_own_problem(problem):
    with pytest.raises(ProblemError, match="expected the partition bandit of Theorem 4"):
        bounds.lower_bound(problem)


def test_lower_bounds_check_their_arguments():
    gaussian = mb.Problem(mb.UniformMatroid(2, 1), mb.GaussianEnvironment([0.5, 0.25]))
    for form in ("paper", "kl"):
        with pytest.raises(ProblemError, match="expected Bernoulli weights, got <GaussianEnvironment"):
            bounds.lower_bound(gaussian, form)
    with pytest.raises(ProblemError, match='expected form to be "paper" or "kl", got \'exact\''):
        bounds.lower_bound(mb.lower_bound_problem(4, 2, 0.1), "exact")


@pytest.mark.long
@settings(max_examples=100)
@given(pair=problems())
def test_kl_form_over_all_exchanges(pair):
    """Item e against the worst optimal item whose place it can take, found by trying every exchange."""
    problem, is_independent = pair
    system = reference.SetSystem(problem.n_items, is_independent)
    sign, w = -1 if problem.minimize else 1, problem.environment.mean_weights.tolist()
    best = frozenset(problem.optimal_basis.tolist())
    expected = 0.0
    for e in range(problem.n_items):
        rivals = [a for a in best if e not in best and (best - {a}) | {e} in system.bases]
        if rivals:
            worst = min(rivals, key=lambda a: sign * w[a])
            gap = sign * w[worst] - sign * w[e]
            if gap > 0 and 0 < w[worst] < 1:  # weights that are certain are told apart at once
                expected += gap / float(reference.kl(w[e], w[worst]))
    assert bounds.lower_bound(problem, "kl") == pytest.approx(expected, rel=1e-9)


def test_kl_form_of_tiny_gaps():
    """Where the divergence is smaller than the rounding of its logarithms: kl is gap^2 / 2q(1-q) there."""
    for gap in (1e-6, 1e-9, 1e-13):
        means = [0.5, 0.5 - gap]
        for minimize in (False, True):
            problem = mb.Problem(mb.UniformMatroid(2, 1), bernoulli(means), minimize)
            exact = means[0] - means[1]
            assert bounds.lower_bound(problem, "kl") == pytest.approx(0.5 / exact, rel=1e-5)


def bernoulli(means):
    return mb.BernoulliEnvironment(means)


# Sizes


@settings(max_examples=150, deadline=None)
@given(pair=problems())
def test_kl_bound_equals_the_one_by_circuits(pair):
    problem, is_independent = pair
    means, gains = problem.environment.mean_weights, problem.gains
    best = frozenset(problem.optimal_basis.tolist())
    total = 0.0
    for e in problem.suboptimal_items.tolist():
        rivals = [f for f in best if is_independent((best - {f}) | {e})]  # a circuit, but for e
        worst = min(rivals, key=lambda a: gains[a], default=None)
        if worst is not None and gains[worst] > gains[e]:
            divergence = float(reference.kl(means[e], means[worst])) if 0 < means[worst] < 1 else math.inf
            total += (gains[worst] - gains[e]) / divergence
    assert bounds.lower_bound(problem, "kl") == pytest.approx(total, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(pair=problems(), data=st.data())
def test_exchanges_are_the_first_that_fit_from_the_last_item_back(pair, data):
    problem, _ = pair
    matroid = problem.constraint
    best, chosen = problem.optimal_order.tolist(), draw_basis(data, matroid)
    left, expected = list(range(len(best))), {}
    for k in range(len(best) - 1, -1, -1):
        fresh = [i for i in left if best[i] not in chosen[:k]]
        fits = [i for i in fresh if matroid.is_independent([*chosen[:k], best[i]])]
        expected[k] = best.index(chosen[k]) if chosen[k] in best else fits[0]
        left.remove(expected[k])
    pi = bounds.exchange_bijection(matroid, best, chosen)
    assert pi.tolist() == [expected[k] for k in range(len(best))]


@pytest.mark.compiled
def test_steps_of_bounds_grow_with_the_items_and_no_faster():
    rng = np.random.default_rng(0)
    counts = []
    for n in (100, 1000):
        graph = mb.GraphicMatroid(rng.integers(0, n // 3, (n, 2)))
        problem = mb.Problem(graph, mb.BernoulliEnvironment(rng.random(n)))
        basis = graph.max_weight_basis(rng.random(n))
        _ = problem.optimal_order, problem.suboptimal_items
        counts.append(
            [
                steps(lambda P=problem: bounds.lower_bound(P, "kl")),
                steps(lambda P=problem, B=basis: bounds.decompose_regret(P, B)),
            ]
        )
    assert (np.array(counts[1]) <= 15 * np.array(counts[0])).all()


# Where the theorems say nothing


COINS = mb.BernoulliEnvironment([0.5, 0.9, 0.2, 0.4, 0.6, 0.3])


class Louder(Wrapper):
    """A wrapper that has no say about who is available or late."""

    def draw(self, stream, t, items):
        return super().draw(stream, t, items)


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (mb.Problem(Matching(2, 3), COINS), "they are for matroids; got Matching"),
        (mb.Problem(mb.UniformMatroid(6, 2), mb.AvailabilityEnvironment(COINS, 0.5)), "some may not be available"),
        (mb.Problem(mb.UniformMatroid(6, 2), mb.DelayedEnvironment(COINS, 5)), "this environment may be late"),
        (
            mb.Problem(mb.UniformMatroid(6, 2), Louder(mb.DelayedEnvironment(Louder(COINS), 5))),
            "this environment may be late",
        ),
        (
            mb.Problem(mb.UniformMatroid(6, 2), mb.DriftingEnvironment(COINS, to=np.full(6, 0.5), over=9)),
            "means that stay",
        ),
    ],
    ids=["no matroid", "availability", "delays", "delays inside", "drift"],
)
def test_bounds_refuse_where_they_do_not_hold(problem, why, tmp_path):
    for bound in (lambda: bounds.gap_dependent(problem, 100), lambda: bounds.lower_bound(problem)):
        with pytest.raises(ProblemError, match=f"expected a problem that bounds on regret hold for: .*{why}"):
            bound()
    result = mb.simulate(problem, [mb.OMM()], n_episodes=5, n_runs=2, seed=0)
    result.save(tmp_path / "result.npz")
    assert why in result.no_bounds
    for each in (result, mb.SimulationResult.load(tmp_path / "result.npz")):
        assert each == result
        with pytest.raises(SimulationError, match="expected no bounds, .*" if "stay" in why else why):
            each.plot(bounds={"gap-free": bounds.gap_free(6, 2, each.checkpoints)})


def test_gaps_are_for_matroids():
    assert mb.Problem(mb.UniformMatroid(6, 2), Louder(COINS)).no_bounds == ""
    problem = mb.Problem(Matching(2, 3), COINS)
    for ask in (problem.gaps, problem.n_better):
        with pytest.raises(ProblemError, match="expected a matroid, whose items replace each other one by one"):
            ask()
    assert problem.rank == 2


@pytest.mark.parametrize(
    ("world", "scale"),
    [
        (mb.GaussianEnvironment([0.5, 0.25], 0.1), 1.0),
        (mb.ExponentialEnvironment([2.0, 3.0]), 100.0),
        (mb.BernoulliEnvironment([0.5, 0.25]), 0.5),
    ],
    ids=["normal", "exponential", "narrow"],
)
def test_theorem_2_is_for_weights_in_a_range_of_the_scale(world, scale):
    problem = mb.Problem(mb.UniformMatroid(2, 1), world)
    with pytest.raises(ProblemError, match="expected weights in a range of width"):
        bounds.gap_dependent(problem, 100, scale=scale)
