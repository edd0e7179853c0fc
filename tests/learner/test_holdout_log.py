"""What a log says of sets that were drawn at random."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import ReplayError


class Pairs(mb.Constraint):
    """One of a few sets of two."""

    kind = "holdout-test-pairs"
    sets = ((0, 1), (1, 2), (2, 3))

    def __init__(self, labels=None):
        super().__init__(4, labels)

    def fields(self):
        return {}

    def best_sets(self, weights, *, available=None, pinned=None):
        rows = np.atleast_2d(weights)
        best = [max(self.sets, key=lambda each, row=row: row[list(each)].sum()) for row in rows]
        return np.array(best), np.full(rows.shape[0], 2)

    def allows(self, items):
        return any(set(items) <= set(each) for each in self.sets)


def played(constraint, record, n=60):
    learner = mb.Learner(constraint, mb.OMM(), seed=1, holdout=0.4, record=record)
    for k in range(n):
        decision = learner.ask()
        learner.tell(decision, [0.1 * e if k % 3 else 0.5 for e in decision.items.tolist()])
    return learner


@pytest.mark.parametrize(
    ("constraint", "law"),
    [(mb.UniformMatroid(4, 2, labels="abcd"), "random-keys"), (Pairs("abcd"), "best-of-uniform-keys")],
)
def test_a_log_names_the_law_and_what_would_have_been_chosen(constraint, law):
    log = []
    played(constraint, log.append)
    log = json.loads(json.dumps(log))
    assert log[0]["holdout_law"] == law
    asked = [event for event in log if event["event"] == "asked"]
    drawn = [event for event in asked if event.get("held_out")]
    assert 5 < len(drawn) < len(asked)
    assert all(("instead" in event) == event.get("held_out", False) for event in asked)
    again = mb.Learner.replay(log)
    for event in asked:  # what an equal learner without hold-out would have chosen then
        until = log[: log.index(event)]
        learner = mb.Learner.replay([until[0] | {"holdout": 0.0}, *until[1:]], trust=True)
        assert list(learner.preview().labels) == event.get("instead", event["items"])
        if event["decision"] > 12:
            break
    assert again.n_decisions == 60


def test_a_log_that_says_otherwise_does_not_replay():
    log = []
    played(mb.UniformMatroid(4, 2, labels="abcd"), log.append)
    k = next(k for k, event in enumerate(log) if event.get("held_out") and event["decision"] > 4)
    wrong = [*log[:k], log[k] | {"instead": ["c", "d"] if log[k]["instead"] == ["a", "b"] else ["a", "b"]}]
    with pytest.raises(ReplayError, match="the log says"):
        mb.Learner.replay(wrong)
    mb.Learner.replay(wrong, trust=True)
    early = [{key: value for key, value in event.items() if key not in ("instead", "holdout_law")} for event in log]
    assert mb.Learner.replay(early).n_decisions == 60
    with pytest.raises(ReplayError, match="by the law random-keys"):
        mb.Learner.replay([log[0] | {"holdout_law": "other"}])


def test_a_trusted_replay_writes_the_same_log():
    log, copied = [], []
    learner = mb.Learner(mb.UniformMatroid(5, 2, labels="abcde"), mb.OMM(), seed=3, holdout=0.5, record=log.append)
    for t in range(12):
        learner.tell(learner.ask(exclude=["a"] if t % 3 else ()), [0.5, t % 2])
    log[-2]["items"] = ["d", "e"]  # another build chose these
    log[-1]["weights"] = [["d", 0.5], ["e", 1.0]]
    assert any("instead" in event for event in log)
    mb.Learner.replay(log, trust=True, record=copied.append)
    assert copied == log


@pytest.mark.parametrize("nothing", [(), [], set(), np.array([], int), np.array([])], ids=repr)
@pytest.mark.parametrize("name", ["exclude", "pinned"])
def test_excluding_nothing_is_not_to_exclude(name, nothing, tmp_path):
    logs = []
    for request in ({}, {name: nothing}):
        log = []
        learner = mb.Learner(mb.UniformMatroid(5, 2), mb.OMM(), seed=3, id="x", holdout=0.5, record=log.append)
        for _ in range(3):
            learner.ask(**request)
        learner.save(tmp_path / f"{len(logs)}")
        logs.append(log)
    assert logs[0] == logs[1]
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
