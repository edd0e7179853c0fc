"""The interface of a policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.policies._state import State
from matroid_bandits.stream import Stream


class Policy(ABC):
    """Turns what was seen into an index per item; the basis of largest total index is then chosen.

    A policy of one's own is one method, `indices`, over arrays with a row per run. It sees gains (costs are
    negated before they reach it), so it always maximises, and works in both directions.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class Greedy(mb.Policy):
    ...     '''Always the basis that looks best so far.'''
    ...     def indices(self, state, t, stream):
    ...         return state.means
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> result = mb.simulate(problem, {"greedy": Greedy()}, n_episodes=100, n_runs=10, seed=0)
    >>> result.n_runs
    10
    """

    #: Bounds of the weights that the policy can take.
    support: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    #: Whether an item never seen has index +inf, so that everything is tried once. False for policies that do not
    #: learn, and for those that infer the value of items they have not seen.
    tries_unseen: ClassVar[bool] = True

    @abstractmethod
    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        """The index of every item in episode t >= 1, shape (R, L); not NaN.

        `stream` gives random numbers by address, ``stream.uniform(t, items)``; it is the policy's own, so they are
        independent of the weights.
        """

    def prepare(self, state: State) -> None:  # noqa: B027 - most policies have nothing to add
        """Put arrays of the policy's own, a row per run, into ``state.extra``."""

    def observe(self, state: State, t: int, items: IntArray, weights: FloatArray, stream: Stream) -> None:  # noqa: B027
        """Update those arrays after the weights (R, K) of `items` (R, K) were seen; `state` has counted them."""

    def check(self, n_items: int) -> None:  # noqa: B027
        """Raise `PolicyError` when the policy cannot play on so many items."""

    def _params(self) -> dict[str, Any]:
        """The constructor's arguments: plain JSON values and arrays."""
        return {}

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Policy)
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={_show(value)}" for key, value in self._params().items())
        return f"{type(self).__name__}({shown})"


class AffinePolicy(Policy):
    r"""A policy whose index is a line in a number that only grows: :math:`\hat w_e + c_t / \sqrt{T_e}`.

    Saying so lets an engine follow the order of a million items without looking at each of them.
    """

    @abstractmethod
    def coefficient(self, t: int) -> float:
        """:math:`c_t >= 0`, non-decreasing in t."""

    def indices(self, state: State, t: int, stream: Stream) -> FloatArray:
        with np.errstate(invalid="ignore"):  # 0 * inf for items never seen, which are tried first anyway
            U = state.means + self.coefficient(t) * state.radii
        return np.where(state.counts == 0, np.inf, U)


def as_number(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """`value` as a finite float in [low, high], or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise PolicyError(f"expected {name} to be a number, got {value!r}")
    bound = f"in [{low:g}, {high:g}]" if high < np.inf else f"at least {low:g} and finite"
    try:
        number = float(value)
    except OverflowError:
        raise PolicyError(f"expected {name} to be {bound}, got an integer too large for a float") from None
    if not (np.isfinite(number) and low <= number <= high):
        raise PolicyError(f"expected {name} to be {bound}, got {value}")
    return number


def _show(value: Any) -> str:
    return f"<array {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
