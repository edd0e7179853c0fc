"""Fresh processes: processor time to import the package and to the first answers, with an empty cache and a warm one.

Beside it stands what the same program takes where every kernel is compiled, or loaded, at its first call. The last
row is the time until the page of `serve --demo` can show its campaign.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks._harness import Case, Task

_OURS = "import matroid_bandits as mb\n"
_ASK = _OURS + "mb.Learner(mb.UniformMatroid(100, 10), mb.OMM()).ask()"


def startup() -> Iterator[Case]:
    """Importing, asking, README's two programs, and the demo."""
    plain = {"import numpy, numba": _process("import numpy, numba"), "python": _process("pass")}
    yield Case("import matroid_bandits", _process(_OURS), plain, {"import numpy, numba": 2.0}, budget_s=2.0)
    research, production = _readme()
    programs = {"the first ask": _ASK, "README's production": production, "README's research": research}
    with tempfile.TemporaryDirectory() as folder:
        for name, code in programs.items():
            for state in ("empty", "warm"):  # each tier finds in the second round what it left in the first
                others = {"all kernels compiled": _cached(code, "compiled", folder)}
                yield Case(f"{name}, {state} cache", _cached(code, "tiered", folder), others, budget_s=0.0)
        yield Case(
            "serve --demo shows its campaign", Task(cache(_demo), setup=str, is_clocked=True), {}, budget_s=0.0
        )


def _readme() -> tuple[str, str]:
    """The ten lines of research, and those of production."""
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    research = next(block for block in blocks if "mb.simulate(" in block)
    return research, _OURS + next(block for block in blocks if "mb.Learner(" in block)


def _process(code: str) -> Task:
    return Task(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def _cached(code: str, tier: str, folder: str) -> Task:
    """A program that is run once with the cache of its tier, its children's processor time included."""
    settings = os.environ | {
        "MATROID_BANDITS_KERNELS": tier,
        "NUMBA_CACHE_DIR": str(Path(folder) / tier / str(hash(code))),
    }

    @cache
    def run(_: str) -> float:
        with tempfile.TemporaryDirectory() as place:
            before = os.times()
            subprocess.run(
                [sys.executable, "-c", code], env=settings, cwd=place, check=True, stdout=subprocess.DEVNULL
            )
            after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return Task(run, setup=str, is_clocked=True)


def _demo(_: str) -> float:
    """Seconds until a server that has nothing compiled lists the campaign of its demo."""
    folder = tempfile.mkdtemp()
    program = "from matroid_bandits.cli import main; main()"
    began = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--demo", "--port", "0"],
        env=os.environ | {"NUMBA_CACHE_DIR": folder, "MATROID_BANDITS_KERNELS": "tiered"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+(?= from)", line)))
        while not json.load(urllib.request.urlopen(f"{address}/v1/campaigns", timeout=10))["campaigns"]:
            time.sleep(0.05)
        return time.perf_counter() - began
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
