"""A fresh process: seconds to import the package, and to the first answers, whose kernels were compiled before.

What Python, NumPy and Numba take by themselves stands beside it.
"""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks._harness import Case, Task

_ASK = "mb.Learner(mb.UniformMatroid(4, 2), mb.OMM()).ask()"
_SIMULATE = """
problem = mb.Problem(mb.UniformMatroid(4, 2), mb.BernoulliEnvironment([0.9, 0.7, 0.5, 0.1]))
mb.simulate(problem, mb.OMM(), n_episodes=100, n_runs=10, seed=1)
"""


def startup() -> Iterator[Case]:
    """Importing, asking and simulating."""
    theirs = {"import numpy, numba": _process("import numpy, numba"), "python": _process("pass")}
    ours = "import matroid_bandits as mb\n"
    yield Case("import matroid_bandits", _process(ours), theirs, {"import numpy, numba": 2.0}, budget_s=2.0)
    yield Case("the first ask", _process(ours + _ASK), theirs, budget_s=2.0)
    yield Case("the first simulate", _process(ours + _SIMULATE), theirs, budget_s=2.0)


def _process(code: str) -> Task:
    return Task(lambda: subprocess.run([sys.executable, "-c", code], check=True))
