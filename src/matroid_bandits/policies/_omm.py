"""Optimistic matroid maximisation: the paper's algorithm."""

from __future__ import annotations

import math

from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._base import AffinePolicy, Policy
from matroid_bandits.policies._request import Request
from matroid_bandits.policies._state import State


class OMM(AffinePolicy):
    r"""Optimistic Matroid Maximization (Kveton et al., UAI 2014, Algorithm 2).

    In episode t the basis of largest total index is built greedily, where item e has index
    :math:`U_t(e) = \hat w_e + c_{t-1, T_e(t-1)}` and :math:`c_{t,s} = \sqrt{2 \log t / s}`.

    Parameters
    ----------
    scale : float, default 1.0
        Width of the weights' range, at most 1e100; the radius is ``scale`` times the paper's, which is for [0, 1].
        With 0 the policy is greedy: always the basis of largest means. A `Learner` warns once, with `ScaleWarning`,
        when weights have a wider range than `scale`.

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
        return self._width(request.episode - 1)

    def confidence_radius(self, t: int, count: int) -> float:
        r"""Return the confidence radius: the paper's :math:`c_{t,s}` times `scale`."""
        return self._width(t) / math.sqrt(count)

    def _width(self, t: int) -> float:
        return self._scale * math.sqrt(2.0 * math.log(t)) if t > 1 else 0.0


def scale_problem(policy: Policy, low: float, high: float) -> str:
    """Return why weights in [`low`, `high`] do not fit a policy's `scale`, as a sentence; empty where they fit.

    The `scale` of other policies is about the noise of the weights, so nothing is said of those.

    Examples
    --------
    >>> scale_problem(OMM(), 0.0, 3.0)
    'OMM(scale=1.0) expects weights in a range of width 1, and was told some from 0 to 3: it explores too little ...'
    """
    if not isinstance(policy, OMM) or policy.scale == 0.0 or high - low <= policy.scale:
        return ""
    return (
        f"{policy!r} expects weights in a range of width {policy.scale:g}, and was told some from {low:g} to "
        f"{high:g}: it explores too little unless its scale is at least {high - low:g}"
    )
