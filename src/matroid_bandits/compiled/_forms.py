"""The compiled form of a simulation, for both devices: what its policy, environment and matroid declare."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits._util.declared import override
from matroid_bandits._util.text import counted
from matroid_bandits.environments import Environment
from matroid_bandits.kernels import random
from matroid_bandits.kernels.forms import (
    FADING,
    DelayedForm,
    MatroidForm,
    MovingForm,
    PiecesForm,
    PolicyForm,
    WorldForm,
)
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import FREE, Policy, policy_to_dict
from matroid_bandits.problem import Problem

#: Kernels count episodes in 32 bits.
MOST_EPISODES = 2**31 - 1

# As `policies.FREE`: what may be overridden without a declaration being lost.
_FREE_OF_ENVIRONMENTS = ("content", "mean_range", "support_of")
_FREE_OF_MATROIDS = ("fields", "from_fields", "content", "dual", "replaceable", "has_quick_coloops")


class Misfit(Exception):
    """Error: a problem or policy has no compiled form; the message says which part and why."""


def check_length(n_episodes: int) -> None:
    """Raise `Misfit` for more episodes than the kernels can count."""
    if n_episodes > MOST_EPISODES:
        raise Misfit(f"{counted(n_episodes, 'episode')} are more than kernels count, {MOST_EPISODES:,}")


class ProblemForms:
    """Compiled form of a problem: its matroid and its environment, each made on first use."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[Any, Any] = {}
        self._lock = threading.RLock()

    @cached_property
    def matroid(self) -> MatroidForm:
        """Compiled form of the matroid."""
        constraint = self.problem.constraint
        name = type(constraint).__name__
        if not isinstance(constraint, Matroid):
            raise Misfit(f"{name} is no matroid")
        form: MatroidForm | None = _declared(constraint, _FREE_OF_MATROIDS)
        if constraint.rank == 0:
            raise Misfit("a matroid of rank 0 leaves nothing to choose")
        if form is None:
            raise Misfit(f"{name} has no compiled form")
        return form

    @cached_property
    def worlds(self) -> list[World]:
        """Compiled environment from episode 1 on: a `World` for each stretch of episodes in which it is constant."""
        made: dict[int, World] = {}  # pieces that come back are made once
        late: dict[tuple[int, ...], Delays] = {}
        worlds = []
        for first, environment, form, layers in self.stretches:
            if id(environment) not in made:
                made[id(environment)] = World(first, self.problem, environment, form)
            key = tuple(id(layer.fixed) for layer in layers)
            if key not in late:
                late[key] = Delays(layers, self.problem.n_items if self.is_late else 1)
            worlds.append(made[id(environment)].beginning(first, late[key]))
        return worlds

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The environments that follow each other, their first episodes, and their compiled forms."""
        return list(_stretches(self.problem.environment, 1, np.inf))

    @property
    def is_late(self) -> bool:
        """Whether any feedback may be delayed."""
        return any(stretch.layers for stretch in self.stretches)

    def longest_delay(self, n_episodes: int) -> int:
        """Return the longest delay of feedback that arrives before the end."""
        return min(max(world.delays.longest for world in self.worlds), n_episodes - 1)

    def schedule(self, policy: Policy) -> Schedule:
        """Return the compiled form of a policy on this problem, cached by policy."""
        schedule: Schedule = self.once(id(policy), lambda: schedule_of(policy, self.problem))
        return schedule

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached result of `make` under a key, computed once for all threads."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    def world_at(self, t: int) -> tuple[World, float]:
        """Return the world of episode t, and the first episode of the next world."""
        later = [world for world in self.worlds if world.first > t]
        return self.worlds[len(self.worlds) - len(later) - 1], later[0].first if later else np.inf

    def check(self, policy: Policy, n_episodes: int) -> None:
        """Raise `Misfit` unless the policy can be played on this problem for `n_episodes`, as far as is known."""
        check_length(n_episodes)
        self.matroid  # noqa: B018
        self.schedule(policy)
        self.stretches  # noqa: B018


def _declared(thing: Any, free: tuple[str, ...]) -> Any:
    """What a policy, an environment or a matroid declares as its compiled form, or None."""
    form = thing.compiled()
    name = override(thing, "compiled", free) if form is not None else None
    if name is not None:
        what = f"{name}()" if callable(getattr(type(thing), name)) else name
        raise Misfit(f"{type(thing).__name__} has {what} of its own, which its compiled form does not know")
    return form


class Stretch(NamedTuple):
    """An environment that holds from episode `first` on, and the delays around it; see `kernels.forms`."""

    first: int
    environment: Environment
    form: WorldForm | MovingForm
    layers: tuple[DelayedForm, ...] = ()


def _stretches(
    environment: Environment, first: int, end: float, layers: tuple[DelayedForm, ...] = ()
) -> Iterator[Stretch]:
    """The environments that hold from some episode on, in the episodes from `first` up to `end`."""
    form, name = _declared(environment, _FREE_OF_ENVIRONMENTS), type(environment).__name__
    if form is None:
        raise Misfit(f"{name} has no compiled form")
    if isinstance(form, DelayedForm):
        if form.fixed is None:
            raise Misfit(f"the delays of {name} are a function, which has no compiled form")
        yield from _stretches(form.environment, first, end, (*layers, form) if form.is_late else layers)
    elif isinstance(form, PiecesForm):
        for piece, begin, stop in zip(form.environments, form.begins, (*form.begins[1:], np.inf), strict=True):
            if max(begin, first) < min(stop, end):
                yield from _stretches(piece, max(begin, first), min(stop, end), layers)
    else:
        yield Stretch(first, environment, form, layers)


class Delays:
    """How late answers are, as kernels take it; nothing is late where there are no layers."""

    def __init__(self, layers: tuple[DelayedForm, ...], n_items: int) -> None:
        # copies that can be written: kernels are compiled for these
        self.fixed: IntArray = np.zeros(n_items, np.int64)
        for layer in layers:
            self.fixed += layer.fixed
        drawn = [layer for layer in layers if layer.rate is not None]
        self.never: FloatArray = np.array([layer.never for layer in drawn]).reshape(-1, n_items)
        self.rate: FloatArray = np.array([layer.rate for layer in drawn]).reshape(-1, n_items)
        self.firsts: IntArray = np.array([layer.first for layer in drawn], np.int64)
        most, last = np.empty(self.rate.shape, np.int64), np.full(self.rate.shape, 1.0 - 2.0**-53)
        for never, rate, u, out in zip(self.never, self.rate, last, most, strict=True):
            random.geometrics(u[None], np.arange(n_items)[None], never, rate, out[None])
        self.longest = int((self.fixed + np.maximum(most, 0).sum(axis=0)).max(initial=0))

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """The arrays, in the order in which kernels take them."""
        return self.fixed, self.never, self.rate, self.firsts


@dataclass(frozen=True)
class Rows:
    """Arrays of a compiled environment for some episodes: a row for each episode, or one row for all."""

    values: FloatArray  # (n, L) or (1, L), as the next two; see `kernels.forms.WorldForm`
    spread: FloatArray
    means: FloatArray
    best: FloatArray  # (n,) or (1,): what the best set is expected to be worth

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.best.size)


class World:
    """Compiled form of an environment, from one episode on."""

    def __init__(self, first: int, problem: Problem, environment: Environment, form: WorldForm | MovingForm) -> None:
        self.first, self.kind, self._problem, self._form = first, form.kind, problem, form
        self.n_rows, self.moves, self.delays = 0, isinstance(form, MovingForm), Delays((), 1)
        self.table, self.indptr, self.indices = np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64)
        if isinstance(form, WorldForm):
            self.n_rows = form.n_rows
            self.table = _flat(form.table, self.table)
            self.indptr, self.indices = _flat(form.indptr, self.indptr), _flat(form.indices, self.indices)
            self._rows = self._make(environment.mean_weights[None], form.values, form.spread)

    def beginning(self, first: int, delays: Delays) -> World:
        """Return the same compiled environment from another episode on, with its delays."""
        other = object.__new__(World)
        other.__dict__ |= self.__dict__ | {"first": first, "delays": delays}
        return other

    def rows(self, t: int, n: int) -> Rows:
        """Return the arrays that change by episode, for the n episodes from t on."""
        if isinstance(self._form, WorldForm):
            return self._rows
        means = np.stack([self._form.means(s) for s in range(t, t + n)])
        return self._make(means, *self._form.around(means))

    def _make(self, means: FloatArray, values: FloatArray, spread: FloatArray) -> Rows:
        # copies that can be written: kernels are compiled for these
        values, spread, means = (np.array(np.atleast_2d(each), order="C") for each in (values, spread, means))
        return Rows(values, spread, means, self._problem.best_sets(np.array(means))[2])

    @property
    def arrays(self) -> list[AnyArray]:
        """All arrays of the world."""
        rows = [] if self.moves else [*vars(self._rows).values()]
        return [self.table, self.indptr, self.indices, *rows]


def _flat(given: AnyArray | None, default: AnyArray) -> AnyArray:
    """An array in one row, of the default's type, that can be written, as kernels take it; not an empty one."""
    if given is None or not given.size:
        return default
    return np.array(given, default.dtype, order="C").reshape(-1)


