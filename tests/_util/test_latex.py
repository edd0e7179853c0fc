"""Tables: equal digits in a column, and LaTeX that escapes, aligns decimals and marks the best."""

import math
import re

import pytest

from matroid_bandits._util.latex import to_latex
from matroid_bandits._util.tables import P_VALUE, Column, Estimate, Table

NAN = math.nan


def decimals(text):
    """The digits after each point of a cell."""
    return [len(part) for part in re.findall(r"\.(\d+)", text)]


@pytest.mark.parametrize(
    ("spec", "cells", "shown"),
    [
        (".2f", [Estimate(3.14159, 0.25), Estimate(1234.5, 12.0)], ["3.14 ± 0.25", "1234.50 ± 12.00"]),
        (",.1f", [Estimate(3.14, 0.004), 0.0, 1234.5], ["3.140 ± 0.004", "0.000", "1,234.500"]),
        (".0f", [0.3, 12.0, None, "not known"], ["0.3", "12.0", "–", "not known"]),
        (".1f", [Estimate(0.02, 0.3), Estimate(-0.001, 0.3), Estimate(NAN, NAN)], ["0.0 ± 0.3", "0.0 ± 0.3", "–"]),
        (".2f", [1.0, NAN], ["1.00", "–"]),
        (".1%", [0.00042, 0.5], ["0.042%", "50.000%"]),
        (".4g", [0.9, 0.25, 1.0], ["0.90", "0.25", "1.00"]),
        ("g", [1e-9, 2.0], ["1e-09", "2"]),
        (".1f", [1e7, 1e-4], ["10000000.0", "0.0001"]),  # no number of decimals serves both
        (P_VALUE, [0.03, 1e-9, 1.0, NAN], ["0.030", "<0.001", "1.000", "–"]),
        (",", [1000, 7], ["1,000", "7"]),
    ],
)
def test_digits_are_equal_in_a_column(spec, cells, shown):
    table = Table("t", "T", (Column("n", spec),), tuple((cell,) for cell in cells))
    assert [text.replace("\u00a0", " ") for (text,) in table.texts()] == shown


def test_text_tables_line_up():
    rows = (("a", Estimate(3.0, 0.25)), ("b", Estimate(100.0, 12.0)), ("c", 7.5), ("d", "not known"))
    lines = Table("t", "T", (Column("x", is_text=True), Column("n", ".2f")), rows).to_text().splitlines()
    assert len({len(line) for line in lines}) == 1
    assert {line.index(".") for line in lines[2:5]} == {lines[2].index(".")}
    assert len({line.rindex(".") for line in lines[2:4]}) == 1


def visible(cell):
    """A cell as wide as LaTeX sets it in digits of equal width, in which what is hidden is blank."""
    cell = re.sub(r"\\textbf\{([^{}]*)\}", r"\1", cell)
    cell = re.sub(r"\\phantom\{([^{}]*)\}", lambda hidden: " " * len(hidden[1]), cell)
    return cell.strip("\n")


def test_latex_escapes_aligns_decimals_and_marks_the_best():
    signs = "50% & a_b #1 {x} ~ ^ \\ $ <i> ε | … ± –"
    rows = (
        (signs, Estimate(3.0, 0.25), 0.0004),
        ("b", Estimate(-1100.0, 112.0), 0.25),
        ("c", 7.5, NAN),
        ("x" * 200, "not known", 1.0),
    )
    columns = (
        Column("policy", is_text=True),
        Column("re_gret", ",.2f", "a & b"),
        Column("p", P_VALUE, "a & b"),
    )
    text = to_latex(Table("t 1", signs, columns, rows, "A note", best=frozenset({(1, 1), (3, 0)})))
    lines = text.splitlines()
    assert lines[0] == r"\begin{table}"
    assert lines[-1] == r"\end{table}"
    assert r"\label{tab:t-1}" in lines
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == 4
    bare = re.sub(r"\\[&%$#_{}\\]", "", text)  # without what is escaped
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[#~^](?!\d)", re.sub(r"\$\\pm\$~|\\text\w+\{\}", "", bare))
    assert all(sign in text for sign in (r"50\%", r"\&", r"a\_b", r"\#1", r"\{x\}", r"\textbackslash{}", "$<$i$>$"))
    cells = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in body]
    assert [len(row) for row in cells] == [3, 3, 3, 3]
    assert cells[1][1] == r"\textbf{$-$1,100.00} $\pm$~112.00"
    assert cells[3][0].startswith(r"\textbf{x")
    assert len(cells[3][0]) < 130
    shown = [visible(row[1]) for row in cells[:3]]
    at = [len(text) - text.index(".") for text in shown]  # from the right end, where the column is aligned
    assert at == [at[0]] * 3, shown
    assert [row[2] for row in cells] == ["$<$0.001", "0.250", "--", "1.000"]
    assert lines[5].startswith(r" & \multicolumn{2}{c}{a \& b}") or r"\multicolumn{2}{c}{a \& b}" in text
    assert r"\cmidrule(lr){2-3}" in text


def test_captions_and_labels_are_ones_own():
    table = Table("t", "T", (Column("x"),), ((1,),), "N")
    assert r"\caption{T. N.}" in to_latex(table)
    text = to_latex(table, caption="50% of it", label="tab:mine")
    assert r"\caption{50\% of it}" in text
    assert r"\label{tab:mine}" in text
    assert to_latex(Table("t", "T", (Column("x"),), ())).count("&") == 0
