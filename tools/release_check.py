"""Build the packages, install them into empty environments and try them: `make release-check`.

- The source package holds every file of the repository, and both packages the data of `src/`; their metadata renders.
- The core alone, from the wheel and from the source package, with each Python that is found.
- Each extra alone, from the wheel, with each Python that is found (`--pythons`, `--only` for fewer).
- From the unpacked source package, with each Python that is found: tests of every part of the package.

pip needs an index; nothing else is fetched. Environments are made in a temporary folder, one at a time.
"""

import argparse
import email
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pythons import NAMES, PROJECT, path_of

ROOT = Path(__file__).parents[1]

#: Extras for work on the package itself.
TOOLS = ("test", "docs", "browser", "dev", "bench")
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name not in TOOLS]

#: Files of the repository that the source package leaves out.
LEFT_OUT = (".ci/",)

#: Tests that are run from the unpacked source package with each Python: they read documents, examples and samples of
#: stored files, and compare decisions, statistics and logs with slow books. CI plays the whole suite.
TESTS = (
    "tests/test_release.py",
    "tests/test_problem_and_bounds.py",
    "tests/_util",
    "tests/stored",
    "tests/specs",
    "tests/matroids",
    "tests/policies",
    "tests/learner",
    "tests/evaluation",
    "tests/simulation/test_simulation.py",
    "tests/simulation/test_late_worlds.py",
    "tests/service/test_service_api.py",
    "tests/service/test_service_log.py",
)


def run(*words, **options):
    """Run a command, and end with what it printed where it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, words))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def environment(folder, python=sys.executable):
    """A new, empty environment; its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def pip(python, *words):
    """Install with the pip of an environment."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *words)


def build(folder):
    """Build both packages, the wheel from the source package; check their metadata with twine."""
    python = environment(folder / "build")
    pip(python, "build", "twine")
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT)
    run(python, "-m", "twine", "check", "--strict", *(folder / "dist").iterdir())
    [wheel], [source] = ([*(folder / "dist").glob(pattern)] for pattern in ("*.whl", "*.tar.gz"))
    return wheel, source


def check_contents(wheel, source):
    """Compare the files of both packages with those of the repository; look at the metadata."""
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as archive:
        installed = set(archive.namelist())
        [name] = [name for name in installed if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    tracked = set(run("git", "-C", ROOT, "ls-files").splitlines())
    expected = {name for name in tracked if not name.startswith(LEFT_OUT)}
    code = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    for what, found, wanted in (
        ("source package", packed, expected),
        ("wheel", {name for name in installed if ".dist-info/" not in name}, code),
    ):
        if found != wanted:
            raise SystemExit(
                f"{what}: missing {sorted(wanted - found)}, not in the repository {sorted(found - wanted)}"
            )
    assert metadata["Name"] == PROJECT["name"]
    assert metadata["License-Expression"] == PROJECT["license"]
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(metadata.get_payload()) > 1000
    for url in metadata.get_all("Project-URL", []):
        assert "https://" in url, url
    print(
        f"{source.name}: {len(packed)} files; {wheel.name}: {len(installed)} files; metadata of {metadata['Version']}"
    )


def smoke(folder, python, package, extra=None):
    """Install a package, alone or with an extra, into an empty environment, and run its program of `smoke.py` there.

    The core of the wheel compiles its kernels; everything else is tried interpreted, which is quicker at this size.
    """
    began = time.monotonic()
    inside = environment(folder / "try", python)
    pip(inside, f"{package}[{extra}]" if extra else package)
    run(inside, "-m", "pip", "check")
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    kind = "wheel" if package.suffix == ".whl" else "source"
    if extra or kind == "source":
        settings["NUMBA_DISABLE_JIT"] = "1"
    run(inside, ROOT / "tools" / "smoke.py", extra or "core", cwd=folder, env=settings)
    print(
        f"{Path(python).name}, {kind}, {extra or 'core alone'}: works ({time.monotonic() - began:.0f} s)", flush=True
    )


def unpack(folder, source):
    """Unpack the source package; its folder."""
    with tarfile.open(source) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    [root] = (folder / "unpacked").iterdir()
    return root


def check_tests(folder, python, root):
    """Run tests of the unpacked source package with the package installed from it, and collect the others."""
    began = time.monotonic()
    inside = environment(folder / "try", python)
    pip(inside, f"{root}[test]")
    run(inside, "-m", "pytest", "-n", "logical", "--dist", "worksteal", "-m", "not long", *TESTS, cwd=root)
    run(inside, "-m", "pytest", "--collect-only", "tests", cwd=root)
    print(f"{Path(python).name}, tests of {root.name}: pass ({time.monotonic() - began:.0f} s)", flush=True)


def main():
    """Check what `--only` names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    steps = ("contents", "core", *EXTRAS, "tests")
    parser.add_argument("--only", nargs="+", choices=steps, default=steps, help="steps to take (default: all)")
    parser.add_argument("--pythons", nargs="+", default=NAMES, metavar="PYTHON")
    given = parser.parse_args()
    found = [path for path in map(path_of, given.pythons) if path]
    print("Pythons:", ", ".join(found) or "none of " + ", ".join(given.pythons), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel, source = build(folder)
        if "contents" in given.only:
            check_contents(wheel, source)
        for python in found:
            if "core" in given.only:
                for package in (wheel, source):
                    smoke(folder, python, package)
            for extra in EXTRAS:
                if extra in given.only:
                    smoke(folder, python, wheel, extra)
        if "tests" in given.only:
            root = unpack(folder, source)
            for python in found:
                check_tests(folder, python, root)


if __name__ == "__main__":
    main()
