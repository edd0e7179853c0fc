"""A newcomer's walk: from the front page of the site to a figure of their own graph, by copy and paste alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.compiled]

ROOT = Path(__file__).parent.parent.parent
GRAPH = """from,to,ms
home,school,2.5
school,library,4.0
library,home,3.0
library,station,1.5
station,home,6.0
"""
OFFLINE = re.compile(
    r"name resolution|new connection|No route to host|Network is unreachable|timed out", re.IGNORECASE
)


def copied(page: Any, block: Any) -> str:
    """What is pasted elsewhere after a click on the button of a block."""
    block.hover()
    block.locator("button.copybtn").click()
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=pasted></textarea>')")
    page.locator("#pasted").focus()
    page.keyboard.press("Control+V")
    text = page.locator("#pasted").input_value()
    page.evaluate("document.getElementById('pasted').remove()")
    return text.rstrip() + "\n"


def test_a_newcomer_gets_a_figure_and_a_table_of_their_graph(chromium, html, tmp_path):
    page = chromium.new_page()
    page.goto((html / "index.html").as_uri())
    page.locator("article").get_by_role("link", name="Compare policies on your own graph").click()
    page.wait_for_url("**/tutorial-research.html")
    shell, program = "", ""
    for section in ("install", "describe-the-problem", "run-the-race", "make-the-figure-and-the-table"):
        for block in page.locator(f"section#{section} div.highlight-console").all():
            shell += copied(page, block)
        for block in page.locator(f"section#{section} div.highlight-python").all():
            program += copied(page, block)
    page.close()
    assert "$" not in shell
    assert "pip install" in shell

    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    shutil.copytree(ROOT / "src", clone / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (clone / "links.csv").write_text(GRAPH)
    (clone / "race.py").write_text(program)
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["MPLCONFIGDIR"] = str(tmp_path / "matplotlib")
    script = f"set -e\n{shell}python race.py\n"
    done = subprocess.run(["bash", "-c", script], cwd=clone, env=environment, capture_output=True, text=True)
    if done.returncode and OFFLINE.search(done.stderr):
        pytest.skip("left out: no package index to install from")
    assert done.returncode == 0, done.stdout + done.stderr

    assert "the best tree costs 7.0 ms" in done.stdout
    assert re.search(r"^CTS +\d", done.stdout, flags=re.MULTILINE)
    assert (clone / "race.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (clone / "race.svg").read_text()
    assert r"\begin{tabular}" in (clone / "race.tex").read_text()
