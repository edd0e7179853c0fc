"""One learner that is asked and told: `Learner` against the loop one would write, the world's answers being at hand.

Both have seen every item once and made the same 1,000 decisions before the clock starts.
"""

import copy
import math
from collections.abc import Iterator

import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task

_RANK = 10
_BEFORE = 1_000


def learner() -> Iterator[Case]:
    """The best 10 of L items under OMM."""
    for n_items, least in ((1_000, 1.0), (100_000, 10.0), (1_000_000, 50.0)):
        rng = np.random.default_rng(30)
        first = rng.random(n_items)
        answers = rng.random((10_000, _RANK))
        prepared = mb.Learner(mb.UniformMatroid(n_items, _RANK), mb.OMM(), seed=0)
        prepared.observe(first)
        _ask_and_tell(prepared, answers[:_BEFORE])
        estimates = prepared.estimates()
        sums = np.where(estimates.counts > 0, estimates.means * estimates.counts, 0.0)
        n_ours, n_theirs = 5_000, max(20, min(2_000, 20_000_000 // n_items))
        yield Case(
            f"L = {n_items:,}, K = {_RANK}",
            Task(
                lambda ready, answers=answers[:n_ours]: _ask_and_tell(ready, answers),
                n_ours,
                lambda prepared=prepared: copy.deepcopy(prepared),
            ),
            {
                "NumPy argpartition loop": Task(
                    lambda arrays, answers=answers[:n_theirs]: _argpartition_loop(*arrays, answers),
                    n_theirs,
                    lambda sums=sums, counts=estimates.counts: (sums.copy(), counts.astype(np.float64)),
                )
            },
            least,
        )


def _ask_and_tell(learner: mb.Learner, answers: np.ndarray) -> None:
    for weights in answers:
        learner.tell(learner.ask(), weights)


def _argpartition_loop(sums: np.ndarray, counts: np.ndarray, answers: np.ndarray) -> None:
    for t, weights in enumerate(answers, start=_BEFORE + 1):
        U = sums / counts + np.sqrt(2.0 * math.log(t - 1) / counts)
        basis = np.argpartition(U, -_RANK)[-_RANK:]
        sums[basis] += weights
        counts[basis] += 1.0
