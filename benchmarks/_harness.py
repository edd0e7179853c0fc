"""What a case is, how it is timed, and how its figures are shown and kept."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

#: A sample shorter than this is repeated and divided, so that the clock and the call around it do not count.
_SHORTEST_SAMPLE_S = 0.002
_FEWEST_ROUNDS = 3
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class Task:
    """Something to time: one `call` does the unit of work `units` times over, and figures are per unit.

    What learns must not be timed at another stage each time: `setup`, which is not timed, makes what one `call` is
    given and may spoil. Where only parts of a call count it has a clock of its own: `is_clocked` says that it returns
    the seconds that count.
    """

    call: Callable[..., Any]
    units: int = 1
    setup: Callable[[], Any] | None = None
    is_clocked: bool = False


@dataclass(frozen=True)
class Case:
    """One row: ours and what it is measured against, which must do the same work.

    `at_least` is the expected ratio "their time / our time": a number to be reached against the fastest of the
    others, or one per name in `others`. `budget_s` is how long the timing may take; slow tasks still get three
    samples.
    """

    name: str
    ours: Task
    others: Mapping[str, Task]
    at_least: float | Mapping[str, float] | None = None
    budget_s: float = 1.0


@dataclass(frozen=True)
class Result:
    """The best time per unit of every task of a case, in seconds; lets go of the tasks, which may hold much."""

    name: str
    at_least: float | Mapping[str, float] | None
    ours: float
    others: Mapping[str, float] = field(default_factory=dict)

    def ratio(self, name: str) -> float:
        return self.others[name] / self.ours

    @property
    def expectations(self) -> list[tuple[str, float, bool]]:
        """(against whom, at least, reached) for every expectation of the case."""
        expected = self.at_least
        if expected is None:
            return []
        if not isinstance(expected, Mapping):
            expected = {min(self.others, key=self.others.__getitem__): expected}
        return [(name, least, self.ratio(name) >= least) for name, least in expected.items()]

    def to_dict(self) -> dict[str, Any]:
        return {
            "case": self.name,
            "ours_s": self.ours,
            "others": {name: {"s": t, "ratio": self.ratio(name)} for name, t in self.others.items()},
            "expected": [
                {"against": name, "at_least": least, "reached": reached} for name, least, reached in self.expectations
            ],
        }


def measure(case: Case) -> Result:
    """Time the tasks of a case in turns, so that noise hits all alike, and keep each one's best sample."""
    tasks = [case.ours, *case.others.values()]
    # the first call compiles, fills caches and tells how many calls make a sample
    n_calls = [_calls_per_sample(task) for task in tasks]
    best = [float("inf")] * len(tasks)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + case.budget_s
        for round_ in range(_MOST_ROUNDS):
            if round_ >= _FEWEST_ROUNDS and time.perf_counter() > end:
                break
            for i, (task, n) in enumerate(zip(tasks, n_calls, strict=True)):
                best[i] = min(best[i], _sample(task, n) / (n * task.units))
    finally:
        if was_enabled:
            gc.enable()
    return Result(case.name, case.at_least, best[0], dict(zip(case.others, best[1:], strict=True)))


def show(console: Console, title: str, results: list[Result]) -> None:
    """One table: a row per case, a column per competitor that some case has."""
    from rich.table import Table  # nothing else needs it

    names = list(dict.fromkeys(name for result in results for name in result.others))
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("case", no_wrap=True)
    for column in ("ours", *names, "expected"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in results:
        cells = [_format_other(result, name) for name in names]
        table.add_row(result.name, format_time(result.ours), *cells, _format_expectations(result))
    console.print(table)


def format_time(seconds: float) -> str:
    """Three significant digits in the unit that fits."""
    unit, size = ("s ", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("us", 1e-6)
    return f"{_three_digits(seconds / size)} {unit}"


def format_ratio(ratio: float) -> str:
    return f"{_three_digits(ratio)}x"


def _sample(task: Task, n: int) -> float:
    if task.setup is not None:
        return sum(_timed(task, task.setup()) for _ in range(n))
    start = time.perf_counter()
    for _ in range(n):
        task.call()
    return time.perf_counter() - start


def _calls_per_sample(task: Task) -> int:
    """How many calls make a sample; one where each needs a setup of its own."""
    n = max(1, int(_SHORTEST_SAMPLE_S / _sample(task, 1)))
    return 1 if task.setup is not None else max(1, int(n * _SHORTEST_SAMPLE_S / _sample(task, n)))


def _timed(task: Task, argument: Any) -> float:
    start = time.perf_counter()
    seconds = task.call(argument)
    return seconds if task.is_clocked else time.perf_counter() - start


def _three_digits(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def _format_other(result: Result, name: str) -> str:
    if name not in result.others:
        return ""
    return f"{format_time(result.others[name])} {format_ratio(result.ratio(name)):>7}"


def _format_expectations(result: Result) -> str:
    return ", ".join(
        f"{least:g}x {'[green]reached[/]' if reached else '[red]missed[/]'}"
        for _, least, reached in result.expectations
    )
