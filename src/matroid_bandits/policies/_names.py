"""Names that the literature has for policies of this package."""

from __future__ import annotations

#: What each of these names is here; a class of its own would play the same sets.
OTHER_NAMES = {
    "CombUCB1": "OMM(scale=sqrt(0.75))",
    "LLR": "OMM(scale=sqrt((K + 1) / 2)), for sets of K items",
}


def known_as(name: object) -> str:
    """A sentence that says what a policy of the literature is called here; empty where there is nothing to say.

    Examples
    --------
    >>> known_as("comb-ucb1")
    'CombUCB1 is OMM(scale=sqrt(0.75))'
    >>> known_as("OMM")
    ''
    """
    given = _plain(name)
    return next((f"{other} is {ours}" for other, ours in OTHER_NAMES.items() if _plain(other) == given), "")


def _plain(name: object) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum()) if isinstance(name, str) else ""
