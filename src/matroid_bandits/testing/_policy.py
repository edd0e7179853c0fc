"""What every policy promises to simulations and learners: a suite of tests, each of one promise."""

from __future__ import annotations

import contextlib
import math
import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import AnyArray, BoolArray, FloatArray, IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import ENGINES
from matroid_bandits.exceptions import ContractError, PolicyError
from matroid_bandits.learner import Learner
from matroid_bandits.matroids import Matroid, PartitionMatroid, UniformMatroid
from matroid_bandits.policies import (
    Feedback,
    Plays,
    Policy,
    PolicyWrapper,
    Request,
    State,
    check_memory,
    check_unchanged,
    choose_sets,
    coefficient,
    copies_of,
)
from matroid_bandits.stream import POLICY, START, Stream
from matroid_bandits.testing._suite import Suite

_RUNS = (0, 1, 5, 2)
_SET_SIZE = 3


def check_policy(policy: Policy, *, n_items: int = 9, n_episodes: int = 12, seed: int = 0) -> None:
    """Play a policy for a few episodes and check the properties that simulations and learners rely on.

    Parameters
    ----------
    policy : Policy
        An instance.
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

    See Also
    --------
    PolicySuite : The same as tests for pytest, one for each promise.

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
    PolicySuite.check(policy=policy, n_items=n_items, n_episodes=n_episodes, seed=seed)


class PolicySuite(Suite):
    """Conformance tests of a `Policy`, for gains and costs, from an empty state and after every item was observed.

    Answers come in parts, an episode late and never, items may be unavailable or pinned, and features are random
    where the policy takes some.

    Attributes
    ----------
    policy : Policy
        The policy, an instance.
    n_items : int
        How many items to play on; a policy with features needs as many as it has.
    n_episodes : int
        How long to play.
    seed : int
        Of the weights and of the policy's random numbers.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestOMM(mb.testing.PolicySuite):
    ...     policy = mb.OMM()
    >>> TestOMM().run()
    """

    policy: Policy
    n_items: ClassVar[int] = 9
    n_episodes: ClassVar[int] = 12
    seed: ClassVar[int] = 0

    def test_memory_is_as_declared(self) -> None:
        """``state.extra`` holds the arrays that `memory` declares, of their types and shapes, and no others."""
        self._play("memory")

    def test_indices_are_numbers(self) -> None:
        """`indices` returns a float array without NaN, with an entry for each run and item."""
        self._play("numbers")

    def test_indices_leave_the_state(self) -> None:
        """Computing indices or choosing sets does not modify the state."""
        self._play("leaves")

    def test_indices_are_a_function_of_state_and_request(self) -> None:
        """Indices, and sets of a policy that chooses them, are the same when computed twice."""
        self._play("function")

    def test_random_numbers_are_drawn_where_that_is_said(self) -> None:
        """Indices and sets depend on random numbers only if the policy sets `samples`."""
        if not self.policy.samples:
            self._play("draws")

    def test_hooks_write_to_their_memory_alone(self) -> None:
        """`advance`, `observe`, `wait` and `drop` do not modify plays and gains, except resets by an alarm."""
        self._play("writes")

    def test_runs_do_not_depend_on_each_other(self) -> None:
        """The results of a run do not depend on the other runs of its batch."""
        for start in ("explore", "observe"):
            for minimize in (False, True):
                self._trial(minimize).play(self.n_episodes, start, compares=True)

    def test_gains_are_all_that_counts(self) -> None:
        """Costs and the equal gains give the same indices; skipped for bounded weights, which cannot be both."""
        if self.policy.support == (-np.inf, np.inf) and not self.policy.is_clairvoyant:
            for start in ("explore", "observe"):
                _compare_directions(
                    *(self._trial(minimize).play(self.n_episodes, start) for minimize in (False, True))
                )

    def test_the_coefficient_never_falls(self) -> None:
        """The coefficient of an affine policy, times two to the exponent, never decreases."""
        if self.policy.affine is not None:
            self._play("coefficient")

    def test_lines_stand_still(self) -> None:
        """An affine policy changes the lines only of items that are played, answered or returned by `advance`."""
        if self.policy.affine is not None:
            self._play("lines")

    def test_sets_are_allowed(self) -> None:
        """Sets of a policy that chooses them are allowed, maximal, available, and contain the pinned items."""
        for matroid in self._matroids() if self.policy.chooses_sets else ():
            try:
                for _ in self._decide_together([self._agent(matroid)], 4 * self.n_episodes):
                    pass
            except PolicyError as error:
                raise ContractError(f"{error} on {matroid!r}") from None

    def test_engines_agree(self) -> None:
        """Every engine that fits makes the decisions of the greedy engine, with masks, pins and late feedback."""
        for matroid in self._matroids():
            agents = {}
            for name in ENGINES:
                with contextlib.suppress(PolicyError):  # of an engine that does not fit
                    agents[name] = Agent(matroid, self.policy, engine=name)
            names = list(agents)
            for t, plays in enumerate(self._decide_together([*agents.values()], 4 * self.n_episodes), start=1):
                for name, play in zip(names, plays, strict=True):
                    if not np.array_equal(play.items, plays[0].items):
                        raise ContractError(
                            f"expected the {name} engine to choose {plays[0].items[0].tolist()} in episode {t} on "
                            f"{matroid!r}, as the {names[0]} engine does, got {play.items[0].tolist()}"
                        )

    def test_lists_are_taken_as_declared(self) -> None:
        """`takes` names kinds of feedback, and in lists of each kind a run is the same alone and in a batch."""
        others = sorted(self.policy.takes - {"cascade", "positions"})
        if others:
            raise ContractError(f'expected takes to be of "cascade" and "positions", got {others[0]!r}')
        for kind in sorted(self.policy.takes):
            for matroid in self._matroids():
                self._show_lists(kind, matroid)

    def test_two_constraints_interleaved(self) -> None:
        """One policy object gives the same results under two constraints in turns as under each alone."""
        pair = self._matroids()
        alone = [[play.items.tolist() for (play,) in self._decide_together([self._agent(each)])] for each in pair]
        streams = [self._decide_together([agent]) for agent in [self._agent(each) for each in pair]]
        for t, turns in enumerate(zip(*streams, strict=True)):
            for matroid, expected, (play,) in zip(pair, alone, turns, strict=True):
                if play.items.tolist() != expected[t]:
                    raise ContractError(
                        f"expected the decision {expected[t][0]} under {matroid!r} in episode {t + 1}, whatever "
                        f"else the policy plays meanwhile, got {play.items[0].tolist()}: what is worked out for a "
                        "constraint is what prepare returns"
                    )

    def test_the_policy_stays_as_it_was_made(self) -> None:
        """Playing changes no attribute of the policy, which other threads may use at the same time."""
        before = _attributes(self.policy)
        self._trial(False).play(self.n_episodes, "explore")
        after = _attributes(self.policy)
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name):
                raise ContractError(
                    "expected the policy to stay as it was made, since many play with it; its attribute "
                    f"{name!r} has changed: memory is declared, and what is worked out for a constraint is what "
                    "prepare returns"
                )

    def test_items_come_and_go(self) -> None:
        """Removing, returning, adding and reordering items keeps the statistics of the items that stay or return."""
        if self.policy.is_clairvoyant:
            return  # what it knows is of these items
        plain, changing = self._learner(), self._learner()
        labels = list(plain.constraint.labels)
        others = [labels[1:], labels, [*labels, "newcomer"], labels[::-1], labels]
        for t in range(1, self.n_episodes + 1):
            for some in others if t % 3 == 0 else ():
                own = self.policy.item_features
                rows = {"newcomer": own[0]} if own is not None and "newcomer" in some else None
                changing.change(UniformMatroid(len(some), min(_SET_SIZE, len(some)), labels=some), features=rows)
            self._compare("a change of its items and back", t, plain, changing)
            for learner in (plain, changing):
                self._step(learner, t)

    def test_starting_anew_forgets_everything(self) -> None:
        """After `restart` of all items a learner has the estimates of a new one."""
        told, untold = self._learner(), self._learner()
        for t in range(1, self.n_episodes + 1):
            self._step(told, t)
            untold.ask(available=[], **self._features(t))
        told.restart()
        self._compare("starting anew", self.n_episodes + 1, untold, told)

    def test_a_file_holds_everything(self) -> None:
        """A learner that was saved and loaded makes the same decisions as the original."""
        learner = self._learner()
        with tempfile.TemporaryDirectory() as folder:
            for t in range(1, self.n_episodes + 1):
                if t % 4 == 0:
                    learner.save(f"{folder}/learner")
                    loaded = Learner.load(f"{folder}/learner", policy=self.policy)
                    self._compare("being saved and loaded", t, learner, loaded)
                    learner = loaded
                self._step(learner, t)

    # Steps of the tests

    def _show_lists(self, kind: str, matroid: Matroid) -> None:
        """Show lists in a batch and in each of its runs alone, and tell what is seen of them."""
        batches = (_RUNS, *([run] for run in _RUNS))
        agents = [Agent(matroid, self.policy, n_runs=len(runs)) for runs in batches]
        for t in range(1, self.n_episodes + 1):
            shown = []
            for agent, runs in zip(agents, batches, strict=True):
                request = Request(t, Stream(self.seed, runs, POLICY))
                if (d := self.policy.n_features) is not None:
                    request = request._replace(
                        features=np.random.default_rng([self.seed, t]).random((self.n_items, d))
                    )
                items, sizes = agent.choose(request)
                places = agent.order(request, items, sizes, worst_first=t % 3 == 0)
                play = agent.play(request, items, sizes, places=places)
                weights = _weights_of(self.policy, Stream(self.seed, runs).uniform(t, items)).reshape(-1)
                n_seen = agent.state.counts.sum()
                is_seen = _look(kind, play, weights, _weights_of(self.policy, np.ones(1))[0])
                if is_seen.any():
                    agent.learn(play, weights[is_seen], np.flatnonzero(is_seen))
                if not is_seen.all():
                    agent.close([(play, np.flatnonzero(~is_seen))], were_unseen=True)
                check_memory(agent.state, self.policy, error=ContractError)
                if agent.state.alarms is None and agent.state.counts.sum() != n_seen + is_seen.sum():
                    raise ContractError(f"expected the plays of what was seen alone to count, in episode {t}")
                shown.append((play.items, places.reshape(play.items.shape), agent.state.counts))
            for part, *alone in zip(*shown, strict=True):
                for i, own in enumerate(alone):
                    if not np.array_equal(part[i], own[0]):
                        raise ContractError(
                            f"lists of run {_RUNS[i]} change with the runs beside it: expected {own[0].tolist()} in "
                            f"episode {t}, as when played alone, got {part[i].tolist()}"
                        )

    def _learner(self) -> Learner:
        labels = [f"item {e}" for e in range(self.n_items)]
        matroid = UniformMatroid(self.n_items, min(_SET_SIZE, self.n_items), labels=labels)
        return Learner(matroid, self.policy, seed=self.seed, id="suite")

    def _features(self, t: int) -> dict[str, Any]:
        d = self.policy.n_features
        return {} if d is None else {"features": np.random.default_rng([self.seed, t]).random((self.n_items, d))}

    def _step(self, learner: Learner, t: int) -> None:
        """Ask, and tell of one of the decisions that wait, at times in part."""
        learner.ask(**self._features(t))
        waiting = learner.outstanding
        decision = waiting[t % len(waiting)]
        values = np.random.default_rng([self.seed, decision.id]).random(self.n_items)
        weights = dict(zip(learner.constraint.labels, _weights_of(self.policy, values).tolist(), strict=True))
        if t % 5 == 4:
            learner.close(decision.id)
        else:
            learner.tell(decision.id, {label: weights[label] for label in decision.labels})

    def _compare(self, what: str, t: int, one: Learner, other: Learner) -> None:
        """Two learners believe the same, up to the order in which numbers were added."""
        U, V = (learner.estimates(**self._features(t)).indices for learner in (one, other))
        if not np.allclose(U, V, rtol=1e-9, atol=1e-9):
            e = int((~np.isclose(U, V, rtol=1e-9, atol=1e-9)).argmax())
            raise ContractError(
                f"expected {what} to leave the index of item {e} at {U[e]} in episode {t}, got {V[e]}: does memory "
                "declare what belongs to an item?"
            )

    def _play(self, check: str) -> None:
        for start in ("explore", "observe"):
            for minimize in (False, True):
                self._trial(minimize, check).play(self.n_episodes, start)

    def _trial(self, minimize: bool, check: str = "") -> _Trial:
        matroid = UniformMatroid(self.n_items, min(_SET_SIZE, self.n_items))
        return _Trial(self.policy, matroid, minimize, self.seed, check)

    def _matroids(self) -> list[Matroid]:
        """Two that differ in what may be chosen, or the one that the policy can play under."""
        blocks = ["a" if 3 * e < self.n_items else "b" for e in range(self.n_items)]
        pair = UniformMatroid(self.n_items, min(_SET_SIZE, self.n_items)), PartitionMatroid(blocks, 2)
        return [each for each in pair if _fits(each, self.policy)]

    def _agent(self, matroid: Matroid) -> Agent:
        return Agent(matroid, self.policy)

    def _request(self, t: int, state: State) -> Request:
        """A request of a learner: some items unavailable, some excluded, one pinned, at times."""
        rng, L = np.random.default_rng([self.seed, t]), state.n_items
        mask = rng.random(L) < 0.8 if t % 3 == 0 else None
        excluded = np.flatnonzero(rng.random(L) < 0.1) if t % 4 == 1 else None
        pinned = np.array([int(rng.integers(L))]) if t % 5 == 2 and L else None
        if excluded is not None and pinned is not None:
            excluded = np.setdiff1d(excluded, pinned)
        d = self.policy.n_features
        features = None if d is None else rng.random((L, d))
        return Request(t, Stream(self.seed, [0], POLICY), mask, excluded, pinned, features)

    def _decide_together(self, agents: list[Agent], n_episodes: int | None = None) -> Iterator[list[Play]]:
        """The plays of several agents that are asked and told the same, at once, late, in parts or never."""
        late: list[list[Play]] = []
        for t in range(1, (self.n_episodes if n_episodes is None else n_episodes) + 1):
            plays = [agent.decide(self._request(t, agent.state)) for agent in agents]
            yield plays
            if any(not np.array_equal(play.items, plays[0].items) for play in plays):
                return
            rng = np.random.default_rng([self.seed, t, 1])
            late.append(plays)
            for told in [late.pop(int(rng.integers(len(late)))) for _ in range(min(len(late), int(rng.integers(3))))]:
                n = told[0].items.size
                weights = _weights_of(self.policy, rng.random(n))
                some = np.flatnonzero(rng.random(n) < 0.7)
                rest = np.setdiff1d(np.arange(n), some)
                for agent, play in zip(agents, told, strict=True):
                    if some.size:
                        agent.learn(play, weights[some], some)
                    if rest.size and t % 2:
                        agent.close([(play, rest)])


class _Trial:
    """A batch of runs, and each of its runs alone, that must have the same numbers."""

    def __init__(self, policy: Policy, matroid: Matroid, minimize: bool, seed: int, check: str) -> None:
        self._policy, self._matroid, self._minimize = policy, matroid, minimize
        self._world = Stream(seed, _RUNS)
        batches = (_RUNS, *([run] for run in _RUNS))
        self._streams = [Stream(seed, runs, POLICY) for runs in batches]
        self._watched = [_Watched(policy, check) for _ in batches]
        self._agents = [
            Agent(matroid, watched, n_runs=len(runs), minimize=minimize, engine="greedy")
            for watched, runs in zip(self._watched, batches, strict=True)
        ]
        for watched, agent in zip(self._watched, self._agents, strict=True):
            watched.check_start(agent.state)

    def play(self, n_episodes: int, start: str, *, compares: bool = False) -> list[FloatArray]:
        """The indices of the batch in every episode, when all is well with them."""
        history: list[FloatArray] = []
        if start == "observe":
            everything = np.tile(np.arange(self._matroid.n_items), (len(_RUNS), 1))
            weights = self._weights(self._world.with_purpose(START), 0, everything)
            for rows, agent, stream in self._batches():
                agent.observe(self._request(0, rows, stream), everything[rows], weights[rows])
        late: tuple[list[Play], FloatArray, IntArray] | None = None
        for t in range(1, n_episodes + 1):
            plays = [agent.decide(self._request(t, rows, stream)) for rows, agent, stream in self._batches()]
            if compares:
                self._compare_runs(t)
            elif any(not np.array_equal(plays[0].items[i], play.items[0]) for i, play in enumerate(plays[1:])):
                return history  # another promise is broken, and another test says so
            history.append(self._watched[0].U)
            weights = self._weights(self._world, t, plays[0].items)
            width = weights.shape[1]
            now = np.arange(min(1 + t % 3, width))  # as many as a decision may be told of at a time
            self._tell(plays, weights, now)
            if late is not None and t % 4:
                self._tell(*late)
            if compares:
                self._compare_memory(t)
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

    def _tell(self, plays: list[Play], weights: FloatArray, columns: IntArray) -> None:
        for play, (rows, agent, _) in zip(plays, self._batches(), strict=True):
            n_rows, width = play.items.shape
            places = (np.arange(n_rows)[:, None] * width + columns).reshape(-1)
            agent.learn(play, np.ascontiguousarray(weights[rows][:, columns]), places)

    def _weights(self, stream: Stream, t: int, items: IntArray) -> FloatArray:
        """Weights over the policy's support, its ends included; as costs they are the same gains."""
        weights = _weights_of(self._policy, stream.uniform(t, items))
        is_bounded = self._policy.support[0] > -np.inf and self._policy.support[1] < np.inf
        return -weights if self._minimize and not is_bounded else weights

    def _compare_memory(self, t: int) -> None:
        batch, *alone = (agent.state.extra for agent in self._agents)
        for key, array in batch.items():
            for i, own in enumerate(alone):
                if not np.array_equal(array[i], own[key][0], equal_nan=array.dtype.kind == "f"):
                    raise ContractError(
                        f"state.extra[{key!r}] of run {_RUNS[i]} changes with the runs beside it, in episode {t}"
                    )

    def _compare_runs(self, t: int) -> None:
        batch, *alone = (watched.U for watched in self._watched)
        sets, *sets_alone = (watched.chosen for watched in self._watched)
        for i, own in enumerate(sets_alone):
            if sets and sets[i] != own[0]:
                raise ContractError(
                    f"sets of run {_RUNS[i]} change with the runs beside it: expected {own[0]} in episode {t}, as "
                    f"when played alone, got {sets[i]}"
                )
        for i, rows in enumerate(alone):
            if not np.array_equal(batch[i], rows[0]):
                e = int((batch[i] != rows[0]).argmax())
                raise ContractError(
                    f"indices of run {_RUNS[i]} change with the runs beside it: expected {rows[0, e]} for item "
                    f"{e} in episode {t}, as when played alone, got {batch[i, e]}"
                )


