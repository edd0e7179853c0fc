"""Optimistic matroid maximisation: the paper's algorithm."""

from __future__ import annotations

import math

from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State

#: The range of the weights over the scale that is advised at most: a scale of 1 ms for latencies of up to 64 ms.
MOST_ADVISED = 64.0


class OMM(AffinePolicy):
    r"""Optimistic Matroid Maximization (Kveton et al., UAI 2014, Algorithm 2).

    In episode t the basis of largest total index is built greedily, where item e has index
    :math:`U_t(e) = \hat w_e + c_{t-1, T_e(t-1)}` and :math:`c_{t,s} = \sqrt{2 \log t / s}`.

    Parameters
    ----------
    scale : float, default 1.0
        Width of the weights' range, at most 1e100; the radius is ``scale`` times the paper's, which is for [0, 1].
        A smaller scale explores less, and is often better (see "Choose a policy"). With 0 the policy is greedy:
        always the basis of largest means. `simulate` and a `Learner` warn once, with `ScaleWarning`, when the range
        of the weights is more than 128 times `scale`.

    Notes
    -----
    At t = 1 the paper's radius has log 0; it is taken as 0.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> round(mb.OMM(scale=2.0).confidence_radius(t=100, count=4), 4)  # 2 sqrt(2 log 100 / 4)
    3.0349
    """

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = as_number("scale", scale, 0.0, 1e100, error=PolicyError)

    @property
    def scale(self) -> float:
        """Width of the range of the weights, by which the confidence radius is multiplied."""
        return self._scale

    def coefficient(self, state: State, request: Request) -> float:
        """Return ``scale * sqrt(2 log(t - 1))`` for episode t, and 0 for episode 1."""
        t = request.episode - 1  # `_width` without the call
        return self._scale * math.sqrt(2.0 * math.log(t)) if t > 1 else 0.0

    def confidence_radius(self, t: int, count: int) -> float:
        r"""Return the confidence radius: the paper's :math:`c_{t,s}` times `scale`."""
        return self._width(t) / math.sqrt(count)

    def _width(self, t: int) -> float:
        return self._scale * math.sqrt(2.0 * math.log(t)) if t > 1 else 0.0


def scale_problem(policy: Policy, low: float, high: float) -> str:
    """Return why weights in [`low`, `high`] do not fit a policy's `scale`, as a sentence; empty where they fit.

    They do not where their range over the scale is more than twice what is advised for any policy. The `scale` of
    policies other than `OMM` is about the noise of the weights, so nothing is said of those.

    Examples
    --------
    >>> scale_problem(OMM(0.3), 0.0, 1.0)
    ''
    >>> print(scale_problem(OMM(), 0.0, 300.0))  # doctest: +NORMALIZE_WHITESPACE
    OMM(scale=1.0) may explore too little for weights from 0 to 300: their range is 300 times its scale, and 64 times
    is the most that is advised
    """
    if not isinstance(policy, OMM) or policy.scale == 0.0 or high - low <= 2.0 * MOST_ADVISED * policy.scale:
        return ""
    return (
        f"{policy!r} may explore too little for weights from {low:g} to {high:g}: their range is "
        f"{(high - low) / policy.scale:.4g} times its scale, and {MOST_ADVISED:g} times is the most that is advised"
    )
