"""Play every kernel in both tiers on recorded arguments; print those without a call, and those that differ.

python tests/kernels/comparing.py
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from recording import Copies, all_kernels, recorded, work  # noqa: E402 - found where the line above says


def is_same(one, other):
    """Whether two values have the same types and bits, those of a NaN apart."""
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, np.ndarray):
        is_number = one.dtype.kind == "f"
        signs = not is_number or np.array_equal(np.signbit(one) & (one == one), np.signbit(other) & (other == other))
        return one.dtype == other.dtype and signs and np.array_equal(one, other, equal_nan=is_number)
    return is_same(np.array(one), np.array(other)) if isinstance(one, float) else one == other


def main():
    kernels = all_kernels()
    with recorded(kernels) as calls:
        work()
    different = []
    for name, kernel in kernels.items():
        for arguments in calls[name]:
            ours, theirs = Copies().of(arguments), Copies().of(arguments)
            if not is_same(kernel.interpreted(*ours), kernel.compiled(*theirs)) or not is_same(ours, theirs):
                different.append(name)
    without = [name for name, found in calls.items() if not found]
    print(json.dumps({"n": len(kernels), "without a call": without, "different": different}))


if __name__ == "__main__":
    main()
