"""Steps of a computation, counted: what tests of growth compare between two sizes, where a clock would guess."""

import os
import sys

import matroid_bandits

_PACKAGE = os.path.dirname(matroid_bandits.__file__) + os.sep
_KERNELS = _PACKAGE + "kernels" + os.sep


def steps(call):
    """How many lines of the package are run, each time they are run; compiled kernels take none."""
    n_lines = 0

    def trace(frame, event, _):
        nonlocal n_lines
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) or name.startswith(_KERNELS):
            return None
        n_lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n_lines


class Number:
    """An integer of a type of its own that counts how often it is compared."""

    def __init__(self, value):
        self.value, self.n_compared = int(value), 0

    def __index__(self):
        return self.value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        self.n_compared += 1
        return self.value == other


class Name(str):
    """A name that counts how often any of them is compared or hashed."""

    n_looked_at = 0

    def __hash__(self):
        Name.n_looked_at += 1
        return super().__hash__()

    def __eq__(self, other):
        Name.n_looked_at += 1
        return super().__eq__(other)
