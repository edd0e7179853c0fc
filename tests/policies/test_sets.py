"""Policies that choose sets themselves, and numbers that stay with a choice until it is answered."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.agent import Agent
from matroid_bandits.exceptions import ContractError, PolicyError
from matroid_bandits.policies import choose_sets, solve
from samples import MATROIDS
from samples_constraints import CONSTRAINTS


class Drawn(mb.Policy):
    """A random basis, chosen as a whole; keeps when and as what it was chosen."""

    samples, tries_unseen = True, False
    memory = (mb.Memory("heard", shape=(2,)),)
    n_kept = 2

    def indices(self, state, request):
        keys = request.stream.uniform(request.episode, np.arange(state.n_items))
        return keys - 1.0 if state.constraint.cost_reason else keys

    def sets(self, state, request):
        return solve(state, request, self.indices(state, request))

    def keep(self, state, request, runs, items):
        return np.column_stack([np.full(items.size, float(request.episode)), 1.0 + items])

    def observe(self, state, feedback):
        state.extra["heard"][feedback.runs, feedback.items] = feedback.kept


class TestDrawn(mb.testing.PolicySuite):
    policy = Drawn()


class TestRestarting(mb.testing.PolicySuite):
    policy = mb.Restarting(Drawn(), mb.CUSUM(n_first=2, tolerance=0.05, threshold=0.6))


def returning(sets):
    """A policy that chooses what a function of (state, request) says."""

    class Own(mb.Policy):
        kind = None

        def indices(self, state, request):
            return state.means

        def sets(self, state, request):
            return sets(state, request)

    return Own()


def rows(*sets):
    width = max(map(len, sets))
    items = np.array([[*each, *[-1] * (width - len(each))] for each in sets], np.int64).reshape(len(sets), width)
    return items, np.array([len(each) for each in sets])


@pytest.mark.parametrize(
    "sets",
    [
        [[0, 1], [0, 6]],  # no such item
        [[0, 1], [1, 0]],  # descending
        [[0, 1], [1, 1]],
        [[0, 1], [-1, 1]],
        [[0, 1], [2]],  # not complete
        [[0, 1], []],
        [[0, 1], [0, 1, 2]],  # too many
    ],
)
def test_sets_that_may_not_be_chosen_are_refused(sets):
    agent = Agent(mb.UniformMatroid(6, 2), returning(lambda state, request: rows(*sets)), n_runs=2)
    with pytest.raises(PolicyError, match=r"got .* for run 7 in episode 3"):
        agent.decide(mb.Request(3, mb.Stream(0, [4, 7])))
    assert not agent.open
    assert agent.state.episode == 0


def test_dependent_sets_masks_and_pins_are_looked_at():
    matroid = mb.PartitionMatroid("aabb", labels=["a1", "a2", "b1", "b2"])
    learner = mb.Learner(matroid, returning(lambda state, request: rows([0, 2])), seed=0)
    assert learner.ask().labels == ("a1", "b1")
    for wanted in ({"exclude": ["a1"]}, {"available": ["a2", "b1"]}, {"pinned": ["b2"]}):
        with pytest.raises(PolicyError, match="of what is available and with"):
            learner.ask(**wanted)
    assert learner.n_decisions == 1
    dependent = mb.Learner(matroid, returning(lambda state, request: rows([0, 1])), seed=0)
    with pytest.raises(PolicyError, match=r"got \[0, 1\] for run 0"):
        dependent.ask()


@pytest.mark.parametrize("given", [None, 3, (np.zeros((1, 2)), np.array([2])), (np.zeros((2, 2), np.int64),) * 2])
def test_other_answers_are_refused(given):
    agent = Agent(mb.UniformMatroid(6, 2), returning(lambda state, request: given))
    with pytest.raises(PolicyError, match=r"expected Own.sets to return"):
        agent.decide(mb.Request(1, mb.Stream(0, [0])))


@pytest.mark.parametrize("name", [*MATROIDS, *CONSTRAINTS])
def test_the_sets_of_any_constraint(name):
    """Sets that are solved for are never refused, whatever the request."""
    constraint = (MATROIDS | CONSTRAINTS)[name]
    rng = np.random.default_rng(0)
    agent = Agent(constraint, Drawn(), n_runs=3)
    for t in range(1, 9):
        shape = constraint.n_items if t % 2 else (3, constraint.n_items)
        request = mb.Request(t, mb.Stream(0, range(3)), rng.random(shape) < 0.8 if t > 3 else None)
        play = agent.decide(request)
        agent.learn(play, rng.random(int(play.sizes.sum())))


def test_engines_for_items_do_not_take_it():
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))
    for engine in ("warm", "kinetic", "threshold"):
        with pytest.raises(PolicyError, match="chooses sets itself"):
            mb.simulate(problem, Drawn(), n_episodes=2, n_runs=1, engine=engine)
    simulated = [
        mb.simulate(problem, Drawn(), n_episodes=30, n_runs=5, seed=0, engine=engine) for engine in ("auto", "greedy")
    ]
    assert np.array_equal(simulated[0].choices, simulated[1].choices)
    assert "no compiled form" in mb.gpu.obstacle(problem, Drawn())


def test_a_subclass_of_a_compiled_policy_that_chooses_sets_is_played_as_it_says():
    class Stubborn(mb.OMM):
        def sets(self, state, request):
            return np.tile([2, 3], (state.n_runs, 1)), np.full(state.n_runs, 2)

    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.9, 0.1, 0.1]))
    result = mb.simulate(problem, Stubborn(), n_episodes=10, n_runs=2, seed=0)
    assert result.choices.tolist() == [[0, 0, 20, 20]]


def test_a_suite_names_what_is_wrong():
    class Moody(Drawn):
        samples = False

    with pytest.raises(ContractError, match="unless samples = True"):
        mb.testing.check_policy(Moody())

    class Herd(Drawn):
        def sets(self, state, request):
            U = self.indices(state, request)
            return solve(state, request, np.tile(U[:1], (len(U), 1)))

    with pytest.raises(ContractError, match="sets of run 1 change with the runs beside it"):
        mb.testing.check_policy(Herd())

    class Deaf(Drawn):
        def sets(self, state, request):
            return solve(state, mb.Request(request.episode, request.stream), self.indices(state, request))

    with pytest.raises(
        ContractError, match=r"expected Deaf.sets to return sets that are allowed.* on UniformMatroid"
    ):
        mb.testing.check_policy(Deaf())


# What stays with a choice


def test_what_is_kept_comes_back_with_late_answers():
    agent = Agent(mb.UniformMatroid(5, 2), Drawn(), n_runs=2)
    stream = mb.Stream(0, [0, 1])
    agent.observe(mb.Request(0, stream), np.tile(np.arange(5), (2, 1)), np.zeros((2, 5)))
    assert not agent.state.extra["heard"].any()  # a look is no choice
    plays = [agent.decide(mb.Request(t, stream)) for t in (1, 2, 3)]
    for play in (plays[2], plays[0]):
        for places in (np.array([1, 2]), np.array([0, 3])):
            agent.learn(play, np.zeros(2), places)
    heard = agent.state.extra["heard"]
    for play in (plays[2], plays[0]):
        runs, items = play.cells()
        expected = play.request.episode
        is_last = play is plays[0] or ~np.isin(items + 10 * runs, plays[0].cells()[1] + 10 * plays[0].cells()[0])
        assert (heard[runs, items, 0] == expected)[is_last].all()
        assert (heard[runs, items, 1] == items + 1).all()


def test_held_out_sets_are_not_the_policys_own():
    learner = mb.Learner(mb.UniformMatroid(6, 2, labels="abcdef"), Drawn(), seed=1, holdout=0.5)
    n = {True: 0, False: 0}
    for _ in range(30):
        decision = learner.ask()
        learner.tell(decision, [0.5, 0.5])
        heard = learner._agent.state.extra["heard"][0, decision.items]
        n[decision.is_held_out] += 1
        expected = [0, 0] if decision.is_held_out else [decision.id] * 2
        assert heard[:, 0].tolist() == expected
    assert min(n.values()) > 5


def test_files_logs_and_changes_keep_it(tmp_path):
    log = []
    learner = mb.Learner(mb.UniformMatroid(6, 3, labels="abcdef"), Drawn(), seed=2, record=log.append)
    decisions = [learner.ask() for _ in range(4)]
    learner.tell(decisions[1], {decisions[1].labels[0]: 1.0})
    learner.save(tmp_path / "learner")
    again = mb.Learner.load(tmp_path / "learner", policy=Drawn())
    replayed = mb.Learner.replay([json.loads(json.dumps(event)) for event in log])
    for each in (learner, again, replayed):
        each.change(mb.UniformMatroid(5, 3, labels="fedcx"))
        for decision in decisions[::-1]:
            untold = [label for label in decision.labels if (decision.id, label) != (2, decisions[1].labels[0])]
            each.tell(decision.id, dict.fromkeys(untold, 0.5))
        each.change(mb.UniformMatroid(6, 3, labels="abcdef"))
    heard = [each._agent.state.extra["heard"] for each in (learner, again, replayed)]
    assert heard[0][0, :, 0].any()
    assert np.array_equal(heard[0], heard[1])
    assert np.array_equal(heard[0], heard[2])
    assert again.ask() == learner.ask()


def test_another_policy_does_not_inherit_what_was_kept():
    class Other(Drawn):
        pass

    learner = mb.Learner(mb.UniformMatroid(6, 3), Drawn(), seed=2)
    decision = learner.ask()
    learner.configure(policy=Other())
    learner.tell(decision, [0.5] * 3)
    assert not learner._agent.state.extra["heard"].any()


@pytest.mark.parametrize("kept", [None, np.zeros(3), np.zeros((3, 1)), np.full((3, 2), np.nan)])
def test_keep_is_checked(kept):
    class Own(Drawn):
        def keep(self, state, request, runs, items):
            return kept

    with pytest.raises(PolicyError, match=r"expected Own.keep to return finite float64 of shape \(3, 2\)"):
        mb.Learner(mb.UniformMatroid(6, 3), Own(), seed=2).ask()


def test_explanations_and_redraws():
    learner = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), Drawn(), seed=0)
    preview = learner.preview(exclude=["a"], pinned=["d"])
    standing = {label: learner.explain(label, exclude=["a"], pinned=["d"]) for label in "abcd"}
    assert {label for label, each in standing.items() if each.is_chosen} == set(preview.labels)
    assert (standing["a"].standing, standing["d"].standing) == ("unavailable", "pinned")
    (other,) = {"b", "c"} - set(preview.labels)
    assert "Drawn chooses sets as a whole" in str(standing[other])
    decision = learner.ask(exclude=["a"], pinned=["d"])
    assert decision.labels == preview.labels
    assert learner.explain(other, decision=decision).standing == "out"
    items, sizes = learner.redraws(50, exclude=["a"], pinned=["d"])
    assert sizes.tolist() == [2] * 50
    assert {tuple(row) for row in items.tolist()} == {(1, 3), (2, 3)}


def test_a_policy_by_indices_has_sets_too():
    state = mb.State(mb.UniformMatroid(3, 1), n_runs=2)
    items, sizes = choose_sets(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0, 1]), excluded=np.array([0])))
    assert items.tolist() == [[1], [1]]
    assert sizes.tolist() == [1, 1]
    with pytest.raises(NotImplementedError):
        mb.OMM().sets(state, mb.Request(1, mb.Stream(0, [0, 1])))
