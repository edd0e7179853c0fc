"""A server compiles for its campaigns in a child process, and says so, while it answers them."""

import logging
import threading

import pytest

import matroid_bandits as mb
from matroid_bandits.kernels import background, compiling
from matroid_bandits.service import _warm

LEARNER = mb.Learner(mb.UniformMatroid(4, 2, labels="abcd"), mb.OMM(), seed=3)

#: A child that has to compile two kernels for the first campaign, and none for the second.
CHILD = """
import sys
for i, line in enumerate(sys.stdin):
    if i == 0:
        print("compiling\\ncompiling", flush=True)
    print(0.5, flush=True)
"""


def finished():
    """Wait for the threads that talk to children."""
    for thread in threading.enumerate():
        if thread.name == "matroid-bandits-compiler":
            thread.join(240.0)


@pytest.fixture
def compiler(monkeypatch):
    monkeypatch.setattr(compiling, "_tier", "tiered")
    monkeypatch.setenv("MATROID_BANDITS_BACKGROUND", "1")
    monkeypatch.setattr(_warm, "_compiler", found := _warm._Campaigns())
    yield found
    background._compilers.remove(found)


def test_the_log_says_for_which_campaign_a_server_compiles(monkeypatch, compiler, caplog):
    monkeypatch.setattr(background, "_PROGRAM", CHILD)
    caplog.set_level(logging.INFO, "matroid_bandits.service")
    with compiler._lock:  # both are asked for before the first is done
        threads = [threading.Thread(target=_warm.warm_up, args=(LEARNER, name)) for name in "ab"]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    finished()
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("compiling, campaign 1 of ")
    assert compiler.doing("a") is None
    assert (compiler._under_way, compiler.seconds) == ([], {"a": 0.5, "b": 0.5})


def test_the_campaign_that_is_compiled_says_so(compiler):
    compiler._n_asked, compiler._under_way, compiler._name = 3, ["demo", "b", "c"], "demo"
    assert _warm.compiling_now("demo") == "campaign 1 of 3"
    assert _warm.compiling_now("b") is None


@pytest.mark.compiled
def test_a_child_plays_what_requests_will_need(compiler, caplog):
    caplog.set_level(logging.DEBUG, "matroid_bandits.service")
    _warm.warm_up(LEARNER, "a")
    finished()
    assert compiler.seconds["a"] > 0.0
    assert not any("ended early" in record.getMessage() for record in caplog.records)
    assert LEARNER.n_decisions == 0


def test_a_child_that_dies_leaves_requests_as_they_are(monkeypatch, compiler, caplog):
    monkeypatch.setattr(background, "_PROGRAM", "raise SystemExit(1)")
    for name in "ab":
        _warm.warm_up(LEARNER, name)
    finished()
    assert (compiler._under_way, compiler.seconds) == ([], {"a": None, "b": None})
    assert [record.getMessage()[:12] for record in caplog.records] == ["campaign a: ", "campaign b: "]


def test_what_cannot_be_sent_is_left_alone(compiler):
    class Own(mb.OMM):
        """Known here alone, so that it has no name to be sent by."""

    _warm.warm_up(mb.Learner(mb.UniformMatroid(4, 2), Own()), "own")
    assert compiler.seconds == {}


def test_nothing_is_compiled_where_kernels_are_interpreted(monkeypatch, compiler):
    monkeypatch.setattr(compiling, "_tier", "interpreted")
    _warm.warm_up(LEARNER, "a")
    assert compiler.seconds == {}
