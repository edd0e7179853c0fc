"""The builtin `sum` of floats has other last digits from Python 3.12 on: `make lint` refuses it in the package."""

import re
import subprocess
import sys

import pytest

from test_docs import ROOT

SUMS = """
from collections.abc import Iterable

def whole(weights: list[float], sizes: dict[str, int]) -> tuple[int, int, int, float]:
    return sum(sizes.values()), sum(weight > 0.5 for weight in weights), sum(map(len, sizes)), max(weights)

def floats(weights: Iterable[float]) -> float:
    return sum(weights)

def parts(weights: list[float]) -> float:
    return sum(weight * weight for weight in weights)
"""


def test_lint_refuses_the_builtin_sum_of_floats(tmp_path):
    pytest.importorskip("mypy")  # of the extra dev
    file = tmp_path / "sums.py"
    file.write_text(SUMS)
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nplugins = {ROOT / 'tools' / 'mypy_sums.py'}\nfollow_imports = skip\n")
    options = ["--config-file", str(settings), "--cache-dir", str(tmp_path / "cache"), "--no-site-packages"]
    command = [sys.executable, "-m", "mypy", *options, str(file)]  # in this process it would allow more recursion
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.stderr
    assert {int(line) for line in re.findall(r"sums\.py:(\d+): error", done.stdout)} == {8, 11}, done.stdout
