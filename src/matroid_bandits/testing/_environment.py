"""Does an environment draw what it says, and only by address?"""

from __future__ import annotations

import math

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import ContractError
from matroid_bandits.stream import START, Stream


def check_environment(environment: Environment, *, n_draws: int = 20_000, seed: int = 0) -> None:
    """Draw from an environment and see that it keeps what simulations rely on.

    Weights must be finite floats within `support`, one per run and item asked for; a weight must depend on (seed,
    run, t, item) alone, not on what else is asked for or in which batch; episodes must differ; and `mean_weights`
    must be constant and what the weights average to.

    Parameters
    ----------
    environment : Environment
        Typically an instance of one's own class.
    n_draws : int, default 20000
        How many weights of each item to average; of up to 64 items.
    seed : int, default 0
        Of the weights.

    Raises
    ------
    ContractError
        What was expected, what was found, for which item.

    Notes
    -----
    With sample variance :math:`s^2` an average of n weights may be :math:`\\sqrt{2 s^2 x / n} + 3 b x / n` off, where
    :math:`x = \\log(3 L / \\delta)`, L items are looked at and b is the width of the support: more happens to one of
    them with probability :math:`\\delta = 10^{-9}` at most (the empirical Bernstein inequality of Audibert, Munos and
    Szepesvari, 2009). Where the support is unbounded, the largest deviation seen stands for b.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> mb.testing.check_environment(mb.BernoulliEnvironment([0.25, 0.5]))
    >>> class Die(mb.Environment):
    ...     def draw(self, stream, t, items):
    ...         return np.floor(6 * stream.uniform(t, items))  # from 0 to 5
    >>> mb.testing.check_environment(Die([3.5], support=(0, 6)))
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: expected weights of item 0 to average to mean_weights, 3.5; got \
2.4921 over 20000 draws, more than 0.0992 away
    """
    if not isinstance(environment, Environment):
        raise ContractError(f"expected an Environment, got {environment!r}")
    _check_means(environment)
    _check_addresses(environment, seed)
    if environment.n_items:
        _check_averages(environment, n_draws, seed)


def _check_means(environment: Environment) -> None:
    means = environment.mean_weights
    if not isinstance(means, np.ndarray) or means.dtype != np.float64 or means.ndim != 1:
        given = f"shape {means.shape} of {means.dtype}" if isinstance(means, np.ndarray) else type(means).__name__
        raise ContractError(f"expected mean_weights to be a row of float64, got {given}")
    if means.flags.writeable:
        raise ContractError("expected mean_weights to be read-only, got an array that can be changed")
    if environment.n_items != means.size:
        raise ContractError(
            f"expected n_items to be {means.size}, the number of mean_weights; got {environment.n_items}"
        )
    if not np.array_equal(means, environment.mean_weights):
        raise ContractError("expected mean_weights to be constant, got NaN or others the second time")
    low, high = environment.support
    if not low <= high:
        raise ContractError(f"expected support to be a lower and an upper bound, got {environment.support}")
    is_out = ~((means >= low) & (means <= high))
    if is_out.any():
        e = int(is_out.argmax())
        raise ContractError(f"expected mean_weights within support [{low:g}, {high:g}], got {means[e]} for item {e}")


def _check_addresses(environment: Environment, seed: int) -> None:
    rng, n = np.random.default_rng(seed), environment.n_items
    runs = [0, 1, 2, 7, 8, 100]
    stream, everything = Stream(seed, runs), np.arange(n)
    weights = _draw(environment, stream, 3, everything)
    for what, its in (
        ("again", everything),
        ("for each run", np.tile(everything, (len(runs), 1))),
        ("in another order", everything[::-1].copy()),
        ("with some of the items", rng.permutation(n)[: (n + 1) // 2]),
        ("for each run with items of its own", np.array([rng.permutation(n)[: (n + 2) // 3] for _ in runs])),
    ):
        shown = np.take_along_axis(weights, np.broadcast_to(its, (len(runs), its.shape[-1])), axis=1)
        _expect_weights(f"asked {what}", _draw(environment, stream, 3, its), shown, its)
    for i, run in enumerate(runs):
        alone = _draw(environment, Stream(seed, [run]), 3, everything)
        _expect_weights(f"asked for run {run} alone", alone, weights[i : i + 1], everything)
    _draw(environment, stream.with_purpose(START), 0, everything)
    other = _draw(environment, stream, 4, everything)
    if n and np.array_equal(weights, other) and (weights != weights[0]).any():
        raise ContractError("expected weights to be drawn anew in each episode, got those of episode 3 in episode 4")


def _expect_weights(when: str, given: FloatArray, expected: FloatArray, items: IntArray) -> None:
    if not np.array_equal(given, expected):
        run, k = np.argwhere(given != expected)[0]
        raise ContractError(
            f"expected a weight to depend on (seed, run, t, item) alone; {when}, item "
            f"{np.broadcast_to(items, given.shape)[run, k]} has {given[run, k]} instead of {expected[run, k]}"
        )


def _draw(environment: Environment, stream: Stream, t: int, items: IntArray) -> FloatArray:
    """Weights of the right shape and type, finite, within the support."""
    given = items.copy()
    weights = environment.draw(stream, t, items)
    if not np.array_equal(items, given):
        raise ContractError("expected draw to leave the items it is given")
    shape = (stream.n_runs, items.shape[-1])
    if not isinstance(weights, np.ndarray) or weights.shape != shape or weights.dtype != np.float64:
        got = (
            f"shape {weights.shape} of {weights.dtype}" if isinstance(weights, np.ndarray) else type(weights).__name__
        )
        raise ContractError(
            f"expected weights of shape {shape} of float64 for items of shape {items.shape}, got {got}"
        )
    low, high = environment.support
    is_wrong = ~(np.isfinite(weights) & (weights >= low) & (weights <= high))
    if is_wrong.any():
        run, k = np.argwhere(is_wrong)[0]
        e = np.broadcast_to(items, shape)[run, k]
        raise ContractError(
            f"expected finite weights within support [{low:g}, {high:g}], got {weights[run, k]} for item {e}"
        )
    return weights


def _check_averages(environment: Environment, n_draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = np.sort(rng.permutation(environment.n_items)[:64])
    n_runs = max(n_draws // 16, 1)
    stream, expected = Stream(seed, range(n_runs)), environment.mean_weights[items]
    episodes = range(1, -(-n_draws // n_runs) + 1)
    # deviations, not weights: their squares do not cancel when the mean is large
    parts = [_draw(environment, stream, t, items) - expected for t in episodes]
    n = n_runs * len(parts)
    error = sum(part.sum(axis=0) for part in parts) / n
    variance = np.maximum(sum(np.square(part).sum(axis=0) for part in parts) / n - np.square(error), 0.0)
    low, high = environment.support
    largest = np.max([np.abs(part).max(axis=0) for part in parts], axis=0)
    width = np.full(items.size, high - low) if high - low < np.inf else largest
    x = math.log(3.0 * items.size / 1e-9)
    rounding = 1e-12 * (np.abs(expected) + largest)
    allowed = np.sqrt(2.0 * variance * x / n) + 3.0 * width * x / n + rounding
    is_off = np.abs(error) > allowed
    if is_off.any():
        e = int(is_off.argmax())
        raise ContractError(
            f"expected weights of item {items[e]} to average to mean_weights, {expected[e]:.6g}; got "
            f"{expected[e] + error[e]:.6g} over {n} draws, more than {allowed[e]:.3g} away"
        )
