"""Compile the kernels of common campaigns into NUMBA_CACHE_DIR, while the image is built: no start waits for them."""

import sys

import matroid_bandits as mb
from matroid_bandits.evaluation import UpliftSequence

ITEMS = [f"item {number}" for number in range(8)]
CONSTRAINTS = {
    "uniform": mb.UniformMatroid(8, 3, labels=ITEMS),
    "partition": mb.PartitionMatroid({item: f"slot {k % 4}" for k, item in enumerate(ITEMS)}),
    "laminar": mb.LaminarMatroid(8, [([0, 1, 2, 3], 2), ([0, 1], 1)], labels=ITEMS),
    "graphic": mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]),
    "transversal": mb.TransversalMatroid({item: [f"p{k % 3}", f"p{k % 2}x"] for k, item in enumerate(ITEMS)}),
}
POLICIES = (mb.OMM(), mb.ThompsonSampling(), mb.DiscountedOMM(0.99), mb.KLOSM())


def main(*names: str) -> None:
    """Warm up learners of the named constraints, or of all."""
    UpliftSequence(0.0, 1.0).add([0.0], [False], 0.5)
    for name in names or CONSTRAINTS:
        for policy in POLICIES:
            seconds = mb.Learner(CONSTRAINTS[name], policy, holdout=0.05).warm_up()
            print(f"{name}, {type(policy).__name__}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