class Schedule:
    """Compiled form of a policy on one problem, with the numbers that its index needs in every episode."""

    #: How many numbers an episode may need.
    WIDTH = 3

    #: Rows from which on a schedule is no longer kept for the next simulation.
    MOST_KEPT = 2**18

    def __init__(self, policy: Policy, problem: Problem) -> None:
        name = type(policy).__name__
        form: PolicyForm | None = _declared(policy, FREE)
        if form is None:
            raise Misfit(f"{name} has no compiled form")
        self.form, self.policy, self._lock = form, policy, threading.Lock()
        self._rows, self._n_known = np.zeros((64, self.WIDTH)), 0
        self._error: Exception | None = None
        self._ahead: Iterator[tuple[float, ...]] | None = None
        self.forget: Callable[[], object] = lambda: None
        if form.episodes is not None:
            known = {"constraint": problem.constraint, "minimize": problem.minimize, "n_items": problem.n_items}
            self._ahead = form.episodes(_Blank(name, **known), _Blank(name))
            self.rows(1, 1)

    def rows(self, t: int, n: int) -> FloatArray:
        """Return the numbers (n, WIDTH) that the index needs in the n episodes from t on."""
        if self._ahead is None:
            return np.zeros((n, self.WIDTH))
        with self._lock:  # slices of one policy share them
            if t + n - 1 > self._rows.shape[0]:
                room = np.zeros((max(t + n - 1, 2 * self._rows.shape[0]), self.WIDTH))
                room[: self._n_known] = self._rows[: self._n_known]
                self._rows = room
                if room.shape[0] > self.MOST_KEPT:
                    self.forget()
            if self._error is not None:
                raise self._error
            try:
                while self._n_known < t + n - 1:
                    row = next(self._ahead)
                    self._rows[self._n_known, : len(row)] = row
                    self._n_known += 1
            except Exception as error:  # an iterator that failed once would end quietly the next time
                self._error = error
                raise
            return self._rows[t - 1 : t - 1 + n]


