"""The command line as a whole: help, mistakes, how it ends."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from command_line import call, one_sentence
from matroid_bandits import __version__, datasets, specs
from matroid_bandits.cli import app
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.paper import EXPERIMENTS

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("reproduce",),
        ("simulate",),
        ("schema",),
        ("data",),
        ("data", "list"),
        ("data", "fetch"),
        ("data", "check"),
    ],
)
def test_help(command):
    result = call(*command, "--help")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "Usage: matroid-bandits" in words
    assert "matroid-bandits " + (" ".join(command) or "reproduce") in words.split("Example", 1)[-1]


@pytest.mark.skipif(os.name != "posix", reason="closes file descriptors by number")
@pytest.mark.parametrize("command", ["schema", "--version", "--help"])
def test_a_closed_output_is_said_in_a_sentence(command):
    code = "from matroid_bandits.cli import main; main()"
    line = [shutil.which("sh"), "-c", 'exec "$0" -c "$1" "$2" >&-', sys.executable, code, command]
    done = subprocess.run(line, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"matroid-bandits: cannot .* \(Bad file descriptor\)\.\n", done.stderr)


def test_help_tells_the_defaults():
    """They are written out, so that help is quick; here they are held against the experiments."""
    words = " ".join(call("reproduce", "--help").stdout.replace("│", " ").split())
    for name, experiment in EXPERIMENTS.items():
        n_episodes, n_runs = experiment.quick
        for text in (
            f"{experiment.n_runs} ({name})",
            f"{experiment.n_episodes:,} ({name})",
            f"{n_episodes:,} ({name})",
        ):
            assert text in words
        assert re.search(rf"\b{n_runs} (runs )?of {n_episodes:,}", words)
        assert f"by default {experiment.seed}." in words
    assert "--quick Small sizes" in words


def test_no_command_is_help():
    assert "Usage: matroid-bandits" in call().output


def test_version():
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"matroid-bandits {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nope"], "No such option: --nope"),
        (["reproduce", "--nope"], "No such option: --nope"),
        (["reproduce", "spanning"], "beyond or race; got 'spanning'"),
        (["reproduce", "--runs", "0"], "--runs"),
        (["reproduce", "--runs", "many"], "--runs"),
        (["reproduce", "--episodes", "-1"], "--episodes"),
        (["reproduce", "--seed", "-1"], "--seed"),
        (["reproduce", "--seed", str(2**64)], "expected an integer from 0 to 2**64 - 1"),
        (["reproduce", "--episodes", str(10**22)], "expected an integer from 1 to 1,000,000,000, got 1000"),
        (["simulate", "x.toml", "--runs", str(10**20)], "expected an integer from 1 to 1,000,000, got 1000"),
        (["simulate"], "PROBLEM.toml"),
        (["data", "fetch"], "NAME"),
        (["data", "fetch", "imdb"], "expected movielens, rocketfuel or kiva; got 'imdb'"),
        (["data", "lst"], "lst"),
        (["nope"], "nope"),
    ],
)
def test_bad_options(arguments, words):
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in one_sentence(result)
    assert "--help" in result.stderr


def test_interrupt_elsewhere(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(specs, "read_simulation", interrupted)
    result = call("simulate", "problem.toml")
    assert (result.exit_code, one_sentence(result)) == (130, "matroid-bandits: interrupted.\n")
    monkeypatch.setattr(datasets, "fetch", interrupted)
    result = call("data", "fetch", "movielens")
    assert result.exit_code == 130
    assert "the next fetch goes on from there" in one_sentence(result)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_closed_pipe_ends_quietly(tmp_path):
    code = "import sys, time; from matroid_bandits.cli import main; sys.stdin.read(); main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "data", "list"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full to stand for a full disk")
@pytest.mark.parametrize("arguments", [("schema",), ("data", "list"), ("--version",), ("--help",)])
def test_a_full_disk_is_one_sentence(tmp_path, arguments):
    code = "from matroid_bandits.cli import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert re.fullmatch(r"matroid-bandits: cannot .* \(No space left on device\)\.\n", done.stderr)


def test_schema():
    result = call("schema")
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert schema["required"] == ["weights", "episodes", "policies"]
    kinds = schema["properties"]["matroid"]["oneOf"][0]["discriminator"]["mapping"]
    assert {"uniform", "laminar", "truncate", "dual", "restrict", "contract", "direct_sum"} < set(kinds)


def test_a_misspelt_command():
    result = call("simulat")
    assert result.exit_code == 2
    assert one_sentence(result).endswith("Did you mean 'simulate'? Try: matroid-bandits --help\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell):
    code = "from matroid_bandits.cli import main; main()"
    environment = {**os.environ, "_MATROID_BANDITS_COMPLETE": f"source_{shell}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "_MATROID_BANDITS_COMPLETE=complete" in done.stdout


def make(*words):
    """What `make -n` would do, apart from any make that runs the tests."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHON" and not key.startswith("MAKE")}
    command = ["make", "-n", *words]
    done = subprocess.run(command, cwd=EXAMPLES.parent, env=plain, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_reproduce_says_how_to_call_the_command():
    assert "The command is .venv/bin/matroid-bandits" in make("reproduce")[-1]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_with_a_python_that_is_named_leaves_the_environment_of_another_alone():
    folder = ".venv-{}.{}".format(*sys.version_info)
    assert make("test", f"PYTHON={sys.executable}")[-1].startswith(f"{folder}/bin/python -m pytest")
    assert make("test")[-1].startswith(".venv/bin/python -m pytest")


def test_without_standalone_mode():
    """As typer's own callers may ask: errors are still sentences, the code is returned."""
    command = typer.main.get_command(app)
    assert command.main(["data", "fetch", "kiva"], standalone_mode=False) == 1


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("bug")

    monkeypatch.setattr(datasets, "list_datasets", broken)
    with pytest.raises(RuntimeError, match="bug"):
        CliRunner().invoke(app, ["data", "list"], catch_exceptions=False)


def test_expected_errors_are_one_sentence(monkeypatch):
    def wrong(*_):
        raise MatroidBanditsError("this and that")

    monkeypatch.setattr(datasets, "list_datasets", wrong)
    result = call("data", "list")
    assert (result.exit_code, result.stderr) == (1, "matroid-bandits: this and that\n")


def test_importing_the_command_line_is_quick():
    heavy = ["matplotlib", "rich.progress", "networkx", "pandas"]
    heavy += [f"matroid_bandits.{room}" for room in ("paper", "reporting", "datasets", "specs")]
    code = f"import sys; from matroid_bandits.cli import app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
