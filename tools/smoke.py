"""A small program per extra, for an environment with the package and that extra alone: `python smoke.py plot`.

`release_check.py` runs them against built packages; `tests/test_release.py` runs them against the sources.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import numpy as np

import matroid_bandits as mb

PROBLEM = mb.Problem(mb.UniformMatroid(5, 2, labels="abcde"), mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.7, 0.9]))
SETTINGS = {"n_episodes": 30, "n_runs": 4, "seed": 0}

PROBLEM_FILE = """
title = "Five ads, two slots"
episodes = 30
runs = 2
seed = 1

[matroid]
kind = "uniform"
rank = 2
rows = [{ item = "a", p = 0.1 }, { item = "b", p = 0.5 }, { item = "c", p = 0.9 }]

[weights]
family = "bernoulli"
mean = "p"

[policies]
OMM = {}
"""


def simulated(**options):
    """A small result."""
    return mb.simulate(PROBLEM, {"OMM": mb.OMM()}, progress=False, **SETTINGS, **options)


def command(*words, **options):
    """Run the command line as a process of its own, and return what it printed."""
    line = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_missing(package):
    """Whether a package is not installed, so that an error must name it."""
    return importlib.util.find_spec(package) is None


def core():
    """numpy and numba alone: simulate, learn, save and load; what needs an extra names it."""
    graph = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "a")])
    problem = mb.Problem(graph, mb.ExponentialEnvironment([2.0, 1.0, 4.0, 3.0, 1.5]), minimize=True)
    result = mb.simulate(problem, [mb.OMM(3.0), mb.ThompsonSampling("normal")], progress=False, **SETTINGS)
    assert np.isfinite(result.regret).all()
    assert "OMM" in result.summary()
    slots = mb.PartitionMatroid({"boots": "shoes", "sandals": "shoes", "hat": "head"})
    learner = mb.Learner(slots, mb.OMM(), seed=1)
    decision = learner.ask(exclude=["sandals"])
    learner.tell(decision, dict.fromkeys(decision.labels, 1.0))
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "learner.npz")
        assert mb.Learner.load(Path(folder) / "learner.npz").ask().labels == learner.ask().labels
    for package, call in (("pandas", result.to_frame), ("matplotlib", result.plot)):
        if is_missing(package):
            try:
                call()
            except mb.exceptions.MissingDependencyError as error:
                assert f"needs {package}: pip install 'matroid-bandits[" in str(error)  # noqa: PT017 - not pytest
            else:
                raise AssertionError(f"{call.__name__} works without {package}")
    if is_missing("typer"):
        line = [sys.executable, "-c", "from matroid_bandits.cli import main; main()"]
        said = subprocess.run(line, capture_output=True, text=True)
        assert said.returncode == 1
        assert "pip install 'matroid-bandits[cli]'" in said.stderr


def networkx():
    """A graph of networkx is a matroid."""
    import networkx as nx

    assert mb.GraphicMatroid.from_networkx(nx.cycle_graph(4)).rank == 3


def plot():
    """A figure is drawn and saved."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("regret.pdf", "regret.svg", "regret.png"):
            simulated().plot().savefig(Path(folder) / name)
            assert (Path(folder) / name).stat().st_size > 1000


def frame():
    """A result is a table."""
    assert set(simulated().to_frame()["policy"]) == {"OMM"}


def parquet():
    """A log is written as Parquet."""
    import pyarrow.parquet

    events = []
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels="abc"), mb.OMM(), seed=0, record=events.append)
    learner.tell(learner.ask(), {"a": 1.0})
    with tempfile.TemporaryDirectory() as folder:
        mb.read_log(events).to_parquet(Path(folder) / "log.parquet")
        assert pyarrow.parquet.read_table(Path(folder) / "log.parquet").num_rows == 2


def parallel():
    """Two processes compute the numbers of one."""
    assert simulated(executor=2) == simulated()


def dask():
    """A local Dask cluster computes the same numbers."""
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        assert simulated(executor=client) == simulated()


def ray():
    """Ray is there; it is started only where the machine allows it."""
    import ray as package

    assert package.__version__


def gpu():
    """numba-cuda is found; without a GPU, the answer says in words that there is none."""
    place, why = mb.gpu.explain(PROBLEM, mb.OMM(), n_episodes=100_000, n_runs=10_000)
    assert place in ("gpu", "cpu"), why
    assert "pip install" not in why, why


def specs():
    """A problem file is read."""
    from matroid_bandits.specs import read_simulation

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        file.write_text(PROBLEM_FILE)
        assert read_simulation(file) is not None


def cli():
    """The command prints its version and a schema, and simulates a problem file where figures can be drawn."""
    assert command("--version") == f"matroid-bandits {mb.__version__}\n"
    assert json.loads(command("schema"))
    if is_missing("matplotlib"):
        return  # what simulates writes a report with figures
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.toml"
        file.write_text(PROBLEM_FILE)
        assert "OMM" in command("simulate", file, cwd=folder)


def experiments():
    """The paper's networks come with topohub, and a report has figures."""
    from matroid_bandits import datasets

    cli()
    plot()
    assert datasets.isp(datasets.DEFAULT_ISPS[0]).problem.n_items > 10


def client():
    """The client is imported, and a server that is not there is one sentence."""
    try:
        mb.Client("http://127.0.0.1:9", "ads", timeout=0.2).ask()
    except mb.exceptions.UnavailableError:
        return
    raise AssertionError("a server that is not there has answered")


def serve():
    """A server starts, has its page, templates and migrations, and answers a client."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("serve", "--demo", "--db", Path(folder) / "campaigns.db", "--port", "0")
        line = [sys.executable, "-u", "-c", "from matroid_bandits.cli import main; main()", *map(str, words)]
        server = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            address = next(word.rstrip(".,") for row in server.stdout for word in row.split() if "http://" in word)
            for path in ("/v1/campaigns", "/", "/static/page.css"):
                with urllib.request.urlopen(address.rstrip("/") + path, timeout=60) as answer:
                    assert answer.status == 200, path
        finally:
            server.terminate()
            server.communicate(timeout=60)


def archive():
    """Events are written to an object store, and read again."""
    from matroid_bandits.service import Archive

    events = [(1, 0.5, '{"event":"created"}')]
    store = Archive("memory://old-events")
    file, _ = store.write("ads", "a1b2", "", 1, 1, events)
    assert [*store.read(file, "")] == events


PROGRAMS = {
    function.__name__: function
    for function in (
        core, networkx, plot, frame, parquet, parallel, dask, ray, gpu, specs, cli, experiments, client, serve,
        archive,
    )
}  # fmt: skip

if __name__ == "__main__":
    for name in sys.argv[1:]:
        PROGRAMS[name]()
        print(f"{name}: works with {mb.__version__} from {os.path.dirname(mb.__file__)}")
