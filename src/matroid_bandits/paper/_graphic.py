"""Section 5.1: the routing network of least latency, on six ISP maps."""

from __future__ import annotations

import os

from matroid_bandits.experiments import _routing
from matroid_bandits.experiments._blocks import Chapter, Plot, Text
from matroid_bandits.experiments._routing import EPSILON_GREEDY, FITTED, FITTED_SCALE, PLAIN, THOMPSON
from matroid_bandits.experiments._spec import Experiment, Outcome
from matroid_bandits.experiments._tables import curve_panel, is_standin
from matroid_bandits.experiments._topohub import DEFAULT_ISPS
from matroid_bandits.experiments.datasets import ROCKETFUEL_ASNS, Dataset, isp, rocketfuel
from matroid_bandits.policies import OMM, EpsilonGreedy, ThompsonSampling


def load(data: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """The paper's six networks, then a handful of real maps that need no download."""
    return [*(rocketfuel(asn, data) for asn in ROCKETFUEL_ASNS), *map(isp, DEFAULT_ISPS)]


def write(outcome: Outcome) -> Chapter:
    """Table 1, the cost curves, the fit, more networks, and which claims hold."""
    trials, more = outcome.trials[: len(ROCKETFUEL_ASNS)], outcome.trials[len(ROCKETFUEL_ASNS) :]
    return Chapter(
        lead=(
            "An Internet provider routes its traffic over a spanning tree of its network and wants the tree of least"
            " latency. It does not know the latencies; each episode it picks a tree and sees the latency of every"
            " link in it, the link's mean − 1 + Exp(1) milliseconds. Trees are the bases of a graphic matroid."
        ),
        blocks=(
            _routing.networks(trials),
            _routing.costs(trials),
            Plot(
                "graphic",
                "Expected per-step cost of routing, in up to "
                f"{outcome.experiment.n_episodes:,} episodes (the paper's Figure 1, all six networks)",
                tuple(curve_panel(trial, trial.dataset.title) for trial in trials),
                "Milliseconds per episode. Bands are 95% confidence intervals.",
            ),
            *_routing.claims(trials, needs=EXPERIMENT.n_episodes),
            Text(_routing.about_the_scale(is_standin(trials))),
            _routing.regrets(trials),
            _routing.fit(),
            _routing.more_networks(more),
        ),
    )


EXPERIMENT = Experiment(
    name="graphic",
    title="Routing networks",
    section="5.1",
    load=load,
    policies={
        EPSILON_GREEDY: EpsilonGreedy(0.1),
        PLAIN: OMM(),
        FITTED: OMM(FITTED_SCALE),
        THOMPSON: ThompsonSampling("normal"),
    },
    n_episodes=1_000,
    n_runs=100,
    seed=2014,
    write=write,
    quick=(1_000, 10),
)
