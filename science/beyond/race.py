"""The race: rivals on drawn worlds and on the paper's problems, with constants tuned on other seeds.

A heat is a kind of world: means that stay, change or wander; answers that come late; features; the paper's data. Its
problems are laws from which worlds are drawn, or the paper's own.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import matroid_bandits as mb
from matroid_bandits.datasets import ROCKETFUEL_ASNS, Dataset, kiva, movielens, rocketfuel
from matroid_bandits.simulation import Sweep

from .race_chapter import write

__all__ = ["HEATS", "TITLE", "play", "write"]

TITLE = "The race"

#: What OMM's radius may be tuned to, times the paper's.
SCALES = (0.5, 0.35, 0.25, 0.15, 0.1)

#: How often everything changes, at even distances.
N_CHANGES = 5

#: Features of every item in the heat with context.
N_FEATURES = 4

#: How many episodes curves are kept at, evenly spaced.
N_CHECKPOINTS = 25

#: Constants are tuned on this share of the worlds and of the runs, drawn with the next seed.
TUNING = 4


@dataclass(frozen=True)
class Size:
    """Worlds, runs in each of them, and episodes of a run."""

    n_worlds: int
    n_runs: int
    n_episodes: int


@dataclass(frozen=True)
class Heat:
    """Problems of one kind, who plays on them, and how long.

    `tracks` makes problems or laws by name, from data sets, the number of worlds and that of episodes; `players`
    makes policies by name, from one of the problems and the number of episodes, where a list is tuned: the one that
    did best on other seeds plays. On the problems in `tuned_on` policies play as they were tuned on another.
    """

    name: str
    about: str
    tracks: Callable[..., Mapping[str, Any]]
    players: Callable[..., Mapping[str, Any]]
    quick: Size
    usual: Size
    full: Size
    load: Callable[..., Sequence[Dataset]] = lambda data: ()
    tuned_on: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""

    def size(self, length: str = "usual", n_episodes: int | None = None, n_runs: int | None = None) -> Size:
        size: Size = getattr(self, length)
        return replace(size, n_episodes=n_episodes or size.n_episodes, n_runs=n_runs or size.n_runs)


@dataclass(frozen=True)
class Lap:
    """One problem of a heat: what each family was tuned to, and what was found, of this problem alone."""

    name: str
    tuned: dict[str, str]
    sweep: Sweep

    @property
    def result(self):
        """What was found: over worlds where they were drawn, else over runs."""
        return self.sweep[self.name]


@dataclass(frozen=True)
class HeatOutcome:
    """What was found in a heat."""

    heat: Heat
    size: Size
    datasets: Sequence[Dataset]
    laps: tuple[Lap, ...]

    @property
    def is_full(self) -> bool:
        """Whether it was as long as by default."""
        return all(own >= usual for own, usual in zip(astuple(self.size), astuple(self.heat.usual), strict=True))


def play(heats, seed, progress, executor=None, store=None) -> list[HeatOutcome]:
    """Tune the policies' constants and run every heat, given as (heat, size, data sets)."""
    return [
        HeatOutcome(heat, size, datasets, tuple(laps(heat, size, datasets, seed, progress, executor, store)))
        for heat, size, datasets in heats
    ]


def laps(heat, size, datasets, seed, progress, executor, store):
    """Every problem of a heat as a lap."""
    chosen: dict[str, dict[str, tuple[mb.Policy, str]]] = {}  # a policy of each family, and its constants
    for name, track in heat.tracks(datasets, size.n_worlds, size.n_episodes).items():
        race = partial(
            mb.sweep,
            n_episodes=size.n_episodes,
            checkpoints=np.unique(np.linspace(1, size.n_episodes, N_CHECKPOINTS).round().astype(np.int64)),
            executor=executor,
            store=store,
            progress=partial(progress, f"{heat.name}: {name}"),
        )
        sample = track if isinstance(track, mb.Problem) else replace(track, n_worlds=1).drawn(seed)[0]
        wanted = heat.players(sample, size.n_episodes)
        families = {family: each for family, each in wanted.items() if not isinstance(each, mb.Policy)}
        chosen[name] = {}
        if name in heat.tuned_on:
            chosen[name] = chosen[heat.tuned_on[name]]
        elif families:
            few = replace(track, n_worlds=share(track.n_worlds)) if isinstance(track, mb.Worlds) else track
            tuning = race({name: few}, families, n_runs=share(size.n_runs), seed=seed + 1)
            chosen[name] = {family: least(tuning, name, family) for family in families}
        fixed = [each for each in wanted.values() if isinstance(each, mb.Policy)]
        players = {}
        for family, each in wanted.items():
            if isinstance(each, mb.Policy):
                players[family] = each
            elif chosen[name][family][0] not in fixed:  # what is tuned to another policy of the heat is that one
                players[family] = chosen[name][family][0]
        found = race({name: track}, players, n_runs=size.n_runs, seed=seed)
        yield Lap(name, {family: constants for family, (_, constants) in chosen[name].items()}, found)


