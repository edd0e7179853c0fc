"""Runs on threads, processes and executors of one's own: the same bits, errors, interruption, workers that die."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.compiled import Settings, Slice
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation import _worker, named_executor
from matroid_bandits.simulation._execute import run_jobs
from matroid_bandits.simulation._jobs import Job
from matroid_bandits.simulation._play import play
from matroid_bandits.simulation._processes import Processes, _lifeline
from worker_policies import (
    POLICIES,
    PROBLEM,
    Dying,
    Endless,
    Failing,
    Greedy,
    Slow,
    ctrl_c_once,
    is_alive,
    simulate,
    wait_until,
)

SETTINGS = Settings(PROBLEM, 40, 7, 3, "observe", np.array([10, 40]), "auto")


@pytest.fixture(scope="module")
def race():
    return simulate()


@pytest.fixture(scope="module")
def pool():
    """A pool of the user's own."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


class Recording(Executor):
    """An executor of one's own, of threads, that counts what is under way and what would travel."""

    def __init__(self, n=2, change=lambda argument: argument):
        self.pool, self.num_workers, self.change = ThreadPoolExecutor(n), n, change
        self.sizes, self.n_running, self.most_running = [], 0, 0

    def submit(self, call, *arguments):
        self.sizes.append(len(pickle.dumps(arguments)))
        self.n_running += 1
        self.most_running = max(self.most_running, self.n_running)
        future = self.pool.submit(call, *map(self.change, arguments))
        future.add_done_callback(lambda _: setattr(self, "n_running", self.n_running - 1))
        return future

    def __exit__(self, *_):
        self.pool.shutdown()


# The same bits


@pytest.mark.parametrize("n", [1, 2])
def test_processes_give_the_same_bits(race, n):
    assert simulate(executor=n) == race


@pytest.mark.long
def test_executors_of_ones_own_give_the_same_bits(race, pool):
    assert simulate(executor=pool) == race
    with ThreadPoolExecutor(3) as threads:
        assert simulate(executor=threads) == race
        assert threads.submit(int, "1").result() == 1  # it is the user's, and goes on
    with Recording() as own:
        assert simulate(executor=own) == race


def test_classes_of_a_script_travel(pool):
    class Mine(mb.Policy):
        def indices(self, state, request):
            return -state.means

    for executor in (2, pool):
        assert simulate({"mine": Mine()}, executor=executor) == simulate({"mine": Mine()})


@st.composite
def cuts(draw):
    """Runs 0 to 7 in slices, in any order."""
    edges = [0, *sorted(draw(st.sets(st.integers(1, 6)))), 7]
    return draw(st.permutations(list(pairwise(edges))))


def play_alone(policy, settings, first, last):
    return play(Slice("alone", policy, first, last), settings, lambda n: False)


@settings(max_examples=20)
@given(cuts(), st.sampled_from([None, "threads", "own"]))
def test_any_cut_gives_the_same_bits(cut, kind):
    """Of jobs of several problems and policies at once."""
    small = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.1, 0.5, 0.9]))
    other = Settings(small, 5, 7, 1, "explore", np.array([5]), "auto")
    jobs = [
        Job((number, name), settings, name, policy, first, last)
        for number, settings in enumerate((SETTINGS, other))
        for name, policy in POLICIES.items()
        for first, last in cut
    ]
    expected = {
        (number, name): play_alone(policy, settings, 0, 7)
        for number, settings in enumerate((SETTINGS, other))
        for name, policy in POLICIES.items()
    }
    choices = {key: np.zeros_like(part.choices) for key, part in expected.items()}
    seen = {key: [] for key in expected}
    with ThreadPoolExecutor(2) as threads, Recording() as own:
        for job, part in run_jobs(jobs, {None: None, "threads": threads, "own": own}[kind]):
            assert job.first <= part.first < part.last <= job.last
            whole = expected[job.key]
            rows = slice(part.first, part.last)
            assert np.array_equal(part.returns, whole.returns[rows])
            assert np.array_equal(part.regret, whole.regret[rows])
            assert np.array_equal(part.surplus, whole.surplus[rows])
            choices[job.key] += part.choices
            seen[job.key] += range(part.first, part.last)
    for key, whole in expected.items():
        assert sorted(seen[key]) == list(range(7))
        assert np.array_equal(choices[key], whole.choices)


@pytest.mark.long
@pytest.mark.parametrize("executor", [None, 2], ids=["threads", "processes"])
def test_slices_that_take_too_long_are_cut(executor, monkeypatch):
    """By measured time, down to single runs where a run takes longer than a slice should."""
    if executor is None:
        monkeypatch.setattr(_worker, "_PROBE_S", 0.0)
    world = Settings(PROBLEM, 600, 4, 0, "observe", np.array([600]), "auto")
    parts = [part for _, part in run_jobs([Job(0, world, "x", Slow(), 0, 4)], executor, seconds=1e-6)]
    assert sorted((part.first, part.last) for part in parts) == [(run, run + 1) for run in range(4)]
    whole = play_alone(Greedy(), world, 0, 4)
    for part in parts:
        assert np.array_equal(part.regret, whole.regret[part.first : part.last])


