"""Checks that a user's own matroid, policy or environment keeps what the rest of the package relies on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations, islice, pairwise
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.environments import Environment
from matroid_bandits.exceptions import ContractError
from matroid_bandits.matroids import Matroid, OracleMatroid
from matroid_bandits.policies import Policy, State
from matroid_bandits.stream import POLICY, START, WEIGHTS, Stream

#: Up to this many items every subset is looked at.
EXHAUSTIVE_ITEMS = 12

#: Up to this many items the answers of `is_independent` are remembered; beyond, few sets are met twice.
_REMEMBERED_ITEMS = 20

#: At most this many items of a basis are exchanged, and of those beside a set paired, in a trial: without a limit
#: trials would grow with the square of the items.
_EXCHANGED_ITEMS, _PAIRED_ITEMS = 32, 16


def check_matroid(matroid: Matroid, *, n_trials: int = 200, seed: int = 0) -> None:
    """Prove (up to 12 items) or sample (beyond) that the matroid axioms hold and that all its answers agree.

    Parameters
    ----------
    matroid : Matroid
        Typically an `OracleMatroid`, or an instance of a new family.
    n_trials : int, default 200
        How many random sets and weights to try.
    seed : int, default 0
        Which ones.

    Raises
    ------
    ContractError
        With the two sets that break an axiom, or the answer that disagrees with `is_independent`.

    Notes
    -----
    Beyond 12 items each trial takes two greedy bases of a random set of items. They must be of one size, and every
    item of one must be replaceable by some item of the other; random subsets of both must be independent and
    augment each other; and of the items that can be added to such a subset, those that exclude each other must form
    classes. Answers are compared once the axioms have passed all trials.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_matroid(mb.UniformMatroid(5, 2))
    >>> no_neighbours = mb.OracleMatroid(3, lambda items: not {0, 1} <= items and not {1, 2} <= items)
    >>> mb.testing.check_matroid(no_neighbours)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: augmentation fails: {0, 2} and {1} are independent, but no item of \
{0, 2} can be added to {1}
    """
    if not isinstance(matroid, Matroid):
        hint = ""
        if isinstance(matroid, type):
            hint = " (the class; an instance is needed)"
        elif callable(matroid):
            hint = " (OracleMatroid makes a matroid of a predicate)"
        raise ContractError(f"expected a Matroid, got {matroid!r}{hint}")
    oracle, rng = _Oracle(matroid), np.random.default_rng(seed)
    if not oracle(frozenset()):
        raise ContractError("the empty set is not independent")
    if matroid.n_items <= EXHAUSTIVE_ITEMS:
        _prove(oracle)
    else:
        for _ in range(n_trials):
            _sample_axioms(oracle, rng)
    for _ in range(n_trials):
        _compare_answers(oracle, rng)


def check_policy(policy: Policy, *, n_items: int = 9, n_episodes: int = 12, seed: int = 0) -> None:
    """Play a policy for a few episodes and see that it keeps what simulations and learners rely on.

    Its `indices` must be a float array of a number (or infinity) per run and item, also while items are unseen; must
    leave the state alone; and must be a function of (state, t, stream). Its `observe` may change ``state.extra``
    alone. A run's numbers must not change with the runs beside it. All this in both directions, from an empty start
    and from one where every item was seen.

    Parameters
    ----------
    policy : Policy
        Typically an instance of one's own class.
    n_items : int, default 9
        How many items to play on; a policy with features needs as many as it has.
    n_episodes : int, default 12
        How long to play.
    seed : int, default 0
        Of the weights and of the policy's random numbers.

    Raises
    ------
    ContractError
        What was expected, what was found, where. Errors that the policy itself raises come through as they are.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_policy(mb.ThompsonSampling())
    >>> class Herd(mb.Policy):
    ...     def indices(self, state, t, stream):
    ...         return state.means - state.means.mean(axis=0)  # over the runs: an axis too far
    >>> mb.testing.check_policy(Herd())
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: indices of run 0 change with the runs beside it: expected \
0.0 for item 1 in episode 2, as when played alone, got 0.0625
    """
    if not isinstance(policy, Policy):
        hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
        raise ContractError(f"expected a Policy, got {policy!r}{hint}")
    policy.check(n_items)
    for minimize in (False, True):
        for start in ("explore", "observe"):
            _Trial(policy, n_items, minimize, seed).play(n_episodes, start)


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
    >>> import matroid_bandits as mb
    >>> mb.testing.check_environment(mb.BernoulliEnvironment([0.25, 0.5]))
    >>> class Die(mb.Environment):
    ...     def draw(self, stream, t, items, purpose=0):
    ...         return np.floor(6 * stream.uniform(t, items, purpose))  # from 0 to 5
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


class _Trial:
    """A batch of runs, and each of its runs alone, that must have the same numbers."""

    _RUNS = (0, 1, 5, 2)

    def __init__(self, policy: Policy, n_items: int, minimize: bool, seed: int) -> None:
        self._policy, self._n_items = policy, n_items
        self._world = Stream(seed, self._RUNS)
        self._streams = [Stream(seed, runs, POLICY) for runs in (self._RUNS, *([run] for run in self._RUNS))]
        self._states = [State(stream.n_runs, n_items, minimize) for stream in self._streams]
        for state in self._states:
            policy.prepare(state)
            for key, array in state.extra.items():
                _check_extra(key, array, state.n_runs)

    def play(self, n_episodes: int, start: str) -> None:
        everything = np.tile(np.arange(self._n_items), (len(self._RUNS), 1))
        if start == "observe":
            self._tell(0, everything)
        for t in range(1, n_episodes + 1):
            U = self._indices(t)
            if self._policy.tries_unseen:
                U = np.where(self._states[0].counts == 0, np.inf, U)
            size = min(1 + t % 3, self._n_items)  # as many as a decision may be told of at a time
            self._tell(t, np.sort(np.argsort(-U, axis=1, kind="stable")[:, :size], axis=1))

    def _indices(self, t: int) -> FloatArray:
        """The batch's, when all is well with them."""
        batch, *alone = [
            self._ask(state, t, stream) for state, stream in zip(self._states, self._streams, strict=True)
        ]
        for i, rows in enumerate(alone):
            if not np.array_equal(batch[i], rows[0]):
                e = int((batch[i] != rows[0]).argmax())
                raise ContractError(
                    f"indices of run {self._RUNS[i]} change with the runs beside it: expected {rows[0, e]} for item "
                    f"{e} in episode {t}, as when played alone, got {batch[i, e]}"
                )
        return batch

    def _ask(self, state: State, t: int, stream: Stream) -> FloatArray:
        before = _copies(state)
        U = self._policy.indices(state, t, stream)
        _check_unchanged("indices", before, state, t)
        if not isinstance(U, np.ndarray) or U.dtype.kind != "f":
            given = f"one of {U.dtype}" if isinstance(U, np.ndarray) else type(U).__name__
            raise ContractError(f"expected indices to return an array of floats, got {given}")
        if U.shape != state.counts.shape:
            raise ContractError(f"expected indices of shape {state.counts.shape}, a row per run, got {U.shape}")
        if np.isnan(U).any():
            run, e = np.argwhere(np.isnan(U))[0]
            unseen = ", which was never seen" if state.counts[run, e] == 0 else ""
            raise ContractError(f"expected indices that are numbers, got NaN for item {e}{unseen}, in episode {t}")
        answer: FloatArray = U.copy()
        again = self._policy.indices(state, t, stream)
        if np.shape(again) == answer.shape and not np.array_equal(answer, again):
            run, e = np.argwhere(answer != again)[0]
            raise ContractError(
                f"expected indices to be a function of (state, t, stream), got {answer[run, e]} and then "
                f"{again[run, e]} for item {e} in episode {t}"
            )
        return answer

    def _tell(self, t: int, items: IntArray) -> None:
        low, high = self._policy.support
        low, high = (low if low > -np.inf else min(0.0, high - 1.0)), (high if high < np.inf else max(1.0, low + 1.0))
        u = self._world.uniform(t, items, WEIGHTS if t else START)
        weights = low + (high - low) * np.round(4.0 * u) / 4.0  # the ends of the range too
        batch = (items, weights)
        rows = [(items[i : i + 1], weights[i : i + 1]) for i in range(items.shape[0])]
        for state, stream, (its, own) in zip(self._states, self._streams, (batch, *rows), strict=True):
            state.absorb(its, own)
            before, told = _copies(state, "extra"), (its.copy(), own.copy())
            self._policy.observe(state, t, its, own, stream)
            _check_unchanged("observe", before, state, t)
            if not (np.array_equal(told[0], its) and np.array_equal(told[1], own)):
                raise ContractError(f"expected observe to leave the items and weights it is given, in episode {t}")
        for key, array in self._states[0].extra.items():
            _check_extra(key, array, self._states[0].n_runs)
            for i, state in enumerate(self._states[1:]):
                if not np.array_equal(array[i], state.extra[key][0], equal_nan=array.dtype.kind == "f"):
                    raise ContractError(
                        f"state.extra[{key!r}] of run {self._RUNS[i]} changes with the runs beside it, in episode {t}"
                    )


