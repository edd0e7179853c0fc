"""Does a policy keep what simulations and learners rely on?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.exceptions import ContractError
from matroid_bandits.matroids import Matroid, UniformMatroid
from matroid_bandits.policies import Feedback, Plays, Policy, Request, State, coefficient
from matroid_bandits.stream import POLICY, START, Stream

_RUNS = (0, 1, 5, 2)
_SET_SIZE = 3


def check_policy(policy: Policy, *, n_items: int = 9, n_episodes: int = 12, seed: int = 0) -> None:
    """Play a policy for a few episodes and see that it keeps what simulations and learners rely on.

    Its `indices` must be a float array of a number (or infinity) per run and item; must leave the state alone; and
    must be a function of (state, request). Its `observe`, `wait` and `advance` may change ``state.extra`` alone, and
    the state where an alarm lets an item start anew. A run's numbers must not change with the runs beside it. Gains
    are all it may go by: costs that are the same gains must give the same indices, unless the policy takes weights of
    a bounded range only. All this in both directions, from an empty start and from one where every item was seen,
    with answers in parts, an episode late and never, and with random features where the policy takes some.

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
    ...     def indices(self, state, request):
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
    matroid = UniformMatroid(n_items, min(_SET_SIZE, n_items))
    for start in ("explore", "observe"):
        played = [_Trial(policy, matroid, minimize, seed).play(n_episodes, start) for minimize in (False, True)]
        if policy.support == (-np.inf, np.inf):
            _compare_directions(*played)


