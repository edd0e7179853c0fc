"""Worlds that change at given episodes, on a GPU or in Numba's simulator of one: as on the CPU, to the last bit."""

import numpy as np
import pytest
import scipy.sparse

import matroid_bandits as mb
from gpu_cases import IS_LARGE, NEEDS_GPU, differences
from matroid_bandits.compiled import Optimum

pytestmark = NEEDS_GPU
N_ITEMS, N_RUNS = (300, 3000) if IS_LARGE else (6, 2)
N_EPISODES = 7


def _worlds(seed=0):
    rng = np.random.default_rng(seed)
    return (
        mb.BernoulliEnvironment(rng.random(N_ITEMS)),
        mb.ExponentialEnvironment(rng.integers(1, 9, N_ITEMS)),
        mb.RowEnvironment(rng.random((5, N_ITEMS))),
        mb.RowEnvironment(scipy.sparse.random(9, N_ITEMS, 0.5, "csr", random_state=rng)),
    )


def _twice(world, policy=None, minimize=False, **settings):
    problem = mb.Problem(mb.PartitionMatroid(np.arange(N_ITEMS) % 3, 1), world, minimize=minimize)
    settings = {"n_episodes": N_EPISODES, "n_runs": N_RUNS, "seed": 5, "keep_runs": True} | settings
    policy = mb.OMM(0.5) if policy is None else policy
    return tuple(mb.simulate(problem, policy, device=device, **settings) for device in ("cpu", "gpu"))


@pytest.mark.parametrize(
    ("changes", "checkpoints"),
    [
        ([2, 3, 4], [1, 2, 3, 4]),  # in every episode, each at a checkpoint
        ([3, 5, 7], [4]),  # the last at the last episode
        ([4, 8, 9], [3, 4]),  # one after the last episode, and one that nobody comes to
        ([20, 2**40, 2**47], [2]),  # none in time
    ],
)
@pytest.mark.parametrize(("minimize", "start"), [(False, "observe"), (True, "explore")])
def test_regret_is_against_the_best_set_of_each_piece(changes, checkpoints, minimize, start):
    world = mb.PiecewiseEnvironment(_worlds(), changes)
    ours, theirs = _twice(world, minimize=minimize, start=start, checkpoints=checkpoints)
    assert theirs.device == "gpu"
    assert differences(ours, theirs) == []
    assert ours == theirs


def test_each_kind_of_piece_is_what_is_seen_first():
    coins, exponential, rows, sparse = _worlds()
    for pieces in ((coins, rows), (rows, exponential), (exponential, sparse), (sparse, coins)):
        assert differences(*_twice(mb.PiecewiseEnvironment(pieces, [2]), n_episodes=3)) == []


def test_pieces_in_pieces_that_come_back():
    coins, exponential, rows, _ = _worlds(1)
    inner = mb.PiecewiseEnvironment([coins, exponential, rows], [4, 6])  # of which 3 to 5 are played
    world = mb.PiecewiseEnvironment([rows, inner, rows, coins], [3, 6, 7])
    ours, theirs = _twice(world, minimize=True)
    assert differences(ours, theirs) == []


def test_a_single_piece_is_no_change():
    ours, theirs = _twice(mb.PiecewiseEnvironment(_worlds()[:1], []))
    assert ours.optimum is theirs.optimum is None
    assert ours == theirs


def test_thompson_sampling_and_launches_of_many_episodes():
    coins, _, rows, _ = _worlds(2)
    world = mb.PiecewiseEnvironment([coins, rows, coins], [12, 19])
    ours, theirs = _twice(world, mb.ThompsonSampling(), n_episodes=22, checkpoints=[11, 12, 18, 20])
    assert differences(ours, theirs) == []


def test_long_sums_are_those_of_one_episode_after_another():
    """What best sets are worth is added up launch by launch, each with what came before."""
    rng = np.random.default_rng(3)
    best, total, by_episode = rng.random(90), 0.0, []
    for worth in best:
        total += worth
        by_episode.append(total)
    optimum = Optimum(np.array([1, 39, 40, 90]))
    for first in range(0, 90, 7):
        worths = best[first : first + 7]
        optimum.add(worths, first + 1, worths.size)
    assert optimum.values.tolist() == [by_episode[point - 1] for point in (1, 39, 40, 90)]