def _copies(state: State, *except_for: str) -> dict[str, AnyArray]:
    """The arrays of a state by name."""
    extra: Mapping[str, Any] = {} if "extra" in except_for else {f"extra[{k!r}]": v for k, v in state.extra.items()}
    named = {"counts": state.counts, "sums": state.sums, "means": state.means, "radii": state.radii, **extra}
    return {name: array.copy() for name, array in named.items()}


def _check_unchanged(who: str, before: Mapping[str, AnyArray], state: State, t: int) -> None:
    after = _copies(state, *([] if who == "indices" else ["extra"]))
    for name in before.keys() | after.keys():
        is_same = (
            name in before
            and name in after
            and np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f")
        )
        if not is_same:
            raise ContractError(f"expected {who} to leave the state as it is; it changed state.{name} in episode {t}")


def _check_extra(key: str, array: Any, n_runs: int) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or array.shape[:1] != (n_runs,):
        given = f"shape {array.shape} of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ContractError(f"expected state.extra[{key!r}] to be an array of numbers, a row per run; got {given}")


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
    _draw(environment, stream, 0, everything, START)
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


def _draw(environment: Environment, stream: Stream, t: int, items: IntArray, purpose: int = WEIGHTS) -> FloatArray:
    """Weights of the right shape and type, finite, within the support."""
    given = items.copy()
    weights = environment.draw(stream, t, items, purpose)
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