def test_nothing_to_play():
    assert list(run_jobs([])) == []
    assert list(run_jobs([Job(0, SETTINGS, "x", mb.OMM(), 3, 3)], 2)) == []


# What travels


def test_the_problem_travels_once_and_little_is_under_way():
    n_items = 2000
    problem = mb.Problem(mb.UniformMatroid(n_items, 1), mb.BernoulliEnvironment(np.linspace(0.1, 0.9, n_items)))
    world = Settings(problem, 2, 30, 0, "observe", np.array([2]), "auto")
    jobs = [Job(run, world, "x", Greedy(), run, run + 1) for run in range(30)]
    with Recording() as own:
        assert len(list(run_jobs(jobs, own))) == 30
    assert len(own.sizes) == 30
    assert max(own.sizes) < 1000
    assert own.most_running <= 4  # two per worker


def test_problems_come_along_where_their_file_is_not_seen(monkeypatch):
    """As on another machine; a worker that has met a problem remembers it."""
    monkeypatch.setattr(_worker, "_known", type(_worker._known)())
    folder = tempfile.gettempdir()
    jobs = [Job(run, SETTINGS, "x", mb.OMM(), run, run + 1) for run in range(7)]
    with Recording(1, lambda argument: "/nowhere" if str(argument).startswith(folder) else argument) as far:
        parts = [part for _, part in run_jobs(jobs, far)]
    whole = play_alone(mb.OMM(), SETTINGS, 0, 7)
    for part in parts:
        assert np.array_equal(part.regret, whole.regret[part.first : part.last])
    assert len(parts) == 7
    assert 1 <= sum(size > 1000 for size in far.sizes) <= 2


def test_files_are_removed(pool, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    simulate(executor=pool)
    with pytest.raises(ZeroDivisionError):
        simulate({"failing": Failing(ZeroDivisionError)}, executor=pool)
    assert list(tmp_path.glob("matroid-bandits-*")) == []


def test_what_cannot_travel_is_named(pool):
    policy = Greedy()
    policy.file = sys.stdout.buffer
    for executor in (2, pool):
        with pytest.raises(SimulationError, match="expected a problem and policies that can be sent to a worker"):
            simulate({"OMM": policy}, executor=executor)


# Progress, errors, interruption


@pytest.mark.parametrize("kind", ["processes", "threads", "pool"])
def test_progress_is_seen_by_slices(kind, pool):
    seen = []
    with ThreadPoolExecutor(2) as threads:
        executor = {"processes": 2, "threads": threads, "pool": pool}[kind]
        simulate(executor=executor, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (560, 560)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


class Unsendable(Exception):
    """Cannot be made from its own arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize("kind", ["none", "processes", "threads", "pool"])
def test_errors_say_where_they_happened(kind, pool):
    with ThreadPoolExecutor(2) as threads:
        executor = {"none": None, "processes": 2, "threads": threads, "pool": pool}[kind]
        with pytest.raises(ZeroDivisionError, match="mine") as caught:
            simulate({"failing": Failing(ZeroDivisionError, "mine")}, executor=executor, n_runs=4)
        runs = "0 to 3" if kind == "none" else "2 to 3"  # a short job is not cut for our own threads
        assert f"policy 'failing', runs {runs}, episode 20" in caught.value.__notes__
        with pytest.raises(ZeroDivisionError) as caught:
            simulate({"failing": Failing(ZeroDivisionError, run=0)}, executor=executor, n_runs=1)
        assert "policy 'failing', run 0, episode 20" in caught.value.__notes__
        if kind in ("processes", "pool"):
            with pytest.raises(SimulationError, match="Unsendable: this and that") as caught:
                simulate({"failing": Failing(Unsendable, "this", "that")}, executor=executor, n_runs=4)
            assert caught.value.__notes__[0] == "policy 'failing', runs 2 to 3, episode 20"
            assert "in act" in caught.value.__notes__[1]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_ctrl_c_ends_processes(tmp_path):
    with ctrl_c_once(tmp_path, 2), pytest.raises(KeyboardInterrupt):
        simulate({"endless": Endless(tmp_path)}, n_episodes=10**9, executor=2)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    assert wait_until(lambda: not any(map(is_alive, pids)))
    assert simulate({"OMM": mb.OMM()}, executor=2) == simulate({"OMM": mb.OMM()})


def test_a_pool_that_still_plays_is_not_kept(tmp_path):
    """Ctrl-C between a submission and the note of it leaves a slice of which only the pool knows."""
    processes = Processes(2)
    pid = processes._executor.submit(os.getpid).result()
    asleep = processes._executor.submit(time.sleep, 600)
    assert wait_until(asleep.running)
    processes.close([])
    assert wait_until(lambda: not is_alive(pid))
    assert simulate({"OMM": mb.OMM()}, executor=2) == simulate({"OMM": mb.OMM()})


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_ctrl_c_leaves_the_users_pool_idle(tmp_path, pool, race):
    with ctrl_c_once(tmp_path), pytest.raises(KeyboardInterrupt):
        simulate({"endless": Endless(tmp_path)}, n_episodes=10**9, executor=pool)
    assert simulate(executor=pool) == race


# Workers that die, and workers of another version


CALLER = """
import sys, time
import matroid_bandits as mb

SECONDS = 600.0 if sys.argv[1] == "busy" else 0.0

class Slow(mb.Policy):
    def indices(self, state, request):
        print("playing", flush=True)
        time.sleep(SECONDS)
        return state.means.copy()

if __name__ == "__main__":
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.2, 0.4, 0.6, 0.8]))
    mb.simulate(problem, Slow(), n_episodes=1, n_runs=2, seed=1, executor=2)
    print("idle", flush=True)
    time.sleep(600.0)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("state", ["busy", pytest.param("idle", marks=pytest.mark.long)])
