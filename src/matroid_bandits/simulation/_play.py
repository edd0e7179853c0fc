"""One slice of a simulation: one policy, some of the runs, all episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits._util.checks import MOST_WEIGHT
from matroid_bandits.agent import Agent, Play
from matroid_bandits.engines import EngineChoice
from matroid_bandits.environments import Environment, availability_of, delays_of, features_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Policy, Request
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._answers import Answers
from matroid_bandits.simulation._regret import make_score
from matroid_bandits.stream import AVAILABILITY, DELAY, FEATURES, POLICY, START, Stream

Start = Literal["observe", "explore"]

#: More than weights of `MOST_WEIGHT` can add up to, and little enough for the squares that make standard errors.
_MOST_TOTAL = 1e140

#: Episodes, over all runs of a slice, between two reports of progress.
_TICK = 512


@dataclass(frozen=True)
class Settings:
    """What all slices of a simulation share; with `by_run` the choices of every run are kept apart."""

    problem: Problem
    n_episodes: int
    n_runs: int
    seed: int
    start: Start
    checkpoints: IntArray
    engine: EngineChoice
    by_run: bool = False


@dataclass(frozen=True)
class Slice:
    """One policy, by its name, on the runs from `first` up to `last`."""

    name: str
    policy: Policy
    first: int
    last: int

    @property
    def n_runs(self) -> int:
        """How many runs it has."""
        return self.last - self.first


@dataclass(frozen=True)
class Part:
    """What one slice found on its runs from `first` up to `last`, and all choices, of all runs or of each.

    `returns` and `regret` are cumulative, of each run at each checkpoint. `surplus` is how much more, per run and in
    all, the best available sets were worth than the best set of all items; `optimum` what the best sets of each run
    were worth by each checkpoint, where means change. `alarms` and `item_alarms` are how often items started anew, by
    run and checkpoint, and by item, as the choices are; None where the policy has no detector.
    """

    first: int
    last: int
    returns: FloatArray
    regret: FloatArray
    choices: IntArray
    surplus: FloatArray
    optimum: FloatArray | None = None
    alarms: IntArray | None = None
    item_alarms: IntArray | None = None


class Stopped(Exception):
    """Another slice failed or the user interrupted; this one need not go on."""


def described(name: str, first: int, last: int) -> str:
    """A slice in words, for messages."""
    return f"policy {name!r}, " + (f"run {first}" if last - first == 1 else f"runs {first} to {last - 1}")


def play(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    """Play one policy in a batch of runs, all of them one array operation at a time.

    `tick` is called with the episodes played since the last call, and says whether to stop. An error gets a note
    that says where it happened.
    """
    episodes = _Episodes(settings.n_episodes)
    try:
        return _play(slice, settings, tick, episodes)
    except Stopped:
        raise
    except BaseException as error:
        error.add_note(f"{described(slice.name, slice.first, slice.last)}, episode {episodes.now}")
        raise


def _play(slice: Slice, settings: Settings, tick: Callable[[int], bool], episodes: _Episodes) -> Part:
    problem, n_batch, points = settings.problem, slice.n_runs, settings.checkpoints
    environment, n_episodes = problem.environment, settings.n_episodes
    stream = Stream(settings.seed, np.arange(slice.first, slice.last))
    own, offered, late, known = (stream.with_purpose(purpose) for purpose in (POLICY, AVAILABILITY, DELAY, FEATURES))
    has_features = slice.policy.n_features is not None  # which fits the environment's: `simulate` has checked it
    waits = delays_of(environment, late, 1, np.empty((n_batch, 0), np.int64)) is not None
    agent = Agent(
        problem.constraint,
        slice.policy,
        n_runs=n_batch,
        minimize=problem.minimize,
        engine=settings.engine,
        waits=waits,
    )
    if settings.start == "observe":
        everything = np.tile(np.arange(problem.n_items), (n_batch, 1))
        request = Request(0, own, features=features_of(environment, known, 0) if has_features else None)
        agent.observe(request, everything, _draw(environment, stream.with_purpose(START), 0, everything))
        del everything
    seen_before = agent.state.counts.copy() if settings.by_run else agent.state.counts.sum(axis=0)
    answers = Answers(agent, environment, late, n_episodes) if waits else None
    score = make_score(problem, stream, n_episodes)
    total = score.returns
    returns_at = np.empty((n_batch, points.size))
    regret_at = np.empty((n_batch, points.size))
    optimum_at = None if score.optimum is None else np.empty((n_batch, points.size))
    alarms = slice.policy.alarms(agent.state)
    alarms_at = None if alarms is None else np.empty((n_batch, points.size), np.int64)
    may_lack = type(environment).availability is not Environment.availability
    is_matroid = isinstance(problem.constraint, Matroid)  # whose sets are of one size where nothing is masked
    point, since = 0, 0
    for t in episodes:
        available = availability_of(environment, offered, t) if may_lack else None
        request = Request(t, own, available)
        if has_features:
            request = request._replace(features=features_of(environment, known, t))
        chosen = agent.decide(request)
        weights = _weigh(environment, stream, t, chosen, is_full=is_matroid and available is None)
        score.add(chosen, weights, available)
        if answers is None:
            agent.learn(chosen, weights)
        else:
            answers.expect(chosen, weights)
        if t == points[point]:
            if not (np.abs(total) <= _MOST_TOTAL).all():
                which = (
                    f"weights of at most {MOST_WEIGHT:g} in size" if np.isfinite(total).all() else "finite weights"
                )
                raise InvalidEnvironmentError(f"{environment!r}: expected {which}; got others by episode {t}")
            returns_at[:, point], regret_at[:, point] = total, score.regret
            if optimum_at is not None:
                optimum_at[:, point] = score.optimum
            if alarms is not None and alarms_at is not None:
                alarms_at[:, point] = alarms[0].sum(axis=1)
            point += 1
        since += n_batch
        if since >= _TICK or t == n_episodes:
            if tick(since):
                raise Stopped
            since = 0
    agent.settle()
    choices = agent.state.asked if settings.by_run else agent.state.asked.sum(axis=0)
    choices = choices - seen_before
    by_item = None if alarms is None else (alarms[0].copy() if settings.by_run else alarms[0].sum(axis=0))
    if settings.by_run:  # in as few bytes as hold one for each episode
        choices = choices.astype(np.min_scalar_type(n_episodes))
    return Part(
        slice.first, slice.last, returns_at, regret_at, choices, score.surplus, optimum_at, alarms_at, by_item
    )


class _Episodes:
    """The numbers of the episodes, 1 to n; `now` is the one being played, 0 before the first."""

    def __init__(self, n: int) -> None:
        self._n, self.now = n, 0

    def __iter__(self) -> Iterator[int]:
        while self.now < self._n:
            self.now += 1
            yield self.now


def _weigh(environment: Environment, stream: Stream, t: int, play: Play, is_full: bool) -> FloatArray:
    """The weight (n,) of every choice, in the order of `Play.cells`; nothing else is drawn."""
    if is_full:
        return _draw(environment, stream, t, play.items).reshape(-1)
    runs, items = play.cells()
    return _draw(environment, stream.take(runs), t, items[:, None]).reshape(-1)


def _draw(environment: Environment, stream: Stream, t: int, items: IntArray) -> FloatArray:
    """The environment's weights, of the shape and type that compiled code relies on."""
    w = environment.draw(stream, t, items)
    if not (isinstance(w, np.ndarray) and w.shape == items.shape and w.dtype == np.float64):
        given = f"{w.dtype} of shape {w.shape}" if isinstance(w, np.ndarray) else type(w).__name__
        name = type(environment).__name__
        raise InvalidEnvironmentError(f"expected {name}.draw to give float64 of shape {items.shape}, got {given}")
    return w
