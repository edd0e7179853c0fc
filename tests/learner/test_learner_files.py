"""What a learner's file may hold: damaged, edited, oversized and foreign ones are refused, in little memory."""

import copy
import math

import numpy as np
import pytest

import matroid_bandits as mb
import saved_files
from matroid_bandits.exceptions import FeedbackError, SerializationError
from samples import MATROIDS

ADS = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats", "cap": "hats", "visor": "hats"})
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0], [0.0, 0.5]])


def history(policy=None, constraint=ADS, **settings):
    """A learner with decision 1 told, 2 partly, 3 not."""
    learner = mb.Learner(constraint, policy or mb.KLOSM(), seed=4, **settings)
    decisions = [learner.ask() for _ in range(3)]
    learner.tell(decisions[0], np.linspace(0.25, 1.0, decisions[0].items.size))
    if decisions[1].items.size:
        learner.tell(decisions[1], {int(decisions[1].items[-1]): 0.25})
    return learner


@pytest.fixture
def path(tmp_path):
    return tmp_path / "learner"


def known(learner):
    """What a learner knows, as plain values."""
    state = learner._agent.state
    arrays = {"counts": state.counts, "sums": state.sums, **state.extra}
    waiting = [(d.id, d.items.tolist()) for d in learner.outstanding]
    return {key: value.tolist() for key, value in arrays.items()}, learner.n_decisions, learner.seed, waiting


