"""A record that raises leaves learner and log equal."""

import json

import pytest

import matroid_bandits as mb


class DiskFullError(OSError):
    pass


class Log:
    """Keeps events, and fails to now and then."""

    def __init__(self):
        self.events, self.is_full = [], False

    def __call__(self, event):
        if self.is_full:
            raise DiskFullError
        self.events.append(json.loads(json.dumps(event)))


class Strict(mb.Policy):
    """A policy of a user's own that refuses what it does not like, when it is told."""

    memory = (mb.Memory("n_told"),)

    def indices(self, state, request):
        return state.means

    def observe(self, state, feedback):
        state.extra["n_told"][feedback.runs, feedback.items] += 1.0
        if (feedback.gains == 0.125).any():
            raise ValueError("not that one")


def uniform(labels):
    return mb.UniformMatroid(len(labels), 2, labels=labels)


def state_of(learner, path):
    learner.save(path)
    return path.read_bytes()


STEPS = {
    "ask": lambda learner, _: learner.ask(),
    "ask for more": lambda learner, _: learner.ask(exclude=["b"], pinned=["c"]),
    "tell": lambda learner, first: learner.tell(first, [0.25, 0.5]),
    "tell a part": lambda learner, first: learner.tell(first, {first.labels[0]: 0.25}),
    "close": lambda learner, first: learner.close(first),
    "close with a default": lambda learner, first: learner.close(first, default=0.0),
    "close before": lambda learner, _: learner.close_before(5),
    "change": lambda learner, _: learner.change(uniform("bcd")),
    "restart": lambda learner, _: learner.restart(),
    "restart some": lambda learner, _: learner.restart(["a"]),
}
POLICIES = [mb.OMM(), mb.ThompsonSampling(), mb.SlidingWindowOMM(5), mb.Restarting(mb.OMM()), Strict()]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_record_that_raises_changes_nothing(policy, step, tmp_path):
    log = Log()
    learner = mb.Learner(uniform("abc"), policy, seed=0, id="x", holdout=0.5, record=log)
    learner.observe({"a": 0.5})
    first, second = learner.ask(), learner.ask()
    learner.tell(second, [0.5, 0.75])
    before = state_of(learner, tmp_path / "it")
    log.is_full = True
    with pytest.raises(DiskFullError):
        STEPS[step](learner, first)
    assert state_of(learner, tmp_path / "it") == before
    log.is_full = False
    STEPS[step](learner, first)
    assert state_of(mb.Learner.replay(log.events), tmp_path / "it") == state_of(learner, tmp_path / "other")


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_looks_that_cannot_be_recorded_are_not_counted(policy, tmp_path):
    log = Log()
    learner = mb.Learner(uniform("abc"), policy, seed=0, id="x", record=log)
    before = state_of(learner, tmp_path / "it")
    log.is_full = True
    with pytest.raises(DiskFullError):
        learner.observe([0.5, 0.25, 1.0])
    assert state_of(learner, tmp_path / "it") == before


def test_what_a_policy_refuses_is_not_recorded(tmp_path):
    log = Log()
    learner = mb.Learner(uniform("abc"), Strict(), seed=0, id="x", record=log)
    with pytest.raises(ValueError, match="not that one"):
        learner.observe([0.5, 0.125, 0.0])
    first = learner.ask()
    before = state_of(learner, tmp_path / "it")
    for weights in ([0.125, 0.5], {first.labels[0]: 0.125}):
        with pytest.raises(ValueError, match="not that one"):
            learner.tell(first, weights)
    assert state_of(learner, tmp_path / "it") == before
    assert [event["event"] for event in log.events] == ["created", "asked"]
    learner.tell(first, [0.5, 0.25])
    assert learner._agent.state.extra["n_told"].sum() == 2
    assert mb.Learner.replay(log.events).estimates().means.tolist()[:2] == [0.5, 0.25]


def test_looks_without_features_are_refused_before_they_are_recorded():
    log = Log()
    learner = mb.Learner(uniform("abc"), mb.CombLinUCB(n_features=2), record=log)
    with pytest.raises(mb.exceptions.PolicyError, match=r"expected features of 2 numbers per item, .*; got none"):
        learner.observe({"a": 0.5})
    assert [event["event"] for event in log.events] == ["created"]
    mb.Learner.replay(log.events).ask(features=[[1.0, 0.0]] * 3)
