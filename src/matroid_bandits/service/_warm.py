"""Compile what the requests of campaigns will need, while they are answered by interpreted kernels.

A child process of low priority compiles into the cache on disk, from which kernels are loaded once that pays: so no
request waits for the compiler, and the server's threads are not slowed down by it.
"""

from __future__ import annotations

import logging
import pickle
from functools import cache

from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.kernels import compiling, statistics
from matroid_bandits.kernels.background import Compiler
from matroid_bandits.learner import Learner
from matroid_bandits.warming import _warm_up_like

log = logging.getLogger("matroid_bandits.service")

#: Seconds of compiling that are worth a line in the log.
_LONG_S = 1.0


@cache
def warm_up_uplift() -> None:
    """Compile what counts settled decisions, once in a process."""
    UpliftSequence(0.0, 1.0).add([0.0], [False], 0.5)


class _Campaigns(Compiler):
    """The campaigns of this process, for which a child process compiles one after the other."""

    def begun(self, name: str) -> None:
        log.info("compiling, campaign %s: %s; it is answered meanwhile, more slowly", self.doing(name), name)

    def died(self, name: str) -> None:
        log.warning("campaign %s: the process that compiles has ended early", name)


_compiler = _Campaigns()


def compiling_now(name: str) -> str | None:
    """How far compiling is, for the campaign that is compiled."""
    found = _compiler.doing(name)
    return None if found is None else f"campaign {found}"


def _send(learner: Learner, name: str) -> None:
    """Compile what the requests of a learner will need; where it cannot be sent, they find out by themselves."""
    if statistics.answer.folder is None:  # nothing can be kept on disk
        return
    try:
        kind = learner.constraint, learner.policy, learner.minimize, learner.seed
        _compiler.add(name, pickle.dumps((_warm_up_like, *kind)))
    except Exception:  # of a policy or a constraint of a user's own
        log.debug("campaign %s cannot be compiled in advance", name)


def warm_up(learner: Learner, name: str = "") -> None:
    """Compile what a campaign's requests will need; a policy or a constraint that cannot be played is left alone."""
    if compiling.tier() == "tiered":
        _send(learner, name)
    if compiling.tier() != "compiled":
        return
    try:
        seconds = learner.warm_up()
    except MatroidBanditsError:  # of a policy or a constraint of a user's own
        log.debug("a learner could not be warmed up")
        return
    warm_up_uplift()
    if seconds >= _LONG_S:
        log.info("campaign %s: compiled in %.1f seconds; the next start finds it on disk", name, seconds)
