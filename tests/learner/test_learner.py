"""The live learner: ask and tell, late and partly; bad feedback; explanations; files that are never torn."""

import io
import json
import math
import os
import pickle
import zipfile
from contextlib import nullcontext

import numpy as np
import pytest

import matroid_bandits as mb
import matroid_bandits.policies
import reference
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    ItemError,
    PolicyError,
    SeedError,
    SerializationError,
    UnknownDecisionError,
)
from samples import GRAPH, POLICIES, PROBLEM, Mixed

PLAYERS = {name: policy for name, policy in POLICIES.items() if name != "optimal"}
ADS = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats", "cap": "hats", "visor": "hats"})


@pytest.fixture(params=PLAYERS.values(), ids=PLAYERS.keys())
def policy(request):
    return request.param


def snapshot(learner):
    """Everything that a learner knows, as plain values."""
    learner._agent.settle()
    state = learner._agent.state
    names = ("counts", "waiting", "lost", "sums", "means", "radii", "n_waiting", "prior_means", "prior_counts")
    arrays = {name: getattr(state, name) for name in names} | state.extra | state.totals()
    waiting = [
        (id, play.items[0].tolist(), play.told if play.told is None else play.told.tolist())
        for id, play in learner._agent.open.items()
    ]
    return {key: value.tolist() for key, value in arrays.items()}, learner.n_decisions, waiting


def force(learner, labels):
    """Let a learner choose these items next, as a log that is trusted would."""
    return learner.apply({"event": "asked", "decision": learner.n_decisions + 1, "items": labels}, trust=True)


def play(learner, n, seed=0):
    """Ask and tell n times; the decisions."""
    rng = np.random.default_rng([seed, learner.n_decisions])
    decisions = []
    for _ in range(n):
        decision = learner.ask()
        learner.tell(decision, rng.integers(0, 5, decision.items.size) / 4)
        decisions.append(decision.items.tolist())
    return decisions


# A learner decides as a simulated run does


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("start", ["explore", "observe"])
def test_a_learner_is_run_0_of_a_simulation(policy, start, minimize):
    world = reference.Watched(PROBLEM.environment)
    mb.simulate(mb.Problem(GRAPH, world, minimize), [policy], n_episodes=25, n_runs=2, seed=7, start=start)
    draw = reference.weights_of(PROBLEM.environment, 7, run=0)
    learner = mb.Learner(GRAPH, policy, minimize=minimize, seed=7)
    if start == "observe":
        learner.observe(draw(0, range(8)))
    decided = []
    for t in range(1, 26):
        decision = learner.ask()
        learner.tell(decision, draw(t, decision.items))
        decided.append(decision.items.tolist())
    assert decided == world.bases[0]


# Decisions


def test_decisions_are_bases_with_labels():
    learner = mb.Learner(ADS, mb.OMM(), seed=0)
    first, second = learner.ask(), learner.ask()
    assert (first.id, first.episode, second.id) == (1, 1, 2)
    assert first.items.dtype == np.int64
    assert ADS.is_basis(first.items)
    assert first.labels == ("boots", "fedora")
    assert repr(first) == "Decision(id=1, labels=('boots', 'fedora'))"
    assert [d.id for d in learner.outstanding] == [1, 2]
    assert repr(learner).endswith("OMM(scale=1.0), 2 decisions, 2 outstanding)")
    assert (learner.constraint, learner.policy, learner.minimize, learner.seed) == (ADS, mb.OMM(), False, 0)


def test_everything_is_tried_first():
    learner = mb.Learner(ADS, mb.OMM())
    chosen = play(learner, 3)
    assert sorted({e for basis in chosen for e in basis}) == [0, 1, 2, 3, 4]


def test_fresh_seeds_differ():
    assert mb.Learner(ADS, mb.OMM()).seed != mb.Learner(ADS, mb.OMM()).seed


@pytest.mark.parametrize(
    ("matroid", "items"),
    [(mb.UniformMatroid(3, 0), []), (mb.UniformMatroid(0, 0), []), (mb.UniformMatroid(1, 1), [0])],
)
def test_smallest_matroids(matroid, items):
    for policy in (mb.OMM(), mb.KLOSM(), mb.ThompsonSampling(), mb.UniformRandom()):
        learner = mb.Learner(matroid, policy, seed=0)
        for weights in ([0.5] * len(items), dict.fromkeys(items, 0.5)):
            decision = learner.ask()
            assert decision.items.tolist() == items
            assert learner.n_outstanding == len(items)  # a decision without items is settled at once
            learner.tell(decision, weights)
            with pytest.raises(DecisionClosedError) if items else nullcontext():
                learner.tell(decision, weights)
        assert learner.best_basis().items.tolist() == items
        assert learner.outstanding == ()
        if matroid.n_items > matroid.rank:
            with pytest.raises(DecisionClosedError, match=r"decision 3 was told all .*, or has no items"):
                learner.tell(learner.ask(), {1: 0.5})


# Telling


def test_arrays_mappings_and_ids_tell_the_same():
    def tell_array(learner, decision):
        learner.tell(decision, [0.25, 0.75])

    def tell_id(learner, decision):
        learner.tell(decision.id, np.array([0.25, 0.75], np.float32))

    def tell_labels(learner, decision):
        first, second = decision.labels
        learner.tell(decision, {second: 0.75, first: 0.25})

    def tell_items(learner, decision):
        learner.tell(np.int64(decision.id), dict(zip(decision.items, [0.25, 0.75], strict=True)))

    def tell_partly(learner, decision):
        first, second = decision.labels
        learner.tell(decision, {second: 0.75})
        learner.tell(decision, {})
        learner.tell(decision, {first: 0.25})

    def tell_mixed(learner, decision):
        learner.tell(decision, {decision.labels[0]: np.float64(0.25), int(decision.items[1]): 0.75})

    seen = []
    for tell in (tell_array, tell_id, tell_labels, tell_items, tell_partly, tell_mixed):
        learner = mb.Learner(ADS, mb.ThompsonSampling(), seed=3)
        for _ in range(6):
            tell(learner, learner.ask())
        seen.append(snapshot(learner))
        assert learner.outstanding == ()
    assert all(s == seen[0] for s in seen)


def test_integers_that_could_be_labels_or_numbers_are_refused():
    matroid = mb.UniformMatroid(3, 3, labels=[2, 0, 1])
    learner = mb.Learner(matroid, mb.OMM())
    decision = learner.ask()
    with pytest.raises(ItemError, match="got 0, which is the label of item 1 and the number of item 0"):
        learner.tell(decision, {0: 0.25, 1: 0.5, 2: 0.75})
    learner.tell(decision, [0.75, 0.25, 0.5])
    assert learner.estimates().means.tolist() == [0.75, 0.25, 0.5]


def test_outstanding_decisions_may_be_told_in_any_order():
    learner = mb.Learner(ADS, mb.OMM(), seed=0)
    decisions = [learner.ask() for _ in range(4)]
    learner.tell(decisions[2], {int(decisions[2].items[1]): 1.0})
    learner.tell(decisions[3], [1.0, 0.0])
    learner.tell(decisions[0], [0.0, 0.5])
    assert [d.id for d in learner.outstanding] == [2, 3]
    learner.tell(3, {int(decisions[2].items[0]): 0.5})
    assert [d.id for d in learner.outstanding] == [2]
    assert learner.estimates().counts.sum() == 6


def test_indices_count_late_weights():
    """What is told late counts as what is told in time."""
    late, prompt = (mb.Learner(ADS, mb.OMM(), seed=0) for _ in range(2))
    decisions = [late.ask() for _ in range(3)]
    for decision in reversed(decisions):
        late.tell(decision, [0.5, 0.25])
    for decision in decisions:
        prompt.tell(force(prompt, decision.labels), [0.5, 0.25])
    assert snapshot(late) == snapshot(prompt)


def learner_with_history(policy=None, **settings):
    """Decision 1 is told, 2 partly, 3 not."""
    learner = mb.Learner(ADS, policy or mb.KLOSM(), seed=4, **settings)
    decisions = [force(learner, ["boots", "fedora"]) for _ in range(3)]
    learner.tell(decisions[0], [0.5, 1.0])
    learner.tell(decisions[1], {decisions[1].labels[1]: 0.25})
    return learner


