"""Tables for a paper: LaTeX with booktabs, the same numbers, signs and notes as in the terminal and on the page."""

from __future__ import annotations

from matroid_bandits.reporting._blocks import STANDIN_NOTE, Table, groups_of

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
    "±": r"$\pm$",
    "×": r"$\times$",
    "ε": r"$\varepsilon$",
    "†": r"$\dagger$",
    "–": "--",
    "−": "$-$",
    "\u00a0": "~",
}


def to_latex(table: Table) -> str:
    r"""Return a table as a LaTeX float that needs the package booktabs; title and note are its caption.

    Examples
    --------
    >>> from matroid_bandits.reporting import Column, Estimate
    >>> columns = (Column("policy", is_text=True), Column("regret", ".1f"))
    >>> table = Table("t", "50% more", columns, (("A", Estimate(2, 1)),))
    >>> print(to_latex(table))
    \begin{table}
    \centering
    \begin{tabular}{lr}
    \toprule
    policy & regret \\
    \midrule
    A & 2.0 $\pm$~1.0 \\
    \bottomrule
    \end{tabular}
    \caption{50\% more.}
    \label{tab:t}
    \end{table}
    """
    heads = [" & ".join(_escaped(column.name) for column in table.columns) + r" \\"]
    if any(column.group for column in table.columns):
        cells, rules, at = [], [], 1
        for group, n in groups_of(table):
            cells.append(rf"\multicolumn{{{n}}}{{c}}{{{_escaped(group)}}}" if group else " & ".join([""] * n))
            rules += [rf"\cmidrule(lr){{{at}-{at + n - 1}}}"] if group else []
            at += n
        heads = [" & ".join(cells) + r" \\", *([" ".join(rules)] if rules else []), *heads]
    rows = [" & ".join(map(_escaped, row)) + r" \\" for row in table.texts()]
    notes = (table.title, table.note, STANDIN_NOTE if table.is_standin else "")
    caption = " ".join(_escaped(note if note.endswith(".") else f"{note}.") for note in notes if note)
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
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{table.name}}}",
            r"\end{table}",
        ]
    )


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)
