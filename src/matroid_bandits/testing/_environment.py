"""Does an environment draw what it says, and only by address?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits.environments import (
    Environment,
    ListEnvironment,
    availability_of,
    delays_of,
    features_of,
    means_of,
)
from matroid_bandits.exceptions import ContractError, InvalidEnvironmentError
from matroid_bandits.stream import ATTENTION, AVAILABILITY, DELAY, FEATURES, START, Stream
from matroid_bandits.testing._suite import Suite

#: The runs of the batch that is tried.
_RUNS = (0, 1, 2, 7, 8, 100)

#: Means of all items that are looked at together, at most.
_MOST_CELLS = 2**20

#: Later episodes that are looked at, one by one, as far as a suite looks.
_LATER = (30, 300, 3000, 30_000, 100_000)


def check_environment(
    environment: Environment, *, n_draws: int = 20_000, seed: int = 0, latest: int = 100_000
) -> None:
    """Draw from an environment and check the properties that simulations rely on.

    Weights must be finite floats within `support`, one per run and item asked for; a weight must depend on (seed,
    run, t, item) alone, not on what else is asked for or in which batch; episodes must differ; `mean_weights`
    must be constant where they are given; and the weights of episodes early and late must average to the `means` of
    those episodes, where they are known. `availability` must be a mask, `delays` whole numbers and `features`
    finite numbers, all by address too; `delays` and `means` are None in every episode or in none.

    Parameters
    ----------
    environment : Environment
        Typically an instance of a user's class.
    n_draws : int, default 20000
        How many weights of each item to average; of up to 64 items.
    seed : int, default 0
        Of the weights.
    latest : int, default 100000
        The last episode to look at: for a world that is slow so late, or that ends.

    Raises
    ------
    ContractError
        What was expected, what was found, for which item.

    Notes
    -----
    With sample variance :math:`s^2` an average of n weights may be :math:`\\sqrt{2 s^2 x / n} + 3 b x / n` off, where
    :math:`x = \\log(3 L / \\delta)`, L items are looked at and b is the width of the support: more happens to one of
    them with probability :math:`\\delta = 10^{-9}` at most (the empirical Bernstein inequality of Audibert, Munos and
    Szepesvari, 2009). Where the support is unbounded, the largest deviation seen stands for b. Averages are taken
    over the first episodes together, and over each of up to five later ones, the last of which is `latest`, alone; a
    world whose weights change less than these tell apart, or only after that, passes.

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
    EnvironmentSuite.check(environment=environment, n_draws=n_draws, seed=seed, latest=latest)


class EnvironmentSuite(Suite):
    """Conformance tests of an `Environment`; see `check_environment`.

    Attributes
    ----------
    environment : Environment
        What is tested.
    n_draws : int
        How many weights of each item to average, 20000 by default.
    seed : int
        Of the weights, 0 by default.
    latest : int
        The last episode to look at, 100,000 by default.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestCoins(mb.testing.EnvironmentSuite):
    ...     environment = mb.BernoulliEnvironment([0.25, 0.5])
    ...     latest = 1000
    >>> TestCoins().run()
    """

    environment: Environment
    n_draws: int = 20_000
    seed: int = 0
    latest: int = 100_000

    def test_it_is_an_environment(self) -> None:
        if not isinstance(self.environment, Environment):
            raise ContractError(f"expected an Environment, got {self.environment!r}")

    def test_support(self) -> None:
        _check_support(self.environment)

    def test_mean_weights(self) -> None:
        """`mean_weights` of a stationary environment is read-only, within the support and constant."""
        if self.environment.is_stationary:
            _check_mean_weights(self.environment)

    def test_means(self) -> None:
        """Means are known in every episode or in none, depend on (seed, run, episode) alone, and `mean_weights`
        never changes."""
        _check_means(self.environment, self.seed, self._later)

    def test_features(self) -> None:
        _check_features(self.environment, self.seed)

    def test_weights(self) -> None:
        """Weights are finite, within the support, a function of (seed, run, episode, item), and differ between
        episodes."""
        _check_weights(self.environment, self.seed)

    def test_availability(self) -> None:
        _check_availability(self.environment, self.seed)

    def test_delays(self) -> None:
        _check_delays(self.environment, self.seed)

    def test_lists(self) -> None:
        """Lists are seen, and worth, the same for each run alone; what is observed of them is within the support."""
        _check_lists(self.environment, self.seed)

    def test_averages(self) -> None:
        """Weights average to the means where these are known, in early and late episodes."""
        if self.environment.n_items and _check_means(self.environment, self.seed, self._later):
            _check_averages(self.environment, self.n_draws, self.seed, self._later)

    @property
    def _later(self) -> tuple[int, ...]:
        """Episodes at which means are looked at, one by one."""
        return tuple(t for t in _LATER if t < self.latest) + (self.latest,) * (self.latest > 3)


