"""The command line as tests call it."""

from typer.testing import CliRunner

from matroid_bandits.cli import app

TINY = ["--runs", "1", "--episodes", "3"]


def call(*arguments: str):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="matroid-bandits")


def one_sentence(result) -> str:
    """What was said on stderr, which must be a line."""
    assert result.stderr.startswith("matroid-bandits: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr
