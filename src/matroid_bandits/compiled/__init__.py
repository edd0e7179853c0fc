"""Compiled simulations: whole episodes in compiled kernels, for the CPU, and the forms shared with the GPU."""

from matroid_bandits.compiled._background import compiling
from matroid_bandits.compiled._choice import Rival, choose, explain
from matroid_bandits.compiled._costs import agent_seconds, compiled_seconds, playing_time
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
from matroid_bandits.compiled._warm import prepare

__all__ = [
    "Misfit",
    "Optimum",
    "Part",
    "ProblemForms",
    "Rival",
    "Rows",
    "Schedule",
    "Settings",
    "Slice",
    "Start",
    "Stopped",
    "World",
    "agent_seconds",
    "check_length",
    "check_returns",
    "check_totals",
    "choose",
    "compiled_seconds",
    "compiling",
    "described",
    "explain",
    "play",
    "playing_time",
    "powers_of",
    "prepare",
]