def _check_support(environment: Environment) -> None:
    low, high = environment.support
    if not low <= high:
        raise ContractError(f"expected support to be a lower and an upper bound, got {environment.support}")


def _check_mean_weights(environment: Environment) -> None:
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
    _expect_within(environment, "mean_weights", means[None])


def _check_means(environment: Environment, seed: int, later: Sequence[int]) -> bool:
    """Whether the means are known, when they are what they must be."""
    everything = np.arange(environment.n_items)

    def ask(stream: Stream, t: int) -> FloatArray | None:
        means = _checked(means_of, environment, t, stream)
        return None if means is None else np.broadcast_to(means, (stream.n_runs, everything.size))

    stream = Stream(seed, _RUNS, FEATURES)
    found = [ask(stream, t) for t in (1, 3, *later)]
    n_silent = sum(means is None for means in found)
    if 0 < n_silent < len(found):
        raise ContractError("expected means to be None in every episode or in none, got both")
    if n_silent:
        return False
    _check_runs("means", ask, stream, everything)
    known = [means for means in found if means is not None]
    for means in known:
        _expect_within(environment, "means", means)
    try:
        given = environment.mean_weights
    except InvalidEnvironmentError:  # there are none
        return True
    if not all((means == given).all() for means in known):
        raise ContractError(
            "expected no mean_weights, but n_items, of an environment whose means change; got both means that change "
            "and mean_weights"
        )
    return True


def _check_features(environment: Environment, seed: int) -> None:
    stream, d = Stream(seed, _RUNS, FEATURES), environment.n_features
    if d is not None and (type(d) is not int or d < 1):
        raise ContractError(f"expected n_features to be a positive integer or None, got {d!r}")

    def ask(stream: Stream, t: int) -> FloatArray:
        features = _checked(features_of, environment, stream, t)
        flat = np.zeros(0) if features is None else features.reshape(*features.shape[:-2], -1)
        return np.broadcast_to(flat, (stream.n_runs, flat.shape[-1]))

    ask(stream, 0)  # where runs begin with a look at everything
    _check_runs("a feature", ask, stream, np.repeat(np.arange(environment.n_items), d or 0))


def _expect_within(environment: Environment, name: str, means: FloatArray) -> None:
    low, high = environment.support
    is_out = ~((means >= low) & (means <= high))
    if is_out.any():
        run, e = np.argwhere(is_out)[0]
        raise ContractError(f"expected {name} within support [{low:g}, {high:g}], got {means[run, e]} for item {e}")


def _check_weights(environment: Environment, seed: int) -> None:
    stream, everything = Stream(seed, _RUNS), np.arange(environment.n_items)
    weights = _by_address("a weight", partial(_draw, environment), stream, everything)
    _draw(environment, stream.with_purpose(START), 0, everything)
    other = _draw(environment, stream, 4, everything)
    if everything.size and np.array_equal(weights, other) and (weights != weights[0]).any():
        raise ContractError("expected weights to be drawn anew in each episode, got those of episode 3 in episode 4")


def _check_availability(environment: Environment, seed: int) -> None:
    stream, everything = Stream(seed, _RUNS, AVAILABILITY), np.arange(environment.n_items)

    def ask(stream: Stream, t: int) -> BoolArray:
        mask = _checked(availability_of, environment, stream, t)
        return np.ones((stream.n_runs, environment.n_items), bool) if mask is None else mask

    _check_runs("availability", ask, stream, everything)


