"""Events name items by label whatever has happened to them since they were asked for; so do what reads them."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, ItemError, LogWarning, SerializationError
from saved_files import edit, members, write
from told_books import ITEMS, Books, matroid


class Alone:
    """A learner, saved and loaded now and then."""

    takes_numbers = True

    def __init__(self, seed, folder):
        self.log, self.folder = [], folder
        self.learner = mb.Learner(
            matroid(ITEMS[:6]), mb.OMM(), seed=seed, id="x", holdout=0.3, max_departed=3, record=self.log.append
        )

    def __getattr__(self, name):
        return getattr(self.learner, name)

    def change(self, constraint, forget):
        self.learner.change(constraint, forget=forget)

    def reload(self):
        self.learner.save(self.folder / "learner")
        self.learner = mb.Learner.load(self.folder / "learner", record=self.log.append)


@pytest.mark.parametrize("seed", range(12))
def test_log_frame_and_books_agree(seed, tmp_path):
    subject, rng = Alone(seed, tmp_path), np.random.default_rng(seed)
    books = Books(subject, rng)
    for step in range(150):
        books.step()
        if step % 20 == 19:
            subject.reload()
    events = json.loads(json.dumps(subject.log))
    books.check(events)
    assert books.n_refused > 100
    copied = []
    again = mb.Learner.replay(events, record=copied.append)
    assert again.has_state_of(subject.learner)
    assert json.loads(json.dumps(copied)) == events


@pytest.fixture
def restarted():
    """A learner whose open decision is of items that were restarted, and its log."""
    log = []
    slots = mb.PartitionMatroid(dict.fromkeys("abcdef", "s"), {"s": 3})
    learner = mb.Learner(slots, mb.OMM(), holdout=0.5, seed=1, record=log.append)
    decision = learner.ask()
    assert decision.labels == ("a", "d", "e")
    learner.restart()
    return learner, decision, log


def weights_of(log):
    return dict(mb.read_log(log).frame()[["item", "weight"]].values.tolist())


def test_an_answer_by_number_after_a_restart(restarted):
    learner, _, log = restarted
    learner.tell(1, {4: 0.5, 3: 0.4, 0: 0.1})
    assert sorted(log[-1]["weights"]) == [["a", 0.1], ["d", 0.4], ["e", 0.5]]
    assert weights_of(log) == {"a": 0.1, "d": 0.4, "e": 0.5}


@pytest.mark.parametrize("is_bare", [False, True])
def test_other_labels_are_refused_after_a_restart_as_before_it(restarted, is_bare):
    learner, decision, log = restarted
    given, n_events = decision.id if is_bare else decision, len(log)
    fresh = mb.Learner(learner.constraint, mb.OMM(), seed=1)
    before = fresh.ask(pinned=list("ade"))
    for wrong in ({"a": 0.5, "bb": 0.4, "c": 0.1}, {"nobody": 1.0}, {"b": 1.0}, {True: 1.0}, {None: 1.0}):
        with pytest.raises((ItemError, FeedbackError)) as one:
            learner.tell(given, wrong)
        with pytest.raises((ItemError, FeedbackError)) as other:
            fresh.tell(before.id if is_bare else before, wrong)
        assert (one.type, str(one.value)) == (other.type, str(other.value))
    with pytest.raises(FeedbackError, match="expected each item once"):
        learner.tell(given, {"a": 0.5, 0: 0.4})
    assert (len(log), learner.n_outstanding) == (n_events, 1)


def test_an_array_for_what_is_left_of_a_decision(restarted):
    learner, decision, log = restarted
    learner.change(matroid("fed"))
    other = learner.ask(pinned=["e"])
    learner.change(matroid("defg"), forget="f")
    (now,) = (each for each in learner.outstanding if each == mb.Decision.from_dict(other.to_dict()) or each.id == 2)
    learner.tell(mb.Decision.from_dict(now.to_dict()), [0.1 * k for k in range(len(now.labels))])
    assert log[-1]["weights"] == [[label, 0.1 * k] for k, label in enumerate(now.labels)]
    assert now.labels == ("d", "e")
    learner.tell(decision, [0.5, 0.25, 0.125])
    assert log[-1]["weights"] == [["a", 0.5], ["d", 0.25], ["e", 0.125]]


# Logs and files of version 0.2.0


def old_log(restarted, told):
    """The log, with an answer as version 0.2.0 wrote it."""
    return [*restarted[2], {"event": "told", "decision": 1, "weights": told}]


def test_a_list_is_read_as_it_is_with_a_warning_where_the_order_is_not_known(restarted):
    log = old_log(restarted, [0.5, 0.4, 0.1])
    with pytest.warns(LogWarning, match=r"event 4 of the log has the weights of decision 1 without labels"):
        assert weights_of(log) == {"a": 0.5, "d": 0.4, "e": 0.1}
    copied = []
    again = mb.Learner.replay(log, record=copied.append)
    assert (again.n_outstanding, copied) == (0, log)


@pytest.mark.parametrize("how", ["equal", "one"])
def test_a_list_of_which_the_order_is_known_is_read_without_a_word(restarted, how):
    log = old_log(restarted, [0.5, 0.5, 0.5] if how == "equal" else [0.5, 0.4, 0.1])
    if how == "one":
        log[2] = {"event": "restarted", "items": ["d"]}
    assert weights_of(log) == dict(zip("ade", log[-1]["weights"], strict=True))


def test_what_may_have_been_forgotten_since_it_left_is_not_known_either(restarted):
    log = old_log(restarted, [0.5, 0.4, 0.1])
    log[2] = {"event": "changed", "constraint": matroid("bcd").to_dict(), "priors": None, "features": None,
              "forget": ["c"]}  # fmt: skip
    with pytest.warns(LogWarning, match="without labels"):
        weights_of(log)
    log[2]["constraint"] = matroid("abcde").to_dict()
    assert weights_of(log) == {"a": 0.5, "d": 0.4, "e": 0.1}


def test_another_label_in_a_log_of_0_2_0_is_left_out_with_a_warning(restarted):
    log = old_log(restarted, [["nobody", 1.0]])
    log.append({"event": "told", "decision": 1, "weights": [["a", 0.5]]})
    log.append({"event": "told", "decision": 1, "weights": [["a", 0.25]]})  # of the place of another
    copied = []
    again = mb.Learner.replay(log, record=copied.append)
    assert (again.n_outstanding, copied) == (0, log)
    with pytest.warns(LogWarning, match="event 4 of the log tells 'nobody', which is no item of decision 1"):
        found = weights_of(log)
    assert found["a"] == 0.25
    assert np.isnan([found["d"], found["e"]]).all()


def test_files_keep_the_labels_of_what_was_forgotten(restarted, tmp_path):
    learner, _, log = restarted
    learner.change(matroid("xyz"), forget="ad")
    learner.save(tmp_path / "it")
    again = mb.Learner.load(tmp_path / "it", record=log.append)
    with pytest.raises(ItemError):
        again.tell(1, {"nobody": 1.0})
    again.tell(1, {"e": 0.5, "d": 0.25, "a": 0.125})
    assert weights_of(log) == {"a": 0.125, "d": 0.25, "e": 0.5}


def test_files_of_0_2_0_take_any_label_for_what_they_have_lost(restarted, tmp_path):
    learner, _, log = restarted
    learner.save(tmp_path / "it")
    header, arrays = members(tmp_path / "it")
    assert arrays.pop("open/names").tobytes() == b'[["a"],["d"],["e"]]'
    write(tmp_path / "old", header, arrays)
    again = mb.Learner.load(tmp_path / "old", record=log.append)
    assert again.has_state_of(learner)
    assert learner.has_state_of(again)
    again.tell(1, {"e": 0.5})
    assert log[-1]["weights"] == [["e", 0.5]]
    again.tell(1, {"a": 0.125, "d": 0.25})
    assert again.n_outstanding == 0
    assert weights_of(log) == {"a": 0.125, "d": 0.25, "e": 0.5}
    replayed = mb.Learner.replay(log)
    assert replayed.n_outstanding == 0


@pytest.mark.parametrize(
    "forms", ["[]", "[3, null, null]", "{", '[["a"], ["b"], [{"x": 1}]]', '[["a", "b"], null, null]', "3"]
)
def test_files_with_other_labels_are_refused(restarted, forms, tmp_path):
    restarted[0].save(tmp_path / "it")
    edit(tmp_path / "it", arrays={"open/names": np.frombuffer(forms.encode(), np.uint8)})
    with pytest.raises(SerializationError, match="expected the labels of forgotten items"):
        mb.Learner.load(tmp_path / "it")
