"""One slice of a simulation, in compiled episodes or episode by episode: one policy, some of the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from matroid_bandits import compiled
from matroid_bandits._typing import BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.compiled import Part, Settings, Slice, Stopped, check_totals
from matroid_bandits.environments import Environment, ListEnvironment, availability_of, delays_of, features_of
from matroid_bandits.exceptions import InvalidEnvironmentError
from matroid_bandits.kernels.compiling import ahead
from matroid_bandits.matroids import Matroid
from matroid_bandits.policies import Request
from matroid_bandits.simulation._answers import Answers, learn
from matroid_bandits.simulation._ending import Ending
from matroid_bandits.simulation._regret import make_score
from matroid_bandits.stream import ATTENTION, AVAILABILITY, DELAY, FEATURES, POLICY, START, Stream

#: Episodes between two reports of progress: over all runs of a slice, and of one run.
_TICK, _TICK_EACH = 512, 64


def play(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    """Play one policy in some runs: whole episodes in compiled code where that is sooner, else by an `Agent`.

    An agent leaves the slice to a kernel that would now be done before it, from the first episode on. `tick` is
    called with the episodes played since the last call, and says whether to stop. An error gets a note that says
    where it happened.
    """
    counted = _Counted(tick)
    is_compiled = compiled.choose(settings, slice.policy)[0] == "compiled"
    if not is_compiled:
        rival = compiled.Rival(slice, settings)
        try:
            return _play_agent(slice, settings, lambda n: counted(n) or _leave(rival, n))
        except _Left:
            counted = _Counted(tick, counted.n)
    try:
        return compiled.play(slice, settings, counted)
    except compiled.Misfit:  # known only now: a coefficient that begins to look at the state, or that fails
        return _play_agent(slice, settings, _Counted(tick, max(counted.n, counted.n_known)))


def _play_agent(slice: Slice, settings: Settings, tick: Callable[[int], bool]) -> Part:
    game = Game(slice, settings)
    game.play(settings.n_episodes, tick)
    return game.result()


class _Left(Stopped):
    """An agent's slice was left to a kernel."""


def _leave(rival: compiled.Rival, n: int) -> bool:
    if rival.is_sooner(n):
        raise _Left
    return False


