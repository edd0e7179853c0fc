"""Cells, records and plain data."""

import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import rich.console

from matroid_bandits._util.plots import Panel
from matroid_bandits.exceptions import DataError
from matroid_bandits.reporting import (
    Chapter,
    Claim,
    Column,
    Estimate,
    Plot,
    RunFacts,
    Table,
    Text,
    plain,
    print_chapter,
)
from matroid_bandits.reporting._blocks import Block
from matroid_bandits.reporting._html import render_section


@pytest.mark.parametrize(
    ("cell", "spec", "text"),
    [
        (None, ".2f", "–"),
        (math.nan, ".2f", "–"),
        ("x", ".2f", "x"),
        (1234, ",", "1,234"),
        (0.125, ".1%", "12.5%"),
        (Estimate(1.0, 0.25), ".2f", "1.00 ±\u00a00.25"),
        (Estimate(1.0, math.nan), ".2f", "1.00"),
        (Estimate(1.0, 0.00123), ".2f", "1.00 ±\u00a00.0012"),
        (Estimate(1.0, 0.0), ".2f", "1.00 ±\u00a00.00"),
    ],
)
def test_cells(cell, spec, text):
    assert Column("c", spec).show(cell) == text


def test_records():
    table = Table("t", "T", (Column("ours", group="cost"), Column("name")), ((Estimate(1.0, 0.5), "a"),))
    assert table.records() == [{"cost ours": [1.0, 0.5], "name": "a"}]


def test_plain():
    assert plain({1: (np.float64(1 / 3), math.nan, None, True), "a": np.arange(2), "p": Path("x")}) == {
        "1": [0.3333333333, None, None, True],
        "a": [0, 1],
        "p": "x",
    }


@dataclass(frozen=True)
class Video:
    """A block that no renderer knows."""

    text: str


class Remark(Text):
    """A kind of text of a user."""


BLOCKS = (
    Text("SHOWN"),
    Table("sizes", "SHOWN", (Column("name", is_text=True),), (("movies",),)),
    Plot("mine", "SHOWN", (Panel("Regret", np.array([1]), (), "cumulative regret"),)),
    Claim("SHOWN", "holds", "It was seen."),
    Remark("SHOWN"),
)
CHAPTER = Chapter("mine", "My problem", "", RunFacts(10, 2, 0, "observe", {}, (), 0.0))


def printed(chapter):
    console = rich.console.Console(file=io.StringIO())
    print_chapter(console, chapter)
    return console.file.getvalue()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_every_renderer_knows_every_kind_of_block(block):
    assert {type(each) for each in BLOCKS} >= set(get_args(Block))
    chapter = replace(CHAPTER, blocks=(block,))
    assert ("SHOWN" in printed(chapter)) == (type(block) is not Plot)  # plots are for the page
    assert "SHOWN" in render_section(chapter, {"mine-0": "<svg/>"}, "").html


def test_unknown_blocks_are_errors():
    with pytest.raises(DataError, match=r"expected a block that a report can show .*Plot.*, got Video"):
        replace(CHAPTER, blocks=(Text("text"), Video("text")))
    chapter = replace(CHAPTER, blocks=())
    object.__setattr__(chapter, "blocks", (Video("text"),))
    with pytest.raises(DataError, match=r"the terminal can show .*, got Video"):
        printed(chapter)
    with pytest.raises(DataError, match=r"the page can show .*, got Video"):
        render_section(chapter, {}, "")
