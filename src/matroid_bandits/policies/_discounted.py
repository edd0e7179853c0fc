"""OMM for weights that drift: what was seen fades."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.checks import as_number
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import discount, forms
from matroid_bandits.policies._base import AffinePolicy
from matroid_bandits.policies._evaluate import coefficient
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Plays, Request
from matroid_bandits.policies._state import State

# the columns of the array "clock"
_G, _TAU, _EPISODE, _SHIFT = range(4)


class DiscountedOMM(AffinePolicy):
    r"""OMM with discounted statistics, for drifting weights: D-UCB (Garivier and Moulines, 2008) for semi-bandits.

    After every episode all plays and sums of gains are multiplied by :math:`\gamma`, so that an item's plays and mean
    are :math:`N_t(e) = \sum_{s < t} \gamma^{t-1-s} 1\{e \in A^s\}` and
    :math:`\hat w_e = \sum_{s < t} \gamma^{t-1-s} w_s(e) 1\{e \in A^s\} / N_t(e)`. The index is
    :math:`\hat w_e + \mathrm{scale} \sqrt{2 \log \tau_t / N_t(e)}` with the discounted time
    :math:`\tau_t = 1 + \gamma + \dots + \gamma^{t-2}`. With ``gamma=1`` this is `OMM`, bit for bit.

    Parameters
    ----------
    gamma : float
        Discount factor per episode, from 0.001 to 1.
    scale : float, default 0.25
        Width of the radius, at most 1e100.

    Notes
    ----- *Choosing gamma.* The horizon :math:`H = 1 / (1 - \gamma)` is the effective number of past episodes. It
    should be above 100 L / K, so that it holds enough plays of every item, and below a fifth of the time between
    changes.

    *Choosing scale.* The paper's radius is for counts that grow without bound. Within a horizon it is far too wide:
    use about the noise of the weights, 0.2 to 0.3 for weights in [0, 1]. Dynamic regret of Bernoulli items, 5 changes
    in 50,000 episodes:

    ============================  =======  =======================  =====================
    problem                       OMM      gamma 0.999, scale 0.2   gamma 0.9975, scale 1
    ============================  =======  =======================  =====================
    partition 24 items, 4 blocks    9,049                    4,818                 26,240
    uniform 30, K = 6              13,864                    4,577                 31,400
    uniform 100, K = 10            14,641                    9,581                 93,674
    ============================  =======  =======================  =====================

    Nothing is multiplied in every episode. A play of episode s is given the weight :math:`1 / g_s`, where
    :math:`g = \gamma^s` up to rounding, so the lines of items that are not played stand still, and the coefficient
    grows instead: :math:`c_t = \mathrm{scale} \sqrt{2 \log(\max(\tau_t, 1)) / g}`. When g falls below
    :math:`2^{-60}`, weights are multiplied by :math:`2^{-60}` and g by :math:`2^{60}`, which rounds nothing. A late
    answer weighs what its own episode does, a waiting play narrows the radius by that weight, a prior fades like
    plays made on arrival, and an item whose plays weigh less than :math:`2^{-900}` counts as never answered.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels="ab"), mb.DiscountedOMM(gamma=0.9, scale=0.2))
    >>> learner.observe([0.0, 1.0])
    >>> for _ in range(20):  # b was the better one, and is no more
    ...     decision = learner.ask()
    ...     learner.tell(decision, [0.8 if decision.labels == ("a",) else 0.1])
    >>> learner.best_basis().labels
    ('a',)
    """

    memory = (
        Memory("cells", shape=(discount.WIDTH,)),
        Memory("means"),
        Memory("radii", initial=np.inf),
        Memory("clock", "time", shape=(4,), initial=(1.0, 0.0, 0.0, 0.0)),
    )
    forgets = True
    takes_all = True
    tunable = ("scale",)

    #: Weights are divided by two to this power, an even number, when g falls below its reciprocal.
    _REBASE_BITS: ClassVar[int] = 60

    def __init__(self, gamma: float, scale: float = 0.25) -> None:
        self._gamma = as_number("gamma", gamma, 1e-3, 1.0, error=PolicyError)
        self._scale = as_number("scale", scale, 0.0, 1e100, error=PolicyError)

    @property
    def gamma(self) -> float:
        """Discount factor per episode."""
        return self._gamma

    @property
    def scale(self) -> float:
        """Factor of the confidence radius."""
        return self._scale

    def coefficient(self, state: State, request: Request) -> float:
        """Return ``scale * sqrt(2 log(tau) / g)``, and 0 while the discounted time is at most 1."""
        clock = state.extra["clock"][0]
        return self._scale * math.sqrt(2.0 * math.log(max(clock[_TAU], 1.0)) / clock[_G])

    def lines(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the intercepts and slopes of the affine index: discounted means, and radii in scaled units."""
        return state.extra["means"], state.extra["radii"]

    def exponent(self, state: State) -> int:
        return int(state.extra["clock"][0, _SHIFT]) // 2

    def beliefs(self, state: State) -> tuple[FloatArray, AnyArray, AnyArray]:
        cells, g = state.extra["cells"], state.extra["clock"][:, None, _G]
        plays, waiting, lost, prior = (
            g * cells[:, :, k] for k in (discount.PLAYS, discount.WAITING, discount.LOST, discount.PRIOR)
        )
        is_known = cells[:, :, discount.PLAYS] + cells[:, :, discount.PRIOR] > 0.0
        means = np.where(is_known, state.extra["means"], np.nan)
        return means, plays, np.where(is_known, plays + waiting + prior, waiting + lost)

    def advance(self, state: State, request: Request) -> None:
        """Discount all statistics by one episode."""
        clock = state.extra["clock"]
        before = clock[0, _SHIFT]
        clock[:] = self._next(clock[0].tolist(), request.episode)
        if clock[0, _SHIFT] != before:
            self._update(state)

    def _next(self, clock: Sequence[float], t: int) -> tuple[float, float, float, float]:
        """The row of the array "clock" after episode t, of the row before it."""
        g, tau, _, shift = clock
        bits = self._REBASE_BITS
        g, tau = g * self._gamma, self._gamma * tau + 1.0
        while g < 2.0**-bits:
            g, shift = g * 2.0**bits, shift + bits
        return g, tau, t, shift

    def compiled(self) -> forms.PolicyForm:
        return forms.PolicyForm(forms.DISCOUNTED, episodes=self._episodes)

    def _episodes(self, state: Any, stream: Any) -> Iterator[tuple[float, ...]]:
        """The coefficient of every episode, and g and its power of two after it."""
        state.extra = {"clock": np.array([[1.0, 0.0, 0.0, 0.0]])}
        for t in count(1):
            c = coefficient(self, state, Request(t, stream))
            row = self._next(state.extra["clock"][0].tolist(), t)
            state.extra["clock"][0] = row
            yield c, row[_G], row[_SHIFT]

    def observe(self, state: State, feedback: Feedback) -> None:
        runs, items, gains = feedback[:3]
        g, shift = self._weigh(state, 0 if feedback.is_early else feedback.episode)
        discount.answer(runs, items, gains, g, shift, state.waiting, *self._arrays(state))

    def wait(self, state: State, plays: Plays) -> None:
        runs, items, episode = plays[:3]
        is_new = state.extra["cells"][runs, items, discount.PLAYS] < discount.LEAST
        typical = state.typical_gain if is_new.any() else np.zeros(state.n_runs)
        discount.wait(runs, items, *self._weigh(state, episode), typical, *self._arrays(state))

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        for plays in dropped:
            runs, items, episode = plays[:3]
            discount.drop(runs, items, *self._weigh(state, episode), *self._arrays(state))

    def begin(self, state: State) -> None:
        """Give all past observations full weight; they are discounted from this episode on."""
        extra, t = state.extra, state.episode
        extra["clock"][:] = self._clock(t)
        cells, (g, _, _, shift) = extra["cells"], extra["clock"][0].tolist()
        cells[:, :, discount.SHIFT] = shift
        for k, seen in ((discount.PLAYS, state.counts), (discount.SUMS, state.sums), (discount.LOST, state.lost)):
            cells[:, :, k] = seen / g
        if state.has_priors:
            cells[:, :, discount.PRIOR] = state.prior_counts / g
        for plays in state.pending() if state.pending is not None else ():
            self.wait(state, plays)
        is_new = cells[:, :, discount.PLAYS] < discount.LEAST
        extra["means"][is_new] = state.means[is_new]  # of plays that wait, as they were when they were asked for
        self._update(state)

    def _clock(self, t: int) -> tuple[float, float, float, float]:
        """The row of the array "clock" after episode t, as `_next` makes it; the discounted time up to rounding."""
        if self._gamma == 1.0:
            return 1.0, float(t), float(t), 0.0
        mantissa, exponent = _powers(self._gamma).power(t)
        bits = self._REBASE_BITS
        shift = max(bits * (-exponent // bits) - bits, 0)
        while math.ldexp(mantissa, exponent + shift) < 2.0**-bits:
            shift += bits
        tau = -math.expm1(t * math.log(self._gamma)) / (1.0 - self._gamma)
        return math.ldexp(mantissa, exponent + shift), tau, float(t), float(shift)

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        """Give new priors the weight of plays made now, and rescale items that return."""
        if newcomers.size:
            g = state.extra["clock"][:, None, _G]
            state.extra["cells"][:, newcomers, discount.PRIOR] = state.prior_counts[:, newcomers] / g
        self._update(state)

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Set the weight of the answered plays of some items to zero; pending plays keep their weight."""
        for k in (discount.PLAYS, discount.SUMS, discount.LOST, discount.PRIOR):
            state.extra["cells"][runs, items, k] = 0.0
        state.extra["means"][runs, items] = state.means[runs, items]  # of the plays that wait, as the state has it
        self._update(state)

    def check_extra(self, state: State) -> None:
        clock, cells, radii = (state.extra[name] for name in ("clock", "cells", "radii"))
        g, tau, episode, shift = clock.T
        is_time = (g > 0.0) & (g <= 1.0) & (tau >= 0.0) & (episode >= 0.0) & (shift >= 0.0)
        if not (np.isfinite(clock).all() and is_time.all() and (clock == clock[:1]).all()):
            raise PolicyError(f"expected the time of a discounted policy, the same in all runs; got {clock.tolist()}")
        weights = np.delete(cells, discount.SUMS, axis=2)
        if not (
            np.isfinite(cells).all() and (weights >= 0.0).all() and (shift == cells[:, :, discount.SHIFT].T).all()
        ):
            raise PolicyError("expected weights of plays that are finite and not negative, got others")
        if not (np.isfinite(state.extra["means"]).all() and (radii > 0.0).all()):
            raise PolicyError("expected finite means and positive radii, got others")

    def _weigh(self, state: State, episode: int) -> tuple[float, float]:
        """The g of an episode, by which its plays are divided, and the present power of two."""
        g, _, now, shift = state.extra["clock"][0].tolist()
        if episode != now and self._gamma < 1.0:
            g = _powers(self._gamma).g(episode, shift, now, g)
        return g, shift

    def _update(self, state: State) -> None:
        discount.update(state.extra["clock"][0, _SHIFT], *self._arrays(state))

    def _arrays(self, state: State) -> tuple[Any, ...]:
        extra = state.extra
        return extra["cells"], state.prior_means, extra["means"], extra["radii"]


class _Powers:
    """Products of one gamma with itself, each the last one times gamma, rounded: g of every episode.

    They are found again from marks a block apart, which late answers need in any order.
    """

    _BLOCK = 4096
    _MOST_BLOCKS = 64
    #: Products of more factors are not multiplied one by one.
    _MOST_FACTORS = 2**30

    def __init__(self, gamma: float) -> None:
        self._gamma, self._lock = gamma, threading.Lock()
        self._marks: list[tuple[float, int]] = [(1.0, 0)]
        self._blocks: dict[int, tuple[FloatArray, IntArray]] = {}

    def g(self, episode: int, shift: float, now: float, g_now: float) -> float:
        """The g of an episode times 2^shift, infinite where that is beyond 2^1000."""
        if episode > self._MOST_FACTORS:
            doublings = math.log2(self._gamma) * (episode - now)
            return g_now * 2.0**doublings if doublings < 1000.0 else math.inf
        k, i = divmod(episode, self._BLOCK)
        with self._lock:
            mantissas, exponents = self._block(k)
        exponent = int(exponents[i]) + int(shift)
        return math.ldexp(mantissas[i], exponent) if exponent < 1000 else math.inf

    def power(self, episode: int) -> tuple[float, int]:
        """The g of an episode as a number and a power of two to multiply it by."""
        if episode > self._MOST_FACTORS:
            exponent = math.floor(math.log2(self._gamma) * episode)
            return 2.0 ** (math.log2(self._gamma) * episode - exponent), exponent
        k, i = divmod(episode, self._BLOCK)
        with self._lock:
            mantissas, exponents = self._block(k)
        return float(mantissas[i]), int(exponents[i])

    def _block(self, k: int) -> tuple[FloatArray, IntArray]:
        if k not in self._blocks:
            for j in range(len(self._marks) - 1, k):
                self._marks.append(self._fill(j)[1])
            block, _ = self._fill(k)
            if len(self._blocks) == self._MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[k] = block
        return self._blocks[k]

    def _fill(self, k: int) -> tuple[tuple[FloatArray, IntArray], tuple[float, int]]:
        mantissas, exponents = np.empty(self._BLOCK), np.empty(self._BLOCK, np.int64)
        return (mantissas, exponents), discount.powers(self._gamma, *self._marks[k], mantissas, exponents)


@lru_cache(maxsize=64)
def _powers(gamma: float) -> _Powers:
    return _Powers(gamma)
