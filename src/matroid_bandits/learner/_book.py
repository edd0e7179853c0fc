"""The decisions of a learner that wait for answers, and when each was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import FeedbackError
from matroid_bandits.learner._decision import Decision
from matroid_bandits.learner._wanted import names_of

if TYPE_CHECKING:
    from matroid_bandits.learner._learner import Learner


class Untold(NamedTuple):
    """Pending part of a decision: its number, items without feedback, items in all, and whether it was held out.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 2), mb.OMM())
    >>> learner.book.untold(learner.ask().id)
    Untold(id=1, n_untold=2, n_items=2, is_held_out=False)
    """

    id: int
    n_untold: int
    n_items: int
    is_held_out: bool


class Book:
    """A view of a learner's open decisions by number, oldest first.

    A learner has no clock: the caller sets the time of a decision with `date`, in any unit. Files keep these times;
    the events of a log do not, since the writer of a log dates each event.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.OMM())
    >>> decision = learner.ask()
    >>> learner.book.date(decision.id, 12.5)
    >>> decision.id in learner.book, list(learner.book.times())
    (True, [(1, 12.5)])
    >>> learner.tell(decision, [0.5])
    >>> len(learner.book)
    0
    """

    __slots__ = ("_learner",)

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def __len__(self) -> int:
        return self._learner.n_outstanding

    def __contains__(self, id: object) -> bool:
        with self._learner._lock:
            return id in self._learner._agent.open

    def date(self, id: int, time: float) -> None:
        """Set the time at which an open decision was asked for."""
        with self._learner._changes:
            play, time = self._learner._find(id), as_number("time", time, error=FeedbackError)
            play.note.time = time

    def times(self) -> Iterator[tuple[int, float | None]]:
        """Pairs of a decision's number and its time; None where `date` was not called."""
        with self._learner._lock:
            plays = self._learner._agent.open
        return ((id, play.note.time) for id, play in plays.items())

    def oldest(self, limit: int) -> list[tuple[Decision, float | None]]:
        """The first decisions and their times, at most `limit`."""
        learner = self._learner
        with learner._lock:
            plays = learner._agent.open
            return [(learner._decision(id, plays[id]), time) for id, time in islice(self.times(), limit)]

    def untold(self, id: int) -> Untold | None:
        """What an open decision waits for; None of one that is not open."""
        with self._learner._lock:
            play = self._learner._agent.open.get(id)
        if play is None:
            return None
        n_items = play.items.size
        n_untold = n_items if play.told is None else n_items - int(play.told.sum())
        return Untold(id, n_untold, n_items, play.note.is_held_out)

    def untold_before(self, end: int) -> list[Untold]:
        """What each open decision before another one waits for, oldest first."""
        with self._learner._lock:
            found = (self.untold(id) for id in takewhile(lambda id: id < end, self._learner._agent.open))
            return [each for each in found if each is not None]

    def untouched(self, id: int) -> list[Any] | None:
        """The items in their order, in JSON form, where nothing was told, changed or forgotten since; else None."""
        learner = self._learner
        with learner._lock:
            play = learner._agent.open.get(id)
            if play is None or play.told is not None or id <= learner._changed_at:
                return None
            if learner._n_changes and play.items.min(initial=0) < 0:  # `restart` leaves no number of a forgotten item
                return None
            return names_of(learner.constraint, play.items[0])