class Game:
    """One policy in some runs, played episode by episode by an `Agent`.

    Attributes
    ----------
    t : int
        The last episode that was begun; 0 before the first.
    """

    def __init__(self, slice: Slice, settings: Settings) -> None:
        self.slice, self._settings, self.t = slice, settings, 0
        with self._noted():
            self._begin()

    def _begin(self) -> None:
        settings, n_batch = self._settings, self.slice.n_runs
        problem, environment = settings.problem, settings.problem.environment
        self._set_streams(Stream(settings.seed, np.arange(self.slice.first, self.slice.last)))
        # which fits the environment's: `simulate` has checked it
        self._has_features = self.slice.policy.n_features is not None
        self._lists = environment.lists
        is_late = delays_of(environment, self._late, 1, np.empty((n_batch, 0), np.int64)) is not None
        waits = is_late or (self._lists is not None and self._lists.feedback == "cascade")
        self._agent = Agent(
            problem.solver,
            self.slice.policy,
            n_runs=n_batch,
            minimize=problem.minimize,
            engine=settings.engine,
            waits=waits,
        )
        if settings.start == "observe":
            everything = np.tile(np.arange(problem.n_items), (n_batch, 1))
            request = Request(0, self._own, features=self._features(0))
            weights = _draw(environment, self._stream.with_purpose(START), 0, everything)
            self._agent.observe(request, everything, weights)
        self._answers = Answers(self._agent, environment, self._late, settings.n_episodes) if is_late else None
        self._score = make_score(problem, self._stream, settings.n_episodes)
        shape = n_batch, settings.checkpoints.size
        self._returns_at, self._regret_at = np.empty(shape), np.empty(shape)
        self._optimum_at = None if self._score.optimum is None else np.empty(shape)
        self._alarms = self._agent.state.alarms
        self._alarms_at = None if self._alarms is None else np.empty(shape, np.int64)
        self._ending = None if settings.until is None else Ending(settings, n_batch)

    def _set_streams(self, stream: Stream) -> None:
        self._stream = stream
        self._own, self._offered, self._late, self._known, self._looks = (
            stream.with_purpose(purpose) for purpose in (POLICY, AVAILABILITY, DELAY, FEATURES, ATTENTION)
        )

    def _features(self, t: int) -> FloatArray | None:
        return features_of(self._settings.problem.environment, self._known, t) if self._has_features else None

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Give an error a note that says where it happened."""
        try:
            yield
        except Stopped:
            raise
        except BaseException as error:
            error.add_note(f"{self.slice}, episode {self.t}")
            raise

    def play(self, until: int, tick: Callable[[int], bool]) -> None:
        """Play on up to the end of episode `until`; `tick` is as in the function `play`."""
        with self._noted(), ahead(until - self.t):
            self._play(until, tick)

    def _play(self, until: int, tick: Callable[[int], bool]) -> None:
        problem, points = self._settings.problem, self._settings.checkpoints
        environment, agent, score, n_batch = problem.environment, self._agent, self._score, self.slice.n_runs
        may_lack = type(environment).availability is not Environment.availability
        is_matroid = isinstance(problem.constraint, Matroid)  # whose sets are of one size where nothing is masked
        point, since = int(np.searchsorted(points, self.t + 1)), 0
        while self.t < until:
            self.t = t = self.t + 1
            available = availability_of(environment, self._offered, t) if may_lack else None
            request = Request(t, self._own, available)
            if self._has_features:
                request = request._replace(features=self._features(t))
            chosen = agent.decide(request) if problem.adds_up else self._show(request)
            weights = _weigh(environment, self._stream, t, chosen, is_full=is_matroid and available is None)
            is_seen = None
            if self._lists is not None:
                weights, is_seen = self._look(self._lists, chosen, weights)
            score.add(chosen, weights, available)
            if self._answers is not None:
                self._answers.expect(chosen, weights, is_seen)
            elif is_seen is None:
                agent.learn(chosen, weights)
            else:
                learn(agent, chosen, weights, np.arange(weights.size), is_seen)
            if self._ending is not None:
                self._end(self._ending, point)
                agent, score = self._agent, self._score
            if t == points[point]:
                self._mark(point)
                point += 1
            since += n_batch
            if self._ending is not None and not self._ending.goes_on.any():
                self._tick_off(since + (until - t) * n_batch, tick)
                self.t = until
            if since >= _TICK or t % _TICK_EACH == 0 or t == until:
                self._tick_off(since, tick)
                since = 0

    def _show(self, request: Request) -> Play:
        """Choose sets, and show them in the policy's order."""
        agent, worst_first = self._agent, self._lists is not None and self._lists.worst_first
        items, sizes = agent.choose(request)
        return agent.play(request, items, sizes, places=agent.order(request, items, sizes, worst_first))

    def _look(self, lists: ListEnvironment, play: Play, weights: FloatArray) -> tuple[FloatArray, BoolArray | None]:
        """What is observed (n,) of the lists shown, and of which items (n,) something is; None for all of them."""
        assert play.places is not None
        places = play.in_rows(play.places, -1)
        is_chosen, items = places >= 0, np.where(places >= 0, play.items, 0)
        observed, is_seen = lists.look(self._looks, play.request.episode, items, play.in_rows(weights, 0.0), places)
        return observed[is_chosen], None if is_seen is None else is_seen[is_chosen]

    def _tick_off(self, n: int, tick: Callable[[int], bool]) -> None:
        if tick(n):
            raise Stopped

    def _end(self, ending: Ending, point: int) -> None:
        """End the runs whose stopping rule is sure: what they have earned stays what it is."""
        score = self._score
        ended = ending.look(self._agent.state, score.surplus, self.t)
        if not ended.size:
            return
        check_totals(self._settings.problem.environment, score.returns, self.t)
        at = ending.rows[ended]
        self._returns_at[at, point:], self._regret_at[at, point:] = (
            score.returns[ended, None],
            score.regret[ended, None],
        )
        if ending.is_thin and ending.goes_on.any() and self._answers is None:
            kept = ending.thin()
            self._agent, self._score = self._agent.rows(kept), score.rows(kept)
            self._set_streams(Stream(self._settings.seed, self.slice.first + ending.rows))

    def _mark(self, point: int) -> None:
        """Take down where the runs are at a checkpoint."""
        score = self._score
        check_totals(self._settings.problem.environment, score.returns, self.t)
        if self._ending is not None:
            played = np.flatnonzero(self._ending.goes_on)
            at = self._ending.rows[played]
            self._returns_at[at, point], self._regret_at[at, point] = score.returns[played], score.regret[played]
            return
        self._returns_at[:, point], self._regret_at[:, point] = score.returns, score.regret
        if self._optimum_at is not None:
            self._optimum_at[:, point] = score.optimum
        if self._alarms is not None and self._alarms_at is not None:
            self._alarms_at[:, point] = self._alarms[0].sum(axis=1)

    def result(self) -> Part:
        """What was found, after the last episode."""
        settings, agent, alarms = self._settings, self._agent, self._alarms
        agent.settle()
        n_before = 1 if settings.start == "observe" else 0  # how often each item was seen before the first episode
        ending = self._ending
        asked, surplus = (
            (agent.state.asked, self._score.surplus) if ending is None else (ending.asked, ending.surplus)
        )
        choices = asked if settings.by_run else asked.sum(axis=0)
        choices = choices - (n_before if settings.by_run else n_before * self.slice.n_runs)
        by_item = None if alarms is None else (alarms[0].copy() if settings.by_run else alarms[0].sum(axis=0))
        if settings.by_run:  # in as few bytes as hold one for each episode
            choices = choices.astype(np.min_scalar_type(settings.n_episodes))
        curves = self._returns_at, self._regret_at
        return Part(
            self.slice.first, self.slice.last, *curves, choices, surplus, self._optimum_at,
            self._alarms_at, by_item, endings=None if ending is None else ending.endings,
        )  # fmt: skip


class _Counted:
    """Passes on the episodes played, except for the first `n_known`, which were told before; `n` counts them all."""

    def __init__(self, tick: Callable[[int], bool], n_known: int = 0) -> None:
        self._tick, self.n_known, self.n = tick, n_known, 0

    def __call__(self, n: int) -> bool:
        before = max(self.n, self.n_known)
        self.n += n
        return self._tick(max(self.n, self.n_known) - before)


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
