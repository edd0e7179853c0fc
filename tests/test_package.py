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
