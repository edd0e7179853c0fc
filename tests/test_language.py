"""Documentation is in plain technical English: no pronouns for programs, a clear first sentence for each name."""

import functools
import inspect
import re

import pytest
from typer.main import get_command

from matroid_bandits import exceptions
from matroid_bandits.cli import app
from matroid_bandits.service import Settings
from test_docs import PAGES, ROOT, public_names

#: Pronouns for programs, and phrases that make a reader guess, with what to write instead.
RIDDLES = {
    r"who(m)?ever": "name the subject",
    r"(no|some|every|any)body": "name the subject",
    r"(of )?one's own": "separate, or user-defined",
    r"however often one looks": "at every look",
    r"(for|to|after|of|over|with|within|in) so many": "give the number or its name",
    r"so many (seconds|days|items|episodes|rounds|times|of|per|in|gains|leaders)": "give the number or its name",
    r"and that is that|takes? the log's word|by the log's word": "say what the program does",
    r"as if it were here": "remote, local",
}
RIDDLE = re.compile(rf"\b(?:{'|'.join(RIDDLES)})\b", re.IGNORECASE)

#: Beginnings that leave a stranger without a subject.
OPENING = re.compile(r"(What|Those|Who|Whom|Its|Their|It|They|As|See)\b")

#: Longest first sentence, in characters.
MOST = 170


def prose(page):
    """The text of a page of Markdown without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def documented():
    """(name, docstring) of every public class, function, method and property that has one of its own."""
    seen = set()
    for full_name, thing in public_names():
        name = full_name.removeprefix("matroid_bandits.")
        yield name, thing.__doc__
        for base in thing.__mro__ if inspect.isclass(thing) else ():
            for key, member in vars(base).items() if base.__module__.startswith("matroid_bandits") else ():
                function = {
                    property: lambda p: p.fget,
                    functools.cached_property: lambda p: p.func,
                    classmethod: lambda p: p.__func__,
                    staticmethod: lambda p: p.__func__,
                }.get(type(member), lambda p: p)(member)
                if key.startswith("_") or not inspect.isfunction(function) or function in seen:
                    continue
                seen.add(function)
                if function.__doc__:  # others inherit what they say
                    yield f"{name}.{key}", function.__doc__
    for name, thing in vars(exceptions).items():
        if inspect.isclass(thing):
            yield name, thing.__doc__


DOCUMENTED = dict(documented())


def first_sentence(docstring):
    """The first sentence, which ends at a period before a space or at the end of the first paragraph."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[^.][.])(?<!e\.g\.)(?<!i\.e\.)(?<!al\.)\s+(?=[A-Z`:])", paragraph)[0]


def commands(command, path=("matroid-bandits",)):
    """(words, text) of the help of a command, its parameters and the commands below it."""
    yield " ".join(path), command.help or ""
    for parameter in command.params:
        yield f"{' '.join(path)} {parameter.name}", getattr(parameter, "help", None) or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def test_first_sentences():
    wrong = []
    for name, docstring in DOCUMENTED.items():
        sentence = first_sentence(docstring)
        bare = re.sub(r"[^a-z]", "", sentence.lower())
        if not sentence.endswith(".") or sentence.endswith(".."):
            wrong.append(f"{name}: no sentence that ends with a period: {sentence}")
        elif not 15 <= len(sentence) <= MOST:
            wrong.append(f"{name}: {len(sentence)} characters: {sentence}")
        elif OPENING.match(sentence):
            wrong.append(f"{name}: begins without a subject: {sentence}")
        elif bare in (name.lower().split(".")[-1].replace("_", ""), ""):
            wrong.append(f"{name}: says its name alone: {sentence}")
    assert not wrong, "\n".join(wrong)


def test_the_rule_finds_what_it_is_for():
    for text in ("Whoever asks first", "for so many seconds", "Nobody knows.", "classes of one's own"):
        assert RIDDLE.search(text), text
    assert not RIDDLE.search("There are so many that a scan is faster.")
    assert first_sentence("One. Two.") == "One."
    assert first_sentence("Sets (e.g. trees) by Chen et al. in 2014.\n\nMore.") == (
        "Sets (e.g. trees) by Chen et al. in 2014."
    )


def test_docstrings_have_no_riddles():
    found = {
        name: hits
        for name, text in DOCUMENTED.items()
        if (hits := [match.group() for match in RIDDLE.finditer(text)])
    }
    assert not found


@pytest.mark.parametrize(
    "page",
    [page for page in [*PAGES, ROOT / "CONTRIBUTING.md"] if page.name != "changelog.md"],
    ids=lambda page: page.name,
)
def test_pages_have_no_riddles(page):
    assert not [match.group() for match in RIDDLE.finditer(prose(page))]


def test_help_has_no_riddles_and_no_gaps():
    for name, text in commands(get_command(app)):
        assert text, name
        assert not RIDDLE.search(text), f"{name}: {text}"
        assert text.rstrip().endswith("."), f"{name}: {text}"


def test_settings_have_no_riddles():
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert not RIDDLE.search(field.description), name
