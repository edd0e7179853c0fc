"""Problems drawn from a law, so that what is said holds for more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray
from matroid_bandits._util.checks import as_integer
from matroid_bandits._util.text import shown
from matroid_bandits.exceptions import SimulationError
from matroid_bandits.problem import Problem
from matroid_bandits.simulation._result import SimulationResult
from matroid_bandits.stream import as_seed


@dataclass(frozen=True)
class Worlds:
    """A distribution of random problems for `sweep`, and the number of problems ("worlds") to draw from it.

    The means of a single random problem favour some policies by chance, and its runs do not show how much. Over
    several worlds, means and standard errors refer to a new random problem: each world counts as one number, the mean
    over its runs.

    Parameters
    ----------
    draw : callable
        Function of a `numpy.random.Generator` that returns a `Problem`; all worlds have the same number of items and
        set size.
    n_worlds : int
        How many to draw.
    seed : int, optional
        Seed of the draws; by default the sweep's seed. World i is a function of (seed, i) alone, so a larger
        `n_worlds` adds worlds.

    Examples
    --------
    >>> import numpy as np
    >>> import matroid_bandits as mb
    >>> def blocks(rng):
    ...     return mb.Problem(mb.PartitionMatroid(np.arange(12) // 3), mb.BernoulliEnvironment(rng.random(12)))
    >>> law = mb.Worlds(blocks, n_worlds=5)
    >>> sweep = mb.sweep({"blocks": law}, [mb.OMM(), mb.KLOSM()], n_episodes=200, n_runs=4, seed=0)
    >>> sweep["blocks"]
    SimulationResult(OMM, KLOSM; 5 worlds × 4 runs of 200 episodes, seed 0, start "observe")
    >>> sweep["blocks"].final_regret.shape, len(sweep.worlds["blocks"])
    ((2, 5), 5)
    >>> [(part.policy, part.worlds > part.runs) for part in sweep.variance_parts()]
    [('OMM', True), ('KLOSM', False)]
    """

    draw: Callable[[np.random.Generator], Problem]
    n_worlds: int
    seed: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.draw) or isinstance(self.draw, type):
            raise SimulationError(f"expected draw to be a function of a random generator; got {shown(self.draw)}")
        object.__setattr__(self, "n_worlds", as_integer("n_worlds", self.n_worlds, 1, 2**20, error=SimulationError))
        if self.seed is not None:
            object.__setattr__(self, "seed", as_seed(self.seed))

    def drawn(self, seed: int) -> list[Problem]:
        """Return the problems drawn for a sweep's seed."""
        own = seed if self.seed is None else self.seed
        found: list[Problem] = []
        for world in range(self.n_worlds):
            problem = self.draw(np.random.default_rng([own, world]))
            if not isinstance(problem, Problem):
                raise SimulationError(f"expected draw to give a Problem, got {shown(problem)}")
            if found and (problem.n_items, problem.minimize) != (found[0].n_items, found[0].minimize):
                raise SimulationError(
                    f"expected worlds of {found[0].n_items} items and one direction; got {problem.n_items} items in "
                    f"world {world}"
                )
            found.append(problem)
        return found


@dataclass(frozen=True)
class World:
    """One random problem drawn in a sweep, and its simulation result.

    Attributes
    ----------
    problem : Problem
        What was drawn.
    result : SimulationResult
        What `simulate` finds with the seed that the result carries, bit for bit.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> law = mb.Worlds(lambda rng: mb.lower_bound_problem(6, 2, rng.uniform(0.1, 0.3)), 2)
    >>> first, second = mb.sweep({"gaps": law}, mb.OMM(), n_episodes=9, n_runs=2, seed=0).worlds["gaps"]
    >>> first.result == mb.simulate(first.problem, mb.OMM(), n_episodes=9, n_runs=2, seed=first.result.seed)
    True
    """

    problem: Problem
    result: SimulationResult


def world_name(law: str, world: int) -> str:
    """What a world of a law is called in messages and in a store."""
    return f"{law}, world {world}"


def run_seed(seed: int, world: int) -> int:
    """The seed of a world's runs: of its own, since worlds that shared the noise of runs would not be independent."""
    return int(np.random.SeedSequence([seed, world, 1]).generate_state(1, np.uint64)[0])


def pooled(results: Sequence[SimulationResult], seed: int) -> SimulationResult:
    """One result of several worlds' in which each world is what a run is in theirs: the mean over its runs."""
    first, n_worlds = results[0], len(results)

    def of_all(name: str) -> AnyArray | None:
        """An array of every world, worlds first; None where none has it."""
        return None if getattr(first, name) is None else np.stack([getattr(each, name) for each in results])

    def curves(name: str) -> tuple[FloatArray, FloatArray]:
        values = np.stack([getattr(each, name) for each in results], axis=1)
        means = values.mean(axis=1)
        errors = values.std(axis=1, ddof=1) / np.sqrt(n_worlds) if n_worlds > 1 else np.full(means.shape, np.nan)
        return means, errors

    def by_world(name: str) -> FloatArray:
        """The mean curve of every world; its end is the `final_` mean, which is rounded in another order."""
        values = np.stack([getattr(each, name) for each in results], axis=1)
        values[:, :, -1] = np.stack([getattr(each, f"final_{name}").mean(axis=1) for each in results], axis=1)
        return values

    alarms, item_alarms, optimum, seconds = map(of_all, ("alarms", "item_alarms", "optimum", "seconds"))
    returns, returns_se = curves("returns")
    regret, regret_se = curves("regret")
    return replace(
        first,
        returns=returns,
        returns_se=returns_se,
        regret=regret,
        regret_se=regret_se,
        final_returns=np.stack([each.final_returns.mean(axis=1) for each in results], axis=1),
        final_regret=np.stack([each.final_regret.mean(axis=1) for each in results], axis=1),
        run_returns=None if first.run_returns is None else by_world("returns"),
        run_regret=None if first.run_regret is None else by_world("regret"),
        choices=np.sum([each.choices for each in results], axis=0),
        n_runs=n_worlds,
        seed=seed,
        optimal_value=float(np.mean([each.optimal_value for each in results])),
        optimum=None if optimum is None else optimum.mean(axis=0),
        alarms=None if alarms is None else alarms.mean(axis=0),
        item_alarms=None if item_alarms is None else item_alarms.sum(axis=0),
        device="gpu" if all(each.device == "gpu" for each in results) else "cpu",
        engine=None
        if first.engine is None
        else tuple(
            " and ".join(sorted(set(own))) for own in zip(*(each.engine or () for each in results), strict=True)
        ),
        world_runs=first.n_runs,
        seconds=None if seconds is None else seconds.sum(axis=0),
        run_ranges=(),
        problem_key=None,
        policy_keys=None,
    )
