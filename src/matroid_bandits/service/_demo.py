"""A campaign to look at: a front page of four slots, and simulated visitors who click, late or never."""

from __future__ import annotations

import contextlib
import heapq
import math
import threading
import time
from typing import Any, Final

from matroid_bandits.exceptions import CampaignStateError, MatroidBanditsError, UnavailableError
from matroid_bandits.service import _actions as act
from matroid_bandits.service._operation import Operation
from matroid_bandits.service._schemas import TellBody
from matroid_bandits.service._service import Service
from matroid_bandits.specs import CampaignSpec, parse
from matroid_bandits.stream import Stream

NAME: Final = "demo"

_SLOTS = {
    "top": ("storm-warning", "election-live", "match-report", "new-museum", "budget-vote"),
    "side": ("recipe-soup", "garden-spring", "city-walks", "book-review", "chess-puzzle"),
    "video": ("rocket-launch", "street-music", "cat-rescue", "river-from-above", "old-trams"),
    "shop": ("rain-boots", "wool-hat", "field-guide", "tea-set", "desk-lamp"),
}
_PER_SECOND = 25.0
_MEAN_DELAY = 2.0


def demo_spec() -> CampaignSpec:
    """The campaign that ``--demo`` plays."""
    rows = [{"item": item, "slot": slot} for slot, items in _SLOTS.items() for item in items]
    form = {
        "name": NAME,
        "title": "Demo: a front page",
        "about": "One story for each of four slots; visitors are simulated, and only their clicks are told.",
        "matroid": {"kind": "partition", "category": "slot", "rows": rows},
        "policy": {"policy": "OMM", "scale": 1.0},
        "seed": 2014,
        "holdout": 0.05,
        "answers": "clicks",
        "answer_window": 15,
    }
    found: CampaignSpec = parse(CampaignSpec, form)
    return found


class Demo(threading.Thread):
    """Visitors, as a thread that asks and tells until stopped."""

    def __init__(self, service: Service) -> None:
        super().__init__(name="matroid-bandits-demo", daemon=True)
        self._service = service
        self._is_over = threading.Event()
        self._stream = Stream(2014, range(1))

    def run(self) -> None:
        """Create the campaign where it is not there, and visit it."""
        with contextlib.suppress(CampaignStateError, UnavailableError):  # it is there, or the server ends already
            self._service.create(demo_spec())
        answers: list[tuple[float, int, Any]] = []
        visit = 0
        while not self._is_over.wait(1.0 / _PER_SECOND):
            visit += 1
            with contextlib.suppress(MatroidBanditsError):
                self._visit(visit, answers)
                while answers and answers[0][0] <= time.monotonic():
                    _, decision, weights = heapq.heappop(answers)
                    body = TellBody(decision=decision, weights=weights)
                    self._service.call(Operation(act.tell(body), NAME, "change"))

    def _visit(self, visit: int, answers: list[tuple[float, int, Any]]) -> None:
        from pydantic_core import from_json

        found = from_json(self._service.call(Operation(act.ask({}), NAME, "ask")).body)
        chances = self._stream.uniform(visit, range(6))[0]
        clicks = {item: 1.0 for item, u in zip(found["items"], chances, strict=False) if u < _appeal(item)}
        if clicks:
            late = -_MEAN_DELAY * math.log1p(-chances[5])
            heapq.heappush(answers, (time.monotonic() + late, found["decision"], clicks))

    def stop(self) -> None:
        """Let the visitors go."""
        self._is_over.set()
        if self.is_alive():
            self.join(5.0)


def _appeal(item: str) -> float:
    """How likely a visitor clicks: the middle stories of a slot are liked more."""
    for items in _SLOTS.values():
        if item in items:
            return (0.08, 0.3, 0.15, 0.22, 0.05)[items.index(item)]
    return 0.1
