"""What the answers to decisions tell of: every chosen item, or clicks alone."""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies import Policy

#: The kinds of answers. A later kind is a word here and an entry of `REST`.
Answers = Literal["all", "clicks"]

#: By kind: the weight of an item that was not told when its decision is closed; None where it stays unknown.
REST: Final[dict[Answers, float | None]] = {"all": None, "clicks": 0.0}


def as_answers(value: Any) -> Answers:
    """Return a kind of answers.

    Raises
    ------
    PolicyError
        It is none of them.

    Examples
    --------
    >>> as_answers("likes")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: expected answers to be one of all, clicks; got 'likes'
    """
    for kind in get_args(Answers):
        if type(value) is str and value == kind:
            return kind  # type: ignore[no-any-return]
    raise PolicyError(f"expected answers to be one of {', '.join(get_args(Answers))}; got {shown(value)}")


def check_rest(answers: Answers | None, policy: Policy) -> None:
    """Raise unless a policy takes the weight of what is not told."""
    rest = None if answers is None else REST[answers]
    low, high = policy.support
    if rest is not None and not low <= rest <= high:
        raise PolicyError(
            f'expected a policy that takes {rest:g}, the weight of what is not told with answers="{answers}"; '
            f"got {policy!r}"
        )