class _Oracle:
    """`is_independent` of frozensets, remembered where there are few."""

    def __init__(self, matroid: Matroid) -> None:
        self.matroid = matroid
        self.n_items = matroid.n_items
        self._known: dict[frozenset[int], bool] = {}
        # a user's predicate itself, so that what it answers can be looked at
        self._ask: Callable[[frozenset[int]], Any] = (
            matroid.predicate if isinstance(matroid, OracleMatroid) else matroid.is_independent
        )

    def __call__(self, X: frozenset[int]) -> bool:
        known = self._known.get(X)
        if known is None:
            known = self._answer(X)
            if self.n_items <= _REMEMBERED_ITEMS:
                self._known[X] = known
        return known

    def _answer(self, X: frozenset[int]) -> bool:
        answer = self._ask(X)
        if not isinstance(answer, np.ndarray):
            try:
                return bool(answer)
            except (TypeError, ValueError):  # the array types of others
                pass
        given = f"an array of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
        raise ContractError(f"expected is_independent({_show(X)}) to be true or false, got {given}")

    def grow(self, X: frozenset[int], order: list[int]) -> frozenset[int]:
        """The paper's Algorithm 1, started from X."""
        for e in order:
            if e not in X and self(X | {e}):
                X |= {e}
        return X


def _prove(oracle: _Oracle) -> None:
    by_size = [
        [X for X in map(frozenset, combinations(range(oracle.n_items), size)) if oracle(X)]
        for size in range(oracle.n_items + 1)
    ]
    for sets in by_size:
        for X in sets:
            _check_subsets(oracle, X)
    # Given hereditary sets, augmentation from each size to the next implies it for all pairs.
    for small, large in pairwise(by_size):
        for Y in small:
            addable = frozenset(e for e in range(oracle.n_items) if e not in Y and oracle(Y | {e}))
            for X in large:
                if addable.isdisjoint(X):
                    _fail_augmentation(X, Y)


def _sample_axioms(oracle: _Oracle, rng: np.random.Generator) -> None:
    n = oracle.n_items
    ground = rng.permutation(n)[: n if rng.random() < 0.5 else rng.integers(1, n + 1)]
    B1, B2 = (_check_greedy(oracle, rng.permutation(ground).tolist()) for _ in range(2))
    _check_augmentation(oracle, *sorted((B1, B2), key=len, reverse=True))
    for e in rng.permutation(sorted(B1 - B2))[:_EXCHANGED_ITEMS].tolist():
        _check_augmentation(oracle, B2, B1 - {e})
    X = _some(B1, int(rng.integers(0, len(B1) + 1)), rng)
    Y = _some(B2, max(len(X) - 1, 0), rng)
    for part, whole in ((X, B1), (Y, B2)):
        if not oracle(part):
            _fail_subset(whole, part)
        _check_subsets(oracle, part)
    _check_augmentation(oracle, X, Y)
    _check_pairs(oracle, X, rng.permutation(n).tolist())


def _check_greedy(oracle: _Oracle, order: list[int]) -> frozenset[int]:
    """What Algorithm 1 accepts along an order; what it refused must not fit in the end."""
    X: frozenset[int] = frozenset()
    refused = []
    for e in order:
        if oracle(X | {e}):
            X |= {e}
        else:
            refused.append((e, X))
    for e, Z in refused:
        if oracle(X | {e}):
            _fail_subset(X | {e}, Z | {e})
    _check_subsets(oracle, X)
    return X


def _some(X: frozenset[int], size: int, rng: np.random.Generator) -> frozenset[int]:
    """A random subset."""
    return frozenset(rng.permutation(sorted(X))[:size].tolist())


def _check_subsets(oracle: _Oracle, X: frozenset[int]) -> None:
    for e in X:
        if not oracle(X - {e}):
            _fail_subset(X, X - {e})


