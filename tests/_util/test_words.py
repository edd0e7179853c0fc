"""Numbers and names as people read them."""

import difflib
import math
import random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matroid_bandits._util.text import did_you_mean, number, printable, with_error


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (0.0041, ".3f", "0.0041"),
        (0.0045, ".3f", "0.0045"),
        (0.00012345, ".3f", "0.000123"),
        (-0.0001, ".3f", "-0.0001"),
        (2.5e-7, ".4f", "2.5e-07"),
        (5.444, ".3f", "5.444"),
        (1775.94, ",.1f", "1,775.9"),
        (0.0, ".3f", "0.000"),
        (-1e-17, ".3f", "0.000"),  # what rounding leaves
        (math.inf, ".3f", "inf"),
        (0.935, ".1%", "93.5%"),
        (0.0004, ".0%", "0.04%"),
        (12, ",", "12"),
        (0, "", "0"),
    ],
)
def test_numbers_are_readable_at_any_size(value, spec, text):
    assert number(value, spec) == text


@given(st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-11), st.sampled_from([".3f", ",.1f", ".4f", ".2f", ""]))
def test_no_number_is_changed_by_more_than_its_digits(value, spec):
    assert float(number(value, spec).replace(",", "")) == pytest.approx(value, rel=0.021)


@pytest.mark.parametrize(
    ("mean", "error", "spec", "text"),
    [
        (0.00012, 0.00003, ".4f", "0.00012 ± 3e-05"),
        (0.0001, 0.0000012, ".3f", "0.0001 ± 1.2e-06"),
        (5.0, math.nan, ".2f", "5.00"),
        (0.5, 0.0001, ".1%", "50.0% ± 0.01%"),
        (3.0, 1e-17, ".2f", "3.00 ± 0.00"),
    ],
)
def test_means_with_errors(mean, error, spec, text):
    assert with_error(mean, error, spec) == text.replace("± ", "±\u00a0")


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_name_can_be_part_of_a_page(name):
    shown = printable(name)
    text = shown.replace("&", "&amp;").replace("<", "&lt;")
    assert ElementTree.fromstring(f"<p>{text}</p>".encode()).text in (shown, shown or None)
    assert printable(shown) == shown


def test_names_that_can_be_shown_stay_as_they_are():
    for name in ("ε-greedy, 0.001", "$x_1$", "_hidden", "π & <b>", "\u00a0", "👩‍🔬", "日本"):
        assert printable(name) == name


def test_hints_compare_few_words_letter_by_letter(monkeypatch):
    compared, looked_at = [], []
    ratio, quick_ratio = difflib.SequenceMatcher.ratio, difflib.SequenceMatcher.quick_ratio
    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", lambda self: compared.append(self.a) or ratio(self))
    monkeypatch.setattr(
        difflib.SequenceMatcher, "quick_ratio", lambda self: looked_at.append(len(self.a)) or quick_ratio(self)
    )
    rng = random.Random(0)
    for length in (5, 40, 190, 10**6):
        labels = ["".join(rng.choices("ab", k=min(length, 190))) for _ in range(4500)]
        did_you_mean("a" * length, labels)
        assert len(compared) <= 5
        assert sum(looked_at) <= 50_000
        compared.clear()
        looked_at.clear()
    assert did_you_mean("Boost", ["heels", "boots", 3, None]) == "; did you mean 'boots'?"
    assert did_you_mean("boots", ["fedora"]) == did_you_mean("x" * 190, ["x" * 191]) == did_you_mean(3, ["3"]) == ""
