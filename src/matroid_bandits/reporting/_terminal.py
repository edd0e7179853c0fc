"""Chapters in the terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from matroid_bandits._util.extras import missing
from matroid_bandits._util.plots import STANDIN
from matroid_bandits._util.tables import STANDIN_NOTE, Table
from matroid_bandits.reporting._blocks import Claim, Plot, Text, unknown_block
from matroid_bandits.reporting._chapter import Chapter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

_COLORS = {"holds": "green", "does not hold": "red", "undecided": "cyan"}
_GAP = 2  # blanks that come with a column


def open_console() -> Console:
    """Return a rich console that writes to standard output.

    Examples
    --------
    >>> open_console().print(styled("a [b] is no markup"))
    a [b] is no markup
    """
    try:
        from rich.console import Console
    except ImportError:
        raise missing("a console needs rich", "cli") from None
    return Console(highlight=False)


def styled(*parts: str | tuple[str, str]) -> RichText:
    """Return text with styled parts, in which markup is not interpreted.

    Examples
    --------
    >>> styled(("bold", "bold"), " and plain").plain
    'bold and plain'
    """
    try:
        from rich.text import Text
    except ImportError:
        raise missing("styled text needs rich", "cli") from None
    return Text.assemble(*parts)


def print_chapter(console: Console, chapter: Chapter) -> None:
    """Print a chapter's heading, settings, text, tables and claims, without its plots.

    Examples
    --------
    >>> from matroid_bandits.reporting import Chapter, RunFacts, Text
    >>> facts = RunFacts(10, 2, 0, "observe", {}, (), 0.0)
    >>> chapter = Chapter("mine", "My problem", "", facts, (Text("What was found."),))
    >>> print_chapter(open_console(), chapter)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    My problem ...
    2 runs of 10 episodes, seed 0
    <BLANKLINE>
    What was found.
    <BLANKLINE>
    """
    section = f" (Section {chapter.section})" if chapter.section else ""
    console.rule(styled((chapter.title, "bold"), section), align="left")
    console.print(styled((f"{chapter.run.size}\n", "dim")))
    for block in chapter.blocks:
        if isinstance(block, Table):
            print_table(console, block)
        elif isinstance(block, Claim):
            mark = _standin_mark(block.is_standin)
            console.print(styled((block.verdict, _COLORS[block.verdict]), f": {block.text}", mark))
            console.print(styled((f"{block.evidence}\n", "dim")))
        elif isinstance(block, Text):
            console.print(styled(f"{block.text}\n"))
        elif not isinstance(block, Plot):
            raise unknown_block(block, "the terminal")


def print_table(console: Console, table: Table) -> None:
    """Print one table with its title and note.

    Examples
    --------
    >>> from matroid_bandits.reporting import Column
    >>> print_table(open_console(), Table("n", "Numbers", (Column("n"),), ((1,),)))  # doctest: +ELLIPSIS
    Numbers
    ...
    """
    notes = [note for note in (table.note, STANDIN_NOTE if table.is_standin else "") if note]
    console.print(styled((table.title, "bold"), _standin_mark(table.is_standin)))
    for part in table_parts(table, console.width):
        console.print(part)
    if notes:
        console.print(styled((" ".join(notes), "dim")))
    console.print()


def table_parts(table: Table, width: int) -> Iterator[RichTable]:
    """The table, or where it is too wide as many as needed one below the other, each with the first column."""
    from rich.cells import cell_len

    cells = [[text.replace("\u00a0", "") for text in column] for column in zip(*table.texts(), strict=True)]
    least, most = [], []
    for column, texts in zip(table.columns, cells, strict=True):
        lines = [column.group, column.name, *texts]
        most.append(max(map(cell_len, lines)))
        least.append(max(cell_len(word) for line in lines for word in line.split(" ")))
    # A word that leaves no room for anything else is broken.
    least[0] = min(least[0], max(1, width // 2 - 2))
    least[1:] = [min(size, max(1, width - least[0] - 2 * _GAP)) for size in least[1:]]
    part = [0]
    for at in range(1, len(least)):
        if len(part) > 1 and sum(least[c] + _GAP for c in (*part, at)) > width:
            yield _part(table, cells, part, _widths(part, least, most, width))
            part = [0]
        part.append(at)
    yield _part(table, cells, part, _widths(part, least, most, width))


def _widths(part: list[int], least: list[int], most: list[int], width: int) -> list[int]:
    """Share the room among the columns that want more than they need."""
    widths = [least[c] for c in part]
    for _ in range(width - sum(size + _GAP for size in widths)):
        wanting = [place for place, c in enumerate(part) if widths[place] < most[c]]
        if not wanting:
            break
        widths[max(wanting, key=lambda place: most[part[place]] / widths[place])] += 1
    return widths


def _part(table: Table, cells: list[list[str]], part: list[int], widths: list[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    last = ""
    has_groups = any(table.columns[c].group for c in part)
    for c, width in zip(part, widths, strict=True):
        column = table.columns[c]
        group = column.group if column.group != last else ""
        last = column.group
        shown.add_column(
            styled(f"{group}\n{column.name}" if has_groups else column.name),
            justify="left" if column.is_text else "right",
            style="yellow" if column.is_paper else "",
            overflow="fold",
            width=width,
        )
    for place, row in enumerate(zip(*(cells[c] for c in part), strict=True)):
        shown.add_row(
            *(styled((text, "bold" if (place, c) in table.best else "")) for c, text in zip(part, row, strict=True))
        )
    return shown


def _standin_mark(is_standin: bool) -> tuple[str, str]:
    return (f" ({STANDIN})" if is_standin else "", "bold yellow")