def _check_delays(environment: Environment, seed: int) -> None:
    stream, everything = Stream(seed, _RUNS, DELAY), np.arange(environment.n_items)

    def ask(stream: Stream, t: int, items: IntArray) -> IntArray | None:
        given = items.copy()
        delays: IntArray | None = _checked(delays_of, environment, stream, t, items)
        if not np.array_equal(items, given):
            raise ContractError("expected delays to leave the items it is given")
        return delays

    nothing = everything[:0]
    answers = [ask(stream, t, items) for t, items in ((1, nothing), (1, everything), (3, everything), (4, nothing))]
    n_silent = sum(delays is None for delays in answers)
    if 0 < n_silent < len(answers):
        raise ContractError("expected delays to be None in every episode or in none, got both")
    if n_silent == 0:
        _by_address("a delay", ask, stream, everything)


def _check_lists(environment: Environment, seed: int) -> None:
    lists = environment.lists
    if lists is None:
        return
    if lists.feedback not in ("cascade", "positions"):
        raise ContractError(f'expected feedback to be "cascade" or "positions", got {lists.feedback!r}')
    rng, n, n_runs = np.random.default_rng(seed), environment.n_items, len(_RUNS)
    width = min(n, 3, getattr(lists, "attention", np.empty(n)).size)
    items = np.array([np.sort(rng.permutation(n)[:width]) for _ in _RUNS]).reshape(n_runs, width)
    places = np.array([rng.permutation(width) for _ in _RUNS]).reshape(n_runs, width)
    places = np.where(places < rng.integers(0, width + 1, (n_runs, 1)), places, -1)  # lists of different length
    for t in (1, 3):
        weights = _draw(environment, Stream(seed, _RUNS), t, items)
        stream, low, high = Stream(seed, _RUNS, ATTENTION), *environment.support
        found = _ask_lists(lists, stream, t, items, weights, places)
        for name, array in found.items():
            if array.dtype == np.float64 and not ((array >= low) & (array <= max(high, float(width)))).all():
                raise ContractError(f"expected {name} within [{low:g}, {max(high, float(width)):g}], got {array}")
        wide = [np.pad(array, ((0, 0), (0, 2)), constant_values=fill) for array, fill in
                ((items, 0), (weights, 0.0), (places, -1))]  # fmt: skip
        again = _ask_lists(lists, stream, t, *wide)
        for i, run in enumerate(_RUNS):
            row = slice(i, i + 1)
            own = Stream(seed, [run], ATTENTION)
            alone = _ask_lists(lists, own, t, items[row], weights[row], places[row])
            for name, array in alone.items():
                wider = again[name][row, :width] if array.ndim == 2 else again[name][row]
                is_shown = places[row] >= 0 if array.ndim == 2 else np.ones(1, bool)
                for how, other in (("in a batch", found[name][row]), ("in a wider batch", wider)):
                    if not np.array_equal(array[is_shown], other[is_shown]):
                        raise ContractError(
                            f"expected {name} of run {run} to be {array[is_shown].tolist()} {how}, as alone; got "
                            f"{other[is_shown].tolist()}"
                        )


def _ask_lists(
    lists: ListEnvironment, stream: Stream, t: int, items: IntArray, weights: FloatArray, places: IntArray
) -> dict[str, AnyArray]:
    """What is seen of lists, and what they are worth and have earned."""
    observed, is_seen = _checked(lists.look, stream, t, items, weights, places)
    if is_seen is None:
        is_seen = np.ones(places.shape, bool)
    return {
        "what look observes": observed,
        "what look sees": is_seen,
        "the worth": lists.worth(weights, places),
        "what is earned": lists.earned(observed, places),
    }


def _check_runs(what: str, ask: Callable[[Stream, int], Any], stream: Stream, items: IntArray) -> None:
    """See that what `ask` gives of an episode, a row per run, is the same again, and for each run alone."""
    for t in (1, 3):
        values = ask(stream, t)
        _expect_same(what, "asked again", ask(stream, t), values, items)
        for i, run in enumerate(_RUNS):
            alone = ask(Stream(stream.seed, [run], stream.purpose), t)
            _expect_same(what, f"asked for run {run} alone", alone, values[i : i + 1], items)


def _checked(ask: Callable[..., Any], *arguments: Any) -> Any:
    """What an environment answers, its mistakes as broken promises."""
    try:
        return ask(*arguments)
    except InvalidEnvironmentError as error:
        raise ContractError(str(error)) from None


