"""One of the paper's routing networks, with latencies that change: links congest at once, or swing with the day."""

import numpy as np

import matroid_bandits as mb
from matroid_bandits.reporting import Column, Estimate, Table, Text, size_note

from .blocks import best_plot, final, is_standin, regret_table
from .race import N_CHANGES, change_times

TITLE = "Routing while latencies change"
N_EPISODES, N_QUICK, N_RUNS = 6_000, 1_200, 20

#: The widths of the radius, in ms, among which every policy that has one gets its best.
SCALES = (0.5, 1.0, 3.0, 10.0, 30.0)

#: What share of the links is congested at a time, and between which factors that multiplies their latencies.
SHARE, FACTORS = 0.3, (2.0, 5.0)

#: How often latencies swing in the time that is played.
N_SWINGS = 3

#: What is random in the worlds is drawn with it, the same for every policy.
SEED = 12


def load(data):
    return [mb.datasets.rocketfuel(1755, data)]


def problems(datasets, n_episodes):
    """The network with links that congest, and with latencies that swing."""
    network = datasets[0].problem
    latencies = network.environment.mean_weights
    worlds = {"congestion": congested(latencies, n_episodes), "swings": swinging(latencies, n_episodes)}
    return {name: mb.Problem(network.constraint, world, minimize=True) for name, world in worlds.items()}


def congested(latencies, n_episodes):
    """Another share of the links is slower after every change; in the beginning all are as on the map."""
    rng = np.random.default_rng(SEED)
    pieces = [mb.ExponentialEnvironment(latencies)]
    for _ in range(N_CHANGES):
        factors = np.where(rng.random(latencies.size) < SHARE, rng.uniform(*FACTORS, latencies.size), 1.0)
        pieces.append(mb.ExponentialEnvironment(latencies * factors))
    return mb.PiecewiseEnvironment(pieces, change_times(n_episodes))


def swinging(latencies, n_episodes):
    """Latencies between those of the map and three times as much, each link with a phase of its own."""
    phases = np.random.default_rng(SEED).random(latencies.size)
    doubled = mb.ExponentialEnvironment(2.0 * latencies)
    return mb.DriftingEnvironment(doubled, amplitude=latencies, period=max(1.0, n_episodes / N_SWINGS), phase=phases)


def policies(problem, n_episodes):
    """Policies that forget and policies that do not, at scales from half the noise of a latency, 1 ms."""
    horizon = max(2, n_episodes // 30)
    gamma = 1.0 - 1.0 / horizon
    return {
        "OMM": [mb.OMM(scale) for scale in SCALES],
        "Thompson": mb.ThompsonSampling("normal"),
        "discounted OMM": [mb.DiscountedOMM(gamma, scale) for scale in SCALES],
        "windowed OMM": [mb.SlidingWindowOMM(2 * horizon, scale) for scale in SCALES],
        "restarting OMM": [mb.Restarting(mb.OMM(scale), mb.CUSUM(n_first=50, width=2.0)) for scale in SCALES],
    }


def write(sweep, datasets):
    title = "Routing while latencies change, each policy at its best scale"
    return (
        "The paper's ISP network 1755, whose latencies do not stay. Congestion: five times another three in ten of"
        " the links become 2 to 5 times as slow as on the map, and the others as on the map. Swings: every latency"
        " goes up and down between that of the map and three times as much, three times in all, each link in its own"
        " phase.",
        Text(
            "The noise is the paper's, −1 + Exp(1) ms, and the scales are 0.5, 1, 3, 10 and 30 ms. The horizon is a"
            " thirtieth of the episodes and the window twice as long."
        ),
        best_table(sweep, datasets),
        best_plot(sweep, datasets, "beyond-networks", title, unit="ms"),
        regret_table(sweep, datasets, "networks-scales", f"{TITLE}: dynamic regret in ms at every scale"),
    )


def best_table(sweep, datasets):
    """The regret of each family at its best scale: one half of the runs chose it, the other half tells."""
    best = {(family, each.problem): each for family in sweep.families for each in sweep.best(family)}
    rows = []
    for family in sweep.groups:
        row = [family]
        for problem in sweep:
            own = best.get((family, problem))
            row += (
                [final(sweep[problem], family), None]
                if own is None
                else [Estimate(own.regret, own.regret_se), own.value]
            )
        rows.append(tuple(row))
    optima = " and ".join(f"{result.optimal_value:.0f} ms ({name})" for name, result in sweep.results.items())
    notes = [
        size_note(sweep["swings"]),
        "Scales were chosen on one half of the runs, and the other half tells their regret.",
        *sweep.edge_warnings(),
        f"The optimum costs {optima} an episode.",
    ]
    columns = (column for name in sweep for column in (Column("regret", ",.0f", name), Column("scale", "g", name)))
    return Table(
        "networks",
        f"{TITLE}: dynamic regret in ms, each policy at its best scale",
        (Column("policy", is_text=True), *columns),
        tuple(rows),
        " ".join(notes),
        is_standin=is_standin(datasets),
    )
