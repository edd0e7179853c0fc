"""How jobs are cut: every run is played once, all workers have some, and interpreted slices do not wait in line."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.compiled import Settings, agent_seconds
from matroid_bandits.simulation import _executors, _jobs, _sweep, _worker
from matroid_bandits.simulation._execute import run_jobs
from matroid_bandits.simulation._jobs import Job, Queue
from sweep_worlds import files

COINS = mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.6, 0.7, 0.9])
PROBLEM = mb.Problem(mb.UniformMatroid(6, 2), COINS)


def jobs_of(*intervals, policy=None, n_episodes=10):
    settings = Settings(PROBLEM, n_episodes, 1000, 0, "observe", np.array([n_episodes]), "auto")
    return [Job(number, settings, "x", policy or mb.OMM(), *interval) for number, interval in enumerate(intervals)]


def play(queue, most_runs=math.inf, order=lambda n: 0):
    """Play a queue with four workers that send back slices of more runs; the slices played, as (job, first, last)."""
    waiting, played = [], []
    while True:
        while len(waiting) < 4 and (taken := queue.pop()) is not None:
            waiting.append(taken)
        if not waiting:
            return played
        job, slice = waiting.pop(order(len(waiting)))
        if slice.n_runs > most_runs and not queue.is_sized(job):
            queue.put_back(job, slice, most_runs)
        else:
            queue.ended(job, slice)
            played.append((job.key, slice.first, slice.last))


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 200)), min_size=1, max_size=6),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from([1, 2, 10, 200]),
    st.data(),
)
def test_every_run_is_played_once(spans, n_workers, are_threads, most_runs, data):
    intervals = [(first, first + n) for first, n in spans]
    queue = Queue(jobs_of(*intervals), n_workers, are_threads)
    played = play(queue, most_runs, lambda n: data.draw(st.integers(0, n - 1)))
    runs = sorted((key, run) for key, first, last in played for run in range(first, last))
    assert runs == [(key, run) for key, (first, last) in enumerate(intervals) for run in range(first, last)]


@pytest.mark.parametrize(("n_jobs", "n_slices"), [(1, 10), (2, 20), (4, 20), (40, 40)])
def test_all_workers_have_slices_from_the_start(n_jobs, n_slices):
    """But of many jobs none is cut before it is known to be long."""
    assert len(play(Queue(jobs_of(*[(0, 100)] * n_jobs), 10, are_threads=False))) == n_slices


def test_slices_have_as_many_runs_as_a_worker_says():
    """And more where they turn out short."""
    queue = Queue(jobs_of((0, 1000)), 1, are_threads=False)
    job, slice = queue.pop()
    assert slice.n_runs == 1000
    assert not queue.is_sized(job)
    queue.put_back(job, slice, 3)
    assert queue.is_sized(job)
    assert [queue.pop()[1].n_runs for _ in range(3)] == [3, 3, 3]
    queue.grow(job)
    assert queue.pop()[1].n_runs == 6


def test_memory_limits_a_slice(monkeypatch):
    monkeypatch.setattr(_jobs, "_MAX_SLICE_CELLS", 60)
    assert [last - first for _, first, last in play(Queue(jobs_of((0, 100)), 1, are_threads=True))] == [10] * 10


@pytest.fixture
def compiled_jobs(monkeypatch):
    """The keys of the jobs that kernels play, to be changed."""
    keys = set()
    monkeypatch.setattr(_jobs, "_is_compiled", lambda job: job.key in keys)
    return keys


def test_compiled_jobs_are_cut_for_all_threads_and_into_few_slices_where_they_are_short(compiled_jobs):
    compiled_jobs.add(0)
    for n_episodes, n_slices in ((10, 1), (500, 4), (100_000, 32)):
        queue = Queue(jobs_of((0, 320), n_episodes=n_episodes), 4, are_threads=True)
        assert len(play(queue)) == pytest.approx(n_slices, abs=2)


def test_interpreted_slices_are_as_many_at_once_as_the_interpreter_lets_play(compiled_jobs):
    """An episode of 100 runs takes a fraction of what another thread would wait; compiled slices use the others."""
    compiled_jobs.add(2)
    queue = Queue(jobs_of((0, 100), (0, 100), (0, 100)), 4, are_threads=True)
    (first, slice), (other, _) = queue.pop(), queue.pop()
    assert (first.key, slice.n_runs, other.key) == (0, 100, 2)
    assert queue.pop() is None
    queue.ended(first, slice)
    assert queue.pop()[0].key == 1
    queue = Queue(jobs_of((0, 4000), (0, 4000)), 16, are_threads=True)
    taken = [queue.pop() for _ in range(7)]
    assert taken[-1] is None
    assert [(job.key, slice.first) for job, slice in taken[:-1]] == [(0, 667 * i) for i in range(6)]


def test_a_job_whose_kernel_comes_from_a_child_process_is_cut_anew(compiled_jobs):
    jobs = jobs_of((0, 3200), (0, 3200), n_episodes=100_000)
    queue = Queue(jobs, 4, are_threads=True)
    job, slice = queue.pop()
    assert job.key == 0
    compiled_jobs |= {0, 1}
    assert [queue.pop()[1].n_runs for _ in range(3)] == [100, 100, 100]
    queue.put_back(job, slice, 400)
    assert queue.pop()[1].n_runs == 400


#: Millions of episodes a second of jobs that an `Agent` plays, on 1, 2, 4, 8 and 16 threads of 16 cores; their runs,
#: and items.
MEASURED = {
    "graph of 972 edges, few runs": (0.042, 0.074, 0.128, 0.078, 0.038, 100, 972),
    "graph of 972 edges": (0.037, 0.060, 0.122, 0.242, 0.234, 2000, 972),
    "graph of 153 edges, few runs": (0.172, 0.257, 0.190, 0.088, 0.020, 100, 153),
    "graph of 153 edges": (0.147, 0.285, 0.546, 0.771, 0.416, 2000, 153),
    "10 of 1,000, few runs": (0.165, 0.247, 0.253, 0.128, 0.049, 100, 1000),
    "10 of 1,000": (0.139, 0.260, 0.491, 0.798, 0.559, 2000, 1000),
    "one of each of 10 blocks, few runs": (0.289, 0.404, 0.282, 0.157, 0.051, 100, 1000),
    "one of each of 10 blocks": (0.207, 0.450, 0.874, 1.317, 0.565, 2000, 1000),
    "matchings": (0.189, 0.303, 0.180, 0.085, 0.047, 100, 232),
    "vectors": (0.073, 0.107, 0.156, 0.083, 0.014, 100, 100),
    "a policy in NumPy, few runs": (0.087, 0.120, 0.083, 0.026, 0.014, 100, 1000),
    "a policy in NumPy": (0.113, 0.256, 0.459, 0.618, 0.198, 2000, 153),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_rule_for_threads_beside_what_was_measured(name, compiled_jobs):
    """Without trials: more than half of the best number's speed in every series, 0.9 on average."""
    *rates, n_runs, n_items = MEASURED[name]
    problem = mb.Problem(mb.UniformMatroid(n_items, 1), mb.BernoulliEnvironment(np.full(n_items, 0.5)))
    settings = Settings(problem, 10, n_runs, 0, "observe", np.array([10]), "auto")
    queue, n = Queue([Job(0, settings, "x", mb.OMM(), 0, n_runs)], 16, are_threads=True), 0
    while queue.pop() is not None:
        n += 1
    found = math.exp(np.interp(math.log(n), np.log([1, 2, 4, 8, 16]), np.log(rates)))
    assert found > 0.55 * max(rates)


