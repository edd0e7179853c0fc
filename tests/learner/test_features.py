"""Features of a request reach policies that use them, with every answer those of its own decision."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import PolicyError

MATROID = mb.UniformMatroid(4, 2, labels="abcd")


class Weighted(mb.Policy):
    """Indices are the sums of an item's features; remembers what features its answers came with."""

    n_features = 2
    tries_unseen = False

    memory = (mb.Memory("seen", "run", shape=(2,)),)

    def indices(self, state, request):
        return np.tile(request.features.sum(axis=1), (state.n_runs, 1))

    def observe(self, state, feedback):
        np.add.at(state.extra["seen"], feedback.runs, feedback.features * feedback.gains[:, None])


def test_features_come_with_the_request_and_with_its_answers(tmp_path):
    log = []
    learner = mb.Learner(MATROID, Weighted(), seed=0, record=log.append)
    X = np.array([[0.0, 1.0], [2.0, 2.0], [5.0, 0.0], [0.0, 0.5]])
    first = learner.ask(features=X)
    assert first.labels == ("b", "c")
    second = learner.ask(features={"a": [9, 9], "b": [0, 1], "c": [0, 0], "d": [8, 8]}, exclude=["d"])
    assert second.labels == ("a", "b")
    learner.save(tmp_path / "waiting")
    again = mb.Learner.load(tmp_path / "waiting")
    replica = mb.Learner.replay(log)
    for each in (learner, again, replica):
        each.tell(second, {"a": 1.0})  # late, in parts, in another order
        each.tell(first, [0.5, 1.0])
        assert each._agent.state.extra["seen"].tolist() == [[9 + 1 + 5, 9 + 1 + 0]]
    assert learner.estimates(features=X).indices.tolist() == [1.0, 4.0, 5.0, 0.5]
    assert str(learner.explain("a", features=X)).startswith("a is out: it could only replace b, which leads by 3")


def test_a_learner_may_have_features_for_requests_that_bring_none():
    learner = mb.Learner(MATROID, Weighted(), features=np.eye(4)[:, :2])
    assert learner.ask().labels == ("a", "b")
    assert learner.ask(features=np.eye(4)[:, 2:]).labels == ("c", "d")
    learner.change(mb.UniformMatroid(2, 1, labels="xa"), features={"x": [0, 0], "a": [1, 1]})
    assert learner.ask().labels == ("a",)


def test_an_item_that_has_left_is_told_of_with_its_own_features():
    learner = mb.Learner(MATROID, Weighted())
    late = learner.ask(features=[[3, 4], [1, 1], [0, 0], [0, 0]])
    learner.change(mb.UniformMatroid(2, 1, labels="bx"))
    learner.tell(late, {"a": 1.0, "b": 2.0})
    assert learner._agent.state.extra["seen"].tolist() == [[3 + 2, 4 + 2]]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "expected features of 2 numbers per item, which Weighted.* needs; got none"),
        (np.zeros((4, 3)), r"expected features of shape \(4, 2\), got shape \(4, 3\)"),
        (np.full((4, 2), np.nan), "expected finite features"),
        ([["x", "y"]] * 4, "expected features as a row of numbers per item"),
        ({"a": [0, 0]}, "expected features of every item, got none for 'b'"),
    ],
)
def test_features_that_do_not_fit(features, message):
    learner = mb.Learner(MATROID, Weighted())
    with pytest.raises(PolicyError, match=message):
        learner.ask(features=features)
    assert learner.n_decisions == 0
