"""The race: rivals on drawn worlds and on the paper's problems, with constants tuned on other seeds.

A heat is a kind of world: means that stay, change or wander; answers that come late; features; the paper's data. Its
problems are laws from which worlds are drawn, or the paper's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from matroid_bandits.datasets import ROCKETFUEL_ASNS, Dataset, kiva, movielens, rocketfuel
from matroid_bandits.environments import (
    AutoregressiveEnvironment,
    BernoulliEnvironment,
    ContextualEnvironment,
    DelayedEnvironment,
    Environment,
    PhasesEnvironment,
    PiecewiseEnvironment,
    RandomWalkEnvironment,
)
from matroid_bandits.matroids import GraphicMatroid, Matroid, PartitionMatroid, UniformMatroid
from matroid_bandits.policies import (
    AROQ,
    BGCTS,
    CLSG,
    ESCB,
    FPL,
    KLOSM,
    MOSS,
    OMM,
    UCBV,
    CombLinTS,
    CombLinUCB,
    DiscountedOMM,
    DiscountedThompson,
    EpsilonGreedy,
    Hybrid,
    KLUCBPlusPlus,
    Policy,
    Restarting,
    SingleSeedThompson,
    SlidingWindowOMM,
    ThompsonSampling,
)
from matroid_bandits.problem import Problem
from matroid_bandits.simulation import Worlds

#: Who plays on a problem, by name; a list is tuned: the one that did best on other seeds plays.
Players = Mapping[str, Policy | Sequence[Policy]]

#: A law of worlds, or one world that is given.
Track = Problem | Worlds

#: What OMM's radius may be tuned to, times the paper's.
SCALES = (0.5, 0.35, 0.25, 0.15, 0.1)

#: How often everything changes, at even distances.
N_CHANGES = 5


@dataclass(frozen=True)
class Size:
    """Worlds, runs in each of them, and episodes of a run."""

    n_worlds: int
    n_runs: int
    n_episodes: int


@dataclass(frozen=True)
class Heat:
    """Problems of one kind, who plays on them, and how long.

    Attributes
    ----------
    name : str
        Short name, fit for files.
    about : str
        What the problems are, in a paragraph.
    tracks : callable
        From data sets, the number of worlds and that of episodes to laws or problems, by name.
    players : callable
        From one of the problems and the number of episodes to the policies by name; a list is tuned.
    quick, usual, full : Size
        How long it is for a taste, by default, and where hours do not matter.
    load : callable
        From a data folder, or None, to the data sets that are needed.
    tuned_on : mapping of name to name
        Problems on which the policies play as they were tuned on another.
    unit : str
        What regret is measured in.
    """

    name: str
    about: str
    tracks: Callable[[Sequence[Dataset], int, int], Mapping[str, Track]]
    players: Callable[[Problem, int], Players]
    quick: Size
    usual: Size
    full: Size
    load: Callable[[str | os.PathLike[str] | None], Sequence[Dataset]] = lambda data: ()
    tuned_on: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""


def matroids() -> dict[str, Matroid]:
    """One from each of four blocks of six, six of thirty, and a spanning tree of nine nodes."""
    return {
        "partition": PartitionMatroid(np.arange(24) // 6),
        "uniform": UniformMatroid(30, 6),
        "graphic": GraphicMatroid([(u, v) for v in range(9) for u in range(v)]),
    }


def change_times(n_episodes: int) -> list[int]:
    """The first episodes of the pieces after the first; pieces have one length, the last takes the remainder."""
    return [1 + max(1, n_episodes // (N_CHANGES + 1)) * k for k in range(1, N_CHANGES + 1)]


def law(matroid: Matroid, world: Callable[[np.random.Generator, int], Environment], n_worlds: int) -> Worlds:
    """Worlds over the items of a matroid: environments made of random numbers and of how many items there are."""
    return Worlds(lambda rng: Problem(matroid, world(rng, matroid.n_items)), n_worlds)


def uniform_means(rng: np.random.Generator, n_items: int) -> BernoulliEnvironment:
    """Weights 0 or 1 whose means are uniform in [0, 1]."""
    return BernoulliEnvironment(rng.random(n_items))


def _staying(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    return {name: law(matroid, uniform_means, n_worlds) for name, matroid in matroids().items()}


def _moving(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    def changing(rng: np.random.Generator, n_items: int) -> Environment:
        pieces = [uniform_means(rng, n_items) for _ in range(N_CHANGES + 1)]
        return PiecewiseEnvironment(pieces, change_times(n_episodes))

    found: dict[str, Track] = {name: law(matroid, changing, n_worlds) for name, matroid in matroids().items()}
    return found | {"uniform, no changes": _staying((), n_worlds, n_episodes)["uniform"]}


def _wandering(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    uniform = matroids()["uniform"]

    def walk(rng: np.random.Generator, n_items: int) -> Environment:
        return RandomWalkEnvironment(uniform_means(rng, n_items), n_episodes**-0.5)

    def around(rng: np.random.Generator, n_items: int) -> Environment:
        correlation = max(0.0, 1.0 - 10.0 / n_episodes)
        return AutoregressiveEnvironment(uniform_means(rng, n_items), deviation=0.2, correlation=correlation)

    return {"random walk": law(uniform, walk, n_worlds), "AR(1)": law(uniform, around, n_worlds)}


def _late(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    def late(rng: np.random.Generator, n_items: int) -> Environment:
        return DelayedEnvironment(uniform_means(rng, n_items), mean=n_episodes / 20)

    return {name: law(matroid, late, n_worlds) for name, matroid in matroids().items() if name != "graphic"}


#: Features of every item in the heat with context.
_N_FEATURES = 4


def _contextual(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    def seen(rng: np.random.Generator, n_items: int) -> Environment:
        usual, theta = rng.uniform(0.25, 0.75, (n_items, _N_FEATURES)), rng.dirichlet(np.ones(_N_FEATURES))
        return ContextualEnvironment(usual, theta, 0.25, distribution="bernoulli")

    return {"uniform": law(matroids()["uniform"], seen, n_worlds)}


def rivals(problem: Problem, n_episodes: int) -> Players:
    """Policies for weights in [0, 1] whose means stay."""
    return {
        "OMM": OMM(),
        "OMM, tuned": [OMM(scale) for scale in SCALES],
        "CombUCB1": OMM(0.75**0.5),
        "KLOSM": KLOSM(),
        "KL-UCB++": KLUCBPlusPlus(),
        "MOSS": MOSS(),
        "Thompson": ThompsonSampling(),
        "single-seed Thompson": SingleSeedThompson(),
        "CL-SG": CLSG(),
        "ε-greedy": EpsilonGreedy(0.1),
    }


def _more_rivals(problem: Problem, n_episodes: int) -> Players:
    """Those, and two that are played episode by episode."""
    return {
        **rivals(problem, n_episodes),
        "UCB-V": [UCBV(c) for c in (1.0, 1 / 3, 1 / 6, 1 / 12, 1 / 24)],
        "BG-CTS": BGCTS(),
    }


def _costly(problem: Problem, n_episodes: int) -> Players:
    """Policies that search, or plan for an adversary, beside some of the others."""
    known = rivals(problem, n_episodes)
    return {name: known[name] for name in ("OMM", "OMM, tuned", "KL-UCB++", "MOSS", "Thompson")} | {
        "ESCB": ESCB(),
        "AROQ": AROQ(n_episodes),
        "FPL": FPL(n_episodes),
        "HYBRID": Hybrid(),
    }


def _wary(problem: Problem, n_episodes: int) -> Players:
    known = rivals(problem, n_episodes)
    return {name: known[name] for name in ("OMM", "OMM, tuned", "KLOSM", "MOSS", "Thompson", "CL-SG")} | {
        "discounted OMM": forgetful(problem, n_episodes)["discounted OMM"],
        "FPL": FPL(n_episodes),
        "HYBRID": Hybrid(),
    }


def forgetful(problem: Problem, n_episodes: int) -> Players:
    """Policies that forget, each with several horizons and scales, beside some that do not.

    Horizons and scales reach so far that what is tuned lies inside them, not at their ends.
    """
    horizons = (
        max(2, n_episodes // 200),
        max(3, n_episodes // 100),
        max(4, n_episodes // 50),
        max(5, n_episodes // 15),
    )
    scales = (0.5, 0.25, 0.1, 0.05, 0.02)
    return {
        "OMM": OMM(),
        "OMM, tuned": [OMM(scale) for scale in (2.0, 1.0, 0.5, 0.25)],
        "MOSS": MOSS(),
        "Thompson": ThompsonSampling(),
        "discounted OMM": [DiscountedOMM(1.0 - 1.0 / h, scale) for h in horizons for scale in scales],
        "windowed OMM": [SlidingWindowOMM(2 * h, scale) for h in horizons for scale in scales],
        "discounted Thompson": [DiscountedThompson(1.0 - 1.0 / h) for h in (*horizons[1:], max(6, n_episodes // 5))],
        "restarting OMM": [Restarting(OMM(scale)) for scale in (1.5, 1.0, 0.5, 0.25)],
    }


def _patient(problem: Problem, n_episodes: int) -> Players:
    wanted = ("OMM", "OMM, tuned", "KL-UCB++", "MOSS", "Thompson", "single-seed Thompson", "CL-SG")
    return {name: each for name, each in rivals(problem, n_episodes).items() if name in wanted}


def _seeing(problem: Problem, n_episodes: int) -> Players:
    blind = {name: each for name, each in rivals(problem, n_episodes).items() if name in ("OMM", "MOSS", "Thompson")}
    return blind | {
        "CombLinUCB": [CombLinUCB(n_features=_N_FEATURES, noise=noise) for noise in (0.5, 0.25, 0.1, 0.05, 0.025)],
        "CombLinTS": [CombLinTS(n_features=_N_FEATURES, noise=noise) for noise in (0.5, 0.25, 0.1, 0.05, 0.025)],
    }


def _recommending(problem: Problem, n_episodes: int) -> Players:
    """Policies that play the paper's horizons quickly: whole episodes in compiled code, and cheap indices."""
    slow = ("CombUCB1", "single-seed Thompson")
    return {name: each for name, each in rivals(problem, n_episodes).items() if name not in slow}


