"""Controls of a hold-out: fixed sets and other policies, which learn from their own decisions alone."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError

MATROID = mb.PartitionMatroid(["x", "x", "x", "y", "y"], labels="abcde")
OTHERS = mb.PartitionMatroid(["y", "x", "x", "x"], labels=["e", "a", "b", "new"])


def visit(learner, n, rng, is_late=False, tags=None):
    decisions = []
    for i in range(n):
        decision = learner.ask(tags=None if tags is None else tags(i))
        decisions.append(decision)
        if not is_late or i % 3:
            learner.tell(decision, rng.random(decision.items.size))
    return decisions


@pytest.mark.parametrize("control", [mb.FixedSet(["b", "e"]), mb.EpsilonGreedy(0.3), mb.OMM(), mb.ThompsonSampling()])
@pytest.mark.parametrize("learns", [True, False])
def test_a_log_and_a_file_hold_the_control(control, learns, tmp_path):
    """Replayed or loaded, the learner and its control go on alike, items that change included."""
    events, rng = [], np.random.default_rng(0)
    holdout = mb.Holdout(0.4, control=control, learns=learns)
    learner = mb.Learner(MATROID, mb.KLOSM(), seed=3, holdout=holdout, record=events.append)
    visit(learner, 30, rng, is_late=True)
    learner.change(OTHERS)
    waiting = learner.outstanding
    assert any(each.is_held_out for each in waiting)
    learner.tell(waiting[0], dict.fromkeys(waiting[0].labels, 0.5))
    learner.close(waiting[1], default=0.25)
    learner.close(waiting[2])
    visit(learner, 20, rng)
    learner.restart(["a"])
    visit(learner, 10, rng)
    learner.save(tmp_path / "learner")
    loaded = mb.Learner.load(tmp_path / "learner")
    replayed = mb.Learner.replay(json.loads(json.dumps(events)))
    assert loaded.holdout == replayed.holdout == holdout
    for other in (loaded, replayed):
        theirs = np.random.default_rng(1)
        ours = np.random.default_rng(1)
        copy = mb.Learner.load(tmp_path / "learner")
        expected = [(each.labels, each.is_held_out) for each in visit(copy, 30, ours)]
        assert [(each.labels, each.is_held_out) for each in visit(other, 30, theirs)] == expected
        copy.save(tmp_path / "copy")
        other.save(tmp_path / "other")
        assert (tmp_path / "copy").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_fixed_set_answers_what_is_held_out():
    learner = mb.Learner(MATROID, mb.OMM(), seed=0, holdout=mb.Holdout(0.5, control=mb.FixedSet(["b", "e"])))
    decisions = visit(learner, 40, np.random.default_rng(0))
    held_out = [each for each in decisions if each.is_held_out]
    assert 10 < len(held_out) < 30
    assert {each.labels for each in held_out} == {("b", "e")}


def test_a_control_learns_from_its_own_decisions_alone():
    """It is the learner that one would have had of those decisions by themselves."""
    events, rng = [], np.random.default_rng(0)
    learner = mb.Learner(MATROID, mb.OMM(), seed=5, holdout=mb.Holdout(0.5, control=mb.KLOSM()), record=events.append)
    alone = mb.Learner(MATROID, mb.KLOSM(), seed=1)
    for _ in range(60):
        decision = learner.ask()
        weights = rng.random(2)
        if decision.is_held_out:
            other = alone.ask()
            assert other.labels == decision.labels
            alone.tell(other, weights)
        learner.tell(decision, weights)
    assert alone.n_decisions > 15


def test_the_policy_may_not_learn_from_its_control():
    """With learns=False it knows what it would know had the control's decisions never been made."""
    rng = np.random.default_rng(2)
    learner = mb.Learner(
        MATROID, mb.OMM(), seed=5, holdout=mb.Holdout(0.5, control=mb.FixedSet(["c", "d"]), learns=False)
    )
    counts, sums = dict.fromkeys("abcde", 0), dict.fromkeys("abcde", 0.0)
    for i in range(60):
        decision = learner.ask()
        weights = dict(zip(decision.labels, rng.random(2).tolist(), strict=True))
        if not decision.is_held_out:
            for label, weight in weights.items():
                counts[label] += 1
                sums[label] += weight
        if i % 4 == 1:
            first = decision.labels[0]
            learner.tell(decision, {first: weights[first]})
            learner.tell(decision, {label: weights[label] for label in decision.labels[1:]})
        elif i % 4 == 2 and decision.is_held_out:
            learner.close(decision, default=9.0)
        elif i % 4 == 3 and decision.is_held_out:
            learner.close(decision)
        else:
            learner.tell(decision, weights)
    estimates = learner.estimates()
    assert dict(zip(estimates.labels, estimates.counts.tolist(), strict=True)) == counts
    assert dict(zip(estimates.labels, estimates.means.tolist(), strict=True)) == pytest.approx(
        {label: sums[label] / counts[label] for label in counts}
    )
    assert not estimates.waiting.any()
    assert learner.n_outstanding == 0


