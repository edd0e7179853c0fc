"""What the documentation shows runs, and every command and public name is written about."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

import matroid_bandits as mb
from matroid_bandits.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.compiled
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:  # a page's blocks are one program
        exec(compile(block, str(page), "exec"), names)


def test_every_command_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name, command in get_command(app).commands.items():
        for word in getattr(command, "commands", {"": None}):
            assert f"matroid-bandits {name} {word}".strip() in text


def test_every_public_name_has_a_docstring():
    for name in mb.__all__:
        thing = getattr(mb, name)
        if not isinstance(thing, str):
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