@pytest.mark.parametrize(
    ("id", "weights", "error", "message"),
    [
        (1, [0.5, 1.0], DecisionClosedError, "decision 1 was told all its weights already"),
        (1, {"boots": 0.5}, DecisionClosedError, "decision 1 was told all its weights already"),
        (2, [0.5, 1.0], DecisionClosedError, r"item 2 \('fedora'\) of decision 2 was told before"),
        (2, {"fedora": 0.25}, DecisionClosedError, "expected a weight once per item"),
        (2, {"boots": 0.5, "fedora": 0.25}, DecisionClosedError, "expected a weight once per item"),
        (4, [0.5, 1.0], UnknownDecisionError, r"expected a decision or its id, 1\.\.3; got 4"),
        (0, [0.5, 1.0], UnknownDecisionError, "got 0"),
        (-1, [0.5, 1.0], UnknownDecisionError, "got -1"),
        ("1", [0.5, 1.0], UnknownDecisionError, "got '1'"),
        (None, [0.5, 1.0], UnknownDecisionError, "got None"),
        ([3], [0.5, 1.0], UnknownDecisionError, r"got \[3\]"),
        (2.5, [0.5, 1.0], UnknownDecisionError, "got 2.5"),
        (3, [0.5], FeedbackError, "expected 2 weights, one per item of the basis; got 1"),
        (3, [0.5, 0.5, 0.5], FeedbackError, "expected 2 weights, one per item of the basis; got 3"),
        (3, [], FeedbackError, "expected 2 weights, one per item of the basis; got 0"),
        (3, 0.5, FeedbackError, r"expected 2 weights, one per item of the basis; got shape \(\)"),
        (3, [[0.5, 0.5]], FeedbackError, r"got shape \(1, 2\)"),
        (3, [0.5, math.nan], FeedbackError, r"expected finite weights, got nan for item 2 \('fedora'\)"),
        (3, [math.inf, 0.5], FeedbackError, r"expected finite weights, got inf for item 0 \('boots'\)"),
        (3, {"boots": -math.inf}, FeedbackError, "expected finite weights, got -inf for item 0"),
        (3, [0.5, 1.5], FeedbackError, r"KLOSM\(c=0.0\) needs weights in \[0, 1\], got 1.5 for item 2 \('fedora'\)"),
        (3, [-0.1, 0.5], FeedbackError, r"needs weights in \[0, 1\], got -0.1 for item 0"),
        (3, {"fedora": 1.01}, FeedbackError, r"needs weights in \[0, 1\], got 1.01 for item 2"),
        (3, "ab", FeedbackError, "expected 2 numbers, got 'ab'"),
        (3, ["0.5", "0.5"], FeedbackError, r"expected 2 numbers, got \['0.5', '0.5'\]"),
        (3, [0.5, None], FeedbackError, "expected 2 numbers"),
        (3, None, FeedbackError, 'expected the weight of every chosen item with answers="all", got nothing'),
        (3, [0.5, 1j], FeedbackError, "expected 2 numbers"),
        (3, [[0.5], [0.5, 0.5]], FeedbackError, "expected 2 numbers"),
        (3, {0.5, 0.25}, FeedbackError, "expected 2 numbers"),
        (3, {"boots": "0.5"}, FeedbackError, "expected a number for 'boots', got '0.5'"),
        (3, {"boots": None}, FeedbackError, "expected a number for 'boots', got None"),
        (3, {"boots": [0.5]}, FeedbackError, "expected a number for 'boots'"),
        (3, {"boots": np.complex64(1j)}, FeedbackError, "expected a number for 'boots'"),
        (3, {"boots": 10**400}, FeedbackError, "expected a number for 'boots'"),
        (3, {"heels": 0.5}, FeedbackError, r"expected items of decision 3, got 1 \('heels'\)"),
        (3, {"boots": 0.5, 4: 0.5}, FeedbackError, r"expected items of decision 3, got 4 \('visor'\)"),
        (3, {"boots": 0.5, 0: 0.5}, FeedbackError, "expected each item once"),
        (3, {"sandals": 0.5}, ItemError, "expected an item or its label, got 'sandals'"),
        (3, {5: 0.5}, ItemError, "expected an item or its label, got 5"),
        (3, {-1: 0.5}, ItemError, "expected an item or its label, got -1"),
    ],
)
def test_bad_feedback_is_an_error_and_changes_nothing(id, weights, error, message):
    learner = learner_with_history()
    before = snapshot(learner)
    with pytest.raises(error, match=message):
        learner.tell(id, weights)
    assert snapshot(learner) == before
    learner.tell(3, [0.5, 0.5])  # and it goes on


def test_errors_are_what_a_caller_would_guess():
    learner = learner_with_history()
    with pytest.raises(KeyError) as caught:
        learner.tell(99, [0.5, 0.5])
    assert str(caught.value) == "expected a decision or its id, 1..3; got 99"
    with pytest.raises(ValueError, match="told all its weights"):
        learner.tell(1, [0.5, 0.5])


def test_beta_beliefs_need_weights_up_to_one():
    learner = mb.Learner(ADS, mb.ThompsonSampling(), seed=0)
    with pytest.raises(FeedbackError, match=r"ThompsonSampling\(prior='beta', noise=1.0\) needs weights in \[0, 1\]"):
        learner.tell(learner.ask(), [0.5, 2.0])
    free = mb.Learner(ADS, mb.ThompsonSampling("normal"), seed=0)
    free.tell(free.ask(), [-0.5, 2.0])


def test_booleans_and_integers_are_weights():
    learner = mb.Learner(ADS, mb.KLOSM())
    learner.tell(learner.ask(), [True, False])
    learner.tell(learner.ask(), {"heels": True, "cap": np.int8(1)})
    assert learner.estimates().counts.sum() == 4


# Weights seen before the first decision


def test_observed_weights_count():
    learner = mb.Learner(ADS, mb.OMM(), seed=0)
    learner.observe({"boots": 0.5, "heels": 0.25, 3: 1.0})
    learner.observe([0.0, 0.25, 0.5, 0.75, 1.0])
    assert learner.estimates().counts.tolist() == [2, 2, 1, 2, 1]
    assert learner.estimates().means.tolist() == [0.25, 0.25, 0.5, 0.875, 1.0]
    assert learner.ask().labels == ("boots", "visor")
    with pytest.raises(DecisionClosedError, match=r"expected observe\(\) before the first ask\(\)"):
        learner.observe([0.0] * 5)


def test_observed_weights_are_checked():
    learner = mb.Learner(ADS, mb.KLOSM(), seed=0)
    before = snapshot(learner)
    for weights, error in (
        ([0.5] * 4, FeedbackError),
        ([0.5, 0.5, 0.5, 0.5, math.nan], FeedbackError),
        ({"boots": 2.0}, FeedbackError),
        ({"sandals": 0.5}, ItemError),
        ("abcde", FeedbackError),
    ):
        with pytest.raises(error):
            learner.observe(weights)
    assert snapshot(learner) == before


def test_every_look_is_rounded_anew():
    """Of 400 weights of one half about 200 count as successes, however they are told: 5 deviations are 50."""
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.ThompsonSampling(), seed=0)
    for _ in range(400):
        learner.observe([0.5, 0.5])
    assert (np.abs(learner._agent.state.extra["successes"] - 200) < 50).all()


def test_looks_may_be_told_together_or_one_by_one():
    together, apart = (mb.Learner(ADS, mb.ThompsonSampling(), seed=0) for _ in range(2))
    for _ in range(5):
        together.observe([0.5] * 5)
    for e in range(5):
        for _ in range(5):
            apart.observe({e: 0.5})
    assert snapshot(together) == snapshot(apart)


# What a learner believes


@pytest.mark.parametrize("minimize", [False, True])
def test_estimates_are_in_the_units_of_the_weights(minimize):
    learner = mb.Learner(mb.UniformMatroid(3, 2), mb.OMM(scale=2.0), minimize=minimize)
    learner.observe([3.0, 5.0, 4.0])
    learner.observe({0: 5.0})
    decisions = [learner.ask() for _ in range(3)]
    estimates = learner.estimates()
    assert decisions[0].items.tolist() == ([0, 2] if minimize else [0, 1])  # the means at first, ties by number
    assert estimates.counts.tolist() == [2, 1, 1]
    assert estimates.means.tolist() == [4.0, 5.0, 4.0]
    waiting = np.bincount(np.concatenate([decision.items for decision in decisions]), minlength=3)
    assert estimates.waiting.tolist() == waiting.tolist()
    radius, sign = 2 * math.sqrt(2 * math.log(3)), -1 if minimize else 1
    plays = np.array([2, 1, 1]) + waiting
    assert estimates.indices == pytest.approx(np.array([4, 5, 4]) + sign * radius / np.sqrt(plays))