# Edited files


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"seed": None}, "malformed learner: expected a seed to be an integer"),
        ({"seed": 1.0}, "malformed learner: expected a seed"),
        ({"seed": True}, "malformed learner: expected a seed"),
        ({"seed": 2**64}, "malformed learner: expected a seed"),
        ({"minimize": "false"}, "expected minimize to be True or False"),
        ({"minimize": 0}, "expected minimize to be True or False"),
        ({"n_items": 5.0}, "expected n_items to be an integer"),
        ({"n_items": 10**8}, "counts and sums do not fit 100000000 items"),
        ({"episode": 3.0}, "a learner cannot have made 3.0 decisions"),
        ({"episode": True}, "a learner cannot have made True decisions"),
        ({"episode": 2**47}, "a learner cannot have made 140737488355328 decisions"),
        ({"policy": 3}, "expected policy to be of type dict or str, got 3"),
        ({"policy": {"policy": "OMM", "base": []}}, "malformed OMM: .*unexpected keyword argument 'base'"),
        ({"constraint": "partition"}, "expected constraint to be of type dict or null"),
        ({"fingerprint": 7}, "expected fingerprint to be of type str or null"),
        ({"note": "hello"}, "expected nothing called 'note'"),
        ({"id": ""}, "expected id to be a string, got ''"),
        ({"id": 7}, "expected id to be a string, got 7"),
        ({"holdout": 1.5}, r"expected holdout to be a number in \[0, 1\], got 1.5"),
        ({"max_departed": -1}, "expected max_departed to be an integer of at least 0"),
        ({"n_changes": "one"}, "expected n_changes to be an integer"),
        ({"departed": "ab"}, "expected departed to be of type list"),
        ({"departed": ["a"], "max_departed": 0}, "expected at most 0 departed items, got 1"),
        ({"open": []}, "expected nothing called 'open'"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(path, header, message):
    history().save(path)
    saved_files.edit(path, header)
    with pytest.raises(SerializationError, match=message):
        mb.Learner.load(path)


def nan_at(array, place, value=math.nan):
    array = np.array(array, float)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("policy", "name", "change", "message"),
    [
        (mb.KLOSM(), "counts", lambda a: a + 2**62, "expected counts from 0 to 2"),
        (mb.KLOSM(), "counts", lambda a: a - 1, "expected counts from 0 to 2"),
        (mb.KLOSM(), "sums", lambda a: nan_at(a, 0), "finite sums"),
        (mb.KLOSM(), "sums", lambda a: a + 5.0, r"expected gains in \[0, 1\], got a sum of 5.25 from 1 of item 0"),
        (mb.OMM(), "sums", lambda a: a + 1.0, r"expected gains in \[-1e\+100, 1e\+100\], got a sum of 1.0 from 0"),
        (mb.OMM(), "sums", lambda a: a * 1e105, r"expected gains in \[-1e\+100, 1e\+100\]"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: a - 1, "expected a number of successes from 0 to [01]"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: nan_at(a, (0, 0)), "expected a number of successes"),
        (
            mb.ThompsonSampling(),
            "extra/successes",
            lambda a: a + 7,
            "successes from 0 to [01] for item 0, got [78].0",
        ),
        (mb.ThompsonSampling(), "extra/successes", lambda a: a + 0.5, "expected a number of successes"),
        (mb.CombLinTS(FEATURES), "extra/theta", lambda a: nan_at(a, (0, 1)), "expected finite coefficients theta"),
        (mb.CombLinTS(FEATURES), "extra/root", lambda a: nan_at(a, (0, 1, 1), -0.5), "expected the Cholesky factor"),
        (mb.CombLinTS(FEATURES), "extra/root", lambda a: nan_at(a, (0, 1, 1), 2.0), "to the prior's 1, got 2"),
        (mb.CombLinTS(FEATURES), "extra/root", lambda a: nan_at(a, (0, 0, 1)), "expected standard deviations"),
        (mb.CombLinTS(FEATURES), "extra/root", lambda a: nan_at(a, (0, 0, 1), 0.1), "expected the Cholesky factor"),
        (mb.CombLinTS(FEATURES), "extra/root", lambda a: a[:, :1], "the policy's arrays do not fit"),
        (mb.CombLinTS(FEATURES), "policy/features", lambda a: a[:3], "expected features for 5 items, got 3 rows"),
        (
            mb.CombLinTS(FEATURES),
            "policy/colour",
            lambda a: np.zeros(3),
            "malformed CombLinTS: .*unexpected keyword argument 'colour'",
        ),
        (mb.KLOSM(), "notes", lambda a: np.zeros(3), "expected no array called 'notes'"),
        (mb.OMM(), "open/ids", lambda a: a[::-1], r"expected outstanding decisions in 1\.\.3, in the order"),
        (mb.OMM(), "open/ids", lambda a: a * 0 + 3, r"expected outstanding decisions in 1\.\.3"),
        (mb.OMM(), "open/ids", lambda a: a + 1, r"expected outstanding decisions in 1\.\.3"),
        (mb.OMM(), "open/ids", lambda a: a.astype(float), "expected open/ids as int64"),
        (mb.OMM(), "open/sizes", lambda a: a + 1, "sizes of outstanding decisions to add up to their items"),
        (mb.OMM(), "open/items", lambda a: a * 0 + 99, r"expected items in 0\.\.4, got 99"),
        (mb.OMM(), "open/items", lambda a: a * 0 - 7, r"expected items in 0\.\.4, got -7"),
        (mb.OMM(), "open/told", lambda a: a | True, "expected something to wait for in decision 2"),
        (mb.OMM(), "open/told", lambda a: a & False, "expected . waiting plays of item ., got ."),
        (mb.OMM(), "open/told", lambda a: a.astype(int), "expected open/told as bool"),
        (mb.OMM(), "waiting", lambda a: a + 1, "expected . waiting plays of item 0, got ."),
        (mb.OMM(), "lost", lambda a: a - 1, "waiting plays of item 0"),
        (mb.OMM(), "means", lambda a: nan_at(a, 0), "expected finite means"),
        (mb.OMM(), "totals/partials", lambda a: nan_at(a, 0), "expected a finite total"),
        (mb.OMM(), "totals/n_partials", lambda a: a + 99, "expected a finite total"),
        (mb.OMM(), "priors/means", lambda a: np.zeros(5), "expected priors/counts as float64"),
        (mb.OMM(), "departed/counts", lambda a: np.zeros((1, 3), int), "expected no array called 'departed/counts'"),
    ],
)
def test_arrays_that_cannot_be_true_are_refused(path, policy, name, change, message):
    history(policy).save(path)
    _, arrays = saved_files.members(path)
    saved_files.edit(path, arrays={name: change(arrays.get(name))})
    with pytest.raises(SerializationError, match=message):
        mb.Learner.load(path)


def test_outstanding_sets_must_be_ones_that_may_be_chosen(path):
    learner = mb.Learner(ADS, mb.OMM(), seed=4)
    learner.ask()
    learner.save(path)
    waiting = np.array([1, 1, 0, 0, 0])
    saved_files.edit(path, arrays={"open/items": np.array([0, 1]), "waiting": waiting})  # both are shoes
    with pytest.raises(SerializationError, match="expected decision 1 to be a set that may be chosen"):
        mb.Learner.load(path)
    saved_files.edit(path, arrays={"open/items": np.array([1, 0]), "waiting": waiting})
    with pytest.raises(SerializationError, match="expected the items of outstanding decisions ascending"):
        mb.Learner.load(path)


