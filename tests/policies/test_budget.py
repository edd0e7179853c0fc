"""A budget per decision is kept on average, and a steady policy changes its set only where that pays."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError

COSTS = np.array([4.0, 2.0, 1.0, 0.5])


def test_the_overdraft_is_a_virtual_queue():
    """The index before each decision, worked out from what was chosen; answers are late, in parts or never.

    Sets of the hold-out count neither way, whether the policy learns from them or not.
    """
    policy = mb.Budget(mb.OMM(0.3), COSTS, 2.5, eta=2.0)
    learner = mb.Learner(mb.UniformMatroid(4, 2), policy, seed=0, holdout=0.2)
    learner.observe([0.9, 0.5, 0.3, 0.1])
    overdraft = spent = 0.0
    n_own = 0
    for t in range(1, 90):
        if t == 40:
            learner.configure(holdout=mb.Holdout(0.2, learns=False))
        state = learner._agent.state
        base = mb.OMM(0.3).indices(state, mb.Request(t, learner._stream))[0]
        assert learner.estimates().indices == pytest.approx(2.0 * base - overdraft / 4.0 * COSTS / 4.0)
        assert learner.spending == learner.estimates().spending == (spent, n_own, 2.5)
        decision = learner.ask()
        if not decision.is_held_out:
            cost = COSTS[decision.items].sum()
            overdraft, spent, n_own = max(0.0, overdraft + cost - 2.5), spent + cost, n_own + 1
        if t % 3 == 0:
            learner.tell(decision, {int(decision.items[0]): 0.5})
        elif t % 3 == 1:
            learner.tell(decision, [0.5, 0.2])
        else:
            learner.close(decision)
    assert overdraft > 0.0
    assert 50 < n_own < 85


def test_a_learner_that_is_loaded_has_spent_the_same(tmp_path):
    learner = mb.Learner(mb.UniformMatroid(4, 2), mb.Budget(mb.OMM(), COSTS, 2.5), seed=0)
    spent = 0.0
    for _ in range(20):
        decision = learner.ask()
        spent += COSTS[decision.items].sum()
        learner.tell(decision, [0.5, 0.2])
    learner.save(tmp_path / "a.npz")
    loaded = mb.Learner.load(tmp_path / "a.npz")
    assert loaded.spending == learner.spending == (spent, 20, 2.5)
    estimates = json.loads(json.dumps(learner.estimates().to_dict()))
    assert mb.Estimates.from_dict(estimates).spending == learner.spending
    assert mb.Learner(mb.UniformMatroid(2, 1), mb.OMM()).spending is None
    assert [loaded.ask().labels for _ in range(20)] == [learner.ask().labels for _ in range(20)]
    learner.restart()
    assert learner.spending == loaded.spending  # spent all the same


@pytest.mark.compiled
def test_the_average_is_within_the_budget():
    """Six of thirty, dearer items better: without a budget a fifth more is spent, with one at most 0.2% more."""
    rng = np.random.default_rng(2)
    costs = rng.random(30)
    means = 0.5 * costs + 0.5 * rng.random(30)
    best_six = np.argsort(-means)[:6]
    budget = 0.8 * costs[best_six].sum()
    problem = mb.Problem(mb.UniformMatroid(30, 6), mb.BernoulliEnvironment(means))
    policies = {"budget": mb.Budget(mb.ThompsonSampling(), costs, budget), "none": mb.ThompsonSampling()}
    result = mb.simulate(problem, policies, n_episodes=5000, n_runs=4, seed=0)
    spent = result.choices @ costs / (4 * 5000) / budget
    assert spent[0] < 1.002
    assert spent[1] > 1.15


def test_costs_follow_their_items():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.Budget(mb.OMM(), [3.0, 2.0, 1.0], 2.0), seed=0)
    learner.change(mb.UniformMatroid(2, 1, labels="ca"))
    assert learner.policy.params()["costs"] == {"a": 3.0, "b": 2.0, "c": 1.0}
    with pytest.raises(PolicyError, match="a cost for every item, got none for 'd'"):
        learner.change(mb.UniformMatroid(2, 1, labels="ad"))
    learner.configure(policy=mb.Budget(mb.OMM(), {"a": 3.0, "c": 1.0, "d": 9.0}, 2.0))
    learner.change(mb.UniformMatroid(2, 1, labels="ad"))
    assert learner.constraint.labels == ("a", "d")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: mb.Budget(mb.OMM(), [1.0, -1.0], 2.0), "the cost of item 1"),
        (lambda: mb.Budget(mb.OMM(), {"a": "x"}, 2.0), "the cost of 'a'"),
        (lambda: mb.Budget(mb.OMM(), 3, 2.0), "a cost for each item, got 3"),
        (lambda: mb.Budget(mb.OMM(), [1.0], 0.0), "per_decision to be above 0, got 0.0"),
        (lambda: mb.Budget(mb.AROQ(9), [1.0], 1.0), "a policy with an index for every item"),
        (lambda: mb.Budget(mb.Budget(mb.OMM(), [1.0], 1.0), [1.0], 1.0), "to keep nothing called 'overdraft'"),
        (lambda: mb.Learner(mb.UniformMatroid(2, 1), mb.Budget(mb.OMM(), [1.0], 1.0)), "each of 2 items, got 1"),
        (lambda: mb.Steady(mb.OMM(), -0.1), "gain"),
        (lambda: mb.Steady(mb.ESCB(), 0.1), "a policy with an index for every item"),
    ],
)
def test_what_is_refused(make, match):
    with pytest.raises(PolicyError, match=match):
        make()


def test_a_steady_set_changes_where_that_gains_enough():
    """Against sets by hand: the base's index plus the gain for the items of the last set of its own."""
    rng = np.random.default_rng(1)
    learner = mb.Learner(mb.UniformMatroid(6, 3), mb.Steady(mb.OMM(0.1), 0.15), seed=3, holdout=0.2)
    learner.observe(rng.random(6))
    held, n_kept, n_held_out = np.zeros(6), 0, 0
    last = None
    for t in range(1, 200):
        base = mb.OMM(0.1).indices(learner._agent.state, mb.Request(t, learner._stream))[0]
        best = np.sort(np.argsort(-(base + 0.15 * held), kind="stable")[:3])
        decision = learner.ask()
        n_held_out += decision.is_held_out
        if not decision.is_held_out:
            assert decision.items.tolist() == best.tolist()
            n_kept += last == decision.items.tolist()
            last = decision.items.tolist()
            held = np.isin(np.arange(6), decision.items).astype(float)
        learner.tell(decision, rng.random(3))
    assert n_held_out > 20
    assert n_kept > 100


