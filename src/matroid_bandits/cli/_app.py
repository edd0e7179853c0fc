"""The application that commands are added to, and how it tells what went wrong."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from matroid_bandits._version import __version__
from matroid_bandits.exceptions import MatroidBanditsError

#: The exit status of a program that Ctrl-C ended.
EXIT_INTERRUPTED = 130


def complain(sentence: str) -> None:
    """Say what went wrong, in one sentence on standard error."""
    typer.echo(f"matroid-bandits: {sentence}", err=True)


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """Write out what was printed before the program ends, and say in a sentence when that is impossible."""
    # Python would do it later, with a traceback.
    code: int | str | None = 0
    try:
        yield
    except SystemExit as exit:
        code = exit.code
    try:
        sys.stdout.flush()
    except OSError as error:
        if not code:  # otherwise it was said already
            complain(f"cannot write the output ({error.strerror}).")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's own attempt at the end
        code = code or 1
    sys.exit(code)


class _Commands(TyperGroup):
    """The commands; what is wrong is said in one sentence, with exit status 2 for the command line itself, else 1."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except MatroidBanditsError as error:
            complain(str(error))
            code = 1
        except OSError as error:  # a full disk behind stdout, say; a closed pipe ends quietly before it gets here
            complain(f"cannot go on ({error.strerror or error}).")
            code = 1
        except Exception as error:
            # Not `except UsageError`: typer brings its own copy of click, or uses the one installed.
            if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
                raise
            message = " ".join(error.format_message().split()).rstrip(".")
            message += "" if message.endswith(("?", "!")) else "."
            context = getattr(error, "ctx", None)
            hint = f" Try: {context.command_path} --help" if context is not None else ""
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(error.format_message())
            else:
                complain(f"{message}{hint}")
            code = int(error.exit_code)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # where no command has more to say about it
            complain("interrupted.")
            raise typer.Exit(EXIT_INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Matroid bandits: simulate policies, reproduce the paper's experiments, and serve a live learner.",
    epilog="Start with: matroid-bandits reproduce --quick",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"matroid-bandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, metavar="", help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass
