"""Time per round of a search for the best basis: look whether the rule stops, choose what to play next; one run."""

from collections.abc import Iterator

import numpy as np

import matroid_bandits as mb
from benchmarks._harness import Case, Task
from matroid_bandits.agent import Agent
from matroid_bandits.identification import Watch
from matroid_bandits.stream import POLICY

_DEVIATION, _PLAYS = 1.0, 50


def stopping() -> Iterator[Case]:
    """Quotas and spanning trees of 1,000 items, after each was played some fifty times."""
    rng = np.random.default_rng(0)
    grid = [((i, j), (i, j + 1)) for i in range(23) for j in range(22)]
    grid += [((i, j), (i + 1, j)) for i in range(22) for j in range(23)]
    families = {
        "uniform, K = 50, L = 1,000": mb.UniformMatroid(1000, 50),
        "partition, 50 blocks, L = 1,000": mb.PartitionMatroid(np.arange(1000) % 50),
        f"graphic, 23 x 23 grid, L = {len(grid):,}": mb.GraphicMatroid(grid),
    }
    for title, matroid in families.items():
        yield _case(title, matroid, rng)


def _case(title: str, matroid: mb.Matroid, rng: np.random.Generator) -> Case:
    n = matroid.n_items
    counts = rng.integers(_PLAYS // 2, 2 * _PLAYS, (1, n))
    sums = counts * rng.normal(size=(1, n))
    agent = Agent(matroid, mb.SoftMinimum(_DEVIATION), waits=False)
    agent.state.restore(counts, sums)
    watch = Watch(mb.StoppingRule(delta=0.1, deviation=_DEVIATION), matroid)
    stream = mb.Stream(0, [0], POLICY)

    def ours() -> None:
        watch.look(agent.state.counts, agent.state.sums, 1000)
        agent.choose(mb.Request(1000, stream))

    def by_hand() -> None:
        """The same with NumPy, the exchanges found anew."""
        m, N = (sums / counts)[0], counts[0].astype(float)
        basis = matroid.max_weight_basis(m)
        leaves, enters = matroid.exchanges(basis)
        gap, width = m[leaves] - m[enters], 1.0 / N[leaves] + 1.0 / N[enters]
        z = gap**2 / (2.0 * width)
        w = N * N / (N + 10.0)
        penalty = 0.5 * np.log1p(N / 10.0)
        statistic = gap**2 / (2.0 * (1.0 / w[leaves] + 1.0 / w[enters]))
        assert not (statistic > np.log(matroid.most_exchanges() / 0.1) + penalty[leaves] + penalty[enters]).all()
        share = np.exp(z.min() - z)
        slope = np.zeros(n)
        np.add.at(slope, leaves, share * (gap / (N[leaves] * width)) ** 2 / 2.0)
        np.add.at(slope, enters, share * (gap / (N[enters] * width)) ** 2 / 2.0)
        matroid.max_weight_basis(slope)

    return Case(title, ours=Task(ours), others={"NumPy": Task(by_hand)})