def _check_augmentation(oracle: _Oracle, X: frozenset[int], Y: frozenset[int]) -> None:
    """Check that the larger of two independent sets, if X is, has an item that can be added to Y."""
    if len(X) > len(Y) and not any(oracle(Y | {e}) for e in X - Y):
        _fail_augmentation(X, Y)


def _check_pairs(oracle: _Oracle, Z: frozenset[int], order: list[int]) -> None:
    """Where Z can be extended by b and c together and by a, it can be by a and one of them."""
    addable = set(islice((e for e in order if e not in Z and oracle(Z | {e})), _PAIRED_ITEMS))
    joins = {e: {e} for e in addable}
    for b, c in combinations(sorted(addable), 2):
        if oracle(Z | {b, c}):
            joins[b].add(c)
            joins[c].add(b)
    for b, c in combinations(sorted(addable), 2):
        if c in joins[b]:
            for a in addable - joins[b] - joins[c]:
                _fail_augmentation(Z | {b, c}, Z | {a})


def _fail_subset(X: frozenset[int], Y: frozenset[int]) -> None:
    raise ContractError(f"{_show(X)} is independent, but its subset {_show(Y)} is not")


def _fail_augmentation(X: frozenset[int], Y: frozenset[int]) -> None:
    raise ContractError(
        f"augmentation fails: {_show(X)} and {_show(Y)} are independent, but no item of "
        f"{_show(X - Y)} can be added to {_show(Y)}"
    )


def _compare_answers(oracle: _Oracle, rng: np.random.Generator) -> None:
    """Every public answer against what `is_independent` alone implies."""
    matroid, n = oracle.matroid, oracle.n_items
    weights = rng.integers(0, max(n, 2), n).astype(float)  # ties are likely
    order = np.argsort(-weights, kind="stable").tolist()
    best = oracle.grow(frozenset(), order)
    _expect("rank", matroid.rank, len(best))
    _expect(f"max_weight_basis({weights.tolist()})", matroid.max_weight_basis(weights).tolist(), sorted(best))
    X = frozenset(rng.permutation(n)[: rng.integers(0, n + 1)].tolist())
    inside = oracle.grow(frozenset(), sorted(X))
    closed = {e for e in range(n) if e in X or not oracle(inside | {e})}
    _expect(f"closure({_show(X)})", set(matroid.closure(X).tolist()), closed)
    added = {e for e in range(n) if e not in X and oracle(X | {e})} if oracle(X) else set()
    _expect(f"extension({_show(X)})", set(matroid.extension(X).tolist()), added)
    if len(best) < n:
        e = int(rng.choice(sorted(set(range(n)) - best)))
        circuit = {e} | {f for f in best if oracle((best - {f}) | {e})}
        _expect(f"circuit({_show(best)}, {e})", set(matroid.circuit(sorted(best), e).tolist()), circuit)
    _compare_requests(oracle, rng, weights, order)


def _compare_requests(oracle: _Oracle, rng: np.random.Generator, weights: FloatArray, order: list[int]) -> None:
    """Check `greedy` and `best_sets` where rows differ in length, items are missing and others are taken already."""
    matroid, n = oracle.matroid, oracle.n_items
    basis = oracle.grow(frozenset(), rng.permutation(n).tolist())
    taken = rng.permutation(sorted(basis))[: rng.integers(0, len(basis) + 1)].astype(np.int64)
    orders = np.stack([rng.permutation(n), np.array(order, np.int64)])
    lengths = rng.integers(0, n + 1, 2)
    items, sizes = matroid.greedy(orders, lengths, taken)
    for run in range(2):
        listed = orders[run, : lengths[run]].tolist()
        what = f"greedy along {listed} from {taken.tolist()}"
        chosen = items[run, : sizes[run]].tolist()
        _expect(what, frozenset(chosen), oracle.grow(frozenset(taken.tolist()), listed))
        accepted = set(chosen) - set(taken.tolist())
        _expect(f"the order of {what}", chosen, [*taken.tolist(), *(e for e in listed if e in accepted)])
    available = rng.random((2, n)) < 0.7
    items, sizes = matroid.best_sets(np.stack([weights, weights]), available=available, pinned=taken)
    for run in range(2):
        open_ = [e for e in order if available[run, e]]
        what = f"best_sets({weights.tolist()}) of {sorted(open_)} with {sorted(taken.tolist())} pinned"
        expected = sorted(oracle.grow(frozenset(taken.tolist()), open_))
        _expect(what, items[run, : sizes[run]].tolist(), expected)


def _expect(what: str, given: object, expected: object) -> None:
    if given != expected:
        raise ContractError(f"{what} is {given}, but is_independent implies {expected}")


def _show(X: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(X))) + "}"
