"""Intervals of short logs: how often they cover, and how often there is none.

    python science/short_logs.py [--logs 1000]

Logs of 160 decisions of OMM on assignments of four rows to four columns, a fifth of them held out, with clicks whose
chances are uniform between two numbers. For the best and the worst set, random sets, and each estimator: the share of
logs in which there is no interval, and of the others the share whose 95% interval covers the truth, beside that of
the normal distribution in all logs. Exits with 1 where fewer than 92% of the intervals cover (of at least 200). Seeds
are fixed.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from matroid_bandits.evaluation import estimate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "evaluation"))

from logs import play_assignments


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1000)
    n_logs, missed = parser.parse_args().logs, 0
    print("chances of a click  estimator  target       no interval  covers  normal, all logs")
    for low, high in ((0.02, 0.1), (0.02, 0.3), (0.1, 0.6)):
        log = play_assignments(4, 160, n_logs, seed=1, low=low, high=high)
        targets = np.eye(16)[log.sets].sum(axis=1)
        worth = log.means @ targets.T
        chosen = {
            "best": targets[worth.argmax(axis=1)],
            "worst": targets[worth.argmin(axis=1)],
            "random sets": np.full((n_logs, 16), 0.25),
        }
        decisions = [log.decisions(r) for r in range(n_logs)]
        for method in ("dr", "snips", "iips"):
            for name, e in chosen.items():
                found = [estimate(decisions[r], log.target(r, e[r]), method) for r in range(n_logs)]
                truth = (log.means * e).sum(axis=1)
                has_one = np.array([each.freedom > 0.0 for each in found])
                covers = np.array([each.low <= x <= each.high for each, x in zip(found, truth, strict=True)])
                distances = np.abs(np.array([each.value for each in found]) - truth)
                is_normal = distances <= 1.96 * np.array([each.error for each in found])
                share = covers[has_one].mean() if has_one.any() else np.nan
                is_missed = has_one.sum() >= 200 and share < 0.92
                missed += is_missed
                print(
                    f"{low:g} to {high:<11g}  {method:9}  {name:11}  {1 - has_one.mean():11.1%}  {share:6.1%}"
                    f"  {is_normal.mean():.1%}{'  MISSED' if is_missed else ''}",
                    flush=True,
                )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