def test_workers_end_with_their_caller(state, number, tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    command = [sys.executable, str(tmp_path / "caller.py"), state]
    # Workers have the caller's output, so that it ends when the last of them does.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as caller:
        awaited = "playing\n" if state == "busy" else "idle\n"
        assert awaited in iter(caller.stdout.readline, "")
        caller.send_signal(number)
        said = caller.communicate()[0]  # also of the process that removes the semaphores, once it has
        assert caller.returncode == -number
    assert "leaked" not in said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_process_does_not_keep_the_workers():
    mb.simulate(PROBLEM, {"OMM": mb.OMM()}, n_episodes=5, n_runs=2, seed=0, executor=2)
    caller, ours = _lifeline()
    assert not caller.closed
    pid = os.fork()
    if pid == 0:
        os._exit(0 if caller.closed and ours.closed and not _lifeline()[0].closed else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert not caller.closed
    assert not ours.closed


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_process_that_is_killed_is_replaced(tmp_path):
    policies = {"OMM": mb.OMM(), "dying": Dying(tmp_path)}
    result = simulate(policies, executor=2)
    assert len(list(tmp_path.iterdir())) == 1
    assert result == simulate({"OMM": mb.OMM(), "dying": Greedy()})


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_process_that_is_killed_after_idle_time_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation._processes._IDLE_S", 0.1)
    simulate(executor=1)
    key = os.getpid(), 1
    assert wait_until(lambda: key not in Processes._kept)  # its workers have been ended
    result = simulate({"OMM": mb.OMM(), "dying": Dying(tmp_path)}, executor=1)
    assert len(list(tmp_path.iterdir())) == 1
    assert result == simulate({"OMM": mb.OMM(), "dying": Greedy()})


def test_a_pool_is_kept_for_the_next_simulation(race):
    for _ in range(2):
        assert simulate(executor=2) == race
        pool, timer = Processes._kept[os.getpid(), 2]
        workers = set(pool._processes)
        assert timer.is_alive()
    assert simulate(executor=2) == race
    assert set(Processes._kept[os.getpid(), 2][0]._processes) == workers


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_slice_that_kills_its_workers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("matroid_bandits.simulation._execute._MOST_DEATHS", 1)
    with pytest.raises(SimulationError, match="a worker process died again and again") as caught:
        simulate({"dying": Dying(tmp_path, n_times=100, run=0)}, executor=1, n_runs=1)
    assert caught.value.__notes__ == ["policy 'dying', run 0"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_pool_of_the_users_that_broke_is_an_error(tmp_path):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as broken:
        for _ in range(2):
            with pytest.raises(
                SimulationError,
                match="the executor given, a ProcessPoolExecutor, is broken, as a worker of it died; give a new one",
            ):
                simulate({"dying": Dying(tmp_path)}, executor=broken)
    closed = ProcessPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(SimulationError, match="ProcessPoolExecutor, failed: RuntimeError: cannot schedule"):
        simulate(executor=closed)


def test_a_worker_of_another_version_is_refused(tmp_path):
    package = Path(mb.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / package.name / "_version.py").write_text('__version__ = "0.0.7"\n')
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(
            1, mp_context=context, initializer=exec, initargs=(f"import sys; sys.path.insert(0, {str(tmp_path)!r})",)
        ) as old,
        pytest.raises(
            SimulationError,
            match=rf"expected workers with matroid-bandits {mb.__version__}, the .* version; got one with 0.0.7",
        ),
    ):
        simulate(executor=old)


# Names on the command line


@pytest.mark.parametrize(("text", "executor"), [(None, None), ("3", 3), ("ray", "ray")])
def test_executors_have_names(text, executor):
    with named_executor(text) as named:
        assert named == executor


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "Ray", "dask"])
def test_unknown_names_of_executors(text):
    with (
        pytest.raises(
            SimulationError,
            match=rf'expected an executor to be a number of processes, "ray" or "dask://host:port"; got {text!r}$',
        ),
        named_executor(text),
    ):
        pass
