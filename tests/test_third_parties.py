"""Classes from outside the package that break a promise: one sentence, where they are used and in the suites."""

import math

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ContractError, InvalidConstraintError, InvalidMatroidError, PolicyError

MATROID = mb.UniformMatroid(4, 2)
PROBLEM = mb.Problem(MATROID, mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.3]))


class Plain(mb.Policy):
    """Indices that are means."""

    def indices(self, state, request):
        return state.means.copy()


class Writes(Plain):
    """Counts in the wrong book."""

    def indices(self, state, request):
        state.sums += 1.0
        return super().indices(state, request)


class Remembers(Plain):
    """Keeps a note where nothing may change."""

    memory = (mb.Memory("note", "run"),)

    def indices(self, state, request):
        state.extra["note"] += 1.0
        return super().indices(state, request)


class Returns(Plain):
    """Indices of another type."""

    def __init__(self, dtype):
        self.dtype = dtype

    def indices(self, state, request):
        return state.means.astype(self.dtype)


class Twice(Plain):
    """Two arrays of one name."""

    memory = (mb.Memory("last"), mb.Memory("other"), mb.Memory("last", "run"))


class Reshapes(Plain):
    """An array of another shape, or of another type, after the first answer."""

    memory = (mb.Memory("last"),)

    def __init__(self, shape=(1, 1), dtype=float):
        self.shape, self.dtype = shape, dtype

    def observe(self, state, feedback):
        state.extra["last"] = np.zeros(self.shape or state.counts.shape, self.dtype)


def play(policy):
    mb.simulate(PROBLEM, policy, n_episodes=5, n_runs=2, seed=0)


def learn(policy):
    learner = mb.Learner(MATROID, policy, seed=0)
    for _ in range(3):
        learner.tell(learner.ask(), [1.0, 0.0])


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Writes(), r"Writes\.indices to leave the state as it is; it changed state\.sums in episode 1"),
        (
            Remembers(),
            r"Remembers\.indices to leave the state as it is; it changed state\.extra\['note'\] in episode",
        ),
        (Returns(complex), r"Returns\.indices to return real numbers, got an array of complex128"),
        (Returns(object), r"Returns\.indices to return real numbers, got an array of object"),
        (Returns(str), r"Returns\.indices to return real numbers, got an array of <U32"),
        (Twice(), r"arrays of different names in the memory of Twice, got 'last' more than once"),
        (Reshapes(), r"state\.extra\['last'\] to be an array of shape .* as memory declares it; got shape \(1, 1\)"),
        (Reshapes(None, np.float32), r"state\.extra.* as memory declares it; got shape \(\d, 4\) of float32"),
    ],
    ids=lambda each: repr(each) if isinstance(each, mb.Policy) else "",
)
def test_a_policy_that_breaks_a_promise(policy, said):
    for use in (play, learn):
        with pytest.raises(PolicyError, match=f"expected {said}"):
            use(policy)
    with pytest.raises((ContractError, PolicyError)):
        mb.testing.check_policy(policy)


def test_an_answer_that_is_refused_is_not_learnt():
    learner = mb.Learner(MATROID, Reshapes(), seed=0)
    decision = learner.ask()
    with pytest.raises(PolicyError, match="as memory declares it"):
        learner.tell(decision, [1.0, 0.0])
    assert learner.estimates().counts.tolist() == [0, 0, 0, 0]
    assert learner.n_outstanding == 1


class Pairs(mb.Constraint):
    """Pairs of items, by an oracle that the test breaks."""

    def __init__(self, n_items, answer=None, labels=None):
        super().__init__(n_items, labels)
        self.answer = answer

    def allows(self, items):
        return items.size <= 2

    def best_sets(self, weights, *, available=None, pinned=None):
        if not isinstance(self.answer, str):
            return self.answer
        return mb.UniformMatroid(self.n_items, 2).best_sets(weights, available=available)

    def fields(self):
        return {"n_items": self.n_items, "answer": self.answer}


class Stretched(Pairs):
    """The same, where not every part of an allowed set is allowed."""

    is_hereditary = fills_up = False

    def allows(self, items):
        return items.size == 2


@pytest.mark.parametrize("n_items", [-1, 2.5, "3", True, None])
def test_a_number_of_items_is_one(n_items):
    with pytest.raises(InvalidConstraintError, match="expected n_items to be an integer of at least 0, got"):
        Pairs(n_items)


def test_the_number_of_items_is_a_plain_integer():
    assert type(Pairs(np.int32(3)).n_items) is int


@pytest.mark.parametrize("wrong", [math.nan, np.float64("nan"), ("x", math.nan), ("x", ("y", math.nan))], ids=repr)
def test_labels_are_not_nan(wrong):
    with pytest.raises(InvalidMatroidError, match="expected labels without NaN"):
        mb.UniformMatroid(3, 1, labels=["a", wrong, "b"])
    with pytest.raises(InvalidConstraintError, match="expected labels without NaN"):
        Pairs(2, labels=["a", wrong])
    assert mb.UniformMatroid(2, 1, labels=[("x", 0.5), math.inf]).labels == (("x", 0.5), math.inf)


@pytest.mark.parametrize("answer", [None, (), np.zeros((1, 2), np.int64), (None, None)], ids=repr)
def test_an_oracle_that_returns_no_sets(answer):
    constraint = Pairs(4, answer)
    for use in (
        lambda: constraint.solve(np.ones((1, 4))),
        lambda: mb.Learner(constraint, mb.OMM(), seed=0).ask(),
        lambda: mb.Problem(constraint, PROBLEM.environment).optimal_basis,
        lambda: mb.testing.check_constraint(constraint),
    ):
        with pytest.raises(ContractError, match=r"expected Pairs\.best_sets to return items"):
            use()


@pytest.mark.parametrize("kind", [Pairs, Stretched])
def test_an_oracle_that_ignores_pins_is_told_so(kind):
    constraint = kind(4, "ignores pins")
    said = rf"expected {kind.__name__}\.best_sets to choose what is pinned, got a set without"
    learner = mb.Learner(constraint, mb.OMM(), seed=0)
    for pinned in ([3], [2, 3]):
        with pytest.raises(ContractError, match=said):
            learner.ask(pinned=pinned)
    with pytest.raises(ContractError, match=said):
        constraint.solve(np.array([[4.0, 3.0, 2.0, 1.0]]), pinned=np.array([3]))
    with pytest.raises(ContractError, match="pinned"):
        mb.testing.check_constraint(constraint)
