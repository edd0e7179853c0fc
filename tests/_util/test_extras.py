"""What to install is said in one way, and it names an extra that there is."""

import re
import tomllib
from pathlib import Path

import pytest

from matroid_bandits._util.extras import how_to_install, missing, pandas_for
from matroid_bandits.exceptions import MissingDependencyError

ROOT = Path(__file__).parents[2]
SOURCES = {path: path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "extras.py"}


def test_only_one_function_says_what_to_install():
    assert [path for path, text in SOURCES.items() if "pip install" in text] == []


def test_every_extra_that_is_named_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    call = re.compile(r"""\b(?:missing\(\s*(?:"[^"\n]*"|'[^'\n]*'),|how_to_install\()\s*["'](\w+)["']""")
    named = {name for text in SOURCES.values() for name in call.findall(text)}
    assert len(named) > 5
    assert named <= set(extras)


def test_the_words_name_the_package_and_a_clone():
    assert str(missing("x needs y", "plot")) == f"x needs y: {how_to_install('plot')}"
    assert "pip install 'matroid-bandits[plot]'" in how_to_install("plot")
    assert "pip install '.[plot]'" in how_to_install("plot")


def test_tables_need_pandas(monkeypatch):
    assert pandas_for("to_frame").__name__ == "pandas"
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"^to_frame needs pandas: pip install"):
        pandas_for("to_frame")
