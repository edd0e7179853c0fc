"""The paper's problems with answers that come late."""

from dataclasses import replace

import matroid_bandits as mb
from matroid_bandits.reporting import Column, Plot, Table, Text, regret_panel, size_note

from .blocks import BANDS, final, is_standin

TITLE = "Answers that come late"
N_EPISODES, N_QUICK = 3_000, 600
N_RUNS = 100  # ten runs of Thompson sampling do not show its tail

#: How late answers are, in episodes.
DELAYS = (0, 30, 300)

#: The policies whose curves are drawn: those that learn fast enough for a delay to matter.
SHOWN = ("OMM, scale 0.25", "Thompson")


def load(data):
    return [mb.datasets.rocketfuel(1755, data), mb.datasets.kiva(data), mb.datasets.movielens(data)]


def late(name, delay):
    return f"{name}, delay {delay}"


def problems(datasets, n_episodes):
    """Each problem with each delay."""
    return {
        late(dataset.title, delay): mb.Problem(
            dataset.problem.constraint,
            mb.DelayedEnvironment(dataset.problem.environment, delay),
            dataset.problem.minimize,
        )
        for dataset in datasets
        for delay in DELAYS
    }


def policies(problem, n_episodes):
    """OMM as it is, with a narrower radius, and Thompson sampling; what is normal for latencies is beta elsewhere."""
    thompson = mb.ThompsonSampling("beta" if problem.environment.support == (0.0, 1.0) else "normal")
    return {"OMM": mb.OMM(), "OMM, scale 0.25": mb.OMM(0.25), "Thompson": thompson}


def write(sweep, datasets):
    rows = []
    for dataset in datasets:
        results = [sweep[late(dataset.title, delay)] for delay in DELAYS]
        for place, policy in enumerate(sweep.policies):
            cells = (cell for each in results for cell in (final(each, policy), float(each.medians()[place])))
            rows.append((dataset.title, policy, *cells))
    columns = (Column(name, ",.0f", f"delay {delay}") for delay in DELAYS for name in ("mean", "median"))
    title = "Regret with answers that come late"
    return (
        "The paper's problems, with answers that come late: 0, 30 or 300 episodes after the decision.",
        Text(
            "A play that waits narrows the radius at once and moves the mean when it is answered, so exploration goes"
            " on meanwhile. Every item is seen once, at once, before episode 1."
        ),
        Table(
            "delays",
            title,
            (Column("problem", is_text=True), Column("policy", is_text=True), *columns),
            tuple(rows),
            f"{size_note(next(iter(sweep.results.values())))} On the network regret is in ms.",
            is_standin=is_standin(datasets),
        ),
        *map(Text, sweep.tail_warnings()),
        Plot(
            "beyond-delays",
            title,
            tuple(panel(sweep, dataset) for dataset in datasets),
            f"The later the answers, the darker the curve. {BANDS}",
            {policy: [late(policy, delay) for delay in DELAYS] for policy in SHOWN},
        ),
    )


def panel(sweep, dataset):
    """The curves of some policies on a problem with each of the delays."""
    options = {"unit": "ms" if dataset.problem.minimize else "", "is_standin": dataset.source == "stand-in"}
    panels = [
        regret_panel(sweep[late(dataset.title, delay)], dataset.title, policies=SHOWN, **options) for delay in DELAYS
    ]
    curves = (
        replace(panel.curves[place], label=late(policy, delay))
        for place, policy in enumerate(SHOWN)
        for panel, delay in zip(panels, DELAYS, strict=True)
    )
    return replace(panels[0], curves=tuple(curves))
