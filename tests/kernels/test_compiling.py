"""The two tiers of kernels: when one follows the other, threads, processes, and where nothing can be written."""

import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.kernels import compiling, graphic, kinetic, notice, random, selection
from matroid_bandits.kernels.compiling import Kernel, seconds_compiling

SOURCES = Path(mb.__file__).parent
needs_compiler = pytest.mark.skipif(compiling._chosen_tier() == "interpreted", reason="kernels are interpreted")

PROGRAM = """
import tempfile
import matroid_bandits as mb
from matroid_bandits.kernels import statistics
problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
result = mb.simulate(problem, [mb.OMM()], n_episodes=20, n_runs=2, seed=0)
assert result.choices.sum() == 80
assert statistics.absorb.is_compiled
print(mb.__file__)
"""


def add_all(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    out[0] = total
    return x.shape[0] > 2, total, np.int64(x.shape[0])


@pytest.fixture
def clock(monkeypatch):
    """The clock of the thread, which stands still unless it is moved; a process that has interpreted nothing yet."""
    now = [0.0]
    monkeypatch.setattr(compiling.time, "thread_time", lambda: now[0])
    monkeypatch.setattr(compiling, "_tier", "tiered")
    monkeypatch.setattr(compiling, "_process", compiling._Process())
    return now


class Slow:
    """A kernel that takes `seconds` of the clock when it is interpreted, and how it was called."""

    def __init__(self, clock, seconds, work=None):
        self.kernel = Kernel(add_all, {}, work=work)
        self.how = []

        def plain(x, out):
            self.how.append("interpreted")
            clock[0] += seconds
            return add_all(x, out)

        self.kernel.__dict__["_plain"] = plain  # kept there by `cached_property`
        self.kernel.__dict__.update(_costs_s=1.0, _indices=[])  # whatever lies on disk

    def __call__(self, *arguments):
        before = len(self.how)
        found = self.kernel(*arguments)
        if len(self.how) == before:
            self.how.append("compiled")
        return found


X, OUT = np.array([0.1, 0.2, 0.3]), np.empty(1)


@needs_compiler
def test_a_kernel_is_interpreted_until_that_has_cost_what_compiling_would(clock):
    slow = Slow(clock, 0.3)
    found = [slow(X, OUT) for _ in range(6)]
    assert slow.how == ["interpreted"] * 3 + ["compiled"] * 3  # 0.9 s, and the next one would make 1.2 s
    assert found == [(True, 0.1 + 0.2 + 0.3, 3)] * 6
    assert {tuple(map(type, each)) for each in found} == {(bool, float, int)}
    assert slow.kernel.call is slow.kernel._dispatcher  # nothing is between a caller that asks for it and the code
    # Other types of arguments are interpreted, until that has cost as much again.
    whole = np.array([1, 2, 3])
    assert [slow(whole, OUT)[1] for _ in range(6)] == [6.0] * 6
    assert slow.how[6:] == ["interpreted"] * 3 + ["compiled"] * 3
    assert len(slow.kernel._dispatcher.overloads) == 2


@needs_compiler
def test_numba_is_waited_for_once_all_kernels_have_cost_what_its_start_does(clock):
    cheap = Slow(clock, 0.25)
    cheap.kernel.__dict__["_costs_s"] = 0.1
    for _ in range(4):
        cheap(X, OUT)
    assert cheap.how == ["interpreted"] * 2 + ["compiled"] * 2  # 0.5 + 0.25 s is more than START_S
    second = Slow(clock, 0.25)
    second.kernel.__dict__["_costs_s"] = 0.3
    for _ in range(3):
        second(X, OUT)
    assert second.how == ["interpreted"] + ["compiled"] * 2


@needs_compiler
def test_what_is_declared_or_announced_is_compiled_before_it_has_cost_as_much(clock):
    declared = Slow(clock, 9.0, work=lambda x, out: 3 * 10**6)
    declared(X, OUT)
    assert declared.how == ["compiled"]
    announced = Slow(clock, 0.01)
    with compiling.ahead(10**4):
        announced(X, OUT), announced(X, OUT)
    assert announced.how == ["interpreted", "compiled"]
    large = Slow(clock, 9.0)
    large(np.ones(10**7), OUT)
    assert large.how == ["compiled"]
    at_once = Slow(clock, 0.0)
    at_once.kernel.compiled(X, OUT)
    assert at_once.how == []
    assert at_once.kernel.is_compiled


@needs_compiler
def test_one_thread_compiles_while_the_others_interpret(clock):
    slow = Slow(clock, 0.9)
    slow(X, OUT)
    with compiling._process.lock:  # another thread compiles
        slow(X, OUT)
    assert slow.how == ["interpreted"] * 2
    slow(X, OUT)
    assert slow.how == ["interpreted"] * 2 + ["compiled"]


@needs_compiler
def test_seconds_of_compiling_are_counted_by_thread(clock):
    before = seconds_compiling()
    slow = Slow(clock, 2.0)
    slow(X, OUT)
    assert seconds_compiling() == before
    slow(X, OUT)
    assert seconds_compiling() > before
    elsewhere = []
    other = threading.Thread(target=lambda: elsewhere.append(seconds_compiling()))
    other.start()
    other.join()
    assert elsewhere == [0.0]


def test_interpreting_leaves_warnings_and_errors_as_they_are(clock, recwarn):
    def divide(x, out):
        out[0] = x[0] / x[1]
        return out[0]

    before = np.geterr()
    assert Kernel(divide, {})(np.array([1.0, 0.0]), OUT) == np.inf
    assert np.geterr() == before
    assert not recwarn.list


def test_kernels_are_pickled_by_name():
    for kernel in (selection.top_of_lines, random._philox, kinetic.index):
        assert pickle.loads(pickle.dumps(kernel)) is kernel
    with pytest.raises(pickle.PicklingError, match="that its module has by name"):
        pickle.dumps(Kernel(add_all, {}))


def test_what_a_parent_has_spent_counts_in_its_workers(clock):
    assert compiling.spent() == 0.0
    compiling.resume(2.0)
    compiling.resume(1.0)
    assert compiling.spent() == 2.0


@pytest.mark.parametrize(("given", "tier"), [({}, "tiered"), ({"NUMBA_DISABLE_JIT": "1"}, "interpreted")])
def test_a_variable_chooses_the_tier(monkeypatch, given, tier):
    for name in ("NUMBA_DISABLE_JIT", "MATROID_BANDITS_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert compiling._chosen_tier() == tier
    monkeypatch.setenv("MATROID_BANDITS_KERNELS", "fast")
    if not given:
        with pytest.raises(ValueError, match="tiered, interpreted or compiled; got 'fast'"):
            compiling._chosen_tier()


SMALL = """
from matroid_bandits.kernels.compiling import inlined, kernel
STEP = {step}
@inlined
def one(x):
    return x + STEP
@kernel
def small(x):
    x[0] = one(x[0])
    return -1
"""


@needs_compiler
def test_what_is_on_disk_is_known_without_numba_and_is_never_older_than_what_it_calls(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which does not notice an edit within a second
    source = tmp_path / "small.py"

    def fresh(step):
        source.write_text(SMALL.format(step=step))
        spec = importlib.util.spec_from_file_location("small", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.small

    x = np.zeros(1)
    small = fresh(1.0)
    assert not small.is_on_disk
    assert small.folder == tmp_path / "__pycache__"
    assert small.compiled(x) == -1
    assert small.is_compiled
    assert small.is_on_disk
    again = fresh(1.0)
    assert again.is_on_disk
    assert not again.is_compiled
    again.compiled(x)
    assert sum(again.dispatcher.stats.cache_hits.values()) == 1
    edited = fresh(2.0)  # what the kernel calls, and not the kernel itself
    assert not edited.is_on_disk
    edited.compiled(x)
    assert not edited.dispatcher.stats.cache_hits
    assert x[0] == 4.0


FRESH = """
import sys
import matroid_bandits as mb
learner = mb.Learner(mb.UniformMatroid(100, 10), mb.OMM(), seed=1)
for _ in range(3):
    learner.tell(learner.ask(), [0.5] * 10)
assert "numba" not in sys.modules and "scipy" not in sys.modules
"""


def test_a_few_requests_import_neither_numba_nor_scipy():
    settings = os.environ | {"MATROID_BANDITS_KERNELS": "tiered"}
    subprocess.run([sys.executable, "-c", FRESH], env=settings, check=True)


@pytest.mark.compiled
@pytest.mark.long
def test_a_read_only_install_without_a_home_imports_and_runs_compiled(tmp_path):
    """Files stand where Numba would make its folders, which stops root too."""
    package = tmp_path / "site" / "matroid_bandits"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(each for each in package.rglob("*") if each.is_dir())]:
        (folder / "__pycache__").write_text("no folder")
    (tmp_path / "home").write_text("no folder")
    nowhere = {name: str(tmp_path / "home" / name) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM],
        env=kept | nowhere | {"PYTHONPATH": str(tmp_path / "site"), "IPYTHONDIR": nowhere["HOME"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent == package


def test_nothing_else_imports_numba():
    """Outside the room of the GPU, one file does, in functions, so that importing it does not."""
    for source in SOURCES.rglob("*.py"):
        if "gpu" not in source.relative_to(SOURCES).parts:
            where = r"^" if source.name == "compiling.py" else r"^\s*"
            assert not re.search(where + r"(from numba\b|import numba\b)", source.read_text(), re.M), source


NOTICE = """
import numpy as np

from matroid_bandits.kernels import graphic, notice

notice.LONG_S = {long_s}
graphic._find(np.zeros(1, np.int64), 0), graphic._find(np.zeros(1, np.int32), 0)
"""


@pytest.mark.compiled
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_compiling_is_announced_where_it_takes_long(tmp_path):
    """A clock on a terminal, which is cleared at the end; one line elsewhere; nothing of what is on disk."""
    import pty

    def said(long_s=0.0, is_terminal=False):
        leader, follower = pty.openpty() if is_terminal else os.pipe()
        subprocess.run(
            [sys.executable, "-c", NOTICE.format(long_s=long_s)],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "MATROID_BANDITS_KERNELS": "compiled"},
            stderr=follower,
            check=True,
        )
        if is_terminal:
            os.write(follower, b".")  # a terminal has no end
            os.set_blocking(leader, False)
        else:
            os.close(follower)
        text = os.read(leader, 10_000).decode().rstrip(".")
        os.close(leader)
        return text

    text = "matroid_bandits: compiling for this machine, up to a minute; the next process finds it on disk"
    assert said(long_s=1e6) == ""
    shutil.rmtree(tmp_path / "cache")
    line, *_, blank, end = said(is_terminal=True).split("\r")[1:]
    assert re.fullmatch(re.escape(text) + r" \(\d+ s\)", line)
    assert blank == " " * len(blank)
    assert end == ""
    assert said(is_terminal=True) == ""  # found on disk
    shutil.rmtree(tmp_path / "cache")
    assert said() == f"{text}\n"


def test_what_no_folder_can_keep_is_said(monkeypatch, capsys):
    monkeypatch.setattr(notice, "LONG_S", 0.0)
    told = notice._Notice()
    with told.given(is_on_disk=False, can_be_kept=False):
        while not told._is_given:
            threading.Event().wait(0.001)
    with told.given(is_on_disk=False, can_be_kept=False):
        pass
    assert capsys.readouterr().err.count("the variable NUMBA_CACHE_DIR names one\n") == 1


def test_an_inlined_kernel_can_be_called_by_itself():
    assert graphic.greedy_forest.py_func is graphic.greedy_forest.__wrapped__
    assert kinetic.index(1.0, 2.0, 3.0) == 7.0
