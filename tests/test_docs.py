"""What the documentation shows runs, and every command and public name is written about."""

import importlib
import inspect
import pkgutil
import pydoc
import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import matroid_bandits as mb
from matroid_bandits import exceptions
from matroid_bandits.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.compiled
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for file, block in re.findall(r"```\w+(?: (\S+\.\w+))?\n(.*?)```", text, flags=re.DOTALL):
        if file:  # a block with a name is a file
            monkeypatch.delitem(sys.modules, file.removesuffix(".py"), raising=False)
            Path(file).write_text(block)
    blocks = r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?"
    for block, shown in re.findall(blocks, text, flags=re.DOTALL):  # a page's blocks are one program
        capsys.readouterr()
        exec(compile(block, str(page), "exec"), names)
        if shown:  # python docs/run_tutorials.py writes these anew
            assert untimed(shown) == untimed(capsys.readouterr().out)


def untimed(text):
    """Without what differs from run to run: the seconds that something took, in a line or a column."""
    lines, column = [], None
    for line in text.splitlines():
        if " seconds" in line:
            column = line.index(" seconds")
        elif not line:
            column = None
        lines.append(line if column is None else line[:column] + line[column + len(" seconds") :])
    return re.sub(r"[\d.,]+ s\b", "_ s", "\n".join(lines))


def test_figures_of_tutorials_are_saved_by_their_code():
    for page in (ROOT / "docs").glob("tutorial-*.md"):
        text = page.read_text(encoding="utf-8")
        figures = re.findall(r"\(figures/tutorial-([\w-]+\.svg)\)", text)
        assert figures
        for figure in figures:
            assert f'savefig("{figure}")' in text


def test_every_command_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name, command in get_command(app).commands.items():
        for word in getattr(command, "commands", {"": None}):
            assert f"matroid-bandits {name} {word}".strip() in text


def public_names():
    """Every class and function that a user may import, errors apart, by its full name."""
    modules = [module.name for module in pkgutil.iter_modules(mb.__path__, "matroid_bandits.")]
    private = ("_", "kernels", "compiled", "exceptions")  # what users need of `compiled` is in docs/engines.md
    private = tuple(f"matroid_bandits.{name}" for name in private)
    for room in [mb, *(importlib.import_module(name) for name in modules if not name.startswith(private))]:
        own = [name for name, thing in vars(room).items() if getattr(thing, "__module__", "") == room.__name__]
        for name in getattr(room, "__all__", own):
            thing = getattr(room, name)
            if not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
                yield f"{room.__name__}.{name}", thing


def test_every_public_name_has_a_docstring_with_an_example():
    assert [name for name, thing in public_names() if ">>> " not in (inspect.getdoc(thing) or "")] == []


def test_every_error_says_what_it_is_for():
    for name, thing in vars(exceptions).items():
        if inspect.isclass(thing):
            assert thing.__doc__, name


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_placeholder_is_left():
    for page in PAGES:
        assert not re.findall(r"^[A-Z]+(?:_[A-Z]+)+$", page.read_text(encoding="utf-8"), flags=re.MULTILINE), (
            page.name
        )


def test_help_is_readable():
    """Names such as ArrayLike stay names, instead of the ten types behind them."""
    unreadable = "numpy._typing"
    assert [name for name, thing in public_names() if unreadable in pydoc.plain(pydoc.render_doc(thing))] == []


def test_class_attributes_are_in_the_docstring():
    missing = []
    for thing in filter(inspect.isclass, (getattr(mb, name) for name in mb.__all__)):
        documented = "\n".join(
            base.__doc__ or "" for base in thing.__mro__ if base.__module__.startswith("matroid_bandits")
        )
        for name, value in vars(thing).items():
            is_plain = not callable(value) and not hasattr(value, "__get__") and not name.startswith(("_", "model_"))
            if is_plain and not re.search(rf"\b{name}\b", documented):
                missing.append(f"{thing.__name__}.{name}")
    assert missing == []
