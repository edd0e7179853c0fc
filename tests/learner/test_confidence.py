"""How sure a live learner is: what counts, what does not, and that a replayed log and a file say the same."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
import saved_files
from matroid_bandits.exceptions import StoppingError
from matroid_bandits.identification import Watch, confidence

UNIT = {"weights": "unit"}
LABELS = list("abcdef")


def matroid(labels=LABELS):
    return mb.PartitionMatroid(dict.fromkeys(labels[:3], "x") | dict.fromkeys(labels[3:], "y"))


def played(n=150, policy=None, **arguments):
    log = []
    learner = mb.Learner(
        matroid(), mb.SoftMinimum() if policy is None else policy, seed=1, id="l", record=log.append, **arguments
    )
    for t in range(n):
        decision = learner.ask()
        learner.tell(decision, [float((7 * t + int(e)) % 10 < 9 - 4 * (e % 3)) for e in decision.items])
    return learner, log


def test_it_is_the_rule_on_what_was_answered():
    """The first catalogue spends 6 / pi^2 of delta."""
    learner, _ = played()
    state = learner._agent.state
    watch = Watch(mb.StoppingRule(**UNIT), matroid(), factor=math.pi**2 / 6)
    expected = confidence(watch, state.counts[0], state.sums[0], learner.n_decisions, catalogue=1)
    assert learner.confidence(**UNIT) == expected
    assert expected.delta < 1.0
    assert learner.is_sure(min(1.01 * expected.delta, 0.999), **UNIT)
    assert not learner.is_sure(0.99 * expected.delta, **UNIT)
    plain = confidence(Watch(mb.StoppingRule(**UNIT), matroid()), state.counts[0], state.sums[0], 150)
    assert expected.delta == pytest.approx(plain.delta * math.pi**2 / 6)


def test_words_are_no_posterior():
    learner, _ = played()
    found = learner.confidence(**UNIT)
    closest = found.closest
    assert str(found).startswith("at delta ")
    assert str(found).endswith(f"it would stop; the closest call is {closest.inside} over {closest.outside}")
    delta = float(str(found).split()[2])
    assert learner.is_sure(delta * (1 + 1e-9), **UNIT)
    assert found.catalogue == 1


def test_priors_and_plays_that_wait_never_count():
    learner, _ = played()
    before = learner.confidence(**UNIT)
    learner.ask()
    assert learner.confidence(**UNIT) == before
    believing = mb.Learner(matroid(), mb.OMM(), priors={"a": (0.9, 1000.0), "b": (0.1, 1000.0)})
    assert set(believing.confidence(**UNIT).unanswered) == set(LABELS)


def test_a_default_counts_as_told():
    learner, _ = played()
    twin, _ = played()
    decision = learner.ask()
    learner.close(decision, default=1.0)
    twin.tell(twin.ask(), [1.0, 1.0])
    assert learner.confidence(**UNIT) == twin.confidence(**UNIT)
    forgotten, _ = played()
    before = forgotten.confidence(**UNIT)
    forgotten.close(forgotten.ask())
    assert forgotten.confidence(**UNIT) == before


def test_a_replayed_log_and_a_file_are_as_sure(tmp_path):
    """Late and partial answers, defaults, items that come and go, another policy, a restart of some."""
    learner, log = played(40)

    def check():
        found = learner.confidence(**UNIT, n_margins=None)
        assert mb.Learner.replay(log).confidence(**UNIT, n_margins=None) == found
        learner.save(tmp_path / "learner")
        assert mb.Learner.load(tmp_path / "learner").confidence(**UNIT, n_margins=None) == found

    check()
    late = learner.ask()
    learner.tell(late, {late.labels[0]: 0.5})
    learner.close(learner.ask(), default=0.25)
    check()
    learner.change(matroid([*"abcdeg"]), priors="typical")
    check()
    learner.tell(late.id, {late.labels[1]: 1.0})
    for _ in range(3):
        decision = learner.ask()
        learner.tell(decision, np.full(decision.items.size, 0.75))
    check()
    learner.configure(policy=mb.OMM(0.3))
    check()
    learner.restart(["a"])
    assert learner.confidence(**UNIT).catalogue == 3
    check()
    learner.change(matroid())
    check()


def test_each_catalogue_spends_less():
    """The same counts and sums, after other items and back: n^2 times the delta, for all pairs there were."""
    learner, _ = played()
    first = learner.confidence(**UNIT)
    learner.change(matroid([*"abcdeg"]))
    assert learner.confidence(**UNIT).unanswered == ("g",)
    learner.change(matroid())
    third = learner.confidence(**UNIT)
    assert third.catalogue == 3
    pairs = 7 * 6 / 2 / matroid().most_exchanges()
    assert third.delta == pytest.approx(min(1.0, first.delta * 9 * pairs))


def test_a_restart_starts_the_evidence_anew():
    learner, _ = played()
    learner.restart()
    found = learner.confidence(**UNIT)
    assert found.unanswered == tuple(LABELS)
    assert not learner.is_sure(0.9, **UNIT)


@pytest.mark.parametrize(
    "policy", [mb.DiscountedOMM(0.9), mb.SlidingWindowOMM(9), mb.Restarting(mb.OMM()), mb.DiscountedThompson(0.9)]
)
def test_policies_that_forget_refuse(policy, tmp_path):
    learner, log = played(3, policy)
    with pytest.raises(StoppingError, match="forgets"):
        learner.confidence(**UNIT)
    learner.configure(policy=mb.OMM())
    learner.save(tmp_path / "learner")
    for each in (learner, mb.Learner.replay(log), mb.Learner.load(tmp_path / "learner")):
        with pytest.raises(StoppingError, match=r"a policy that forgets has been at work; restart\(\) starts anew"):
            each.confidence(**UNIT)
        each.restart()
        assert each.confidence(**UNIT).unanswered


def test_a_weight_outside_the_law_is_an_error(tmp_path):
    for how in ("told", "default", "observed"):
        log = []
        learner = mb.Learner(matroid(), mb.OMM(2.0), record=log.append)
        if how == "observed":
            learner.observe({"a": 1.5})
        decision = learner.ask()
        if how == "default":
            learner.close(decision, default=1.5)
        else:
            learner.tell(decision, [1.5, 1.0] if how == "told" else [0.0, 1.0])
        learner.save(tmp_path / "learner")
        learner.configure(policy=mb.OMM(0.5))
        for each in (learner, mb.Learner.replay(log), mb.Learner.load(tmp_path / "learner")):
            with pytest.raises(StoppingError, match=r'as weights="unit" says; weights from .* to 1.5 were told'):
                each.confidence(**UNIT)
            assert each.confidence(deviation=1.0).delta == 1.0
        learner.restart()
        learner.tell(learner.ask(), [0.5, 0.5])
        learner.confidence(**UNIT)


def test_what_cannot_be_said():
    with pytest.raises(StoppingError, match="expected the law of the weights"):
        played(1)[0].confidence()
    paths = mb.Learner(mb.AssignmentConstraint([(0, 0), (0, 1), (1, 0), (1, 1)]), mb.OMM())
    with pytest.raises(StoppingError, match="expected a matroid"):
        paths.confidence(**UNIT)
    known = mb.Learner(matroid(), mb.CombLinUCB(n_features=2))
    with pytest.raises(StoppingError, match="features of requests"):
        known.confidence(**UNIT)


def test_costs_are_as_sure_as_gains():
    gains, costs = mb.Learner(matroid(), mb.OMM(), seed=1), mb.Learner(matroid(), mb.OMM(), minimize=True, seed=1)
    for t in range(30):
        for learner in (gains, costs):
            decision = learner.ask()
            weights = np.array([float((7 * t + int(e)) % 10 < 9 - 4 * (e % 3)) for e in decision.items])
            learner.tell(decision, 1.0 - weights if learner is costs else weights)
    assert gains.confidence(**UNIT).delta == pytest.approx(costs.confidence(**UNIT).delta)


def test_an_explanation_has_the_margins_of_its_item():
    learner, _ = played()
    plain = learner.explain("b")
    assert plain.confidence is None
    assert "confidence" not in plain.to_dict()
    found = learner.explain("b", sure=mb.StoppingRule(delta=0.1, **UNIT))
    assert {margin.outside for margin in found.confidence.margins} == {"b"}
    assert found.confidence.at == 0.1
    assert found.confidence.closest == learner.confidence(**UNIT, delta=0.1).closest
    assert str(found).startswith(str(plain) + "; at delta ")
    assert mb.Explanation.from_dict(found.to_dict()).confidence == found.confidence


# Pessimistic sets


def test_a_pessimistic_set_is_of_the_best_lower_bounds():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM(), priors={"c": (1.0, 99.0)})
    learner.observe({"a": 1.0})
    for weight in [0.0, 1.0, 1.0, 1.0] * 20:
        learner.observe({"b": weight})
    assert learner.best_basis().labels in (("a",), ("c",))
    found = learner.best_basis(pessimism=0.1)
    assert found.labels == ("b",)  # c has no answer, and a prior does not count
    radius = math.sqrt(math.log(2 * 3 / 0.1) / 2)
    assert 1.0 - radius < 0.75 - radius / math.sqrt(80)
    assert learner.best_basis(pessimism=0.1, deviation=0.0).labels == ("a",)
    with pytest.raises(StoppingError, match="expected delta to be above 0"):
        learner.best_basis(pessimism=0.0)


def test_pessimism_loses_less_where_few_plays_are_lucky():
    """50 items with 1 to 1,000 plays: 0.79 lost by best means, 0.33 by best lower bounds, in units of the weights."""
    rng = np.random.default_rng(0)
    lost = []
    for _ in range(20):
        means = rng.random(50)
        counts = np.exp(rng.uniform(0, math.log(1000), 50)).astype(int)
        learner = mb.Learner(mb.UniformMatroid(50, 5), mb.OMM())
        state = learner._agent.state
        state.restore(counts[None], rng.binomial(counts, means)[None].astype(float))
        best = np.sort(means)[-5:].sum()
        lost.append([best - means[learner.best_basis(pessimism=p).items].sum() for p in (None, 0.1)])
    plain, careful = np.mean(lost, axis=0)
    assert careful < 0.6 * plain


def test_a_file_of_an_earlier_version_does_not_know_its_weights(tmp_path):
    """Counts and sums are there, and no priors are in them; which weights were told is not."""
    for policy, is_known in ((mb.OMM(), False), (mb.ThompsonSampling(), True)):
        learner, _ = played(20, policy)
        learner.save(tmp_path / "learner")
        header, arrays = saved_files.members(tmp_path / "learner")
        del header["evidence"]
        saved_files.write(tmp_path / "learner", header, arrays)
        loaded = mb.Learner.load(tmp_path / "learner")
        if is_known:  # such a policy takes no others
            assert loaded.confidence(**UNIT) == learner.confidence(**UNIT)
            continue
        with pytest.raises(StoppingError, match=r"of an earlier version, .* say deviation=0\.5"):
            loaded.confidence(**UNIT)
        assert loaded.confidence(deviation=0.5) == learner.confidence(deviation=0.5)
        loaded.restart()
        assert loaded.confidence(**UNIT).unanswered
