"""Rounds and errors of stopping rules at full size, beside known figures.

    python science/identification.py [--runs 100] [--pairs 4000]

Prints rounds of the soft minimum and of CLUCB on two public spanning-tree instances (E20, E25: Tzeng, Wang,
Proutiere and Lu, NeurIPS 2023) and on five of twenty items; errors of two items that hardly differ, also of a
threshold that is wrong; and errors of a fixed budget. Exits with 1 where a figure is not within three standard errors
of the one beside it. All seeds are fixed.
"""

import argparse
import math
import sys
import time

import numpy as np

import matroid_bandits as mb
from matroid_bandits._util.binomial import exact_interval
from matroid_bandits.identification import Watch

E20 = (
    "12 13 14 16 18 23 24 26 28 35 37 38 45 46 47 56 57 58 67 78",
    [2.4286026902098756, 2.9278098614715438, 3.3104332915251566, 2.3192637823065003, 0.4463388480766708,
     1.7002558778637291, 2.618873245666574, 0.10000000000000009, 4.507735529508414, 1.423127099976139,
     3.289604313299193, 2.1368657275423733, 0.16091523531229424, 3.7297673669250604, 7.244247635832336,
     0.5243765457591305, 2.9177253680575124, 2.5200009727764567, 3.931194157566085, 1.6734792361258473],
)  # fmt: skip
E25 = (
    "14 15 18 19 1a 23 24 25 27 2a 35 36 37 3a 47 48 49 56 59 68 69 6a 78 7a 89",
    [4.432379219374356, 3.7626208844667848, 4.061205195854055, 2.2524888336022837, 2.829974114254716,
     4.302348236843289, 4.457898947660014, 2.5447862511722783, 4.828638121436013, 5.1628176810684945,
     2.472816111261494, 4.1715800599554305, 1.3375618118020967, 0.09999999999999964, 6.0930380044593555,
     4.7287197180052996, 4.339488209024289, 5.7513344575389445, 5.122442087627363, 7.49909808877991,
     1.755557114739588, 7.283199379609076, 4.391768399802317, 0.3255880669152935, 4.369536237612633],
)  # fmt: skip

#: Rounds and their standard errors: instance, threshold, share of the runs to play.
KNOWN = [
    ("E20", "proven", 5206, 126, 1.0),
    ("E25", "proven", 5828, 97, 1.0),
    ("5 of 20", "proven", 731, 4, 2.0),
    ("E20", "unproven", 1776, 36, 1.0),
    ("E25", "unproven", 1861, 52, 1.0),
    ("5 of 20", "unproven", 365, 3, 2.0),
    ("5 of 20", "CLUCB", 4612, 33, 0.3),
    ("E20", "CLUCB", 36383, 686, 0.1),
]
BOUNDS = {"E20": 719, "E25": 704, "5 of 20": 105}
BUDGETS = [("E20", 200, 0.310), ("E20", 500, 0.083), ("E20", 1000, 0.016), ("5 of 20", 200, 0.089)]
failures: list[str] = []


def tree(text: str, means: list[float]) -> mb.Problem:
    edges = [(int(pair[0], 16), int(pair[1], 16)) for pair in text.split()]
    return mb.Problem(mb.GraphicMatroid(edges), mb.GaussianEnvironment(means))


PROBLEMS = {
    "E20": tree(*E20),
    "E25": tree(*E25),
    "5 of 20": mb.Problem(mb.UniformMatroid(20, 5), mb.GaussianEnvironment(np.r_[np.full(5, 0.5), np.zeros(15)])),
}


def check(what: str, is_so: bool) -> str:
    """A word for a figure that is as it must be, or not."""
    if not is_so:
        failures.append(what)
    return "as known" if is_so else "DIFFERS"


def rounds(runs: int) -> None:
    for name, problem in PROBLEMS.items():
        bound = mb.rounds_bound(problem, 0.1).rounds
        word = check(f"{name}: lower bound", abs(bound - BOUNDS[name]) < 0.02 * BOUNDS[name])
        print(f"{name:8} lower bound {bound:8.0f}   known {BOUNDS[name]:6}   {word}")
    for name, threshold, known, error, share in KNOWN:
        began = time.perf_counter()
        policy = mb.CLUCB(0.1, 1.0) if threshold == "CLUCB" else mb.SoftMinimum(1.0)
        found = mb.identify(
            PROBLEMS[name], 0.1, policy=policy, threshold=threshold, n_runs=max(2, int(share * runs)), seed=2026
        )
        ended = found.endings
        gap = abs(ended.mean_rounds - known) / math.hypot(ended.rounds_se, error)
        word = check(f"{name}, {threshold}: rounds", gap < 3.0)
        check(f"{name}, {threshold}: errors", found.error_interval()[0] <= 0.1)
        print(
            f"{name:8} {threshold:9} {ended.mean_rounds:8.0f} ± {ended.rounds_se:4.0f}   known {known:6} ± {error:3}"
            f"   errors {found.n_errors}/{ended.n_runs}   {word}   {time.perf_counter() - began:.0f} s",
            flush=True,
        )


class TooSoon(Watch):
    """The likelihood ratio against log(1 / delta), which is wrong."""

    def levels(self, delta: float, n: np.ndarray, t: int) -> np.ndarray:
        return np.full(n.shape[0], math.log(1.0 / delta))


def errors(runs: int) -> None:
    """Two items with a gap of 0.02, one of which ever is stopped at within 2,000 rounds; delta 0.1."""
    pair = mb.UniformMatroid(2, 1)
    for word, kind, threshold, is_below in (
        ("proven", Watch, "proven", True),
        ("unproven", Watch, "unproven", True),
        ("log(1/delta)", TooSoon, "unproven", False),
    ):
        watch = kind(mb.StoppingRule(delta=0.1, deviation=1.0, threshold=threshold), pair)
        rng = np.random.default_rng(7)
        counts, sums = np.zeros((runs, 2), np.int64), np.zeros((runs, 2))
        stopped, wrong = np.zeros(runs, bool), np.zeros(runs, bool)
        for t in range(1, 2001):
            counts += 1
            sums += rng.normal(size=(runs, 2)) + [0.02, 0.0]
            bases, is_sure = watch.look(counts, sums, t)
            wrong |= is_sure & ~stopped & (bases[:, 0] == 1)
            stopped |= is_sure
        low, high = exact_interval(int(wrong.sum()), runs)
        verdict = check(f"{word}: errors of a pair", high < 0.1 if is_below else low > 0.1)
        print(f"pair     {word:13} errors {int(wrong.sum())}/{runs}, {low:.3f} to {high:.3f}   {verdict}", flush=True)


def budgets(runs: int) -> None:
    for name, budget, known in BUDGETS:
        found = mb.identify(PROBLEMS[name], budget=budget, n_runs=runs, seed=2026)
        share = found.n_errors / runs
        error = math.sqrt(known * (1.0 - known) * (1.0 / runs + 1.0 / 2000.0))
        word = check(f"{name}, budget {budget}", abs(share - known) < 3.0 * error)
        print(f"{name:8} budget {budget:5} errors {share:.3f}   known {known:.3f}   {word}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=4000)
    arguments = parser.parse_args()
    rounds(arguments.runs)
    errors(arguments.pairs)
    budgets(10 * arguments.runs)
    if failures:
        print("\n".join(["", *failures]))
        sys.exit(1)


if __name__ == "__main__":
    main()
