"""Kernels of whole episodes compiled, or loaded from disk, before a simulation asks for them."""

from __future__ import annotations

import numpy as np

from matroid_bandits.compiled import _ready
from matroid_bandits.compiled._families import kernel_of
from matroid_bandits.compiled._forms import Misfit, ProblemForms
from matroid_bandits.compiled._play import play
from matroid_bandits.compiled._slices import Settings, Slice
from matroid_bandits.policies import Policy
from matroid_bandits.problem import Problem


def prepare(problem: Problem, policy: Policy) -> None:
    """Compile the kernel that plays whole episodes of a policy, or load it from disk; `warm_up` is for users."""
    forms = ProblemForms(problem)
    if _ready.is_interpreted():
        return
    try:
        forms.check(policy, 1)
        if not _ready.is_loaded(kernel_of(forms, policy)):
            settings = Settings(problem, 1, 1, seed=0, start="observe", checkpoints=np.array([1]))
            play(Slice("", policy, 0, 1), settings, lambda n: False)
    except Misfit:
        pass