def test_what_would_have_been_played_is_always_the_policys():
    events = []
    learner = mb.Learner(
        MATROID, mb.OMM(), seed=0, holdout=mb.Holdout(0.5, control=mb.FixedSet(["c", "d"])), record=events.append
    )
    for _ in range(30):
        before = learner.redraws(1)[0][0]
        decision = learner.ask()
        expected = [MATROID.labels[e] for e in before]
        if decision.is_held_out:
            assert events[-1]["instead"] == expected
        else:
            assert events[-1]["items"] == expected
        learner.tell(decision, [0.5, 0.25])


def test_settings_change_the_control():
    learner = mb.Learner(MATROID, mb.OMM(), seed=0, holdout=mb.Holdout(1.0, control=mb.OMM()))
    rng = np.random.default_rng(3)
    visit(learner, 10, rng)
    late = learner.ask()
    learner.configure(holdout=mb.Holdout(0.9, control=mb.OMM()))  # the same control goes on
    assert learner._control.n_decisions == 11
    learner.configure(holdout=mb.Holdout(1.0, control=mb.FixedSet(["c", "d"])))
    assert learner._control.n_decisions == 0
    learner.tell(late, [0.5, 0.5])  # of a control that is no more
    assert learner.ask().labels == ("c", "d")
    learner.configure(holdout=0.0)
    assert learner._control is None


def test_random_sets_are_the_default_control():
    assert mb.Holdout(0.1, control=mb.UniformRandom()) == mb.Holdout(0.1)
    assert mb.Holdout(0.1).to_dict() == 0.1
    form = mb.Holdout(0.1, by="visitor", control=mb.FixedSet(["a"]), learns=False).to_dict()
    assert mb.Holdout.of(json.loads(json.dumps(form))) == mb.Holdout(
        0.1, by="visitor", control=mb.FixedSet(["a"]), learns=False
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": "OMM"}, "expected a Policy"),
        ({"learns": 3}, "expected learns to be"),
        ({"control": mb.CombLinTS(n_features=2)}, "needs no features beyond those of"),
        ({"control": mb.FixedSet(["zz"])}, "zz"),
    ],
)
def test_bad_controls(options, message):
    with pytest.raises(PolicyError, match=message):
        mb.Learner(MATROID, mb.OMM(), holdout=mb.Holdout(0.1, **options))


def test_a_refused_change_leaves_the_control():
    learner = mb.Learner(MATROID, mb.OMM(), seed=0, holdout=mb.Holdout(1.0, control=mb.OMM()))
    visit(learner, 5, np.random.default_rng(0))
    with pytest.raises(mb.exceptions.MatroidBanditsError):
        learner.change(OTHERS, priors={"zz": (0.5, 1.0)})
    assert learner._control.constraint is MATROID
    visit(learner, 5, np.random.default_rng(0))


def test_redraws_leave_what_was_prepared():
    """A set of one item: what the policy prepared has as many numbers as there are runs."""
    learner = mb.Learner(mb.UniformMatroid(3, 1), mb.FixedSet([2]), seed=0)
    items, _ = learner.redraws(5)
    assert items.tolist() == [[2]] * 5
    assert learner._agent.state.repeated(5).prepared.tolist() == [2]
