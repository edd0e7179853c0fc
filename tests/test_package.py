"""The package itself: what `import matroid_bandits` loads, and which names it has."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import matroid_bandits as mb


def test_the_table_of_names_is_what_type_checkers_see():
    tree = ast.parse(Path(mb.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = {node.module: [alias.name for alias in node.names] for node in block.body}
    modules = imports.pop("matroid_bandits")
    listed = {f"matroid_bandits.{module}": names.split() for module, names in mb._NAMES.items()}
    assert listed == imports
    assert sorted([*mb._MODULE_OF, *modules, "__version__"]) == sorted(mb.__all__)


def test_every_public_name_is_there():
    for name in mb.__all__:
        value = getattr(mb, name)
        if isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) is value


def test_dir_has_the_public_names_alone():
    assert dir(mb) == sorted(mb.__all__)


def test_a_name_that_is_not_there():
    for name in ("OMN", "a.b", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"^module 'matroid_bandits' has no attribute '{name}'$"):
            getattr(mb, name)


def loaded_by(code):
    """The modules that a fresh process has loaded after running some code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing_else():
    new = loaded_by("import matroid_bandits") - loaded_by("import typing")
    assert new == {"matroid_bandits", "matroid_bandits._version"}


def test_what_is_used_loads_what_it_needs():
    loaded = loaded_by("import matroid_bandits as mb; mb.Learner(mb.UniformMatroid(3, 1), mb.OMM())")
    rooms = {name.split(".")[1] for name in loaded if name.startswith("matroid_bandits.")}
    assert rooms.isdisjoint({"client", "cli", "evaluation", "gpu", "reporting", "service", "simulation", "testing"})
    assert loaded.isdisjoint({"httpx", "matplotlib", "networkx", "pandas", "pydantic", "rich"})


def test_modules_of_the_package_need_no_import_of_their_own():
    code = "import matroid_bandits as mb; mb.datasets.printed, mb.policies.POLICIES, mb.simulation.Progress"
    assert "matroid_bandits.datasets" in loaded_by(code)


WITHOUT_EXTRAS = """
import importlib, pkgutil, sys

optional = "alembic distributed httpcore httpx jinja2 joblib matplotlib networkx pandas platformdirs pooch"
optional += " prometheus_client psycopg pyarrow pydantic ray requests rich scipy sqlalchemy starlette topohub typer"
sys.modules.update(dict.fromkeys(optional.split()))  # not found, wherever it is installed

import matroid_bandits as mb
from matroid_bandits import *

for module in pkgutil.iter_modules(mb.__path__):
    try:
        importlib.import_module(f"matroid_bandits.{module.name}")
    except ImportError as error:
        print(module.name, "|", error)

problem = mb.Problem(mb.UniformMatroid(2, 1), mb.BernoulliEnvironment([0.9, 0.7]))
result = mb.simulate(problem, mb.OMM(), n_episodes=3, n_runs=2, seed=0)
learner = mb.Learner(problem.constraint, mb.OMM())
print(result.summary()[:9])
for use in (
    lambda: mb.cli.app,
    lambda: mb.Client("http://127.0.0.1:1", "a"),
    lambda: mb.AsyncClient("http://127.0.0.1:1", "a"),
    lambda: mb.datasets.movielens(),
    lambda: mb.datasets.isp_names(),
    lambda: mb.datasets.fetch("movielens", "."),
    lambda: mb.reporting.open_console(),
    lambda: mb.reporting.styled("a"),
    lambda: mb.simulate(problem, mb.OMM(), n_episodes=3, n_runs=2, seed=0, executor=2),
    lambda: mb.simulate(problem, mb.OMM(), n_episodes=3, n_runs=2, seed=0, executor="ray"),
    lambda: result.plot(),
    lambda: result.to_frame(),
    lambda: learner.estimates().to_frame(),
):
    try:
        use()
    except mb.exceptions.MatroidBanditsError as error:
        print(error)
mb.cli.main()
"""


def test_without_extras_a_sentence_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    service, specs, summary, *said = done.stdout.splitlines()
    assert service.startswith("service | the service needs ")
    assert specs.startswith("specs | specs need pydantic: ")
    assert summary == "2 runs of"
    assert len(said) == 13
    assert [sentence for sentence in said if "pip install 'matroid-bandits[" not in sentence] == []
    assert done.stderr.startswith("the command line needs typer and rich: pip install 'matroid-bandits[cli]'")
    assert (done.stderr.count("\n"), done.returncode) == (1, 1)
