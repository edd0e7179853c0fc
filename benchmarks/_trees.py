"""Two checkouts in one run: a process for each, which measures what it is asked for, in turns with the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: This checkout, whose benchmarks measure the package of any other.
HERE = Path(__file__).resolve().parent.parent


@contextmanager
def worker(tree: Path, script: str) -> Iterator[Callable[..., Any]]:
    """A process that runs a file of ours with the argument ``--worker`` and the package of a checkout.

    What it yields asks a question, by keywords, and returns the answer of the function that `answer_all` was given.
    """
    sources = tree / "src" if (tree / "src").is_dir() else tree
    environment = os.environ | {"PYTHONPATH": f"{sources}{os.pathsep}{HERE}"}
    environment.pop("NUMBA_NUM_THREADS", None)
    command = [sys.executable, str(Path(script).resolve()), "--worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def ask(**question: Any) -> Any:
            print(json.dumps(question), file=questions, flush=True)
            line = answers.readline()
            if not line:
                raise RuntimeError(f"the process that measures {tree} ended: see its error above")
            return json.loads(line)

        try:
            yield ask
        finally:
            questions.close()


def answer_all(answer: Callable[[dict[str, Any]], Any]) -> None:
    """Answer questions, a line of JSON each, until there are no more."""
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