def test_items_never_seen_have_no_mean_and_come_first():
    for minimize in (False, True):
        learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(), minimize=minimize)
        learner.tell(learner.ask(), [0.5])
        estimates = learner.estimates()
        assert estimates.counts.tolist() == [1, 0, 0]
        assert estimates.means[0] == 0.5
        assert np.isnan(estimates.means[1:]).all()
        assert (estimates.indices[1:] == (-math.inf if minimize else math.inf)).all()
        assert learner.best_basis().items.tolist() == [0]


def test_estimates_tell_the_next_decision(policy):
    for minimize in (False, True):
        learner = mb.Learner(GRAPH, policy, minimize=minimize, seed=2)
        for _ in range(15):
            before = snapshot(learner)
            indices = learner.estimates().indices
            explained = [learner.explain(e) for e in range(8)]
            assert snapshot(learner) == before
            decision = learner.ask()
            assert GRAPH.max_weight_basis(indices, minimize).tolist() == decision.items.tolist()
            assert [x.item for x in explained if x.is_chosen] == decision.items.tolist()
            learner.tell(decision, np.linspace(0, 1, 4))


def test_best_basis_goes_by_means_alone():
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(3.0), minimize=True)
    learner.observe([3.0, 1.0, 2.0, 4.0])
    assert learner.best_basis().items.tolist() == [1, 2]
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(2.0))
    learner.observe({3: -5.0, 2: -7.0, 1: -6.0})
    assert learner.best_basis().items.tolist() == [1, 3]  # item 0 was never seen


def test_explanations_name_the_rivals():
    square = mb.GraphicMatroid(
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("b", "b")], labels="uvwxyz"
    )
    learner = mb.Learner(square, mb.OMM(scale=0.0))
    learner.observe([4.0, 5.0, 6.0, 1.0, 3.0, 9.0])
    assert learner.ask().labels == ("u", "v", "w")
    out = learner.explain("x")
    assert (out.item, out.label, out.is_chosen, out.index) == (3, "x", False, 1.0)
    assert out.rivals.tolist() == [0, 1, 2]
    assert out.rival_labels == ("u", "v", "w")
    assert out.margins.tolist() == [3.0, 4.0, 5.0]
    assert str(out) == "x is out: it could only replace u, which leads by 3 (4 against 1), or v (by 4), w (by 5)"
    diagonal = learner.explain(4)
    assert diagonal.rivals.tolist() == [0, 1]
    assert diagonal.margins.tolist() == [1.0, 2.0]
    chosen = learner.explain("v")
    assert chosen.is_chosen
    assert chosen.rivals.size == chosen.margins.size == 0
    assert str(chosen) == "v is chosen (mean 5 over 2 plays, index 5)"
    loop = learner.explain("z")
    assert not loop.is_chosen
    assert loop.rivals.size == 0
    assert str(loop) == "z cannot be chosen with what is pinned, or by itself"
    with pytest.raises(ItemError, match="expected an item or its label, got 'q'"):
        learner.explain("q")
    with pytest.raises(ItemError, match="got 6"):
        learner.explain(6)


def test_margins_of_costs_and_of_items_never_seen():
    learner = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM(scale=0.0), minimize=True)
    learner.observe([2.0, 1.0, 4.0])
    out = learner.explain(2)
    assert (out.index, out.rivals.tolist(), out.margins.tolist()) == (4.0, [1], [3.0])
    fresh = mb.Learner(mb.UniformMatroid(3, 1), mb.OMM())
    assert fresh.explain(2).margins.tolist() == [0.0]
    fresh.tell(fresh.ask(), [1.0])
    assert fresh.explain(0).margins.tolist() == [math.inf]


