"""What answers tell of: every chosen item, or clicks alone."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, PolicyError, SerializationError

FIVE = mb.UniformMatroid(5, 3, labels="abcde")


def clicked(record=None, **more):
    """A learner that is told clicks, its log, and books of what was told and of the zeros, by label."""
    rng, books = np.random.default_rng(5), {label: [0, 0.0] for label in "abcde"}
    learner = mb.Learner(FIVE, mb.OMM(), seed=3, id="clicks", answers="clicks", record=record, **more)
    waiting = {}
    for visit in range(60):
        decision = learner.ask()
        waiting[decision.id] = dict.fromkeys(decision.labels, 0.0)
        late = [*waiting][rng.integers(len(waiting))]
        fresh = [label for label, click in waiting[late].items() if not click]
        if fresh:
            label = fresh[rng.integers(len(fresh))]
            waiting[late][label] = 1.0
            learner.tell(late, {label: 1.0})
            if len(fresh) == 1:  # told whole
                settle(books, waiting.pop(late))
        if visit % 10 == 9:
            learner.close(next(iter(waiting)))
            settle(books, waiting.pop(next(iter(waiting))))
            until = decision.id - 4
            closed = [id for id in waiting if id < until]
            assert learner.close_before(until) == len(closed)
            for id in closed:
                settle(books, waiting.pop(id))
    learner.close_before(61)
    for clicks in waiting.values():
        settle(books, clicks)
    return learner, books


def settle(books, clicks):
    for label, click in clicks.items():
        books[label][0] += 1
        books[label][1] += click


def check(learner, books):
    found = learner.estimates()
    assert found.counts.tolist() == [n for n, _ in books.values()]
    assert found.means == pytest.approx([total / n for n, total in books.values()], abs=1e-12)
    assert learner.n_outstanding == 0


def test_with_clicks_the_rest_is_zero_when_a_decision_is_closed(tmp_path):
    log = []
    learner, books = clicked(log.append)
    check(learner, books)
    log = json.loads(json.dumps(log))
    assert log[0]["answers"] == "clicks"
    assert {event["default"] for event in log if event["event"] == "closed"} == {0.0}
    again = mb.Learner.replay(log)
    assert again.answers == "clicks"
    assert again.has_state_of(learner)
    learner.save(tmp_path / "learner.npz")
    loaded = mb.Learner.load(tmp_path / "learner.npz")
    assert loaded.answers == "clicks"
    assert loaded.has_state_of(learner)
    assert [loaded.ask() for _ in range(5)] == [again.ask() for _ in range(5)]
    loaded.close_before(100)
    assert loaded.estimates().counts.sum() == learner.estimates().counts.sum() + 15


def test_a_control_is_told_what_the_learner_is_told():
    learner, books = clicked(holdout=mb.Holdout(0.5, control=mb.ThompsonSampling(), learns=True))
    check(learner, books)


@pytest.mark.parametrize(
    ("answers", "given", "counts", "means"),
    [
        ("all", {}, [1, 0], [1.0]),
        ("clicks", {}, [1, 1], [1.0, 0.0]),
        ("all", {"default": None}, [1, 0], [1.0]),
        ("clicks", {"default": None}, [1, 0], [1.0]),
        ("all", {"default": 0.5}, [1, 1], [1.0, 0.5]),
        ("clicks", {"default": 0.5}, [1, 1], [1.0, 0.5]),
    ],
)
@pytest.mark.parametrize("verb", ["close", "close_before"])
def test_a_default_that_is_given_wins(answers, given, counts, means, verb):
    log = []
    learner = mb.Learner(mb.UniformMatroid(2, 2, labels="ab"), mb.OMM(), answers=answers, seed=0, record=log.append)
    learner.tell(learner.ask(), {"a": 1.0})
    if verb == "close":
        learner.close(1, **given)
    else:
        assert learner.close_before(2, **given) == 1
    for each in (learner, mb.Learner.replay(log)):
        found = each.estimates()
        assert found.counts.tolist() == counts
        assert found.means[: len(means)].tolist() == means


def test_answers_are_a_setting_that_can_change():
    log = []
    learner = mb.Learner(FIVE, mb.OMM(), seed=0, record=log.append)
    assert learner.answers == "all"
    learner.ask()
    n_steps = learner.n_steps
    learner.configure(answers="all")
    assert learner.n_steps == n_steps
    form = learner.configure_form(answers="clicks")
    learner.configure(answers="clicks")
    assert log[-1] == form
    assert learner.answers == form["answers"] == "clicks"
    learner.configure(policy=mb.ThompsonSampling(), restart=True)
    assert log[-1]["answers"] == "clicks"
    learner.configure(policy=mb.OMM())
    learner.close(1)  # asked before, closed since
    assert log[-1] == {"event": "closed", "decision": 1, "default": 0.0}
    assert mb.Learner.replay(log).has_state_of(learner)


def test_a_log_that_does_not_say_it_waits_for_all(tmp_path):
    log = []
    learner = mb.Learner(FIVE, mb.OMM(), seed=0, record=log.append)
    learner.ask()
    learner.close(1)
    early = [{key: value for key, value in event.items() if key != "answers"} for event in log]
    again = []
    old = mb.Learner.replay(early, record=again.append)
    assert old.answers is None
    assert again[0] == early[0]
    old.configure(holdout=0.5)
    assert "answers" not in again[-1]
    old.save(tmp_path / "old.npz")
    old = mb.Learner.load(tmp_path / "old.npz")
    assert old.answers is None
    old.ask()
    old.close(2)
    assert old.estimates().counts.sum() == 0


class OverOne(mb.OMM):
    """Takes no 0."""

    support = (1.0, 2.0)


def test_bad_answers_get_one_clear_error(tmp_path):
    words = r"expected answers to be one of all, clicks, .*; got 'cascade'"
    with pytest.raises(PolicyError, match=words):
        mb.Learner(FIVE, mb.OMM(), answers="cascade")
    with pytest.raises(PolicyError, match=r"expected answers to be one of all, clicks, .*; got None"):
        mb.Learner(FIVE, mb.OMM(), answers=None)
    log = []
    learner = mb.Learner(FIVE, mb.OMM(), record=log.append)
    for wrong in ("cascade", 1, ["all"], "Clicks"):
        with pytest.raises(PolicyError, match=r"expected answers to be one of all, clicks, .*; got"):
            learner.configure(answers=wrong)
    with pytest.raises(PolicyError, match=words):
        mb.Learner.replay([log[0] | {"answers": "cascade"}])
    with pytest.raises(
        PolicyError, match="expected a policy that takes 0, the weight of what is not told with answers="
    ):
        mb.Learner(FIVE, OverOne(), answers="clicks")
    with pytest.raises(PolicyError, match="expected a policy that takes 0"):
        mb.Learner(FIVE, OverOne()).configure(answers="clicks")
    learner.configure(answers="clicks")
    with pytest.raises(PolicyError, match="expected a policy that takes 0"):
        learner.configure(policy=OverOne())
    with pytest.raises(FeedbackError, match="expected a number for 'default', got 'clicks'"):
        learner.close(learner.ask(), default="clicks")
    assert len(log) == 3  # created, configured, asked


def test_a_file_with_other_answers_is_refused(tmp_path):
    learner = mb.Learner(FIVE, mb.OMM(), answers="clicks")
    learner._answers = "cascade"
    learner.save(tmp_path / "x.npz")
    with pytest.raises(SerializationError, match=r"expected answers to be one of all, clicks, .*; got 'cascade'"):
        mb.Learner.load(tmp_path / "x.npz")


def test_what_was_not_looked_at_is_better_unknown_than_0():
    """The regret that the guide on lists states, in small: by much more than its standard error."""
    path = Path(__file__).parents[2] / "science" / "read_from_the_top.py"
    names = runpy.run_path(str(path))
    found = np.array([[names["regret"](seed, 600, way) for way in names["WAYS"]] for seed in range(6)])
    for column in (0, 1):
        more = found[:, 2] - found[:, column]
        assert more.mean() > 4.0 * more.std(ddof=1) / len(more) ** 0.5
