"""Numbers that a person may ask for, in a file or on the command line."""

from __future__ import annotations

from matroid_bandits._util.text import shown

#: The least and the largest of each, and the largest in words: no machine gets to the end of more.
RANGES = {
    "episodes": (1, 10**9, "1,000,000,000"),
    "runs": (1, 10**6, "1,000,000"),
    "seed": (0, 2**64 - 1, "2**64 - 1"),
}


def out_of_range(name: str, value: int) -> str:
    """Return what is wrong with a number of episodes, of runs, or a seed, as text; empty when nothing is.

    Examples
    --------
    >>> out_of_range("runs", 0)
    'expected an integer from 1 to 1,000,000, got 0'
    >>> out_of_range("runs", 100)
    ''
    """
    low, high, words = RANGES[name]
    return "" if low <= value <= high else f"expected an integer from {low} to {words}, got {shown(value)}"