# Wrong arguments


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "message"),
    [
        (("matroid", mb.OMM()), {}, PolicyError, "expected a Constraint, such as a Matroid; got str"),
        ((ADS, "OMM"), {}, PolicyError, "expected a Policy, got 'OMM'"),
        ((ADS, mb.OMM), {}, PolicyError, "the class; an instance is needed"),
        ((ADS, mb.FixedSet([5])), {}, PolicyError, r"expected items in 0\.\.4, got 5"),
        ((ADS, mb.CombLinTS(np.eye(3))), {}, PolicyError, "expected features for 5 items, got 3 rows"),
        ((ADS, mb.OMM()), {"minimize": "false"}, PolicyError, "expected minimize to be True or False, got 'false'"),
        ((ADS, mb.OMM()), {"seed": -1}, SeedError, "got -1"),
        ((ADS, mb.OMM()), {"engine": "steam"}, PolicyError, "got 'steam'"),
    ],
)
def test_bad_arguments_are_named(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        mb.Learner(*arguments, **settings)


# Files


@pytest.mark.parametrize("minimize", [False, True])
def test_a_loaded_learner_goes_on_as_if_nothing_happened(policy, minimize, tmp_path):
    learner = mb.Learner(GRAPH, policy, minimize=minimize, seed=2**64 - 1)
    play(learner, 10)
    late, part = learner.ask(), learner.ask()
    learner.tell(part, {int(part.items[2]): 0.75})
    path = tmp_path / "learner"
    learner.save(path)
    again = mb.Learner.load(path, policy=policy if isinstance(policy, Mixed) else None)
    assert snapshot(again) == snapshot(learner)
    assert (again.constraint, again.policy) == (learner.constraint, learner.policy)
    assert (again.seed, again.minimize) == (learner.seed, learner.minimize)
    assert [d.id for d in again.outstanding] == [late.id, part.id]
    for each in (learner, again):  # a Decision of before is as good as its id
        each.tell(part, {int(e): 0.25 for e in part.items if e != part.items[2]})
    decided = play(learner, 8)
    assert play(again, 8) == decided
    for each in (learner, again):
        each.tell(late, [0.25, 0.5, 0.75, 1.0])
    assert play(again, 8) == play(learner, 8)
    assert snapshot(again) == snapshot(learner)


def test_a_learner_may_be_saved_before_its_first_decision(tmp_path):
    learner = mb.Learner(ADS, mb.OMM(), seed=1)
    learner.save(tmp_path / "fresh")
    again = mb.Learner.load(tmp_path / "fresh")
    for each in (learner, again):
        each.observe([0.5, 0.25, 0.0, 1.0, 0.75])
    again.save(tmp_path / "fresh")
    again = mb.Learner.load(tmp_path / "fresh")
    assert play(again, 5) == play(learner, 5)


def test_labels_survive(tmp_path):
    learner = mb.Learner(ADS, mb.OMM(), seed=1)
    learner.save(tmp_path / "ads")
    assert mb.Learner.load(tmp_path / "ads").ask().labels == ("boots", "fedora")


def test_files_hold_plain_data(tmp_path):
    path = tmp_path / "learner"
    learner_with_history(mb.ThompsonSampling()).save(path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        assert header["format"] == "matroid-bandits/learner"
        assert header["version"] == 1
        for name in set(archive.namelist()) - {"header.json"}:
            np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


class Eager(mb.Policy):
    def indices(self, state, request):
        return state.means


class OMM(mb.Policy):
    """A user's own, called as one of ours."""

    def indices(self, state, request):
        return -state.means


def test_code_has_to_be_passed_to_load(tmp_path):
    path = tmp_path / "learner"
    matroid = mb.OracleMatroid(4, lambda X: len(X) <= 2)
    learner = mb.Learner(matroid, Eager(), seed=0)
    play(learner, 5)
    learner.save(path)
    with pytest.raises(SerializationError, match="the constraint could not be stored; pass it as constraint="):
        mb.Learner.load(path, policy=Eager())
    assert type(mb.Learner.load(path, constraint=matroid).policy) is Eager  # known by being defined
    with pytest.raises(SerializationError, match="expected a constraint on 4 items and a Eager, got 4 items and OMM"):
        mb.Learner.load(path, constraint=matroid, policy=mb.OMM())
    with pytest.raises(SerializationError, match="expected a constraint on 4 items and a Eager, got 5 items"):
        mb.Learner.load(path, constraint=mb.UniformMatroid(5, 2), policy=Eager())
    again = mb.Learner.load(path, constraint=matroid, policy=Eager())
    assert play(again, 5) == play(learner, 5)


def test_a_policy_called_as_ours_is_not_ours(tmp_path):
    mb.Learner(ADS, OMM(), seed=0).save(tmp_path / "learner")
    with pytest.raises(SerializationError, match="the policy OMM could not be stored; pass it as policy="):
        mb.Learner.load(tmp_path / "learner")
    assert type(mb.Learner.load(tmp_path / "learner", policy=OMM()).policy) is OMM


class Tempered(mb.Policy):
    """A user's own with a parameter."""

    def __init__(self, power):
        self.power = power

    def indices(self, state, request):
        return state.means**self.power


def test_a_users_own_policy_is_stored_with_its_parameters(tmp_path, monkeypatch):
    mb.Learner(ADS, Tempered(2), seed=0).save(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner").policy == Tempered(2)
    monkeypatch.delitem(matroid_bandits.policies.POLICIES, "Tempered")
    with pytest.raises(SerializationError, match="the policy Tempered is not defined here: import it, or pass it as"):
        mb.Learner.load(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner", policy=Tempered(2)).policy == Tempered(2)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("os.replace", OSError("disk full")),
        ("os.fsync", OSError("disk full")),
        ("numpy.lib.format.write_array", OSError("disk full")),
        ("zipfile.ZipFile.writestr", KeyboardInterrupt()),
    ],
)
def test_a_failed_save_leaves_the_old_file(monkeypatch, tmp_path, where, error):
    path = tmp_path / "learner"
    learner = learner_with_history()
    learner.save(path)
    old = path.read_bytes()
    learner.tell(3, [0.5, 0.5])

    def fail(*arguments, **settings):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(type(error)):
            learner.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["learner"]  # no half-written file is left
    learner.save(path)
    assert snapshot(mb.Learner.load(path)) == snapshot(learner)


def test_there_must_be_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        mb.Learner(ADS, mb.OMM()).save(tmp_path / "nowhere" / "learner")
    with pytest.raises(FileNotFoundError):
        mb.Learner.load(tmp_path / "learner")


def test_truncated_files_are_recognised(tmp_path):
    path = tmp_path / "learner"
    learner_with_history(mb.ThompsonSampling()).save(path)
    whole = path.read_bytes()
    for keep in [*range(0, len(whole), 41), *range(len(whole) - 60, len(whole))]:
        path.write_bytes(whole[:keep])
        with pytest.raises(SerializationError, match="not a complete matroid-bandits/learner file"):
            mb.Learner.load(path)


def test_damaged_files_are_recognised_or_harmless(tmp_path):
    path = tmp_path / "learner"
    learner = learner_with_history(mb.ThompsonSampling())
    learner.save(path)
    whole = bytearray(path.read_bytes())
    n_refused = 0
    places = range(0, len(whole), 13)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            again = mb.Learner.load(path)
        except SerializationError:
            n_refused += 1
        else:  # a time stamp or the like
            assert snapshot(again) == snapshot(learner)
    assert n_refused > len(places) / 2


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x93NUMPY", pickle.dumps({"counts": [1]}), json.dumps({"format": "x"}).encode()],
    ids=["empty", "text", "npy", "pickle", "json"],
)
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(SerializationError, match="foreign: not a complete matroid-bandits/learner file"):
        mb.Learner.load(path)


def test_foreign_archives_are_refused(tmp_path):
    path = tmp_path / "foreign.npz"
    np.savez(path, counts=np.arange(3))
    with pytest.raises(SerializationError, match="not a complete"):
        mb.Learner.load(path)
    mb.simulate(PROBLEM, [mb.OMM()], n_episodes=2, n_runs=2, seed=0).save(path)
    with pytest.raises(SerializationError, match="expected a matroid-bandits/learner file, got another kind"):
        mb.Learner.load(path)


def rewrite(path, change, arrays=None):
    """The same file with another header, or with other arrays."""
    with zipfile.ZipFile(path) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    header = change(json.loads(contents.pop("header.json")))
    for name, array in (arrays or {}).items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        contents[f"{name}.npy"] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as new:
        new.writestr("header.json", json.dumps(header))
        for name, content in contents.items():
            new.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "arrays", "message"),
    [
        (lambda h: h | {"version": 2}, {}, "expected version 1 or older, got 2: upgrade matroid-bandits"),
        (lambda h: h | {"version": "one"}, {}, "got 'one'"),
        (lambda h: h | {"format": "other"}, {}, "got another kind"),
        (lambda h: [1, 2], {}, "got another kind"),
        (lambda h: {k: v for k, v in h.items() if k != "seed"}, {}, "malformed learner: 'seed'"),
        (lambda h: h | {"seed": -5}, {}, "malformed learner: expected a seed"),
        (lambda h: h | {"policy": {"policy": "KLOSM", "c": -1}}, {}, "malformed KLOSM: expected c"),
        (
            lambda h: h | {"policy": "KLOSM", "params": {"c": -1}},
            {},
            "malformed KLOSM: expected c",
        ),  # as once written
        (lambda h: h | {"policy": {"policy": "KLOSM", "d": 1}}, {}, "malformed KLOSM: .*unexpected keyword"),
        (lambda h: h | {"policy": {"policy": "UCB"}}, {}, "the policy UCB is not defined here"),
        (lambda h: h | {"minimize": "false"}, {}, "malformed learner: expected minimize to be True or False"),
        (lambda h: h | {"constraint": {"kind": "odd"}}, {}, "expected 'format' to be 'matroid-bandits/constraint'"),
        (lambda h: h | {"episode": -1}, {}, "a learner cannot have made -1 decisions"),
        (lambda h: h | {"episode": "many"}, {}, "malformed learner"),
        (lambda h: h, {"counts": np.zeros(4, int)}, "counts and sums do not fit"),
        (lambda h: h, {"counts": np.zeros(5)}, "counts and sums do not fit"),
        (lambda h: h, {"counts": np.full(5, -1)}, "counts and sums do not fit"),
        (lambda h: h, {"sums": np.zeros((5, 1))}, "counts and sums do not fit"),
        (lambda h: h, {"extra/odd": np.zeros((1, 5))}, "the policy's arrays do not fit"),
    ],
)
def test_malformed_files_are_refused(tmp_path, change, arrays, message):
    path = tmp_path / "learner"
    learner_with_history().save(path)
    rewrite(path, change, arrays)
    with pytest.raises(SerializationError, match=message):
        mb.Learner.load(path)


