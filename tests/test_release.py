"""The package can be released: its papers agree with each other, and its packages hold what they should."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import matroid_bandits as mb

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_changelog_begins_with_this_version_or_the_last_released():
    titles = re.findall(r"(?m)^## (\S+) - (\d{4}-\d\d-\d\d)$", text_of("CHANGELOG.md"))
    assert len(titles) == len(re.findall(r"(?m)^## (?!Unreleased)", text_of("CHANGELOG.md")))
    released, date = titles[0]
    is_released = mb.__version__ == released
    assert is_released or (".dev" in mb.__version__ and mb.__version__ > released)
    assert is_released or "\n## Unreleased\n" in text_of("CHANGELOG.md")
    assert titles == sorted(titles, reverse=True)
    assert f"version: {released}\ndate-released: {date}" in text_of("CITATION.cff")
    assert f"version = {{{released}}}" in text_of("docs/for-a-paper.md")
    assert f"| {released.rpartition('.')[0]} | yes |" in text_of("SECURITY.md")


def test_the_citation_has_the_fields_of_its_format():
    yaml = pytest.importorskip("yaml")
    form = yaml.safe_load(text_of("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= form.keys()  # those that the schema requires
    assert (form["cff-version"], form["type"], form["license"]) == ("1.2.0", "software", "BSD-3-Clause")
    for each in [form, *form["references"]]:
        assert all(who.keys() in ({"name"}, {"family-names", "given-names"}) for who in each["authors"])


def test_pythons_are_those_of_the_classifiers():
    classifiers = PYPROJECT["project"]["classifiers"]
    pythons = [each.removeprefix("Programming Language :: Python :: ") for each in classifiers if ":: 3." in each]
    assert PYPROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert f"Python {', '.join(pythons[:-1])} and {pythons[-1]}" in text_of("docs/versions.md")


def test_the_source_package_holds_every_file_of_the_repository():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode != 0:
        pytest.skip("not a clone")
    included = {path.strip("/") for path in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    top = {line.partition("/")[0] for line in files.stdout.splitlines()}
    assert top - included == {".ci", ".gitignore", "pyproject.toml"}  # hatchling adds the last two


def test_every_extra_has_a_program_that_tries_it():
    programs = runpy.run_path(str(ROOT / "tools" / "smoke.py"), run_name="smoke")["PROGRAMS"]
    check = runpy.run_path(str(ROOT / "tools" / "release_check.py"), run_name="check")
    assert list(programs) == ["core", *check["EXTRAS"]]
    for name in ("core", "specs", "frame", "client"):
        programs[name]()


def test_every_dependency_has_a_lower_bound():
    found = runpy.run_path(str(ROOT / "tools" / "lowest.py"), run_name="lowest")["lower_bounds"]()
    assert {"numpy", "numba", "matplotlib", "sqlalchemy"} <= found.keys()


@pytest.mark.long
def test_the_wheel_works_alone():
    command = [sys.executable, ROOT / "tools" / "release_check.py", "--only", "contents", "frame", "--pythons"]
    subprocess.run([*command, sys.executable], check=True)