def _by_address(what: str, ask: Callable[..., Any], stream: Stream, everything: IntArray) -> AnyArray:
    """What `ask` gives for all items in episode 3, when it gives the same however it is asked."""
    rng, n = np.random.default_rng(stream.seed), everything.size
    values: AnyArray = ask(stream, 3, everything)
    for how, its in (
        ("again", everything),
        ("for each run", np.tile(everything, (len(_RUNS), 1))),
        ("in another order", everything[::-1].copy()),
        ("with some of the items", rng.permutation(n)[: (n + 1) // 2]),
        ("for each run with items of its own", np.array([rng.permutation(n)[: (n + 2) // 3] for _ in _RUNS])),
    ):
        expected = np.take_along_axis(values, np.broadcast_to(its, (len(_RUNS), its.shape[-1])), axis=1)
        _expect_same(what, f"asked {how}", ask(stream, 3, its), expected, its)
    for i, run in enumerate(_RUNS):
        alone = ask(Stream(stream.seed, [run], stream.purpose), 3, everything)
        _expect_same(what, f"asked for run {run} alone", alone, values[i : i + 1], everything)
    places = np.repeat(np.arange(len(_RUNS)), n)  # as where the sets of a batch differ in size
    each = ask(stream.take(places), 3, np.tile(everything, len(_RUNS))[:, None])
    _expect_same(what, "asked one by one", each.reshape(values.shape), values, everything)
    return values


def _expect_same(what: str, when: str, given: AnyArray, expected: AnyArray, items: IntArray) -> None:
    if not np.array_equal(given, expected):
        run, k = np.argwhere(given != expected)[0]
        raise ContractError(
            f"expected {what} to depend on (seed, run, t, item) alone; {when}, item "
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


def _check_averages(environment: Environment, n_draws: int, seed: int, later: Sequence[int]) -> None:
    rng = np.random.default_rng(seed)
    items = np.sort(rng.permutation(environment.n_items)[:64])
    n_runs = max(n_draws // 16, 1)
    stream = Stream(seed, range(n_runs))
    episodes = range(1, -(-n_draws // n_runs) + 1)
    _check_average(environment, stream, items, episodes, "", 1)
    for t in later:
        _check_average(environment, stream, items, [t], f" in episode {t}", len(later))


def _check_average(
    environment: Environment, stream: Stream, items: IntArray, episodes: Sequence[int], when: str, n_looks: int
) -> None:
    """See that the weights of some episodes, taken together, average to their means."""
    name = "mean_weights" if environment.is_stationary else "means"
    n, most = stream.n_runs * len(episodes), max(1, _MOST_CELLS // environment.n_items)
    # deviations, not weights: their squares do not cancel when the mean is large
    parts, expected = [], np.zeros(items.size)
    for t, first in product(episodes, range(0, stream.n_runs, most)):
        some = stream if most >= stream.n_runs else stream.take(np.arange(first, min(first + most, stream.n_runs)))
        means = _checked(means_of, environment, t, some.with_purpose(FEATURES))[..., items]
        parts.append(_draw(environment, some, t, items) - means)
        expected += np.broadcast_to(means, parts[-1].shape).sum(axis=0) / n
    error = sum(part.sum(axis=0) for part in parts) / n
    variance = np.maximum(sum(np.square(part).sum(axis=0) for part in parts) / n - np.square(error), 0.0)
    low, high = environment.support
    largest = np.max([np.abs(part).max(axis=0) for part in parts], axis=0)
    width = np.full(items.size, high - low) if high - low < np.inf else largest
    x = math.log(3.0 * items.size * n_looks / 1e-9)
    rounding = 1e-12 * (np.abs(expected) + largest)
    allowed = np.sqrt(2.0 * variance * x / n) + 3.0 * width * x / n + rounding
    is_off = np.abs(error) > allowed
    if is_off.any():
        e = int(is_off.argmax())
        raise ContractError(
            f"expected weights of item {items[e]}{when} to average to {name}, {expected[e]:.6g}; got "
            f"{expected[e] + error[e]:.6g} over {n} draws, more than {allowed[e]:.3g} away"
        )
