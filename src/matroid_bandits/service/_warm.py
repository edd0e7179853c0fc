"""Warm up the learner of a campaign, and say in the log what took long."""

from __future__ import annotations

import logging
from functools import cache

from matroid_bandits.evaluation import UpliftSequence
from matroid_bandits.exceptions import MatroidBanditsError
from matroid_bandits.learner import Learner

log = logging.getLogger("matroid_bandits.service")

#: Seconds from which on compiling is worth a line in the log.
_LONG_S = 1.0


@cache
def warm_up_uplift() -> None:
    """Compile what counts settled decisions, once in a process."""
    UpliftSequence(0.0, 1.0).add([0.0], [False], 0.5)


def warm_up(learner: Learner, name: str = "") -> None:
    """Compile what a campaign's requests will need; a policy or a constraint that cannot be played is left alone."""
    try:
        seconds = learner.warm_up()
    except MatroidBanditsError:  # of a policy or a constraint of a user's own
        log.debug("a learner could not be warmed up")
        return
    warm_up_uplift()
    if seconds >= _LONG_S:
        log.info("campaign %s: compiled in %.1f seconds; the next start finds it on disk", name, seconds)
