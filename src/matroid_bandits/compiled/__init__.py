"""Compiled simulations: whole episodes in compiled kernels, for the CPU, and the forms shared with the GPU."""

from matroid_bandits.compiled._choice import choose, explain
from matroid_bandits.compiled._forms import (
    Misfit,
    Optimum,
    ProblemForms,
    Rows,
    Schedule,
    World,
    check_length,
    powers_of,
)
from matroid_bandits.compiled._play import play
from matroid_bandits.compiled._slices import (
    Part,
    Settings,
    Slice,
    Start,
    Stopped,
    check_returns,
    check_totals,
    described,
)
from matroid_bandits.compiled._warm import warm_up

__all__ = [
    "Misfit",
    "Optimum",
    "Part",
    "ProblemForms",
    "Rows",
    "Schedule",
    "Settings",
    "Slice",
    "Start",
    "Stopped",
    "World",
    "check_length",
    "check_returns",
    "check_totals",
    "choose",
    "described",
    "explain",
    "play",
    "powers_of",
    "warm_up",
]
