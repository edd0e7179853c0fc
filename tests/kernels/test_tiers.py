"""Every kernel returns and leaves the same bits and types interpreted as compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def test_every_kernel_is_the_same_interpreted_and_compiled():
    """Each has a call; in a process of its own, where nothing is cached yet."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])}
    command = [sys.executable, str(TESTS / "kernels" / "comparing.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n"] > 250
    assert (found["without a call"], found["different"]) == ([], [])