class _Trial:
    """A batch of runs, and each of its runs alone, that must have the same numbers."""

    def __init__(self, policy: Policy, matroid: Matroid, minimize: bool, seed: int) -> None:
        self._policy, self._matroid, self._minimize = policy, matroid, minimize
        self._world = Stream(seed, _RUNS)
        batches = (_RUNS, *([run] for run in _RUNS))
        self._streams = [Stream(seed, runs, POLICY) for runs in batches]
        self._watched = [_Watched(policy) for _ in batches]
        self._agents = [
            Agent(matroid, watched, n_runs=len(runs), minimize=minimize)
            for watched, runs in zip(self._watched, batches, strict=True)
        ]

    def play(self, n_episodes: int, start: str) -> list[FloatArray]:
        """The indices of the batch in every episode, when all is well with them."""
        history = []
        if start == "observe":
            everything = np.tile(np.arange(self._matroid.n_items), (len(_RUNS), 1))
            weights = self._weights(self._world.with_purpose(START), 0, everything)
            for rows, agent, stream in self._batches():
                agent.observe(self._request(0, rows, stream), everything[rows], weights[rows])
        late: tuple[list[Play], FloatArray, IntArray] | None = None
        for t in range(1, n_episodes + 1):
            plays = [agent.decide(self._request(t, rows, stream)) for rows, agent, stream in self._batches()]
            self._compare_runs(t)
            history.append(self._watched[0].U)
            weights = self._weights(self._world, t, plays[0].items)
            width = weights.shape[1]
            now = np.arange(min(1 + t % 3, width))  # as many as a decision may be told of at a time
            self._tell(plays, weights, now, t)
            if late is not None and t % 4:
                self._tell(*late, t)
            late = (plays, weights, np.arange(now.size, width)) if now.size < width else None
        return history

    def _request(self, t: int, rows: slice, stream: Stream) -> Request:
        """What an agent is asked: with features of its runs where the policy takes some."""
        d, n_items = self._policy.n_features, self._matroid.n_items
        if d is None:
            return Request(t, stream)
        X = self._world.with_purpose(POLICY).uniform(t, np.arange(n_items * d)).reshape(len(_RUNS), n_items, d)
        return Request(t, stream, features=X[rows])

    def _batches(self) -> list[tuple[slice, Agent, Stream]]:
        rows = [slice(None), *(slice(i, i + 1) for i in range(len(_RUNS)))]
        return list(zip(rows, self._agents, self._streams, strict=True))

    def _tell(self, plays: list[Play], weights: FloatArray, columns: IntArray, t: int) -> None:
        for play, (rows, agent, _) in zip(plays, self._batches(), strict=True):
            n_rows, width = play.items.shape
            places = (np.arange(n_rows)[:, None] * width + columns).reshape(-1)
            agent.learn(play, np.ascontiguousarray(weights[rows][:, columns]), places)
        batch, *alone = (agent.state.extra for agent in self._agents)
        for key, array in batch.items():
            for i, own in enumerate(alone):
                if not np.array_equal(array[i], own[key][0], equal_nan=array.dtype.kind == "f"):
                    raise ContractError(
                        f"state.extra[{key!r}] of run {_RUNS[i]} changes with the runs beside it, in episode {t}"
                    )

    def _weights(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """Weights over the policy's support, its ends included; as costs they are the same gains."""
        low, high = self._policy.support
        is_bounded = low > -np.inf and high < np.inf
        low, high = (low if low > -np.inf else min(0.0, high - 1.0)), (high if high < np.inf else max(1.0, low + 1.0))
        weights = low + (high - low) * np.round(4.0 * stream.uniform(t, items)) / 4.0
        return -weights if self._minimize and not is_bounded else weights

    def _compare_runs(self, t: int) -> None:
        batch, *alone = (watched.U for watched in self._watched)
        for i, rows in enumerate(alone):
            if not np.array_equal(batch[i], rows[0]):
                e = int((batch[i] != rows[0]).argmax())
                raise ContractError(
                    f"indices of run {_RUNS[i]} change with the runs beside it: expected {rows[0, e]} for item "
                    f"{e} in episode {t}, as when played alone, got {batch[i, e]}"
                )


class _Watched(Policy):
    """Another policy, with an eye on what it does."""

    U: FloatArray

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.support, self.tries_unseen = policy.support, policy.tries_unseen  # type: ignore[misc]
        self._c, self._exponent = 0.0, 0

    def check(self, constraint: Any) -> None:
        self._policy.check(constraint)

    def prepare(self, state: State) -> None:
        self._policy.prepare(state)
        _check_extra(state)
        affine = self._policy.affine()
        if affine is not None:
            for name, array in zip(("a", "b"), affine.lines(state), strict=True):
                if (
                    not isinstance(array, np.ndarray)
                    or array.shape != state.counts.shape
                    or array.dtype != np.float64
                ):
                    raise ContractError(f"expected the lines' {name} to be float64 of shape {state.counts.shape}")

    def indices(self, state: State, request: Request) -> FloatArray:
        t = request.episode
        before = _copies(state)
        U = self._policy.indices(state, request)
        _check_unchanged("indices", before, state, t)
        if not isinstance(U, np.ndarray) or U.dtype.kind != "f":
            given = f"one of {U.dtype}" if isinstance(U, np.ndarray) else type(U).__name__
            raise ContractError(f"expected indices to return an array of floats, got {given}")
        if U.shape != state.counts.shape:
            raise ContractError(f"expected indices of shape {state.counts.shape}, a row per run, got {U.shape}")
        # whatever the formula says of items never seen, and where it has no number for those never answered
        is_open = state.is_unseen if self.tries_unseen else np.zeros(U.shape, bool)
        is_late = np.isnan(U) & (state.counts == 0) & ~is_open & self.tries_unseen
        is_wrong = np.isnan(U) & ~is_open & ~is_late
        if is_wrong.any():
            run, e = np.argwhere(is_wrong)[0]
            unseen = ", which was never seen" if state.counts[run, e] == 0 else ""
            raise ContractError(f"expected indices that are numbers, got NaN for item {e}{unseen}, in episode {t}")
        self.U = np.where(is_open, np.inf, np.where(is_late, state.means, U))
        again = self._policy.indices(state, request)
        is_other = (np.shape(again) == U.shape) & (again != U) & ~is_open & ~is_late
        if is_other.any():
            run, e = np.argwhere(is_other)[0]
            raise ContractError(
                f"expected indices to be a function of (state, request), got {U[run, e]} and then "
                f"{again[run, e]} for item {e} in episode {t}"
            )
        self._check_coefficient(state, request)
        return U

    def advance(self, state: State, request: Request) -> None:
        before = _copies(state, "extra")
        moved = self._policy.advance(state, request)
        if not (moved is None or (isinstance(moved, tuple) and len(moved) == 2)):
            raise ContractError(f"expected advance to return (runs, items) or None, got {type(moved).__name__}")
        _check_unchanged("advance", before, state, request.episode)
        _check_extra(state)

    def observe(self, state: State, feedback: Feedback) -> None:
        before = _copies(state, "extra")
        told = [array.copy() for array in (feedback.runs, feedback.items, feedback.gains)]
        n_alarms = self._n_alarms(state)
        self._policy.observe(state, feedback)
        is_forgotten = self._n_alarms(state) > n_alarms  # an alarm lets the state forget an item, and nothing else
        for name, array in _copies(state, "extra").items():
            before[name][is_forgotten] = array[is_forgotten]
        _check_unchanged("observe", before, state, feedback.episode)
        _check_extra(state)
        if not all(map(np.array_equal, told, (feedback.runs, feedback.items, feedback.gains))):
            raise ContractError(f"expected observe to leave the feedback it is given, in episode {feedback.episode}")

    def wait(self, state: State, plays: Plays) -> None:
        before = _copies(state, "extra")
        self._policy.wait(state, plays)
        _check_unchanged("wait", before, state, plays.episode)
        _check_extra(state)

    def drop(self, state: State, dropped: Sequence[Plays], waiting: Iterable[Plays]) -> None:
        self._policy.drop(state, dropped, waiting)

    def _n_alarms(self, state: State) -> IntArray:
        alarms = self._policy.alarms(state)
        return np.zeros(state.counts.shape, np.int64) if alarms is None else alarms[0].copy()

    def _check_coefficient(self, state: State, request: Request) -> None:
        affine = self._policy.affine()
        if affine is not None:
            c, exponent = coefficient(affine, state, request), affine.exponent(state)
            if math.ldexp(c, exponent - self._exponent) < self._c:
                raise ContractError(
                    f"expected coefficient never to fall, got {c} after {self._c} in episode {request.episode}"
                )
            self._c, self._exponent = c, exponent


def _compare_directions(gains: list[FloatArray], costs: list[FloatArray]) -> None:
    """Indices of two trials that met the same gains, once as weights and once as costs."""
    for t, (U, V) in enumerate(zip(gains, costs, strict=True), start=1):
        if not np.array_equal(U, V):
            run, e = np.argwhere(U != V)[0]
            raise ContractError(
                f"expected indices to go by gains alone: item {e} has {U[run, e]} in episode {t}, and {V[run, e]} "
                "when the same gains are costs"
            )


def _copies(state: State, *except_for: str) -> dict[str, AnyArray]:
    """The arrays of a state by name."""
    extra: Mapping[str, Any] = {} if "extra" in except_for else {f"extra[{k!r}]": v for k, v in state.extra.items()}
    named = {
        "counts": state.counts,
        "waiting": state.waiting,
        "sums": state.sums,
        "means": state.means,
        "radii": state.radii,
        **extra,
    }
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


def _check_extra(state: State) -> None:
    for key, array in state.extra.items():
        is_array = isinstance(array, np.ndarray)
        if not is_array or array.dtype.kind not in "biuf" or array.shape[:1] != (state.n_runs,):
            given = f"shape {array.shape} of {array.dtype}" if is_array else type(array).__name__
            raise ContractError(
                f"expected state.extra[{key!r}] to be an array of numbers, a row per run; got {given}"
            )
