"""How jobs are cut: every run is played once, slices take the time they should, and all workers have some."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.compiled import Settings
from matroid_bandits.simulation._cutting import Job, SliceQueue, seconds_of, share
from matroid_bandits.simulation._worker import Pace

PROBLEM = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))


def jobs_of(*intervals):
    settings = Settings(PROBLEM, 10, 1000, 0, "observe", np.array([10]), "auto")
    return [Job(number, settings, "x", mb.OMM(), *interval) for number, interval in enumerate(intervals)]


def play(queue, paces, order=lambda n: 0, at_once=None):
    """Play a queue with workers of these paces by job; the slices played, as (job, first, last, seconds).

    `at_once` is told how many slices are under way together.
    """
    waiting, played = [], []
    while True:
        while len(waiting) < 4 and (pending := queue.pop()) is not None:
            waiting.append(pending)
        if at_once is not None:
            at_once.append(len(waiting))
        if not waiting:
            return played
        pending = waiting.pop(order(len(waiting)))
        key = pending.state.job.key
        seconds = paces[key].of(pending.n_runs)
        if pending.n_runs > 1 and seconds > pending.limit:
            queue.paced(pending, paces[key])
        else:
            queue.played(pending, seconds)
            played.append((key, pending.first, pending.last, seconds))


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 200)), min_size=1, max_size=6),
    st.integers(1, 50),
    st.sampled_from([0.01, 3.0, math.inf]),
    st.booleans(),
    st.data(),
)
def test_every_run_is_played_once(spans, n_workers, seconds, is_queued, data):
    intervals = [(first, first + n) for first, n in spans]
    times = st.floats(0.0, 100.0)
    paces = [Pace(data.draw(times), 1e-9 + data.draw(times)) for _ in intervals]
    which = data.draw(st.sets(st.integers(0, 5))) if is_queued and seconds == math.inf else set()
    queue = SliceQueue(
        jobs_of(*intervals), n_workers, seconds, 4 * data.draw(st.integers(1, 300)), lambda job: job.key in which
    )
    played = play(queue, paces, lambda n: data.draw(st.integers(0, n - 1)))
    runs = sorted((key, run) for key, first, last, _ in played for run in range(first, last))
    assert runs == [(key, run) for key, (first, last) in enumerate(intervals) for run in range(first, last)]


def test_slices_take_about_as_long_as_they_should():
    played = play(SliceQueue(jobs_of((0, 1000)), 4, 3.0, 2**24), [Pace(0.01, 0.1)])
    assert max(seconds for *_, seconds in played) <= 3.1
    assert len(played) <= 1000 * 0.1 / 3.0 + 3 * 4  # each worker's first slice is cut for all four


def test_slices_are_longer_where_cutting_costs_much():
    """A run alone takes 1.1 s and ten at once 2 s: slices of 3 s would spend a third of it on what runs share."""
    played = play(SliceQueue(jobs_of((0, 1000)), 4, 3.0, 2**24), [Pace(1.0, 0.1)])
    assert max(seconds for *_, seconds in played) <= 11.0
    assert len(played) * 1.0 <= 0.2 * 1000 * 0.1
    assert all(
        seconds <= 30.0 for *_, seconds in play(SliceQueue(jobs_of((0, 500)), 4, 3.0, 2**24), [Pace(20.0, 0.1)])
    )


def test_a_run_cannot_be_cut():
    assert play(SliceQueue(jobs_of((0, 3)), 4, 3.0, 2**24), [Pace(0.0, 1000.0)]) == [
        (0, run, run + 1, 1000.0) for run in range(3)
    ]


@pytest.mark.parametrize(("n_jobs", "n_slices"), [(1, 10), (2, 20), (4, 20), (40, 40)])
def test_all_workers_have_slices_from_the_start(n_jobs, n_slices):
    """But of many jobs none is cut before it is known to be long."""
    played = play(SliceQueue(jobs_of(*[(0, 100)] * n_jobs), 10, 3.0, 2**24), [Pace(0.0, 1e-9)] * n_jobs)
    assert len(played) == n_slices


def test_the_pace_is_learnt_from_what_is_played():
    """Slices measured as long turn out short, and those to come are made longer."""
    queue = SliceQueue(jobs_of((0, 1000)), 1, 3.0, 2**24)
    queue.paced(queue.pop(), Pace(0.0, 3.0))
    pending = queue.pop()
    assert pending.n_runs == 1
    queue.played(pending, 0.03)
    assert 90 <= queue.pop().n_runs <= 100


def test_memory_limits_a_slice():
    played = play(SliceQueue(jobs_of((0, 100)), 1, math.inf, most_cells=40), [Pace(0.0, 1.0)])
    assert [last - first for _, first, last, _ in played] == [10] * 10


#: Of jobs on 16 cores: one thread's microseconds of an episode of all runs, those of them that do not depend on the
#: number of runs, and the number of threads that was best of 1, 2, 4, 8 and 16.
MEASURED = {
    "graph of 972 edges, 100 runs": (2778, 25, 100, 4),
    "graph of 972 edges, 2,000 runs": (71_400, 25, 2000, 16),
    "graph of 153 edges, 100 runs": (568, 28, 100, 2),
    "graph of 153 edges, 2,000 runs": (12_800, 28, 2000, 8),
    "10 of 1,000, 100 runs": (806, 17, 100, 2),
    "10 of 1,000, 2,000 runs": (16_900, 17, 2000, 8),
    "one of each of 10 blocks, 100 runs": (481, 18, 100, 2),
    "one of each of 10 blocks, 2,000 runs": (11_200, 18, 2000, 8),
}


@pytest.mark.parametrize("name", MEASURED)
def test_threads_are_as_many_as_pay(name):
    whole, fixed, n_runs, best = MEASURED[name]
    k, n_each = share(Pace(fixed, (whole - fixed) / n_runs), n_runs, 1, 16)
    assert k == n_each
    assert 0.7 < k / best < 1.6


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(1, 3000), st.integers(1, 40), st.integers(1, 64))
def test_more_cores_are_never_expected_to_take_longer(fixed, per_run, n_runs, n_jobs, n_workers):
    pace = Pace(fixed, per_run)
    k, n_each = share(pace, n_runs, n_jobs, n_workers)
    assert 1 <= k <= min(n_workers, n_each * n_jobs)
    assert 1 <= n_each <= n_runs
    times = [seconds_of(pace, n_runs, n_jobs, n)[0] for n in (1, n_workers, n_workers + 1)]
    assert times[1] <= times[0] * (1 + 1e-9)
    assert times[2] <= times[1] / 0.95


def test_a_job_on_threads_is_measured_alone_and_then_cut():
    """Episodes of 15 microseconds in Python and 4 a run: more than a few threads would only wait."""
    at_once = []
    pace = Pace(1.5, 0.4)
    played = play(SliceQueue(jobs_of((0, 100), (0, 100)), 16, math.inf, 2**24, lambda job: job.key == 0), [pace] * 2,
                  at_once=at_once)  # fmt: skip
    assert at_once[0] == 1
    k, n_each = share(pace, 100, 1, 16)
    assert 1 <= k < 16
    assert sum(key == 0 for key, *_ in played) == n_each
    assert sum(key == 1 for key, *_ in played) == 15  # slices of 7 runs, on the cores that are left


def test_a_short_job_on_threads_is_not_cut():
    assert play(SliceQueue(jobs_of((0, 100)), 16, math.inf, 2**24, lambda job: True), [Pace(1e-4, 1e-5)]) == [
        (0, 0, 100, pytest.approx(1.1e-3))
    ]


def test_many_jobs_on_threads_are_played_whole():
    played = play(SliceQueue(jobs_of(*[(0, 100)] * 20), 16, math.inf, 2**24, lambda job: True), [Pace(1.0, 1.0)] * 20)
    assert sorted(key for key, *_ in played) == list(range(20))
