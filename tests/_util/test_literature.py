"""Names of the literature lead to the names here: as attributes, in stored forms, in problem files and on a page."""

import re
from pathlib import Path

import pytest

import matroid_bandits as mb
from matroid_bandits._util import literature
from matroid_bandits._util.literature import CONSTRAINTS, ENTRIES, ENVIRONMENTS, POLICIES, known_as
from matroid_bandits.exceptions import DataError, SerializationError
from matroid_bandits.specs import ConstraintSpec, PolicySpec, WeightsSpec, parse

PAGE = Path(__file__).parents[2] / "docs" / "names.md"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("CTS", "CTS is ThompsonSampling here$"),
        ("CombUCB1", r"CombUCB1 is OMM\(scale=sqrt\(0.75\)\) here$"),
        ("SW_UCB", "SW-UCB is SlidingWindowOMM here$"),
        ("SpanningTree", "spanning tree is GraphicMatroid here$"),
        ("SpanningTreeConstraint", "spanning tree is GraphicMatroid here$"),
        ("TopK", "top-k is UniformMatroid here$"),
        ("ShortestPath", "shortest path is PathConstraint here, in a Problem with minimize=True for shortest paths$"),
        ("NormalEnvironment", "normal environment is GaussianEnvironment here$"),
        ("KLUCB", "KL-UCB is KLOSM here, for sets of any size$"),
        ("Comb", "no attribute 'Comb'$"),
    ],
)
def test_attributes(name, sentence):
    with pytest.raises(AttributeError, match=sentence):
        getattr(mb, name)


def test_stored_forms_and_problem_files():
    with pytest.raises(
        SerializationError, match=r"LLR is OMM\(scale=sqrt\(\(K \+ 1\) / 2\)\) here, for sets of K items$"
    ):
        mb.policy_from_dict({"policy": "LLR"})
    with pytest.raises(SerializationError, match=r"import it$"):  # a constraint is no policy
        mb.policy_from_dict({"policy": "top-k"})
    ground = parse(ConstraintSpec, {"kind": "uniform", "rows": ["a", "b"], "rank": 1}).ground()
    with pytest.raises(DataError, match=r"; KL-UCB\+\+ is KLUCBPlusPlus here, without a horizon$"):
        parse(PolicySpec, {"policy": "kl-ucb++"}).make(ground)
    with pytest.raises(DataError, match=r"; spanning tree is 'graphic' here$"):
        parse(ConstraintSpec, {"kind": "spanning-tree"})
    with pytest.raises(DataError, match=r"; normal is 'gaussian' here$"):
        parse(WeightsSpec, {"family": "normal", "mean": "m"})
    form = mb.UniformMatroid(3, 1).to_dict() | {"kind": "top_k"}
    with pytest.raises(SerializationError, match=r"; top-k is 'uniform' here$"):
        mb.constraint_from_dict(form)
    assert known_as(["LLR"]) == known_as(None) == ""


def test_every_entry_names_what_there_is():
    for entry in ENTRIES:
        name, *attributes = re.match(r"[\w.]+", entry.ours)[0].split(".")
        thing = getattr(mb, name)
        for attribute in attributes:
            thing = getattr(thing, attribute)
        assert known_as(name) == "" or name not in entry.names
    plain = [literature._plain(name) for entry in ENTRIES for name in entry.names]
    assert len(set(plain)) == len(plain)  # no name leads to two things
    assert not {name for entry in ENTRIES for name in entry.names} & set(mb.__all__)


def test_words_are_those_of_files():
    kinds = {entry.words[0] for entry in CONSTRAINTS if entry.words}
    families = {entry.words[0] for entry in ENVIRONMENTS if entry.words}
    for words, spec, data in (
        (kinds, ConstraintSpec, {"kind": "?"}),
        (families, WeightsSpec, {"family": "?", "mean": "m"}),
    ):
        with pytest.raises(DataError) as refused:
            parse(spec, data)
        assert words <= set(re.findall(r"\w+", str(refused.value)))


@pytest.mark.parametrize(
    "entries", [POLICIES, CONSTRAINTS, ENVIRONMENTS], ids=["policies", "constraints", "environments"]
)
def test_page_has_a_row_for_every_entry(entries):
    text = PAGE.read_text(encoding="utf-8")
    for entry in entries:
        ours = f"`{entry.ours}`" + (f", {entry.note}" if entry.note else "")
        cells = [", ".join(entry.names), ours, *([entry.source] if entries is POLICIES else [])]
        assert "| " + " | ".join(cells) + " |" in text