class _Watched(PolicyWrapper):
    """Another policy, and one check of what it does."""

    U: FloatArray

    def __init__(self, base: Policy, check: str) -> None:
        super().__init__(base)
        self._check = check
        self._c, self._exponent = 0.0, 0
        self._affine, self.chooses_sets = base.affine, base.chooses_sets
        self.chosen: list[list[int]] = []

    @property
    def affine(self) -> None:
        """None, so that `indices` is called."""
        return None

    def check_start(self, state: State) -> None:
        """Check what a fresh state has."""
        if self._check == "memory":
            check_memory(state, self._base, error=ContractError)
        if self._check == "lines" and self._affine is not None:
            for name, array in zip(("a", "b"), self._affine.lines(state), strict=True):
                is_array = isinstance(array, np.ndarray) and array.dtype == np.float64
                if not is_array or array.shape != state.counts.shape:
                    raise ContractError(f"expected the lines' {name} to be float64 of shape {state.counts.shape}")

    def indices(self, state: State, request: Request) -> FloatArray:
        t = request.episode
        before = copies_of(state)
        U = self._base.indices(state, request)
        if self._check == "leaves":
            check_unchanged("indices", before, state, t, error=ContractError)
        is_floats = isinstance(U, np.ndarray) and U.dtype.kind == "f"
        if not is_floats:
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
        if self._check in ("function", "draws"):
            others = request
            if self._check == "draws":
                stream = request.stream
                others = request._replace(stream=Stream(stream.seed ^ 1, stream.runs, stream.purpose))
            again = self._base.indices(state, others)
            is_other = (np.shape(again) == U.shape) & (again != U) & ~is_open & ~is_late
            if is_other.any():
                run, e = np.argwhere(is_other)[0]
                what = "to be a function of (state, request)"
                if self._check == "draws":
                    what = "that do not depend on random numbers unless samples = True says so"
                raise ContractError(
                    f"expected indices {what}, got {U[run, e]} and then {again[run, e]} for item {e} in episode {t}"
                )
        if self._check == "coefficient" and self._affine is not None:
            c, exponent = coefficient(self._affine, state, request), self._affine.exponent(state)
            if math.ldexp(c, exponent - self._exponent) < self._c:
                raise ContractError(
                    f"expected coefficient never to fall, got {c} after {self._c} in episode {request.episode}"
                )
            self._c, self._exponent = c, exponent
        return U

    def sets(self, state: State, request: Request) -> tuple[IntArray, IntArray]:
        self.indices(state, request)  # which are reported, and watched as those of any policy
        before, t = copies_of(state), request.episode
        items, sizes = choose_sets(self._base, state, request)
        self.chosen = _sets(items, sizes)
        if self._check == "leaves":
            check_unchanged("sets", before, state, t, error=ContractError)
        if self._check in ("function", "draws"):
            others = request
            if self._check == "draws":
                stream = request.stream
                others = request._replace(stream=Stream(stream.seed ^ 1, stream.runs, stream.purpose))
            again = _sets(*choose_sets(self._base, state, others))
            if again != self.chosen:
                what = "that do not depend on random numbers unless samples = True says so"
                what = what if self._check == "draws" else "to be a function of (state, request)"
                raise ContractError(f"expected sets {what}, got {self.chosen} and then {again} in episode {t}")
        return items, sizes

    def advance(self, state: State, request: Request) -> None:
        before, lines = copies_of(state, with_memory=False), self._lines(state)
        moved = self._base.advance(state, request)
        if not (moved is None or (isinstance(moved, tuple) and len(moved) == 2)):
            raise ContractError(f"expected advance to return (runs, items) or None, got {type(moved).__name__}")
        runs, items = (np.empty(0, np.int64),) * 2 if moved is None else moved
        self._check_hook("advance", before, lines, state, request.episode, runs, items)

    def observe(self, state: State, feedback: Feedback) -> None:
        before, lines = copies_of(state, with_memory=False), self._lines(state)
        told = [array.copy() for array in (feedback.runs, feedback.items, feedback.gains)]
        n_alarms = self._n_alarms(state)
        self._base.observe(state, feedback)
        is_forgotten = self._n_alarms(state) > n_alarms  # an alarm lets the state forget an item, and nothing else
        for name, array in copies_of(state, with_memory=False).items():
            before[name][is_forgotten] = array[is_forgotten]
        self._check_hook("observe", before, lines, state, feedback.episode, feedback.runs, feedback.items)
        if not all(map(np.array_equal, told, (feedback.runs, feedback.items, feedback.gains))):
            raise ContractError(f"expected observe to leave the feedback it is given, in episode {feedback.episode}")

    def wait(self, state: State, plays: Plays) -> None:
        before, lines = copies_of(state, with_memory=False), self._lines(state)
        self._base.wait(state, plays)
        self._check_hook("wait", before, lines, state, plays.episode, plays.runs, plays.items)

    def _check_hook(
        self,
        who: str,
        before: Mapping[str, AnyArray],
        lines: Sequence[AnyArray],
        state: State,
        t: int,
        runs: IntArray,
        items: IntArray,
    ) -> None:
        """What a hook may have changed: memory alone, and of the lines those of some items alone."""
        if self._check == "writes":
            check_unchanged(who, before, state, t, with_memory=False, error=ContractError)
        if self._check == "memory":
            check_memory(state, self._base, error=ContractError)
        if self._check == "lines" and lines:
            is_other = np.zeros(state.counts.shape, bool)
            for old, new in zip(lines, self._lines(state), strict=True):
                is_other |= old != new
            is_other[runs, items] = False
            if is_other.any():
                run, e = np.argwhere(is_other)[0]
                named = "that it does not return" if who == "advance" else "that is not concerned"
                raise ContractError(
                    f"expected {who} to leave the lines of other items, since engines rely on it; it changed that of "
                    f"item {e} of run {run}, {named}, in episode {t}"
                )

    def _lines(self, state: State) -> list[FloatArray]:
        """Copies of the lines, without the power of two that they are multiplied by."""
        if self._check != "lines" or self._affine is None:
            return []
        a, b = self._affine.lines(state)
        return [a.copy(), np.ldexp(b, -self._affine.exponent(state))]

    def _n_alarms(self, state: State) -> IntArray:
        return np.zeros(state.counts.shape, np.int64) if state.alarms is None else state.alarms[0].copy()


