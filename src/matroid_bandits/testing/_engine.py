"""Does an engine make the decisions of the plain greedy, whatever is asked and whenever answers come?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from matroid_bandits._typing import IntArray
from matroid_bandits.agent import Agent, Play
from matroid_bandits.constraint import Constraint
from matroid_bandits.engines import EngineChoice
from matroid_bandits.exceptions import ContractError, PolicyError
from matroid_bandits.matroids import GraphicMatroid, LaminarMatroid, PartitionMatroid, UniformMatroid
from matroid_bandits.policies import CLSG, KLOSM, OMM, DiscountedOMM, EpsilonGreedy, Policy, Request
from matroid_bandits.stream import POLICY, START, Stream
from matroid_bandits.testing._suite import Suite


def check_engine(engine: EngineChoice, *, n_episodes: int = 40, seed: int = 0) -> None:
    """Run all tests of `EngineSuite` on an engine.

    Parameters
    ----------
    engine : str or class
        The name of an engine, or what makes one of a constraint, a policy and a state.
    n_episodes : int, default 40
        How long each test plays.
    seed : int, default 0
        Of the weights and the requests.

    Raises
    ------
    ContractError
        The episode in which a decision is not the greedy one, and both.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.testing.check_engine("warm")
    >>> class Lazy(mb.engines.Engine):
    ...     def decide(self, request):
    ...         if request.episode % 10 == 1:  # an order for ten episodes
    ...             self._last = self.scan(request)
    ...         return self._last
    >>> mb.testing.check_engine(Lazy)
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.ContractError: expected the decisions of the greedy engine with OMM(scale=1.0) on \
UniformMatroid(n_items=9, rank=3); got {0, 1, 2} instead of {3, 4, 5} for run 0 in episode 2
    """
    EngineSuite.check(engine=engine, n_episodes=n_episodes, seed=seed)


class EngineSuite(Suite):
    """Conformance tests of an `Engine`: its decisions equal those of the plain greedy algorithm, bit for bit.

    Attributes
    ----------
    engine : str, or callable
        What is tested: the name of an engine, or what makes one of a constraint, a policy and a state. Cases that it
        refuses with `PolicyError` are left out.
    cases : sequence of (Constraint, Policy)
        What is played; by default quotas, nested ones, a graph and many ties, with policies of five kinds.
    n_episodes : int
        How long each test plays, 40 by default.
    seed : int
        Of the weights and the requests, 0 by default.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestKinetic(mb.testing.EngineSuite):
    ...     engine = "kinetic"
    ...     n_episodes = 10
    >>> TestKinetic().run()
    """

    engine: EngineChoice
    n_episodes: int = 40
    seed: int = 0
    cases: Sequence[tuple[Constraint, Policy]] = tuple(
        (constraint, policy)
        for constraint in (
            UniformMatroid(9, 3),
            PartitionMatroid([0, 0, 0, 1, 1, 1, 2, 2, 2], {0: 1, 1: 2, 2: 0}),
            LaminarMatroid(9, [(range(9), 4), (range(5), 2), (range(2), 1)]),
            GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 0), (5, 5)]),
        )
        for policy in (OMM(), DiscountedOMM(0.9), EpsilonGreedy(0.3), KLOSM(), CLSG(1.0))
    )

    def test_it_takes_one_of_the_cases(self) -> None:
        if not any(True for _ in self._pairs(False)):
            raise ContractError(f"expected {self.engine!r} to take one of {len(self.cases)} cases, got none")

    def test_everything_is_available(self) -> None:
        self._compare(lambda rng, agent: {})

    def test_every_item_was_seen_before(self) -> None:
        self._compare(lambda rng, agent: {}, starts_seen=True)

    def test_masks(self) -> None:
        """Decisions are right for one mask shared by all runs, for one per run, and for empty masks."""

        def some(rng: np.random.Generator, agent: Agent) -> dict[str, object]:
            shape = agent.state.counts.shape if rng.random() < 0.5 else agent.state.counts.shape[1:]
            return {"available": rng.random(shape) < rng.choice([0.0, 0.3, 0.8, 1.0])}

        self._compare(some)

    def test_exclusions(self) -> None:
        def some(rng: np.random.Generator, agent: Agent) -> dict[str, object]:
            excluded = rng.permutation(agent.state.n_items)[: rng.integers(1, 4)]
            mask = rng.random(agent.state.n_items) < 0.8 if rng.random() < 0.5 else None
            return {"excluded": np.sort(excluded), "available": mask}

        self._compare(some)

    def test_pins(self) -> None:
        def some(rng: np.random.Generator, agent: Agent) -> dict[str, object]:
            constraint = agent.state.constraint
            items, sizes = constraint.solve(rng.random((1, constraint.n_items)))
            pinned = np.sort(rng.permutation(items[0, : sizes[0]])[: rng.integers(1, 3)])
            mask = rng.random(constraint.n_items) < 0.8 if rng.random() < 0.5 else None
            return {"pinned": pinned if pinned.size else None, "available": mask}

        self._compare(some)

    def test_answers_that_are_late_or_never_come(self) -> None:
        self._compare(lambda rng, agent: {}, is_late=True)

    def test_costs(self) -> None:
        self._compare(lambda rng, agent: {}, minimize=True)

    def test_what_is_returned_may_be_kept(self) -> None:
        """Returned arrays do not change when later sets are chosen, and deciding does not modify the state."""
        for constraint, policy, agent, _ in self._pairs(False):
            stream = Stream(self.seed, range(3), POLICY)
            kept: list[tuple[Play, IntArray]] = []
            for t in range(1, self.n_episodes + 1):
                before = [array.copy() for array in (agent.state.counts, agent.state.means)]
                items, sizes = agent.choose(Request(t, stream))
                if not all(map(np.array_equal, before, (agent.state.counts, agent.state.means))):
                    raise ContractError(f"expected decide to leave the state as it is, with {policy!r}")
                play = agent.play(Request(t, stream), items, sizes)
                kept.append((play, play.items.copy()))
                agent.learn(play, np.round(4 * stream.uniform(t, play.items)) / 4)
            for play, items in kept:
                if not np.array_equal(play.items, items):
                    raise ContractError(
                        f"expected the sets of episode {play.request.episode} on {constraint!r} to stay as they were "
                        "returned; they were written to later"
                    )

    # What the tests are made of

    def _pairs(self, minimize: bool) -> Iterator[tuple[Constraint, Policy, Agent, Agent]]:
        """For each case that the engine takes an agent with it, and one with the greedy engine."""
        for constraint, policy in self.cases:
            try:
                own = Agent(constraint, policy, n_runs=3, minimize=minimize, engine=self.engine)
            except PolicyError:
                continue
            yield constraint, policy, own, Agent(constraint, policy, n_runs=3, minimize=minimize, engine="greedy")

    def _compare(
        self,
        wanted: Callable[[np.random.Generator, Agent], dict[str, object]],
        *,
        starts_seen: bool = False,
        is_late: bool = False,
        minimize: bool = False,
    ) -> None:
        for constraint, policy, *agents in self._pairs(minimize):
            rng, world = np.random.default_rng(self.seed), Stream(self.seed, range(3))
            own = world.with_purpose(POLICY)
            if starts_seen:
                items = np.tile(np.arange(constraint.n_items), (3, 1))
                weights = np.round(4 * world.with_purpose(START).uniform(0, items)) / 4
                for agent in agents:
                    agent.observe(Request(0, own), items, weights)
            late: list[tuple[list[Play], IntArray]] = []
            for t in range(1, self.n_episodes + 1):
                request = Request(t, own)._replace(**wanted(rng, agents[0]))  # type: ignore[arg-type]
                plays = [agent.decide(request) for agent in agents]
                _expect_same(plays, constraint, policy)
                n = int(plays[0].sizes.sum())
                weights = np.round(4 * world.uniform(t, np.arange(constraint.n_items))) / 4
                runs, items = plays[0].cells()
                told = np.arange(n) if not is_late else np.flatnonzero(rng.random(n) < 0.5)
                if is_late:
                    late.append((plays, np.setdiff1d(np.arange(n), told)))
                    if len(late) > 4:
                        self._answer(agents, *late.pop(int(rng.integers(len(late)))), world)
                if told.size:
                    for agent, play in zip(agents, plays, strict=True):
                        agent.learn(play, weights[runs[told], items[told]], told)

    def _answer(self, agents: Sequence[Agent], plays: list[Play], places: IntArray, world: Stream) -> None:
        """Answer what is left of a play, or close it."""
        t = plays[0].request.episode
        weights = np.round(4 * world.uniform(t, np.arange(agents[0].state.n_items))) / 4
        runs, items = plays[0].cells(places)
        for agent, play in zip(agents, plays, strict=True):
            if not places.size:
                continue
            if t % 3:
                agent.learn(play, weights[runs, items], places)
            else:
                agent.close([(play, places)])


def _expect_same(plays: list[Play], constraint: Constraint, policy: Policy) -> None:
    found, expected = plays
    for run in range(expected.sizes.size):
        sets = [play.items[run, : play.sizes[run]].tolist() for play in (found, expected)]
        if sets[0] != sets[1]:
            given, right = ("{" + ", ".join(map(str, items)) + "}" for items in sets)
            raise ContractError(
                f"expected the decisions of the greedy engine with {policy!r} on {constraint!r}; got {given} instead "
                f"of {right} for run {run} in episode {expected.request.episode}"
            )
