"""The tests of exchanges equal what one finds by trying every basis; the mixtures behind them are mixtures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits._util.binomial import exact_interval
from matroid_bandits._util.sums import added
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification import Watch, confidence
from matroid_bandits.matroids import Exchanges, Matroid
from samples import MATROIDS

PLAIN = mb.StoppingRule(delta=0.1, deviation=0.7, threshold="unproven")


def all_bases(matroid):
    sets = itertools.combinations(range(matroid.n_items), matroid.rank)
    return [np.array(B, np.int64) for B in sets if matroid.is_basis(np.array(B, np.int64))]


def evidence(n_items, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, n_items)
    return counts, counts * rng.random(n_items)


@pytest.mark.parametrize("name", MATROIDS)
@pytest.mark.parametrize("seed", range(3))
def test_exchanges_are_those_that_make_bases(name, seed):
    matroid = MATROIDS[name]
    basis = matroid.max_weight_basis(np.random.default_rng(seed).random(matroid.n_items))
    pairs = [
        (e, f)
        for f in np.setdiff1d(np.arange(matroid.n_items), basis).tolist()
        for e in basis.tolist()
        if matroid.is_basis(np.append(np.setdiff1d(basis, e), f))
    ]
    for leaves, enters in (matroid.exchanges(basis), Matroid.exchanges(matroid, basis)):
        assert list(zip(leaves.tolist(), enters.tolist(), strict=True)) == pairs
    assert len(pairs) <= matroid.most_exchanges() <= matroid.rank * (matroid.n_items - matroid.rank)


@pytest.mark.parametrize("name", MATROIDS)
def test_no_pair_beyond_the_most_is_ever_exchanged(name):
    """An item outside the best basis and one inside that replace each other in any basis are among those counted."""
    matroid = MATROIDS[name]
    bases = all_bases(matroid)
    pairs = set()
    for basis in bases:
        leaves, enters = matroid.exchanges(basis)
        pairs |= set(zip(leaves.tolist(), enters.tolist(), strict=True))
    for basis in bases:
        own = set(basis.tolist())
        assert sum(f in own and e not in own for e, f in pairs) <= matroid.most_exchanges()


@pytest.mark.parametrize("name", MATROIDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_least_statistic_is_that_of_all_bases(name, seed):
    """The likelihood ratio of "another basis is the best" over all bases is the least one of an exchange."""
    matroid = MATROIDS[name]
    counts, sums = evidence(matroid.n_items, seed)
    means = sums / counts
    best = set(matroid.max_weight_basis(means).tolist())
    ratios = [math.inf]
    for other in (set(basis.tolist()) for basis in all_bases(matroid)):
        if other != best:
            differ = sorted(best ^ other)
            gap = added(means[e] for e in best) - added(means[e] for e in other)
            ratios.append(gap**2 / (2 * 0.7**2 * added(1 / counts[e] for e in differ)))
    found = confidence(Watch(PLAIN, matroid), counts, sums, t=10, n_margins=None)
    statistics = [margin.statistic for margin in found.margins]
    assert min(statistics, default=math.inf) == pytest.approx(min(ratios))


def kl(p, q):
    return added(x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0)


@pytest.mark.parametrize("minimize", [False, True])
def test_one_item_of_several_is_the_best_arm_of_garivier_and_kaufmann(minimize):
    """On sets of one item the statistic is the generalised likelihood ratio of best-arm identification."""
    counts, weights = np.array([30, 20, 10]), np.array([0.8, 0.5, 0.35])
    if minimize:
        weights = 1.0 - weights
    gains = counts * (-weights if minimize else weights)
    rule = mb.StoppingRule(delta=0.1, weights="unit", threshold="unproven")
    watch = Watch(rule, mb.UniformMatroid(3, 1), minimize)
    found = confidence(watch, counts, gains, t=60, n_margins=None)
    expected = []
    for other in (1, 2):
        middle = (counts[0] * weights[0] + counts[other] * weights[other]) / (counts[0] + counts[other])
        expected.append(counts[0] * kl(weights[0], middle) + counts[other] * kl(weights[other], middle))
    assert sorted(margin.statistic for margin in found.margins) == pytest.approx(sorted(expected))
    least = min(expected)
    assert found.delta == pytest.approx((1 + math.log(60)) * math.exp(-least))


@given(*(st.integers(1, 60),) * 2, *(st.integers(0, 20),) * 2, st.integers(0, 10))
def test_a_tolerance_asks_for_means_that_far_apart(n, k, x, y, tolerance):
    """The ratio against "better by more than the tolerance" is the least over all such means."""
    x, y, tolerance = max(x, y) / 20, min(x, y) / 20, tolerance / 20
    rule = mb.StoppingRule(weights="unit", tolerance=tolerance, threshold="unproven")
    watch = Watch(rule, mb.UniformMatroid(2, 1))
    found = confidence(watch, np.array([n, k]), np.array([n * x, k * y]), t=10)
    (margin,) = found.margins
    x, y = (n * x) / n, (k * y) / k
    with np.errstate(divide="ignore", invalid="ignore"):
        grid = np.linspace(0.0, 1.0 - tolerance, 20_001)
        values = n * bernoulli(x, grid) + k * bernoulli(y, grid + tolerance)
    assert margin.statistic <= np.nanmin(values) * (1 + 1e-6) + 1e-9
    assert margin.statistic >= np.nanmin(values) - 0.002 * (n + k)  # of a grid that is no finer


def bernoulli(p, q):
    one = np.where(p > 0, p * np.log(p / q), 0.0) if p > 0 else 0.0
    two = (1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return one + two


@pytest.mark.parametrize("n", [1, 7, 30])
def test_the_mixture_of_unit_weights_is_a_distribution(n):
    """exp(-penalty) times the likelihood of the best mean is a probability of the outcomes."""
    rule = mb.StoppingRule(weights="unit")
    watch = Watch(rule, mb.UniformMatroid(2, 1))
    total = 0.0
    for s in range(n + 1):
        # the threshold of an exchange is a level and both items' penalties; the other item has one play of 0
        found = confidence(watch, np.array([n, 1]), np.array([float(s), 0.0]), t=1, delta=0.5)
        (margin,) = found.margins
        penalty = margin.threshold - math.log(watch.n_pairs / 0.5) - single_penalty(0, 1)
        best = (s / n) ** s * (1 - s / n) ** (n - s)
        total += math.comb(n, s) * best * math.exp(-penalty)
    assert total == pytest.approx(1.0, abs=1e-12)


def single_penalty(s, n):
    return -(math.lgamma(s + 0.5) + math.lgamma(n - s + 0.5) - math.lgamma(n + 1) - math.log(math.pi))


def test_plays_still_needed_are_the_least_that_pass():
    watch = Watch(mb.StoppingRule(delta=0.05, weights="unit"), mb.UniformMatroid(2, 1, labels="ab"))

    def margin_after(more):
        counts = np.array([20, 30]) + more
        return confidence(watch, counts, counts * np.array([0.7, 0.5]), t=50).margins[0]

    needed = margin_after(0).plays
    assert needed > 0
    assert margin_after(needed).passes
    assert not margin_after(needed - 1).passes
    assert margin_after(needed).plays == 0


def test_ties_never_stop_without_a_tolerance():
    counts, sums = np.array([10_000, 10_000]), np.array([5000.0, 5000.0])
    exact = confidence(Watch(mb.StoppingRule(weights="unit"), mb.UniformMatroid(2, 1)), counts, sums, t=1)
    assert exact.delta == 1.0
    assert exact.margins[0].plays is None
    near = Watch(mb.StoppingRule(weights="unit", tolerance=0.1), mb.UniformMatroid(2, 1))
    assert confidence(near, counts, sums, t=1).is_sure(0.01)


@pytest.mark.parametrize(
    "rule",
    [
        {"deviation": 1.0},
        {"weights": "unit"},
        {"deviation": 1.0, "independent": False},
        {"weights": "unit", "independent": False},
        {"deviation": 1.0, "threshold": "CLUCB"},
        {"deviation": 1.0, "threshold": "unproven"},
        {"weights": "unit", "tolerance": 0.05},
    ],
    ids=str,
)
def test_a_look_is_sure_from_the_least_delta_on(rule):
    """`look` stops at deltas above the confidence, and at none below it."""
    matroid = MATROIDS["graphic"]
    rng = np.random.default_rng(5)
    is_slow = "deviation" in rule or "independent" in rule
    factor = 200 if rule.get("threshold") == "CLUCB" else 20 if is_slow else 1
    counts = factor * rng.integers(200, 400, matroid.n_items)
    sums = counts * np.linspace(0.1, 0.6 if is_slow else 0.9, matroid.n_items)
    found = confidence(Watch(mb.StoppingRule(**rule), matroid), counts, sums, t=900)
    assert 0.0 < found.delta < 1.0
    for delta, is_sure in ((found.delta * 1.01, True), (found.delta * 0.99, False)):
        if delta < 1.0:
            watch = Watch(mb.StoppingRule(delta=delta, **rule), matroid)
            assert watch.look(counts[None], sums[None], t=900)[1].tolist() == [is_sure]
            assert found.is_sure(delta) == is_sure


def test_dependent_weights_take_more():
    counts, sums = np.array([300, 300]), np.array([200.0, 100.0])
    matroid = mb.UniformMatroid(2, 1)
    rules = [mb.StoppingRule(weights="unit", independent=is_so) for is_so in (True, False)]
    both = [confidence(Watch(rule, matroid), counts, sums, t=1) for rule in rules]
    assert both[0].delta < both[1].delta < 1.0


def test_items_without_answers_are_named():
    watch = Watch(mb.StoppingRule(weights="unit"), mb.UniformMatroid(3, 1, labels="abc"))
    found = confidence(watch, np.array([5, 0, 5]), np.array([5.0, 0.0, 0.0]), t=5)
    assert found.unanswered == ("b",)
    assert found.delta == 1.0
    assert str(found) == "it would not stop at any delta: 1 item without an answer, b"


def test_one_basis_is_always_the_best():
    watch = Watch(mb.StoppingRule(delta=0.01, weights="unit"), mb.UniformMatroid(2, 2))
    assert watch.look(np.zeros((1, 2), np.int64), np.zeros((1, 2)), t=1)[1].tolist() == [True]
    assert str(confidence(watch, np.zeros(2, np.int64), np.zeros(2), t=1)) == "there is no other set"


def test_a_confidence_has_a_plain_form():
    counts, sums = evidence(6, 1)
    found = confidence(Watch(mb.StoppingRule(weights="unit"), MATROIDS["graphic"]), counts, sums, t=9)
    assert mb.Confidence.from_dict(found.to_dict()) == found
    assert found.to_frame().shape == (len(found.margins), 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expected the law of the weights, .* got neither"),
        ({"weights": "unit", "deviation": 1.0}, "got both"),
        ({"weights": "big"}, 'expected weights to be "unit"'),
        ({"deviation": 0.0}, "expected deviation to be above 0, got 0"),
        ({"deviation": 1.0, "delta": 0.0}, "expected delta to be above 0 and below 1, got 0"),
        ({"deviation": 1.0, "delta": 1}, "expected delta to be above 0 and below 1, got 1"),
        ({"deviation": 1.0, "threshold": "log(1/delta)"}, "expected threshold to be"),
        ({"deviation": 1.0, "tolerance": -1}, "expected tolerance to be a number"),
        ({"deviation": 1.0, "threshold": "unproven", "independent": False}, "expected independent weights"),
    ],
)
def test_mistakes_in_a_rule(arguments, message):
    with pytest.raises(StoppingError, match=message):
        mb.StoppingRule(**arguments)


def test_other_constraints_are_refused():
    assignment = mb.AssignmentConstraint([(0, 0), (0, 1), (1, 0), (1, 1)])
    with pytest.raises(StoppingError, match="expected a matroid, where a set is best if no single exchange"):
        Watch(mb.StoppingRule(weights="unit"), assignment)


def test_exchanges_are_remembered_and_forgotten(monkeypatch):
    known = Exchanges(mb.UniformMatroid(6, 2))
    bases = np.array([[0, 1], [2, 3], [0, 1]])
    for most in (2**22, 0):
        monkeypatch.setattr("matroid_bandits.matroids._exchanges._MOST_PAIRS", most)
        first, last, leaves, enters = known.of(bases)
        for row in range(3):
            own = known.matroid.exchanges(bases[row])
            assert np.array_equal(leaves[first[row] : last[row]], own[0])
            assert np.array_equal(enters[first[row] : last[row]], own[1])


def test_the_exact_interval_covers():
    """Clopper and Pearson's: the chance of a count as extreme is a fortieth at either end."""
    low, high = exact_interval(7, 50)
    tail = added(math.comb(50, k) * low**k * (1 - low) ** (50 - k) for k in range(7, 51))
    assert tail == pytest.approx(0.025)
    tail = added(math.comb(50, k) * high**k * (1 - high) ** (50 - k) for k in range(8))
    assert tail == pytest.approx(0.025)
    assert exact_interval(0, 10)[0] == 0.0
    assert exact_interval(10, 10)[1] == 1.0