class Counting(mb.Policy):
    """Takes note of how many runs each call has, and in which thread."""

    kind = "counting"

    def __init__(self):
        super().__init__()
        self.sizes, self.threads = set(), set()

    def indices(self, state, request):
        self.sizes.add(state.n_runs)
        self.threads.add(threading.get_ident())
        return state.means


def test_an_executor_of_threads_has_as_many_as_it_has():
    policy = Counting()
    with ThreadPoolExecutor(3) as pool:
        mb.simulate(PROBLEM, policy, n_episodes=200, n_runs=6, seed=1, executor=pool)
    assert policy.sizes == {2}


def test_a_number_of_threads_that_is_set_is_the_most(monkeypatch):
    monkeypatch.setattr(_jobs, "_WAIT_S", 1e-9)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    policy = Counting()
    mb.simulate(PROBLEM, policy, n_episodes=200, n_runs=6, seed=1)
    assert policy.sizes == {2}
    assert threading.get_ident() not in policy.threads


def test_a_short_job_of_a_policy_in_numpy_is_played_in_one_slice(monkeypatch):
    monkeypatch.setattr(_executors, "n_threads", lambda: 5)
    policy = Counting()
    mb.simulate(PROBLEM, policy, n_episodes=50, n_runs=20, seed=1)
    assert policy.sizes == {20}
    assert agent_seconds(PROBLEM, 20) < 2 * _jobs._WAIT_S


def test_a_sweep_with_a_store_is_cut_where_slices_take_long(tmp_path, monkeypatch):
    monkeypatch.setattr(_executors, "n_threads", lambda: 5)
    monkeypatch.setattr(_worker, "_PROBE_S", 0.0)
    for slice_s, n_slices in ((300.0, 1), (1e-9, 6)):
        monkeypatch.setattr(_sweep, "SLICE_S", slice_s)
        store, policy, counts = tmp_path / str(slice_s), Counting(), []
        size = {"n_episodes": 200, "n_runs": 6, "seed": 1}
        mb.sweep(PROBLEM, policy, **size, store=store, progress=lambda *n: counts.append(n))  # noqa: B023
        assert [len(names) for names in files(store).values()] == [n_slices]
        assert counts[-1] == (1200, 1200)


def test_parts_are_the_same_however_many_threads_play(monkeypatch):
    monkeypatch.setattr(_jobs, "_WAIT_S", 1e-6)
    found = {}
    for n in (1, 4):
        monkeypatch.setattr(_executors, "n_threads", lambda: n)  # noqa: B023
        parts = [part for _, part in run_jobs(jobs_of((0, 8), policy=Counting()))]
        found[n] = np.concatenate([part.regret for part in sorted(parts, key=lambda part: part.first)])
        assert len(parts) == n
    assert np.array_equal(found[1], found[4])