def _look(kind: str, play: Play, weights: FloatArray, click: float) -> BoolArray:
    """Which choices (n,) of lists are looked at: all, or down to the first click."""
    if kind == "positions":
        return np.ones(weights.size, bool)
    assert play.places is not None
    places, values = play.in_rows(play.places, -1), play.in_rows(weights, -np.inf)
    last = np.where(values == click, places, places.shape[1]).min(axis=1)
    is_seen: BoolArray = (places <= last[:, None])[places >= 0]
    return is_seen


def _sets(items: IntArray, sizes: IntArray) -> list[list[int]]:
    return [row[:size] for row, size in zip(items.tolist(), sizes.tolist(), strict=True)]


def _compare_directions(gains: list[FloatArray], costs: list[FloatArray]) -> None:
    """Indices of two trials that met the same gains, once as weights and once as costs."""
    for t, (U, V) in enumerate(zip(gains, costs, strict=False), start=1):
        if not np.array_equal(U, V):
            run, e = np.argwhere(U != V)[0]
            raise ContractError(
                f"expected indices to go by gains alone: item {e} has {U[run, e]} in episode {t}, and {V[run, e]} "
                "when the same gains are costs"
            )


def _weights_of(policy: Policy, u: FloatArray) -> FloatArray:
    """Weights over the policy's support, its ends included."""
    low, high = policy.support
    low, high = (low if low > -np.inf else min(0.0, high - 1.0)), (high if high < np.inf else max(1.0, low + 1.0))
    weights: FloatArray = low + (high - low) * np.round(4.0 * u) / 4.0
    return weights


def _attributes(policy: Policy) -> dict[str, Any]:
    """The attributes of a policy as bytes, or as they are where that cannot be."""
    found: dict[str, Any] = {}
    for name, value in vars(policy).items():
        try:
            found[name] = pickle.dumps(value)
        except Exception:  # a function of a user's own, say
            found[name] = id(value)
    return found


def _fits(constraint: Constraint, policy: Policy) -> bool:
    """Whether a policy can play under a constraint."""
    try:
        policy.prepare(constraint)
    except Exception:  # whatever a user's class raises
        return False
    return True