#: Schedules of recent simulations by problem and by policy, and how many of one problem are kept.
_schedules: WeakKeyDictionary[Problem, dict[str, Schedule]] = WeakKeyDictionary()
_MOST_SCHEDULES = 8


def schedule_of(policy: Policy, problem: Problem) -> Schedule:
    """The schedule of a policy on a problem: one that was made for an equal policy, where there is one."""
    if not type(policy).__module__.startswith("matroid_bandits."):
        return Schedule(policy, problem)
    key = json.dumps(policy_to_dict(policy))
    kept = _schedules.setdefault(problem, {})
    schedule = kept.pop(key, None) or Schedule(policy, problem)
    kept[key] = schedule  # the most recent one is the last
    schedule.forget = partial(kept.pop, key, None)
    while len(kept) > _MOST_SCHEDULES:
        kept.pop(next(iter(kept)), None)
    return schedule


class _Blank:
    """Stands in for the state and the stream while numbers are asked for ahead, and knows the problem alone."""

    def __init__(self, policy: str, **known: Any) -> None:
        self.__dict__.update(known, _policy=policy)

    def __getattr__(self, name: str) -> Any:
        raise Misfit(
            f"{self.__dict__['_policy']}.coefficient looks at {name!r}; compiled episodes need one that depends on "
            "the episode alone"
        )


class Optimum:
    """Cumulative value of the optimal sets at each checkpoint, `values` (C,), added up episode by episode."""

    def __init__(self, checkpoints: IntArray) -> None:
        self.values: FloatArray = np.empty(checkpoints.size)
        self._points, self._total = checkpoints, 0.0

    def add(self, best: FloatArray, t: int, n: int) -> None:
        """Add the n episodes from t on, with the value of the best set of each (n,), or one for all (1,)."""
        worth = np.add.accumulate(np.append(self._total, np.broadcast_to(best, n)))
        lo, hi = np.searchsorted(self._points, [t, t + n])
        self.values[lo:hi] = worth[self._points[lo:hi] - t + 1]
        self._total = float(worth[-1])


def powers_of(forms: ProblemForms, policy: Policy, n_episodes: int) -> FloatArray:
    """Return the discount factors after 0, 1, ... episodes, as in `DiscountedThompson`; (1,) for other policies."""
    form = forms.schedule(policy).form
    n = n_episodes + 1 if form.kind == FADING else 1
    powers: FloatArray = forms.once(
        ("powers", form.kind, form.number, n), lambda: form.number ** np.arange(n, dtype=np.float64)
    )
    return powers
