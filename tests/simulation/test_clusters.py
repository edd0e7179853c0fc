"""Runs on a local Dask cluster and a local Ray: the same bits, errors, interruption, workers that die."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
import worker_policies
from matroid_bandits.compiled import Settings
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.simulation import named_executor
from matroid_bandits.simulation._execute import run_jobs
from matroid_bandits.simulation._jobs import Job
from worker_policies import Dying, Endless, Failing, Greedy, Slow, ctrl_c_once, simulate

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.compiled,
    # of the clusters' own, when they start, lose a worker and end
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def _asked_for(request):
    """Clusters take a minute or two to start and to lose workers, so these tests run when they are asked for."""
    if "cluster" not in request.config.option.markexpr:
        pytest.skip("left out here, since clusters take minutes: make cluster runs them")


def needs(name):
    """Skip where a package is missing, and say which and how to get it."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: make cluster installs and runs this")


@pytest.fixture(scope="module")
def by_value():
    """Send the policies of the tests by value: the workers cannot import them."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(worker_policies)
    yield
    cloudpickle.unregister_pickle_by_value(worker_policies)


@pytest.fixture(scope="module")
def client():
    needs("distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def ray():
    needs("ray")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield "ray"
    ray.shutdown()


@pytest.fixture(params=["client", "ray"], ids=["Dask", "Ray"])
def executor(request):
    needs({"client": "distributed", "ray": "ray"}[request.param])
    request.getfixturevalue("by_value")
    found = request.getfixturevalue(request.param)
    if found != "ray":
        found.wait_for_workers(2)  # those that a test before killed are back
    return found


@pytest.fixture(scope="module")
def race():
    return simulate()


def test_clusters_give_the_same_bits(executor, race):
    seen = []
    assert simulate(executor=executor, progress=lambda done, total: seen.append((done, total))) == race
    assert seen[-1] == (560, 560)


def test_many_problems_at_once_in_any_cut(executor):
    """Slices that take too long are cut, and each problem is told apart."""
    jobs = []
    for number in range(2):
        problem = mb.Problem(
            mb.UniformMatroid(4, 2), mb.BernoulliEnvironment(np.linspace(0.1, 0.9, 4) / (1 + number))
        )
        world = Settings(problem, 600, 4, number, "observe", np.array([600]), "auto")
        jobs.append(Job(number, world, "x", Slow(), 0, 4))
    parts = {key: np.full((4, 1), np.nan) for key in range(2)}
    sizes = []
    for job, part in run_jobs(jobs, executor, seconds=1e-6):
        parts[job.key][part.first : part.last] = part.regret
        sizes.append(part.last - part.first)
    assert sizes == [1] * 8
    for job, part in run_jobs(jobs):
        assert np.array_equal(parts[job.key][part.first : part.last], part.regret)


def test_errors_come_through(executor):
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        simulate({"failing": Failing(ZeroDivisionError, "mine")}, executor=executor, n_runs=4)
    assert "policy 'failing', runs 2 to 3, episode 20" in caught.value.__notes__


def test_a_worker_that_is_killed_is_replaced(executor, tmp_path):
    result = simulate({"OMM": mb.OMM(), "dying": Dying(tmp_path)}, executor=executor)
    assert len(list(tmp_path.iterdir())) == 1
    assert result == simulate({"OMM": mb.OMM(), "dying": Greedy()})


def test_the_only_worker_is_killed(tmp_path, by_value):
    """And with it the problem, which Dask makes again."""
    needs("distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        result = simulate({"dying": Dying(tmp_path)}, executor=client)
        assert len(list(tmp_path.iterdir())) == 1
        assert result == simulate({"dying": Greedy()})


def test_a_slice_that_kills_its_workers_is_given_up(executor, tmp_path):
    with pytest.raises(SimulationError, match=r"Dask cluster failed: KilledWorker|Ray failed: WorkerCrashedError"):
        simulate({"dying": Dying(tmp_path, n_times=100)}, executor=executor)


def test_ctrl_c_leaves_the_cluster_idle(executor, tmp_path, race):
    """The cluster soon plays something else, though the runs would have taken days."""
    with ctrl_c_once(tmp_path, 2), pytest.raises(KeyboardInterrupt):
        simulate({"endless": Endless(tmp_path)}, n_episodes=10**9, executor=executor)
    assert simulate(executor=executor) == race


def test_ray_is_started_where_it_does_not_run(race):
    needs("ray")
    import ray

    if ray.is_initialized():
        ray.shutdown()
    assert simulate(executor="ray") == race
    assert not ray.is_initialized()


def test_asynchronous_clients_are_refused():
    needs("distributed")
    import asyncio

    from distributed import Client

    async def ask():
        async with Client(processes=False, n_workers=1, asynchronous=True, dashboard_address=":0") as client:
            simulate(executor=client)

    with pytest.raises(SimulationError, match="expected a Dask Client that is not asynchronous"):
        asyncio.run(ask())


@pytest.fixture
def old_scheduler(tmp_path):
    """A Dask cluster, by its address, of a worker with another version of the package."""
    needs("distributed")
    package = Path(mb.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / package.name / "_version.py").write_text('__version__ = "0.0.7"\n')
    told = tmp_path / "scheduler.json"
    commands = (
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)],
        ["worker", "--scheduler-file", str(told), "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = []
    try:
        for command in commands:
            arguments = [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]]
            running.append(subprocess.Popen(arguments, env=environment, cwd=tmp_path, **silent))
        while not told.exists():
            assert all(process.poll() is None for process in running)
            time.sleep(0.05)
        yield json.loads(told.read_text())["address"].removeprefix("tcp://")
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_worker_of_another_version_is_refused(old_scheduler):
    """By a scheduler that is named as on the command line."""
    with (
        named_executor(f"dask://{old_scheduler}") as client,
        pytest.raises(SimulationError, match=rf"expected workers with matroid-bandits {mb.__version__}.* with 0.0.7"),
    ):
        simulate(executor=client)


def test_a_scheduler_that_is_not_there():
    needs("distributed")
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(SimulationError, match=r"expected a Dask scheduler at '127.0.0.1:9'"),
        named_executor("dask://127.0.0.1:9"),
    ):
        pass