def test_everything_about_a_live_learner_comes_back(path):
    learner = mb.Learner(ADS, mb.ThompsonSampling(), seed=4, id="ads", holdout=0.3, priors={"cap": (0.5, 3.0)})
    decisions = [learner.ask(exclude=["visor"], pinned=["cap"] if t % 2 else []) for t in range(9)]
    learner.tell(decisions[0], {decisions[0].labels[0]: 1.0})
    learner.close(decisions[1])
    learner.close(decisions[2], default=0.0)
    names = {"heels": "shoes", "clogs": "shoes", "fedora": "hats", "cap": "hats"}
    learner.change(mb.PartitionMatroid(names), priors="typical")
    learner.restart(["fedora"])
    later = [learner.ask(available=["clogs", "cap", "heels"]) for _ in range(4)]
    learner.save(path)
    again = mb.Learner.load(path)
    assert (again.id, again.holdout, again.n_decisions) == ("ads", mb.Holdout(0.3), 13)
    assert again.outstanding == learner.outstanding
    assert [d.is_held_out for d in again.outstanding] == [d.is_held_out for d in learner.outstanding]
    for each in (learner, again):
        each.tell(decisions[3], np.ones(decisions[3].items.size))
        each.tell(later[0], dict.fromkeys(later[0].labels, 1.0))
        each.close_before(8)
    assert str(again.explain("clogs", decision=later[1])) == str(learner.explain("clogs", decision=later[1]))
    for each in (learner, again):
        each.change(ADS, features=None)
    assert known(again) == known(learner)
    assert [again.ask().labels for _ in range(20)] == [learner.ask().labels for _ in range(20)]


# What is passed to load must be what was saved


@pytest.mark.parametrize(
    ("saved", "given"),
    [
        (mb.OMM(2.0), mb.OMM(1.0)),
        (mb.ThompsonSampling(), mb.ThompsonSampling("normal")),
        (mb.FixedSet([0, 2]), mb.FixedSet([0, 3])),
        (mb.CombLinTS(FEATURES), mb.CombLinTS(FEATURES + 1.0)),
    ],
)
def test_a_policy_given_must_be_the_saved_one(path, saved, given):
    history(saved).save(path)
    with pytest.raises(SerializationError, match=r"that the learner was saved with, .* got "):
        mb.Learner.load(path, policy=given)
    assert mb.Learner.load(path, policy=copy.deepcopy(saved)).policy == saved


def test_a_matroid_that_cannot_be_stored_leaves_a_fingerprint(path):
    def at_most(rank):
        return mb.OracleMatroid(6, lambda X: len(X) <= rank, labels="abcdef")

    history(mb.OMM(), at_most(3)).save(path)
    assert known(mb.Learner.load(path, constraint=at_most(3))) == known(history(mb.OMM(), at_most(3)))
    others = [
        at_most(2),
        mb.OracleMatroid(6, lambda X: len(X & {0, 1}) <= 1 and len(X) <= 3, labels="abcdef"),
        mb.OracleMatroid(6, lambda X: len(X) <= 3, labels="abcdeg"),
        mb.OracleMatroid(6, lambda X: len(X) <= 3),
    ]
    for other in others:
        with pytest.raises(SerializationError, match="the constraint that the learner was saved with, got Ora"):
            mb.Learner.load(path, constraint=other)
    saved_files.edit(path, {"fingerprint": None})  # as files were before
    assert mb.Learner.load(path, constraint=at_most(3)).n_decisions == 3


# What is saved can be loaded


@pytest.mark.parametrize("weight", [1e308, -1e308, 1.0001e100])
def test_weights_are_bounded_so_that_sums_stay_finite(weight, path):
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0)
    with pytest.raises(FeedbackError, match=r"expected weights of at most 1e\+100 in size, got -?1"):
        learner.observe({0: weight})
    with pytest.raises(FeedbackError, match=r"expected weights of at most 1e\+100 in size"):
        learner.tell(learner.ask(), [weight])
    for _ in range(3):
        learner.tell(learner.ask(), [math.copysign(1e100, weight)])
    learner.save(path)
    assert known(mb.Learner.load(path)) == known(learner)


class Drifting(mb.Policy):
    """A user's own whose array must stay positive."""

    memory = (mb.Memory("level", initial=1.0),)

    def indices(self, state, request):
        return state.means

    def check_extra(self, state):
        if not (state.extra["level"] > 0.0).all():
            raise mb.exceptions.PolicyError("expected positive levels")


def test_what_load_would_refuse_is_not_written(path):
    learner = history(Drifting())
    learner.save(path)
    assert known(mb.Learner.load(path)) == known(learner)
    old = path.read_bytes()
    learner._agent.state.extra["level"][0, 2] = -1.0
    with pytest.raises(SerializationError, match="malformed learner: expected positive levels"):
        learner.save(path)
    assert path.read_bytes() == old


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS.keys())
@pytest.mark.parametrize("minimize", [False, True])
def test_every_matroid_comes_back(path, matroid, minimize):
    for policy in (mb.ThompsonSampling(), mb.OMM(), mb.CombLinUCB(np.ones((matroid.n_items, 2)))):
        learner = history(policy, matroid, minimize=minimize)
        learner.save(path)
        assert known(mb.Learner.load(path)) == known(learner)
