"""Cells, records and plain data."""

import math
from pathlib import Path

import numpy as np
import pytest

from matroid_bandits.reporting import Column, Estimate, Table, plain


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