def _routing(problem: Problem, n_episodes: int) -> Players:
    return {
        "OMM": OMM(),
        "OMM, tuned": [OMM(scale) for scale in (4.0, 2.0, 1.0, *SCALES)],
        "CombUCB1": OMM(0.75**0.5),
        "Thompson": ThompsonSampling("normal"),
        "ε-greedy": EpsilonGreedy(0.1),
    }


def _phases(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    return {"uniform, 5 of 20": Problem(UniformMatroid(20, 5), PhasesEnvironment(20, best=range(5)))}


def _quotas(_: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    return {name: each for name, each in _staying((), n_worlds, n_episodes).items() if name != "graphic"}


def _given(datasets: Sequence[Dataset], n_worlds: int, n_episodes: int) -> dict[str, Track]:
    return {dataset.title: dataset.problem for dataset in datasets}


_MEANS = (
    "Means are uniform in [0, 1] and weights 0 or 1: one item from each of four blocks of six (partition), six of"
    " thirty (uniform), a spanning tree of nine nodes and 36 links (graphic)."
)
_TWENTY, _LONG = Size(20, 20, 5_000), Size(20, 100, 20_000)

HEATS = (
    Heat("stationary", f"Means that stay. {_MEANS}", _staying, _more_rivals, Size(4, 4, 500), _TWENTY, _LONG),
    Heat(
        "costly",
        "Means that stay, and policies that take longer for a decision: ESCB searches for the set of largest index,"
        " AROQ solves for few sets, FPL and HYBRID are made for an adversary. Worlds as before, one item from each of"
        " four blocks of six (partition) and six of thirty (uniform).",
        _quotas,
        _costly,
        Size(3, 2, 200),
        Size(20, 10, 2_000),
        Size(20, 20, 20_000),
    ),
    Heat(
        "phases",
        "A world made against averages (Zimmert, Luo and Wei 2019): five of twenty items, means 1 and 0.9, then 0.1"
        " and 0, by turns, in phases that grow by 1.6. The best set is the same all the time.",
        _phases,
        _wary,
        Size(1, 6, 300),
        Size(1, 40, 10_000),
        Size(1, 100, 20_000),
    ),
    Heat(
        "changes",
        f"Means that change at once. {_MEANS} All means are drawn anew five times, at even distances; regret is"
        " against the best set of each episode. The same where nothing changes, with the constants tuned for changes,"
        " is the price of being prepared.",
        _moving,
        forgetful,
        Size(4, 4, 600),
        _TWENTY,
        _LONG,
        tuned_on={"uniform, no changes": "uniform"},
    ),
    Heat(
        "wandering",
        "Means that wander, six of thirty items. Random walk: steps of 1 / √n in each of n episodes, reflected at 0"
        " and 1. AR(1): around means that are uniform in [0, 1], with deviation 0.2 and a tenth of the episodes as"
        " memory, clipped.",
        _wandering,
        forgetful,
        Size(3, 3, 300),
        Size(10, 10, 3_000),
        _LONG,
    ),
    Heat(
        "delayed",
        f"Answers that come late: a geometric number of episodes, a twentieth of all on average. {_MEANS}",
        _late,
        _patient,
        Size(3, 4, 200),
        Size(20, 10, 2_000),
        _LONG,
    ),
    Heat(
        "context",
        "Features of every item, four numbers drawn anew in each episode, and means linear in them; six of thirty."
        " Regret is against the best set for the features of each episode.",
        _contextual,
        _seeing,
        Size(3, 3, 200),
        Size(20, 20, 2_000),
        _LONG,
    ),
    Heat(
        "networks",
        "The paper's routing networks: a spanning tree of least latency, means of the map, noise −1 + Exp(1) ms.",
        _given,
        _routing,
        Size(1, 10, 300),
        Size(1, 100, 1_000),
        Size(1, 100, 1_000),
        load=lambda data: [rocketfuel(asn, data) for asn in ROCKETFUEL_ASNS],
        unit="ms",
    ),
    Heat(
        "partners",
        "The paper's lending partners (Kiva), each with a cluster of lenders of its own.",
        _given,
        _recommending,
        Size(1, 4, 500),
        Size(1, 100, 15_000),
        Size(1, 100, 15_000),
        load=lambda data: [kiva(data)],
    ),
    Heat(
        "movies",
        "The paper's movies (MovieLens 1M), popular and of linearly independent genres.",
        _given,
        _recommending,
        Size(1, 4, 500),
        Size(1, 100, 50_000),
        Size(1, 100, 50_000),
        load=lambda data: [movielens(data)],
    ),
)
