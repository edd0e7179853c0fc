"""One learner that is asked and told: `Learner` against the loop one would write, the world's answers being at hand.

Both have seen every item once and made the same 1,000 decisions before the clock starts.

    python -m benchmarks.learner --tree CHECKOUT

compares with the learner of another checkout instead: processor time, in turns, in one run.
"""

import argparse
import copy
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from benchmarks._trees import HERE, answer_all, worker

_RANK = 10
_BEFORE = 1_000
_NUMPY = "NumPy argpartition loop"

#: What a request leaves of indices U, in place; the last decision is given besides.
_Leave = Callable[[np.ndarray, np.ndarray], None]


def learner() -> Iterator[Case]:
    """The best 10 of L items under OMM, and the best 100 of a million where requests exclude, pin or mask items."""
    for n_items, least in ((1_000, 1.4), (100_000, 10.0), (1_000_000, 50.0)):
        prepared, answers, make_arrays = _prepare(n_items, _RANK)
        n_ours, n_theirs = 5_000, max(20, min(2_000, 20_000_000 // n_items))
        yield Case(
            f"L = {n_items:,}, K = {_RANK}",
            Task(
                lambda ready, answers=answers[:n_ours]: _ask_and_tell(ready, answers),
                n_ours,
                lambda prepared=prepared: copy.deepcopy(prepared),
            ),
            {
                _NUMPY: Task(
                    lambda arrays, answers=answers[:n_theirs]: _argpartition_loop(*arrays, answers),
                    n_theirs,
                    make_arrays,
                )
            },
            least,
        )
    yield from _requests()


def _requests(n_items: int = 1_000_000, rank: int = 100) -> Iterator[Case]:
    """The time of `ask` alone, for requests that leave less than everything."""
    prepared, answers, make_arrays = _prepare(n_items, rank)
    rng = np.random.default_rng(31)
    pins = rng.choice(n_items, 10, replace=False)
    half, most = rng.random(n_items) < 0.5, np.ones(n_items, bool)
    most[rng.choice(n_items, 1_000, replace=False)] = False

    def leave(value: float, items: np.ndarray | None = None) -> _Leave:
        """Give the last decision, or some items, an index that settles them."""

        def change(U: np.ndarray, last: np.ndarray) -> None:
            U[last if items is None else items] = value

        return change

    requests: dict[str, tuple[Callable[[np.ndarray], dict[str, Any]], _Leave]] = {
        "the last 100 excluded": (lambda last: {"exclude": last}, leave(-np.inf)),
        "10 pinned": (lambda last: {"pinned": pins}, leave(np.inf, pins)),
        "all but 1,000 available": (lambda last: {"available": most}, leave(-np.inf, ~most)),
        "half available": (lambda last: {"available": half}, leave(-np.inf, ~half)),
    }
    n_ours, n_theirs = 300, 20
    for name, (arguments, leaves) in requests.items():
        yield Case(
            f"ask, {name}, L = {n_items:,}, K = {rank}",
            _asks(prepared, answers[:n_ours], arguments),
            {
                "plain ask": _asks(prepared, answers[:n_ours], lambda last: {}),
                _NUMPY: Task(
                    lambda arrays, leaves=leaves: _argpartition_loop(*arrays, answers[:n_theirs], leaves),
                    n_theirs,
                    make_arrays,
                ),
            },
            {"plain ask": 1 / 3} if "available" not in name else None,
        )


def _prepare(n_items: int, rank: int) -> tuple[mb.Learner, np.ndarray, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """A learner that has made its first decisions, answers for more, and what makes a loop's sums and counts."""
    rng = np.random.default_rng(30)
    prepared = mb.Learner(mb.UniformMatroid(n_items, rank), mb.OMM(), seed=0)
    prepared.observe(rng.random(n_items))
    answers = rng.random((10_000, rank))
    _ask_and_tell(prepared, answers[:_BEFORE])
    estimates = prepared.estimates()
    sums = np.where(estimates.counts > 0, estimates.means * estimates.counts, 0.0)
    return prepared, answers, lambda: (sums.copy(), estimates.counts.astype(np.float64))


def _asks(prepared: mb.Learner, answers: np.ndarray, arguments: Callable[[np.ndarray], dict[str, Any]]) -> Task:
    """Ask with arguments made of the last decision's items, and tell; only the asking is timed."""

    def ask(learner: mb.Learner) -> float:
        seconds, last = 0.0, np.empty(0, np.int64)
        for weights in answers:
            given = arguments(last)
            start = time.perf_counter()
            decision = learner.ask(**given)
            seconds += time.perf_counter() - start
            learner.tell(decision, weights)
            last = decision.items
        return seconds

    return Task(ask, len(answers), lambda: copy.deepcopy(prepared), is_clocked=True)


def _ask_and_tell(learner: mb.Learner, answers: np.ndarray) -> None:
    for weights in answers:
        learner.tell(learner.ask(), weights)


def _argpartition_loop(
    sums: np.ndarray, counts: np.ndarray, answers: np.ndarray, leaves: _Leave | None = None
) -> None:
    rank = answers.shape[1]
    basis = np.empty(0, np.int64)
    for t, weights in enumerate(answers, start=_BEFORE + 1):
        U = sums / counts + np.sqrt(2.0 * math.log(t - 1) / counts)
        if leaves is not None:
            leaves(U, basis)
        basis = np.argpartition(U, -rank)[-rank:]
        sums[basis] += weights
        counts[basis] += 1.0


#: Items, and decisions that are open beside the one that is asked for and told.
_BESIDE = ((1_000, 0), (1_000, 32), (100_000, 0))

#: Expected of a thousand items, as a share of the other checkout's time.
_MOST_OF_OTHER = 0.65


def compare(tree: Path, rounds: int = 150) -> None:
    """Print the time of `ask` and `tell` here and in another checkout, the best of many short samples in turns."""
    with worker(HERE, __file__) as ours, worker(tree, __file__) as theirs:
        for n_items, n_open in _BESIDE:
            question = {"n_items": n_items, "n_open": n_open}
            best = {"ours": math.inf, "theirs": math.inf}
            for _ in range(rounds):
                for name, ask in (("ours", ours), ("theirs", theirs)):
                    best[name] = min(best[name], ask(**question))
            ratio = best["ours"] / best["theirs"]
            expected = ""
            if n_items == 1_000:
                is_reached = ratio <= _MOST_OF_OTHER
                expected = f", at most {_MOST_OF_OTHER:g} expected: {'reached' if is_reached else 'MISSED'}"
            print(
                f"L = {n_items:,}, K = {_RANK}, {n_open} open: {best['ours'] * 1e6:.2f} us, the other checkout "
                f"{best['theirs'] * 1e6:.2f} us, ratio {ratio:.2f}{expected}",
                flush=True,
            )


def _work(n_each: int = 200) -> None:
    """Answer what `compare` asks: seconds of processor time of an `ask` and a `tell`."""
    made: dict[tuple[int, int], tuple[mb.Learner, np.ndarray, deque[mb.Decision]]] = {}

    def answer(question: dict[str, int]) -> float:
        key = question["n_items"], question["n_open"]
        if key not in made:
            prepared, answers, _ = _prepare(key[0], _RANK)
            made[key] = prepared, answers, deque(prepared.ask() for _ in range(key[1]))
        learner, answers, waiting = made[key]
        began = time.thread_time()
        for weights in answers[:n_each]:
            waiting.append(learner.ask())
            learner.tell(waiting.popleft(), weights)
        return (time.thread_time() - began) / n_each

    answer_all(answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learner", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tree", type=Path, help="another checkout")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work()
    elif arguments.tree is None:
        parser.error("expected --tree; python -m benchmarks learner runs the cases")
    else:
        compare(arguments.tree.resolve())
