"""What the answers to decisions tell of: every chosen item, clicks, or what people looked at in a list."""

from __future__ import annotations

import math
from typing import Any, Final, Literal, NamedTuple, get_args

from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import FeedbackError, PolicyError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, check_takes

#: The kinds of answers. A later kind is a word here and an entry of `KINDS`.
Answers = Literal["all", "clicks", "first-click", "first-failure", "clicks-by-place"]


class Kind(NamedTuple):
    """Meaning of one kind of answers: what it says of items that were not named, and how a set is shown.

    Attributes
    ----------
    rest : float, or None
        The weight of an item that was not told when its decision is closed; None where it stays unknown.
    seen : float, or None
        The weight of an item that was looked at and is not named otherwise; None where answers do not say what was
        looked at.
    stop : str, or None
        The argument of `Learner.tell` that names the item at which people stopped to look, which has the other
        weight of 0 and 1; None where they look at everything.
    feedback : str, or None
        What a policy must take, where a set is shown as a list, so that its order matters; see `Policy.takes`.
    asks_for : str
        What to send.

    Examples
    --------
    >>> KINDS["first-click"].stop, KINDS["clicks"].rest
    ('clicked', 0.0)
    """

    rest: float | None
    seen: float | None
    stop: str | None
    feedback: str | None
    asks_for: str

    @property
    def is_list(self) -> bool:
        """Whether a set is shown as a list."""
        return self.feedback is not None

    def worth(self, total: float, n_told: int, n_items: int) -> float:
        """Return what a decision was worth, of whose weights `n_told` are known and add up to `total`.

        With "first-failure" it is 1 where all items have worked, 0 where one has failed, and not known where some
        were not looked at; with other kinds the sum, which with "first-click" is 1 with a click and 0 without.

        Returns
        -------
        float
            NaN where it is not known.

        Examples
        --------
        >>> [KINDS["first-failure"].worth(*told) for told in ((2.0, 2, 2), (1.0, 2, 3), (2.0, 2, 3))]
        [1.0, 0.0, nan]
        """
        if not n_items:
            return 0.0
        if not n_told:
            return math.nan
        if self.stop != "failed":
            return total
        if total < n_told:
            return 0.0
        return 1.0 if n_told == n_items else math.nan

    def range(self, low: float, high: float, n_items: int) -> tuple[float, float]:
        """Return the least and the largest worth of a set of at most `n_items` items, each from `low` to `high`.

        Examples
        --------
        >>> KINDS["all"].range(0.0, 2.0, 3), KINDS["first-click"].range(0.0, 1.0, 3)
        ((0.0, 6.0), (0.0, 1.0))
        """
        return (0.0, 1.0) if self.stop is not None else (n_items * min(low, 0.0), n_items * max(high, 0.0))


_STOPPED = (
    "{0}= with the first item that {1}, or with None where all items were looked at and none {1}; or examined= with "
    "the items that were looked at;"
)

#: The kinds of answers by name.
KINDS: Final[dict[Answers, Kind]] = {
    "all": Kind(None, None, None, None, "the weight of every chosen item"),
    "clicks": Kind(0.0, 0.0, None, None, "the weights of items that were clicked; examined= for what was looked at"),
    "first-click": Kind(None, 0.0, "clicked", "cascade", _STOPPED.format("clicked", "was clicked")),
    "first-failure": Kind(None, 1.0, "failed", "cascade", _STOPPED.format("failed", "failed")),
    "clicks-by-place": Kind(0.0, None, None, "positions", "the weights of items that were clicked"),
}


def as_answers(value: Any) -> Answers:
    """Return a kind of answers.

    Raises
    ------
    PolicyError
        It is none of them.

    Examples
    --------
    >>> as_answers("likes")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: expected answers to be one of all, clicks, ...; got 'likes'
    """
    for kind in get_args(Answers):
        if type(value) is str and value == kind:
            return kind  # type: ignore[no-any-return]
    raise PolicyError(f"expected answers to be one of {', '.join(get_args(Answers))}; got {shown(value)}")


def check_kind(answers: Answers | None, policy: Policy, constraint: Constraint) -> None:
    """Raise unless a policy takes the weights that a kind of answers tells of, and can choose the best list."""
    kind = KINDS[answers or "all"]
    given = {each for each in (kind.rest, kind.seen) if each is not None} | ({0.0, 1.0} if kind.stop else set())
    low, high = policy.support
    wrong = sorted(each for each in given if not low <= each <= high)
    if wrong:
        what = "the weight of what is not told" if kind.rest is not None else "a weight"
        raise PolicyError(
            f'expected a policy that takes {wrong[0]:g}, {what} with answers="{answers}"; got {policy!r}'
        )
    if kind.feedback is not None:
        check_takes(policy, kind.feedback)
    if kind.is_list and not isinstance(constraint, Matroid):
        raise PolicyError(
            f'expected a matroid with answers="{answers}", since under other constraints the items of largest sum '
            f"need not make the best list; got {constraint!r}"
        )


def read_rest(answers: Answers | None, default: float | None) -> float | None:
    """Return a weight of what was not told, checked: what people did not look at has none.

    Raises
    ------
    FeedbackError
        There is one, and answers tell of what was looked at alone.
    """
    kind = KINDS[answers or "all"]
    if kind.stop is not None and default is not None:
        raise FeedbackError(
            f'expected default None with answers="{answers}", since items that were not looked at have no weight; '
            f"got {default:g}. Where people looked at all, tell {kind.stop}=None"
        )
    return default
