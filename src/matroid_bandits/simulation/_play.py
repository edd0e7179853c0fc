"""One slice of a simulation, in compiled episodes or episode by episode: one policy, some of the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from matroid_bandits import compiled
from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.compiled import Part, Settings, Slice, Stopped, check_totals
from matroid_bandits.environments import Environment, availability_of, delays_of, features_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Request
from matroid_bandits.simulation._answers import Answers
from matroid_bandits.simulation._regret import make_score
from matroid_bandits.stream import AVAILABILITY, DELAY, FEATURES, POLICY, START, Stream

#: Episodes between two reports of progress: over all runs of a slice, and of one run.
_TICK, _TICK_EACH = 512, 64


def play(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    """Play one policy in some runs: whole episodes in compiled code where that is sooner, else by an `Agent`.

    `tick` is called with the episodes played since the last call, and says whether to stop. An error gets a note
    that says where it happened.
    """
    if compiled.choose(settings, slice.policy)[0] == "compiled":
        counted = _Counted(tick)
        try:
            return compiled.play(slice, settings, counted)
        except compiled.Misfit:  # known only now: a coefficient that begins to look at the state, or that fails
            tick = _Counted(tick, counted.n)
    episodes = _Episodes(settings.n_episodes)
    try:
        return _play(slice, settings, tick, episodes)
    except Stopped:
        raise
    except BaseException as error:
        error.add_note(f"{slice}, episode {episodes.now}")
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
            check_totals(environment, total, t)
            returns_at[:, point], regret_at[:, point] = total, score.regret
            if optimum_at is not None:
                optimum_at[:, point] = score.optimum
            if alarms is not None and alarms_at is not None:
                alarms_at[:, point] = alarms[0].sum(axis=1)
            point += 1
        since += n_batch
        if since >= _TICK or t % _TICK_EACH == 0 or t == n_episodes:
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


class _Counted:
    """Passes on the episodes played, except for the first `n_known`, which were told before; `n` counts them all."""

    def __init__(self, tick: Callable[[int], bool], n_known: int = 0) -> None:
        self._tick, self._n_known, self.n = tick, n_known, 0

    def __call__(self, n: int) -> bool:
        before = max(self.n, self._n_known)
        self.n += n
        return self._tick(max(self.n, self._n_known) - before)


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