def test_a_file_with_nothing_changed_is_fine(tmp_path):
    path = tmp_path / "learner"
    learner = learner_with_history()
    learner.save(path)
    rewrite(path, lambda header: header)
    assert snapshot(mb.Learner.load(path)) == snapshot(learner)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    mb.Learner(mb.UniformMatroid(3, 1), mb.OMM()).save(tmp_path / "learner")
    assert (tmp_path / "learner").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_decision_cannot_be_changed():
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.OMM(), seed=0)
    decision = learner.ask()
    with pytest.raises(ValueError, match="read-only"):
        decision.items[:] = [10**12, 10**12 + 1]
    with pytest.raises(AttributeError):
        decision.id = 7
    assert decision == learner.outstanding[0]
    assert len({decision, learner.outstanding[0]}) == 1
    assert len(repr(mb.Learner(mb.UniformMatroid(10**5, 10**4), mb.OMM()).ask())) < 100


def test_errors_name_items_whose_labels_are_tuples():
    learner = mb.Learner(mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")]), mb.OMM())
    decision = learner.ask()
    with pytest.raises(FeedbackError, match=r"got nan for item 0 \(\('a', 'b'\)\)"):
        learner.tell(decision, [float("nan"), 1.0])
    learner.tell(decision, {("a", "b"): 1.0})
    with pytest.raises(DecisionClosedError, match=r"item 0 \(\('a', 'b'\)\) of decision 1 was told before"):
        learner.tell(decision, {("a", "b"): 1.0})


def test_a_learner_is_loaded_with_the_matroid_it_was_saved_with(tmp_path):
    mb.Learner(mb.GraphicMatroid([(0, 1), (1, 2), (2, 0)]), mb.OMM()).save(tmp_path / "learner")
    with pytest.raises(SerializationError, match="the constraint that the learner was saved with"):
        mb.Learner.load(tmp_path / "learner", constraint=mb.UniformMatroid(3, 1))


class Picky(mb.Policy):
    """Its own bookkeeping fails once."""

    is_failing = True

    def indices(self, state, request):
        return state.means

    def observe(self, state, feedback):
        if self.is_failing:
            raise RuntimeError("not now")


def test_what_a_policy_cannot_take_is_not_counted():
    policy = Picky()
    learner = mb.Learner(mb.UniformMatroid(3, 2), policy)
    decision = learner.ask()
    with pytest.raises(RuntimeError, match="not now"):
        learner.tell(decision, [1.0, 0.5])
    assert learner.estimates().counts.tolist() == [0, 0, 0]
    policy.is_failing = False
    learner.tell(decision, [1.0, 0.5])
    assert learner.estimates().counts.tolist() == [1, 1, 0]
