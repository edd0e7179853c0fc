"""What happened to a campaign over time: sums by second, minute, hour and day, and what an operator should see."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Final

from matroid_bandits._util.sums import added
from matroid_bandits.learner import Answers

#: Widths of buckets in seconds, and how many of each are kept.
LEVELS: Final = {1: 900, 60: 1440, 3600: 2400, 86400: 36500}

_MOST_MARKS: Final = 1000

#: The version of what is summed. Sums of version 1, which had none, left out the defaults of decisions that expired;
#: those of version 2 counted a click when it was told.
VERSION: Final = 3
_VERSION_OF_ALL: Final = 2

# What a bucket holds, by place; of decisions drawn at random also how many were made, their weight and their share
ASKED, TOLD, WEIGHT, SHARE, CLOSED, EXPIRED, HELD_OUT, HELD_WEIGHT, HELD_SHARE, SETTLED, WAITING = range(11)
_N_SUMS: Final = WAITING


class History:
    """Sums over time, made from the log alone: every server that has read the same events has the same."""

    def __init__(self) -> None:
        self.waiting = self.expired = self.settled = 0
        # With answers of clicks, decisions that are not settled: when each was asked for, what was told of it, and
        # whether it was held out. An early click is no average: a decision counts whole, when it is settled.
        self.unsettled: dict[int, list[Any]] = {}
        self.is_complete = True  # False of one that an earlier version began, until it is made again from the log
        self.marks: list[dict[str, Any]] = []
        self._levels: dict[int, dict[int, list[float]]] = {width: {} for width in LEVELS}
        self._second = 0
        self._sums = [0.0] * _N_SUMS

    def add(self, at: float, what: int, amount: float) -> None:
        """Count something at a time."""
        second = int(at)
        if second != self._second:
            self._flush()
            self._second = second
        self._sums[what] += amount

    def learn(self, at: float, weight: float, share: float, is_held_out: bool = False) -> None:
        """Count what was learnt, by an answer or by a default: a sum of weights, and of how many decisions it is."""
        self.add(at, WEIGHT, weight)
        sums = self._sums
        sums[SHARE] += share
        if is_held_out:
            sums[HELD_WEIGHT] += weight
            sums[HELD_SHARE] += share

    def wait(self, id: int, at: float, is_held_out: bool) -> None:
        """Note a decision that is to be counted when it is settled."""
        self.unsettled[id] = [at, 0.0, is_held_out]

    def weigh(self, id: int, weight: float) -> bool:
        """Add a weight to a decision that is not settled yet; return whether there is one of this number."""
        found = self.unsettled.get(id)
        if found is not None:
            found[1] += weight
        return found is not None

    def settle(self, at: float, ids: Iterable[int]) -> None:
        """Settle decisions: count each of `ids` that is not settled yet, with all that was told of it."""
        for id in ids:
            found = self.unsettled.pop(id, None)
            if found is not None:
                _, weight, is_held_out = found
                self.learn(at, weight, 1.0, is_held_out)
                self.add(at, SETTLED, 1)
                self.settled += 1

    def settle_empty(self, at: float, is_held_out: bool, waits: bool) -> None:
        """Count a decision without items, worth 0, at once."""
        self.learn(at, 0.0, 1.0, is_held_out)
        if waits:
            self.add(at, SETTLED, 1)
            self.settled += 1

    def settle_before(self, at: float, end: int) -> None:
        """Settle all decisions with a number below `end`."""
        self.settle(at, [*takewhile(lambda id: id < end, self.unsettled)])

    def totals(self) -> list[float]:
        """Sums since the campaign was created, by the places of a bucket; may be called by any thread."""
        days = [*self._levels[86400].values()]  # a copy, made at once: the writer may add a day meanwhile
        return [added(column) for column in zip(self._sums, *days, strict=False)]

    def mark(self, at: float, seq: int, kind: str, text: str, by: str | None = None) -> None:
        """Put something on the time line, and whose doing it was where that is known."""
        self.marks.append({"at": at, "seq": seq, "kind": kind, "text": text, "by": by})
        del self.marks[:-_MOST_MARKS]

    def buckets(self, width: int, after: float = 0.0) -> list[dict[str, Any]]:
        """The buckets of one width that end after a time, oldest first."""
        level = self._levels[width] | self._current(width)
        return [
            {
                "at": start,
                "asked": int(sums[ASKED]),
                "told": int(sums[TOLD]),
                "weight": sums[WEIGHT],
                "learnt": sums[SHARE],
                "mean": sums[WEIGHT] / sums[SHARE] if sums[SHARE] > 0.0 else None,
                "closed": int(sums[CLOSED]),
                "expired": int(sums[EXPIRED]),
                "settled": int(sums[SETTLED]),
                "waiting": int(sums[WAITING]),
            }
            for start, sums in sorted(level.items())
            if start + width > after
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return {
            "version": VERSION,
            "complete": self.is_complete,
            "waiting": self.waiting,
            "expired": self.expired,
            "settled": self.settled,
            "unsettled": [[id, *each] for id, each in self.unsettled.items()],
            "marks": self.marks,
            "levels": {str(width): list(level.items()) for width, level in self._levels.items()},
            "second": self._second,
            "sums": self._sums,
        }

    @classmethod
    def from_dict(cls, form: dict[str, Any], answers: Answers = "all") -> History:
        """The history that `to_dict` described, of a campaign with such answers."""
        history = cls()
        history.waiting, history.expired, history.marks = form["waiting"], form["expired"], form["marks"]
        history._levels = {
            width: {int(start): [*_padded(sums[:-1]), float(sums[-1])] for start, sums in form["levels"][str(width)]}
            for width in LEVELS
        }
        history._second, history._sums = int(form["second"]), _padded(form["sums"])
        history.is_complete = form.get("complete", False)
        history.settled = form.get("settled", 0)
        history.unsettled = {id: each for id, *each in form.get("unsettled", ())}
        version = form.get("version")
        if version != VERSION and (version != _VERSION_OF_ALL or answers != "all"):
            history._forget_learnt()
        return history

    def _forget_learnt(self) -> None:
        """Leave out what an earlier version summed in another way; how many were asked and told it counted right."""
        self.is_complete = False
        for sums in (self._sums, *(sums for level in self._levels.values() for sums in level.values())):
            sums[WEIGHT] = sums[SHARE] = 0.0

    def _flush(self) -> None:
        """Add the second that is over to the buckets it lies in."""
        for width, level in self._levels.items():
            level.update(self._current(width))
            if len(level) > 2 * LEVELS[width]:
                for start in sorted(level)[: len(level) - LEVELS[width]]:
                    del level[start]
        self._sums = [0.0] * _N_SUMS

    def _current(self, width: int) -> dict[int, list[float]]:
        """The bucket of the current second with what happened in it, where anything did."""
        if not any(self._sums):
            return {}
        start = self._second - self._second % width
        before = self._levels[width].get(start, [0.0] * _N_SUMS)
        sums = [a + b for a, b in zip(before, self._sums, strict=False)]
        return {start: [*sums, float(self.waiting)]}


def _padded(sums: list[float]) -> list[float]:
    """Sums of an earlier version, which had fewer of them."""
    return [*map(float, sums), *[0.0] * (_N_SUMS - len(sums))]