def least(tuning, problem, family):
    """The policy of a family with the least regret on a problem, and what tells it from the others."""
    best = min(tuning.groups[family], key=lambda policy: float(tuning[problem][policy].regret[-1]))
    constants = re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):.4g}", best.removeprefix(f"{family}, "))
    return tuning.players[problem][best], constants


def share(n):
    return max(1, n // TUNING)


# What is played on


def matroids():
    """One from each of four blocks of six, six of thirty, and a spanning tree of nine nodes."""
    return {
        "partition": mb.PartitionMatroid(np.arange(24) // 6),
        "uniform": mb.UniformMatroid(30, 6),
        "graphic": mb.GraphicMatroid([(u, v) for v in range(9) for u in range(v)]),
    }


def change_times(n_episodes):
    """The first episodes of the pieces after the first; pieces have one length, the last takes the remainder."""
    return [1 + max(1, n_episodes // (N_CHANGES + 1)) * k for k in range(1, N_CHANGES + 1)]


def laws(world, n_worlds, names=("partition", "uniform", "graphic")):
    """Worlds over the items of each matroid: environments made of random numbers and of how many items there are."""

    def law(matroid):
        return mb.Worlds(lambda rng: mb.Problem(matroid, world(rng, matroid.n_items)), n_worlds)

    return {name: law(matroid) for name, matroid in matroids().items() if name in names}


def uniform_means(rng, n_items):
    """Weights 0 or 1 whose means are uniform in [0, 1]."""
    return mb.BernoulliEnvironment(rng.random(n_items))


def staying(datasets, n_worlds, n_episodes):
    return laws(uniform_means, n_worlds)


def quotas(datasets, n_worlds, n_episodes):
    return laws(uniform_means, n_worlds, ("partition", "uniform"))


def phases(datasets, n_worlds, n_episodes):
    return {"uniform, 5 of 20": mb.Problem(mb.UniformMatroid(20, 5), mb.PhasesEnvironment(20, best=range(5)))}


def changing(datasets, n_worlds, n_episodes):
    def world(rng, n_items):
        pieces = [uniform_means(rng, n_items) for _ in range(N_CHANGES + 1)]
        return mb.PiecewiseEnvironment(pieces, change_times(n_episodes))

    return laws(world, n_worlds) | {"uniform, no changes": laws(uniform_means, n_worlds)["uniform"]}


def wandering(datasets, n_worlds, n_episodes):
    def walk(rng, n_items):
        return mb.RandomWalkEnvironment(uniform_means(rng, n_items), n_episodes**-0.5)

    def around(rng, n_items):
        correlation = max(0.0, 1.0 - 10.0 / n_episodes)
        return mb.AutoregressiveEnvironment(uniform_means(rng, n_items), deviation=0.2, correlation=correlation)

    return {"random walk": laws(walk, n_worlds)["uniform"], "AR(1)": laws(around, n_worlds)["uniform"]}


def late(datasets, n_worlds, n_episodes):
    def world(rng, n_items):
        return mb.DelayedEnvironment(uniform_means(rng, n_items), mean=n_episodes / 20)

    return laws(world, n_worlds, ("partition", "uniform"))


def contextual(datasets, n_worlds, n_episodes):
    def world(rng, n_items):
        usual, theta = rng.uniform(0.25, 0.75, (n_items, N_FEATURES)), rng.dirichlet(np.ones(N_FEATURES))
        return mb.ContextualEnvironment(usual, theta, 0.25, distribution="bernoulli")

    return laws(world, n_worlds, ("uniform",))


def given(datasets, n_worlds, n_episodes):
    return {dataset.title: dataset.problem for dataset in datasets}


# Who plays


def rivals(problem, n_episodes):
    """Policies for weights in [0, 1] whose means stay."""
    return {
        "OMM": mb.OMM(),
        "OMM, tuned": [mb.OMM(scale) for scale in SCALES],
        "CombUCB1": mb.OMM(0.75**0.5),
        "KLOSM": mb.KLOSM(),
        "KL-UCB++": mb.KLUCBPlusPlus(),
        "MOSS": mb.MOSS(),
        "Thompson": mb.ThompsonSampling(),
        "single-seed Thompson": mb.SingleSeedThompson(),
        "CL-SG": mb.CLSG(),
        "ε-greedy": mb.EpsilonGreedy(0.1),
    }


def some(*names):
    """Some of the rivals."""
    return {name: each for name, each in rivals(None, 0).items() if name in names}


def more_rivals(problem, n_episodes):
    """The rivals, and two that are played episode by episode."""
    ucbv = [mb.UCBV(c) for c in (1.0, 1 / 3, 1 / 6, 1 / 12, 1 / 24)]
    return rivals(problem, n_episodes) | {"UCB-V": ucbv, "BG-CTS": mb.BGCTS()}


def costly(problem, n_episodes):
    """Policies that search, or plan for an adversary, beside some of the others."""
    return some("OMM", "OMM, tuned", "KL-UCB++", "MOSS", "Thompson") | {
        "ESCB": mb.ESCB(),
        "AROQ": mb.AROQ(n_episodes),
        "FPL": mb.FPL(n_episodes),
        "HYBRID": mb.Hybrid(),
    }


def wary(problem, n_episodes):
    return some("OMM", "OMM, tuned", "KLOSM", "MOSS", "Thompson", "CL-SG") | {
        "discounted OMM": forgetful(problem, n_episodes)["discounted OMM"],
        "FPL": mb.FPL(n_episodes),
        "HYBRID": mb.Hybrid(),
    }


def forgetful(problem, n_episodes):
    """Policies that forget, each with several horizons and scales, beside some that do not.

    Horizons and scales reach so far that what is tuned lies inside them, not at their ends.
    """
    horizons = [max(least, n_episodes // n) for least, n in ((2, 200), (3, 100), (4, 50), (5, 15))]
    pairs = [(h, scale) for h in horizons for scale in (0.5, 0.25, 0.1, 0.05, 0.02)]
    longer = (*horizons[1:], max(6, n_episodes // 5))
    return {
        "OMM": mb.OMM(),
        "OMM, tuned": [mb.OMM(scale) for scale in (2.0, 1.0, 0.5, 0.25)],
        "MOSS": mb.MOSS(),
        "Thompson": mb.ThompsonSampling(),
        "discounted OMM": [mb.DiscountedOMM(1.0 - 1.0 / h, scale) for h, scale in pairs],
        "windowed OMM": [mb.SlidingWindowOMM(2 * h, scale) for h, scale in pairs],
        "discounted Thompson": [mb.DiscountedThompson(1.0 - 1.0 / h) for h in longer],
        "restarting OMM": [mb.Restarting(mb.OMM(scale)) for scale in (1.5, 1.0, 0.5, 0.25)],
    }


def patient(problem, n_episodes):
    return some("OMM", "OMM, tuned", "KL-UCB++", "MOSS", "Thompson", "single-seed Thompson", "CL-SG")


def seeing(problem, n_episodes):
    noises = (0.5, 0.25, 0.1, 0.05, 0.025)
    return some("OMM", "MOSS", "Thompson") | {
        "CombLinUCB": [mb.CombLinUCB(n_features=N_FEATURES, noise=noise) for noise in noises],
        "CombLinTS": [mb.CombLinTS(n_features=N_FEATURES, noise=noise) for noise in noises],
    }


def recommending(problem, n_episodes):
    """Policies that play the paper's horizons quickly: whole episodes in compiled code, and cheap indices."""
    return some("OMM", "OMM, tuned", "KLOSM", "KL-UCB++", "MOSS", "Thompson", "CL-SG", "ε-greedy")


def routing(problem, n_episodes):
    return {
        "OMM": mb.OMM(),
        "OMM, tuned": [mb.OMM(scale) for scale in (4.0, 2.0, 1.0, *SCALES)],
        "CombUCB1": mb.OMM(0.75**0.5),
        "Thompson": mb.ThompsonSampling("normal"),
        "ε-greedy": mb.EpsilonGreedy(0.1),
    }


MEANS = (
    "Means are uniform in [0, 1] and weights 0 or 1: one item from each of four blocks of six (partition), six of"
    " thirty (uniform), a spanning tree of nine nodes and 36 links (graphic)."
)
TWENTY, LONG = Size(20, 20, 5_000), Size(20, 100, 20_000)

HEATS = (
    Heat("stationary", f"Means that stay. {MEANS}", staying, more_rivals, Size(4, 4, 500), TWENTY, LONG),
    Heat(
        "costly",
        "Means that stay, and policies that take longer for a decision: ESCB searches for the set of largest index,"
        " AROQ solves for few sets, FPL and HYBRID are made for an adversary. Worlds as before, one item from each of"
        " four blocks of six (partition) and six of thirty (uniform).",
        quotas,
        costly,
        Size(3, 2, 200),
        Size(20, 10, 2_000),
        Size(20, 20, 20_000),
    ),
    Heat(
        "phases",
        "A world made against averages (Zimmert, Luo and Wei 2019): five of twenty items, means 1 and 0.9, then 0.1"
        " and 0, by turns, in phases that grow by 1.6. The best set is the same all the time.",
        phases,
        wary,
        Size(1, 6, 300),
        Size(1, 40, 10_000),
        Size(1, 100, 20_000),
    ),
    Heat(
        "changes",
        f"Means that change at once. {MEANS} All means are drawn anew five times, at even distances; regret is"
        " against the best set of each episode. The same where nothing changes, with the constants tuned for changes,"
        " is the price of being prepared.",
        changing,
        forgetful,
        Size(4, 4, 600),
        TWENTY,
        LONG,
        tuned_on={"uniform, no changes": "uniform"},
    ),
    Heat(
        "wandering",
        "Means that wander, six of thirty items. Random walk: steps of 1 / √n in each of n episodes, reflected at 0"
        " and 1. AR(1): around means that are uniform in [0, 1], with deviation 0.2 and a tenth of the episodes as"
        " memory, clipped.",
        wandering,
        forgetful,
        Size(3, 3, 300),
        Size(10, 10, 3_000),
        LONG,
    ),
    Heat(
        "delayed",
        f"Answers that come late: a geometric number of episodes, a twentieth of all on average. {MEANS}",
        late,
        patient,
        Size(3, 4, 200),
        Size(20, 10, 2_000),
        LONG,
    ),
    Heat(
        "context",
        "Features of every item, four numbers drawn anew in each episode, and means linear in them; six of thirty."
        " Regret is against the best set for the features of each episode.",
        contextual,
        seeing,
        Size(3, 3, 200),
        Size(20, 20, 2_000),
        LONG,
    ),
    Heat(
        "networks",
        "The paper's routing networks: a spanning tree of least latency, means of the map, noise −1 + Exp(1) ms.",
        given,
        routing,
        Size(1, 10, 300),
        Size(1, 100, 1_000),
        Size(1, 100, 1_000),
        load=lambda data: [rocketfuel(asn, data) for asn in ROCKETFUEL_ASNS],
        unit="ms",
    ),
    Heat(
        "partners",
        "The paper's lending partners (Kiva), each with a cluster of lenders of its own.",
        given,
        recommending,
        Size(1, 4, 500),
        Size(1, 100, 15_000),
        Size(1, 100, 15_000),
        load=lambda data: [kiva(data)],
    ),
    Heat(
        "movies",
        "The paper's movies (MovieLens 1M), popular and of linearly independent genres.",
        given,
        recommending,
        Size(1, 4, 500),
        Size(1, 100, 50_000),
        Size(1, 100, 50_000),
        load=lambda data: [movielens(data)],
    ),
)
