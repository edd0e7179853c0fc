"""How jobs are cut: every run is played once, slices take the time they should, and all workers have some."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.compiled import Settings
from matroid_bandits.simulation._cutting import Cut, Job, SliceQueue
from matroid_bandits.simulation._worker import Pace

PROBLEM = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))


def jobs_of(*intervals):
    settings = Settings(PROBLEM, 10, 1000, 0, "observe", np.array([10]), "auto")
    return [Job(number, settings, "x", mb.OMM(), *interval) for number, interval in enumerate(intervals)]


def play(queue, paces, order=lambda n: 0):
    """Play a queue with workers of these paces by job; the slices played, as (job, first, last, seconds)."""
    waiting, played = [], []
    while True:
        while len(waiting) < 4 and (pending := queue.pop()) is not None:
            waiting.append(pending)
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
    st.data(),
)
def test_every_run_is_played_once(spans, n_workers, seconds, data):
    intervals = [(first, first + n) for first, n in spans]
    times = st.floats(0.0, 100.0)
    paces = [Pace(data.draw(times), 1e-9 + data.draw(times)) for _ in intervals]
    cut = st.none()
    if seconds == math.inf:
        cut |= st.builds(Cut, st.integers(1, 9), st.booleans()) | st.just(Cut(1, is_shared=True))
    cuts = [data.draw(cut) for _ in intervals]
    queue = SliceQueue(
        jobs_of(*intervals), n_workers, seconds, 4 * data.draw(st.integers(1, 300)), lambda job: cuts[job.key]
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


def test_jobs_that_find_their_threads_are_not_cut_and_few_are_played_at_once():
    """Others use the workers that they leave."""
    queue = SliceQueue(
        jobs_of(*[(0, 100)] * 3), 4, math.inf, 4 * 60, lambda job: Cut(1, is_shared=True) if job.key < 2 else None
    )
    assert not queue.is_all_shared
    first = queue.pop()
    assert (first.state.job.key, first.first, first.last, first.limit) == (0, 0, 60, math.inf)
    assert queue.pop().state.job.key == 2
    second = queue.pop(2)
    assert (second.state.job.key, second.first, second.last) == (0, 60, 100)
    queue.played(first, 0.0)
    assert queue.pop(2).state.job.key == 1


def test_a_job_is_cut_as_often_as_is_said():
    played = play(SliceQueue(jobs_of((0, 100)), 16, math.inf, 2**24, lambda job: Cut(5)), [Pace(1.0, 1.0)])
    assert [last - first for _, first, last, _ in played] == [20] * 5


def test_slices_shrink_so_that_workers_end_together():
    played = play(
        SliceQueue(jobs_of((0, 640)), 4, math.inf, 2**24, lambda job: Cut(8, shrinks=True)), [Pace(1.0, 1.0)]
    )
    assert [last - first for _, first, last, _ in played] == [40] * 8 + [20] * 16
    played = play(
        SliceQueue(jobs_of((0, 100)), 4, math.inf, 2**24, lambda job: Cut(8, shrinks=True)), [Pace(1.0, 1.0)]
    )
    assert [last - first for _, first, last, _ in played] == [13] * 7 + [9]
