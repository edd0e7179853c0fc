"""A sweep whose process is killed at any moment goes on where it was."""

import os
import random
import signal

import pytest

from sweep_worlds import files, overlaps, starter
from sweep_worlds import play_long as play
from worker_policies import wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes by signal")


def kill_often(store, n_kills, seed, most_seconds):
    """Kill a sweeping process so many times while it has work to do; how many runs it was to play in the end."""
    context, chance, n_runs = starter(), random.Random(seed), 40
    kept: dict[str, dict] = {}
    while n_kills:
        process = context.Process(target=play, args=(store, n_runs))
        process.start()
        process.join(chance.uniform(0.0, most_seconds))
        if process.exitcode is not None:
            assert process.exitcode == 0
            n_runs += 40  # it was done: the next has more to do
            continue
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        n_kills -= 1
        now = files(store)
        for cell, intervals in kept.items():  # what was stored is there, and has not been written again
            assert intervals.items() <= now[cell].items()
        kept = now
        assert not overlaps(store)
    assert kept, "expected that something was stored before a kill"
    return n_runs


def check_kills(store, n_kills, seed, most_seconds):
    n_runs = kill_often(store, n_kills, seed, most_seconds)
    n_before = sum(last - first for cell in files(store).values() for first, last in cell)
    resumed = play(store, n_runs)
    assert resumed.n_stored == n_before  # everything that was stored was used
    assert not overlaps(store)
    whole = play(None, n_runs)
    assert resumed == whole
    assert resumed.to_frame().equals(whole.to_frame())
    assert play(store, n_runs).n_played == 0
    assert not list(store.rglob("*.saving"))  # what crashes left behind was removed


@pytest.mark.long
@pytest.mark.compiled
def test_a_few_kills(tmp_path):
    check_kills(tmp_path / "store", 5, seed=5, most_seconds=0.4)


@pytest.mark.long
@pytest.mark.compiled
def test_fifty_kills(tmp_path):
    check_kills(tmp_path / "store", 50, seed=50, most_seconds=0.4)


@pytest.mark.compiled
def test_two_processes_on_one_store(tmp_path):
    store, context = tmp_path / "store", starter()
    processes = [context.Process(target=play, args=(store, 60)) for _ in range(2)]
    for process in processes:
        process.start()
    mine = play(store, 60)
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert not overlaps(store)  # nobody played what another did
    assert mine == play(None, 60)
    assert play(store, 60).n_played == 0


@pytest.mark.compiled
def test_a_cell_of_a_dead_process_is_taken_over(tmp_path):
    store = tmp_path / "store"
    process = starter().Process(target=play, args=(store, 20_000))  # it is killed long before it has played them
    process.start()
    assert wait_until(lambda: files(store))
    os.kill(process.pid, signal.SIGSTOP)  # it has claimed what it plays, and lives
    other = starter().Process(target=play, args=(store, 20))
    other.start()
    other.join(1.0)
    assert other.exitcode is None  # waits for what the first one plays
    os.kill(process.pid, signal.SIGKILL)
    other.join()
    process.join()
    assert other.exitcode == 0
    assert not overlaps(store)
