"""Tables for a paper: LaTeX with booktabs, the same numbers, signs and notes as in the terminal and on the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from matroid_bandits._util.tables import STANDIN_NOTE, Table, groups_of

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "†": r"$\dagger$",
    "–": "--",
    "−": "$-$",
    "…": r"\ldots{}",
    "\u00a0": "~",
}


def to_latex(table: Table, *, caption: str | None = None, label: str | None = None) -> str:
    r"""Return a table as a LaTeX float that needs the package booktabs; decimals are aligned, the best in bold.

    Parameters
    ----------
    table : Table
        What to write.
    caption : str, optional
        Plain text; by default the table's title and note.
    label : str, optional
        For ``\ref``; by default "tab:" and the table's name.

    Examples
    --------
    >>> from matroid_bandits.reporting import Column, Estimate
    >>> columns = (Column("policy", is_text=True), Column("regret", ".1f"))
    >>> rows = (("A", Estimate(2, 1)), ("B_1", Estimate(31, 12)))
    >>> print(to_latex(Table("t", "50% more", columns, rows, best=frozenset({(0, 1)}))))
    \begin{table}
    \centering
    \begin{tabular}{lr}
    \toprule
    policy & regret \\
    \midrule
    A & \textbf{2.0} $\pm$~\phantom{1}1.0 \\
    B\_1 & 31.0 $\pm$~12.0 \\
    \bottomrule
    \end{tabular}
    \caption{50\% more.}
    \label{tab:t}
    \end{table}
    """
    heads = [" & ".join(escaped(column.name) for column in table.columns) + r" \\"]
    if any(column.group for column in table.columns):
        cells, rules, at = [], [], 1
        for group, n in groups_of(table):
            cells.append(rf"\multicolumn{{{n}}}{{c}}{{{escaped(group)}}}" if group else " & ".join([""] * n))
            rules += [rf"\cmidrule(lr){{{at}-{at + n - 1}}}"] if group else []
            at += n
        heads = [" & ".join(cells) + r" \\", *([" ".join(rules)] if rules else []), *heads]
    by_column = [
        _column(texts, column.is_text, {row for row, at in table.best if at == place})
        for place, (column, texts) in enumerate(zip(table.columns, zip(*table.texts(), strict=True), strict=False))
    ]
    rows = [" & ".join(row) + r" \\" for row in zip(*by_column, strict=True)]
    if caption is None:
        notes = (table.title, table.note, STANDIN_NOTE if table.is_standin else "")
        caption = " ".join(note if note.endswith(".") else f"{note}." for note in notes if note)
    name = f"tab:{table.name}" if label is None else label
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{''.join('l' if column.is_text else 'r' for column in table.columns)}}}",
            r"\toprule",
            *heads,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{escaped(caption)}}}",
            rf"\label{{{re.sub(r'[^A-Za-z0-9:._+-]+', '-', name)}}}",
            r"\end{table}",
        ]
    )


def _column(texts: Sequence[str], is_text: bool, best: set[int]) -> list[str]:
    """The cells of a column; invisible digits make numbers and errors equally wide, which aligns their decimals."""
    if is_text:
        return [rf"\textbf{{{escaped(text)}}}" if row in best else escaped(text) for row, text in enumerate(texts)]
    parts = [text.partition(" ±\u00a0") for text in texts]
    means, errors = [mean for mean, _, _ in parts], [error for _, _, error in parts]
    longest = max((error for error in errors if error), key=len, default="")
    most = max(map(_n_decimals, means), default=0)
    cells = []
    for row, (mean, error) in enumerate(zip(means, errors, strict=True)):
        number = _signed(mean)
        cell = (rf"\textbf{{{number}}}" if row in best else number) + _hidden(mean, most)
        if error:
            cell += rf" $\pm$~{_phantom(longest[: len(longest) - len(error)])}{escaped(error)}"
        elif longest and _is_number(mean):
            cell += rf"\phantom{{ $\pm$~{escaped(longest)}}}"
        cells.append(cell)
    return cells


def _signed(text: str) -> str:
    """A number with a minus sign, where it has one, or other text."""
    return f"$-${escaped(text[1:])}" if text.startswith("-") and _is_number(text) else escaped(text)


def _hidden(text: str, most: int) -> str:
    """Room for the decimals that a number does not have and others of its column do."""
    own = _n_decimals(text)
    return _phantom(("" if own else ".") + "0" * (most - own)) if _is_number(text) and own < most else ""


def _phantom(text: str) -> str:
    return rf"\phantom{{{text}}}" if text else ""


def _n_decimals(text: str) -> int:
    found = re.fullmatch(r"[-<]?[\d,]*\.(\d+)%?", text)
    return len(found[1]) if found else 0


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-<]?[\d,]*\.?\d+%?", text) is not None


def escaped(text: str) -> str:
    """Return text with the signs that LaTeX reads as commands escaped."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)
