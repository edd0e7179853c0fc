"""Supported versions of Python on this machine: `python tools/pythons.py` prints a path a line, oldest first."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: The names of the supported versions, such as python3.11, oldest first.
NAMES = [
    f"python{each.rpartition(' ')[2]}"
    for each in PROJECT["classifiers"]
    if each.startswith("Programming Language :: Python :: 3.")
]


def path_of(python):
    """The path of a Python of that name, on the PATH or among those of pyenv; None where there is none that runs."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for path in (shutil.which(python), *sorted(versions.glob(f"*/bin/{python}"))):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return str(path)
    return None


if __name__ == "__main__":
    print("\n".join(filter(None, map(path_of, NAMES))))
