"""A learner from before a fork: the child reads and saves it, and is told to load one of its own."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="only where a process can be forked")

PROGRAM = """
import json, os, sys, threading, warnings
import matroid_bandits as mb

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads beside a fork

def child(work):
    reading, writing = os.pipe()
    if not os.fork():
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        found = json.loads(answers.read())
    os.wait()
    return found

def refused(work):
    try:
        work()
    except mb.exceptions.ForkError as error:
        return str(error)
    return None

constraint, path = mb.UniformMatroid(6, 2, labels="abcdef"), sys.argv[1]
"""

VERBS = """
learner = mb.Learner(constraint, mb.ThompsonSampling(), seed=0)
decision, book = learner.ask(), learner.book
learner.tell(learner.ask(), [1.0, 0.0])
verbs = {
    "ask": learner.ask,
    "tell": lambda: learner.tell(decision, [1.0, 1.0]),
    "close": lambda: learner.close(decision),
    "close_before": lambda: learner.close_before(9),
    "observe": lambda: learner.observe({"a": 1.0}),
    "change": lambda: learner.change(constraint),
    "configure": lambda: learner.configure(holdout=0.5),
    "restart": learner.restart,
    "apply": lambda: learner.apply({"event": "restarted"}),
    "record": lambda: setattr(learner, "record", print),
    "date": lambda: book.date(decision.id, 1.0),
}

def reads_and_saves():
    learner.save(path)
    own = mb.Learner.load(path)
    return {
        "refused": {name: refused(verb) for name, verb in verbs.items()},
        "counts": learner.estimates().counts.tolist(),
        "best": learner.best_basis().labels, "next": learner.preview().labels, "open": len(learner.book),
        "same": own.has_state_of(learner), "asked": own.ask().labels,
        "fresh": mb.Learner(constraint, mb.OMM()).ask().id,
        "grandchild": child(lambda: [refused(learner.ask), len(learner.outstanding)]),
    }

found = child(reads_and_saves)
found["parent"] = {"counts": learner.estimates().counts.tolist(), "best": learner.best_basis().labels,
    "asked": learner.ask().labels}
print(json.dumps(found))
"""

HELD = """
inside, leave = threading.Event(), threading.Event()

def held(event):
    inside.set()
    leave.wait()

learner = mb.Learner(constraint, mb.OMM(), seed=0)
learner.record = held
thread = threading.Thread(target=learner.ask)
thread.start()
inside.wait()
found = child(lambda: [refused(work) for work in (learner.ask, learner.estimates, lambda: learner.save(path))])
leave.set()
thread.join()
learner.record = None
print(json.dumps([found, learner.ask().id]))
"""


def played(program, path):
    """What a program prints, as a value of JSON."""
    done = subprocess.run([sys.executable, "-c", PROGRAM + program, path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_child_reads_and_saves_and_changes_nothing(tmp_path):
    found = played(VERBS, tmp_path / "learner.npz")
    assert len(found["refused"]) == 11
    for name, said in found["refused"].items():
        assert said is not None, name
        assert said.startswith("expected a learner that was made or loaded in this process, got one from before"), (
            name
        )
        assert said.endswith("Make or load it in each child, or let the processes ask one service"), name
    assert found["counts"] == found["parent"]["counts"]
    assert sum(found["counts"]) == 2
    assert found["best"] == found["parent"]["best"]
    assert found["next"] == found["asked"] == found["parent"]["asked"]
    assert (found["open"], found["same"], found["fresh"]) == (1, True, 1)
    assert found["grandchild"] == [found["refused"]["ask"], 1]


def test_what_a_thread_was_using_is_not_read_in_a_child(tmp_path):
    (said, *others), asked = played(HELD, tmp_path / "learner.npz")
    assert "from before the process was forked" in said
    assert all("a thread was using" in other for other in others)
    assert asked == 2
    assert not (tmp_path / "learner.npz").exists()
