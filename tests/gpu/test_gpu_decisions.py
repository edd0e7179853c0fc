"""On a GPU, or Numba's simulator of one, simulations make the CPU's decisions; both have the same bits.

They run in a process of their own, as `make gpu-test` does: NUMBA_ENABLE_CUDASIM=1 is for the whole of it. Without a
GPU and without the simulator they are skipped.
"""

import numpy as np
import pytest

import matroid_bandits as mb
from gpu_cases import IS_LARGE, NEEDS_GPU, POLICIES, differences, pairwise_cases, simulate_twice
from matroid_bandits.compiled import Settings, Slice
from matroid_bandits.exceptions import DeviceError, InvalidEnvironmentError

pytestmark = NEEDS_GPU
#: (items, episodes, runs): what the simulator plays in a second, and what a GPU does.
SMALL, LARGE = (9, 4, 2), (600, 60, 2000)
SIZE = LARGE if IS_LARGE else SMALL


@pytest.mark.filterwarnings("ignore:.*may explore too little:matroid_bandits.exceptions.ScaleWarning")
@pytest.mark.parametrize("case", pairwise_cases(), ids=lambda case: " ".join(map(str, case)))
def test_decisions_and_totals_are_those_of_the_cpu(case):
    ours, theirs = simulate_twice(case, *SIZE)
    assert (ours.device, theirs.device) == ("cpu", "gpu")
    assert differences(ours, theirs) == []


@pytest.mark.parametrize("world", ["ties", "exponential", "bernoulli"])
def test_more_items_than_are_ranked_one_by_one(world):
    """The intervals of the quotas are halved, for many equal keys and for all different ones."""
    n_items = 1500 if IS_LARGE else 150
    ours, theirs = simulate_twice(("mixed capacities", "OMM", world, "observe", False), n_items, *SIZE[1:])
    assert differences(ours, theirs) == []


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_every_part_of_the_address_counts(seed):
    ours, theirs = simulate_twice(("uniform", "epsilon", "exponential", "observe", True), *SIZE, seed=seed)
    assert differences(ours, theirs) == []


def _problem(n_items=6):
    return mb.Problem(mb.UniformMatroid(n_items, 2), mb.BernoulliEnvironment(np.linspace(0.1, 0.9, n_items)))


def test_tasks_are_played_side_by_side_and_a_slice_of_runs_is_that_of_all():
    points = np.array([2, 5])
    tasks = [
        (Slice("it", policy, first, 4), Settings(_problem(n), 5, 4, seed=7, start="observe", checkpoints=points))
        for n, policy, first in ((6, mb.OMM(), 0), (8, mb.EpsilonGreedy(), 2), (6, mb.OMM(), 2))
    ]
    found = dict(mb.gpu.play(tasks))
    all_runs, others, last_runs = (found[number] for number in range(3))
    assert [(each.first, each.last) for each in (all_runs, others, last_runs)] == [(0, 4), (2, 4), (2, 4)]
    assert np.array_equal(all_runs.regret[2:], last_runs.regret)
    assert others.choices.sum() == 5 * 2 * 2
    cpu = mb.simulate(_problem(), mb.OMM(), n_episodes=5, n_runs=4, seed=7, checkpoints=points, keep_runs=True)
    assert np.array_equal(cpu.run_regret[0], all_runs.regret)


def test_several_policies_with_progress_and_where_it_was():
    seen = []
    result = mb.simulate(
        _problem(),
        {name: POLICIES[name] for name in ("OMM", "chance")},
        n_episodes=4,
        n_runs=2,
        seed=0,
        device="gpu",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (16, 16)
    assert result.device == "gpu"
    assert "numba-cuda" in result.versions


def test_waves_where_memory_is_short(monkeypatch):
    from matroid_bandits.gpu import _play

    whole = mb.simulate(_problem(), mb.OMM(), n_episodes=4, n_runs=3, seed=2, keep_runs=True)
    monkeypatch.setattr(_play.Plan, "most_runs", lambda self, budget: 2)
    in_waves = mb.simulate(_problem(), mb.OMM(), n_episodes=4, n_runs=3, seed=2, keep_runs=True, device="gpu")
    assert differences(whole, in_waves) == []


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_weights_that_are_too_large_are_the_same_error(device):
    noise = mb.Problem(mb.UniformMatroid(3, 1), mb.GaussianEnvironment([0.0, 1.0, 2.0], noise=1e150))
    with pytest.raises(InvalidEnvironmentError, match=r"expected weights of at most 1e\+100 in size") as caught:
        mb.simulate(noise, mb.OMM(), n_episodes=2, n_runs=2, seed=1, device=device)
    assert caught.value.__notes__ == ["policy 'OMM', runs 0 to 1, episode 1"]


def test_vectors_too_close_to_dependent_are_one_sentence():
    """Beside the last vector both others are within the tolerance, but not beside each other."""
    vectors = mb.LinearMatroid([[1.0, 0.0], [1.0, 3e-3], [1.0, 1.5e-3]], tolerance=1e-3)
    problem = mb.Problem(vectors, mb.BernoulliEnvironment([0.6, 0.5, 0.4]))
    with pytest.raises(DeviceError, match=r"does not fit on a GPU: run \d+ found less than a basis"):
        mb.simulate(problem, mb.UniformRandom(), n_episodes=9, n_runs=3, seed=1, device="gpu")


class Late(mb.AffinePolicy):
    """Its coefficient looks at the state, but not in the first episode."""

    def coefficient(self, state, request):
        return float(state.counts.max()) if request.episode > 1 else 0.0


def test_a_coefficient_that_looks_at_the_state_later_is_an_error():
    with pytest.raises(DeviceError, match=r"Late\.coefficient looks at 'counts'"):
        mb.simulate(_problem(), Late(), n_episodes=50, n_runs=2, seed=2, device="gpu")


def test_an_interrupt_ends_a_simulation():
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mb.simulate(_problem(), mb.OMM(), n_episodes=50, n_runs=2, seed=2, device="gpu", progress=interrupt)


def test_too_little_memory_is_one_sentence(monkeypatch):
    from matroid_bandits.gpu import _play

    small = mb.gpu.Device("a small GPU", n_processors=1, free_bytes=2**20, block_bytes=48 * 1024)
    monkeypatch.setattr(_play, "find_device", lambda: small)
    with pytest.raises(DeviceError, match="a small GPU has too little free memory: a run needs 1 MiB, and 0 MiB"):
        mb.simulate(_problem(), mb.OMM(), n_episodes=4, n_runs=3, device="gpu")
    wide = mb.Problem(mb.UniformMatroid(50_000, 2), mb.BernoulliEnvironment(np.full(50_000, 0.5)))
    with pytest.raises(DeviceError, match="bytes of fast memory, and a small GPU has 49,152 for a block"):
        mb.simulate(wide, mb.OMM(), n_episodes=4, n_runs=3, device="gpu")