def test_a_steady_set_is_that_of_the_last_own_decision_also_where_items_leave_and_return(tmp_path):
    """Against sets by hand, while items come and go; then the log is replayed, and the file is loaded."""
    rng, log = np.random.default_rng(5), []
    names = "abcdefgh"
    learner = mb.Learner(
        mb.UniformMatroid(8, 3, labels=names), mb.Steady(mb.OMM(0.1), 0.3), seed=1, holdout=0.2, record=log.append
    )
    learner.observe(dict(zip(names, rng.random(8), strict=True)))
    last = set()
    for t in range(1, 300):
        if t % 20 == 0:  # two of the last set leave, and everything else is there again
            left = sorted(last)[: 2 * (t % 40 == 0)]
            here = [name for name in names if name not in left]
            learner.change(mb.UniformMatroid(len(here), 3, labels=here))
        labels = learner.constraint.labels
        base = mb.OMM(0.1).indices(learner._agent.state, mb.Request(t, learner._stream))[0]
        held = np.array([label in last for label in labels])
        best = np.argsort(-(base + 0.3 * held), kind="stable")[:3]
        decision = learner.ask()
        if not decision.is_held_out:
            assert set(decision.labels) == {labels[e] for e in best}
            last = set(decision.labels)
        learner.tell(decision, rng.random(3))
    again = mb.Learner.replay(log)
    learner.save(tmp_path / "steady.npz")
    loaded = mb.Learner.load(tmp_path / "steady.npz")
    expected = [learner.ask().labels for _ in range(20)]
    assert [again.ask().labels for _ in range(20)] == [loaded.ask().labels for _ in range(20)] == expected
